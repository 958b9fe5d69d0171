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

# even load is 1, all tokens at two of eight experts would be 4
wide="--num-layers 8 --hidden-size 128 --num-experts 8 --train-iters 20
    --lr 3e-3 --micro-batch-size 2"
balance() { # FLAGS...: the load's balance after 20 steps
    run_mpi 1 $small $wide "$@" | sed -n \
        's/.*iteration *20\/.*load_balancing_loss: \([^ ]*\) .*/\1/p'
}
with=$(balance)
without=$(balance --moe-aux-loss-coeff 1e-9)
awk -v with="$with" -v without="$without" \
    'BEGIN { exit !(with > 0.9 && with < 1.2 && without > with + 0.2) }'
claim "the auxiliary loss keeps experts in use: $with, without it $without"
for off in '--moe-aux-loss-coeff 0' '--moe-router-load-balancing-type none'; do
    run_mpi 1 $small --train-iters 1 $off >"$work/off"
    grep -q 'lm loss' "$work/off" && ! grep -q 'balancing_loss' "$work/off"
    claim "$off: no such loss"
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
