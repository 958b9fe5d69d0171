/*
 * How it works: a group for each reason why a flag has no effect here. Names
 * stand in lines of words, because one a line would be a thousand lines; a
 * search walks the words. Behind a name stands how many values it takes, as
 * argparse's action and nargs say: "=" one, "*" as many as come ("+" and "*"),
 * nothing none; to pass over a flag its values must be passed over, too.
 */
#include "names.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

// which tokens are read, and for how long: a step stays what it is
static const char *const names_data[] = {
    "data-impl= fix-sub-seq-length= train-tokens=",
    "dataset* val-dataset* dataset-num-proc= num-train-epochs= packing",
    "padding-free split-dataset-ratio= streaming",
    "allow-ambiguous-pad-tokens cut-max-seqlen data-args-path=",
    "data-cache-path= data-path* data-per-class-fraction=",
    "dataloader-defer-npy-index-mmap dataloader-fast-cache-load",
    "dataloader-inter-document-masking dataloader-type=",
    "dataset-additional-keys= disable-msc dpo-loss-type= enable-msc",
    "eod-mask-loss fim-data fim-eod-token= fim-fragment-rate=",
    "fim-middle-token= fim-no-prefix= fim-pad-token= fim-prefix-token=",
    "fim-rate= fim-split-sample= fim-spm-rate= fim-suffix-token=",
    "finetune-data-files* finetune-data-split= finetune-hf-dataset=",
    "full-validation handler-name= is-instruction-dataset is-pairwise-dataset",
    "iterations-to-skip* mask-factor= mask-prob= mask-type= max-tokens-to-oom=",
    "mid-level-dataset-surplus= mock-data multiple-validation-sets neat-pack",
    "no-data-sharding no-mmap-bin-files no-pad-to-seq-lengths",
    "no-shared-storage num-dataset-builder-threads= num-workers=",
    "object-storage-cache-path= pad-to-multiple-of= padded-samples",
    "per-dataset-sequences-path= per-split-data-args-path=",
    "phase-transition-iterations= prompt-type= renormalize-blend-weights",
    "reset-attention-mask reset-position-ids s3-cache-path= sample-rate= sft",
    "sft-tokenizer-prompt-format= short-seq-prob= skip-train split= stage=",
    "test-data-path* train-data-path* train-samples=",
    "trust-remote-code use-gigatoken valid-data-path* validation-set-names*",
};

// how text becomes tokens: the size of the vocabulary is stated by
// --vocab-size, --padded-vocab-size or the tokenizer's type, whose rows are in
// flags
static const char *const names_tokenizer[] = {
    "chat-template= disable-save-tokenizer-assets",
    "disable-tokenizer-sentencepiece-ignore-extra-whitespaces",
    "disable-use-tokenizer-model-from-checkpoint-args legacy-tokenizer",
    "merge-file= no-save-tokenizer-assets",
    "no-tokenizer-sentencepiece-ignore-extra-whitespaces",
    "no-use-tokenizer-model-from-checkpoint-args null-tokenizer-eod-id=",
    "null-tokenizer-pad-id= patch-tokenizer-type= tiktoken-num-special-tokens=",
    "tiktoken-pattern= tiktoken-special-tokens*",
    "tokenizer-hf-include-special-tokens",
    "tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast",
    "tokenizer-hf-use-fast tokenizer-metadata= tokenizer-model=",
    "tokenizer-name-or-path= tokenizer-not-use-fast",
    "tokenizer-sentencepiece-legacy tokenizer-special-tokens* vocab-file=",
};

