#!/bin/bash
python3 /opt/NeMo/examples/pre.py --config-name=gpt_base \
    trainer.devices=8 trainer.num_nodes=1 \
    model.micro_batch_size=1 model.global_batch_size=32 \
    model.num_layers=8 model.hidden_size=256 model.num_attention_heads=8 \
    model.encoder_seq_length=512 model.override_vocab_size=4096 \
    model.pipeline_model_parallel_size=4 \
    model.share_embeddings_and_output_weights=False \
    model.activations_checkpoint_granularity=full \
    model.activations_checkpoint_method=uniform \
    model.activations_checkpoint_num_layers=1 \
    model.optim.name=mcore_distributed_optim
