#include "memory/activations.h"
#include "memory/hybrid.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <string.h>

static struct model one_stage(void)
{
    struct model m = small_model();
    m.par = (struct parallel){1, 1, 1, 1, 1, 1, 1, 1};
    m.n_mtp = 0;
    return m;
}

/* 8 heads of 16 make an inner width of 128; 2 groups of 4 states. */
static struct memory_hybrid pattern(int mamba, int attention, int experts,
                                    int mlp)
{
    return (struct memory_hybrid){.n_main = {mamba, attention, experts, mlp},
                                  .state_dim = 4,
                                  .head_dim = 16,
                                  .n_groups = 2,
                                  .n_heads = 8};
}

static struct memory_rank of(const struct model *m, struct memory_hybrid h)
{
    struct memory_terms t;
    struct memory_rank r;
    memory_terms(m, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t);
    memory_hybrid_rank(&t, &h, &r);
    return r;
}

/* Projection to gate, x, B, C and a step a head; out; a convolution of four
 * steps with bias; three weights a head; gated norm, norm. */
Test(memory_hybrid, a_mamba_layer_by_hand)
{
    struct model m = one_stage();
    int64_t projected = 128 + 128 + 8 + 8 + 8, convolved = 128 + 8 + 8;
    int64_t params = projected * 64 + 64 * 128 + 5 * convolved + 3 * 8 + 128;
    struct memory_rank r1 = of(&m, pattern(1, 0, 0, 0));
    struct memory_rank r2 = of(&m, pattern(2, 0, 0, 0));
    cr_assert_eq(r2.params - r1.params, params + 64);
    // input and norm's output; projection, scan's and gate's output
    cr_assert_eq(r2.activation_bytes - r1.activation_bytes,
                 2 * 32 * (2 * 64 + projected + 2 * 128));
    cr_assert_eq(r2.static_bytes - r1.static_bytes, 18 * (params + 64));
}

Test(memory_hybrid, tensor_parallelism_divides_heads_and_groups)
{
    struct model m = one_stage();
    m.par.tp = m.par.world = 2;
    int64_t projected = (128 + 128 + 8 + 8 + 8) / 2, convolved = 144 / 2;
    struct memory_rank r1 = of(&m, pattern(1, 0, 0, 0));
    struct memory_rank r2 = of(&m, pattern(2, 0, 0, 0));
    cr_assert_eq(r2.params - r1.params,
                 projected * 64 + 64 * 64 + 5 * convolved + 3 * 4 + 64 + 64);
}

/* Attention and experts in layers of their own are one layer of a GPT. */
Test(memory_hybrid, attention_and_mlp_are_halves_of_a_gpt_layer)
{
    struct model m = one_stage();
    struct memory_rank none = of(&m, pattern(1, 0, 0, 0));
    struct memory_rank both = of(&m, pattern(1, 1, 1, 0));
    cr_assert_eq(both.params - none.params, model_unit_params(&m, KIND_T));
    cr_assert_eq(both.activation_bytes - none.activation_bytes,
                 memory_unit_activations(&m, KIND_T));
    both = of(&m, pattern(1, 1, 0, 1));
    cr_assert_eq(both.params - none.params,
                 model_unit_params(&m, KIND_T_DENSE));
    cr_assert_eq(both.activation_bytes - none.activation_bytes,
                 memory_unit_activations(&m, KIND_T_DENSE));
    struct memory_rank attention = of(&m, pattern(1, 1, 0, 0));
    // q, k, v, projection; a norm
    cr_assert_eq(attention.params - none.params,
                 64 * (64 + 2 * 32) + 64 * 64 + 64);
}

Test(memory_hybrid, mtp_depths_repeat_weights_but_not_activations)
{
    struct model m = one_stage();
    struct memory_hybrid h = pattern(2, 1, 1, 0);
    struct memory_rank plain = of(&m, h);
    h.n_each[HYBRID_ATTENTION] = h.n_each[HYBRID_EXPERTS] = 1;
    h.n_depths = m.n_mtp = 2;
    m.mtp_repeated = true;
    struct memory_rank repeated = of(&m, h);
    cr_assert_eq(repeated.params - plain.params, model_unit_params(&m, KIND_M));
    cr_assert_eq(repeated.activation_bytes - plain.activation_bytes,
                 2 * memory_unit_activations(&m, KIND_M));
    m.mtp_repeated = false;
    cr_assert_eq(of(&m, h).params - plain.params,
                 2 * model_unit_params(&m, KIND_M));
}

static const char *take(const char *text, struct memory_hybrid *h, int64_t *n)
{
    struct arena a;
    struct err_msg msg;
    struct megatron_flags f;
    arena_init(&a);
    flags_init(&f, &a);
    cr_assert_null(memory_hybrid_pattern(&f));
    flags_set(&f, FLAG_HYBRID_LAYER_PATTERN, text, &msg);
    cr_assert_str_eq(memory_hybrid_pattern(&f), text);
    const char *refusal = memory_hybrid_take(&f, h);
    cr_assert_null(memory_hybrid_pattern(&f), "taken out");
    *n = flags_int(&f, FLAG_NUM_LAYERS, 0);
    arena_clear(&a);
    return refusal;
}

Test(memory_hybrid, patterns_count_letters_of_the_decoder_and_of_a_depth)
{
    struct memory_hybrid h;
    int64_t n;
    cr_assert_null(take("MEM*E-M/*E/*E", &h, &n));
    cr_assert_eq(n, 7);
    cr_assert_eq(h.n_main[HYBRID_MAMBA], 3);
    cr_assert_eq(h.n_main[HYBRID_EXPERTS], 2);
    cr_assert_eq(h.n_main[HYBRID_ATTENTION], 1);
    cr_assert_eq(h.n_main[HYBRID_MLP], 1);
    cr_assert_eq(h.n_depths, 2);
    cr_assert_eq(h.n_each[HYBRID_ATTENTION], 1);
    cr_assert_eq(h.state_dim, 128, "Megatron's default");
    cr_assert_not_null(strstr(take("MG", &h, &n), "letters"));
    cr_assert_not_null(strstr(take("M*|ME", &h, &n), "stages"));
    cr_assert_not_null(strstr(take("M/*E/E*M", &h, &n), "differ"));
    cr_assert_not_null(strstr(take("M/X", &h, &n), "letters"));
}

Test(memory_hybrid, what_is_not_modelled_in_it_is_refused)
{
    struct model m = one_stage();
    struct memory_hybrid h = pattern(1, 1, 0, 0);
    cr_assert_null(memory_hybrid_refusal(&m, &h));
    m.memory.fp8 = true;
    cr_assert_not_null(strstr(memory_hybrid_refusal(&m, &h), "FP8"));
    m.memory.fp8 = false;
    m.par.pp = 2;
    cr_assert_not_null(strstr(memory_hybrid_refusal(&m, &h), "stages"));
    m.par.pp = 1;
    h.n_heads = h.head_dim = 1 << 16;
    m.batch.seq_tokens = 1 << 24;
    cr_assert_not_null(strstr(memory_hybrid_refusal(&m, &h), "4e18"));
}
