#!/bin/sh
# Bad flags: one line of ours on stderr, nothing on stdout, exit code 2.
set -u
. tests/cli/train_common.sh

bad() { # WANTED_TEXT RANKS FLAGS...
    want=$1 ranks=$2
    shift 2
    if [ "$ranks" -eq 1 ]; then # mpirun takes a second to end after a failure
        "$train" $small "$@" >"$work/out" 2>"$work/err"
    else
        run_mpi "$ranks" $small "$@" >"$work/out" 2>"$work/err"
    fi
    rc=$?
    if [ $rc -eq 2 ] && [ ! -s "$work/out" ] &&
        [ "$(grep -c '^moe-train: ' "$work/err")" -eq 1 ] &&
        grep -q -e "$want" "$work/err"; then
        echo "ok - refuses $*"
    else
        echo "not ok - refuses $*: exit $rc, $(head -n 2 "$work/err")"
    fi
}

bad "unknown option '--nope'" 1 --nope 1
bad "did you mean '--num-layers'" 1 --num-layrs 3
bad "tensor-model-parallel-size: got 2" 2 --tensor-model-parallel-size 2
bad "expert-model-parallel-size" 1 --expert-model-parallel-size 2
bad "context-parallel-size" 2 --context-parallel-size 2
bad "ranks: got 2, want a multiple" 2 --pipeline-model-parallel-size 3
bad "--num-layers 5 is not divisible" 2 --num-layers 5 --pipeline-model-parallel-size 2
bad "interleaving needs P>1" 1 --pipeline-model-parallel-layout 'Et*3|tmL'
bad "both this and --pipeline-model-parallel-layout" 2 \
    --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \
    'Et|t|t|tmL' --num-virtual-stages-per-pipeline-rank 2
bad "not divisible by --num-layers-per-virtual-pipeline-stage 3" 2 \
    --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3
bad "virtual-stages-per-pipeline-rank: got 0" 2 \
    --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 0
bad "group size must be in \[P, M\] = \[2, 8\]: got 1" 2 \
    --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 \
    --microbatch-group-size-per-virtual-pipeline-stage 1
bad "last group smaller than P" 2 --pipeline-model-parallel-size 2 \
    --num-virtual-stages-per-pipeline-rank 2 \
    --microbatch-group-size-per-virtual-pipeline-stage 7
bad "need more than 2 ranks" 2 --pipeline-model-parallel-size 2 \
    --num-virtual-stages-per-pipeline-rank 2 --no-overlap-p2p-communication
bad "EP overlap with P>1 needs interleaving" 2 \
    --pipeline-model-parallel-size 2 --overlap-moe-expert-parallel-comm
bad "overlap-moe-expert-parallel-comm: want at most one MTP layer" 1 \
    --overlap-moe-expert-parallel-comm --mtp-num-layers 2
bad "wait for each other for ever" 4 --pipeline-model-parallel-size 4 \
    --pipeline-model-parallel-layout 'Et|t|t|t|||m|L' --global-batch-size 4 \
    --no-overlap-p2p-communication
bad "one t for each decoder layer" 2 --pipeline-model-parallel-size 2 \
    --pipeline-model-parallel-layout 'Et*2|tmL'
bad "L is not on the last stage" 2 --pipeline-model-parallel-size 2 \
    --pipeline-model-parallel-layout 'Et*4mL|'
bad "lr: got 'abc'" 1 --lr abc
bad "lr: value missing" 1 --lr
bad "train-iters: got '0'" 1 --train-iters 0
bad "clock flops: not to be had here" 1 --clock flops
bad "clock: got 'sun'" 1 --clock sun
bad "timing-log-option: got 'minmax'" 1 --timing-log-option minmax
bad "lr-decay-style: got 'cosine'" 1 --lr-decay-style cosine
bad "normalization: want RMSNorm" 1 --normalization LayerNorm
bad "position-embedding-type: want rope" 1 \
    --position-embedding-type learned_absolute
bad "global-batch-size: got 3" 2 --global-batch-size 3 --micro-batch-size 2
bad "moe-router-topk: got 9" 1 --moe-router-topk 9
bad "moe-router-topk: got 1, want 2 or more: .*--moe-router-pre-softmax" 1 \
    --moe-router-topk 1
bad "load-balancing-type: got 'seq_aux_loss'" 1 \
    --moe-router-load-balancing-type seq_aux_loss
bad "moe-aux-loss-coeff: got '-1'" 1 --moe-aux-loss-coeff -1
bad "'word' is not a flag" 1 word

# sizes that do not fit each other: memory would be read and written elsewhere
bad "padded-vocab-size: got 100, want at least --vocab-size 256" 1 \
    --padded-vocab-size 100
bad "padded-vocab-size: got 255" 2 --padded-vocab-size 255 \
    --pipeline-model-parallel-size 2
bad "seq-length: got 1, want more than --mtp-num-layers 1" 1 --seq-length 1
bad "seq-length: got 3, want more than --mtp-num-layers 3" 1 --seq-length 3 \
    --mtp-num-layers 3
bad "num-query-groups: got 3" 1 --num-query-groups 3
bad "kv-channels: got 15, want an even number" 1 --kv-channels 15
bad "x --kv-channels: got" 1 --num-attention-heads 65536 --kv-channels 65536
bad "x --moe-router-topk: got" 1 --num-experts 4096 --moe-router-topk 4096 \
    --seq-length 4000000
bad "seq-length^2 x --num-attention-heads: got" 1 --seq-length 4000000 \
    --num-attention-heads 65536 --num-query-groups 1 --kv-channels 2 \
    --hidden-size 8 --vocab-size 128
bad "for all heads: got" 1 --seq-length 67108864

"$train" >"$work/out" 2>"$work/err"
test $? -eq 2 && test ! -s "$work/out" && grep -q '^usage: ' "$work/err"
claim "without flags: usage on stderr, exit 2"

run_mpi 2 --help >"$work/out" 2>"$work/err"
test $? -eq 0 && grep -q -e '--record-ops' "$work/out" &&
    test "$(grep -c '^usage: ' "$work/out")" -eq 1
claim "--help: once on stdout, exit 0"

run_mpi 2 $small --record-ops "$work/none/ops.csv" >"$work/out" 2>"$work/err"
test $? -eq 3 && test "$(grep -c '^moe-train: ' "$work/err")" -eq 1
claim "a record that cannot be written: one line, exit 3"

run_mpi 2 $small --micro-batch-size 2 --seq-length 400000 --vocab-size 500 \
    --pipeline-model-parallel-size 2 >"$work/out" 2>"$work/err"
test $? -eq 3 && test "$(grep -c '^moe-train: .*no memory' "$work/err")" -eq 1
claim "too little memory: one line, exit 3"
