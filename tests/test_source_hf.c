/* Model types of Hugging Face against a count of its own: the shapes of the
 * modules of transformers' modeling files, written down one by one, for small
 * configs (with ' for "). It shares nothing with the table of weights. */
#include "source/hf.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a model is made of. A layer is a letter of its attention and one of its
 * MLP: f full, s sparse without an indexer of its own, g gated delta net; e
 * experts, d dense. */
struct shape {
    const char *layers; // "fdfefe"
    int64_t h, vocab, heads, groups, d;
    int64_t ffn, experts, topk, width, shared;
    int norm, norms;        // weights of a norm by h; norms of a layer
    int64_t q_norm, k_norm; // widths
    bool qkv_bias, o_bias, gate, shared_gate, correction, tied, head_bias;
    int64_t q_lora, kv_lora, nope, rope, v; // latents, kv_lora 0: none
    int64_t index_heads, index_dim;
    int64_t k_heads, v_heads, k_d, v_d, taps;
    int mtp;
    char mtp_attention;
};

static int64_t count_latents(const struct shape *s)
{
    int64_t q = s->heads * (s->nope + s->rope);
    int64_t n =
        s->q_lora ? s->h * s->q_lora + s->q_lora + s->q_lora * q : s->h * q;
    n += s->h * (s->kv_lora + s->rope) + s->kv_lora;
    n += s->kv_lora * s->heads * (s->nope + s->v);
    return n + s->heads * s->v * s->h;
}

static int64_t count_attention(const struct shape *s, char kind)
{
    int64_t q = s->heads * s->d, kv = s->groups * s->d;
    if (kind == 'g') {
        int64_t k = s->k_heads * s->k_d, v = s->v_heads * s->v_d;
        return s->h * (2 * k + 2 * v) + s->h * 2 * s->v_heads +
               (2 * k + v) * s->taps + 2 * s->v_heads + s->v_d + v * s->h;
    }
    if (s->kv_lora) {
        int64_t in = s->index_heads * s->index_dim;
        int64_t indexer = s->q_lora * in + s->h * s->index_dim +
                          2 * s->index_dim + s->h * s->index_heads;
        return count_latents(s) + (s->index_heads && kind == 'f' ? indexer : 0);
    }
    int64_t rows = q * (s->gate ? 2 : 1) + 2 * kv;
    int64_t n = s->h * rows + q * s->h + s->q_norm + s->k_norm;
    return n + (s->qkv_bias ? rows : 0) + (s->o_bias ? s->h : 0);
}

/* With `used` of the experts counted. */
static int64_t count_layer(const struct shape *s, char attention, char mlp,
                           int64_t used)
{
    int64_t n = s->norms * s->norm * s->h + count_attention(s, attention);
    if (mlp == 'd')
        return n + 3 * s->h * s->ffn;
    n += s->experts * s->h + (s->correction ? s->experts : 0);
    n += 3 * s->h * s->shared + (s->shared_gate ? s->h : 0);
    return n + used * 3 * s->h * s->width;
}

static int64_t count_all(const struct shape *s, int64_t used)
{
    int64_t n = s->vocab * s->h * (s->tied ? 1 : 2) + s->norm * s->h;
    n += s->head_bias ? s->vocab : 0;
    for (const char *p = s->layers; *p; p += 2)
        n += count_layer(s, p[0], p[1], used);
    return n;
}

static int64_t count_mtp(const struct shape *s)
{
    char mlp = s->layers[strlen(s->layers) - 1];
    return s->mtp * (3 * s->norm * s->h + 2 * s->h * s->h +
                     count_layer(s, s->mtp_attention, mlp, s->experts));
}

#define SIZES "'hidden_size': 64, 'num_attention_heads': 4, 'vocab_size': 100, "
#define GROUPS SIZES "'num_key_value_heads': 2, "
#define COMMON .h = 64, .vocab = 100, .heads = 4, .norm = 1, .norms = 2
#define GQA COMMON, .groups = 2, .d = 16
#define EXPERTS .experts = 8, .topk = 2, .width = 24
#define PLAIN                                                                  \
    "'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': "    \
    "24, "
