/*
 * How it works: one row a model type says where its config keeps experts and
 * what its modules have (transformers, models/<type>/modeling_<type>.py);
 * readers of each part turn keys into flags.
 */
#include "hf.h"

#include "base/text.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

// which key of the config has the number of experts
enum experts_key { HF_NO_EXPERTS, HF_LOCAL, HF_PLAIN, HF_ROUTED };
// what modeling_<type>.py does beyond the widths; one bit each
enum features {
    HF_QK_NORM = 1,        // a norm on each head of q and k
    HF_QK_NORM_WIDE = 2,   // a norm on all heads at once
    HF_QKV_BIAS = 4,       // always biases on q, k and v
    HF_ALL_BIASES = 8,     // on attention, experts and router; sinks
    HF_MLA_ATTENTION = 16, // queries, keys and values through latents
    HF_MOE_WIDTH = 32,     // experts' width is moe_intermediate_size
    HF_SHARED_GATE = 64, // the shared expert has a gate and a width of its own
    HF_CORRECTION = 128, // always a correction bias in the router
    HF_BIAS_KEY = 256,   // attention_bias: on q, k and v only
    HF_SPARSE_STEP = 512 // decoder_sparse_step and mlp_only_layers
};

// a type that is not here may have parts that nothing in its config tells: it
// is refused, not guessed
static const struct family {
    const char *type;
    enum experts_key experts;
    int has;
} families[] = {
    {"llama", HF_NO_EXPERTS, 0},
    {"mistral", HF_NO_EXPERTS, 0},
    {"qwen2", HF_NO_EXPERTS, HF_QKV_BIAS},
    {"qwen3", HF_NO_EXPERTS, HF_QK_NORM},
    {"mixtral", HF_LOCAL, 0},
    {"qwen2_moe", HF_PLAIN,
     HF_QKV_BIAS | HF_MOE_WIDTH | HF_SHARED_GATE | HF_SPARSE_STEP},
    {"qwen3_moe", HF_PLAIN, HF_QK_NORM | HF_MOE_WIDTH | HF_SPARSE_STEP},
    {"olmoe", HF_PLAIN, HF_QK_NORM_WIDE},
    {"deepseek_v2", HF_ROUTED, HF_MLA_ATTENTION | HF_MOE_WIDTH},
    {"deepseek_v3", HF_ROUTED, HF_MLA_ATTENTION | HF_MOE_WIDTH},
    {"kimi_k2", HF_ROUTED, HF_MLA_ATTENTION | HF_MOE_WIDTH},
    {"glm4_moe", HF_ROUTED, HF_MOE_WIDTH | HF_CORRECTION | HF_BIAS_KEY},
    {"gpt_oss", HF_LOCAL, HF_ALL_BIASES},
};
enum { N_HF_FAMILIES = sizeof families / sizeof families[0] };

struct hf {
    struct arena *arena;
    const cJSON *config;
    const char *where;
    struct megatron_args *args;
    const struct family *family;
    struct err_msg *msg;
};

/* ---- keys and flags ---- */

static enum err megatron_hf_get(const struct hf *h, const char *key,
                                int64_t *out)
{
    // the bounds of each flag are checked when all flags are there
    const struct json_range any = {0, 1e15};
    return json_opt_int((struct json_member){h->config, h->where, key}, any,
                        out, h->msg);
}

/* A config may leave out what its class has a default for; sizes that decide
 * the model are wanted all the same, as published configs have them. */
static enum err megatron_hf_need(const struct hf *h, const char *key,
                                 int64_t *out)
{
    enum err e =
        json_require((struct json_member){h->config, h->where, key}, h->msg);
    return e == ERR_OK ? megatron_hf_get(h, key, out) : e;
}

static void megatron_hf_set(const struct hf *h, enum flag_id flag,
                            int64_t value)
{
    flags_set_int(megatron_args_flags(h->args), flag, value);
}

static void megatron_hf_on(const struct hf *h, enum flag_id flag)
{
    flags_set_on(megatron_args_flags(h->args), flag);
}

/* Copies the key to the flag; absent: `other`, or nothing when that is 0. */
static enum err megatron_hf_copy(const struct hf *h, const char *key,
                                 enum flag_id flag, int64_t other)
{
    int64_t v = other;
    enum err e = megatron_hf_get(h, key, &v);
    if (e == ERR_OK && v)
        megatron_hf_set(h, flag, v);
    return e;
}

