/* Hybrid models: the halves of a GPT model's layers have its bytes, in any
 * layout and with any option; Mamba and gated delta net by hand. */
#include "base/random.h"
#include "memory/activations.h"
#include "memory/assumed.h"
#include "memory/memory.h"
#include "memory/mixers.h"
#include "model/as_hybrid.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a model of symbols on one stage ---- */

/* 8 heads of 16 make an inner width of 128; 2 groups of 4 states. */
static struct model one_stage(const char *symbols)
{
    struct model m = small_model();
    m.par = (struct parallel){1, 1, 1, 1, 1, 1, 1, 1};
    m.n_mtp = 0;
    m.symbols = symbols;
    m.n_layers = (int)strlen(symbols);
    m.mamba = (struct mamba){4, 16, 2, 8};
    return m;
}

static struct memory_rank of(const struct model *m)
{
    struct arena a;
    struct layout l;
    struct err_msg msg = {""};
    struct memory_terms t;
    struct memory_rank r;
    char text[40];
    arena_init(&a);
    snprintf(text, sizeof text, "Et*%d%.*sL", m->n_layers, m->n_mtp, "mmmm");
    const struct layout_question q = {text, m->par.pp, m->n_layers, m->n_mtp};
    cr_assert_eq(layout_read_question(&a, &q, &l, &msg), ERR_OK, "%s",
                 msg.text);
    memory_terms(m, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t);
    memory_rank(&t, &l, 0, &r);
    arena_clear(&a);
    return r;
}

/* Projection to gate, x, B, C and a step a head; out; a convolution of four
 * steps with bias; three weights a head; gated norm, norm. */
Test(memory_hybrid, a_mamba_layer_by_hand)
{
    struct model m1 = one_stage("M"), m2 = one_stage("MM");
    int64_t projected = 128 + 128 + 8 + 8 + 8, convolved = 128 + 8 + 8;
    int64_t params = projected * 64 + 64 * 128 + 5 * convolved + 3 * 8 + 128;
    struct memory_rank r1 = of(&m1), r2 = of(&m2);
    cr_assert_eq(r2.params - r1.params, params + 64);
    // input and norm's output; projection, scan's and gate's output
    cr_assert_eq(memory_unit_activations(&m1, KIND_MAMBA),
                 2 * 32 * (2 * 64 + projected + 2 * 128));
    cr_assert_eq(r2.activation_bytes - r1.activation_bytes,
                 memory_unit_activations(&m1, KIND_MAMBA));
    cr_assert_eq(r2.static_bytes - r1.static_bytes, 18 * (params + 64));
    // one chunk of the scan, in fp32 with its gradient; the convolution's
    // output with its gradient
    cr_assert_eq(memory_working_bytes(&m1, KIND_MAMBA),
                 2 * 4 * 128 * 4 + 2 * 2 * 32 * convolved);
}

Test(memory_hybrid, tensor_parallelism_divides_heads_and_groups)
{
    struct model m1 = one_stage("M"), m2 = one_stage("MM");
    m1.par.tp = m1.par.world = m2.par.tp = m2.par.world = 2;
    int64_t projected = (128 + 128 + 8 + 8 + 8) / 2, convolved = 144 / 2;
    cr_assert_eq(of(&m2).params - of(&m1).params,
                 projected * 64 + 64 * 64 + 5 * convolved + 3 * 4 + 64 + 64);
}

/* The input of the way out is kept in FP8, and so is the norm's output. */
Test(memory_hybrid, fp8_keeps_inputs_of_linear_layers_in_one_byte)
{
    struct model m = one_stage("M");
    int64_t bf16 = memory_unit_activations(&m, KIND_MAMBA);
    m.memory.fp8 = true;
    cr_assert_eq(bf16 - memory_unit_activations(&m, KIND_MAMBA),
                 32 * (64 + 128));
}

/* Context parallelism divides the tokens, and recompute of norms leaves Mamba's
 * alone. */