#define ROUTED                                                                 \
    "'n_routed_experts': 8, 'num_experts_per_tok': 2, "                        \
    "'moe_intermediate_size': 24, 'intermediate_size': 96, "
#define LATENTS                                                                \
    "'q_lora_rank': 24, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, "           \
    "'qk_rope_head_dim': 4, 'v_head_dim': 6, "
#define LATENT_SHAPE .q_lora = 24, .kv_lora = 16, .nope = 8, .rope = 4, .v = 6
#define DELTA                                                                  \
    "'linear_num_key_heads': 2, 'linear_num_value_heads': 4, "                 \
    "'linear_key_head_dim': 8, 'linear_value_head_dim': 12, "                  \
    "'linear_conv_kernel_dim': 4, "
#define DELTA_SHAPE                                                            \
    .k_heads = 2, .v_heads = 4, .k_d = 8, .v_d = 12, .taps = 4, .gate = true

static const struct {
    const char *config;
    struct shape s;
} types[] = {
    {"{'model_type': 'llama', " GROUPS "'num_hidden_layers': 2, "
     "'intermediate_size': 96, 'attention_bias': true}",
     {GQA, .layers = "fdfd", .ffn = 96, .qkv_bias = true, .o_bias = true}},
    {"{'model_type': 'gemma', " GROUPS "'num_hidden_layers': 1, "
     "'head_dim': 24, 'intermediate_size': 96}",
     {COMMON, .groups = 2, .d = 24, .layers = "fd", .ffn = 96, .tied = true}},
    {"{'model_type': 'olmo2', " SIZES "'num_hidden_layers': 1, "
     "'intermediate_size': 96}",
     {COMMON, .groups = 4, .d = 16, .layers = "fd", .ffn = 96, .q_norm = 64,
      .k_norm = 64}},
    // DBRX: other names; no key for the tied output layer
    {"{'model_type': 'dbrx', 'd_model': 64, 'n_heads': 4, 'n_layers': 2, "
     "'vocab_size': 100, 'attn_config': {'kv_n_heads': 2}, 'ffn_config': "
     "{'ffn_hidden_size': 24, 'moe_num_experts': 8, 'moe_top_k': 2}}",
     {GQA, EXPERTS, .layers = "fefe"}},
    // Llama 4: every second layer, with a shared expert; norms without weights
    {"{'model_type': 'llama4', 'text_config': {'model_type': "
     "'llama4_text', " GROUPS
     "'head_dim': 24, 'num_hidden_layers': 4, 'intermediate_size': 24, "
     "'intermediate_size_mlp': 96, 'num_local_experts': 8, 'use_qk_norm': "
     "true, 'num_experts_per_tok': 2, 'interleave_moe_layer_step': 2}}",
     {COMMON, EXPERTS, .groups = 2, .d = 24, .layers = "fdfefdfe", .ffn = 96,
      .shared = 24}},
    {"{'model_type': 'llama4_text', " GROUPS "'head_dim': 16, "
     "'num_hidden_layers': 3, 'intermediate_size': 24, "
     "'intermediate_size_mlp': 96, 'num_local_experts': 8, "
     "'num_experts_per_tok': 2, 'moe_layers': [0, 2]}",
     {GQA, EXPERTS, .layers = "fefdfe", .ffn = 96, .shared = 24}},
    {"{'model_type': 'deepseek', " GROUPS ROUTED "'num_hidden_layers': 3, "
     "'n_shared_experts': 2, 'first_k_dense_replace': 1}",
     {GQA, EXPERTS, .layers = "fdfefe", .ffn = 96, .shared = 48}},
    // every second layer behind the first two
    {"{'model_type': 'deepseek', " GROUPS ROUTED "'num_hidden_layers': 6, "
     "'first_k_dense_replace': 2, 'moe_layer_freq': 2}",
     {GQA, EXPERTS, .layers = "fdfdfefdfefd", .ffn = 96}},
    {"{'model_type': 'deepseek', " GROUPS ROUTED "'num_hidden_layers': 3, "
     "'moe_layer_freq': [0, 1, 0]}",
     {GQA, EXPERTS, .layers = "fdfefd", .ffn = 96}},
    // latents switched off, beside a vision model
    {"{'model_type': 'deepseek_vl_v2', 'vision_config': {'layers': 9}, "
     "'language_config': {'model_type': 'deepseek_v2', " SIZES ROUTED
     "'num_hidden_layers': 2, 'first_k_dense_replace': 1, 'use_mla': false, "
     "'kv_lora_rank': null, 'v_head_dim': 0, 'topk_method': 'noaux_tc'}}",
     {COMMON, EXPERTS, .groups = 4, .d = 16, .layers = "fdfe", .ffn = 96,
      .correction = true}},
    {"{'model_type': 'deepseek_v3', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 5, 'n_shared_experts': 1, "
     "'num_nextn_predict_layers': 2}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdfdfdfefe", .ffn = 96,
      .shared = 24, .correction = true, .mtp = 2, .mtp_attention = 'f'}},
    {"{'model_type': 'kimi_k25', 'tie_word_embeddings': true, 'text_config': "
     "{'model_type': 'kimi_k2', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 2, 'n_shared_experts': 1, "
     "'first_k_dense_replace': 1}}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdfe", .ffn = 96, .shared = 24,
      .correction = true, .tied = true}},
    // sparse attention: all indexers, by number and offset, by list, by letters
    {"{'model_type': 'deepseek_v32', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 2, 'n_shared_experts': 1, 'index_n_heads': 2, "
     "'first_k_dense_replace': 1, 'index_head_dim': 8, 'index_topk': 4}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdfe", .ffn = 96, .shared = 24,
      .correction = true, .index_heads = 2, .index_dim = 8}},
    {"{'model_type': 'glm_moe_dsa', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 6, 'n_shared_experts': 1, 'index_n_heads': 2, "
     "'first_k_dense_replace': 1, 'index_head_dim': 8, 'index_topk': 4, "
     "'index_topk_freq': 3, 'index_skip_topk_offset': 2, "
     "'num_nextn_predict_layers': 1}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdfesesefese", .ffn = 96,
      .shared = 24, .correction = true, .index_heads = 2, .index_dim = 8,
      .mtp = 1, .mtp_attention = 'f'}},
    {"{'model_type': 'glm_moe_dsa', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 3, 'n_shared_experts': 1, 'index_n_heads': 2, "
     "'index_head_dim': 8, 'index_topk': 4, 'mlp_layer_types': ['dense', "
     "'sparse', 'sparse'], 'indexer_types': ['full', 'shared', 'full']}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdsefe", .ffn = 96,
      .shared = 24, .correction = true, .index_heads = 2, .index_dim = 8}},
    {"{'model_type': 'glm_moe_dsa', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 3, 'n_shared_experts': 1, 'index_n_heads': 2, "
     "'first_k_dense_replace': 0, 'index_head_dim': 8, 'index_topk': 4, "
     "'index_topk_pattern': 'FSS'}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fesese", .ffn = 96,
      .shared = 24, .correction = true, .index_heads = 2, .index_dim = 8}},
    {"{'model_type': 'glm4_moe_lite', " SIZES ROUTED LATENTS
     "'num_hidden_layers': 2, 'n_shared_experts': 1}",
     {COMMON, EXPERTS, LATENT_SHAPE, .layers = "fdfe", .ffn = 96, .shared = 24,
      .correction = true}},
    {"{'model_type': 'minimax_m2', " GROUPS "'head_dim': 24, "
     "'num_hidden_layers': 2, 'intermediate_size': 24, 'num_local_experts': 8, "
     "'num_experts_per_tok': 2, 'use_mtp': true, 'num_mtp_modules': 3, "
     "'mtp_transformer_layers': 1}",
     {COMMON, EXPERTS, .groups = 2, .d = 24, .layers = "fefe", .q_norm = 96,
      .k_norm = 48, .correction = true, .mtp = 3, .mtp_attention = 'f'}},
    {"{'model_type': 'minimax_m2', " GROUPS "'head_dim': 16, "
     "'num_hidden_layers': 1, 'intermediate_size': 24, 'num_local_experts': 8, "
     "'num_experts_per_tok': 2, 'use_mtp': false, 'num_mtp_modules': 3, "
     "'use_routing_bias': false}",
     {GQA, EXPERTS, .layers = "fe", .q_norm = 64, .k_norm = 32}},
    // ERNIE: own names; tied where no key says no; -1 is the last layer
    {"{'model_type': 'ernie4_5_moe', " GROUPS "'num_hidden_layers': 5, "
     "'intermediate_size': 96, 'moe_num_experts': 8, 'moe_k': 2, "
     "'moe_intermediate_size': 24, 'moe_num_shared_experts': 2, "
     "'moe_layer_start_index': 1, 'moe_layer_end_index': -1, "
     "'moe_layer_interval': 2}",
     {GQA, EXPERTS, .layers = "fdfefdfefd", .ffn = 96, .shared = 48,
      .correction = true, .tied = true}},
    {"{'model_type': 'ernie4_5_moe', " GROUPS "'num_hidden_layers': 5, "
     "'intermediate_size': 96, 'moe_num_experts': 8, 'moe_k': 2, "
     "'moe_intermediate_size': 24, 'moe_num_shared_experts': 0, "
     "'moe_layer_start_index': 2, 'moe_layer_end_index': 3, "
     "'tie_word_embeddings': false}",
     {GQA, EXPERTS, .layers = "fdfdfefefd", .ffn = 96, .correction = true}},
    {"{'model_type': 'dots1', " GROUPS ROUTED "'num_hidden_layers': 2, "
     "'n_shared_experts': 1, 'first_k_dense_replace': 1}",
     {GQA, EXPERTS, .layers = "fdfe", .ffn = 96, .shared = 24, .q_norm = 16,
      .k_norm = 16, .correction = true}},
    // Ling: a bias on q, k and v, another on the output; no norms, no bias
    {"{'model_type': 'bailing_moe', " GROUPS PLAIN "'num_hidden_layers': 2, "
     "'intermediate_size': 96, 'num_shared_experts': 2, 'use_qkv_bias': true, "
     "'use_bias': true}",
     {GQA, EXPERTS, .layers = "fefe", .ffn = 96, .shared = 48, .qkv_bias = true,
      .o_bias = true}},
    {"{'model_type': 'bailing_moe', 'architectures': "
     "['BailingMoeV2ForCausalLM'], " GROUPS PLAIN "'num_hidden_layers': 2, "
     "'intermediate_size': 96, 'num_shared_experts': 1, "
     "'first_k_dense_replace': 1, 'num_nextn_predict_layers': 1}",
     {GQA, EXPERTS, .layers = "fdfe", .ffn = 96, .shared = 24, .q_norm = 16,
      .k_norm = 16, .correction = true, .mtp = 1, .mtp_attention = 'f'}},
    // norms and the output layer with biases
    {"{'model_type': 'phimoe', " GROUPS "'num_hidden_layers': 2, "
     "'intermediate_size': 24, 'num_local_experts': 8, 'attention_bias': true, "
     "'num_experts_per_tok': 2, 'lm_head_bias': true}",
     {EXPERTS, .h = 64, .vocab = 100, .heads = 4, .groups = 2, .d = 16,
      .norm = 2, .norms = 2, .layers = "fefe", .qkv_bias = true, .o_bias = true,
      .head_bias = true}},
    // lists a layer, an odd head; one of the shared experts is asked for
    {"{'model_type': 'hunyuan', " GROUPS "'attention_head_dim': 24, "
     "'num_hidden_layers': 3, 'intermediate_size': 24, 'num_experts': 8, "
     "'moe_intermediate_size': [24, 24, 24], 'moe_topk': [2, 2, 2], "
     "'num_shared_expert': [2, 2, 2], 'use_mixed_mlp_moe': true, "
     "'use_qk_norm': true, 'moe_layer_num_skipped': 1}",
     {COMMON, EXPERTS, .groups = 2, .d = 24, .layers = "fdfefe", .ffn = 24,
      .shared = 48, .q_norm = 24, .k_norm = 24}},
    {"{'model_type': 'hunyuan_v1_moe', " GROUPS "'head_dim': 16, "
     "'num_hidden_layers': 1, 'intermediate_size': 24, 'num_experts': 8, "
     "'moe_topk': 2, 'tie_word_embeddings': true}",
     {GQA, EXPERTS, .layers = "fe", .shared = 24, .q_norm = 16, .k_norm = 16,
      .tied = true}},
    // linear attention by number and by list; dense layers by step and list
    {"{'model_type': 'qwen3_next', " GROUPS PLAIN DELTA "'head_dim': 24, "
     "'num_hidden_layers': 4, 'intermediate_size': 96, "
     "'shared_expert_intermediate_size': 40, 'mlp_only_layers': [1], "
     "'mtp_num_hidden_layers': 1}",
     {COMMON, EXPERTS, DELTA_SHAPE, .groups = 2, .d = 24, .layers = "gegdgefe",
      .ffn = 96, .shared = 40, .shared_gate = true, .q_norm = 24, .k_norm = 24,
      .mtp = 1, .mtp_attention = 'f'}},
    {"{'model_type': 'qwen3_5_moe', 'text_config': {'model_type': "
     "'qwen3_5_moe_text', " GROUPS PLAIN DELTA "'head_dim': 16, "
     "'num_hidden_layers': 3, 'shared_expert_intermediate_size': 24, "
     "'attention_bias': true, 'layer_types': ['full_attention', "
     "'linear_attention', 'full_attention']}}",
     {GQA, EXPERTS, DELTA_SHAPE, .layers = "fegefe", .shared = 24,
      .shared_gate = true, .q_norm = 16, .k_norm = 16, .qkv_bias = true,
      .o_bias = true}},
    {"{'model_type': 'qwen3_vl_moe', 'text_config': {'model_type': "
     "'qwen3_vl_moe_text', " GROUPS PLAIN "'num_hidden_layers': 4, "
     "'intermediate_size': 96, 'decoder_sparse_step': 2}}",
     {GQA, EXPERTS, .layers = "fdfefdfe", .ffn = 96, .q_norm = 16,
      .k_norm = 16}},
    {"{'model_type': 'qwen3_omni_moe', 'thinker_config': {'audio_config': {}, "
     "'text_config': {'model_type': 'qwen3_omni_moe_text', " GROUPS PLAIN
     "'num_hidden_layers': 1}}, 'talker_config': {'num_hidden_layers': 9}}",
     {GQA, EXPERTS, .layers = "fe", .q_norm = 16, .k_norm = 16}},
    {"{'model_type': 'granitemoeshared', " GROUPS "'num_hidden_layers': 1, "
     "'intermediate_size': 24, 'num_local_experts': 8, "
     "'num_experts_per_tok': 2, 'shared_intermediate_size': 40, "
     "'tie_word_embeddings': true}",
     {GQA, EXPERTS, .layers = "fe", .shared = 40, .tied = true}},
    {"{'model_type': 'exaone_moe', " GROUPS PLAIN "'num_hidden_layers': 2, "
     "'intermediate_size': 96, 'num_shared_experts': 1}",
     {GQA, EXPERTS, .layers = "fdfe", .ffn = 96, .shared = 24, .q_norm = 16,
      .k_norm = 16, .correction = true}},
    {"{'model_type': 'afmoe', " GROUPS PLAIN "'head_dim': 16, "
     "'num_hidden_layers': 3, 'intermediate_size': 96, "
     "'num_shared_experts': 1, 'num_dense_layers': 2}",
     {EXPERTS, .h = 64, .vocab = 100, .heads = 4, .groups = 2, .d = 16,
      .norm = 1, .norms = 4, .layers = "fdfdfe", .ffn = 96, .shared = 24,
      .q_norm = 16, .k_norm = 16, .gate = true, .correction = true}},
    {"{'model_type': 'flex_olmo', " SIZES "'num_hidden_layers': 1, "
     "'intermediate_size': 24, 'num_experts': 8, 'num_experts_per_tok': 2}",
     {COMMON, EXPERTS, .groups = 4, .d = 16, .layers = "fe", .q_norm = 64,
      .k_norm = 64}},
    // a type with experts that has none
    {"{'model_type': 'qwen3_moe', " GROUPS "'num_hidden_layers': 1, "
     "'intermediate_size': 96, 'num_experts': 0}",
     {GQA, .layers = "fd", .ffn = 96, .q_norm = 16, .k_norm = 16}},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* ---- reading ---- */

