/*
 * How it works: all rules about which layers have experts are one rule with
 * other numbers (every n-th layer of a range, less or only those listed), which
 * makes one list of layers; the rest is keys that become flags.
 */
#include "hf_experts.h"

#include <string.h>

/* ---- which layers have experts ---- */

/* Layer i, from 0: first <= i <= last and (i + shift) % every == 0. */
struct layer_rule {
    int64_t first, last, every, shift;
};

static struct layer_rule rule_of(const struct hf *h)
{
    struct layer_rule r = {0, h->n_layers - 1, 1, 0};
    const int first = h->family->keys->first;
    switch (h->family->keys->rule) {
    case HF_LAYERS_FIRST:
        r.first = hf_int(h, "first_k_dense_replace", 0, first);
        if (!cJSON_IsArray(json_get(h->at.item, "moe_layer_freq")))
            r.every = hf_int(h, "moe_layer_freq", 1, 1);
        break;
    case HF_LAYERS_STEP:
        r.every = hf_int(h, "decoder_sparse_step", 1, 1);
        r.shift = 1;
        break;
    case HF_LAYERS_RANGE: {
        // -1 is the last layer
        int64_t last = hf_int(h, "moe_layer_end_index", -1, -1);
        r.first = hf_int(h, "moe_layer_start_index", 0, 1);
        r.last = last < 0 ? r.last : last;
        r.every = hf_int(h, "moe_layer_interval", 1, 1);
        r.shift = 1;
        break;
    }
    case HF_LAYERS_CHOSEN:
        r.every = hf_int(h, "interleave_moe_layer_step", 1, 1);
        r.shift = 1;
        break;
    case HF_LAYERS_SKIPPED:
        r.first = hf_int(h, "moe_layer_num_skipped", 0, 0);
        break;
    case HF_LAYERS_DENSE:
        r.first = hf_int(h, "num_dense_layers", 0, first);
        break;
    default:
        break;
    }
    return r;
}

/* Sets the switches of the layers that a list has by their numbers; false where
 * there is no list. */
static bool mark_listed(const struct hf *h, const char *path, bool value,
                        bool *moe)
{
    struct reader list = reader_list(h->at, path), c = reader_first(list);
    const struct json_range range = {0, h->n_layers - 1};
    for (; reader_is_there(c); c = reader_next(c)) {
        double i = -1;
        reader_double_here(c, range, &i);
        if (reader_is_ok(c))
            moe[(int)i] = value;
    }
    return reader_is_there(list);
}

/* A list with 0 or 1 for each layer. */
static void mark_each(const struct hf *h, const char *path, bool *moe)
{
    struct reader c = reader_first(hf_layers(h, path));
    const struct json_range range = {0, 1};
    for (int i = 0; i < h->n_layers && reader_is_there(c); i++) {
        double v = 0;
        reader_double_here(c, range, &v);
        moe[i] = v > 0;
        c = reader_next(c);
    }
}

/* mlp_layer_types, where it is there, is what transformers goes by. */
static void read_layers(const struct hf *h, bool *moe)
{
    const struct layer_rule r = rule_of(h);
    const enum hf_layer_rule rule = h->family->keys->rule;
    bool chosen = rule == HF_LAYERS_CHOSEN && hf_has(h, "moe_layers");
    for (int i = 0; i < h->n_layers; i++)
        moe[i] = !chosen && i >= r.first && i <= r.last &&
                 (i + r.shift) % r.every == 0;
    if (chosen)
        mark_listed(h, "moe_layers", true, moe);
    if (rule == HF_LAYERS_STEP)
        mark_listed(h, "mlp_only_layers", false, moe);
    if (rule == HF_LAYERS_FIRST &&
        cJSON_IsArray(json_get(h->at.item, "moe_layer_freq")))
        mark_each(h, "moe_layer_freq", moe);
    hf_match_layers(h, hf_layers(h, "mlp_layer_types"), "sparse", moe);
}

