#include "model/weights.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* small_model() with the parts whose bits are set. */
enum { N_PARTS = 16 };

static struct model model_with(unsigned parts)
{
    struct model m = small_model();
    bool *const flags[] = {&m.layernorm,   &m.linear_bias,       &m.qkv_bias,
                           &m.qk_norm,     &m.qk_norm_full,      &m.sinks,
                           &m.expert_bias, &m.learned_positions, &m.gated,
                           &m.tied};
    int bit = 0;
    for (; bit < 10; bit++)
        *flags[bit] = parts >> bit & 1;
    m.count_bias = m.expert_bias;
    m.mla = parts >> 10 & 1;
    m.q_lora = parts >> 11 & 1 ? 24 : 0;
    m.latent = parts >> 12 & 1 ? 48 : 0;
    m.shared_ffn = parts >> 13 & 1 ? 96 : 0;
    m.shared_gate = m.shared_ffn > 0;
    m.kv_lora = 32;
    m.qk_dim = 16;
    m.qk_rope_dim = 8;
    m.v_dim = 16;
    m.max_positions = 40;
    m.post_norms = parts >> 14 & 1;
    m.attn_gate = parts >> 14 & 1;
    m.indexer.heads = parts >> 15 & 1 ? 4 : 0;
    m.indexer.dim = 8;
    return m;
}

Test(weights, the_largest_unit_fills_the_table_and_no_unit_is_larger)
{
    int most = 0;
    for (unsigned parts = 0; parts < 1U << N_PARTS; parts++) {
        struct model m = model_with(parts);
        for (int k = 0; k < N_KINDS; k++) {
            struct weights t;
            weights_of_unit(&m, (enum unit_kind)k, &WEIGHTS_WHOLE, &t);
            cr_assert_eq(t.n_lost, 0, "parts %x, %s", parts,
                         kind_name((enum unit_kind)k));
            most = t.n > most ? t.n : most;
        }
    }
    cr_assert_eq(most, WEIGHTS_MTP, "%d rows at most", most);
}

Test(weights, a_row_beyond_the_capacity_is_counted_not_written)
{
    struct {
        struct weights t;
        struct weight behind;
    } x = {.t = {.n = 0}, .behind = {7, 7, 7, WEIGHT_NORM, false}};
    for (int i = 0; i < WEIGHTS_MAX + 3; i++)
        weights_add(&x.t, (struct weight){i, 1, 1, WEIGHT_BIAS, false});
    cr_assert_eq(x.t.n, WEIGHTS_MAX);
    cr_assert_eq(x.t.n_lost, 3);
    cr_assert_eq(x.t.row[WEIGHTS_MAX - 1].rows, WEIGHTS_MAX - 1);
    cr_assert_eq(x.behind.rows, 7);
}

/* By hand: h 64, 4 query and 2 key heads of 16, 4 experts of 128, SwiGLU. */
Test(weights, a_layer_with_experts_has_these_rows)
{
    struct model m = small_model();
    struct weights t;
    const struct {
        enum weight_role role;
        int64_t rows, cols, count;
        bool expert;
    } want[] = {
        {WEIGHT_NORM, 64, 1, 1, false},    {WEIGHT_LINEAR, 128, 64, 1, false},
        {WEIGHT_LINEAR, 64, 64, 1, false}, {WEIGHT_NORM, 64, 1, 1, false},
        {WEIGHT_ROUTER, 4, 64, 1, false},  {WEIGHT_LINEAR, 256, 64, 4, true},
        {WEIGHT_LINEAR, 64, 128, 4, true}};
    weights_of_unit(&m, KIND_T, &WEIGHTS_WHOLE, &t);
    cr_assert_eq(t.n, 7);
    for (int i = 0; i < t.n; i++) {
        cr_expect_eq(t.row[i].role, want[i].role, "row %d", i);
        cr_expect_eq(t.row[i].rows, want[i].rows, "row %d", i);
        cr_expect_eq(t.row[i].cols, want[i].cols, "row %d", i);
        cr_expect_eq(t.row[i].count, want[i].count, "row %d", i);
        cr_expect_eq(t.row[i].expert, want[i].expert, "row %d", i);
    }
}

/* small_model() with gated delta net in three of four layers. */
static struct model linear_model(void)
{
    static const uint8_t lean[8] = {1, 1, 1, 0, 1, 1, 1, 0};
    struct model m = small_model();
    m.layer_lean = lean;
    m.linear = (struct linear_attention){
        .k_heads = 2, .v_heads = 4, .k_dim = 8, .v_dim = 16, .taps = 3};
    return m;
}

