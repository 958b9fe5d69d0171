#!/bin/bash
# 7B-A1B on two nodes; written for the tests, in the manner of public recipes
#SBATCH --nodes=2
set -euo pipefail

export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
NNODES=${NNODES:-"1"}
WORLD_SIZE=$(($GPUS_PER_NODE * NNODES))
CHECKPOINT_PATH=$1 #<path>
MODEL_SIZE=7b # or 'small' with "few" layers

if [ "$MODEL_SIZE" = "small" ]; then
    NUM_LAYERS=4
elif [[ $MODEL_SIZE == 7b ]]; then
    NUM_LAYERS=16
else
    NUM_LAYERS=$(nproc)
fi

case $MODEL_SIZE in
    small | tiny)
        EXPERTS=8
        ;;
    7b)
        EXPERTS=64
        ;;
esac

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE  # of this node
    --nnodes $NNODES
    --master_addr ${MASTER_ADDR:-"localhost"}
)

MODEL_ARGS=(
    --use-mcore-models
    --num-layers $NUM_LAYERS
    --hidden-size 2048 --ffn-hidden-size 1024
    --num-attention-heads 16
    --group-query-attention
    --num-query-groups 2
    --kv-channels 128
    --swiglu
    --disable-bias-linear
    --normalization "RMSNorm"
    --position-embedding-type 'rope'
    --seq-length $((4 * 1024))
    # --num-layers 99
)
MOE_ARGS="--num-experts $EXPERTS --moe-ffn-hidden-size 1024 \
    --moe-router-topk 8 --moe-layer-freq ([1]*${NUM_LAYERS}) \
    --moe-router-load-balancing-type aux_loss"
MTP=1
[ $MTP -gt 0 ] && MODEL_ARGS+=(--mtp-num-layers $MTP)
[ $MTP -gt 1 ] && MODEL_ARGS+=(--mtp-use-repeated-layer)

DATA_ARGS="--tokenizer-type NullTokenizer --vocab-size 128255 --mock-data"
LOG=$(date +%s).log

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    $MOE_ARGS $DATA_ARGS $EXTRA_ARGS \
    --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et*5|t*6|t*5|mL' \
    --expert-model-parallel-size 2 \
    --micro-batch-size 1 --global-batch-size 128 \
    --save "$CHECKPOINT_PATH" --lr 3e-4 --bf16 2>&1 | tee "$LOG"
