# sourced by a launcher
NLAYERS=28
FIRST_K_DENSE_REPLACE=1
MODEL_ARGS=(
   --num-layers $NLAYERS --hidden-size 2048 --num-attention-heads 16
   --vocab-size 1000
   --num-experts 64
   --moe-layer-freq "([0]*${FIRST_K_DENSE_REPLACE}+[1]*$((NLAYERS-FIRST_K_DENSE_REPLACE)))"
)
