/* What a config of Hugging Face cannot be read for: one line with the key's
 * whole path, and never a number. Configs have ' for ". */
#include "source/hf.h"

#include <criterion/criterion.h>
#include <string.h>

#define SIZES                                                                  \
    "'hidden_size': 64, 'num_attention_heads': 4, 'vocab_size': 100, "         \
    "'num_key_value_heads': 2, 'num_hidden_layers': 2, "
#define DENSE "{'model_type': 'llama', " SIZES "'intermediate_size': 96"
#define MOE                                                                    \
    "{'model_type': 'qwen3_moe', " SIZES "'num_experts': 8, "                  \
    "'num_experts_per_tok': 2, 'moe_intermediate_size': 24"
#define ROUTED                                                                 \
    "{'model_type': 'dots1', " SIZES "'n_routed_experts': 8, "                 \
    "'num_experts_per_tok': 2, 'moe_intermediate_size': 24, "                  \
    "'intermediate_size': 96"
#define HUNYUAN                                                                \
    "{'model_type': 'hunyuan', " SIZES "'intermediate_size': 24, "             \
    "'num_experts': 8"
#define NEXT                                                                   \
    "{'model_type': 'qwen3_next', " SIZES "'num_experts': 8, "                 \
    "'num_experts_per_tok': 2, 'moe_intermediate_size': 24, "                  \
    "'shared_expert_intermediate_size': 24, 'head_dim': 16, "                  \
    "'linear_num_value_heads': 4, 'linear_key_head_dim': 8, "                  \
    "'linear_value_head_dim': 8"
#define NEXT_HEADS                                                             \
    NEXT ", 'linear_num_key_heads': 2, 'linear_conv_kernel_dim': 4"
#define DSA                                                                    \
    "{'model_type': 'glm_moe_dsa', " SIZES "'n_routed_experts': 8, "           \
    "'num_experts_per_tok': 2, 'moe_intermediate_size': 24, "                  \
    "'intermediate_size': 96, 'n_shared_experts': 1, 'kv_lora_rank': 16, "     \
    "'q_lora_rank': 24, 'index_head_dim': 8, 'index_topk': 4"
#define NEMOTRON                                                               \
    "{'model_type': 'nemotron_h', 'hidden_size': 64, 'vocab_size': 100, "      \
    "'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 16, "     \
    "'intermediate_size': 96"
#define MAMBA                                                                  \
    NEMOTRON ", 'hybrid_override_pattern': 'M-', 'mamba_num_heads': 8, "       \
             "'mamba_head_dim': 16, 'ssm_state_size': 16, 'n_groups': 2"
#define GRANITE                                                                \
    "{'model_type': 'granitemoehybrid', 'hidden_size': 64, "                   \
    "'vocab_size': 100, 'num_attention_heads': 4, "                            \
    "'num_key_value_heads': 2, 'shared_intermediate_size': 96"
#define NESTED(inner) "{'model_type': 'kimi_k25', 'text_config': " inner "}"

