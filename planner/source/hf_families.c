/*
 * How it works: three tables of facts and a search by name. Rows that differ in
 * keys only share their parts.
 */
#include "hf_families.h"

#include <stddef.h>
#include <string.h>

/* ---- keys ---- */

#define HF_USUAL                                                               \
    .hidden = "hidden_size", .layers = "num_hidden_layers",                    \
    .heads = "num_attention_heads", .groups = "num_key_value_heads",           \
    .head_dim = "head_dim", .ffn = "intermediate_size"
#define HF_USUAL_EXPERTS HF_USUAL, .topk = "num_experts_per_tok"

static const struct hf_keys dense = {HF_USUAL};
static const struct hf_keys local = {HF_USUAL_EXPERTS,
                                     .experts = "num_local_experts",
                                     .width = "intermediate_size"};
static const struct hf_keys plain = {HF_USUAL_EXPERTS, .experts = "num_experts",
                                     .width = "intermediate_size"};
static const struct hf_keys granite = {
    HF_USUAL_EXPERTS, .experts = "num_local_experts",
    .width = "intermediate_size", .shared_width = "shared_intermediate_size"};
// without experts the shared one is a dense MLP
static const struct hf_keys granite_hybrid = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .groups = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "shared_intermediate_size",
    .experts = "num_local_experts",
    .topk = "num_experts_per_tok",
    .width = "intermediate_size",
    .shared_width = "shared_intermediate_size",
};
static const struct hf_keys qwen = {HF_USUAL_EXPERTS, .experts = "num_experts",
                                    .width = "moe_intermediate_size",
                                    .rule = HF_LAYERS_STEP};
static const struct hf_keys qwen_shared = {
    HF_USUAL_EXPERTS, .experts = "num_experts",
    .width = "moe_intermediate_size",
    .shared_width = "shared_expert_intermediate_size", .rule = HF_LAYERS_STEP};
// DeepSeek's keys; classes differ in how many layers are dense at first
#define HF_ROUTED                                                              \
    HF_USUAL_EXPERTS, .experts = "n_routed_experts",                           \
                      .width = "moe_intermediate_size",                        \
                      .shared = "n_shared_experts", .rule = HF_LAYERS_FIRST
static const struct hf_keys routed = {HF_ROUTED};
static const struct hf_keys routed_1 = {HF_ROUTED, .first = 1};
static const struct hf_keys routed_3 = {HF_ROUTED, .first = 3};
static const struct hf_keys bailing = {
    HF_USUAL_EXPERTS, .experts = "num_experts",
    .width = "moe_intermediate_size", .shared = "num_shared_experts",
    .rule = HF_LAYERS_FIRST};
static const struct hf_keys exaone = {HF_USUAL_EXPERTS,
                                      .experts = "num_experts",
                                      .width = "moe_intermediate_size",
                                      .shared = "num_shared_experts",
                                      .rule = HF_LAYERS_FIRST,
                                      .first = 1};
static const struct hf_keys trinity = {HF_USUAL_EXPERTS,
                                       .experts = "num_experts",
                                       .width = "moe_intermediate_size",
                                       .shared = "num_shared_experts",
                                       .rule = HF_LAYERS_DENSE,
                                       .first = 1};
static const struct hf_keys ernie = {HF_USUAL,
                                     .experts = "moe_num_experts",
                                     .topk = "moe_k",
                                     .width = "moe_intermediate_size",
                                     .shared = "moe_num_shared_experts",
                                     .rule = HF_LAYERS_RANGE};
static const struct hf_keys hunyuan = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .groups = "num_key_value_heads",
    .head_dim = "attention_head_dim",
    .ffn = "intermediate_size",
    .experts = "num_experts",
    .topk = "moe_topk",
    .width = "moe_intermediate_size",
    .shared = "num_shared_expert",
    .rule = HF_LAYERS_SKIPPED,
};
static const struct hf_keys llama4 = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .groups = "num_key_value_heads",
    .head_dim = "head_dim",
    .ffn = "intermediate_size_mlp",
    .experts = "num_local_experts",
    .topk = "num_experts_per_tok",
    .width = "intermediate_size",
    .rule = HF_LAYERS_CHOSEN,
};
static const struct hf_keys dbrx = {
    .hidden = "d_model",
    .layers = "n_layers",
    .heads = "n_heads",
    .groups = "attn_config.kv_n_heads",
    .head_dim = "head_dim",
    .ffn = "ffn_config.ffn_hidden_size",
    .experts = "ffn_config.moe_num_experts",
    .topk = "ffn_config.moe_top_k",
    .width = "ffn_config.ffn_hidden_size",
};

// no key for experts in a pattern without E
static const struct hf_keys nemotron = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .groups = "num_key_value_heads",
    .head_dim = "attention_head_dim",
    .ffn = "intermediate_size",
    .experts = "n_routed_experts",
    .topk = "num_experts_per_tok",
    .width = "moe_intermediate_size",
    .shared_width = "moe_shared_expert_intermediate_size",
};

/* ---- families ---- */

enum {
    HF_QWEN2 = HF_QKV_BIAS | HF_NEED_GROUPS,
    HF_QWEN3 = HF_QK_NORM | HF_BIAS_QKVO | HF_NEED_GROUPS,
    HF_DELTA = HF_QWEN3 | HF_LINEAR | HF_OUTPUT_GATE | HF_NEED_HEAD | HF_MTP,
    HF_DEEPSEEK3 = HF_LATENTS | HF_CORRECTION | HF_NEED_SHARED | HF_MTP,
    HF_BAILING = HF_BIAS_OWN | HF_MTP
};

// bias-free LayerNorms (DBRX) weigh what RMSNorms do; so do norms that stand
// behind attention and MLP in place of before them (OLMo 2)
static const struct hf_family families[] = {
    // one MLP a layer
    {"llama", &dense, HF_BIAS_QKVO},
    {"mistral", &dense, HF_NEED_GROUPS | HF_WINDOWED},
    {"qwen2", &dense, HF_QWEN2},
    {"qwen2_vl", &dense, HF_QWEN2},
    {"qwen2_vl_text", &dense, HF_QWEN2},
    {"qwen2_5_vl", &dense, HF_QWEN2},
    {"qwen2_5_vl_text", &dense, HF_QWEN2},
    {"qwen3", &dense, HF_QWEN3 | HF_NEED_HEAD},
    {"qwen3_vl_text", &dense, HF_QWEN3 | HF_NEED_HEAD},
    {"qwen3_5", &dense, HF_DELTA},
    {"qwen3_5_text", &dense, HF_DELTA},
    {"phi3", &dense, 0},
    {"gemma", &dense, HF_TIED | HF_BIAS_QKVO | HF_NEED_HEAD | HF_NEED_GROUPS},
    {"olmo2", &dense, HF_QK_NORM_WIDE | HF_BIAS_QKVO},
    {"olmo3", &dense, HF_QK_NORM_WIDE | HF_BIAS_QKVO},
    // experts in every layer, or in those that a list names
    {"mixtral", &local, HF_NEED_GROUPS | HF_WINDOWED},
    {"phimoe", &local,
     HF_LAYERNORM | HF_BIAS_QKVO | HF_NEED_GROUPS | HF_WINDOWED},
    {"minimax_m2", &local,
     HF_QK_NORM_WIDE | HF_CORRECTION | HF_NEED_HEAD | HF_NEED_GROUPS | HF_MTP},
    {"gpt_oss", &local, HF_ALL_BIASES | HF_NEED_HEAD | HF_NEED_GROUPS},
    {"granitemoe", &local, HF_BIAS_QKVO | HF_NEED_GROUPS},
    {"granitemoeshared", &granite, HF_BIAS_QKVO | HF_NEED_GROUPS},
    {"olmoe", &plain, HF_QK_NORM_WIDE | HF_BIAS_QKVO},
    {"flex_olmo", &plain, HF_QK_NORM_WIDE | HF_BIAS_QKVO},
    {"qwen2_moe", &qwen_shared, HF_QWEN2 | HF_SHARED_GATE},
    {"qwen3_moe", &qwen, HF_QWEN3},
    {"qwen3_vl_moe_text", &qwen, HF_QWEN3},
    {"qwen3_omni_moe_text", &qwen, HF_QWEN3},
    {"qwen3_next", &qwen_shared, HF_DELTA | HF_SHARED_GATE},
    {"qwen3_5_moe", &qwen_shared, HF_DELTA | HF_SHARED_GATE},
    {"qwen3_5_moe_text", &qwen_shared, HF_DELTA | HF_SHARED_GATE},
    // dense layers first, then experts with shared ones beside them
    {"deepseek", &routed, HF_BIAS_QKVO},
    {"deepseek_v2", &routed, HF_LATENTS},
    {"deepseek_v3", &routed_3, HF_DEEPSEEK3},
    {"deepseek_v32", &routed_3, HF_DEEPSEEK3 | HF_SPARSE},
    {"kimi_k2", &routed_3, HF_DEEPSEEK3},
    {"glm4_moe", &routed_1,
     HF_CORRECTION | HF_QK_NORM_KEY | HF_BIAS_QKV | HF_NEED_HEAD |
         HF_NEED_GROUPS | HF_NEED_SHARED | HF_MTP},
    {"glm4_moe_lite", &routed_1, HF_DEEPSEEK3},
    {"glm_moe_dsa", &routed_3, HF_DEEPSEEK3 | HF_SPARSE},
    {"dots1", &routed, HF_QK_NORM | HF_BIAS_QKVO | HF_CORRECTION},
    {"bailing_moe", &bailing, HF_BAILING | HF_QK_NORM_KEY},
    {"bailing_moe_v2", &bailing, HF_BAILING | HF_QK_NORM | HF_CORRECTION},
    {"exaone_moe", &exaone,
     HF_QK_NORM | HF_CORRECTION | HF_NEED_GROUPS | HF_NEED_SHARED},
    {"afmoe", &trinity,
     HF_QK_NORM | HF_OUTPUT_GATE | HF_POST_NORMS | HF_CORRECTION |
         HF_NEED_HEAD | HF_NEED_SHARED},
    {"ernie4_5_moe", &ernie,
     HF_TIED | HF_CORRECTION | HF_NEED_GROUPS | HF_NEED_SHARED},
    {"hunyuan", &hunyuan, HF_QK_NORM_KEY | HF_BIAS_QKVO},
    {"hunyuan_v1_moe", &hunyuan, HF_QK_NORM | HF_BIAS_QKVO},
    {"llama4", &llama4,
     HF_BIAS_QKVO | HF_SHARED_ONE | HF_NEED_HEAD | HF_NEED_GROUPS},
    {"llama4_text", &llama4,
     HF_BIAS_QKVO | HF_SHARED_ONE | HF_NEED_HEAD | HF_NEED_GROUPS},
    {"dbrx", &dbrx, HF_NEED_GROUPS},
    {"granitemoehybrid", &granite_hybrid,
     HF_HYBRID | HF_PAIRS | HF_BIAS_QKVO | HF_NEED_GROUPS},
    {"nemotron_h", &nemotron,
     HF_HYBRID | HF_CORRECTION | HF_NEED_HEAD | HF_NEED_GROUPS},
};
enum { N_HF_FAMILIES = sizeof families / sizeof families[0] };

#define HF_MAMBA "its Mamba layers (state spaces) are not counted"
#define HF_LIGHTNING                                                           \
    "its layers of linear (lightning) attention are not counted"

static const struct {
    const char *type, *lack;
} lacks[] = {
    {"jamba", HF_MAMBA},
    {"bamba", HF_MAMBA},
    {"zamba2", HF_MAMBA},
    {"falcon_h1", HF_MAMBA},
    {"mimo_v2", "its sliding window layers (hybrid_layer_pattern) have heads, "
                "head sizes (swa_*) and sinks of their own: two shapes of "
                "attention are not counted"},
    {"mimo_v2_flash", "its sliding window layers (hybrid_layer_pattern) have "
                      "heads, head sizes (swa_*) and sinks of their own: two "
                      "shapes of attention are not counted"},
    {"minimax", HF_LIGHTNING},
    {"minimax_text_01", HF_LIGHTNING},
    {"minimax_m1", HF_LIGHTNING},
    {"bailing_moe_linear", HF_LIGHTNING},
    {"bailing_moe_v2_5", HF_LIGHTNING},
    {"bailing_hybrid", HF_LIGHTNING},
    {"kimi_linear", "its layers of Kimi delta attention are not counted"},
    {"jetmoe", "its attention heads are experts, too, and are not counted"},
    {"longcat_flash", "its layers with two attentions and a shortcut beside "
                      "zero-computation experts are not counted"},
    {"lfm2", "its layers of short convolutions are not counted"},
    {"lfm2_moe", "its layers of short convolutions are not counted"},
    {"arctic", "its dense MLP beside the experts of a layer is not counted"},
    {"ernie4_5_vl_moe", "its text and vision experts of two widths in one "
                        "layer are not counted"},
    {"ernie4_5_vl_moe_text", "its text and vision experts of two widths in one "
                             "layer are not counted"},
    {"minimax_m3", "its block-sparse attention with index heads is not "
                   "counted"},
    {"minimax_m3_vl_text", "its block-sparse attention with index heads is not "
                           "counted"},
    {"deepseek_v4", "its compressed attention and hyper-connections are not "
                    "counted"},
    {"mllama_text_model", "its cross-attention layers are not counted"},
    {"gemma3n_text", "its embeddings of each layer are not counted"},
};

/* ---- search ---- */

const struct hf_family *hf_family_find(const char *type)
{
    for (int i = 0; i < N_HF_FAMILIES; i++)
        if (strcmp(families[i].type, type) == 0)
            return &families[i];
    return NULL;
}

const char *hf_family_lack(const char *type)
{
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        if (strcmp(lacks[i].type, type) == 0)
            return lacks[i].lack;
    return NULL;
}

const char *hf_family_names(struct arena *a)
{
    const char *all = "";
    for (int i = 0; i < N_HF_FAMILIES && all; i++)
        all = arena_printf(a, "%s%s%s", all, i ? " " : "", families[i].type);
    return all;
}