// what is written and read back, between steps
static const char *const names_checkpoint[] = {
    "ai-framework= enable-hf2mg-convert model-type-hf=",
    "target-expert-model-parallel-size= target-expert-parallel-size=",
    "target-pipeline-model-parallel-size= target-pipeline-parallel-size=",
    "target-tensor-model-parallel-size= target-tensor-parallel-size=",
    "load-safetensors merge-lora output-dir= save-safetensors save-steps= "
    "use-hf",
    "async-ckpt-cpu-priority= async-ckpt-io-priority= async-ckpt-use-cpu-shm",
    "async-save async-strategy= auto-detect-ckpt-format",
    "ckpt-assume-constant-structure ckpt-convert-format= ckpt-convert-save=",
    "ckpt-convert-update-legacy-dist-opt-format",
    "ckpt-drop-redundant-extra-state ckpt-fully-parallel-load",
    "ckpt-fully-parallel-load-exchange-algo=",
    "ckpt-fully-parallel-load-per-rank-objects",
    "ckpt-fully-parallel-load-process-group= ckpt-fully-parallel-save",
    "ckpt-fully-parallel-save-process-group= ckpt-pg-tensors-cache-create",
    "ckpt-pg-tensors-cache-path= ckpt-step= disable-ckpt-fully-parallel-save",
    "disable-ckpt-load-validate-sharding-integrity disable-load-optim",
    "disable-load-rng disable-save-optim disable-save-rng",
    "disable-stream-ckpt-dequant disable-strict-fsdp-dtensor-load",
    "dist-ckpt-format= dist-ckpt-optim-fully-reshardable",
    "dist-ckpt-save-pre-mcore-014 dist-ckpt-strictness= dist-ckpt-workers=",
    "exit-on-missing-checkpoint finetune hetereogenous-dist-checkpoint",
    "hf-save-dir= load-main-params-from-ckpt load-model-opt-format",
    "load-model-type= load= moe-upcycling-granularity= moe-use-upcycling",
    "no-ckpt-fully-parallel-save no-ckpt-load-validate-sharding-integrity",
    "no-load-optim no-load-rng no-save-optim no-save-rng",
    "no-stream-ckpt-dequant no-strict-fsdp-dtensor-load",
    "non-persistent-ckpt-type= non-persistent-global-ckpt-dir=",
    "non-persistent-local-ckpt-algo= non-persistent-local-ckpt-dir=",
    "non-persistent-save-interval= override-ckpt-iteration=",
    "persistent-save-interval= pretrained-checkpoint= replication",
    "replication-factor= replication-jump= save-activations-interval=",
    "save-config-filepath= save-dgrads-interval= save-interval=",
    "save-model-type= save-params-interval= save-retain-interval=",
    "save-tokens-per-expert-interval= save-wgrads-interval= save=",
    "use-checkpoint-opt-param-scheduler use-checkpoint-opt_param-scheduler",
    "use-dist-ckpt use-persistent-ckpt-worker verify-integrity",
};

// what is printed, checked, traced and profiled: time at most
static const char *const names_logging[] = {
    "app-tag-run-name= app-tag-run-version= check-for-large-grads",
    "check-for-spiky-loss check-weight-hash-across-dp-replicas-interval=",
    "codecarbon-dir= config-logger-dir= disable-check-for-nan-in-loss",
    "disable-filter-warnings disable-flight-recorder-dump-on-timeout",
    "disable-flight-recorder-extra-dump-on-exec",
    "disable-flight-recorder-include-only-active",
    "disable-log-loss-scale-to-tensorboard disable-straggler-on-startup",
    "dump-param-to-param-group-map= flight-recorder-dump-path=",
    "flight-recorder-include-stack-trace flight-recorder-trace-buffer-size=",
    "gpu-sniff-test-interval= log-batch-size-to-tensorboard",
    "log-device-memory-used log-energy log-interval=",
    "log-l2-norm-grad-to-tensorboard log-max-attention-logit",
    "log-memory-interval= log-memory-to-tensorboard log-num-zeros-in-grad",
    "log-params-norm log-path= log-progress log-runtime-to-tensorboard",
    "log-straggler log-throughput log-throughput-to-tensorboard",
    "log-timers-to-tensorboard log-validation-ppl-to-tensorboard",
    "log-world-size-to-tensorboard logging-level= memory-keys=",
    "memory-snapshot-path= modules-to-filter* moe-per-layer-logging",
    "moe-routing-trace-capture-hidden-states moe-routing-trace-capture-logits",
    "moe-routing-trace-dump-weights moe-routing-trace-max-training-iters=",
    "moe-routing-trace-path= no-barrier-with-level-1-timing",
    "no-check-for-nan-in-loss no-check-for-nan-in-loss-and-grad",
    "no-filter-warnings no-flight-recorder-dump-on-timeout",
    "no-flight-recorder-extra-dump-on-exec",
    "no-flight-recorder-include-only-active no-log-loss-scale-to-tensorboard",
    "no-one-logger nvtx-ranges one-logger-async one-logger-project=",
    "one-logger-run-name= otel-enabled otel-service-name= otel-span-groups=",
    "profile profile-ranks* profile-step-end= profile-step-start=",
    "pytorch-profiler-collect-callstack pytorch-profiler-collect-chakra",
    "pytorch-profiler-collect-shapes record-memory-history record-shapes",
    "result-rejected-tracker-filename= run-workload-inspector-server",
    "runtime-time-unit= set-level-for-all-loggers straggler-ctrlr-port=",
    "straggler-minmax-count= tensorboard-dir= tensorboard-log-interval=",
    "tensorboard-queue-size= throughput-window-size= timers= timing-log-level=",
    "timing-log-option= transformer-timers use-pytorch-profiler wandb-entity=",
    "wandb-exp-name= wandb-project= wandb-save-dir=",
};

