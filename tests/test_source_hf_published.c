/* Published models of Hugging Face's types: our count equals the parameters
 * that the checkpoint's safetensors metadata states, to the last one, where the
 * parts that are not the language model are taken off; "source" has the model
 * and what it states. Active ones are the published figure at its digits, by
 * the convention that its publisher counts in. The configs hold the sizes only,
 * with ' for ". */
#include "megatron/hybrid.h"
#include "model/as_hybrid.h"
#include "source/hf.h"

#include <criterion/criterion.h>
#include <string.h>

#define GRANITE_TEN                                                            \
    "'mamba', 'mamba', 'mamba', 'mamba', 'mamba', 'attention', 'mamba', "      \
    "'mamba', 'mamba', 'mamba'"
#define GRANITE_LAYERS                                                         \
    "'num_hidden_layers': 40, 'mamba_d_head': 64, 'mamba_d_state': 128, "      \
    "'mamba_n_groups': 1, 'mamba_d_conv': 4, 'mamba_conv_bias': true, "        \
    "'mamba_proj_bias': false, 'attention_bias': false, "                      \
    "'position_embedding_type': 'nope', 'tie_word_embeddings': true, "         \
    "'layer_types': [" GRANITE_TEN ", " GRANITE_TEN ", " GRANITE_TEN           \
    ", " GRANITE_TEN "]"

enum counted { ALL, NO_LOOKUP, NO_TABLES }; // vocabulary tables in the active
enum digits { ROUNDED, CUT };

