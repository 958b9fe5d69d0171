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

#include "arena.h"
#include "err.h"
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INT, REAL, TEXT: one value; BOOL: sets true; WORDS: values up to the next
 * flag. Effects: what the planner reads the flag for; FX_NONE passes
 * silently because it changes none of parameters, operations, memory or
 * schedule. */
#define MEGATRON_FLAG_TABLE(X)                                                 \
    X(NUM_LAYERS, "num-layers", INT, "", FX_MODEL)                             \
    X(HIDDEN_SIZE, "hidden-size", INT, "", FX_MODEL)                           \
    X(FFN_HIDDEN_SIZE, "ffn-hidden-size", INT, "", FX_MODEL)                   \
    X(NUM_ATTENTION_HEADS, "num-attention-heads", INT, "", FX_MODEL)           \
    X(GROUP_QUERY_ATTENTION, "group-query-attention", BOOL, "", FX_MODEL)      \
    X(NUM_QUERY_GROUPS, "num-query-groups", INT, "1", FX_MODEL)                \
    X(KV_CHANNELS, "kv-channels", INT, "", FX_MODEL)                           \
    X(MAX_POSITION_EMBEDDINGS, "max-position-embeddings", INT, "", FX_MODEL)   \
    X(POSITION_EMBEDDING_TYPE, "position-embedding-type", TEXT,                \
      "learned_absolute", FX_MODEL)                                            \
    X(USE_ROTARY, "use-rotary-position-embeddings", BOOL, "", FX_MODEL)        \
    X(MAKE_VOCAB_DIVISIBLE, "make-vocab-size-divisible-by", INT, "128",        \
      FX_MODEL)                                                                \
    X(VOCAB_SIZE, "vocab-size", INT, "", FX_MODEL)                             \
    X(PADDED_VOCAB_SIZE, "padded-vocab-size", INT, "", FX_MODEL)               \
    X(TOKENIZER_TYPE, "tokenizer-type", TEXT, "", FX_MODEL)                    \
    X(NORMALIZATION, "normalization", TEXT, "LayerNorm", FX_MODEL)             \
    X(SWIGLU, "swiglu", BOOL, "", FX_MODEL)                                    \
    X(DISABLE_BIAS_LINEAR, "disable-bias-linear", BOOL, "", FX_MODEL)          \
    X(ADD_QKV_BIAS, "add-qkv-bias", BOOL, "", FX_MODEL)                        \
    X(QK_LAYERNORM, "qk-layernorm", BOOL, "", FX_MODEL)                        \
    X(UNTIE, "untie-embeddings-and-output-weights", BOOL, "", FX_MODEL)        \
    X(NUM_EXPERTS, "num-experts", INT, "", FX_MODEL)                           \
    X(MOE_FFN_HIDDEN_SIZE, "moe-ffn-hidden-size", INT, "", FX_MODEL)           \
    X(MOE_ROUTER_TOPK, "moe-router-topk", INT, "2", FX_MODEL)                  \
    X(MOE_SHARED_EXPERT, "moe-shared-expert-intermediate-size", INT, "",       \
      FX_MODEL)                                                                \
    X(MOE_LAYER_FREQ, "moe-layer-freq", TEXT, "1", FX_MODEL)                   \
    X(MTP_NUM_LAYERS, "mtp-num-layers", INT, "", FX_MODEL)                     \
    X(MTP_LOSS_SCALING, "mtp-loss-scaling-factor", REAL, "0.1", FX_NONE)       \
    X(TP, "tensor-model-parallel-size", INT, "1", FX_PARALLEL)                 \
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
    X(MICRO_BATCH_SIZE, "micro-batch-size", INT, "1", FX_BATCH)                \
    X(GLOBAL_BATCH_SIZE, "global-batch-size", INT, "", FX_BATCH)               \
    X(SEQ_LENGTH, "seq-length", INT, "", FX_BATCH)                             \
    X(SEQUENCE_PARALLEL, "sequence-parallel", BOOL, "", FX_MEMORY)             \
    X(DIST_OPT, "use-distributed-optimizer", BOOL, "", FX_MEMORY)              \
    X(BF16, "bf16", BOOL, "", FX_MEMORY)                                       \
    X(FP16, "fp16", BOOL, "", FX_MEMORY)                                       \
    X(MCORE_MODELS, "use-mcore-models", BOOL, "", FX_NONE)                     \
    X(TRANSFORMER_IMPL, "transformer-impl", TEXT, "", FX_NONE)                 \
    X(ROTARY_BASE, "rotary-base", REAL, "10000", FX_NONE)                      \
    X(ROTARY_PERCENT, "rotary-percent", REAL, "1.0", FX_NONE)                  \
    X(NORM_EPSILON, "norm-epsilon", REAL, "1e-5", FX_NONE)                     \
    X(ATTENTION_DROPOUT, "attention-dropout", REAL, "0.1", FX_NONE)            \
    X(HIDDEN_DROPOUT, "hidden-dropout", REAL, "0.1", FX_NONE)                  \
    X(INIT_METHOD_STD, "init-method-std", REAL, "0.02", FX_NONE)               \
    X(ATTENTION_BACKEND, "attention-backend", TEXT, "", FX_NONE)               \
    X(NO_MASKED_SOFTMAX, "no-masked-softmax-fusion", BOOL, "", FX_NONE)        \
    X(MOE_LOAD_BALANCING, "moe-router-load-balancing-type", WORDS, "",         \
      FX_NONE)                                                                 \
    X(MOE_AUX_LOSS, "moe-aux-loss-coeff", WORDS, "", FX_NONE)                  \
    X(MOE_Z_LOSS, "moe-z-loss-coeff", REAL, "", FX_NONE)                       \
    X(MOE_GROUPED_GEMM, "moe-grouped-gemm", BOOL, "", FX_NONE)                 \
    X(MOE_DISPATCHER, "moe-token-dispatcher-type", TEXT, "", FX_NONE)          \
    X(MOE_PERMUTE_FUSION, "moe-permute-fusion", BOOL, "", FX_NONE)             \
    X(MOE_ROUTER_DTYPE, "moe-router-dtype", TEXT, "", FX_NONE)                 \
    X(MOE_SCORE_FUNCTION, "moe-router-score-function", TEXT, "", FX_NONE)      \
    X(TRAIN_ITERS, "train-iters", INT, "", FX_NONE)                            \
    X(LR, "lr", REAL, "", FX_NONE)                                             \
    X(MIN_LR, "min-lr", REAL, "", FX_NONE)                                     \
    X(LR_DECAY_STYLE, "lr-decay-style", TEXT, "", FX_NONE)                     \
    X(LR_DECAY_ITERS, "lr-decay-iters", INT, "", FX_NONE)                      \
    X(LR_WARMUP_ITERS, "lr-warmup-iters", INT, "", FX_NONE)                    \
    X(LR_WARMUP_FRACTION, "lr-warmup-fraction", REAL, "", FX_NONE)             \
    X(WEIGHT_DECAY, "weight-decay", REAL, "", FX_NONE)                         \
    X(ADAM_BETA1, "adam-beta1", REAL, "", FX_NONE)                             \
    X(ADAM_BETA2, "adam-beta2", REAL, "", FX_NONE)                             \
    X(ADAM_EPS, "adam-eps", REAL, "", FX_NONE)                                 \
    X(CLIP_GRAD, "clip-grad", REAL, "", FX_NONE)                               \
    X(SEED, "seed", INT, "", FX_NONE)                                          \
    X(MOCK_DATA, "mock-data", BOOL, "", FX_NONE)                               \
    X(DATA_PATH, "data-path", WORDS, "", FX_NONE)                              \
    X(SPLIT, "split", TEXT, "", FX_NONE)                                       \
    X(NUM_WORKERS, "num-workers", INT, "", FX_NONE)                            \
    X(TOKENIZER_MODEL, "tokenizer-model", TEXT, "", FX_NONE)                   \
    X(LOG_INTERVAL, "log-interval", INT, "", FX_NONE)                          \
    X(LOG_THROUGHPUT, "log-throughput", BOOL, "", FX_NONE)                     \
    X(TIMING_LOG_LEVEL, "timing-log-level", INT, "", FX_NONE)                  \
    X(TIMING_LOG_OPTION, "timing-log-option", TEXT, "", FX_NONE)               \
    X(EVAL_ITERS, "eval-iters", INT, "", FX_NONE)                              \
    X(EVAL_INTERVAL, "eval-interval", INT, "", FX_NONE)                        \
    X(SAVE_INTERVAL, "save-interval", INT, "", FX_NONE)                        \
    X(SAVE, "save", TEXT, "", FX_NONE)                                         \
    X(LOAD, "load", TEXT, "", FX_NONE)                                         \
    X(NO_LOAD_OPTIM, "no-load-optim", BOOL, "", FX_NONE)                       \
    X(NO_LOAD_RNG, "no-load-rng", BOOL, "", FX_NONE)                           \
    X(NO_SAVE_OPTIM, "no-save-optim", BOOL, "", FX_NONE)                       \
    X(OVERLAP_GRAD_REDUCE, "overlap-grad-reduce", BOOL, "", FX_NONE)           \
    X(OVERLAP_PARAM_GATHER, "overlap-param-gather", BOOL, "", FX_NONE)         \
    X(DIST_BACKEND, "distributed-backend", TEXT, "", FX_NONE)                  \
    X(DIST_TIMEOUT, "distributed-timeout-minutes", INT, "", FX_NONE)           \
    X(TENSORBOARD_DIR, "tensorboard-dir", TEXT, "", FX_NONE)                   \
    X(MANUAL_GC, "manual-gc", BOOL, "", FX_NONE)

enum flag_type { INT, REAL, TEXT, BOOL, WORDS };
enum flag_effect { FX_NONE, FX_MODEL, FX_PARALLEL, FX_BATCH, FX_MEMORY };

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

/* Nearest known flag to a misspelt one, or NULL. */
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