struct told {
    char lines[8][400];
    int n;
};

static void keep_line(void *data, const char *line)
{
    struct told *t = data;
    if (t->n < 8)
        snprintf(t->lines[t->n++], sizeof t->lines[0], "%s", line);
}

/* A config with ' for " as a model. */
static enum err read_config(struct arena *a, const char *text, struct model *m,
                            struct told *told, struct err_msg *msg)
{
    arena_init(a);
    char *copy = arena_strdup(a, text);
    for (char *p = copy; (p = strchr(p, '\''));)
        *p = '"';
    cJSON *tree = NULL;
    struct megatron_args *args = megatron_args_new(a);
    megatron_args_on_warning(args, keep_line, told);
    enum err e = json_parse(copy, "c.json", &tree, msg);
    if (e == ERR_OK)
        e = source_hf_read(a, tree, "c.json", args, msg);
    cJSON_Delete(tree);
    return e == ERR_OK ? megatron_args_model(a, args, m, msg) : e;
}

Test(megatron_hf, types_count_what_their_modules_have)
{
    for (int i = 0; i < N_TYPES; i++) {
        const struct shape *s = &types[i].s;
        struct arena a;
        struct model m;
        struct told told = {.n = 0};
        struct err_msg msg = {""};
        cr_expect_eq(read_config(&a, types[i].config, &m, &told, &msg), ERR_OK,
                     "%s: %s", types[i].config, msg.text);
        if (*msg.text)
            continue;
        cr_expect_eq(model_total_params(&m), count_all(s, s->experts),
                     "%s: %lld, want %lld", types[i].config,
                     (long long)model_total_params(&m),
                     (long long)count_all(s, s->experts));
        cr_expect_eq(model_active_params(&m), count_all(s, s->topk),
                     "%s: %lld active", types[i].config,
                     (long long)model_active_params(&m));
        cr_expect_eq(model_mtp_params(&m), count_mtp(s), "%s: MTP %lld",
                     types[i].config, (long long)model_mtp_params(&m));
        arena_clear(&a);
    }
}

