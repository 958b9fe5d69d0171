#include "model/model.h"

#include <criterion/criterion.h>

/* The 7B-A1B recipe; its counts are published. */
static struct model recipe(void)
{
    static const uint8_t moe[16] = {1, 1, 1, 1, 1, 1, 1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1};
    return (struct model){.n_layers = 16,
                          .n_mtp = 1,
                          .hidden = 2048,
                          .ffn = 1024,
                          .n_heads = 16,
                          .n_kv_heads = 2,
                          .head_dim = 128,
                          .vocab = 128256,
                          .padded_vocab = 128256,
                          .n_experts = 64,
                          .moe_ffn = 1024,
                          .topk = 8,
                          .gated = true,
                          .tied = true,
                          .layer_moe = moe,
                          .par = {1, 4, 1, 1, 1, 1, 4, 1},
                          .batch = {1, 8, 8, 4096}};
}

Test(model, recipe_has_the_published_parameters)
{
    struct model m = recipe();
    cr_assert_eq(model_total_params(&m), 6858278912);
    cr_assert_eq(model_active_params(&m), 1221134336);
}

Test(model, units_add_up_to_the_model)
{
    struct model m = recipe();
    int64_t sum = 0;
    for (int k = 0; k < N_KINDS; k++)
        if (k != KIND_M && model_unit_count(&m, (enum unit_kind)k))
            sum += model_unit_count(&m, (enum unit_kind)k) *
                   model_unit_params(&m, (enum unit_kind)k);
    cr_assert_eq(sum, model_total_params(&m));
    m.tied = false;
    cr_assert_eq(model_total_params(&m), 6858278912 + 128256LL * 2048);
}

Test(model, mtp_is_norms_projection_and_one_layer)
{
    struct model m = recipe();
    cr_assert_eq(model_mtp_params(&m),
                 3 * 2048 + 2 * 2048LL * 2048 + model_unit_params(&m, KIND_T));
}

/* By hand for a tiny dense model: h 4, 2 heads of 2, ffn 8, 3 tokens. */
Test(model, flops_follow_the_products)
{
    struct model m = {.n_layers = 1,
                      .hidden = 4,
                      .ffn = 8,
                      .n_heads = 2,
                      .n_kv_heads = 1,
                      .head_dim = 2,
                      .padded_vocab = 10,
                      .gated = true,
                      .tied = true,
                      .par = {1, 1, 1, 1, 1, 1, 1, 1},
                      .batch = {1, 1, 1, 3}};
    static const uint8_t dense[1] = {0};
    m.layer_moe = dense;
    double weights = 4 * (4 + 2 * 2) + 4 * 4 + 3 * 4 * 8;
    double attention = 2 * 3 * 3 * 4; // causal: half of 4 T^2 d
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T),
                       2 * 3 * weights + attention, 1e-9);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_L), 2 * 3 * 4 * 10, 1e-9);
    m.n_mtp = 2;
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_L), 3 * 2 * 3 * 4 * 10,
                       1e-9, "L makes 1+K output passes");
}

Test(model, layers_without_experts_are_dense_kind)
{
    struct model m = recipe();
    static const uint8_t moe[16] = {0, 0, 0, 1, 1, 1, 1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1};
    m.layer_moe = moe;
    cr_assert_eq(model_unit_count(&m, KIND_T_DENSE), 3);
    cr_assert_eq(model_unit_count(&m, KIND_T), 13);
    cr_assert_eq(model_layer_kind(&m, 2), KIND_T_DENSE);
    cr_assert_eq(kind_letter(KIND_T_DENSE), 't');
}

/* 16 layers of which every fourth has scores; heads of 8 and 16, 4 for values.
 */
