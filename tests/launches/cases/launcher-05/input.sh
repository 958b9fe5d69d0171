#!/bin/bash
# what comes before the program is another file's
source ./site/cluster.env
$SITE_WRAPPER python3 pretrain_gpt.py \
    --num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 \
    --num-experts 8 --moe-ffn-hidden-size 256 --seq-length 1024 \
    --micro-batch-size 1 --global-batch-size 64