/* ---- what is told ---- */

/* config, and a word of one of the lines; NULL: there is none */
static const struct {
    const char *config, *word;
} warned[] = {
    {"{'model_type': 'llava', 'text_config': {'model_type': 'llama', " SIZES
     "'num_hidden_layers': 1, 'intermediate_size': 96}, 'vision_config': {}}",
     "vision_config: not counted"},
    {"{'model_type': 'x', 'thinker_config': {'audio_config': {}, "
     "'text_config': {'model_type': 'llama', " SIZES
     "'num_hidden_layers': 1, 'intermediate_size': 96}}}",
     "audio_config: not counted"},
    {"{'model_type': 'dots1', " GROUPS ROUTED "'num_hidden_layers': 2}",
     "correction bias"},
    {"{'model_type': 'llama4_text', " GROUPS "'head_dim': 16, "
     "'num_hidden_layers': 1, 'intermediate_size': 24, "
     "'num_local_experts': 8, 'num_experts_per_tok': 2, "
     "'attention_chunk_size': 8192}",
     "8192 tokens"},
    {"{'model_type': 'exaone_moe', " GROUPS PLAIN "'num_hidden_layers': 2, "
     "'intermediate_size': 96, 'num_shared_experts': 1, "
     "'num_nextn_predict_layers': 1}",
     "num_nextn_predict_layers: the MTP layers of exaone_moe"},
    {"{'model_type': 'llama', " SIZES
     "'num_hidden_layers': 1, 'intermediate_size': 96, "
     "'quantization_config': {}}",
     NULL},
};

