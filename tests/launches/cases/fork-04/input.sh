#!/bin/bash
torchrun --nproc_per_node 4 --nnodes 1 pretrain_gpt.py \
    --num-layers 8 --hidden-size 256 --num-attention-heads 8 \
    --seq-length 512 --max-position-embeddings 512 \
    --micro-batch-size 1 --global-batch-size 16 --vocab-size 4096 \
    --linear-attention-type gated_delta_net --linear-attention-freq 4 \
    --linear-key-head-dim 32 --linear-value-head-dim 32 \
    --linear-num-key-heads 8 --linear-num-value-heads 16 \
    --linear-conv-kernel-dim 4
