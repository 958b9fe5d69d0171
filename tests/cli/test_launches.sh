#!/bin/sh
# Launch files and logs with right answers: the project's own, and those of the
# folder ../shared/cases where it is there.
build=${BUILD:-build/release}
python3 tests/launches/run_cases.py "$build"
if [ -d ../shared/cases ]; then
    if python3 ../shared/cases/check_cases.py "$build" ../shared/cases \
        >/dev/null; then echo "ok - all cases of ../shared/cases"; else
        echo "not ok - all cases of ../shared/cases"; fi
else
    echo "ok - all cases of ../shared/cases # SKIP no such folder"
fi
exit 0
