#include "memory/weights.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* DeepSeek's attention, with every part that a layer can have. */
static struct model rich_model(void)
{
    struct model m = small_model();
    m.mla = m.qk_norm = true;
    m.q_lora = 24;
    m.kv_lora = 32;
    m.qk_dim = 16;
    m.qk_rope_dim = 8;
    m.v_dim = 16;
    m.shared_ffn = 96;
    m.tied = false;
    return m;
}

static int64_t held(const struct model *m, enum unit_kind kind)
{
    struct weight_sums s = memory_unit_sums(m, kind);
    return s.dense + s.expert;
}

Test(memory_weights, one_rank_holds_the_parameters_of_the_model)
{
    struct model models[3] = {small_model(), rich_model(), small_model()};
    models[2].layernorm = models[2].linear_bias = models[2].qk_norm = true;
    models[2].learned_positions = true;
    models[2].max_positions = 40;
    models[2].gated = false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < N_KINDS; k++)
            cr_assert_eq(held(&models[i], (enum unit_kind)k),
                         model_unit_params(&models[i], (enum unit_kind)k),
                         "model %d, %s", i, kind_name((enum unit_kind)k));
}

Test(memory_weights, experts_are_divided_by_expert_ranks_only)
{
    struct model m = rich_model();
    struct weight_sums one = memory_unit_sums(&m, KIND_T);
    m.par.ep = 4;
    struct weight_sums four = memory_unit_sums(&m, KIND_T);
    cr_assert_eq(four.expert * 4, one.expert);
    cr_assert_eq(four.dense, one.dense);
    m.par.ep = 1;
    m.par.etp = 2;
    struct weight_sums half = memory_unit_sums(&m, KIND_T);
    cr_assert_eq(half.expert * 2, one.expert);
    cr_assert_eq(half.dense, one.dense);
}

Test(memory_weights, tensor_ranks_divide_all_but_norms_router_and_latents)
{
    struct model m = rich_model();
    struct weight_sums one = memory_unit_sums(&m, KIND_T);
    m.par.tp = 2;
    struct weight_sums two = memory_unit_sums(&m, KIND_T);
    int64_t h = m.hidden;
    int64_t whole = 2 * h + m.q_lora + m.kv_lora + m.n_experts * h +
                    m.q_lora * h + (m.kv_lora + m.qk_rope_dim) * h;
    cr_assert_eq(2 * (two.dense - whole), one.dense - whole);
    cr_assert_eq(held(&m, KIND_L), h + m.padded_vocab * h / 2);
}

Test(memory_weights, starts_are_padded_to_64_elements)
{
    struct weight_sums s = {0};
    memory_add_weight(
        &s, &(struct weight){
                .rows = 3, .cols = 7, .count = 5, .role = WEIGHT_TABLE});
    cr_assert_eq(s.dense, 105);
    cr_assert_eq(s.dense_padded, 5 * 64);
    cr_assert_eq(s.n_dense, 5);
}

Test(memory_weights, router_and_tables_are_no_linear_weights_norms_no_matrix)
{
    struct model m = rich_model();
    struct weight_sums t = memory_unit_sums(&m, KIND_T);
    cr_assert_eq(t.dense_matrix + t.expert_matrix - t.linear,
                 m.n_experts * m.hidden);
    cr_assert_eq(t.dense - t.dense_matrix, 2 * m.hidden + m.q_lora + m.kv_lora);
    cr_assert_eq(memory_unit_sums(&m, KIND_E).dense_matrix, 0);
    cr_assert_eq(memory_unit_sums(&m, KIND_L).linear, 0);
}

Test(memory_weights, the_routers_buffer_is_counted_but_takes_no_state)
{
    struct model m = rich_model();
    int64_t before = held(&m, KIND_T);
    m.expert_bias = m.count_bias = true;
    cr_assert_eq(held(&m, KIND_T), before);
    cr_assert_eq(model_unit_params(&m, KIND_T), before + m.n_experts);
}
