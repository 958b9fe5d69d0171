#!/bin/sh
# Runs test programs and scripts, JOBS (2) at a time, says of each how long it
# took, then what failed, and last one line: "N passed, N failed, N skipped".
# usage: run.sh TEST... ; BUILD names the folder of the programs, CLI=no leaves
# out the scripts of tests/cli/. Criterion binaries and scripts speak TAP; a
# program under tests/mpi/ runs under mpirun and is one test. Those, the job
# system's and scripts with a line "# alone: WHY" run by themselves.
set -u
BUILD=${BUILD:-build/release}
MODE=${MODE:-release}
JOBS=${JOBS:-2}
# a run's own figures cost half a second each time: test_report.sh draws them
MOE_BENCH_FIGURES=no
LC_ALL=C # awk writes decimal commas elsewhere
export BUILD MODE MOE_BENCH_FIGURES LC_ALL

# ---- one test, in a folder of its own: its TAP and its exit status ----

unit() { # FOLDER PROGRAM
    at_once=4 # tests of it: some only wait
    if [ "$MODE" = asan ]; then
        at_once=1 # several workers of Criterion leak 48 bytes of its own
        export ASAN_OPTIONS="log_path=$1/asan" LSAN_OPTIONS=report_objects=0
    fi
    timeout 300 "$2" --tap="$1/tap" -j$at_once >"$1/log" 2>&1 </dev/null
    status=$?
    [ -f "$1/tap" ] || : >"$1/tap"
    for report in "$1"/asan.*; do
        [ -f "$report" ] || continue
        echo "not ok - $2 under AddressSanitizer" >>"$1/tap"
        head -n 30 "$report" >>"$1/tap"
    done
    [ $status -eq 0 ] || cat "$1/log" >>"$1/tap"
    return $status
}

parallel() { # FOLDER PROGRAM
    if OMPI_MCA_mpi_yield_when_idle=1 timeout 300 \
        mpirun --allow-run-as-root --oversubscribe --mca btl self,vader \
        --mca pml ob1 -np 4 "$2" >"$1/log" 2>&1 </dev/null; then
        echo "ok - $2" >"$1/tap"
    else
        { echo "not ok - $2"; cat "$1/log"; } >"$1/tap"
    fi
}

script() { # FOLDER SCRIPT
    timeout 600 sh "$2" >"$1/tap" 2>&1 </dev/null
}

if [ "${1:-}" = --one ]; then # NUMBER TEST: called by xargs below
    folder=$RUN_OUT/$2
    mkdir "$folder" || exit 255 # which ends xargs
    begin=$(date +%s)
    case $3 in
    */mpi/*) parallel "$folder" "$3" ;;
    *.sh) script "$folder" "$3" ;;
    *) unit "$folder" "$3" ;;
    esac
    echo $? >"$folder/status"
    echo "# $(basename "$3"): $(($(date +%s) - begin)) s"
    exit 0
fi

# ---- all of them ----

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export RUN_OUT="$out"
passed=0 failed=0 skipped=0 n=0
: >"$out/alone"
: >"$out/together"

count() { # NAME FILE EXIT_STATUS: adds the results in FILE
    p=$(grep -c '^ok' "$2")
    s=$(grep -c '^ok.*# SKIP' "$2")
    f=$(grep -c '^not ok' "$2")
    if [ "$3" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
        echo "not ok - $1 ended with status $3"
        tail -n 20 "$2"
    fi
    if [ $((p + f)) -eq 0 ]; then
        f=1
        echo "not ok - $1 ran no test"
    fi
    passed=$((passed + p - s)) skipped=$((skipped + s)) failed=$((failed + f))
    [ "$f" -eq 0 ] || grep -A 12 '^not ok' "$2"
    grep '^ok.*# SKIP' "$2"
    echo "# $1: $((p - s)) passed, $f failed, $s skipped"
}

is_alone() { # TEST
    case $1 in
    */mpi/* | */slurm/*) return 0 ;;
    *.sh) grep -q '^# alone: ' "$1" ;;
    *) return 1 ;;
    esac
}

add() { # TEST
    n=$((n + 1))
    if is_alone "$1"; then list=alone; else list=together; fi
    echo "$n $1" >>"$out/$list"
}

for t in "$@"; do
    add "$t"
done
if [ "$MODE" != asan ] && [ "${CLI:-yes}" = yes ]; then
    for t in tests/cli/test_*.sh; do
        [ ! -f "$t" ] || add "$t"
    done
fi
xargs -r -n 2 sh "$0" --one <"$out/alone"
xargs -r -n 2 -P "$JOBS" sh "$0" --one <"$out/together"
while read -r number t; do
    [ -n "$number" ] || continue
    folder=$out/$number
    # a test that left no status was not run to its end
    [ -f "$folder/tap" ] || { mkdir -p "$folder" && : >"$folder/tap"; }
    [ -f "$folder/status" ] || echo 1 >"$folder/status"
    count "$(basename "$t")" "$folder/tap" "$(cat "$folder/status")"
done <<END
$(cat "$out/alone" "$out/together")
END
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