/* config, and words that the line must hold, parted by | */
static const struct {
    const char *config, *words;
} refused[] = {
    // types that are known not to be counted
    {"{'model_type': 'jamba'}", "model_type: jamba|Mamba"},
    {"{'model_type': 'x', 'llm_config': {'model_type': 'jamba'}}",
     "llm_config.model_type: jamba"},
    // patterns of hybrid models
    {NEMOTRON "}", "hybrid_override_pattern: missing|layers_block_type"},
    {NEMOTRON ", 'hybrid_override_pattern': 'M*G-'}", "'G' as letter 3"},
    {NEMOTRON ", 'layers_block_type': ['mamba', 'conv']}",
     "layers_block_type[1]: 'conv'|mamba"},
    {NEMOTRON ", 'hybrid_override_pattern': 'M*', 'num_hidden_layers': 3}",
     "num_hidden_layers: got 3|2 layers"},
    {NEMOTRON ", 'hybrid_override_pattern': '*E'}",
     "n_routed_experts: missing"},
    {NEMOTRON ", 'hybrid_override_pattern': 'M-'}", "mamba_num_heads: missing"},
    {NEMOTRON ", 'hybrid_override_pattern': '*-', 'mlp_hidden_act': 'silu'}",
     "mlp_hidden_act: got 'silu'"},
    {MAMBA ", 'use_conv_bias': false}", "use_conv_bias: false"},
    {MAMBA ", 'conv_kernel': 3}", "conv_kernel: want 4"},
    {MAMBA ", 'mamba_proj_bias': true}", "mamba_proj_bias"},
    {GRANITE "}", "layer_types: missing"},
    {GRANITE ", 'layer_types': ['attention', 'moe']}", "mamba and attention"},
    {GRANITE ", 'layer_types': ['attention'], 'num_hidden_layers': 2}",
     "num_hidden_layers: got 2|1 layers"},
    {GRANITE ", 'layer_types': ['mamba']}", "mamba_n_heads: missing"},
    {GRANITE ", 'layer_types': ['attention'], 'hidden_act': 'gelu'}",
     "hidden_act: got 'gelu'"},
    {GRANITE ", 'layer_types': ['attention'], 'num_local_experts': 4, "
             "'num_experts_per_tok': 2}",
     "intermediate_size: missing"},
    {MAMBA ", 'num_nextn_predict_layers': 99}", "num_nextn_predict_layers"},
    {"{'model_type': 'mimo_v2'}", "mimo_v2|sliding window|swa_"},
    {"{'model_type': 'mimo_v2_flash'}", "mimo_v2_flash|sinks"},
    {"{'model_type': 'minimax_m1'}", "minimax_m1|lightning"},
    {"{'model_type': 'longcat_flash'}", "longcat_flash|two attentions"},
    {"{'model_type': 'bailing_moe', 'architectures': "
     "['BailingMoeV2_5ForCausalLM']}",
     "bailing_moe_v2_5|linear"},
    {"{'model_type': 'ernie4_5_vl_moe'}", "ernie4_5_vl_moe|two widths"},
    {"{'model_type': 'no_such'}", "got 'no_such'|want one of|glm_moe_dsa"},
    {NESTED("{'model_type': 'no_such'}"), "got 'no_such'"},
    {NESTED("3"), "text_config: got a number, want an object"},
    // keys that are missing, of another type, or out of range
    {NESTED("{'model_type': 'llama'}"), "text_config.hidden_size: missing"},
    {DENSE ", 'num_key_value_heads': '2'}", "occurs twice"},
    {"{'model_type': 'llama', 'hidden_size': null}", "hidden_size: missing"},
    {"{'model_type': 'llama', 'hidden_size': 0, 'vocab_size': 1, "
     "'num_hidden_layers': 1, 'num_attention_heads': 1}",
     "c.json: hidden_size: got 0, want 1 to"},
    {"{'model_type': 'llama', 'hidden_size': 64.5}", "hidden_size"},
    {"{'model_type': 'llama', 'hidden_size': [64, 64]}",
     "hidden_size: got a list"},
    {"{'model_type': 'llama', 'hidden_size': 1e14}", "hidden_size: got 1000"},
    {"{'model_type': 'mixtral', 'hidden_size': 64, 'num_attention_heads': 4, "
     "'vocab_size': 100, 'num_hidden_layers': 2}",
     "num_key_value_heads: missing"},
    {"{'model_type': 'qwen3', " SIZES "'intermediate_size': 96}",
     "head_dim: missing"},
    {DENSE ", 'tie_word_embeddings': 'yes'}",
     "tie_word_embeddings: got a string"},
    {"{'model_type': 'x', 'tie_word_embeddings': true, 'text_config': " DENSE
     ", 'tie_word_embeddings': false}}",
     "text_config.tie_word_embeddings: got false"},
    {MOE ", 'mlp_only_layers': [1]}", "c.json: intermediate_size: missing"},
    {MOE ", 'decoder_sparse_step': 0}", "decoder_sparse_step"},
    {MOE ", 'intermediate_size': 96, 'mlp_only_layers': [2]}",
     "mlp_only_layers[0]"},
    {MOE ", 'intermediate_size': 96, 'mlp_only_layers': 1}",
     "mlp_only_layers: got a number"},
    {"{'model_type': 'dbrx', 'd_model': 64, 'n_heads': 4, 'n_layers': 1, "
     "'vocab_size': 100, 'attn_config': {'kv_n_heads': 2}}",
     "ffn_config.moe_num_experts: missing"},
    {"{'model_type': 'dbrx', 'd_model': 64, 'n_heads': 4, 'n_layers': 1, "
     "'vocab_size': 100, 'attn_config': {'kv_n_heads': 2}, 'ffn_config': "
     "{'ffn_hidden_size': 24, 'moe_num_experts': 'many'}}",
     "ffn_config.moe_num_experts: got a string"},
    {ROUTED ", 'n_shared_experts': 5000}", "n_shared_experts: got 5000"},
    {ROUTED ", 'n_shared_experts': -1}", "n_shared_experts"},
    {ROUTED ", 'moe_layer_freq': [0, 2]}", "moe_layer_freq[1]"},
    {ROUTED ", 'moe_layer_freq': [1]}", "moe_layer_freq: has 1 values"},
    {ROUTED ", 'mlp_layer_types': ['dense']}", "mlp_layer_types: has 1"},
    // lists that differ, with the layer
    {HUNYUAN ", 'moe_topk': [2, 1]}", "moe_topk[1]: got 1, and 2 in layer 0"},
    {HUNYUAN ", 'moe_topk': [2]}", "moe_topk: has 1 values"},
    {HUNYUAN ", 'moe_topk': [2, 'x']}", "moe_topk[1]: want an integer"},
    {HUNYUAN ", 'moe_topk': []}", "moe_topk: has 0 values"},
    {HUNYUAN ", 'moe_topk': 2, 'moe_intermediate_size': 32, "
             "'use_mixed_mlp_moe': true}",
     "moe_intermediate_size: got 32"},
    {HUNYUAN ", 'moe_topk': 2, 'use_cla': true}", "use_cla"},
    {HUNYUAN ", 'moe_topk': 2, 'use_mla': true}", "use_mla"},
    // what other weights stand behind
    {DENSE ", 'mlp_bias': true}", "mlp_bias"},
    {DENSE ", 'layer_types': ['full_attention', 'mamba']}",
     "layer_types[1]: 'mamba' is not counted"},
    {DENSE ", 'layer_types': ['full_attention', 'linear_attention']}",
     "layer_types[1]: 'linear_attention'"},
    {DENSE ", 'layer_types': ['full_attention']}", "layer_types: has 1"},
    {"{'model_type': 'mixtral', " SIZES "'attention_bias': true}",
     "attention_bias: true for mixtral"},
    {"{'model_type': 'ernie4_5_moe', " SIZES "'use_bias': true}", "use_bias"},
    {"{'model_type': 'minimax_m2', " SIZES "'head_dim': 16, "
     "'qk_norm_type': 'per_head'}",
     "qk_norm_type: got 'per_head'"},
    {"{'model_type': 'bailing_moe', " SIZES "'num_experts': 8, "
     "'num_experts_per_tok': 2, 'moe_intermediate_size': 24, "
     "'moe_shared_expert_intermediate_size': 30}",
     "moe_shared_expert_intermediate_size: got 30"},
    // linear and sparse attention
    {NEXT "}", "linear_num_key_heads: missing"},
    {NEXT_HEADS ", 'full_attention_interval': 0}", "full_attention_interval"},
    {NEXT_HEADS ", 'mtp_num_hidden_layers': 1}", "layer_types: linear"},
    {NEXT_HEADS ", 'full_attention_interval': 2, 'mtp_num_hidden_layers': 1, "
                "'num_nextn_predict_layers': 2}",
     "mtp_num_hidden_layers: got 1, and num_nextn_predict_layers is 2"},
    {NEXT_HEADS ", 'full_attention_interval': 2, 'mtp_num_hidden_layers': 1, "
                "'mtp_use_dedicated_embeddings': true}",
     "mtp_use_dedicated_embeddings"},
    {DSA "}", "index_n_heads: missing"},
    {DSA ", 'index_n_heads': 2, 'index_topk_pattern': 'FX'}",
     "index_topk_pattern: got 'FX'"},
    {DSA ", 'index_n_heads': 2, 'indexer_types': [1, 2]}", "indexer_types[0]"},
    {DSA ", 'index_n_heads': 2, 'attention_bias': true}", "attention_bias"},
    {DSA ", 'index_n_heads': 2, 'index_topk_freq': 2, "
         "'index_skip_topk_offset': 1, 'num_nextn_predict_layers': 2}",
     "--mtp-num-layers"},
};