// restarts, exits, clusters: the step itself is as without
static const char *const names_fault[] = {
    "adlr-autoresume adlr-autoresume-interval= calc-ft-timeouts",
    "disable-manual-gc-eval dist-url= distributed-timeout-minutes=",
    "distributed-timeout-seconds-after-init= enable-experimental",
    "enable-ft-package error-injection-rate= error-injection-type=",
    "exit-duration-in-mins= exit-interval= exit-signal-handler",
    "exit-signal-handler-for-dataloader exit-signal-handler-for-training",
    "exit-signal= fake-process-group fault-injector-delay-start-iteration=",
    "fault-injector-fault-delay= fault-injector-fault-probabilities=",
    "fault-injector-fault-types= fault-injector-mtti-seconds=",
    "fault-injector-num-ranks= fault-injector-offset-seconds=",
    "fault-injector-ranks= fault-injector-seed= ft-num-warmup-iters=",
    "inprocess-active-world-size= inprocess-barrier-timeout=",
    "inprocess-completion-timeout= inprocess-empty-cuda-cache",
    "inprocess-granularity= inprocess-hard-timeout=",
    "inprocess-heartbeat-interval= inprocess-heartbeat-timeout=",
    "inprocess-last-call-wait= inprocess-max-iterations=",
    "inprocess-monitor-process-interval= inprocess-monitor-thread-interval=",
    "inprocess-progress-watchdog-interval= inprocess-restart",
    "inprocess-soft-timeout= inprocess-termination-grace-time=",
    "kill-switch-path= lazy-mpu-init= local-rank= manual-gc",
    "manual-gc-interval= no-manual-gc-eval rank= rerun-mode=",
    "suggested-communication-unit-size= test-mode train-sync-interval=",
};

// evaluation, which is no step of training
static const char *const names_eval[] = {
    "evaluation-batch-size= moe-eval-capacity-factor=",
    "eval-global-batch-size= eval-interval= eval-iters= eval-micro-batch-size=",
    "start-eval-at-iter=",
};

// generation, whose caches and graphs training does not have
static const char *const names_inference[] = {
    "max-batch-size= max-new-tokens= out-seq-length=",
    "inference-tensor-parallel=",
    "cache-mla-latents disable-chunked-prefill enable-chunked-prefill",
    "flash-decode inference-batch-times-seqlen-threshold=",
    "inference-coordinator-port= inference-cuda-graph-all-prefills",
    "inference-cuda-graph-max-tokens= inference-cuda-graph-scope=",
    "inference-disable-ep-consensus inference-disable-triton-nvls-kernels",
    "inference-dynamic-batching inference-dynamic-batching-async-sched-mode=",
    "inference-dynamic-batching-block-size=",
    "inference-dynamic-batching-buffer-guaranteed-fraction=",
    "inference-dynamic-batching-buffer-overflow-factor=",
    "inference-dynamic-batching-buffer-size-gb=",
    "inference-dynamic-batching-chunk-size=",
    "inference-dynamic-batching-cuda-graph-max-tokens=",
    "inference-dynamic-batching-cuda-graph-mixed-prefill-count=",
    "inference-dynamic-batching-cuda-graph-sizing-distribution=",
    "inference-dynamic-batching-logprobs-mode=",
    "inference-dynamic-batching-mamba-memory-ratio=",
    "inference-dynamic-batching-max-requests-override=",
    "inference-dynamic-batching-max-requests=",
    "inference-dynamic-batching-max-tokens-override=",
    "inference-dynamic-batching-max-tokens=",
    "inference-dynamic-batching-num-cuda-graphs=",
    "inference-dynamic-batching-paused-buffer-size-gb=",
    "inference-dynamic-batching-prefix-caching",
    "inference-dynamic-batching-prefix-caching-coordinator-policy=",
    "inference-dynamic-batching-prefix-caching-eviction-policy=",
    "inference-dynamic-batching-prefix-caching-mamba-gb=",
    "inference-dynamic-batching-prefix-caching-routing-alpha=",
    "inference-dynamic-batching-sampling-backend=",
    "inference-dynamic-batching-track-generated-token-events",
    "inference-dynamic-batching-track-paused-request-events",
    "inference-dynamic-batching-unified-memory-level=",
    "inference-fuse-tp-communication inference-grouped-gemm-backend=",
    "inference-logging-step-interval= inference-max-batch-size=",
    "inference-max-requests= inference-max-seq-length=",
    "inference-moe-disable-fused-quant-kernels",
    "inference-moe-token-dispatcher-type= inference-rng-tracker",
    "inference-sampling-seed= inference-shards=",
    "inference-text-gen-server-logging",
    "inference-use-synchronous-zmq-collectives inference-wandb-logging",
    "mamba-inference-conv-states-dtype= mamba-inference-ssm-states-dtype=",
    "mlp-chunks-for-prefill= moe-pad-experts-for-cuda-graph-inference",
    "nccl-all-reduce-for-prefill no-inference-disable-ep-consensus",
    "no-inference-dynamic-batching-prefix-caching",
    "no-inference-text-gen-server-logging",
    "no-inference-use-synchronous-zmq-collectives no-inference-wandb-logging",
    "num-speculative-tokens= symmetric-ar-type= use-inference-optimized-layers",
    "use-legacy-static-engine",
};

