/*
 * How it works: one function a part. What a key switches on that no flag has is
 * refused with the key's name, so that a number is never that of another model.
 */
#include "hf_attention.h"

#include <stdio.h>
#include <string.h>

/* ---- heads ---- */

/* Defaults are those of transformers' DeepseekV3Config. Norms stand on both
 * latents (q_a_layernorm and kv_a_layernorm), which Megatron has with
 * --qk-layernorm. */
static void read_latents(const struct hf *h)
{
    hf_on(h, FLAG_MLA);
    hf_on(h, FLAG_QK_LAYERNORM);
    hf_set(h, "kv_lora_rank", FLAG_KV_LORA_RANK, hf_need(h, "kv_lora_rank"));
    hf_copy(h, "q_lora_rank", FLAG_Q_LORA_RANK, 0);
    hf_copy(h, "qk_nope_head_dim", FLAG_QK_HEAD_DIM, 128);
    hf_copy(h, "qk_rope_head_dim", FLAG_QK_POS_EMB_HEAD_DIM, 64);
    hf_copy(h, "v_head_dim", FLAG_V_HEAD_DIM, 128);
    if (hf_switch(h, "attention_bias", false))
        hf_refuse(h, "attention_bias",
                  "true: biases on the ways to the latents are not counted, "
                  "want false");
}

/* A head is hidden / heads wide where no key says it; set as kv-channels only
 * where it is there, since Megatron's default is the same. A null stands for
 * the same; a key that is left out for the default of the class. */
static void read_heads(const struct hf *h)
{
    const struct hf_keys *k = h->family->keys;
    int64_t heads = hf_need(h, k->heads);
    const char *dim = hf_has(h, k->head_dim) ? k->head_dim : "head_dim";
    bool named = cJSON_GetObjectItemCaseSensitive(h->at.item, k->groups);
    if (hf_part(h, HF_NEED_GROUPS) && !named)
        hf_need(h, k->groups);
    if (hf_part(h, HF_NEED_HEAD))
        hf_need(h, dim);
    int64_t groups = hf_int(h, k->groups, 1, heads);
    hf_copy(h, dim, FLAG_KV_CHANNELS, 0);
    if (groups != heads)
        hf_on(h, FLAG_GROUP_QUERY_ATTENTION);
    hf_set(h, k->groups, FLAG_NUM_QUERY_GROUPS, groups);
}

/* ---- norms and biases ---- */

static void read_norms(const struct hf *h)
{
    bool wide = hf_part(h, HF_QK_NORM_WIDE);
    // Llama 4's norm on q and k has no weight
    bool key = hf_part(h, HF_QK_NORM_KEY) && hf_switch(h, "use_qk_norm", false);
    const char *type = hf_text(h, "qk_norm_type");
    if (*type && strcmp(type, "per_layer") != 0)
        hf_refuse(h, "qk_norm_type", "got '%.40s', want per_layer", type);
    if (wide && !hf_switch(h, "use_qk_norm", true))
        hf_refuse(h, "use_qk_norm", "false for %s is not counted",
                  h->family->type);
    else if (wide)
        hf_on(h, FLAG_QK_NORM_FULL_WIDTH);
    else if (key || hf_part(h, HF_QK_NORM))
        hf_on(h, FLAG_QK_LAYERNORM);
    hf_put(h, FLAG_NORMALIZATION,
           hf_part(h, HF_LAYERNORM) ? "LayerNorm" : "RMSNorm");
    if (hf_part(h, HF_POST_NORMS))
        hf_on(h, FLAG_POST_LAYER_NORMS);
}

/* Types whose attention_bias means something else, or nothing, are refused
 * with it. gpt-oss has biases everywhere, and a sink in each head's softmax. */
