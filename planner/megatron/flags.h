/*
 * flags: the table of Megatron-LM flags that are understood, and one typed
 * slot for each: an integer is parsed once into an int64_t, a real into a
 * double, a switch is a bool, all else is text. A word of a command line, a key
 * of a model file and a line of a log's dump fill the same slot; model and
 * memory read from here, by identifier only.
 *
 * Sized for some hundred rows; a set of slots takes about 4 KB.
 */
#ifndef MEGATRON_FLAGS_H
#define MEGATRON_FLAGS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* identifier, flag without dashes, other names, type, default, range, effect
 *
 * Other names: older flags and spellings of Megatron's configuration classes
 * for the same thing, parted by spaces. One with a `!` means the opposite; it
 * is a name in dumps of arguments only, where a switch that turns something
 * off is stored as the thing itself.
 *
 * Type. INT, REAL, TEXT: one value; BOOL: sets true; WORDS: values up to the
 * next flag.
 *
 * Default: of megatron/training/arguments.py (core 0.16); "": none.
 *
 * Range: FROM(lowest, highest) of an integer, so that products of sizes fit
 * into 64 bits; NEED(lowest, highest): the flag must be given, too; ANY.
 *
 * Effect: what the flag changes. CHANGES makes a model that this program does
 * not size, and stops commands by name (account); UNMODELLED is warned about
 * and has no effect here; JUDGED is read for the rules on launches alone, and
 * demanded by nothing.
 *
 * Some rows are not Megatron's, but what published models have beyond its
 * flags: qk-norm-full-width (OLMoE's norms over all heads at once),
 * count-expert-bias (totals that count the router's correction bias, a buffer
 * in Megatron, as parameters), attention-output-bias and output-layer-bias
 * (Phi-3.5-MoE), post-layer-norms (norms also behind attention and MLP),
 * dsa-indexer-layers (1 where sparse attention has an indexer of its own). */
#define MEGATRON_FLAG_TABLE(X)                                                 \
    /* the model: widths. Bounds are far above any model, so that layers x     \
     * widths x widths stay below 2^63 */                                      \
    X(FLAG_NUM_LAYERS, "num-layers", "encoder-num-layers", INT, "",            \
      NEED(1, MODEL_MAX_LAYERS), MODEL)                                        \
    X(FLAG_HIDDEN_SIZE, "hidden-size", "", INT, "", NEED(1, 1 << 20), MODEL)   \
    X(FLAG_FFN_HIDDEN_SIZE, "ffn-hidden-size", "", INT, "", FROM(1, 1 << 22),  \
      MODEL)                                                                   \
    X(FLAG_NUM_ATTENTION_HEADS, "num-attention-heads", "", INT, "",            \
      NEED(1, 1 << 16), MODEL)                                                 \
    X(FLAG_GROUP_QUERY_ATTENTION, "group-query-attention", "", BOOL, "", ANY,  \
      MODEL)                                                                   \
    X(FLAG_NUM_QUERY_GROUPS, "num-query-groups", "", INT, "1",                 \
      FROM(1, 1 << 16), MODEL)                                                 \
    X(FLAG_KV_CHANNELS, "kv-channels", "", INT, "", FROM(1, 1 << 16), MODEL)   \
    X(FLAG_MLA, "multi-latent-attention", "", BOOL, "", ANY, MODEL)            \
    X(FLAG_Q_LORA_RANK, "q-lora-rank", "", INT, "", FROM(1, 1 << 16), MODEL)   \
    X(FLAG_KV_LORA_RANK, "kv-lora-rank", "", INT, "32", FROM(1, 1 << 16),      \
      MODEL)                                                                   \
    X(FLAG_QK_HEAD_DIM, "qk-head-dim", "", INT, "128", FROM(1, 1 << 14),       \
      MODEL)                                                                   \
    X(FLAG_QK_POS_EMB_HEAD_DIM, "qk-pos-emb-head-dim", "", INT, "64",          \
      FROM(0, 1 << 14), MODEL)                                                 \
    X(FLAG_V_HEAD_DIM, "v-head-dim", "", INT, "128", FROM(1, 1 << 14), MODEL)  \
    /* other attention: a gate on the output; gated delta net or sparse        \
     * attention by the variant's name */                                      \
    X(FLAG_ATTENTION_OUTPUT_GATE, "attention-output-gate", "", BOOL, "", ANY,  \
      MODEL)                                                                   \
    X(FLAG_EXPERIMENTAL_ATTENTION_VARIANT, "experimental-attention-variant",   \
      "", TEXT, "", ANY, MODEL)                                                \
    X(FLAG_LINEAR_ATTENTION_FREQ, "linear-attention-freq", "", TEXT, "", ANY,  \
      MODEL)                                                                   \
    X(FLAG_LINEAR_CONV_DIM, "linear-conv-kernel-dim", "", INT, "4",            \
      FROM(1, 1 << 10), MODEL)                                                 \
    X(FLAG_LINEAR_KEY_DIM, "linear-key-head-dim", "", INT, "128",              \
      FROM(1, 1 << 14), MODEL)                                                 \
    X(FLAG_LINEAR_VALUE_DIM, "linear-value-head-dim", "", INT, "128",          \
      FROM(1, 1 << 14), MODEL)                                                 \
    X(FLAG_LINEAR_KEY_HEADS, "linear-num-key-heads", "", INT, "16",            \
      FROM(1, 1 << 14), MODEL)                                                 \
    X(FLAG_LINEAR_VALUE_HEADS, "linear-num-value-heads", "", INT, "32",        \
      FROM(1, 1 << 14), MODEL)                                                 \
    X(FLAG_DSA_HEADS, "dsa-indexer-n-heads", "", INT, "", FROM(1, 1 << 14),    \
      MODEL)                                                                   \
    X(FLAG_DSA_DIM, "dsa-indexer-head-dim", "", INT, "", FROM(1, 1 << 14),     \
      MODEL)                                                                   \
    X(FLAG_DSA_TOPK, "dsa-indexer-topk", "", INT, "", FROM(1, 1 << 26), MODEL) \
    X(FLAG_DSA_TOPK_FREQ, "dsa-indexer-topk-freq", "", INT, "1",               \
      FROM(1, MODEL_MAX_LAYERS), MODEL)                                        \
    X(FLAG_DSA_SKIP_OFFSET, "dsa-indexer-skip-topk-offset", "", INT, "0",      \
      FROM(0, MODEL_MAX_LAYERS), MODEL)                                        \
    /* attention beyond its widths: sinks, windows, and positions, which       \
     * are parameters where they are learned */                                \
    X(FLAG_SOFTMAX_TYPE, "softmax-type", "", TEXT, "vanilla", ANY, MODEL)      \
    X(FLAG_WINDOW_SIZE, "window-size", "", TEXT, "", ANY, MODEL)               \
    X(FLAG_WINDOW_SKIP_FREQ, "window-attn-skip-freq", "", TEXT, "", ANY,       \
      MODEL)                                                                   \
    X(FLAG_MAX_POSITION_EMBEDDINGS, "max-position-embeddings", "", INT, "",    \
      FROM(1, 1 << 26), MODEL)                                                 \
    X(FLAG_POSITION_EMBEDDING_TYPE, "position-embedding-type", "", TEXT,       \
      "learned_absolute", ANY, MODEL)                                          \
    X(FLAG_USE_ROTARY, "use-rotary-position-embeddings", "", BOOL, "", ANY,    \
      MODEL)                                                                   \
    X(FLAG_NO_POSITION_EMBEDDING, "no-position-embedding",                     \
      "!add-position-embedding", BOOL, "", ANY, MODEL)                         \
    /* vocabulary: tokens are padded to a multiple of divisor x TP; a          \
     * stated padded size stands for all three */                              \
    X(FLAG_MAKE_VOCAB_DIVISIBLE, "make-vocab-size-divisible-by", "", INT,      \
      "128", FROM(1, 1 << 20), MODEL)                                          \
    X(FLAG_VOCAB_SIZE, "vocab-size", "", INT, "", FROM(1, 1 << 24), MODEL)     \
    X(FLAG_PADDED_VOCAB_SIZE, "padded-vocab-size", "", INT, "",                \
      FROM(1, 1 << 24), MODEL)                                                 \
    X(FLAG_TOKENIZER_TYPE, "tokenizer-type", "", TEXT, "", ANY, MODEL)         \
    /* norms, activations, biases: LayerNorm has a bias, RMSNorm none; a       \
     * gated activation has two matrices in */                                 \
    X(FLAG_NORMALIZATION, "normalization", "", TEXT, "LayerNorm", ANY, MODEL)  \
    X(FLAG_SWIGLU, "swiglu", "", BOOL, "", ANY, MODEL)                         \
    X(FLAG_QUICK_GEGLU, "quick-geglu", "", BOOL, "", ANY, MODEL)               \
    X(FLAG_SQUARED_RELU, "squared-relu", "", BOOL, "", ANY, MODEL)             \
    X(FLAG_DISABLE_BIAS_LINEAR, "disable-bias-linear", "!add-bias-linear",     \
      BOOL, "", ANY, MODEL)                                                    \
    X(FLAG_ADD_QKV_BIAS, "add-qkv-bias", "", BOOL, "", ANY, MODEL)             \
    X(FLAG_QK_LAYERNORM, "qk-layernorm", "", BOOL, "", ANY, MODEL)             \
    X(FLAG_UNTIE, "untie-embeddings-and-output-weights", "", BOOL, "", ANY,    \
      MODEL)                                                                   \
    /* experts and MTP; the names that are not Megatron's stand last */        \
    X(FLAG_NUM_EXPERTS, "num-experts", "num-moe-experts", INT, "",             \
      FROM(1, 1 << 16), MODEL)                                                 \
    X(FLAG_MOE_FFN_HIDDEN_SIZE, "moe-ffn-hidden-size", "", INT, "",            \
      FROM(1, 1 << 22), MODEL)                                                 \
    X(FLAG_MOE_ROUTER_TOPK, "moe-router-topk", "", INT, "2", FROM(1, 1 << 12), \
      MODEL)                                                                   \
    X(FLAG_MOE_SHARED_EXPERT, "moe-shared-expert-intermediate-size", "", INT,  \
      "", FROM(0, 1 << 22), MODEL)                                             \
    X(FLAG_MOE_SHARED_GATE, "moe-shared-expert-gate", "", BOOL, "", ANY,       \
      MODEL)                                                                   \
    X(FLAG_MOE_LATENT_SIZE, "moe-latent-size", "", INT, "", FROM(1, 1 << 20),  \
      MODEL)                                                                   \
    X(FLAG_MOE_EXPERT_BIAS, "moe-router-enable-expert-bias", "", BOOL, "",     \
      ANY, MODEL)                                                              \
    X(FLAG_MOE_LAYER_FREQ, "moe-layer-freq", "", TEXT, "1", ANY, MODEL)        \
    X(FLAG_MTP_NUM_LAYERS, "mtp-num-layers", "", INT, "", FROM(0, 16), MODEL)  \
    X(FLAG_MTP_REPEATED, "mtp-use-repeated-layer", "", BOOL, "", ANY, MODEL)   \
    X(FLAG_QK_NORM_FULL_WIDTH, "qk-norm-full-width", "", BOOL, "", ANY, MODEL) \
    X(FLAG_COUNT_EXPERT_BIAS, "count-expert-bias", "", BOOL, "", ANY, MODEL)   \
    X(FLAG_ATTENTION_OUTPUT_BIAS, "attention-output-bias", "", BOOL, "", ANY,  \
      MODEL)                                                                   \
    X(FLAG_OUTPUT_LAYER_BIAS, "output-layer-bias", "", BOOL, "", ANY, MODEL)   \
    X(FLAG_POST_LAYER_NORMS, "post-layer-norms", "", BOOL, "", ANY, MODEL)     \
    X(FLAG_DSA_LAYERS, "dsa-indexer-layers", "", TEXT, "", ANY, MODEL)         \
    /* ranks and stages: world = TP x CP x PP x DP, which expert ranks         \
     * share among themselves as ETP x EP x PP. Flags of a split exclude       \
     * the layout (default_split) */                                           \
    X(FLAG_TP, "tensor-model-parallel-size", "model-parallel-size", INT, "1",  \
      FROM(1, 1 << 12), PARALLEL)                                              \
    X(FLAG_PP, "pipeline-model-parallel-size", "", INT, "1", FROM(1, 1 << 10), \
      PARALLEL)                                                                \
    X(FLAG_VPP, "num-virtual-stages-per-pipeline-rank", "", INT, "",           \
      FROM(1, 1 << 10), PARALLEL)                                              \
    X(FLAG_LAYERS_PER_VPP, "num-layers-per-virtual-pipeline-stage", "", INT,   \
      "", FROM(1, MODEL_MAX_LAYERS), PARALLEL)                                 \
    X(FLAG_LAYOUT, "pipeline-model-parallel-layout", "", TEXT, "", ANY,        \
      PARALLEL)                                                                \
    X(FLAG_FIRST_LAYERS, "decoder-first-pipeline-num-layers",                  \
      "num-layers-in-first-pipeline-stage", INT, "",                           \
      FROM(1, MODEL_MAX_LAYERS), PARALLEL)                                     \
    X(FLAG_LAST_LAYERS, "decoder-last-pipeline-num-layers",                    \
      "num-layers-in-last-pipeline-stage", INT, "", FROM(1, MODEL_MAX_LAYERS), \
      PARALLEL)                                                                \
    X(FLAG_ACCOUNT_EMBEDDING, "account-for-embedding-in-pipeline-split", "",   \
      BOOL, "", ANY, PARALLEL)                                                 \
    X(FLAG_ACCOUNT_LOSS, "account-for-loss-in-pipeline-split", "", BOOL, "",   \
      ANY, PARALLEL)                                                           \
    X(FLAG_CP, "context-parallel-size", "", INT, "1", FROM(1, 1 << 12),        \
      PARALLEL)                                                                \
    X(FLAG_EP, "expert-model-parallel-size", "", INT, "1", FROM(1, 1 << 12),   \
      PARALLEL)                                                                \
    X(FLAG_ETP, "expert-tensor-parallel-size", "", INT, "", FROM(1, 1 << 12),  \
      PARALLEL)                                                                \
    X(FLAG_WORLD_SIZE, "world-size", "", INT, "", FROM(1, 1 << 24), PARALLEL)  \
    X(FLAG_SEQUENCE_PARALLEL, "sequence-parallel", "", BOOL, "", ANY,          \
      PARALLEL)                                                                \
    X(FLAG_DP_LAST, "use-tp-pp-dp-mapping", "", BOOL, "", ANY, PARALLEL)       \
    /* batch: global = micro-batch x DP x number of micro-batches, which       \
     * decides the share of the pipeline's bubble */                           \
    X(FLAG_MICRO_BATCH_SIZE, "micro-batch-size", "", INT, "1",                 \
      FROM(1, 1 << 16), BATCH)                                                 \
    X(FLAG_GLOBAL_BATCH_SIZE, "global-batch-size", "", INT, "",                \
      FROM(1, 1 << 24), BATCH)                                                 \
    X(FLAG_SEQ_LENGTH, "seq-length", "encoder-seq-length", INT, "",            \
      FROM(1, 1 << 26), BATCH)                                                 \
    /* order of work: what changes neither the model nor its result, but       \
     * the time of a step */                                                   \
    X(FLAG_OVERLAP_MOE_COMM, "overlap-moe-expert-parallel-comm", "", BOOL, "", \
      ANY, SCHEDULE)                                                           \
    X(FLAG_DELAY_WGRAD, "delay-wgrad-compute", "", BOOL, "", ANY, SCHEDULE)    \
    X(FLAG_MB_GROUP, "microbatch-group-size-per-virtual-pipeline-stage",       \
      "microbatch-group-size-per-vp-stage", INT, "", FROM(1, 1 << 24),         \
      SCHEDULE)                                                                \
    X(FLAG_NO_OVERLAP_P2P, "no-overlap-p2p-communication",                     \
      "!overlap-p2p-comm", BOOL, "", ANY, SCHEDULE)                            \
    X(FLAG_OVERLAP_P2P_FLUSH, "overlap-p2p-communication-warmup-flush",        \
      "overlap-p2p-comm-warmup-flush", BOOL, "", ANY, SCHEDULE)                \
    X(FLAG_DEFER_EMBEDDING_WGRAD, "defer-embedding-wgrad-compute", "", BOOL,   \
      "", ANY, SCHEDULE)                                                       \
    /* flags that only the judge of a launch asks for */                       \
    X(FLAG_SHARED_OVERLAP, "moe-shared-expert-overlap", "", BOOL, "", ANY,     \
      SCHEDULE)                                                                \
    X(FLAG_EARLY_ATTN_RELEASE, "ep-overlap-early-attn-memory-release", "",     \
      BOOL, "", ANY, SCHEDULE)                                                 \
    X(FLAG_DISPATCH_WGRAD, "overlap-dispatch-backward-with-experts-wgrad", "", \
      BOOL, "", ANY, SCHEDULE)                                                 \
    X(FLAG_DECREASE_BATCH, "decrease-batch-size-if-needed", "", BOOL, "", ANY, \
      SCHEDULE)                                                                \
    /* optimiser and precision: bytes of a parameter, its gradient and its     \
     * state; types are named as PyTorch has them */                           \
    X(FLAG_DIST_OPT, "use-distributed-optimizer", "", BOOL, "", ANY, MEMORY)   \
    X(FLAG_DIST_OPT_INSTANCES, "num-distributed-optimizer-instances", "", INT, \
      "1", FROM(1, 1 << 12), MEMORY)                                           \
    X(FLAG_BF16, "bf16", "", BOOL, "", ANY, MEMORY)                            \
    X(FLAG_FP16, "fp16", "", BOOL, "", ANY, MEMORY)                            \
    X(FLAG_OPTIMIZER, "optimizer", "", TEXT, "adam", ANY, MEMORY)              \
    X(FLAG_PRECISION_AWARE, "use-precision-aware-optimizer", "", BOOL, "",     \
      ANY, MEMORY)                                                             \
    X(FLAG_MAIN_GRADS_DTYPE, "main-grads-dtype", "", TEXT, "fp32", ANY,        \
      MEMORY)                                                                  \
    X(FLAG_MAIN_PARAMS_DTYPE, "main-params-dtype", "", TEXT, "fp32", ANY,      \
      MEMORY)                                                                  \
    X(FLAG_EXP_AVG_DTYPE, "exp-avg-dtype", "", TEXT, "fp32", ANY, MEMORY)      \
    X(FLAG_EXP_AVG_SQ_DTYPE, "exp-avg-sq-dtype", "", TEXT, "fp32", ANY,        \
      MEMORY)                                                                  \
    X(FLAG_GRAD_REDUCE_BF16, "grad-reduce-in-bf16", "", BOOL, "", ANY, MEMORY) \
    X(FLAG_GRADS_FP32, "accumulate-allreduce-grads-in-fp32", "", BOOL, "",     \
      ANY, MEMORY)                                                             \
    X(FLAG_FP8_FORMAT, "fp8-format", "fp8", TEXT, "", ANY, MEMORY)             \
    X(FLAG_FP8_RECIPE, "fp8-recipe", "", TEXT, "delayed", ANY, MEMORY)         \
    X(FLAG_FP8_PARAM_GATHER, "fp8-param-gather", "", BOOL, "", ANY, MEMORY)    \
    X(FLAG_FIRST_LAST_BF16, "first-last-layers-bf16", "", BOOL, "", ANY,       \
      MEMORY)                                                                  \
    /* recompute and offloading: what a forward pass keeps, and where */       \
    X(FLAG_RECOMPUTE_GRANULARITY, "recompute-granularity", "", TEXT, "", ANY,  \
      MEMORY)                                                                  \
    X(FLAG_RECOMPUTE_METHOD, "recompute-method", "", TEXT, "", ANY, MEMORY)    \
    X(FLAG_RECOMPUTE_NUM_LAYERS, "recompute-num-layers", "", INT, "", ANY,     \
      MEMORY)                                                                  \
    X(FLAG_RECOMPUTE_MODULES, "recompute-modules", "", WORDS, "", ANY, MEMORY) \
    X(FLAG_RECOMPUTE_ACTIVATIONS, "recompute-activations", "", BOOL, "", ANY,  \
      MEMORY)                                                                  \
    X(FLAG_DISTRIBUTE_SAVED, "distribute-saved-activations", "", BOOL, "",     \
      ANY, MEMORY)                                                             \
    X(FLAG_OFFLOADING, "fine-grained-activation-offloading", "", BOOL, "",     \
      ANY, MEMORY)                                                             \
    X(FLAG_OFFLOAD_MODULES, "offload-modules", "", WORDS, "", ANY, MEMORY)     \
    X(FLAG_OPTIMIZER_OFFLOAD, "optimizer-cpu-offload", "", BOOL, "", ANY,      \
      MEMORY)                                                                  \
    X(FLAG_OPTIMIZER_OFFLOAD_FRACTION, "optimizer-offload-fraction", "", REAL, \
      "1.0", ANY, MEMORY)                                                      \
    /* fully sharded data parallelism: the strategy says what is divided over  \
     * the replicas, types are those of its buffers (auto: as the parameters); \
     * version 2 and double buffers are known by name only */                  \
    X(FLAG_MEGATRON_FSDP, "use-megatron-fsdp", "use-custom-fsdp", BOOL, "",    \
      ANY, MEMORY)                                                             \
    X(FLAG_TORCH_FSDP2, "use-torch-fsdp2", "", BOOL, "", ANY, MEMORY)          \
    X(FLAG_SHARDING_STRATEGY, "data-parallel-sharding-strategy", "", TEXT,     \
      "optim_grads_params", ANY, MEMORY)                                       \
    X(FLAG_FSDP_VERSION, "megatron-fsdp-version", "", INT, "1", FROM(1, 2),    \
      MEMORY)                                                                  \
    X(FLAG_FSDP_MAIN_PARAMS, "megatron-fsdp-main-params-dtype", "", TEXT,      \
      "fp32", ANY, MEMORY)                                                     \
    X(FLAG_FSDP_MAIN_GRADS, "megatron-fsdp-main-grads-dtype", "", TEXT,        \
      "auto", ANY, MEMORY)                                                     \
    X(FLAG_FSDP_DOUBLE_BUFFER, "fsdp-double-buffer", "", BOOL, "", ANY,        \
      MEMORY)                                                                  \
    X(FLAG_FSDP_NCCL_UB, "use-nccl-ub", "", BOOL, "", ANY, MEMORY)             \
    X(FLAG_OFFLOAD_FRACTION, "activation-offload-fraction", "", REAL, "1.0",   \
      ANY, MEMORY)                                                             \
    X(FLAG_OFFLOAD_DELTA, "delta-offload-bytes-across-pp-ranks", "", INT, "0", \
      FROM(0, (int64_t)1 << 50), MEMORY)                                       \
    X(FLAG_OFFLOAD_MIN_SIZE, "min-offloaded-tensor-size", "", INT, "1048576",  \
      FROM(0, (int64_t)1 << 50), MEMORY)                                       \
    X(FLAG_CPU_OFFLOADING, "cpu-offloading", "", BOOL, "", ANY, MEMORY)        \
    X(FLAG_FLEXTRON, "flextron", "", BOOL, "", ANY, MEMORY)                    \
    X(FLAG_PAGED_STASH, "moe-paged-stash", "", BOOL, "", ANY, CHANGES)         \
    /* adapters, in the spellings of ms-swift, NeMo and Megatron-Bridge: not   \
     * Megatron's flags, but what they do to memory has to be said: a frozen   \
     * base has no gradients and no optimiser state, so a number for full      \
     * training would be wrong by several times */                             \
    X(FLAG_LORA_RANK, "lora-rank", "lora-r lora-dim", INT, "", ANY, CHANGES)   \
    X(FLAG_TUNER_TYPE, "train-type", "tuner-type peft peft-scheme peft-type",  \
      TEXT, "", ANY, MEMORY)                                                   \
    /* kernels: fused ones keep less for the backward pass */                  \
    X(FLAG_NO_GRAD_FUSION, "no-gradient-accumulation-fusion",                  \
      "!gradient-accumulation-fusion", BOOL, "", ANY, MEMORY)                  \
    X(FLAG_CE_FUSION, "cross-entropy-loss-fusion", "", BOOL, "", ANY, MEMORY)  \
    X(FLAG_CE_FUSION_IMPL, "cross-entropy-fusion-impl", "", TEXT, "native",    \
      ANY, MEMORY)                                                             \
    X(FLAG_SOFTMAX_FP32, "attention-softmax-in-fp32", "", BOOL, "", ANY,       \
      MEMORY)                                                                  \
    X(FLAG_ATTENTION_BACKEND, "attention-backend", "", TEXT, "auto", ANY,      \
      MEMORY)                                                                  \
    X(FLAG_FLASH_ATTN, "use-flash-attn", "", BOOL, "", ANY, MEMORY)            \
    X(FLAG_TRANSFORMER_IMPL, "transformer-impl", "", TEXT,                     \
      "transformer_engine", ANY, MEMORY)                                       \
    X(FLAG_NO_ATTENTION_MASK, "no-create-attention-mask-in-dataloader",        \
      "!create-attention-mask-in-dataloader", BOOL, "", ANY, MEMORY)           \
    X(FLAG_ATTENTION_DROPOUT, "attention-dropout", "", REAL, "0.1", ANY,       \
      MEMORY)                                                                  \
    X(FLAG_HIDDEN_DROPOUT, "hidden-dropout", "", REAL, "0.1", ANY, MEMORY)     \
    /* experts at work: how many tokens an expert gets room for */             \
    X(FLAG_MOE_GROUPED_GEMM, "moe-grouped-gemm", "", BOOL, "", ANY, MEMORY)    \
    X(FLAG_MOE_DISPATCHER, "moe-token-dispatcher-type", "", TEXT, "allgather", \
      ANY, MEMORY)                                                             \
    X(FLAG_MOE_CAPACITY_FACTOR, "moe-expert-capacity-factor", "", REAL, "",    \
      ANY, MEMORY)                                                             \
    X(FLAG_MOE_PAD_TO_CAPACITY, "moe-pad-expert-input-to-capacity", "", BOOL,  \
      "", ANY, MEMORY)                                                         \
    /* what else keeps memory: buffers of communication, graphs, deferred      \
     * work */                                                                 \
    X(FLAG_OVERLAP_GRAD_REDUCE, "overlap-grad-reduce", "", BOOL, "", ANY,      \
      MEMORY)                                                                  \
    X(FLAG_OVERLAP_PARAM_GATHER, "overlap-param-gather", "", BOOL, "", ANY,    \
      MEMORY)                                                                  \
    X(FLAG_DETERMINISTIC, "deterministic-mode", "", BOOL, "", ANY, MEMORY)     \
    X(FLAG_CUDA_GRAPH_IMPL, "cuda-graph-impl", "", TEXT, "", ANY, MEMORY)      \
    X(FLAG_CUDA_GRAPH_MODULES, "cuda-graph-modules", "", WORDS, "", ANY,       \
      MEMORY)                                                                  \
    X(FLAG_ENABLE_CUDA_GRAPH, "enable-cuda-graph", "", BOOL, "", ANY, MEMORY)  \
    X(FLAG_WGRAD_LIMIT, "wgrad-deferral-limit", "", INT, "", ANY, MEMORY)      \
    X(FLAG_NO_GELU_FUSION, "no-bias-gelu-fusion", "", BOOL, "", ANY, MEMORY)   \
    X(FLAG_NO_SWIGLU_FUSION, "no-bias-swiglu-fusion", "", BOOL, "", ANY,       \
      MEMORY)                                                                  \
    X(FLAG_NO_LAYERWISE_LAYOUT, "no-use-layer-wise-param-layout", "", BOOL,    \
      "", ANY, MEMORY)                                                         \
    X(FLAG_CPU_OFFLOAD_LAYERS, "cpu-offloading-num-layers", "", INT, "", ANY,  \
      MEMORY)                                                                  \
    /* hybrid models: a symbol for each layer, which says more than the number \
     * of layers, and the widths of their Mamba layers; without a number of    \
     * heads they are twice the hidden size wide */                            \
    X(FLAG_HYBRID_LAYER_PATTERN, "hybrid-layer-pattern", "", TEXT, "", ANY,    \
      MODEL)                                                                   \
    X(FLAG_HYBRID_OVERRIDE_PATTERN, "hybrid-override-pattern", "", TEXT, "",   \
      ANY, MODEL)                                                              \
    X(FLAG_MTP_HYBRID_PATTERN, "mtp-hybrid-override-pattern", "", TEXT, "",    \
      ANY, MODEL)                                                              \
    X(FLAG_HYBRID_ATTENTION_RATIO, "hybrid-attention-ratio", "", REAL, "0.0",  \
      ANY, MODEL)                                                              \
    X(FLAG_HYBRID_MLP_RATIO, "hybrid-mlp-ratio", "", REAL, "0.0", ANY, MODEL)  \
    X(FLAG_IS_HYBRID_MODEL, "is-hybrid-model", "", BOOL, "", ANY, MODEL)       \
    X(FLAG_MAMBA_STATE_DIM, "mamba-state-dim", "", INT, "128",                 \
      FROM(1, 1 << 16), MODEL)                                                 \
    X(FLAG_MAMBA_HEAD_DIM, "mamba-head-dim", "", INT, "64", FROM(1, 1 << 16),  \
      MODEL)                                                                   \
    X(FLAG_MAMBA_NUM_GROUPS, "mamba-num-groups", "", INT, "8",                 \
      FROM(1, 1 << 16), MODEL)                                                 \
    X(FLAG_MAMBA_NUM_HEADS, "mamba-num-heads", "", INT, "", FROM(1, 1 << 16),  \
      MODEL)                                                                   \
    /* models that are not sized, or not as they are: an error or a warning    \
     * is better than the number of another model */                           \
    X(FLAG_SPEC, "spec", "", WORDS, "", ANY, CHANGES)                          \
    X(FLAG_HETEROGENEOUS_LAYERS_CONFIG_PATH,                                   \
      "heterogeneous-layers-config-path", "", TEXT, "", ANY, CHANGES)          \
    X(FLAG_HETEROGENEOUS_LAYERS_CONFIG_ENCODED_JSON,                           \
      "heterogeneous-layers-config-encoded-json", "", TEXT, "", ANY, CHANGES)  \
    X(FLAG_DECODER_NUM_LAYERS, "decoder-num-layers", "", INT, "", ANY,         \
      CHANGES)                                                                 \
    X(FLAG_RAMPUP_BATCH_SIZE, "rampup-batch-size", "", WORDS, "", ANY,         \
      UNMODELLED)                                                              \
    X(FLAG_STEP_BATCH_SIZE_SCHEDULE, "step-batch-size-schedule", "", TEXT, "", \
      ANY, UNMODELLED)                                                         \
    X(FLAG_TP_COMM_OVERLAP, "tp-comm-overlap", "", BOOL, "", ANY, UNMODELLED)  \
    /* what decides only whether Megatron starts */                            \
    X(FLAG_CKPT_FORMAT, "ckpt-format", "", TEXT, "torch_dist", ANY, JUDGED)    \
    X(FLAG_TRAIN_ITERS, "train-iters", "", TEXT, "", ANY, JUDGED)              \
    X(FLAG_ROUTER_PRE_SOFTMAX, "moe-router-pre-softmax", "", BOOL, "", ANY,    \
      JUDGED)                                                                  \
    X(FLAG_ROUTER_SCORE, "moe-router-score-function", "", TEXT, "softmax",     \
      ANY, JUDGED)                                                             \
    X(FLAG_ROUTER_BALANCING, "moe-router-load-balancing-type", "", WORDS,      \
      "aux_loss", ANY, JUDGED)

enum flag_type {
    FLAG_TYPE_INT,
    FLAG_TYPE_REAL,
    FLAG_TYPE_TEXT, // as it stands: names, lists of numbers
    FLAG_TYPE_BOOL, // takes no value: it is there or not
    FLAG_TYPE_WORDS // several, kept as one text parted by spaces
};

/* In the order of FLAG_FX_MODEL to FLAG_FX_BATCH, a wrong value gives a wrong
 * model; behind them only times and bytes differ. */
enum flag_effect {
    FLAG_FX_MODEL,    // parameters and operations
    FLAG_FX_PARALLEL, // how ranks share them
    FLAG_FX_BATCH,    // micro-batches of a step
    FLAG_FX_SCHEDULE,
    FLAG_FX_MEMORY,
    FLAG_FX_CHANGES,    // a change of the account
    FLAG_FX_UNMODELLED, // a warning
    FLAG_FX_JUDGED      // nothing but whether Megatron takes the launch
};

enum flag_id {
#define FLAG_ENUM(id, name, aliases, type, def, range, fx) id,
    MEGATRON_FLAG_TABLE(FLAG_ENUM)
#undef FLAG_ENUM
        N_FLAGS,
    FLAG_NONE = -1
};

/* Bounds of an integer's value, both included. */
struct flag_range {
    int64_t lo, hi;
    bool needed; // the flag has to be given
};

/* A value that was given and cannot be told without running what gives it. */
struct flag_unknown {
    const char *where; // "run.sh:7"; "" where there is no line
    const char *why;   // what decides it: "$(hostname)", "$N is never set"
};

struct flag_slot {
    int turn;         // when it was given, counted from 1; 0: it was not
    bool known;       // there is a value: given, or the default
    const char *from; // of what was given: "run.sh:7", "option", "-- flag"
    const struct flag_unknown *unknown; // NULL: the value can be told
    union {
        int64_t whole;
        double real;
        bool on;
        const char *text; // of WORDS: parted by spaces
    } value;
};

/* A flag that Megatron has and that has no row: kept for the trainer's command
 * line only. `text` is NULL for a switch. */
struct flag_passed {
    const char *name, *text; // name without dashes
    bool words;              // the text is several, parted by spaces
    int turn;                // as in a slot
    const struct flag_passed *next;
};

/* A slot for each row. Sources fill one set in turn; the last one wins. */
struct megatron_flags {
    struct arena *arena;
    const char *where; // file name for messages, "" for a command line
    const char *from;  // where the next flags come from, for their slots
    struct flag_slot slot[N_FLAGS];
    const struct flag_passed *passed; // the last one first
    int n_turns;
};

/* All at their defaults; texts will be owned by the arena. */
void flags_init(struct megatron_flags *f, struct arena *a);

/* ---- the table ---- */

/* Flag of that name or older name (without dashes, `len` bytes), or
 * FLAG_NONE. */
enum flag_id flag_by_name(const char *name, size_t len);

/* Flag that the argument of a dump (dashes in place of underscores) states;
 * *opposite: by its opposite. FLAG_NONE where there is no row. */
enum flag_id flag_by_argument(const char *name, bool *opposite);

/* Columns of the flag's row: its name without dashes, and so on. */
const char *flag_name(enum flag_id id);
enum flag_type flag_type(enum flag_id id);
enum flag_effect flag_effect(enum flag_id id);
struct flag_range flag_range(enum flag_id id);

/* Nearest flag of the table to a misspelt one, or NULL. */
const char *flag_nearest(const char *word);

/* ---- filling slots ---- */

/* Parses `text` as the flag's type wants it, copies it where it stays text,
 * and fills the slot. "true" and "True" turn a switch on, anything else turns
 * it off. ERR_PARSE names the flag when the type does not take the text. */
enum err flags_set(struct megatron_flags *f, enum flag_id id, const char *text,
                   struct err_msg *msg);

/* The same for values that are there already: of an INT, of a BOOL (on). */
void flags_set_int(struct megatron_flags *f, enum flag_id id, int64_t value);
void flags_set_on(struct megatron_flags *f, enum flag_id id);

/* Given, with a value that is not known; both texts are copied. A later source
 * that gives the flag a value takes its place. ERR_NOMEM. */
enum err flags_set_unknown(struct megatron_flags *f, enum flag_id id,
                           const struct flag_unknown *unknown,
                           struct err_msg *msg);

/* As if it had never been given. */
void flags_clear(struct megatron_flags *f, enum flag_id id);

/* Keeps a copy of a flag without a row; its turn and `next` are set here.
 * ERR_NOMEM. */
enum err flags_pass(struct megatron_flags *f, const struct flag_passed *flag,
                    struct err_msg *msg);

/* ---- reading slots ---- */

/* Was it given? Of a switch: is it on? */
bool flags_given(const struct megatron_flags *f, enum flag_id id);

/* Was it given with a value that is not known? */
bool flags_unknown(const struct megatron_flags *f, enum flag_id id);

/* The value given or the default; `other` (NULL for text) where there is
 * neither, or where it is not known. The flag must be of the type: INT, REAL,
 * TEXT or WORDS. */
int64_t flags_int(const struct megatron_flags *f, enum flag_id id,
                  int64_t other);
double flags_real(const struct megatron_flags *f, enum flag_id id,
                  double other);
const char *flags_text(const struct megatron_flags *f, enum flag_id id);

/* Whether the text (or default) is `wanted`. */
bool flags_is(const struct megatron_flags *f, enum flag_id id,
              const char *wanted);

/* Every integer that was given lies within its range: ERR_RANGE. */
enum err flags_check_given(const struct megatron_flags *f, struct err_msg *msg);

/* The same, and the needed ones were given: ERR_PARSE. */
enum err flags_check_ranges(const struct megatron_flags *f,
                            struct err_msg *msg);

#endif