static const struct {
    const char *source;
    int64_t total, mtp;
    double active_b, unit; // billions, and the worth of the last digit
    enum counted counted;
    enum digits digits;
    const char *config;
} published[] = {
    {"dbrx-base: 132B, 36B active (model card)", 131596523520, 0, 36, 1, ALL,
     ROUNDED,
     "{'model_type': 'dbrx', 'd_model': 6144, 'n_heads': 48, "
     "'n_layers': 40, 'vocab_size': 100352, "
     "'tie_word_embeddings': false, 'attn_config': {'clip_qkv': 8, "
     "'kv_n_heads': 8}, 'ffn_config': {'ffn_hidden_size': 10752, "
     "'moe_num_experts': 16, 'moe_top_k': 4}}"},
    {"deepseek-moe-16b-base; 2.8B (arXiv 2401.06066)", 16375728128, 0, 2.83,
     0.01, ALL, ROUNDED,
     "{'model_type': 'deepseek', 'hidden_size': 2048, "
     "'intermediate_size': 10944, 'moe_intermediate_size': 1408, "
     "'num_hidden_layers': 28, 'num_attention_heads': 16, "
     "'num_key_value_heads': 16, 'n_routed_experts': 64, "
     "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
     "'first_k_dense_replace': 1, 'moe_layer_freq': 1, "
     "'attention_bias': false, 'tie_word_embeddings': false, "
     "'vocab_size': 102400}"},
    {"DeepSeek-V2: 236B, 21B active (arXiv 2405.04434)", 235741434880, 0, 21, 1,
     ALL, ROUNDED,
     "{'model_type': 'deepseek_v2', 'hidden_size': 5120, "
     "'intermediate_size': 12288, 'moe_intermediate_size': 1536, "
     "'num_hidden_layers': 60, 'num_attention_heads': 128, "
     "'num_key_value_heads': 128, 'q_lora_rank': 1536, "
     "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "
     "'qk_rope_head_dim': 64, 'v_head_dim': 128, "
     "'n_routed_experts': 160, 'n_shared_experts': 2, "
     "'num_experts_per_tok': 6, 'first_k_dense_replace': 1, "
     "'moe_layer_freq': 1, 'topk_method': 'group_limited_greedy', "
     "'tie_word_embeddings': false, 'vocab_size': 102400}"},
    {"dots.llm1.base: 142B, 14B active (arXiv 2506.05767)", 142774381696, 0, 14,
     1, ALL, ROUNDED,
     "{'model_type': 'dots1', 'hidden_size': 4096, "
     "'intermediate_size': 10944, 'moe_intermediate_size': 1408, "
     "'num_hidden_layers': 62, 'num_attention_heads': 32, "
     "'num_key_value_heads': 32, 'n_routed_experts': 128, "
     "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
     "'first_k_dense_replace': 1, 'attention_bias': false, "
     "'tie_word_embeddings': false, 'vocab_size': 152064}"},
    {"Phi-3.5-MoE-instruct: 42B, 6.6B active", 41873153344, 0, 6.6, 0.1, ALL,
     ROUNDED,
     "{'model_type': 'phimoe', 'hidden_size': 4096, "
     "'intermediate_size': 6400, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, "
     "'num_local_experts': 16, 'num_experts_per_tok': 2, "
     "'attention_bias': true, 'lm_head_bias': true, "
     "'tie_word_embeddings': false, 'vocab_size': 32064, "
     "'sliding_window': 131072}"},
    {"Hunyuan-A13B: 80B, 13B active", 80393183232, 0, 13, 1, ALL, ROUNDED,
     "{'model_type': 'hunyuan_v1_moe', 'hidden_size': 4096, "
     "'intermediate_size': 3072, 'moe_intermediate_size': [3072, "
     "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
     "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
     "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
     "3072], 'num_hidden_layers': 32, 'num_attention_heads': 32, "
     "'num_key_value_heads': 8, 'attention_head_dim': 128, "
     "'num_experts': 64, 'moe_topk': [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, "
     "8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, "
     "8], 'num_shared_expert': [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
     "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "
     "'use_mixed_mlp_moe': true, 'use_qk_norm': true, "
     "'use_cla': false, 'tie_word_embeddings': true, "
     "'vocab_size': 128167}"},
    {""
     "Qwen3-Coder-Next without MTP; Qwen3-Next-80B-A3B 81,324,862,720 with it",
     79674391296, 1650471424, 3.9, 0.1, ALL, ROUNDED,
     "{'model_type': 'qwen3_next', 'hidden_size': 2048, "
     "'intermediate_size': 5120, 'moe_intermediate_size': 512, "
     "'shared_expert_intermediate_size': 512, "
     "'num_hidden_layers': 48, 'num_attention_heads': 16, "
     "'num_key_value_heads': 2, 'head_dim': 256, 'num_experts': 512, "
     "'num_experts_per_tok': 10, 'full_attention_interval': 4, "
     "'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, "
     "'linear_num_key_heads': 16, 'linear_num_value_heads': 32, "
     "'linear_value_head_dim': 128, 'decoder_sparse_step': 1, "
     "'mlp_only_layers': [], 'tie_word_embeddings': false, "
     "'vocab_size': 151936, 'mtp_num_hidden_layers': 1}"},
    {"Qwen1.5-MoE-A2.7B", 14315784192, 0, 2.7, 0.1, ALL, ROUNDED,
     "{'model_type': 'qwen2_moe', 'hidden_size': 2048, "
     "'intermediate_size': 5632, 'moe_intermediate_size': 1408, "
     "'shared_expert_intermediate_size': 5632, "
     "'num_hidden_layers': 24, 'num_attention_heads': 16, "
     "'num_key_value_heads': 16, 'num_experts': 60, "
     "'num_experts_per_tok': 4, 'decoder_sparse_step': 1, "
     "'tie_word_embeddings': false, 'use_sliding_window': false, "
     "'sliding_window': 32768, 'vocab_size': 151936}"},
    {"MiniMax-M2: 230B, 10B active; its MTP weights are not published",
     228689764864, 11062807296, 10, 1, NO_LOOKUP, CUT,
     "{'model_type': 'minimax_m2', 'hidden_size': 3072, "
     "'intermediate_size': 1536, 'num_hidden_layers': 62, "
     "'num_attention_heads': 48, 'num_key_value_heads': 8, "
     "'head_dim': 128, 'num_local_experts': 256, "
     "'num_experts_per_tok': 8, 'use_qk_norm': true, "
     "'qk_norm_type': 'per_layer', 'use_routing_bias': true, "
     "'use_mtp': true, 'num_mtp_modules': 3, "
     "'mtp_transformer_layers': 1, 'shared_intermediate_size': 0, "
     "'tie_word_embeddings': false, 'vocab_size': 200064}"},
    {"Ling-mini-2.0: 16B, 1.43B active", 16255643392, 0, 1.43, 0.01, ALL,
     ROUNDED,
     "{'architectures': ['BailingMoeV2ForCausalLM'], "
     "'model_type': 'bailing_moe', 'hidden_size': 2048, "
     "'intermediate_size': 5120, 'moe_intermediate_size': 512, "
     "'num_hidden_layers': 20, 'num_attention_heads': 16, "
     "'num_key_value_heads': 4, 'head_dim': 128, 'num_experts': 256, "
     "'num_shared_experts': 1, 'num_experts_per_tok': 8, "
     "'first_k_dense_replace': 1, 'use_bias': false, "
     "'use_qkv_bias': false, 'use_qk_norm': true, "
     "'moe_shared_expert_intermediate_size': 512, "
     "'moe_router_enable_expert_bias': true, "
     "'num_nextn_predict_layers': 0, 'tie_word_embeddings': false, "
     "'vocab_size': 157184}"},
    {"Ling-flash-2.0: 100B, 6.1B active", 102889705216, 0, 6.1, 0.1, ALL, CUT,
     "{'architectures': ['BailingMoeV2ForCausalLM'], "
     "'model_type': 'bailing_moe', 'hidden_size': 4096, "
     "'intermediate_size': 9216, 'moe_intermediate_size': 1024, "
     "'num_hidden_layers': 32, 'num_attention_heads': 32, "
     "'num_key_value_heads': 4, 'head_dim': 128, 'num_experts': 256, "
     "'num_shared_experts': 1, 'num_experts_per_tok': 8, "
     "'first_k_dense_replace': 1, 'use_bias': false, "
     "'use_qkv_bias': false, 'use_qk_norm': true, "
     "'moe_shared_expert_intermediate_size': 1024, "
     "'moe_router_enable_expert_bias': true, "
     "'num_nextn_predict_layers': 0, 'tie_word_embeddings': false, "
     "'vocab_size': 157184}"},
    {"Ling-1T: 1T, about 50B active", 999705328640, 0, 50, 1, NO_LOOKUP,
     ROUNDED,
     "{'architectures': ['BailingMoeV2ForCausalLM'], "
     "'model_type': 'bailing_moe', 'hidden_size': 8192, "
     "'intermediate_size': 18432, 'moe_intermediate_size': 2048, "
     "'num_hidden_layers': 80, 'num_attention_heads': 64, "
     "'num_key_value_heads': 8, 'head_dim': 128, 'num_experts': 256, "
     "'num_shared_experts': 1, 'num_experts_per_tok': 8, "
     "'first_k_dense_replace': 4, 'use_bias': false, "
     "'use_qkv_bias': false, 'use_qk_norm': true, "
     "'moe_shared_expert_intermediate_size': 2048, "
     "'moe_router_enable_expert_bias': true, "
     "'num_nextn_predict_layers': 0, 'tie_word_embeddings': false, "
     "'vocab_size': 157184}"},
    {"granite-3.0-1b-a400m: 400M active", 1334628352, 0, 0.4, 0.1, ALL, ROUNDED,
     "{'model_type': 'granitemoe', 'hidden_size': 1024, "
     "'intermediate_size': 512, 'num_hidden_layers': 24, "
     "'num_attention_heads': 16, 'num_key_value_heads': 8, "
     "'num_local_experts': 32, 'num_experts_per_tok': 8, "
     "'attention_bias': false, 'tie_word_embeddings': true, "
     "'vocab_size': 49155}"},
    {"Trinity-Large: 400B, 13B active", 398635286016, 0, 13, 1, ALL, ROUNDED,
     "{'model_type': 'afmoe', 'hidden_size': 3072, "
     "'intermediate_size': 12288, 'moe_intermediate_size': 3072, "
     "'num_hidden_layers': 60, 'num_dense_layers': 6, "
     "'num_attention_heads': 48, 'num_key_value_heads': 8, "
     "'head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 4, "
     "'num_shared_experts': 1, 'sliding_window': 2048, "
     "'global_attn_every_n_layers': 4, 'tie_word_embeddings': false, "
     "'vocab_size': 200192}"},
    {""
     "31,221,488,576 with MTP and its copies of two tables of 154,880 x 2,048; "
     "A3B",
     29943393920, 643706176, 3, 1, ALL, CUT,
     "{'model_type': 'glm4_moe_lite', 'hidden_size': 2048, "
     "'intermediate_size': 10240, 'moe_intermediate_size': 1536, "
     "'num_hidden_layers': 47, 'num_attention_heads': 20, "
     "'num_key_value_heads': 20, 'q_lora_rank': 768, "
     "'kv_lora_rank': 512, 'qk_nope_head_dim': 192, "
     "'qk_rope_head_dim': 64, 'v_head_dim': 256, "
     "'n_routed_experts': 64, 'n_shared_experts': 1, "
     "'num_experts_per_tok': 4, 'first_k_dense_replace': 1, "
     "'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 1, "
     "'attention_bias': false, 'tie_word_embeddings': false, "
     "'vocab_size': 154880}"},
    {"GLM-5: 744B, 40B active; 753,864,139,008 with MTP", 743911218432,
     9952920576, 40, 1, NO_TABLES, ROUNDED,
     "{'model_type': 'glm_moe_dsa', 'hidden_size': 6144, "
     "'intermediate_size': 12288, 'moe_intermediate_size': 2048, "
     "'num_hidden_layers': 78, 'num_attention_heads': 64, "
     "'num_key_value_heads': 64, 'head_dim': 64, 'q_lora_rank': 2048, "
     "'kv_lora_rank': 512, 'qk_nope_head_dim': 192, "
     "'qk_rope_head_dim': 64, 'v_head_dim': 256, 'index_n_heads': 32, "
     "'index_head_dim': 128, 'index_topk': 2048, "
     "'n_routed_experts': 256, 'n_shared_experts': 1, "
     "'num_experts_per_tok': 8, 'first_k_dense_replace': 3, "
     "'moe_layer_freq': 1, 'topk_method': 'noaux_tc', "
     "'num_nextn_predict_layers': 1, 'attention_bias': false, "
     "'tie_word_embeddings': false, 'vocab_size': 154880}"},
    {"GLM-5.2: 753,329,940,480 with MTP; 57 layers share top-k", 743377019904,
     9952920576, 39, 1, NO_TABLES, ROUNDED,
     "{'model_type': 'glm_moe_dsa', 'hidden_size': 6144, "
     "'intermediate_size': 12288, 'moe_intermediate_size': 2048, "
     "'num_hidden_layers': 78, 'num_attention_heads': 64, "
     "'num_key_value_heads': 64, 'head_dim': 192, "
     "'q_lora_rank': 2048, 'kv_lora_rank': 512, "
     "'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64, "
     "'v_head_dim': 256, 'index_n_heads': 32, 'index_head_dim': 128, "
     "'index_topk': 2048, 'n_routed_experts': 256, "
     "'n_shared_experts': 1, 'num_experts_per_tok': 8, "
     "'first_k_dense_replace': 3, 'moe_layer_freq': 1, "
     "'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 1, "
     "'attention_bias': false, 'tie_word_embeddings': false, "
     "'vocab_size': 154880, 'index_topk_freq': 4, "
     "'index_skip_topk_offset': 3}"},
    {"Scout: 108,641,793,536 with 871,932,416 of vision; 17B active",
     107769861120, 0, 17, 1, ALL, ROUNDED,
     "{'model_type': 'llama4', "
     "'text_config': {'model_type': 'llama4_text', "
     "'hidden_size': 5120, 'intermediate_size': 8192, "
     "'intermediate_size_mlp': 16384, 'num_hidden_layers': 48, "
     "'num_attention_heads': 40, 'num_key_value_heads': 8, "
     "'head_dim': 128, 'num_local_experts': 16, "
     "'num_experts_per_tok': 1, 'interleave_moe_layer_step': 1, "
     "'use_qk_norm': true, 'tie_word_embeddings': false, "
     "'attention_chunk_size': 8192, 'vocab_size': 202048}, "
     "'vision_config': {}}"},
    {"Maverick: 401,583,781,376 with the same vision; 17B active", 400711848960,
     0, 17, 1, ALL, ROUNDED,
     "{'model_type': 'llama4', "
     "'text_config': {'model_type': 'llama4_text', "
     "'hidden_size': 5120, 'intermediate_size': 8192, "
     "'intermediate_size_mlp': 16384, 'num_hidden_layers': 48, "
     "'num_attention_heads': 40, 'num_key_value_heads': 8, "
     "'head_dim': 128, 'num_local_experts': 128, "
     "'num_experts_per_tok': 1, 'interleave_moe_layer_step': 2, "
     "'use_qk_norm': false, 'tie_word_embeddings': false, "
     "'vocab_size': 202048}, 'vision_config': {}}"},
    {""
     "Qwen3.6-35B-A3B: 35,951,822,704 with MTP and 446,571,248 of vision",
     34660610688, 844640768, 3, 1, NO_LOOKUP, ROUNDED,
     "{'model_type': 'qwen3_5_moe', 'tie_word_embeddings': false, "
     "'vision_config': {}, "
     "'text_config': {'model_type': 'qwen3_5_moe_text', "
     "'hidden_size': 2048, 'moe_intermediate_size': 512, "
     "'shared_expert_intermediate_size': 512, "
     "'num_hidden_layers': 40, 'num_attention_heads': 16, "
     "'num_key_value_heads': 2, 'head_dim': 256, 'num_experts': 256, "
     "'num_experts_per_tok': 8, 'full_attention_interval': 4, "
     "'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, "
     "'linear_num_key_heads': 16, 'linear_num_value_heads': 32, "
     "'linear_value_head_dim': 128, 'vocab_size': 248320, "
     "'mtp_num_hidden_layers': 1}}"},
    {"Qwen3.6-27B: 27,781,427,952 with MTP and 460,730,096 of vision",
     26895998464, 424699392, 27, 1, ALL, ROUNDED,
     "{'model_type': 'qwen3_5', 'tie_word_embeddings': false, "
     "'vision_config': {}, "
     "'text_config': {'model_type': 'qwen3_5_text', "
     "'hidden_size': 5120, 'intermediate_size': 17408, "
     "'num_hidden_layers': 64, 'num_attention_heads': 24, "
     "'num_key_value_heads': 4, 'head_dim': 256, "
     "'full_attention_interval': 4, 'linear_conv_kernel_dim': 4, "
     "'linear_key_head_dim': 128, 'linear_num_key_heads': 16, "
     "'linear_num_value_heads': 48, 'linear_value_head_dim': 128, "
     "'vocab_size': 248320, 'mtp_num_hidden_layers': 1}}"},
    {"Kimi K2's language model under text_config; 32B active", 1026408232448, 0,
     32, 1, NO_LOOKUP, ROUNDED,
     "{'model_type': 'kimi_k25', 'tie_word_embeddings': false, "
     "'vision_config': {}, 'text_config': {'model_type': 'kimi_k2', "
     "'hidden_size': 7168, 'intermediate_size': 18432, "
     "'moe_intermediate_size': 2048, 'num_hidden_layers': 61, "
     "'num_attention_heads': 64, 'num_key_value_heads': 64, "
     "'q_lora_rank': 1536, 'kv_lora_rank': 512, "
     "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "
     "'v_head_dim': 128, 'n_routed_experts': 384, "
     "'n_shared_experts': 1, 'num_experts_per_tok': 8, "
     "'first_k_dense_replace': 1, 'moe_layer_freq': 1, "
     "'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 0, "
     "'tie_word_embeddings': false, 'vocab_size': 163840}}"},
    // the checkpoint states 15,960,111,936 as half its bytes: 1,728 of these
    // are inverse frequencies of the rotary positions, 32 in float32 a layer
    {"Moonlight-16B-A3B without its rotary buffers: 16B", 15960110208, 0, 2.24,
     0.01, NO_TABLES, ROUNDED,
     "{'model_type': 'deepseek_v3', 'hidden_size': 2048, "
     "'intermediate_size': 11264, 'moe_intermediate_size': 1408, "
     "'num_hidden_layers': 27, 'num_attention_heads': 16, "
     "'num_key_value_heads': 16, 'q_lora_rank': null, "
     "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "
     "'qk_rope_head_dim': 64, 'v_head_dim': 128, "
     "'n_routed_experts': 64, 'n_shared_experts': 2, "
     "'num_experts_per_tok': 6, 'first_k_dense_replace': 1, "
     "'moe_layer_freq': 1, 'topk_method': 'noaux_tc', "
     "'num_nextn_predict_layers': 0, 'tie_word_embeddings': false, "
     "'vocab_size': 163840}"},
    {"Qwen3-Coder-480B-A35B", 480154875392, 0, 35, 1, ALL, ROUNDED,
     "{'model_type': 'qwen3_moe', 'hidden_size': 6144, "
     "'intermediate_size': 8192, 'moe_intermediate_size': 2560, "
     "'num_hidden_layers': 62, 'num_attention_heads': 96, "
     "'num_key_value_heads': 8, 'head_dim': 128, 'num_experts': 160, "
     "'num_experts_per_tok': 8, 'decoder_sparse_step': 1, "
     "'mlp_only_layers': [], 'tie_word_embeddings': false, "
     "'vocab_size': 151936}"},
    // 8,888,227,328 of safetensors
    {"NVIDIA-Nemotron-Nano-9B-v2", 8888227328, 0, 8.9, 0.1, ALL, ROUNDED,
     "{'model_type': 'nemotron_h', 'hidden_size': 4480, "
     "'intermediate_size': 15680, 'num_hidden_layers': 56, "
     "'num_attention_heads': 40, 'num_key_value_heads': 8, "
     "'head_dim': 128, 'mamba_num_heads': 128, 'mamba_head_dim': 80, "
     "'ssm_state_size': 128, 'n_groups': 8, 'conv_kernel': 4, "
     "'expand': 2, 'use_conv_bias': true, 'use_bias': false, "
     "'mlp_hidden_act': 'relu2', 'tie_word_embeddings': false, "
     "'vocab_size': 131072, 'hybrid_override_pattern': "
     "'M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-'}"},
    // the checkpoint has 32,913,263,168 in bf16 with one MTP depth, and 3,072
    // correction biases, of which 2,944 are the decoder's
    {"NVIDIA-Nemotron-3-Nano-30B-A3B with MTP: 31.6B, 3.2B active "
     "without the embedding",
     31577940288, 1335325824 + 128, 3.2, 0.1, NO_LOOKUP, ROUNDED,
     "{'model_type': 'nemotron_h', 'hidden_size': 2688, "
     "'intermediate_size': 1856, 'num_hidden_layers': 52, "
     "'num_attention_heads': 32, 'num_key_value_heads': 2, "
     "'head_dim': 128, 'mamba_num_heads': 64, 'mamba_head_dim': 64, "
     "'ssm_state_size': 128, 'n_groups': 8, 'n_routed_experts': 128, "
     "'num_experts_per_tok': 6, 'moe_intermediate_size': 1856, "
     "'n_shared_experts': 1, "
     "'moe_shared_expert_intermediate_size': 3712, "
     "'mlp_hidden_act': 'relu2', 'tie_word_embeddings': false, "
     "'vocab_size': 131072, 'num_nextn_predict_layers': 1, "
     "'mtp_hybrid_override_pattern': '*E', 'hybrid_override_pattern': "
     "'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME'}"},
    // n_params of llama.cpp: 120,668,707,840
    {"NVIDIA-Nemotron-3-Super-120B-A12B", 120668707840, 0, 12, 1, ALL, CUT,
     "{'model_type': 'nemotron_h', 'hidden_size': 4096, "
     "'intermediate_size': 2688, 'num_attention_heads': 32, "
     "'num_key_value_heads': 2, 'head_dim': 128, "
     "'mamba_num_heads': 128, 'mamba_head_dim': 64, "
     "'ssm_state_size': 128, 'n_groups': 8, 'n_routed_experts': 512, "
     "'num_experts_per_tok': 22, 'moe_intermediate_size': 2688, "
     "'moe_latent_size': 1024, 'n_shared_experts': 1, "
     "'moe_shared_expert_intermediate_size': 5376, "
     "'tie_word_embeddings': false, 'vocab_size': 131072, "
     "'hybrid_override_pattern': 'MEMEMEM*EMEMEMEM*EMEMEMEM*"
     "EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME'}"},
    // of safetensors, and general.parameter_count of llama.cpp
    {"granite-4.0-h-small", 32207337984, 0, 9, 1, ALL, ROUNDED,
     "{'model_type': 'granitemoehybrid', 'hidden_size': 4096, "
     "'intermediate_size': 768, 'shared_intermediate_size': 1536, "
     "'num_local_experts': 72, 'num_experts_per_tok': 10, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, "
     "'mamba_n_heads': 128, 'vocab_size': 100352, " GRANITE_LAYERS "}"},
    {"granite-4.0-h-micro", 3191396096, 0, 3, 1, ALL, ROUNDED,
     "{'model_type': 'granitemoehybrid', 'hidden_size': 2048, "
     "'intermediate_size': 8192, 'shared_intermediate_size': 8192, "
     "'num_local_experts': 0, 'num_experts_per_tok': 0, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, "
     "'mamba_n_heads': 64, 'vocab_size': 100352, " GRANITE_LAYERS "}"},
};
enum { N_PUBLISHED = sizeof published / sizeof published[0] };