/* ---- shared experts ---- */

/* Hunyuan has shared experts with use_mixed_mlp_moe. Its published code takes
 * their width from moe_intermediate_size, vLLM's from intermediate_size; both
 * are one number in all published configs. */
static int64_t hunyuan_shared(const struct hf *h, int64_t width)
{
    const struct hf_keys *k = h->family->keys;
    bool v1 = hf_part(h, HF_QK_NORM); // the class has one without being asked
    if (!hf_switch(h, "use_mixed_mlp_moe", v1))
        return 0;
    int64_t n = hf_int(h, k->shared, 0, 1);
    if (n && hf_int(h, k->ffn, 0, width) != width)
        hf_refuse(h, k->width,
                  "got %lld, and intermediate_size is another: which of them "
                  "the shared expert has is not known, want the same",
                  (long long)width);
    return n;
}

/* Number of shared experts as wide as routed ones. No model has more than a
 * few; beyond it n x width might leave 64 bits. */
static int64_t count_shared(const struct hf *h, int64_t width)
{
    const struct hf_keys *k = h->family->keys;
    if (hf_part(h, HF_SHARED_ONE))
        return 1;
    if (!k->shared)
        return 0;
    if (k->rule == HF_LAYERS_SKIPPED)
        return hunyuan_shared(h, width);
    int64_t n = hf_part(h, HF_NEED_SHARED) ? hf_need(h, k->shared)
                                           : hf_int(h, k->shared, 0, 0);
    if (n > 1 << 10)
        hf_refuse(h, k->shared, "got %lld, want at most 1024", (long long)n);
    return n;
}

/* Qwen states the width of its one shared expert, others the number of shared
 * experts of a routed one's width; Megatron takes the width of all. */
static void read_shared(const struct hf *h, int64_t width)
{
    const struct hf_keys *k = h->family->keys;
    const char *path = k->shared ? k->shared : k->width;
    int64_t all = count_shared(h, width) * width;
    if (k->shared_width) {
        path = k->shared_width;
        all = hf_need(h, path);
    }
    // Ling 2.0 says the width, too; MiniMax-M2 has the key of an older type
    int64_t own = hf_int(h, "moe_shared_expert_intermediate_size", 0, 0);
    if (own && k->shared && own != width)
        hf_refuse(h, "moe_shared_expert_intermediate_size",
                  "got %lld, want the width of a routed expert %lld",
                  (long long)own, (long long)width);
    if (!k->shared_width && hf_int(h, "shared_intermediate_size", 0, 0))
        hf_refuse(h, "shared_intermediate_size",
                  "a shared expert of %s is not counted, want 0",
                  h->family->type);
    if (all)
        hf_set(h, path, FLAG_MOE_SHARED_EXPERT, all);
    if (all && hf_part(h, HF_SHARED_GATE))
        hf_on(h, FLAG_MOE_SHARED_GATE);
}

/* ---- router ---- */

/* Balancing by a bias instead of a loss ("noaux_tc"). Checkpoints hold the
 * bias, and published totals count it; Megatron keeps it as a buffer. */
static bool has_correction(const struct hf *h)
{
    bool always = hf_part(h, HF_CORRECTION);
    const char *method = hf_text(h, "topk_method");
    return hf_switch(h, "use_routing_bias", true) &&
           hf_switch(h, "moe_router_enable_expert_bias",
                     always || strcmp(method, "noaux_tc") == 0);
}

static void read_router(const struct hf *h)
{
    const char *topk = h->family->keys->topk;
    hf_set(h, topk, FLAG_MOE_ROUTER_TOPK, hf_need(h, topk));
    if (!has_correction(h))
        return;
    hf_on(h, FLAG_MOE_EXPERT_BIAS);
    hf_on(h, FLAG_COUNT_EXPERT_BIAS);
}