/* By hand: keys 16 wide, values 64; in 2 x 16 + 2 x 64 + 2 x 4 rows. */
Test(weights, gated_delta_net_has_these_rows)
{
    struct model m = linear_model();
    struct weights t;
    const struct {
        enum weight_role role;
        int64_t rows, cols;
    } want[] = {{WEIGHT_NORM, 64, 1},    {WEIGHT_LINEAR, 168, 64},
                {WEIGHT_CONV, 96, 3},    {WEIGHT_BIAS, 4, 1},
                {WEIGHT_BIAS, 4, 1},     {WEIGHT_NORM, 16, 1},
                {WEIGHT_LINEAR, 64, 64}, {WEIGHT_NORM, 64, 1}};
    weights_of_unit(&m, KIND_T_LEAN, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < 8; i++) {
        cr_expect_eq(t.row[i].role, want[i].role, "row %d", i);
        cr_expect_eq(t.row[i].rows, want[i].rows, "row %d", i);
        cr_expect_eq(t.row[i].cols, want[i].cols, "row %d", i);
    }
    // two tensor ranks hold halves, but for the norm of a head
    weights_of_unit(&m, KIND_T_LEAN, &(struct weight_shares){2, 1, 1}, &t);
    cr_expect_eq(t.row[1].rows, 84);
    cr_expect_eq(t.row[2].rows, 48);
    cr_expect_eq(t.row[3].rows, 2);
    cr_expect_eq(t.row[5].rows, 16);
    cr_expect_eq(t.row[6].cols, 32);
}

/* gdn2: gates of each key channel (twice) and value channel; the decay's bias
 * for each key channel, the decay for each key head. */
Test(weights, channel_gates_widen_the_way_in)
{
    struct model m = linear_model();
    int64_t heads = model_unit_params(&m, KIND_T_LEAN);
    m.linear.channel_gates = true;
    cr_assert_eq(model_unit_params(&m, KIND_T_LEAN) - heads,
                 64 * (2 * 16 + 64 - 2 * 4) + (16 - 4) + (2 - 4));
}

Test(weights, an_indexer_is_whole_on_every_rank)
{
    struct model m = model_with(1U << 10 | 1U << 11), plain;
    plain = m;
    m.indexer = (struct indexer){.heads = 4, .dim = 8, .topk = 16};
    int64_t indexer = 24 * 4 * 8 + 64 * 8 + 64 * 4 + 2 * 8;
    cr_assert_eq(model_unit_params(&m, KIND_T) -
                     model_unit_params(&plain, KIND_T),
                 indexer);
    for (int tp = 1; tp <= 2; tp++) {
        const struct weight_shares shares = {tp, 1, 1};
        struct weights with, without;
        int64_t n = 0;
        weights_of_unit(&m, KIND_T, &shares, &with);
        weights_of_unit(&plain, KIND_T, &shares, &without);
        for (int i = 0; i < with.n; i++)
            n += weight_params(&with.row[i]);
        for (int i = 0; i < without.n; i++)
            n -= weight_params(&without.row[i]);
        cr_expect_eq(n, indexer, "TP %d", tp);
    }
    cr_assert_eq(model_unit_params(&m, KIND_T_LEAN),
                 model_unit_params(&plain, KIND_T), "a lean layer has none");
}

Test(weights, projections_to_and_from_the_latent_have_biases_as_linear_layers)
{
    struct model m = small_model(), biased;
    m.latent = 48;
    biased = m;
    biased.linear_bias = true;
    // joint and output projection, router, latent both ways, experts
    int64_t attention = 128 + 64, router = 4, latent = 48 + 64;
    int64_t experts = 4 * (256 + 48);
    cr_assert_eq(model_unit_params(&biased, KIND_T) -
                     model_unit_params(&m, KIND_T),
                 attention + router + latent + experts);
}

Test(weights, only_tables_and_the_output_layer_are_no_layers_of_the_model)
{
    struct model m = model_with(0);
    struct weights t;
    weights_of_unit(&m, KIND_L, &WEIGHTS_WHOLE, &t);
    cr_assert_eq(t.n, 2);
    cr_assert_eq(t.row[1].role, WEIGHT_OUTPUT);
    m.tied = true;
    weights_of_unit(&m, KIND_L, &WEIGHTS_WHOLE, &t);
    cr_assert_eq(t.n, 1, "a tied output layer weighs nothing");
}

Test(weights, sizes_that_64_bits_do_not_hold_are_refused)
{
    struct model m = small_model();
    struct err_msg msg = {""};
    cr_assert_eq(weights_check(&m, &msg), ERR_OK);
    m.n_experts = 1 << 16;
    m.moe_ffn = 1 << 22;
    m.hidden = 1 << 20;
    cr_assert_eq(weights_check(&m, &msg), ERR_RANGE);
    cr_assert_not_null(strstr(msg.text, "1e17"), "%s", msg.text);
}
