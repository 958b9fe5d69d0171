#!/bin/sh
# Small limits and full or closed outputs end the programs with one line and
# exit 3, not by a signal and not with 0.
set -u
build=${BUILD:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
manifest=tests/fixtures/fake.json

. tests/cli/common.sh

for p in moe-layout moe-bench moe-train; do
    [ -x "$build/$p" ] || continue
    sh -c "ulimit -s 64 && exec $build/$p --help" >"$work/out" 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'stack limit: got 64 KiB'
    claim $? "$p with a stack of 64 KiB says so and exits with 3"
done
sh -c "ulimit -s 1024 && exec $build/moe-bench run -q $manifest --out $work/r" \
    >"$work/out" 2>"$work/err"
claim $? "a stack of 1 MiB is enough"
sh -c "ulimit -f 4 && exec $build/moe-bench run -q $manifest --out $work/f" \
    >"$work/out" 2>"$work/err"
[ $? -eq 3 ] && one_line "$work/err" 'File too large'
claim $? "a limit on file sizes is one line and exit 3"

# OpenBLAS looks for address space without end, in each of its threads; below
# what the loader takes nothing is claimed
told=0 answered=0
for kib in 60000 100000 150000 200000 200000 200000 300000 400000; do
    for limit in v d; do
        for x in "moe-layout count --layers 16 --mtp 1 --pp 4" \
            "moe-layout fit experiments/models/7b-a1b.json --pp 4 --gbs 64 --step Et*4|t*4|t*4|t*4mL=812 --step Et*5|t*5|t*5|tmL=701"; do
            (ulimit -$limit $kib && exec env OPENBLAS_NUM_THREADS=2 timeout 20 $build/$x) \
                >"$work/out" 2>"$work/err"
            status=$?
            [ $status -ne 124 ] || told=1
            [ $status -ne 3 ] || grep -q 'out of memory' "$work/err" || told=1
            [ $status -ne 0 ] || answered=$((answered + 1))
        done
    done
done
[ $told -eq 0 ] && [ $answered -gt 4 ]
claim $? "whatever the limit of address space, no command waits without end"
cat >"$work/train.sh" <<'SH'
echo "threads: ${OPENBLAS_NUM_THREADS-none}, ${MOE_OPENBLAS_NUM_THREADS-none}" >&2
torchrun pretrain_gpt.py --num-layers 4
SH
for threads in none 2 1; do
    (ulimit -v 400000 && unset OPENBLAS_NUM_THREADS &&
        { [ $threads = none ] || export OPENBLAS_NUM_THREADS=$threads; } &&
        exec $build/moe-layout record "$work/train.sh") >"$work/out" 2>"$work/err"
    grep -q "threads: $threads, none" "$work/err" || break
done
grep -q "threads: 1, none" "$work/err"
claim $? "what a limited program starts has the user's environment"

full() { # CLAIM COMMAND...
    what=$1
    shift
    "$@" >/dev/full 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'standard output: No space left'
    claim $? "$what to a full standard output exits with 3"
    "$@" >&- 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'standard output'
    claim $? "$what to a closed standard output exits with 3"
}
bench=$build/moe-bench
full "run" "$bench" run -q $manifest --out "$work/r"
full "a run that starts something" "$bench" run -q $manifest --out "$work/s"
full "run --dry-run" "$bench" run $manifest --dry-run --out "$work/r"
full "status" "$bench" status $manifest --out "$work/r"
full "publish" "$bench" publish $manifest --out "$work/r" --to "$work/d"
full "machine" "$bench" machine
full "moe-bench --help" "$bench" --help
full "moe-bench --version" "$bench" --version
full "moe-bench run --help" "$bench" run --help
full "moe-layout --help" "$build/moe-layout" --help
full "moe-layout --version" "$build/moe-layout" --version
! grep -rq "role  *layout" "$work/r"
claim $? "what is printed lands in no file of the results"
"$bench" status $manifest --out "$work/r" 2>&- <&- >"$work/out" &&
    grep -q '8 of 8' "$work/out"
claim $? "closed input and messages do no harm"