static bool is_true(const struct hf *h, const char *key)
{
    return cJSON_IsTrue(json_get(h->config, key));
}

/* ---- parts ---- */

/* Published models of these types have gated MLPs, rotary positions and RMSNorm
 * without saying so: Megatron's flags must. */
static enum err read_widths(const struct hf *h)
{
    static const struct {
        const char *key;
        enum flag_id flag;
    } same[] = {{"hidden_size", FLAG_HIDDEN_SIZE},
                {"num_hidden_layers", FLAG_NUM_LAYERS},
                {"num_attention_heads", FLAG_NUM_ATTENTION_HEADS},
                {"vocab_size", FLAG_PADDED_VOCAB_SIZE},
                {"intermediate_size", FLAG_FFN_HIDDEN_SIZE}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        int64_t v = 0;
        enum err e = megatron_hf_need(h, same[i].key, &v);
        if (e != ERR_OK)
            return e;
        megatron_hf_set(h, same[i].flag, v);
    }
    static const enum flag_id always[] = {FLAG_SWIGLU, FLAG_DISABLE_BIAS_LINEAR,
                                          FLAG_USE_ROTARY};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        megatron_hf_on(h, always[i]);
    if (!is_true(h, "tie_word_embeddings"))
        megatron_hf_on(h, FLAG_UNTIE);
    return megatron_args_set(h->args, FLAG_NORMALIZATION, "RMSNorm", h->msg);
}

/* Defaults are those of transformers' DeepseekV3Config. Norms stand on both
 * latents (q_a_layernorm and kv_a_layernorm), which Megatron has with
 * --qk-layernorm. */
static enum err read_latents(const struct hf *h)
{
    int64_t kv = 0;
    enum err e = megatron_hf_need(h, "kv_lora_rank", &kv);
    if (e == ERR_OK)
        e = megatron_hf_copy(h, "q_lora_rank", FLAG_Q_LORA_RANK, 0);
    if (e == ERR_OK)
        e = megatron_hf_copy(h, "qk_nope_head_dim", FLAG_QK_HEAD_DIM, 128);
    if (e == ERR_OK)
        e = megatron_hf_copy(h, "qk_rope_head_dim", FLAG_QK_POS_EMB_HEAD_DIM,
                             64);
    if (e == ERR_OK)
        e = megatron_hf_copy(h, "v_head_dim", FLAG_V_HEAD_DIM, 128);
    if (e != ERR_OK)
        return e;
    megatron_hf_on(h, FLAG_MLA);
    megatron_hf_on(h, FLAG_QK_LAYERNORM);
    megatron_hf_set(h, FLAG_KV_LORA_RANK, kv);
    return ERR_OK;
}

/* A head is hidden / heads wide where head_dim is absent; set as kv-channels
 * only where it is there, since Megatron's default is the same. */
static enum err read_heads(const struct hf *h)
{
    int64_t heads = 0, groups = 0;
    enum err e = megatron_hf_need(h, "num_attention_heads", &heads);
    groups = heads;
    if (e == ERR_OK)
        e = megatron_hf_get(h, "num_key_value_heads", &groups);
    if (e == ERR_OK)
        e = megatron_hf_copy(h, "head_dim", FLAG_KV_CHANNELS, 0);
    if (e != ERR_OK)
        return e;
    if (groups != heads)
        megatron_hf_on(h, FLAG_GROUP_QUERY_ATTENTION);
    megatron_hf_set(h, FLAG_NUM_QUERY_GROUPS, groups);
    return ERR_OK;
}

/* Megatron has biases on q, k and v, or on every linear layer; attention_bias
 * of most types adds one on the output, too, for which there is no flag. */
