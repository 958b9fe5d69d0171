#!/bin/sh
# Runs test programs and scripts, prints what failed, and last one line:
# "N passed, N failed, N skipped". usage: run.sh TEST... ; BUILD names the
# folder of the programs, CLI=no leaves out the scripts of tests/cli/. Criterion
# binaries and scripts speak TAP; a program under tests/mpi/ runs under mpirun and
# is one test.
set -u
BUILD=${BUILD:-build/release}
MODE=${MODE:-release}
# a run's own figures cost half a second each time: test_report.sh draws them
MOE_BENCH_FIGURES=no
export BUILD MOE_BENCH_FIGURES
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0 skipped=0

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

unit() {
    if [ "$MODE" = asan ]; then
        export ASAN_OPTIONS="log_path=$out/asan" LSAN_OPTIONS=report_objects=0
    fi
    timeout 300 "$1" --tap="$out/tap" -j2 >"$out/log" 2>&1 </dev/null
    status=$?
    [ -f "$out/tap" ] || : >"$out/tap"
    for report in "$out"/asan.*; do
        [ -f "$report" ] || continue
        echo "not ok - $1 under AddressSanitizer" >>"$out/tap"
        head -n 30 "$report" >>"$out/tap"
        rm -f "$report"
    done
    [ $status -eq 0 ] || cat "$out/log" >>"$out/tap"
    count "$(basename "$1")" "$out/tap" $status
    rm -f "$out/tap"
}

parallel() {
    OMPI_MCA_mpi_yield_when_idle=1 timeout 300 \
        mpirun --allow-run-as-root --oversubscribe --mca btl self,vader \
        --mca pml ob1 -np 4 "$1" >"$out/log" 2>&1 </dev/null
    status=$?
    if [ $status -eq 0 ]; then echo "ok - $1" >"$out/tap"; else
        { echo "not ok - $1"; cat "$out/log"; } >"$out/tap"; fi
    count "$(basename "$1")" "$out/tap" 0
    rm -f "$out/tap"
}

script() {
    timeout 600 sh "$1" >"$out/tap" 2>&1 </dev/null
    count "$(basename "$1")" "$out/tap" $?
}

for t in "$@"; do
    case $t in
    */mpi/*) parallel "$t" ;;
    *.sh) script "$t" ;;
    *) unit "$t" ;;
    esac
done
if [ "$MODE" != asan ] && [ "${CLI:-yes}" = yes ]; then
    for t in tests/cli/test_*.sh; do
        [ -f "$t" ] || continue
        script "$t"
    done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