/* A config with ' for " as a model; with a pattern behind it, as a user gives
 * it, as a hybrid one. */
static enum err read_config_as(struct arena *a, const char *text,
                               const char *pattern, struct model *m,
                               struct err_msg *msg)
{
    arena_init(a);
    char *copy = arena_strdup(a, text);
    for (char *p = copy; (p = strchr(p, '\''));)
        *p = '"';
    cJSON *tree = NULL;
    struct megatron_args *args = megatron_args_new(a);
    enum err e = json_parse(copy, "c.json", &tree, msg);
    if (e == ERR_OK)
        e = source_hf_read(a, tree, "c.json", args, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK && pattern)
        e = megatron_args_set(args, FLAG_HYBRID_LAYER_PATTERN, pattern, msg);
    return e == ERR_OK ? megatron_args_model(a, args, m, msg) : e;
}

static enum err read_config(struct arena *a, const char *text, struct model *m,
                            struct err_msg *msg)
{
    return read_config_as(a, text, NULL, m, msg);
}

static void check_active(const struct model *m, int i)
{
    int64_t active = published[i].counted == ALL
                         ? model_active_params(m)
                         : model_active_params_no_lookup(m);
    if (published[i].counted == NO_TABLES)
        active -= m->padded_vocab * m->hidden;
    double b = (double)active * 1e-9, digit = published[i].unit;
    double lo =
        published[i].active_b - (published[i].digits == CUT ? 0 : digit / 2);
    cr_expect(b >= lo && b < lo + digit, "%s: %.4f B active, published %g",
              published[i].source, b, published[i].active_b);
}

