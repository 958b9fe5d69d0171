/*
 * megatron_flags: the table of Megatron-LM flags that are understood, and one
 * slot of text for each. A flag on a command line and a key of a model file
 * fill the same slot. megatron_args reads from here and makes a model of it.
 *
 * Columns: identifier, flag without dashes, type, default, effect. Defaults
 * are those of megatron/training/arguments.py (core 0.16); an empty string
 * means that there is none.
 */
#ifndef MEGATRON_FLAGS_H
#define MEGATRON_FLAGS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INT, REAL, TEXT: one value; BOOL: sets true; WORDS: values up to the next
 * flag. Effect: what the flag changes. FX_REFUSED makes a model that this
 * program does not size; FX_UNMODELLED is warned about and has no effect
 * here. Two rows are not Megatron's: qk-norm-full-width (OLMoE's norms over
 * all heads at once) and count-expert-bias (published totals that count the
 * router's correction bias, a buffer in Megatron, as parameters). */
#define MEGATRON_FLAG_TABLE(X)                                                 \
    X(NUM_LAYERS, "num-layers", INT, "", FX_MODEL)                             \
    X(ENCODER_NUM_LAYERS, "encoder-num-layers", INT, "", FX_MODEL)             \
    X(HIDDEN_SIZE, "hidden-size", INT, "", FX_MODEL)                           \
    X(FFN_HIDDEN_SIZE, "ffn-hidden-size", INT, "", FX_MODEL)                   \
    X(NUM_ATTENTION_HEADS, "num-attention-heads", INT, "", FX_MODEL)           \
    X(GROUP_QUERY_ATTENTION, "group-query-attention", BOOL, "", FX_MODEL)      \
    X(NUM_QUERY_GROUPS, "num-query-groups", INT, "1", FX_MODEL)                \
    X(KV_CHANNELS, "kv-channels", INT, "", FX_MODEL)                           \
    X(MLA, "multi-latent-attention", BOOL, "", FX_MODEL)                       \
    X(Q_LORA_RANK, "q-lora-rank", INT, "", FX_MODEL)                           \
    X(KV_LORA_RANK, "kv-lora-rank", INT, "32", FX_MODEL)                       \
    X(QK_HEAD_DIM, "qk-head-dim", INT, "128", FX_MODEL)                        \
    X(QK_POS_EMB_HEAD_DIM, "qk-pos-emb-head-dim", INT, "64", FX_MODEL)         \
    X(V_HEAD_DIM, "v-head-dim", INT, "128", FX_MODEL)                          \
    X(SOFTMAX_TYPE, "softmax-type", TEXT, "vanilla", FX_MODEL)                 \
    X(WINDOW_SIZE, "window-size", TEXT, "", FX_MODEL)                          \
    X(WINDOW_SKIP_FREQ, "window-attn-skip-freq", TEXT, "", FX_MODEL)           \
    X(MAX_POSITION_EMBEDDINGS, "max-position-embeddings", INT, "", FX_MODEL)   \
    X(POSITION_EMBEDDING_TYPE, "position-embedding-type", TEXT,                \
      "learned_absolute", FX_MODEL)                                            \
    X(USE_ROTARY, "use-rotary-position-embeddings", BOOL, "", FX_MODEL)        \
    X(NO_POSITION_EMBEDDING, "no-position-embedding", BOOL, "", FX_MODEL)      \
    X(MAKE_VOCAB_DIVISIBLE, "make-vocab-size-divisible-by", INT, "128",        \
      FX_MODEL)                                                                \
    X(VOCAB_SIZE, "vocab-size", INT, "", FX_MODEL)                             \
    X(PADDED_VOCAB_SIZE, "padded-vocab-size", INT, "", FX_MODEL)               \
    X(TOKENIZER_TYPE, "tokenizer-type", TEXT, "", FX_MODEL)                    \
    X(NORMALIZATION, "normalization", TEXT, "LayerNorm", FX_MODEL)             \
    X(SWIGLU, "swiglu", BOOL, "", FX_MODEL)                                    \
    X(QUICK_GEGLU, "quick-geglu", BOOL, "", FX_MODEL)                          \
    X(SQUARED_RELU, "squared-relu", BOOL, "", FX_MODEL)                        \
    X(DISABLE_BIAS_LINEAR, "disable-bias-linear", BOOL, "", FX_MODEL)          \
    X(ADD_QKV_BIAS, "add-qkv-bias", BOOL, "", FX_MODEL)                        \
    X(QK_LAYERNORM, "qk-layernorm", BOOL, "", FX_MODEL)                        \
    X(UNTIE, "untie-embeddings-and-output-weights", BOOL, "", FX_MODEL)        \
    X(NUM_EXPERTS, "num-experts", INT, "", FX_MODEL)                           \
    X(MOE_FFN_HIDDEN_SIZE, "moe-ffn-hidden-size", INT, "", FX_MODEL)           \
    X(MOE_ROUTER_TOPK, "moe-router-topk", INT, "2", FX_MODEL)                  \
    X(MOE_SHARED_EXPERT, "moe-shared-expert-intermediate-size", INT, "",       \
      FX_MODEL)                                                                \
    X(MOE_SHARED_GATE, "moe-shared-expert-gate", BOOL, "", FX_MODEL)           \
    X(MOE_LATENT_SIZE, "moe-latent-size", INT, "", FX_MODEL)                   \
    X(MOE_EXPERT_BIAS, "moe-router-enable-expert-bias", BOOL, "", FX_MODEL)    \
    X(MOE_LAYER_FREQ, "moe-layer-freq", TEXT, "1", FX_MODEL)                   \
    X(MTP_NUM_LAYERS, "mtp-num-layers", INT, "", FX_MODEL)                     \
    X(MTP_REPEATED, "mtp-use-repeated-layer", BOOL, "", FX_MODEL)              \
    X(QK_NORM_FULL_WIDTH, "qk-norm-full-width", BOOL, "", FX_MODEL)            \
    X(COUNT_EXPERT_BIAS, "count-expert-bias", BOOL, "", FX_MODEL)              \
    X(TP, "tensor-model-parallel-size", INT, "1", FX_PARALLEL)                 \
    X(OLD_TP, "model-parallel-size", INT, "", FX_PARALLEL)                     \
    X(PP, "pipeline-model-parallel-size", INT, "1", FX_PARALLEL)               \
    X(VPP, "num-virtual-stages-per-pipeline-rank", INT, "", FX_PARALLEL)       \
    X(LAYERS_PER_VPP, "num-layers-per-virtual-pipeline-stage", INT, "",        \
      FX_PARALLEL)                                                             \
    X(LAYOUT, "pipeline-model-parallel-layout", TEXT, "", FX_PARALLEL)         \
    X(FIRST_LAYERS, "decoder-first-pipeline-num-layers", INT, "", FX_PARALLEL) \
    X(LAST_LAYERS, "decoder-last-pipeline-num-layers", INT, "", FX_PARALLEL)   \
    X(ACCOUNT_EMBEDDING, "account-for-embedding-in-pipeline-split", BOOL, "",  \
      FX_PARALLEL)                                                             \
    X(ACCOUNT_LOSS, "account-for-loss-in-pipeline-split", BOOL, "",            \
      FX_PARALLEL)                                                             \
    X(CP, "context-parallel-size", INT, "1", FX_PARALLEL)                      \
    X(EP, "expert-model-parallel-size", INT, "1", FX_PARALLEL)                 \
    X(ETP, "expert-tensor-parallel-size", INT, "", FX_PARALLEL)                \
    X(WORLD_SIZE, "world-size", INT, "", FX_PARALLEL)                          \
    X(SEQUENCE_PARALLEL, "sequence-parallel", BOOL, "", FX_PARALLEL)           \
    X(DP_LAST, "use-tp-pp-dp-mapping", BOOL, "", FX_PARALLEL)                  \
    X(MICRO_BATCH_SIZE, "micro-batch-size", INT, "1", FX_BATCH)                \
    X(GLOBAL_BATCH_SIZE, "global-batch-size", INT, "", FX_BATCH)               \
    X(SEQ_LENGTH, "seq-length", INT, "", FX_BATCH)                             \
    X(ENCODER_SEQ_LENGTH, "encoder-seq-length", INT, "", FX_BATCH)             \
    X(OVERLAP_MOE_COMM, "overlap-moe-expert-parallel-comm", BOOL, "",          \
      FX_SCHEDULE)                                                             \
    X(DELAY_WGRAD, "delay-wgrad-compute", BOOL, "", FX_SCHEDULE)               \
    X(MB_GROUP, "microbatch-group-size-per-virtual-pipeline-stage", INT, "",   \
      FX_SCHEDULE)                                                             \
    X(NO_OVERLAP_P2P, "no-overlap-p2p-communication", BOOL, "", FX_SCHEDULE)   \
    X(OVERLAP_P2P_FLUSH, "overlap-p2p-communication-warmup-flush", BOOL, "",   \
      FX_SCHEDULE)                                                             \
    X(DEFER_EMBEDDING_WGRAD, "defer-embedding-wgrad-compute", BOOL, "",        \
      FX_SCHEDULE)                                                             \
    X(DIST_OPT, "use-distributed-optimizer", BOOL, "", FX_MEMORY)              \
    X(DIST_OPT_INSTANCES, "num-distributed-optimizer-instances", INT, "1",     \
      FX_MEMORY)                                                               \
    X(BF16, "bf16", BOOL, "", FX_MEMORY)                                       \
    X(FP16, "fp16", BOOL, "", FX_MEMORY)                                       \
    X(OPTIMIZER, "optimizer", TEXT, "adam", FX_MEMORY)                         \
    X(PRECISION_AWARE, "use-precision-aware-optimizer", BOOL, "", FX_MEMORY)   \
    X(MAIN_GRADS_DTYPE, "main-grads-dtype", TEXT, "fp32", FX_MEMORY)           \
    X(MAIN_PARAMS_DTYPE, "main-params-dtype", TEXT, "fp32", FX_MEMORY)         \
    X(EXP_AVG_DTYPE, "exp-avg-dtype", TEXT, "fp32", FX_MEMORY)                 \
    X(EXP_AVG_SQ_DTYPE, "exp-avg-sq-dtype", TEXT, "fp32", FX_MEMORY)           \
    X(GRAD_REDUCE_BF16, "grad-reduce-in-bf16", BOOL, "", FX_MEMORY)            \
    X(GRADS_FP32, "accumulate-allreduce-grads-in-fp32", BOOL, "", FX_MEMORY)   \
    X(FP8_FORMAT, "fp8-format", TEXT, "", FX_MEMORY)                           \
    X(FP8_RECIPE, "fp8-recipe", TEXT, "delayed", FX_MEMORY)                    \
    X(FP8_PARAM_GATHER, "fp8-param-gather", BOOL, "", FX_MEMORY)               \
    X(FIRST_LAST_BF16, "first-last-layers-bf16", BOOL, "", FX_MEMORY)          \
    X(RECOMPUTE_GRANULARITY, "recompute-granularity", TEXT, "", FX_MEMORY)     \
    X(RECOMPUTE_METHOD, "recompute-method", TEXT, "", FX_MEMORY)               \
    X(RECOMPUTE_NUM_LAYERS, "recompute-num-layers", INT, "", FX_MEMORY)        \
    X(RECOMPUTE_MODULES, "recompute-modules", WORDS, "", FX_MEMORY)            \
    X(RECOMPUTE_ACTIVATIONS, "recompute-activations", BOOL, "", FX_MEMORY)     \
    X(DISTRIBUTE_SAVED, "distribute-saved-activations", BOOL, "", FX_MEMORY)   \
    X(OFFLOADING, "fine-grained-activation-offloading", BOOL, "", FX_MEMORY)   \
    X(OFFLOAD_MODULES, "offload-modules", WORDS, "", FX_MEMORY)                \
    X(OPTIMIZER_OFFLOAD, "optimizer-cpu-offload", BOOL, "", FX_MEMORY)         \
    X(OPTIMIZER_OFFLOAD_FRACTION, "optimizer-offload-fraction", REAL, "1.0",   \
      FX_MEMORY)                                                               \
    X(MEGATRON_FSDP, "use-megatron-fsdp", BOOL, "", FX_MEMORY)                 \
    X(TORCH_FSDP2, "use-torch-fsdp2", BOOL, "", FX_MEMORY)                     \
    X(SHARDING_STRATEGY, "data-parallel-sharding-strategy", TEXT, "",          \
      FX_MEMORY)                                                               \
    X(NO_GRAD_FUSION, "no-gradient-accumulation-fusion", BOOL, "", FX_MEMORY)  \
    X(CE_FUSION, "cross-entropy-loss-fusion", BOOL, "", FX_MEMORY)             \
    X(CE_FUSION_IMPL, "cross-entropy-fusion-impl", TEXT, "native", FX_MEMORY)  \
    X(SOFTMAX_FP32, "attention-softmax-in-fp32", BOOL, "", FX_MEMORY)          \
    X(ATTENTION_BACKEND, "attention-backend", TEXT, "auto", FX_MEMORY)         \
    X(FLASH_ATTN, "use-flash-attn", BOOL, "", FX_MEMORY)                       \
    X(TRANSFORMER_IMPL, "transformer-impl", TEXT, "transformer_engine",        \
      FX_MEMORY)                                                               \
    X(NO_ATTENTION_MASK, "no-create-attention-mask-in-dataloader", BOOL, "",   \
      FX_MEMORY)                                                               \
    X(ATTENTION_DROPOUT, "attention-dropout", REAL, "0.1", FX_MEMORY)          \
    X(HIDDEN_DROPOUT, "hidden-dropout", REAL, "0.1", FX_MEMORY)                \
    X(MOE_GROUPED_GEMM, "moe-grouped-gemm", BOOL, "", FX_MEMORY)               \
    X(MOE_DISPATCHER, "moe-token-dispatcher-type", TEXT, "allgather",          \
      FX_MEMORY)                                                               \
    X(MOE_CAPACITY_FACTOR, "moe-expert-capacity-factor", REAL, "", FX_MEMORY)  \
    X(MOE_PAD_TO_CAPACITY, "moe-pad-expert-input-to-capacity", BOOL, "",       \
      FX_MEMORY)                                                               \
    X(OVERLAP_GRAD_REDUCE, "overlap-grad-reduce", BOOL, "", FX_MEMORY)         \
    X(OVERLAP_PARAM_GATHER, "overlap-param-gather", BOOL, "", FX_MEMORY)       \
    X(DETERMINISTIC, "deterministic-mode", BOOL, "", FX_MEMORY)                \
    X(CUDA_GRAPH_IMPL, "cuda-graph-impl", TEXT, "", FX_MEMORY)                 \
    X(CUDA_GRAPH_MODULES, "cuda-graph-modules", WORDS, "", FX_MEMORY)          \
    X(ENABLE_CUDA_GRAPH, "enable-cuda-graph", BOOL, "", FX_MEMORY)             \
    X(WGRAD_LIMIT, "wgrad-deferral-limit", INT, "", FX_MEMORY)                 \
    X(NO_GELU_FUSION, "no-bias-gelu-fusion", BOOL, "", FX_MEMORY)              \
    X(NO_SWIGLU_FUSION, "no-bias-swiglu-fusion", BOOL, "", FX_MEMORY)          \
    X(NO_LAYERWISE_LAYOUT, "no-use-layer-wise-param-layout", BOOL, "",         \
      FX_MEMORY)                                                               \
    X(CPU_OFFLOAD_LAYERS, "cpu-offloading-num-layers", INT, "", FX_MEMORY)     \
    X(HYBRID_LAYER_PATTERN, "hybrid-layer-pattern", TEXT, "", FX_REFUSED)      \
    X(HYBRID_OVERRIDE_PATTERN, "hybrid-override-pattern", TEXT, "",            \
      FX_REFUSED)                                                              \
    X(IS_HYBRID_MODEL, "is-hybrid-model", BOOL, "", FX_REFUSED)                \
    X(SPEC, "spec", WORDS, "", FX_UNMODELLED)                                  \
    X(HETEROGENEOUS_LAYERS_CONFIG_PATH, "heterogeneous-layers-config-path",    \
      TEXT, "", FX_UNMODELLED)                                                 \
    X(HETEROGENEOUS_LAYERS_CONFIG_ENCODED_JSON,                                \
      "heterogeneous-layers-config-encoded-json", TEXT, "", FX_UNMODELLED)     \
    X(EXPERIMENTAL_ATTENTION_VARIANT, "experimental-attention-variant", TEXT,  \
      "", FX_UNMODELLED)                                                       \
    X(LINEAR_ATTENTION_FREQ, "linear-attention-freq", TEXT, "", FX_UNMODELLED) \
    X(DECODER_NUM_LAYERS, "decoder-num-layers", INT, "", FX_UNMODELLED)        \
    X(RAMPUP_BATCH_SIZE, "rampup-batch-size", WORDS, "", FX_UNMODELLED)        \
    X(STEP_BATCH_SIZE_SCHEDULE, "step-batch-size-schedule", TEXT, "",          \
      FX_UNMODELLED)

enum flag_type { INT, REAL, TEXT, BOOL, WORDS };
enum flag_effect {
    FX_MODEL,
    FX_PARALLEL,
    FX_BATCH,
    FX_SCHEDULE,
    FX_MEMORY,
    FX_REFUSED,
    FX_UNMODELLED
};

enum flag_id {
#define FLAG_ENUM(id, name, type, def, fx) id,
    MEGATRON_FLAG_TABLE(FLAG_ENUM)
#undef FLAG_ENUM
        N_FLAGS,
    NO_FLAG = -1
};

struct megatron_flags {
    struct arena *arena;
    const char *where;         // file name for messages, "" for a command line
    const char *text[N_FLAGS]; // NULL: not given
};

/* Flag of that name (without dashes, `len` bytes), or NO_FLAG. */
enum flag_id flag_by_name(const char *name, size_t len);
const char *flag_name(enum flag_id id);
enum flag_type flag_type(enum flag_id id);
enum flag_effect flag_effect(enum flag_id id);

/* Nearest flag of the table to a misspelt one, or NULL. */
const char *flag_nearest(const char *word);

/* Keeps a copy of `text` in the slot; ERR_PARSE when the type does not take
 * it. */
enum err flags_set(struct megatron_flags *f, enum flag_id id, const char *text,
                   struct err_msg *msg);

/* Given, the text or the default (NULL: none), the integer or the default or
 * `other`, and whether the text (or default) is `wanted`. */
bool flags_given(const struct megatron_flags *f, enum flag_id id);
const char *flags_text(const struct megatron_flags *f, enum flag_id id);
int64_t flags_number(const struct megatron_flags *f, enum flag_id id,
                     int64_t other);
bool flags_is(const struct megatron_flags *f, enum flag_id id,
              const char *wanted);

/* Every number that takes part in sizes within bounds, so that products fit
 * into 64 bits, and the required ones given. */
enum err flags_check_ranges(const struct megatron_flags *f,
                            struct err_msg *msg);

#endif
