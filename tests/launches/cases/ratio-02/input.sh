#!/bin/bash

torchrun --nproc_per_node 8 pretrain_mamba.py --hybrid-attention-ratio 0.25 --hybrid-override-pattern MMMM*MMMM*MM \
    --num-layers 12 --hidden-size 256 --num-attention-heads 8 \
    --seq-length 512 --max-position-embeddings 512 \
    --micro-batch-size 1 --global-batch-size 16 --vocab-size 4096 \
    --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec
