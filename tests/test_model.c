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