Test(memory_hybrid, a_mamba_layer_of_half_a_sequence)
{
    struct model m = one_stage("M");
    const int64_t whole = memory_unit_activations(&m, KIND_MAMBA);
    m.par.cp = 2;
    cr_expect_eq(2 * memory_unit_activations(&m, KIND_MAMBA), whole);
    m.par.cp = 1;
    m.memory.recompute = 1U << RECOMPUTE_LAYERNORM;
    cr_expect_eq(memory_unit_activations(&m, KIND_MAMBA), whole);
    cr_expect_lt(memory_unit_activations(&m, KIND_ATTENTION),
                 memory_unit_activations_plain(&m, KIND_ATTENTION));
}

/* Two key heads of 8, four value heads of 16: keys are 16 wide, and 32 for as
 * many heads as values have, values 64; a projection of 2*16 + 2*64 + 8. */
Test(memory_hybrid, gated_delta_net_by_hand)
{
    struct model m = one_stage("G");
    m.linear = (struct linear_attention){2, 4, 8, 16, 4, false};
    const int64_t values =
        168 + (2 * 16 + 64) + 2 * 32 + 64 + 4 * 64 + 3 * 64 + 64;
    cr_assert_eq(memory_unit_activations(&m, KIND_DELTA),
                 32 * (2 * (2 * 64 + values) + 4 * 2 * 4));
    // one chunk's states of 4 heads x 8 x 16 with gradients; three products a
    // token; the convolution's output
    cr_assert_eq(
        memory_working_bytes(&m, KIND_DELTA),
        2 * (2 * 4 * 8 * 16 + 32 * (32 + 2 * 64) + 32 * (2 * 16 + 64)));
}

/* Four heads: queries of 8 + 4, as latents 16 + 4, one key of 20; latents of
 * queries and keys on both sides of their norms; out as latents, then values of
 * 8. The indexer: two heads of 8 with a key and two weights, 16 picked keys. */
Test(memory_hybrid, sparse_attention_by_hand)
{
    struct model m = one_stage("D");
    m.mla = true;
    m.q_lora = 24;
    m.kv_lora = 16;
    m.qk_dim = m.v_dim = 8;
    m.qk_rope_dim = 4;
    m.indexer = (struct indexer){2, 8, 16};
    const int64_t latents = 2 * 24 + 2 * 16 + 4;
    const int64_t values = latents + 4 * (12 + 20) + 20 + 4 * 16 + 4 * 8;
    const int64_t indexer = 2 * (16 + 8 + 2) + 8 * 16;
    cr_assert_eq(memory_unit_activations(&m, KIND_SPARSE),
                 32 * (2 * (2 * 64 + values) + indexer));
    m.memory.recompute = 1U << RECOMPUTE_MLA_UP_PROJ;
    cr_assert_eq(memory_unit_activations(&m, KIND_SPARSE),
                 32 * (2 * (2 * 64 + latents + 4 * 16 + 4 * 8) + indexer));
}

/* A stage that ends between the halves: scores stand on the one with
 * attention. */
Test(memory_hybrid, scores_belong_to_attention)
{
    struct model m = one_stage("*E");
    m.memory.unfused_attention = true;
    cr_assert_eq(memory_working_bytes(&m, KIND_ATTENTION),
                 memory_scores_bytes(&m));
    cr_assert_gt(memory_scores_bytes(&m), 0);
    cr_assert_eq(memory_working_bytes(&m, KIND_EXPERTS), 0);
    m.n_mtp = 1;
    m.mtp_symbols = "E";
    cr_assert_eq(memory_working_bytes(&m, KIND_M), 0);
    m.mtp_symbols = "*E";
    cr_assert_eq(memory_working_bytes(&m, KIND_M), memory_scores_bytes(&m));
}

Test(memory_hybrid, mtp_depths_repeat_weights_but_not_activations)
{
    struct model m = one_stage("MM*E");
    m.n_mtp = 0;
    struct memory_rank plain = of(&m);
    m.mtp_symbols = "*E";
    m.n_mtp = 2;
    m.mtp_repeated = true;
    struct memory_rank repeated = of(&m);
    cr_assert_eq(repeated.params - plain.params, model_unit_params(&m, KIND_M));
    m.mtp_repeated = false;
    cr_assert_eq(of(&m).params - plain.params,
                 2 * model_unit_params(&m, KIND_M));
    // embedding, two norms' outputs, projection's input; the two layers
    cr_assert_eq(memory_unit_activations(&m, KIND_M),
                 5 * memory_hidden_bytes(&m) +
                     memory_unit_activations(&m, KIND_ATTENTION) +
                     memory_unit_activations(&m, KIND_EXPERTS));
}

