#!/bin/bash
STAGES=4
python3 -m verl.trainer.main_ppo \
    --config-name=ppo_megatron_trainer.yaml \
    data.train_batch_size=512 \
    actor_rollout_ref.model.path=lab/some-moe \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=$STAGES \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.n=8 \
    trainer.nnodes=2 \
    trainer.n_gpus_per_node=8
