#!/bin/bash
set -e
NODES=${ACTOR_NODES:-4}
MODEL_ARGS=(
    --num-layers 8
    --hidden-size 512
    --num-attention-heads 8
    --vocab-size 32000
    --num-experts 8
    --moe-ffn-hidden-size 256
)
ROLLOUT=(
    --rollout-batch-size 48
    --n-samples-per-prompt 8
    --num-steps-per-rollout 4
    --over-sampling-batch-size 64
    --rollout-max-response-len 4096
)
ENGINE=(--sglang-moe-dense-tp-size 1 --sglang-attention-backend fa3)
ray job submit --address=http://127.0.0.1:8265 \
    --runtime-env-json='{"env_vars": {"A": "1"}}' \
    -- python3 train.py \
    --actor-num-nodes $NODES \
    --actor-num-gpus-per-node 8 \
    ${MODEL_ARGS[@]} ${ROLLOUT[@]} ${ENGINE[@]} \
    --seq-length 1024 --micro-batch-size 1 \
    --tensor-model-parallel-size 2 --sequence-parallel \
    --pipeline-model-parallel-size 2 --expert-model-parallel-size 4
