#!/bin/sh
# What an interleaved run tells: its arguments, its timers and the record of
# its operations, with and without EP overlap.
set -u
. tests/cli/train_common.sh

value() { # NAME: of the arguments' dump in the last log
    sed -n "s/^ *$1 \.* *//p" "$work/log"
}

run() { # FLAGS...: two ranks, three chunks each, 8 micro-batches
    run_mpi 2 $small --train-iters 2 --pipeline-model-parallel-size 2 \
        --pipeline-model-parallel-layout 'Et|t|t||t|mL' \
        --timing-log-level 2 --record-ops "$work/ops.csv" "$@" >"$work/log" \
        2>"$work/err"
}

run
test "$(value virtual_pipeline_model_parallel_size)" = 3 &&
    test "$(value microbatch_group_size_per_vp_stage)" = 2 &&
    test "$(value overlap_p2p_comm)" = True &&
    test "$(value overlap_moe_expert_parallel_comm)" = False
claim "the dump says chunks, group and transfers"
test "$(grep -c '^ *backward-compute:' "$work/log")" -eq 2
claim "forwards and backwards have a timer each"

# stage = chunk * 2 + rank: six stages, eight micro-batches, two passes and steps
test "$(awk -F, 'NR > 1 { n[$4]++; if ($4 % 2 != $3) bad++ }
    END { for (s in n) if (n[s] == 32) ok++; print ok + 0, bad + 0 }' \
    "$work/ops.csv")" = "6 0"
claim "every operation of every chunk is recorded, with its stage"

run --overlap-moe-expert-parallel-comm
test "$(grep -c '^ *forward-compute:' "$work/log")" -eq 2 &&
    ! grep -q 'backward-compute' "$work/log"
claim "EP overlap: forward-compute spans both, backward-compute is missing"
test "$(wc -l <"$work/ops.csv")" -eq 193 &&
    test "$(grep -c backward "$work/ops.csv")" -eq 96
claim "EP overlap: forward and backward of an operation are recorded apart"

# first rank: warm-up of 2 (P-1) + (V-1) N forwards, one more in flight
in_flight() {
    "$BUILD/moe-layout" memory "$work/log" 'Et|t|t||t|mL' --pp 2 \
        --trainer moe-train --json | tr -d ' \t\n' |
        sed -n 's/.*"stages":\[{[^}]*"in_flight":\([0-9]*\).*/\1/p'
}
run --microbatch-group-size-per-virtual-pipeline-stage 4
plain=$(in_flight)
run --microbatch-group-size-per-virtual-pipeline-stage 4 \
    --overlap-moe-expert-parallel-comm
test "$plain" = 11 && test "$(in_flight)" = 12
claim "the planner reads group and EP overlap from the log"
