#!/bin/sh
# The trainer inside SimGrid: declared work gives one time, losses stay.
set -u
. tests/cli/train_common.sh

if ! command -v smpirun >/dev/null; then
    echo "ok - the trainer inside SimGrid # SKIP smpirun is not installed"
    exit 0
fi

OPENBLAS_CORETYPE=$(best_kernel)
export OPENBLAS_CORETYPE

steps() {
    grep -o 'elapsed time per iteration (ms): [^ ]*' "$1"
}

pp="--pipeline-model-parallel-size 4"
for run in a b; do
    run_smpi 4 $small --train-iters 5 $pp --reference-burst 2 \
        >"$work/$run" 2>&1
done
test "$(steps "$work/a" | wc -l)" -eq 5 &&
    test "$(steps "$work/a")" = "$(steps "$work/b")"
claim "two runs of the flops clock take the same time"
test "$(steps "$work/a" | sort -u | wc -l)" -le 2
claim "its steps take the same time whatever the data"

run_mpi 4 $small --train-iters 5 $pp >"$work/mpi" 2>&1
test -n "$(losses "$work/mpi")" &&
    test "$(losses "$work/mpi")" = "$(losses "$work/a")"
claim "losses are those of the run under mpirun"

run_smpi 4 $small --train-iters 5 $pp --pipeline-model-parallel-layout \
    'Et*2|t*2|m|L' >"$work/standalone" 2>&1
test "$(losses "$work/standalone")" = "$(losses "$work/a")"
claim "standalone MTP runs there too, with the same losses"
test "$(steps "$work/standalone")" != "$(steps "$work/a")"
claim "and takes another time"

grep -q '^moe-train: p2p latency (us): 10\.0' "$work/a" &&
    grep -q 'bandwidth (MB/s): 10000\.0' "$work/a"
claim "the ping-pong finds the platform's latency and bandwidth"

run_smpi 2 $small --clock wall >"$work/out" 2>"$work/err"
test $? -ne 0 && grep -q 'clock wall: not to be had here' "$work/err"
claim "the wall clock is refused there"