// settings of the loop that --perform-rl-step starts, which is told of
static const char *const names_rl[] = {
    "decode-only-cuda-graphs grpo-clamp-eps-lower= grpo-clamp-eps-upper=",
    "grpo-default-temperature= grpo-default-top-p= grpo-entropy-term-weight=",
    "grpo-filter-groups-with-same-reward grpo-group-size= grpo-iterations=",
    "grpo-kl-beta= grpo-prompts-per-step= langrl-env-config=",
    "langrl-external-server langrl-inference-server-conversation-template=",
    "langrl-inference-server-type= no-langrl-external-server",
    "no-rl-calculate-intra-group-similarity",
    "no-rl-inference-logprobs-is-correction",
    "no-rl-offload-inference-model-weights-when-idle",
    "no-rl-offload-kv-cache-during-training no-rl-partial-rollouts",
    "no-rl-persist-cuda-graphs no-rl-remove-kv-cache-during-training",
    "no-rl-reset-cuda-graphs no-rl-skip-bos-token no-rl-training-cuda-graphs",
    "no-rl-use-sequence-packing no-rl-verify-model-weights-swap refit-method=",
    "rl-calculate-intra-group-similarity rl-consumption-granularity=",
    "rl-default-temperature= rl-default-top-k= rl-default-top-p=",
    "rl-durable-rollout-bank rl-generation-batch-size= rl-generation-lag=",
    "rl-importance-sampling-truncation-coef=",
    "rl-inference-expert-model-parallel-size=",
    "rl-inference-expert-tensor-model-parallel-size=",
    "rl-inference-logprobs-is-correction",
    "rl-inference-model-unified-memory-level= rl-inference-parsers*",
    "rl-inference-pipeline-model-parallel-size=",
    "rl-inference-tensor-model-parallel-size= rl-kv-cache-management-mode=",
    "rl-max-inflight-requests= rl-num-parallel-generation-batches=",
    "rl-num-parallel-generations= rl-offload-inference-model-weights-when-idle",
    "rl-offload-kv-cache-during-training rl-offload-optimizer-during-inference",
    "rl-parallel-generation-tasks= rl-partial-rollouts rl-persist-cuda-graphs",
    "rl-profile rl-profile-dir= rl-prompts-per-eval=",
    "rl-remove-kv-cache-during-training rl-reset-cuda-graphs",
    "rl-rollout-bank-dir= rl-rollout-bank-max-bytes= rl-sequence-packing-algo=",
    "rl-sequence-packing-bin-size= rl-sequence-packing-max-sequences-per-bin=",
    "rl-skip-bos-token rl-submission-granularity= rl-training-cuda-graphs",
    "rl-use-sequence-packing rl-verify-model-weights-swap",
    // of trainers around Megatron, whose ranks and batch the source room reads
    "actor-num-gpus-per-node= actor-num-nodes= colocate max-tokens-per-gpu=",
    "n-samples-per-prompt= num-rollout= num-steps-per-rollout=",
    "over-sampling-batch-size= rollout-batch-size= rollout-num-gpus=",
    "rollout-num-gpus-per-engine=",
};

// export, quantisation and distillation: settings of what their own switches
// start, which are told of where they load a teacher or add heads
static const char *const names_distill[] = {
    "export-default-te-spec export-draft-vocab-size= export-freeze-mtp*",
    "export-kd-cfg= export-kd-finalize export-kd-teacher-ckpt-format=",
    "export-kv-cache-quant= export-legacy-megatron export-model-type=",
    "export-moe-apply-probs-on-input export-offline-model export-qk-l2-norm",
    "export-te-mcore-model logits-load-decode-threads=",
    "logits-load-ignore-errors logits-load-kd-loss-alpha=",
    "logits-load-msc-prefetch-depth= logits-load-prefetch-factor=",
    "logits-save-dir= logits-save-dtype= logits-save-top-k=",
    "logits-save-top-p-min-k= logits-save-top-p= modelopt-enabled",
    "qad-train-target=",
};

