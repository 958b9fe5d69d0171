/*
 * hf_families: what is known of each model type of Hugging Face: where its
 * config keeps sizes, and what its modules have that no key tells. Facts are of
 * transformers' models/TYPE/modeling_TYPE.py or of the code that a checkpoint
 * brings along. A type that is not here is not guessed; of some that cannot be
 * counted the reason is known.
 */
#ifndef MEGATRON_HF_FAMILIES_H
#define MEGATRON_HF_FAMILIES_H

#include "base/arena.h"

/* How a config says which layers have experts; N is the layer, from 0. */
enum hf_layer_rule {
    HF_LAYERS_ALL,
    HF_LAYERS_FIRST,   // first_k_dense_replace dense ones, then every
                       // moe_layer_freq-th; or a list in moe_layer_freq
    HF_LAYERS_STEP,    // every decoder_sparse_step-th, less mlp_only_layers
    HF_LAYERS_RANGE,   // moe_layer_start_index to _end_index, _interval
    HF_LAYERS_CHOSEN,  // moe_layers, or every interleave_moe_layer_step-th
    HF_LAYERS_SKIPPED, // moe_layer_num_skipped dense ones first
    HF_LAYERS_DENSE    // num_dense_layers dense ones first
};

/* Keys of sizes, with a dot between an object and its member. experts NULL: the
 * type has none; shared NULL: no shared expert. */
struct hf_keys {
    const char *hidden, *layers, *heads, *groups, *head_dim, *ffn;
    const char *experts, *topk;
    const char *width;        // of a routed expert
    const char *shared;       // number of shared experts of such a width
    const char *shared_width; // or the width of the one
    enum hf_layer_rule rule;
    int first; // dense layers at the start where no key tells
};

/* What the modules have; one bit each. */
enum hf_part {
    HF_QK_NORM = 1 << 0,      // a norm on each head of q and k
    HF_QK_NORM_KEY = 1 << 1,  // the same where use_qk_norm is true
    HF_QK_NORM_WIDE = 1 << 2, // a norm on all heads at once
    HF_QKV_BIAS = 1 << 3,     // always biases on q, k and v
    HF_BIAS_QKV = 1 << 4,     // attention_bias: on q, k and v
    HF_BIAS_QKVO = 1 << 5,    // attention_bias: on the output, too
    HF_ALL_BIASES = 1 << 6,   // on attention, experts and router; sinks
    HF_LATENTS = 1 << 7,      // queries, keys and values through latents
    HF_SPARSE = 1 << 8,       // an indexer picks the keys
    HF_LINEAR = 1 << 9,       // gated delta net in some layers
    HF_OUTPUT_GATE = 1 << 10, // queries bring a gate on attention's output
    HF_SHARED_GATE = 1 << 11, // the shared expert has a gate
    HF_SHARED_ONE = 1 << 12,  // always one shared expert of a routed one's size
    HF_CORRECTION = 1 << 13,  // always a correction bias in the router
    HF_LAYERNORM = 1 << 14,   // norms with biases
    HF_POST_NORMS = 1 << 15,  // norms also behind attention and MLP
    HF_TIED = 1 << 16,        // output layer tied unless a key says no
    HF_MTP = 1 << 17,         // its MTP layers are Megatron's
    HF_NEED_HEAD = 1 << 18,   // no key for a head's size: not hidden / heads
    HF_NEED_GROUPS = 1 << 19, // no key for key heads: not as many as heads
    HF_NEED_SHARED = 1 << 20, // no key for shared experts: not none
    HF_WINDOWED = 1 << 21,    // sliding_window holds for all layers
    HF_BIAS_OWN = 1 << 22,    // use_qkv_bias; use_bias: on the output
    HF_HYBRID = 1 << 23,      // layers are symbols of a pattern
    HF_PAIRS = 1 << 24        // each of them two: a mixer and a gated MLP
};

struct hf_family {
    const char *type;
    const struct hf_keys *keys;
    unsigned has; // bits of enum hf_part
};

/* The family of a model_type, or NULL. */
const struct hf_family *hf_family_find(const char *type);

/* What keeps a known type from being counted, or NULL. */
const char *hf_family_lack(const char *type);

/* All types that are counted, parted by blanks; NULL when out of memory. */
const char *hf_family_names(struct arena *a);

#endif
