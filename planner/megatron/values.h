/*
 * values: the facts of a launch as people speak of them (layers, widths, ranks,
 * micro-batches, layout, padded vocabulary), worked out of the flags' slots:
 * given, Megatron's default, or computed from others. In contrast to model,
 * nothing is demanded: what is not stated or not known is left unknown, with
 * what decides it and the option that gives it.
 */
#ifndef MEGATRON_VALUES_H
#define MEGATRON_VALUES_H

#include "base/arena.h"
#include "base/err.h"
#include "flags.h"

#include <stdbool.h>
#include <stdint.h>

/* identifier, key, the option that gives it, whether the model (parameters,
 * operations, how ranks share them, batch) is another one with another value */
#define VALUE_TABLE(X)                                                         \
    X(VALUE_LAYERS, "num_layers", "-- --num-layers N", true)                   \
    X(VALUE_HIDDEN, "hidden_size", "-- --hidden-size N", true)                 \
    X(VALUE_HEADS, "num_attention_heads", "-- --num-attention-heads N", true)  \
    X(VALUE_GROUPS, "num_query_groups",                                        \
      "-- --group-query-attention --num-query-groups N", true)                 \
    X(VALUE_KV_CHANNELS, "kv_channels", "-- --kv-channels N", true)            \
    X(VALUE_FFN, "ffn_hidden_size", "-- --ffn-hidden-size N", true)            \
    X(VALUE_MOE_FFN, "moe_ffn_hidden_size", "-- --moe-ffn-hidden-size N",      \
      true)                                                                    \
    X(VALUE_EXPERTS, "num_experts", "-- --num-experts N", true)                \
    X(VALUE_TOPK, "moe_router_topk", "-- --moe-router-topk N", true)           \
    X(VALUE_MOE_LAYERS, "moe_layers", "-- --moe-layer-freq LIST", true)        \
    X(VALUE_MTP, "mtp_num_layers", "-- --mtp-num-layers N", true)              \
    X(VALUE_VOCAB, "padded_vocab_size", "-- --padded-vocab-size N", true)      \
    X(VALUE_TP, "tp", "--tp N", true)                                          \
    X(VALUE_PP, "pp", "--pp N", true)                                          \
    X(VALUE_VPP, "vpp", "--vpp N", true)                                       \
    X(VALUE_CP, "cp", "--cp N", true)                                          \
    X(VALUE_EP, "ep", "--ep N", true)                                          \
    X(VALUE_ETP, "etp", "--etp N", true)                                       \
    X(VALUE_WORLD, "world", "--world N", false)                                \
    X(VALUE_DP, "dp", "--world N", false)                                      \
    X(VALUE_MICRO_BATCH, "micro_batch", "--mbs N", true)                       \
    X(VALUE_GLOBAL_BATCH, "global_batch", "--gbs N", true)                     \
    X(VALUE_MICROBATCHES, "microbatches", "--world N or --gbs N", false)       \
    X(VALUE_SEQ, "seq", "--seq N", false)                                      \
    X(VALUE_LAYOUT, "layout", "-- --pipeline-model-parallel-layout LAYOUT",    \
      true)

enum value_id {
#define VALUE_ENUM(id, key, option, decides) id,
    VALUE_TABLE(VALUE_ENUM)
#undef VALUE_ENUM
        N_VALUES
};

struct value {
    enum { VALUE_ABSENT, VALUE_UNKNOWN, VALUE_WHOLE, VALUE_TEXT } is;
    int64_t whole;
    const char *text;  // of VALUE_TEXT
    const char *from;  // "run.sh:7", "option", "-- flag", "default", "computed"
    const char *where; // of VALUE_UNKNOWN: "run.sh:7" or ""
    const char *why;   // of VALUE_UNKNOWN: what decides it, or "not stated"
    bool stated;       // of VALUE_UNKNOWN: given, with a value not known
};

/* All values of the slots; texts are owned by the arena or are the slots' own.
 * ERR_NOMEM; ERR_RANGE for an integer outside its range; ERR_PARSE and
 * ERR_RANGE for a --moe-layer-freq that does not fit the layers. */
enum err values_read(struct arena *a, const struct megatron_flags *f,
                     struct value out[N_VALUES], struct err_msg *msg);

/* Columns of the table. */
const char *value_key(enum value_id id);
const char *value_option(enum value_id id);

/* Is the value unknown, and another model with each value it may have? */
bool value_decides(enum value_id id, const struct value *v);

/* "num_layers: $(hostname) (run.sh:3) decides it, give -- --num-layers N",
 * for one unknown value; NULL when out of memory. */
const char *value_unknown_text(struct arena *a, enum value_id id,
                               const struct value *v);

#endif