// learning rates, betas, clipping, scaling of the loss: numbers, of which the
// state has as many as without
static const char *const names_optimizer[] = {
    "create-moe-param-group lr-decay-tokens= lr-warmup-tokens=",
    "adam-beta1= adam-beta2= adam-eps= apply-wd-to-qk-layernorm clip-grad=",
    "decoupled-lr= decoupled-min-lr= end-weight-decay= grad-scale-func=",
    "head-lr-mult= hysteresis= initial-loss-scale= lion-beta1= lion-beta2=",
    "loss-scale-window= loss-scale= lr-decay-iters= lr-decay-samples=",
    "lr-decay-steps= lr-decay-style= lr-warmup-fraction= lr-warmup-init=",
    "lr-warmup-iters= lr-warmup-samples= lr-warmup-steps= lr-wsd-decay-iters=",
    "lr-wsd-decay-samples= lr-wsd-decay-style= lr= min-loss-scale= min-lr=",
    "moe-grad-scale-func= mtp-grad-scale-func= muon-coefficient-type=",
    "muon-extra-scale-factor= muon-fp32-matmul-prec= muon-momentum=",
    "muon-nesterov muon-no-split-qkv muon-num-ns-steps= muon-scalar-optimizer=",
    "muon-scale-mode= muon-tp-mode= muon-use-nesterov muon-use-syrk",
    "no-weight-decay-cond-type= override-opt-param-scheduler",
    "override-opt_param-scheduler qk-clip qk-clip-alpha= qk-clip-threshold=",
    "sgd-momentum= start-weight-decay= warmup= wd-incr-steps=",
    "weight-decay-incr-style= weight-decay= wsd-decay-steps=",
};

// what weights begin with
static const char *const names_init[] = {
    "data-parallel-random-init embedding-init-method-std=",
    "embedding-init-method= init-method-std= init-method-xavier-uniform",
    "init-method= init-model-with-meta-device no-initialization",
    "output-layer-init-method= seed= te-rng-tracker use-cpu-initialization",
    "use-te-rng-tracker",
};

// what operations compute and not how many: scales, positions without
// parameters, epsilons, orders of a norm and a sum, mixed states of MTP
static const char *const names_numerics[] = {
    "enable-mla-scale-kv-lora enable-mla-scale-q-lora",
    "enable-gpt-oss",
    "activation-func-clamp-value= add-rmsnorm-offset apply-layernorm-1p",
    "apply-query-key-layer-scaling apply-residual-connection-post-layernorm",
    "attn-logit-softcapping= autocast-dtype= beta-fast= beta-slow=",
    "calculate-per-token-loss dim-model-base=",
    "disable-attention-softmax-in-fp32 embedding-multiplier-scale=",
    "enable-autocast glu-linear-offset= high-freq-factor=",
    "input-embeddings-multiplier= input-layernorm-in-fp32 layernorm-epsilon=",
    "layernorm-zero-centered-gamma low-freq-factor= mrope-section*",
    "mscale-all-dim= mscale= mtp-detach-heads mtp-hsm mtp-loss-scaling-factor=",
    "mup-attn-scale-power= mup-base-head-dim= mup-base-hidden-size=",
    "mup-embedding-mult= mup-output-mult= mup-width-mult=",
    "no-attention-softmax-in-fp32 no-query-key-layer-scaling no-rope-freq*",
    "no-yarn-correction-range-round-to-int norm-epsilon= openai-gelu",
    "original-max-position-embeddings= original-seq-len=",
    "output-logit-softcapping= output-multiplier-scale= partial-rotary-factor=",
    "qk-l2-norm query-pre-attn-scalar= rmsnorm-weight-in-fp32 rope-factor=",
    "rope-scaling-beta-fast= rope-scaling-beta-slow= rope-scaling-factor=",
    "rope-scaling-mscale-all-dim= rope-scaling-mscale=",
    "rope-scaling-original-max-position-embeddings= rope-scaling-type=",
    "rope-theta= rope-type= rotary-base= rotary-percent= rotary-scale-factor=",
    "rotary-scaling-factor= rotary-seq-len-interpolation-factor= scale-depth=",
    "scale-emb= softmax-scale= use-fused-rotary-pos-emb use-glm-rope use-mup",
    "use-rope-scaling yarn-beta-fast= yarn-beta-slow=",
    "yarn-correction-range-round-to-int yarn-original-max-position-embeddings=",
};

