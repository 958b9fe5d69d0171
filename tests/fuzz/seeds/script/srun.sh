#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=8
ARGS=(--num-layers 8 --hidden-size 512 --num-attention-heads 8
  --num-query-groups 2 --group-query-attention
  --seq-length 128 --padded-vocab-size 1024 --position-embedding-type rope)
cat <<EOF > /dev/null
torchrun pretrain_gpt.py --num-layers 77 --hidden-size 1 --num-attention-heads 1
EOF
srun --container-image "$IMAGE" bash -c "cd /opt/megatron && python -u pretrain_gpt.py ${ARGS[*]} --global-batch-size 64"
