#!/bin/sh
# Training works: losses fall, memory adds up, a broken run shows.
set -u
. tests/cli/train_common.sh

run_mpi 2 $small --train-iters 50 --pipeline-model-parallel-size 2 \
    --timing-log-level 2 --timing-log-option all --reference-burst 1 \
    --record-ops "$work/ops.csv" >"$work/log" 2>"$work/err"
claim "a run with all records ends well"

for name in 'lm loss' 'mtp_1 loss'; do
    grep -o "$name: [^ ]*" "$work/log" | awk -v want=0.5 '
        { v[NR] = $NF }
        END { late = (v[48] + v[49] + v[50]) / 3
              exit !(NR == 50 && v[1] > 5.4 && late < want * v[1]) }'
    claim "$name falls below half of its start in 50 steps"
done

# the memory line of each rank is the sum of the four allocations
awk '/^moe-train: rank [0-9]+ bytes/ {
        n = 0
        for (i = 1; i < NF; i++)
            if ($i ~ /:$/) n += $(i + 1)
        sum[$3] = n; ranks++ }
    /\(after 2 iterations\) memory/ {
        split($0, a, "allocated: "); split(a[2], b, " ")
        sub(/\]/, "", $2)
        d = b[1] * 1048576 - sum[$2 + 0] # printed to 1e-10 MiB
        if (d > 0.01 || d < -0.01) bad++
        seen++ }
    END { exit !(ranks == 2 && seen == 2 && bad == 0) }' "$work/log"
claim "the memory line adds up the allocator's four kinds"

awk -F, 'NR == 1 { ok = ($1 == "format" && $8 == "end_s" && NF == 8) }
    NR > 1 { n++; if ($1 != "moe-train/ops/1" || $8 <= $7) bad++ }
    END { exit !(ok && n == 50 * 2 * 2 * 8 && !bad) }' "$work/ops.csv"
claim "every forward and backward is recorded"

test "$(grep -c '^  forward-compute:$' "$work/log")" -eq 50 &&
    test "$(grep -c '^     rank  1: ' "$work/log")" -ge 250
claim "each step has a block of timers with both ranks"

test "$(grep -c 'reference burst (ms): [0-9.]* |' "$work/log")" -eq 50
claim "each step tells the reference burst"

run_mpi 1 $small --train-iters 4 --lr 1e38 --weight-decay 1e6 \
    --clip-grad 0 >"$work/log" 2>&1
grep 'iteration *4/' "$work/log" | grep -v 'lm loss' |
    grep -q 'number of nan iterations:   1'
claim "a NaN loss is left out and counted"