// which expert a token goes to: each token has as many as --moe-router-topk
// says, and load is taken as even
static const char *const names_routing[] = {
    "fix-router input-jitter moe-apply-probs-on-input moe-aux-loss-coeff*",
    "moe-comm-aux-loss-coeff= moe-device-level-aux-loss-coeff=",
    "moe-enable-routing-replay moe-input-jitter-eps= moe-loss-coeff=",
    "moe-revert-type-after-topk moe-router-bias-update-rate= moe-router-dtype=",
    "moe-router-force-biased= moe-router-force-load-balancing",
    "moe-router-fusion moe-router-group-topk=",
    "moe-router-num-groups= moe-router-padding-for-fp8",
    "moe-router-padding-for-quantization",
    "moe-router-quantile-balancing-ema=",
    "moe-router-topk-limited-devices= moe-router-topk-scaling-factor=",
    "moe-token-drop-policy= moe-token-dropping moe-z-loss-coeff= n-group=",
    "norm-topk-prob routed-scaling-factor= router-gating-in-fp32 router-type=",
    "seq-aux topk-group= topk-softmax-in-fp32",
};

// which kernel does an operation; those that keep more or less for the
// backward pass are rows of flags, or are told of (foreign)
static const char *const names_kernels[] = {
    "attention-mask-type= coc-fused-kernel enable-mla-absorb",
    "gemm-gradient-accumulation-fusion mla-fa-without-pad",
    "no-enable-linear-qkv use-fused-rmsnorm use-fused-swiglu",
    "use-fused-moe-token-permute-and-unpermute use-sparse-flash-attn",
    "apply-rope-fusion batch-invariant-backend= batch-invariant-mode",
    "bias-activation-fusion bias-dropout-fusion",
    "disable-bf16-reduced-precision-matmul disable-fp8-wgrad disable-jit-fuser",
    "empty-unused-memory-level= flash-attention-version=",
    "fp8-amax-compute-algo= fp8-amax-history-len= fp8-interval= fp8-margin=",
    "fp8-quantizer-factory= fused-residual-rmsnorm fused-single-qkv-rope",
    "gradient-accumulation-fusion jit-compile masked-softmax-fusion",
    "mla-down-proj-fusion moe-mlp-glu-interleave-size= moe-permute-fusion",
    "moe-shared-expert-glu-interleave-size= moe-single-grouped-bias",
    "moe-single-grouped-weight moe-use-grouped-tensor",
    "moe-use-legacy-grouped-gemm next-tockens= no-bias-dropout-fusion",
    "no-fp8-wgrad no-masked-softmax-fusion no-persist-layer-norm",
    "no-rope-fusion persist-layer-norm pre-tockens= rotary-interleaved",
    "shape-order= sparse-mode= use-deter-comp use-mc2 use-mcore-models use-te",
    "use-triton-gdn",
};

// how data travels: transports, buckets, groups, order of launching. Times of
// transfers are measured or given, not worked out from these
static const char *const names_comm[] = {
    "context-parallel-algo= disable-gloo-group moe-alltoall-overlap-comm",
    "moe-permutation-async-comm use-ascend-coc= use-cp-send-recv-overlap",
    "use-fused-ring-attention-update",
    "cp-comm-type* create-all-gather-group ddp-average-in-collective",
    "ddp-bucket-size= ddp-num-buckets= ddp-pad-buckets-for-high-nccl-busbw",
    "ddp-param-name-patterns-for-fp32-local-accumulation*",
    "ddp-reduce-scatter-with-fp32-accumulation deallocate-pipeline-outputs",
    "disable-align-grad-reduce disable-async-tensor-model-parallel-allreduce",
    "disable-batch-p2p-comm disable-batch-p2p-sync",
    "disable-clone-scatter-output-in-embedding disable-gloo-process-groups",
    "distributed-backend= finalize-model-grads-func= grad-sync-func=",
    "hierarchical-context-parallel-sizes* high-priority-a2a-comm-stream",
    "high-priority-stream-groups* moe-combine-bwd-dtype= moe-deepep-num-sms=",
    "moe-dispatch-fwd-dtype= moe-enable-deepep moe-flex-dispatcher-backend=",
    "moe-flex-dispatcher-num-sms= moe-hybridep-num-blocks-permute=",
    "moe-hybridep-num-blocks-unpermute= moe-hybridep-num-sms-preprocessing=",
    "moe-hybridep-num-sms= moe-hybridep-pad-uneven-dispatch-inputs",
    "moe-ncclep-zero-copy moe-permute-fusion-into-hybridep",
    "nccl-communicator-config-path=",
    "no-align-grad-reduce no-align-param-gather",
    "no-async-tensor-model-parallel-allreduce no-batch-p2p-comm",
    "no-batch-p2p-sync no-clone-scatter-output-in-embedding",
    "no-gradient-reduce-div-fusion no-scatter-gather-tensors-in-pipeline",
    "no-sync-func= overlap-p2p-comm overlap-param-gather-with-optimizer-step",
    "param-sync-func= pipeline-dtype= pipeline-model-parallel-comm-backend=",
    "sharp-enabled-group= use-ring-exchange-p2p",
    "use-same-sampling-seed-across-dp-ranks use-sharp variable-seq-lengths",
};