Test(megatron_hf, what_is_not_in_the_numbers_is_told)
{
    for (size_t i = 0; i < sizeof warned / sizeof warned[0]; i++) {
        struct arena a;
        struct model m;
        struct told told = {.n = 0};
        struct err_msg msg = {""};
        bool found = false;
        cr_expect_eq(read_config(&a, warned[i].config, &m, &told, &msg), ERR_OK,
                     "%s", msg.text);
        for (int k = 0; k < told.n && warned[i].word; k++)
            found = found || strstr(told.lines[k], warned[i].word);
        if (warned[i].word)
            cr_expect(found, "no line has '%s'", warned[i].word);
        else
            cr_expect_eq(told.n, 0, "%s", told.lines[0]);
        arena_clear(&a);
    }
}

/* Windows and chunks decide operations only. */
Test(megatron_hf, layer_types_tell_the_windows)
{
    struct arena a;
    struct model m;
    struct told told = {.n = 0};
    struct err_msg msg = {""};
    cr_assert_eq(read_config(&a,
                             "{'model_type': 'olmo3', " SIZES
                             "'num_hidden_layers': 3, 'intermediate_size': 96, "
                             "'sliding_window': 32, 'layer_types': "
                             "['sliding_attention', 'full_attention', "
                             "'sliding_attention']}",
                             &m, &told, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(m.window, 32);
    cr_assert(m.layer_window[0] && !m.layer_window[1] && m.layer_window[2]);
    arena_clear(&a);
    // a window that is switched off
    cr_assert_eq(read_config(&a,
                             "{'model_type': 'qwen2', " GROUPS
                             "'num_hidden_layers': 1, 'intermediate_size': 96, "
                             "'sliding_window': 32, "
                             "'use_sliding_window': false}",
                             &m, &told, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(m.window, 0);
    arena_clear(&a);
}

/* Depths of MTP repeat one layer, unless the config says otherwise. */
Test(megatron_hf, mtp_depths_of_hybrids_are_one_layer)
{
#define HYBRID                                                                 \
    "{'model_type': 'nemotron_h', 'hidden_size': 64, 'vocab_size': 100, "      \
    "'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 16, "     \
    "'intermediate_size': 96, 'hybrid_override_pattern': '*-', "               \
    "'mtp_hybrid_override_pattern': '*-', 'num_nextn_predict_layers': 2"
    static const char *const configs[] = {HYBRID "}", HYBRID
                                          ", 'mtp_use_repeated_layer': false}"};
    for (int i = 0; i < 2; i++) {
        struct arena a;
        struct model m;
        struct told told = {.n = 0};
        struct err_msg msg = {""};
        cr_assert_eq(read_config(&a, configs[i], &m, &told, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect(m.n_mtp == 2 && m.mtp_repeated == (i == 0), "%d", i);
        arena_clear(&a);
    }
}
