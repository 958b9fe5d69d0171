#!/bin/bash
python3 train.py --actor-num-nodes 2 --rollout-batch-size 64 --n-samples-per-prompt $SAMPLES \
    --num-steps-per-rollout 2 --use-dynamic-batch-size --max-tokens-per-gpu 9216 \
    --num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 \
    --num-experts 8 --moe-ffn-hidden-size 256 --seq-length 1024 \
    --pipeline-model-parallel-size 4