// settings of features that do nothing without a switch of their own, which is
// refused, told of or modelled: offloading, FSDP, CUDA graphs, other attention
// and Mamba layers, hyper-connections, sharded weights, low precision
static const char *const names_feature[] = {
    "mamba-chunk-size= mamba-d-conv= mamba-d-ssm= mamba-expand=",
    "moe-min-capacity=",
    "cpu-offloading-double-buffering cpu-offloading-retain-pinned-cpu-buffers",
    "cpu-offloading-weights cuda-graph-retain-backward-graph cuda-graph-scope*",
    "cuda-graph-use-single-mempool cuda-graph-warmup-steps=",
    "delay-offload-until-cuda-graph",
    "disable-cpu-offloading-activations disable-cuda-graph-use-single-mempool",
    "disable-dsa-indexer-rotate-activation disable-dsa-indexer-scoring-relu",
    "disable-mamba-mem-eff-path disable-symmetric-registration",
    "disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad",
    "disable-tp-comm-overlap-ag disable-tp-comm-overlap-rs",
    "disable-tp-comm-split-ag disable-tp-comm-split-rs",
    "distrib-optim-fully-reshardable-mem-efficient",
    "dsa-indexer-k-norm-epsilon= dsa-indexer-k-norm-fp32",
    "dsa-indexer-loss-coeff= dsa-indexer-rope-interleaved",
    "dsa-indexer-use-sparse-loss dsa-kernel-backend=",
    "enable-full-sharding-in-hsdp",
    "experimental-attention-variant-loss-scale-func=",
    "fine-grained-offloading-max-inflight-offloads= fp4-param-gather",
    "fp4-quantizer-factory= fp4-recipe= fsdp-db-use-persist-buf-on-alloc-fail",
    "fsdp-manual-registration gdp-cutedsl-kernel",
    "gdp-num-chunk-states-to-recompute= gdp-num-householder=",
    "gtp-expert-remat-nccl-ub gtp-remat-nccl-ub gtp-remat-opt-in-modules*",
    "gtp-remat-reduce-scatter-with-fp32-accumulation",
    "kitchen-attention-backend= kitchen-recipe-number=",
    "mamba-training-ssm-states-dtype=",
    "max-seqlen-per-dp-cp-rank= megatron-fsdp-enable-fine-grained-param-gather",
    "megatron-fsdp-grad-comm-dtype=",
    "megatron-fsdp-max-pool-double-buffer",
    "mhc-init-gating-factor= mhc-num-residual-streams=",
    "mhc-recompute-layer-num= mhc-sinkhorn-iterations=",
    "moe-paged-stash-buffer-size-factor-cpu=",
    "moe-paged-stash-buffer-size-factor-cuda= moe-paged-stash-page-size=",
    "no-cpu-offloading-activations no-cuda-graph-use-single-mempool",
    "no-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu",
    "no-pin-cpu-grads no-pin-cpu-params no-tp-comm-bulk-dgrad",
    "no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag no-tp-comm-overlap-rs",
    "no-tp-comm-split-ag no-tp-comm-split-rs num-layers-at-end-in-bf16=",
    "num-layers-at-start-in-bf16= outer-dp-sharding-strategy=",
    "overlap-cpu-optimizer-d2h-h2d torch-fsdp2-no-reshard-after-forward",
    "tp-comm-atomic-ag tp-comm-atomic-rs tp-comm-bootstrap-backend=",
    "tp-comm-overlap-cfg= tp-comm-overlap-disable-fc1",
    "tp-comm-overlap-disable-qkv tp-comm-overlap-rs-dgrad tp-only-amax-red",
    "use-torch-optimizer-for-cpu-offload",
};

