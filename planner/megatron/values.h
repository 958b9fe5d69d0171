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

/* identifier, key, the option that gives it, when it is demanded where it is
 * not known: NEEDED always; STATED where the source gives it a value that is
 * not known, and another value is another model or batch; NEVER */
#define VALUE_TABLE(X)                                                         \
    X(VALUE_LAYERS, "num_layers", "-- --num-layers N", NEEDED)                 \
    X(VALUE_HIDDEN, "hidden_size", "-- --hidden-size N", NEEDED)               \
    X(VALUE_HEADS, "num_attention_heads", "-- --num-attention-heads N",        \
      NEEDED)                                                                  \
    X(VALUE_GROUPS, "num_query_groups",                                        \
      "-- --group-query-attention --num-query-groups N", STATED)               \
    X(VALUE_KV_CHANNELS, "kv_channels", "-- --kv-channels N", STATED)          \
    X(VALUE_FFN, "ffn_hidden_size", "-- --ffn-hidden-size N", STATED)          \
    X(VALUE_MOE_FFN, "moe_ffn_hidden_size", "-- --moe-ffn-hidden-size N",      \
      STATED)                                                                  \
    X(VALUE_EXPERTS, "num_experts", "-- --num-experts N", STATED)              \
    X(VALUE_TOPK, "moe_router_topk", "-- --moe-router-topk N", STATED)         \
    X(VALUE_MOE_LAYERS, "moe_layers", "-- --moe-layer-freq LIST", STATED)      \
    X(VALUE_MTP, "mtp_num_layers", "-- --mtp-num-layers N", STATED)            \
    X(VALUE_VOCAB, "padded_vocab_size", "-- --padded-vocab-size N", NEEDED)    \
    X(VALUE_TP, "tp", "--tp N", STATED)                                        \
    X(VALUE_PP, "pp", "--pp N", STATED)                                        \
    X(VALUE_VPP, "vpp", "--vpp N", STATED)                                     \
    X(VALUE_CP, "cp", "--cp N", STATED)                                        \
    X(VALUE_EP, "ep", "--ep N", STATED)                                        \
    X(VALUE_ETP, "etp", "--etp N", STATED)                                     \
    X(VALUE_WORLD, "world", "--world N", NEVER)                                \
    X(VALUE_DP, "dp", "--world N", NEVER)                                      \
    X(VALUE_MICRO_BATCH, "micro_batch", "--mbs N", STATED)                     \
    X(VALUE_GLOBAL_BATCH, "global_batch", "--gbs N", STATED)                   \
    X(VALUE_MICROBATCHES, "microbatches",                                      \
      "what is not known of --world, --mbs, --gbs", NEVER)                     \
    X(VALUE_SEQ, "seq", "--seq N", STATED)                                     \
    X(VALUE_LAYOUT, "layout", "-- --pipeline-model-parallel-layout LAYOUT",    \
      STATED)                                                                  \
    X(VALUE_PATTERN, "hybrid_layer_pattern",                                   \
      "-- --hybrid-layer-pattern PATTERN", STATED)

enum value_id {
#define VALUE_ENUM(id, key, option, demand) id,
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
    bool derived;      // of VALUE_UNKNOWN: for want of another value
};

/* All values of the slots; texts are owned by the arena or are the slots' own.
 * ERR_NOMEM; ERR_RANGE for an integer outside its range. */
enum err values_read(struct arena *a, const struct megatron_flags *f,
                     struct value out[N_VALUES], struct err_msg *msg);

/* Columns of the table. */
const char *value_key(enum value_id id);
const char *value_option(enum value_id id);

/* Has the value to be given before the source can be planned with? False for
 * one that only another unknown value hides. */
bool value_decides(enum value_id id, const struct value *v);

#endif
