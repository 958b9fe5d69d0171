#!/bin/bash
EACH=8
NODES=4
ALL=$(($EACH*$NODES))
msrun --local_worker_num $EACH --worker_num $ALL --node_rank 0 --master_addr here \
    --master_port 6000 --log_dir=out --join=True pretrain_gpt.py \
    --rank 0 --dist-url tcp://here:6000 \
    --num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 \
    --num-experts 8 --moe-ffn-hidden-size 256 --seq-length 1024 \
    --micro-batch-size 1 --global-batch-size 64 --pipeline-model-parallel-size 4