Test(megatron_hf_published, totals_are_those_of_the_checkpoints)
{
    for (int i = 0; i < N_PUBLISHED; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(read_config(&a, published[i].config, &m, &msg), ERR_OK,
                     "%s: %s", published[i].source, msg.text);
        if (*msg.text)
            continue;
        cr_expect_eq(model_total_params(&m), published[i].total, "%s: %lld",
                     published[i].source, (long long)model_total_params(&m));
        cr_expect_eq(model_mtp_params(&m), published[i].mtp, "%s: MTP %lld",
                     published[i].source, (long long)model_mtp_params(&m));
        check_active(&m, i);
        arena_clear(&a);
    }
}

/* A GPT model as a hybrid one, by itself and through the flags that say so. */
static void check_pattern(const struct model *gpt, const char *config)
{
    struct arena a, b;
    struct model h, read;
    struct err_msg msg = {""};
    arena_init(&a);
    cr_assert_eq(model_as_hybrid(&a, gpt, &h, &msg), ERR_OK, "%s", msg.text);
    const char *pattern = h.symbols;
    for (int i = 0; i < h.n_mtp; i++)
        pattern = arena_printf(&a, "%s/%s", pattern, h.mtp_symbols);
    cr_assert_eq(read_config_as(&b, config, pattern, &read, &msg), ERR_OK,
                 "%s: %s", pattern, msg.text);
    cr_expect_str_eq(read.symbols, h.symbols);
    const struct model *const both[] = {&h, &read};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(model_total_params(both[i]), model_total_params(gpt), "%s",
                     pattern);
        cr_expect_eq(model_active_params(both[i]), model_active_params(gpt),
                     "%s", pattern);
        cr_expect_eq(model_mtp_params(both[i]), model_mtp_params(gpt), "%s",
                     pattern);
    }
    arena_clear(&b);
    arena_clear(&a);
}

/* Layers that share an indexer's top-k have no symbol: GLM-5's. */
Test(megatron_hf_published, gpt_models_written_as_patterns_count_the_same)
{
    int n = 0;
    for (int i = 0; i < N_PUBLISHED; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_assert_eq(read_config(&a, published[i].config, &m, &msg), ERR_OK);
        bool shared = m.layer_lean && !m.linear.v_heads;
        // a list of windowed layers has an entry for each symbol then
        if (!model_is_hybrid(&m) && !shared && !m.layer_window) {
            check_pattern(&m, published[i].config);
            n++;
        }
        arena_clear(&a);
    }
    cr_assert_gt(n, 10);
}