// other models that share the parser (BERT, ICT, RETRO, vision): none of these
// has a part in a GPT model, and those that start another are told of
static const char *const names_other[] = {
    "freeze-aligner freeze-vit",
    "bert-embedder-type= bert-load= biencoder-projection-dim= block-data-path=",
    "classes-fraction= dino-bottleneck-size= dino-freeze-last-layer=",
    "dino-head-hidden-size= dino-local-crops-number= dino-local-img-size=",
    "dino-teacher-temp= dino-warmup-teacher-temp-epochs=",
    "dino-warmup-teacher-temp= embedding-path= evidence-data-path=",
    "ict-head-size= ict-load= img-h= img-w= indexer-batch-size=",
    "indexer-log-interval= iter-per-epoch= most-recent-k= num-channels=",
    "num-classes= onnx-safe= output-bert-embeddings patch-dim=",
    "query-in-block-prob= relative-attention-max-distance=",
    "relative-attention-num-buckets= retriever-report-topk-accuracies*",
    "retriever-score-scaling retriever-seq-length= retro-attention-gate=",
    "retro-cyclic-train-iters= retro-encoder-attention-dropout=",
    "retro-encoder-hidden-dropout= retro-encoder-layers=",
    "retro-no-verify-neighbor-count retro-num-neighbors=",
    "retro-num-retrieved-chunks= retro-project-dir= swin-backbone-type=",
    "titles-data-path= use-one-sent-docs vision-backbone-type=",
    "vision-pretraining-type=",
};

#define NAMES_GROUP(list)                                                      \
    {                                                                          \
        list, sizeof list / sizeof list[0]                                     \
    }
static const struct {
    const char *const *lines;
    size_t n;
} groups[] = {
    NAMES_GROUP(names_data),       NAMES_GROUP(names_tokenizer),
    NAMES_GROUP(names_checkpoint), NAMES_GROUP(names_logging),
    NAMES_GROUP(names_fault),      NAMES_GROUP(names_eval),
    NAMES_GROUP(names_inference),  NAMES_GROUP(names_rl),
    NAMES_GROUP(names_distill),    NAMES_GROUP(names_optimizer),
    NAMES_GROUP(names_init),       NAMES_GROUP(names_numerics),
    NAMES_GROUP(names_routing),    NAMES_GROUP(names_kernels),
    NAMES_GROUP(names_comm),       NAMES_GROUP(names_feature),
    NAMES_GROUP(names_other),
};
enum { N_NAME_GROUPS = sizeof groups / sizeof groups[0] };

/* Bytes of the name that the line begins with. */
static size_t names_length(const char *line)
{
    return strcspn(line, " =*");
}

static const char *names_next(const char *line)
{
    line += strcspn(line, " ");
    return line + strspn(line, " ");
}

static enum known_values names_values(char mark)
{
    return mark == '=' ? KNOWN_ONE : mark == '*' ? KNOWN_MANY : KNOWN_SWITCH;
}

/* Is the word in the line? A whole word: names are parts of one another. */
static enum known_values names_in_line(const char *line, const char *name,
                                       size_t len)
{
    for (; *line; line = names_next(line))
        if (names_length(line) == len && memcmp(line, name, len) == 0)
            return names_values(line[len]);
    return KNOWN_NOT;
}

/* Some thousand comparisons a word, of a command line of a hundred words. */
enum known_values megatron_known(const char *name, size_t len)
{
    for (int g = 0; g < N_NAME_GROUPS; g++)
        for (size_t i = 0; i < groups[g].n; i++) {
            enum known_values is = names_in_line(groups[g].lines[i], name, len);
            if (is != KNOWN_NOT)
                return is;
        }
    return KNOWN_NOT;
}

/* Keeps in `best` the nearer of `best` and the words of the line. Words whose
 * lengths alone differ by more than a third are too far (text_nearest). */
static void names_nearer(const char *line, const char *word,
                         char best[NAMES_MAX_BYTES])
{
    const size_t len = strlen(word);
    for (; *line; line = names_next(line)) {
        char one[NAMES_MAX_BYTES];
        size_t n = names_length(line);
        size_t longer = n > len ? n : len, apart = longer - (n > len ? len : n);
        // the distance is at least the difference of the lengths
        if (3 * apart > longer)
            continue;
        snprintf(one, sizeof one, "%.*s", (int)n, line);
        const char *pair[] = {best, one};
        if (text_nearest(word, pair, 2) == one)
            snprintf(best, NAMES_MAX_BYTES, "%s", one);
    }
}

void megatron_known_nearest(const char *word, char name[NAMES_MAX_BYTES])
{
    name[0] = '\0';
    for (int g = 0; g < N_NAME_GROUPS; g++)
        for (size_t i = 0; i < groups[g].n; i++)
            names_nearer(groups[g].lines[i], word, name);
}