static enum err read_config(const char *text, struct err_msg *msg)
{
    struct arena a;
    struct model m;
    arena_init(&a);
    char *copy = arena_strdup(&a, text);
    for (char *p = copy; (p = strchr(p, '\''));)
        *p = '"';
    cJSON *tree = NULL;
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = json_parse(copy, "c.json", &tree, msg);
    if (e == ERR_OK)
        e = source_hf_read(&a, tree, "c.json", args, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, msg);
    arena_clear(&a);
    return e;
}

Test(megatron_hf, what_cannot_be_counted_is_named_with_its_path)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct err_msg msg = {""};
        enum err e = read_config(refused[i].config, &msg);
        cr_expect_eq(err_exit_code(e), 2, "%s: %s", refused[i].config,
                     msg.text);
        cr_expect_null(strchr(msg.text, '\n'));
        char words[200], *rest = words;
        snprintf(words, sizeof words, "%s", refused[i].words);
        for (char *w; (w = strtok_r(rest, "|", &rest));)
            cr_expect(strstr(msg.text, w), "%s:\n'%s' lacks '%s'",
                      refused[i].config, msg.text, w);
    }
}

/* The bases of the table are right as they stand: only what is behind them is
 * refused. */
Test(megatron_hf, the_same_configs_without_it_are_read)
{
    static const char *const right[] = {
        DENSE "}",
        MOE ", 'intermediate_size': 96, 'mlp_only_layers': [1]}",
        ROUTED ", 'n_shared_experts': 2, 'moe_layer_freq': [0, 1]}",
        HUNYUAN ", 'moe_topk': [2, 2], 'use_mixed_mlp_moe': true}",
        NEXT_HEADS
        ", 'full_attention_interval': 2, 'mtp_num_hidden_layers': 1}",
        NEXT_HEADS "}",
        DSA ", 'index_n_heads': 2, 'index_topk_pattern': 'FS'}",
        NESTED(DENSE "}"),
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        struct err_msg msg = {""};
        cr_expect_eq(read_config(right[i], &msg), ERR_OK, "%s: %s", right[i],
                     msg.text);
    }
}