/* ---- the same model as GPT and as hybrid ---- */

static int below(uint64_t *r, int n)
{
    return (int)(random_next(r) % (uint64_t)n);
}

static bool coin(uint64_t *r)
{
    return below(r, 2) == 1;
}

/* Options that both have; full recompute counts layers, offloading and graphs
 * are refused in hybrid models. */
static void draw_options(uint64_t *r, struct model *m)
{
    struct memory_options *o = &m->memory;
    m->par.tp = 1 + coin(r);
    m->par.world = m->par.tp * m->par.pp;
    o->sequence_parallel = m->par.tp > 1 && coin(r);
    o->distributed = coin(r);
    o->fp8 = coin(r);
    o->fp8_copy_bytes = o->fp8 ? 2 : 0;
    o->hidden_dropout = coin(r);
    o->attention_dropout = coin(r);
    o->unfused_attention = coin(r);
    o->unfused_act = coin(r);
    o->grad_fusion = coin(r);
    o->grouped_gemm = coin(r);
    o->attention_mask = coin(r);
    o->optimizer = coin(r) ? OPTIMIZER_MUON : OPTIMIZER_ADAM;
    o->recompute = (unsigned)below(r, 1 << N_RECOMPUTE);
    o->param_bytes = 2;
    o->grad_bytes = 4;
    o->state_bytes = 12;
    o->muon_state_bytes = 8;
    m->layernorm = coin(r);
    m->linear_bias = coin(r);
    m->learned_positions = coin(r);
    m->max_positions = 32;
    m->qk_norm = coin(r);
    m->tied = coin(r);
    m->gated = coin(r);
    m->shared_ffn = coin(r) ? 64 : 0;
    m->latent = coin(r) ? 32 : 0;
    m->batch.n_microbatches = 1 + (int64_t)below(r, 8);
}

/* Dense and MoE layers; heads, latents with and without an indexer, or gated
 * delta net in some. */
static void draw_model(uint64_t *r, struct model *m, uint8_t moe[],
                       uint8_t lean[])
{
    *m = small_model();
    m->n_layers = 2 + below(r, 7);
    m->n_mtp = below(r, 3);
    m->mtp_repeated = coin(r);
    for (int i = 0; i < m->n_layers; i++) {
        moe[i] = coin(r);
        lean[i] = coin(r);
    }
    m->layer_moe = moe;
    if (below(r, 4) == 0)
        m->n_experts = m->topk = 0;
    m->mla = coin(r);
    m->kv_lora = 16;
    m->q_lora = coin(r) ? 24 : 0;
    m->qk_dim = 8;
    m->qk_rope_dim = 4;
    m->v_dim = 8;
    if (m->mla && coin(r))
        m->indexer = (struct indexer){2, 8, 16};
    if (!m->mla && coin(r)) {
        m->linear = (struct linear_attention){2, 4, 8, 16, 4, false};
        m->layer_lean = lean;
    }
    m->par.pp = 1 + below(r, 4);
}

/* A layout of `units` letters t a layer, cut at the same places. */
static const char *draw_layout(struct arena *a, const struct model *m,
                               const int cut[], int n_stages, int units)
{
    const char *text = "E";
    for (int s = 0, at = 0; s < n_stages; s++) {
        int to = s + 1 < n_stages ? cut[s] : m->n_layers;
        for (; at < to; at++)
            text = arena_printf(a, "%s%s", text, units == 2 ? "tt" : "t");
        if (s + 1 < n_stages)
            text = arena_printf(a, "%s|", text);
    }
    for (int i = 0; i < m->n_mtp; i++)
        text = arena_printf(a, "%sm", text);
    return arena_printf(a, "%sL", text);
}

