#include "model/as_hybrid.h"
#include "model/weights.h"
#include "small_model.h"

#include <criterion/criterion.h>

#include <math.h>

/* Layers 0 and 2 dense, 1 and 3 with experts. */
static const uint8_t every_other[] = {0, 1, 0, 1};

static struct model mixed_model(void)
{
    struct model m = small_model();
    m.n_layers = 4;
    m.layer_moe = every_other;
    m.kv_lora = 32;
    m.q_lora = 24;
    m.qk_dim = 16;
    m.qk_rope_dim = 8;
    m.v_dim = 16;
    return m;
}

/* FLOPs of all units; equal sums in another order differ in the last digits. */
static double all_flops(const struct model *m)
{
    double sum = 0;
    for (int k = 0; k < N_KINDS; k++)
        sum += model_unit_count(m, (enum unit_kind)k) *
               model_unit_fwd_flops(m, (enum unit_kind)k);
    return sum;
}

static void weighs_the_same(const struct model *m, const char *symbols)
{
    struct arena a;
    struct err_msg msg = {{0}};
    struct model h;
    arena_init(&a);
    cr_assert_eq(model_as_hybrid(&a, m, &h, &msg), ERR_OK, "%s", msg.text);
    cr_assert_str_eq(h.symbols, symbols);
    cr_assert_eq(h.n_layers, 2 * m->n_layers);
    cr_assert_eq(model_total_params(&h), model_total_params(m));
    cr_assert_eq(model_active_params(&h), model_active_params(m));
    cr_assert_eq(model_mtp_params(&h), model_mtp_params(m));
    cr_assert_float_eq(all_flops(&h) / all_flops(m), 1, 1e-14);
    arena_clear(&a);
}

Test(as_hybrid, halves_weigh_what_layers_weigh)
{
    struct model m = mixed_model();
    m.n_mtp = 1;
    weighs_the_same(&m, "*-*E*-*E");
    m.layernorm = m.linear_bias = m.qk_norm = m.post_norms = m.attn_gate = true;
    weighs_the_same(&m, "*-*E*-*E");
    m.attn_gate = false;
    m.mla = true;
    weighs_the_same(&m, "+-+E+-+E");
    m.indexer = (struct indexer){4, 8, 16};
    weighs_the_same(&m, "D-DED-DE");
}

/* A kind counts the mean of its layers, and MTP's that of its layer's kind:
 * dense layers see all, those with experts a window, and m is one of these. */
Test(as_hybrid, windows_go_with_their_attention)
{
    struct model m = mixed_model();
    m.n_mtp = 0;
    m.window = 8;
    m.layer_window = every_other;
    weighs_the_same(&m, "*-*E*-*E");
}

Test(as_hybrid, gated_delta_net_is_a_symbol_and_shared_top_k_has_none)
{
    struct arena a;
    struct err_msg msg = {{0}};
    struct model m = mixed_model(), h;
    arena_init(&a);
    m.layer_lean = every_other;
    m.linear = (struct linear_attention){2, 4, 16, 16, 4, false};
    weighs_the_same(&m, "*-GE*-GE");
    m.linear.v_heads = 0;
    cr_assert_eq(model_as_hybrid(&a, &m, &h, &msg), ERR_RANGE);
    arena_clear(&a);
}

/* Nemotron-3 Nano's Mamba layers, by hand from its published config: hidden
 * 2688, 64 heads of 64, 8 groups, state 128. */
Test(as_hybrid, mamba_layer_counted_by_hand)
{
    struct model m = small_model();
    m.hidden = 2688;
    m.n_layers = 1;
    m.symbols = "M";
    m.mamba = (struct mamba){128, 64, 8, 64};
    const int64_t inner = 4096, states = 1024, heads = 64;
    const int64_t in = 2688 * (2 * inner + 2 * states + heads);
    const int64_t convolved = inner + 2 * states;
    cr_assert_eq(model_unit_params(&m, KIND_MAMBA), 2688 + in + 4 * convolved +
                                                        convolved + 3 * heads +
                                                        inner + inner * 2688);
    const double tokens = (double)(m.batch.micro_batch * m.batch.seq_tokens);
    cr_assert_float_eq(
        model_unit_fwd_flops(&m, KIND_MAMBA),
        tokens *
            (double)(2 * (in + inner * 2688 + 4 * convolved) + 7 * inner * 128),
        1);
}

Test(as_hybrid, every_symbol_finds_its_kind_and_back)
{
    for (const char *s = "MG*+D-E"; *s; s++)
        cr_assert_eq(kind_symbol(kind_of_symbol(*s)), *s);
    cr_assert_eq(kind_of_symbol('t'), N_KINDS);
    cr_assert_eq(kind_of_symbol('\0'), N_KINDS);
    cr_assert_eq(kind_symbol(KIND_E), '\0');
}

Test(as_hybrid, no_model_has_more_symbols_than_there_may_be_layers)
{
    static const uint8_t none[MODEL_MAX_LAYERS];
    struct arena a;
    struct err_msg msg = {{0}};
    struct model m = small_model(), h;
    arena_init(&a);
    m.layer_moe = none;
    m.n_layers = MODEL_MAX_LAYERS / 2;
    cr_expect_eq(model_as_hybrid(&a, &m, &h, &msg), ERR_OK, "%s", msg.text);
    m.n_layers++;
    cr_expect_eq(model_as_hybrid(&a, &m, &h, &msg), ERR_RANGE);
    arena_clear(&a);
}

/* Megatron gives Mamba layers no norm behind them. */
Test(as_hybrid, norms_behind_a_layer_are_not_mambas)
{
    static const enum unit_kind kinds[] = {KIND_MAMBA, KIND_ATTENTION,
                                           KIND_MLP};
    struct model m = small_model();
    m.symbols = "M*-";
    m.n_layers = 3;
    m.mamba = (struct mamba){4, 16, 2, 8};
    struct model more = m;
    more.post_norms = true;
    for (int i = 0; i < 3; i++)
        cr_expect_eq(model_unit_params(&more, kinds[i]) -
                         model_unit_params(&m, kinds[i]),
                     i == 0 ? 0 : m.hidden, "%s", kind_name(kinds[i]));
}

/* Sparse attention that stands in MTP alone sees its top-k keys, too. */
Test(as_hybrid, sparse_attention_of_mtp_sees_its_keys)
{
    struct model m = mixed_model();
    m.mla = true;
    m.indexer = (struct indexer){4, 8, 16};
    m.n_layers = 2;
    m.layer_moe = NULL;
    m.symbols = "D-";
    const double flops = model_unit_fwd_flops(&m, KIND_SPARSE);
    m.symbols = "+-";
    m.mtp_symbols = "D-";
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_SPARSE), flops, 1e-6);
}

/* Numbers of layers count symbols; what never goes with a pattern is gone. */
Test(as_hybrid, fixed_ends_hold_as_many_pairs)
{
    struct arena a;
    struct model m = small_model(), h;
    struct err_msg msg;
    arena_init(&a);
    m.split = (struct default_split){3, 1, 2, true, true, true};
    cr_assert_eq(model_as_hybrid(&a, &m, &h, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(h.split.first_layers, 6);
    cr_expect_eq(h.split.last_layers, 2);
    cr_expect_eq(h.split.chunk_layers, 0);
    cr_expect(!h.split.count_embedding && !h.split.count_loss &&
              !h.split.virtual_stages);
    arena_clear(&a);
}