/* ---- experts ---- */

/* A model of a type with experts may have none. */
static int64_t count_experts(const struct hf *h)
{
    const char *path = h->family->keys->experts;
    if (h->symbols && !strchr(h->symbols, 'E'))
        return 0;
    int64_t n = path ? hf_need(h, path) : 0;
    // Hunyuan's dense models say 1
    return n == 1 && h->family->keys->rule == HF_LAYERS_SKIPPED ? 0 : n;
}

/* hunyuan may leave the width of its experts to intermediate_size. */
static int64_t width_of_experts(const struct hf *h)
{
    const struct hf_keys *k = h->family->keys;
    if (k->rule == HF_LAYERS_SKIPPED && !hf_has(h, k->width))
        return hf_need(h, k->ffn);
    return hf_need(h, k->width);
}

static void read_experts(const struct hf *h, bool *moe)
{
    const struct hf_keys *k = h->family->keys;
    int64_t n = count_experts(h), width = n ? width_of_experts(h) : 0;
    if (n == 0 || !reader_is_ok(h->at))
        return;
    hf_set(h, k->experts, FLAG_NUM_EXPERTS, n);
    hf_set(h, k->width, FLAG_MOE_FFN_HIDDEN_SIZE, width);
    if (!h->symbols) {
        read_layers(h, moe);
        hf_put_layers(h, FLAG_MOE_LAYER_FREQ, moe);
    }
    read_shared(h, width);
    read_router(h);
}

/* The width of dense layers is wanted where there are any; else it has no
 * effect. */
static void read_dense(const struct hf *h, const bool *moe)
{
    const struct hf_keys *k = h->family->keys;
    bool any = h->symbols && strchr(h->symbols, '-');
    for (int i = 0; i < h->n_layers && !h->symbols; i++)
        any = any || !moe[i];
    if (any || hf_has(h, k->ffn))
        hf_set(h, k->ffn, FLAG_FFN_HIDDEN_SIZE, hf_need(h, k->ffn));
    else
        hf_copy(h, k->width, FLAG_FFN_HIDDEN_SIZE, 0);
}

/* ---- MTP ---- */

/* The number of MTP layers has a key of its own in each family. */
static int64_t count_mtp(const struct hf *h, const char **path)
{
    static const char *const keys[] = {
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "mtp_num_layers",
        "num_mtp_layers", "num_mtp_modules"};
    int64_t n = 0;
    *path = keys[0];
    if (!hf_switch(h, "use_mtp", true))
        return 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int64_t v = hf_int(h, keys[i], 0, 0);
        if (v && n && v != n)
            hf_refuse(h, keys[i], "got %lld, and %s is %lld", (long long)v,
                      *path, (long long)n);
        if (v) {
            n = v;
            *path = keys[i];
        }
    }
    return n;
}

static void read_mtp(const struct hf *h)
{
    const char *path;
    int64_t n = count_mtp(h, &path);
    if (!n || !reader_is_ok(h->at))
        return;
    if (hf_int(h, "mtp_transformer_layers", 0, 1) != 1)
        hf_refuse(h, "mtp_transformer_layers", "want 1");
    if (hf_switch(h, "mtp_use_dedicated_embeddings", false))
        hf_refuse(h, "mtp_use_dedicated_embeddings", "true is not counted");
    if (hf_part(h, HF_MTP))
        hf_set(h, path, FLAG_MTP_NUM_LAYERS, n);
    else
        hf_warn(h, path,
                "%s: the MTP layers of %s are not those of Megatron and are "
                "left out; -- --mtp-num-layers N gives Megatron's",
                path, h->family->type);
}

void hf_experts_read(const struct hf *h)
{
    bool *moe = hf_new_layers(h);
    if (!moe)
        return;
    read_experts(h, moe);
    read_dense(h, moe);
    if (!h->symbols) // MTP is in the pattern
        read_mtp(h);
}
