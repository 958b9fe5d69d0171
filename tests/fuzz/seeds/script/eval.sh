TP=2; PP=2
GPT_ARGS=" \
    --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} \
    --micro-batch-size 4 --global-batch-size 16 \
"
run_cmd="torchrun --nproc-per-node=4 pretrain_gpt.py ${GPT_ARGS} --vocab-file gpt2-vocab.json --tokenizer-type GPT2BPETokenizer"
echo $run_cmd
eval $run_cmd