static enum err read_biases(const struct hf *h)
{
    int has = h->family->has;
    bool key = is_true(h, "attention_bias");
    if (key && !(has & (HF_BIAS_KEY | HF_ALL_BIASES)))
        return err_set(h->msg, ERR_RANGE,
                       "%s: attention_bias: true for %s has no counterpart in "
                       "Megatron's flags, want false",
                       h->where, h->family->type);
    if ((has & HF_QKV_BIAS) || ((has & HF_BIAS_KEY) && key))
        megatron_hf_on(h, FLAG_ADD_QKV_BIAS);
    if ((has & HF_QK_NORM) || is_true(h, "use_qk_norm"))
        megatron_hf_on(h, FLAG_QK_LAYERNORM);
    if (has & HF_QK_NORM_WIDE)
        megatron_hf_on(h, FLAG_QK_NORM_FULL_WIDTH);
    if (!(has & HF_ALL_BIASES))
        return ERR_OK;
    // gpt-oss: biases everywhere, and a learned sink in each head's softmax
    flags_clear(megatron_args_flags(h->args), FLAG_DISABLE_BIAS_LINEAR);
    return megatron_args_set(h->args, FLAG_SOFTMAX_TYPE, "learnable", h->msg);
}

/* gpt-oss: layers alternate between a window and all tokens, as layer_types
 * lists them (absent: from a windowed first layer on). */
static enum err read_window(const struct hf *h)
{
    int64_t window = 0;
    enum err e = megatron_hf_get(h, "sliding_window", &window);
    if (e != ERR_OK || !window || !(h->family->has & HF_ALL_BIASES))
        return e;
    char text[40];
    snprintf(text, sizeof text, "%lld,0", (long long)window);
    e = megatron_args_set(h->args, FLAG_WINDOW_SKIP_FREQ, "2", h->msg);
    return e == ERR_OK
               ? megatron_args_set(h->args, FLAG_WINDOW_SIZE, text, h->msg)
               : e;
}

/* ---- experts ---- */

static bool megatron_hf_listed(const cJSON *list, int value)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsNumber(item) && item->valuedouble == value)
            return true;
    }
    return false;
}

/* Which layers have experts, as a list of 0 and 1. */
static enum err read_layers(const struct hf *h, int64_t layers)
{
    int64_t first = 0, every = 1, step = 1;
    enum err e = megatron_hf_get(h, "first_k_dense_replace", &first);
    if (e == ERR_OK && h->family->experts == HF_ROUTED)
        e = megatron_hf_get(h, "moe_layer_freq", &every);
    if (e == ERR_OK)
        e = megatron_hf_get(h, "decoder_sparse_step", &step);
    if (e != ERR_OK)
        return e;
    if (layers < 1 || layers > MODEL_MAX_LAYERS || every < 1 || step < 1)
        return err_set(h->msg, ERR_RANGE,
                       "%s: num_hidden_layers: got %lld, want 1 to %d",
                       h->where, (long long)layers, MODEL_MAX_LAYERS);
    const cJSON *dense = json_get(h->config, "mlp_only_layers");
    bool steps = h->family->has & HF_SPARSE_STEP;
    char *text = arena_alloc(h->arena, 2 * (size_t)layers + 2, 1);
    if (!text)
        return err_set(h->msg, ERR_NOMEM, "%s: out of memory", h->where);
    char *p = text;
    for (int i = 0; i < (int)layers; i++) {
        // DeepSeek's rule: dense layers first, then every n-th has experts
        bool moe = i >= first && i % every == 0;
        if (steps)
            // Qwen's rule: every step-th layer, counted from 1, but for those
            // listed
            moe = !megatron_hf_listed(dense, i) && (i + 1) % step == 0;
        *p++ = i ? ',' : '[';
        *p++ = moe ? '1' : '0';
    }
    *p = ']';
    return megatron_args_set(h->args, FLAG_MOE_LAYER_FREQ, text, h->msg);
}

/* Qwen states the width of its one shared expert, DeepSeek and GLM the number
 * of shared experts of a routed one's width; Megatron takes the width of all.
 */
static enum err read_shared(const struct hf *h, int64_t width)
{
    int64_t n = 0, own = 0;
    enum err e = megatron_hf_get(h, "n_shared_experts", &n);
    if (e == ERR_OK && (h->family->has & HF_SHARED_GATE))
        e = megatron_hf_need(h, "shared_expert_intermediate_size", &own);
    if (e != ERR_OK || (n == 0 && own == 0))
        return e;
    if (own)
        megatron_hf_on(h, FLAG_MOE_SHARED_GATE);
    // no model has more than a few; beyond it n * width might leave 64 bits
    if (n > 1 << 10)
        return err_set(h->msg, ERR_RANGE, "%s: n_shared_experts: got %lld",
                       h->where, (long long)n);
    megatron_hf_set(h, FLAG_MOE_SHARED_EXPERT, own ? own : n * width);
    return ERR_OK;
}