static void same_ranks(struct arena *a, const struct model *gpt,
                       const char *const text[2])
{
    struct model h;
    struct layout l[2];
    struct memory_terms t[2];
    struct err_msg msg = {""};
    cr_assert_eq(model_as_hybrid(a, gpt, &h, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(layout_read(a, text[0], gpt, &l[0], &msg), ERR_OK, "%s: %s",
                 text[0], msg.text);
    const struct layout_question q = {text[1], h.par.pp, h.n_layers, h.n_mtp};
    cr_assert_eq(layout_read_question(a, &q, &l[1], &msg), ERR_OK, "%s: %s",
                 text[1], msg.text);
    memory_terms(gpt, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t[0]);
    memory_terms(&h, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t[1]);
    for (int rank = 0; rank < gpt->par.pp; rank++) {
        struct memory_rank r[2];
        memory_rank(&t[0], &l[0], rank, &r[0]);
        memory_rank(&t[1], &l[1], rank, &r[1]);
        cr_assert(r[0].params == r[1].params &&
                      r[0].static_bytes == r[1].static_bytes &&
                      r[0].optimizer_bytes == r[1].optimizer_bytes &&
                      r[0].workspace_bytes == r[1].workspace_bytes &&
                      r[0].activation_bytes == r[1].activation_bytes &&
                      r[0].head_bytes == r[1].head_bytes &&
                      r[0].peak_bytes == r[1].peak_bytes &&
                      r[0].in_flight == r[1].in_flight,
                  "%s rank %d: %lld of %s, %lld of %s", h.symbols, rank,
                  (long long)r[0].peak_bytes, text[0],
                  (long long)r[1].peak_bytes, text[1]);
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

Test(memory_hybrid, the_same_layout_has_the_same_bytes_through_both)
{
    enum { CASES = 3000, MAX_STAGES = 8, MAX_LAYERS = 8 };
    uint64_t r = 14;
    for (int i = 0; i < CASES; i++) {
        struct arena a;
        struct model m;
        uint8_t moe[MAX_LAYERS], lean[MAX_LAYERS];
        int cut[MAX_STAGES];
        arena_init(&a);
        draw_model(&r, &m, moe, lean);
        draw_options(&r, &m);
        m.par.vpp = m.par.pp > 1 && coin(&r) ? 2 : 1;
        const int n = m.par.pp * m.par.vpp;
        for (int s = 0; s < n; s++)
            cut[s] = below(&r, m.n_layers + 1);
        qsort(cut, (size_t)n - 1, sizeof cut[0], by_value);
        const char *const text[2] = {draw_layout(&a, &m, cut, n, 1),
                                     draw_layout(&a, &m, cut, n, 2)};
        same_ranks(&a, &m, text);
        arena_clear(&a);
    }
}

/* ---- full recompute counts symbols ---- */

/* Eight layers in groups of two keep four inputs, sixteen symbols eight. */
Test(memory_hybrid, full_recompute_counts_symbols_as_layers)
{
    struct model m = one_stage("*E*E*E*E*E*E*E*E");
    const int64_t state = memory_hidden_bytes(&m);
    const int64_t around = memory_unit_activations(&m, KIND_L);
    m.memory.full_recompute = RECOMPUTE_UNIFORM;
    m.memory.recompute_layers = 2;
    cr_assert_eq(of(&m).activation_bytes, 8 * state + around);
    m.memory.full_recompute = RECOMPUTE_BLOCK;
    m.memory.recompute_layers = 3; // * E *
    int64_t whole = 6 * memory_unit_activations_plain(&m, KIND_ATTENTION) +
                    7 * memory_unit_activations_plain(&m, KIND_EXPERTS);
    cr_assert_eq(of(&m).activation_bytes, 3 * state + whole + around);
}

/* Modules of both halves come back at once, of two mixers only one. */
Test(memory_hybrid, what_is_recomputed_of_both_halves_counts_at_once)
{
    static const char *const all[] = {"*E", "**E"};
    for (int i = 0; i < 2; i++) {
        struct model m = one_stage(all[i]);
        m.padded_vocab = 16; // logits are no peak
        m.memory.recompute =
            1U << RECOMPUTE_LAYERNORM | 1U << RECOMPUTE_MOE_ACT;
        const int64_t mixer = memory_unit_recomputed(&m, KIND_ATTENTION).mixer;
        const int64_t mlp = memory_unit_recomputed(&m, KIND_EXPERTS).mlp;
        cr_assert(mixer > 0 && mlp > 0);
        cr_expect_eq(of(&m).activation_bytes,
                     (i + 1) * memory_unit_activations(&m, KIND_ATTENTION) +
                         memory_unit_activations(&m, KIND_EXPERTS) +
                         memory_unit_activations(&m, KIND_L) + mixer + mlp,
                     "%s", all[i]);
    }
}

/* ---- what is refused and what is said ---- */

Test(memory_hybrid, what_is_not_modelled_is_refused)
{
    struct model m = one_stage("M*");
    cr_assert_null(memory_refusal(&m));
    m.memory.offload = 1;
    cr_assert(strstr(memory_refusal(&m), "offloading"));
    m.memory.offload = 0;
    m.memory.graphs = true;
    cr_assert(strstr(memory_refusal(&m), "CUDA graphs"));
    m.memory.graphs = false;
    m.overlap_moe_comm = true;
    cr_assert(strstr(memory_refusal(&m), "EP overlap"));
    m.overlap_moe_comm = false;
    m.memory.deterministic = m.memory.unfused_attention = true;
    cr_assert_null(memory_refusal(&m));
    m.symbols = "MG";
    cr_assert(strstr(memory_refusal(&m), "deterministic"));
    m.symbols = "MD";
    cr_assert(strstr(memory_refusal(&m), "fused kernel"));
    m.mamba.n_heads = m.mamba.head_dim = m.mamba.state_dim = 1 << 16;
    m.batch.seq_tokens = 1 << 24;
    cr_assert(strstr(memory_refusal(&m), "4e18"));
}

static int n_unchecked(const struct model *m)
{
    struct arena a;
    struct memory_terms t;
    struct memory_assumed said;
    struct err_msg msg = {""};
    int n = 0;
    arena_init(&a);
    memory_terms(m, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t);
    cr_assert_eq(
        memory_assumed(&a, &t, (struct memory_stated){true, true}, &said, &msg),
        ERR_OK);
    for (int i = 0; i < said.n; i++)
        n += strstr(said.text[i], "unchecked: ") == said.text[i];
    arena_clear(&a);
    return n;
}

Test(memory_hybrid, what_no_run_was_held_against_is_said)
{
    struct model m = one_stage("M*E-");
    cr_assert_eq(n_unchecked(&m), 0);
    m.par.pp = 2;
    cr_assert_eq(n_unchecked(&m), 1, "stages");
    m.symbols = "MGED";
    m.linear = (struct linear_attention){2, 4, 8, 16, 4, false};
    m.indexer = (struct indexer){2, 8, 16};
    cr_assert_eq(n_unchecked(&m), 3, "G and D");
    m.memory.fp8 = true;
    m.memory.recompute = 1U << RECOMPUTE_MOE_ACT;
    cr_assert_eq(n_unchecked(&m), 5, "FP8 of M, recompute");
    m.symbols = NULL;
    cr_assert_eq(n_unchecked(&m), 0, "a GPT model");
}

/* Heads of one value, one state, one group: nothing hides behind another term.
 */
Test(memory_hybrid, the_bound_is_above_what_mamba_takes)
{
    static const struct mamba shapes[] = {
        {1, 1, 1, 1024}, {4, 16, 2, 8}, {128, 64, 8, 64}, {1 << 12, 1, 64, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int fp32 = 0; fp32 < 2; fp32++) {
            struct model m = one_stage("M");
            m.mamba = shapes[i];
            m.batch.seq_tokens = 1 << 14;
            m.memory.fp32 = fp32;
            const int64_t all = memory_mixer_bytes(&m, KIND_MAMBA, &m.memory) +
                                memory_working_bytes(&m, KIND_MAMBA);
            cr_expect_geq(memory_mixers_bound(&m), (double)all, "%zu, %d", i,
                          fp32);
        }
}