static void read_attention_bias(const struct hf *h)
{
    bool all = hf_part(h, HF_ALL_BIASES);
    bool key = hf_switch(h, "attention_bias", false);
    bool qkvo = key && hf_part(h, HF_BIAS_QKVO);
    if (key && !all && !hf_part(h, HF_BIAS_QKVO) && !hf_part(h, HF_BIAS_QKV))
        hf_refuse(h, "attention_bias", "true for %s is not counted, want false",
                  h->family->type);
    if (all) {
        flags_clear(megatron_args_flags(h->args), FLAG_DISABLE_BIAS_LINEAR);
        hf_put(h, FLAG_SOFTMAX_TYPE, "learnable");
    }
    if (qkvo || (key && hf_part(h, HF_BIAS_QKV)) ||
        (hf_part(h, HF_QKV_BIAS) && hf_switch(h, "qkv_bias", true)))
        hf_on(h, FLAG_ADD_QKV_BIAS);
    if (qkvo)
        hf_on(h, FLAG_ATTENTION_OUTPUT_BIAS);
}

/* Ling has keys of its own; ERNIE's use_bias is on every MLP, too. */
static void read_own_bias(const struct hf *h)
{
    bool own = hf_part(h, HF_BIAS_OWN), any = hf_switch(h, "use_bias", false);
    if (own && hf_switch(h, "use_qkv_bias", false))
        hf_on(h, FLAG_ADD_QKV_BIAS);
    if (own && any)
        hf_on(h, FLAG_ATTENTION_OUTPUT_BIAS);
    else if (any)
        hf_refuse(h, "use_bias", "true is not counted, want false");
    if (hf_switch(h, "mlp_bias", false))
        hf_refuse(h, "mlp_bias", "true is not counted, want false");
    if (hf_switch(h, "lm_head_bias", false))
        hf_on(h, FLAG_OUTPUT_LAYER_BIAS);
}

/* ---- linear and sparse attention ---- */

/* Qwen3-Next: every full_attention_interval-th layer has scores. */
static void read_linear(const struct hf *h)
{
    static const struct {
        const char *key;
        enum flag_id flag;
    } same[] = {{"linear_num_key_heads", FLAG_LINEAR_KEY_HEADS},
                {"linear_num_value_heads", FLAG_LINEAR_VALUE_HEADS},
                {"linear_key_head_dim", FLAG_LINEAR_KEY_DIM},
                {"linear_value_head_dim", FLAG_LINEAR_VALUE_DIM},
                {"linear_conv_kernel_dim", FLAG_LINEAR_CONV_DIM}};
    bool *linear = hf_new_layers(h);
    if (!linear || !hf_part(h, HF_LINEAR))
        return;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        hf_set(h, same[i].key, same[i].flag, hf_need(h, same[i].key));
    int64_t every = hf_int(h, "full_attention_interval", 1, 4);
    struct reader types = hf_layers(h, "layer_types");
    hf_match_layers(h, types, "linear_attention", linear);
    if (!reader_is_there(types))
        for (int i = 0; i < h->n_layers; i++)
            linear[i] = (i + 1) % every != 0;
    hf_put(h, FLAG_EXPERIMENTAL_ATTENTION_VARIANT, "gated_delta_net");
    hf_put_layers(h, FLAG_LINEAR_ATTENTION_FREQ, linear);
    // the published MTP layers have scores, Megatron's are as the last layer
    if (linear[h->n_layers - 1] &&
        hf_int(h, "mtp_num_hidden_layers", 0, 0) +
                hf_int(h, "num_nextn_predict_layers", 0, 0) >
            0)
        hf_refuse(h, "layer_types",
                  "linear attention in the last layer beside MTP layers is not "
                  "counted");
}

/* A text with a letter for each layer, F for full and S for shared. */
static bool pattern_layers(const struct hf *h, const char *path, bool *out)
{
    const char *text = hf_text(h, path);
    if (!*text)
        return false;
    if ((int)strlen(text) < h->n_layers || text[strspn(text, "FS")])
        hf_refuse(h, path, "got '%.80s', want F or S for each of the %d layers",
                  text, h->n_layers);
    for (int i = 0; i < h->n_layers && text[i]; i++)
        out[i] = text[i] == 'F';
    return true;
}

/* Sparse attention; layers without an indexer take over the top-k of one before
 * (transformers' GlmMoeDsaConfig has the order of these keys). */