Test(model, lean_layers_are_kinds_of_their_own)
{
    struct model m = recipe();
    static const uint8_t lean[16] = {1, 1, 1, 0, 1, 1, 1, 0,
                                     1, 1, 1, 0, 1, 1, 1, 0};
    static const uint8_t moe[16] = {0, 1, 1, 0, 1, 1, 1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1};
    int64_t full = model_unit_params(&m, KIND_T);
    m.layer_lean = lean;
    m.layer_moe = moe;
    m.linear = (struct linear_attention){
        .k_heads = 2, .v_heads = 4, .k_dim = 8, .v_dim = 16, .taps = 4};
    cr_assert_eq(model_unit_count(&m, KIND_T), 3);
    cr_assert_eq(model_unit_count(&m, KIND_T_LEAN), 11);
    cr_assert_eq(model_unit_count(&m, KIND_T_DENSE), 1);
    cr_assert_eq(model_unit_count(&m, KIND_T_DENSE_LEAN), 1);
    cr_assert_eq(model_unit_params(&m, KIND_T), full);
    int64_t attention = 2048LL * (2048 + 2 * 2 * 128) + 2048LL * 2048;
    int64_t linear =
        2048 * (2 * 16 + 2 * 64 + 2 * 4) + 4 * 96 + 2 * 4 + 16 + 2048 * 64;
    cr_assert_eq(model_unit_params(&m, KIND_T_LEAN), full - attention + linear);
    // a token's work: products of the matrices, and four of a state's size
    double state = 2 * 4096.0 * 4 * 4 * 8 * 16;
    double matrices =
        2 * 4096.0 *
        (double)(linear - 2 * 4 - 16 + 64 * 2048 + 8 * 3 * 1024 * 2048);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T_LEAN), matrices + state,
                       1);
    cr_assert(kind_is_lean(KIND_T_DENSE_LEAN) && kind_is_dense(KIND_T_DENSE) &&
              !kind_is_dense(KIND_T_LEAN) && !kind_is_layer(KIND_M));
    cr_assert_eq(kind_letter(KIND_T_LEAN), 't');
}

/* 4 heads, latents of 32 with 8 for positions, 16 of 64 tokens picked: a query
 * meets 16 (1 - 16 / 128) = 14 of them, and the indexer looks at 32. */
Test(model, sparse_attention_meets_its_top_k)
{
    static const uint8_t lean[1] = {1}, dense[1] = {0};
    struct model m = {.n_layers = 1,
                      .hidden = 64,
                      .ffn = 8,
                      .n_heads = 4,
                      .mla = true,
                      .kv_lora = 32,
                      .qk_dim = 16,
                      .qk_rope_dim = 8,
                      .v_dim = 16,
                      .padded_vocab = 10,
                      .indexer = {.heads = 2, .dim = 24, .topk = 16},
                      .layer_moe = dense,
                      .par = {1, 1, 1, 1, 1, 1, 1, 1},
                      .batch = {1, 1, 1, 64}};
    double scores = 2 * 64 * 14.0 * 4 * (2 * 32 + 8);
    double indexer = 2 * 64 * (32.0 * 2 * 24 + 64 * (2 * 24 + 24 + 2));
    double matrices =
        2 * 64.0 * (64 * 4 * 24 + 64 * 40 + 32 * 4 * 32 + 64 * 64 + 2 * 64 * 8);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T),
                       scores + indexer + matrices, 1e-6);
    m.layer_lean = lean;
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T_LEAN), scores + matrices,
                       1e-6, "the top-k of another layer costs nothing here");
    m.n_mtp = 1;
    cr_assert_eq(model_mtp_kind(&m), KIND_T, "MTP has an indexer");
}

/* Queries twice as wide, with their bias; four norms instead of two; biases. */
Test(model, parts_of_published_models_weigh_what_they_are)
{
    struct model m = recipe();
    int64_t t = model_unit_params(&m, KIND_T),
            l = model_unit_params(&m, KIND_L);
    m.attn_gate = true;
    cr_assert_eq(model_unit_params(&m, KIND_T) - t, 2048LL * 2048);
    m.qkv_bias = true;
    cr_assert_eq(model_unit_params(&m, KIND_T) - t,
                 2048LL * 2048 + 2 * 2048 + 2 * 2 * 128);
    m = recipe();
    m.post_norms = true;
    cr_assert_eq(model_unit_params(&m, KIND_T) - t, 2 * 2048);
    m = recipe();
    m.attn_out_bias = m.output_bias = true;
    cr_assert_eq(model_unit_params(&m, KIND_T) - t, 2048);
    cr_assert_eq(model_unit_params(&m, KIND_L) - l, 128256);
}