/* noaux_tc is DeepSeek-V3's balancing by a bias instead of a loss. The bias is
 * a parameter of its checkpoint and counted in published totals; Megatron keeps
 * it as a buffer. */
static enum err read_router(const struct hf *h)
{
    const cJSON *method = json_get(h->config, "topk_method");
    bool corrects = (h->family->has & HF_CORRECTION) ||
                    (cJSON_IsString(method) &&
                     strcmp(method->valuestring, "noaux_tc") == 0);
    if (corrects) {
        megatron_hf_on(h, FLAG_MOE_EXPERT_BIAS);
        megatron_hf_on(h, FLAG_COUNT_EXPERT_BIAS);
    }
    int64_t topk = 0;
    enum err e = megatron_hf_need(h, "num_experts_per_tok", &topk);
    if (e == ERR_OK)
        megatron_hf_set(h, FLAG_MOE_ROUTER_TOPK, topk);
    return e;
}

static enum err read_experts(const struct hf *h)
{
    static const char *const keys[] = {[HF_LOCAL] = "num_local_experts",
                                       [HF_PLAIN] = "num_experts",
                                       [HF_ROUTED] = "n_routed_experts"};
    int64_t n = 0, width = 0, layers = 0;
    const char *key = h->family->has & HF_MOE_WIDTH ? "moe_intermediate_size"
                                                    : "intermediate_size";
    if (h->family->experts == HF_NO_EXPERTS)
        return ERR_OK;
    enum err e = megatron_hf_need(h, keys[h->family->experts], &n);
    if (e == ERR_OK)
        e = megatron_hf_need(h, key, &width);
    if (e == ERR_OK)
        e = megatron_hf_need(h, "num_hidden_layers", &layers);
    if (e != ERR_OK)
        return e;
    megatron_hf_set(h, FLAG_NUM_EXPERTS, n);
    megatron_hf_set(h, FLAG_MOE_FFN_HIDDEN_SIZE, width);
    e = read_layers(h, layers);
    if (e == ERR_OK)
        e = read_shared(h, width);
    return e == ERR_OK ? read_router(h) : e;
}

/* ---- the whole ---- */

/* By model_type and not by architectures: a fork of a model keeps the type. */
static enum err find_family(struct hf *h)
{
    const cJSON *type = json_get(h->config, "model_type");
    const char *names[N_HF_FAMILIES], *all = "";
    for (int i = 0; i < N_HF_FAMILIES; i++) {
        names[i] = families[i].type;
        if (cJSON_IsString(type) &&
            strcmp(type->valuestring, families[i].type) == 0) {
            h->family = &families[i];
            return ERR_OK;
        }
        all = arena_printf(h->arena, "%s%s%s", all, i ? " " : "", names[i]);
        if (!all)
            return err_set(h->msg, ERR_NOMEM, "%s: out of memory", h->where);
    }
    return err_set(h->msg, ERR_RANGE,
                   "%s: model_type: got '%.60s', want one of: %s", h->where,
                   cJSON_IsString(type) ? type->valuestring : "", all);
}

enum err source_hf_read(struct arena *a, const cJSON *config, const char *where,
                        struct megatron_args *args, struct err_msg *msg)
{
    struct hf h = {a, config, where, args, NULL, msg};
    enum err e = find_family(&h);
    if (e == ERR_OK)
        e = megatron_args_where(args, where, msg);
    if (e == ERR_OK)
        e = read_widths(&h);
    if (e == ERR_OK)
        e = h.family->has & HF_MLA_ATTENTION ? read_latents(&h)
                                             : read_heads(&h);
    if (e == ERR_OK)
        e = read_biases(&h);
    if (e == ERR_OK)
        e = read_window(&h);
    if (e == ERR_OK)
        e = read_experts(&h);
    if (e == ERR_OK)
        e = megatron_hf_copy(&h, "num_nextn_predict_layers",
                             FLAG_MTP_NUM_LAYERS, 0);
    return e;
}