static void read_sparse(const struct hf *h)
{
    bool *full = hf_new_layers(h), all = true;
    if (!full || !hf_part(h, HF_SPARSE))
        return;
    hf_put(h, FLAG_EXPERIMENTAL_ATTENTION_VARIANT, "dsa");
    hf_set(h, "index_n_heads", FLAG_DSA_HEADS, hf_need(h, "index_n_heads"));
    hf_set(h, "index_head_dim", FLAG_DSA_DIM, hf_need(h, "index_head_dim"));
    hf_set(h, "index_topk", FLAG_DSA_TOPK, hf_need(h, "index_topk"));
    int64_t every = hf_int(h, "index_topk_freq", 1, 1);
    int64_t from = hf_int(h, "index_skip_topk_offset", 0, 2);
    struct reader types = hf_layers(h, "indexer_types");
    hf_match_layers(h, types, "full", full);
    if (!reader_is_there(types) &&
        !pattern_layers(h, "index_topk_pattern", full))
        for (int i = 0; i < h->n_layers; i++)
            full[i] = i + 1 <= from || (i + 1 - from) % every == 0;
    for (int i = 0; i < h->n_layers; i++)
        all = all && full[i];
    if (!all)
        hf_put_layers(h, FLAG_DSA_LAYERS, full);
}

/* ---- layers ---- */

/* A type of layer that is not here has other weights. */
static void check_layer_types(const struct hf *h)
{
    static const char *const known[] = {
        "full_attention",    "sliding_attention",
        "chunked_attention", "deepseek_sparse_attention",
        "linear_attention",
    };
    enum { N_KNOWN = sizeof known / sizeof known[0] };
    int n = hf_part(h, HF_LINEAR) ? N_KNOWN : N_KNOWN - 1;
    if (h->symbols)
        return;
    struct reader c = reader_first(hf_layers(h, "layer_types"));
    for (; reader_is_there(c); c = reader_next(c)) {
        const char *text = "";
        bool found = false;
        reader_text_here(c, &text);
        for (int i = 0; i < n; i++)
            found = found || strcmp(text, known[i]) == 0;
        if (!found)
            reader_fail(c, ERR_RANGE, "'%.40s' is not counted", text);
    }
}

/* gpt-oss alternates from a windowed first layer on where nothing is listed. */
static void read_window(const struct hf *h)
{
    bool *windowed = hf_new_layers(h), any = false;
    int64_t window = hf_int(h, "sliding_window", 0, 0);
    if (!windowed || !window || !hf_switch(h, "use_sliding_window", true))
        return;
    struct reader types = hf_layers(h, "layer_types");
    hf_match_layers(h, types, "sliding_attention", windowed);
    if (!reader_is_there(types))
        for (int i = 0; i < h->n_layers; i++)
            windowed[i] = hf_part(h, HF_WINDOWED) ||
                          (hf_part(h, HF_ALL_BIASES) && i % 2 == 0);
    for (int i = 0; i < h->n_layers; i++)
        any = any || windowed[i];
    char text[40];
    snprintf(text, sizeof text, "%lld,0", (long long)window);
    if (any)
        hf_put(h, FLAG_WINDOW_SIZE, text);
    if (any)
        hf_put_layers(h, FLAG_WINDOW_SKIP_FREQ, windowed);
}

/* Parts that a type lacks are asked for, too, and refused where a config
 * switches them on: a number that leaves them out would be wrong without a
 * word. */
void hf_attention_read(const struct hf *h)
{
    // DeepSeek-VL2's language models are DeepSeek-V2 with latents switched off
    if (hf_part(h, HF_LATENTS) && hf_switch(h, "use_mla", true)) {
        read_latents(h);
        hf_put(h, FLAG_NORMALIZATION, "RMSNorm");
    } else {
        if (!hf_part(h, HF_LATENTS) && hf_switch(h, "use_mla", false))
            hf_refuse(h, "use_mla", "true for %s is not counted",
                      h->family->type);
        read_heads(h);
        read_norms(h);
        read_attention_bias(h);
    }
    read_own_bias(h);
    if (hf_switch(h, "use_cla", false))
        hf_refuse(h, "use_cla",
                  "true: layers that take over keys and values of the layer "
                  "before are not counted, want false");
    if (hf_part(h, HF_OUTPUT_GATE))
        hf_on(h, FLAG_ATTENTION_OUTPUT_GATE);
    check_layer_types(h);
    read_linear(h);
    read_sparse(h);
    read_window(h);
}
