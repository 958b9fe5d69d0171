torchrun pretrain_gpt.py --num-layers $1 --hidden-size 64 --num-attention-heads 4 --vocab-size 100
