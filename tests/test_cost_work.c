#include "cost/work.h"
#include "model/as_hybrid.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static double flops_of(const struct work_pass *p)
{
    double sum = 0;
    for (int i = 0; i < p->n_products; i++)
        sum += p->product[i].flops;
    return sum;
}

static struct work work_of(const struct model *m, enum unit_kind k)
{
    struct work w;
    work_of_unit(m, k, &w);
    return w;
}

/* A long sequence, so that the causal half is not rounded away. */
static struct model one_rank(void)
{
    struct model m = small_model();
    m.batch.seq_tokens = 256;
    return m;
}

/* Two counts made apart: the unit's own, and the products of its weights. */
Test(work, products_have_the_flops_that_the_model_counts)
{
    const struct model m = one_rank();
    static const enum unit_kind kinds[] = {KIND_T, KIND_M, KIND_L};
    for (size_t i = 0; i < 3; i++) {
        const struct work w = work_of(&m, kinds[i]);
        const double want = model_unit_fwd_flops(&m, kinds[i]);
        cr_expect_float_eq(flops_of(&w.forward) / want, 1, 1e-12, "%s",
                           kind_name(kinds[i]));
    }
}

/* Twice for products; a fused attention makes its scores once more. */
Test(work, a_backward_has_two_products_for_each_of_a_forward)
{
    const struct model m = one_rank();
    const struct work l = work_of(&m, KIND_L), t = work_of(&m, KIND_T);
    cr_assert_float_eq(flops_of(&l.backward) / flops_of(&l.forward), 2, 1e-12);
    const double ratio = flops_of(&t.backward) / flops_of(&t.forward);
    cr_assert(ratio > 2 && ratio < 2.5, "%g", ratio);
}

Test(work, a_kind_that_the_model_lacks_does_nothing)
{
    struct model m = one_rank();
    m.n_mtp = 0;
    const struct work none = work_of(&m, KIND_M);
    cr_assert_eq(none.forward.n_products + none.backward.n_products, 0);
    cr_assert_float_eq(none.backward.moved_bytes, 0, 0);
    cr_assert_gt(work_of(&m, KIND_T).forward.n_products, 0);
}

/* Each look-up makes the gradient of the whole table: 12 bytes an element, in E
 * and in m, whatever the number of tokens. */
Test(work, every_lookup_makes_a_gradient_of_the_whole_table)
{
    struct model m = one_rank();
    const double table = 12.0 * (double)(m.padded_vocab * m.hidden);
    for (int twice = 0; twice < 2; twice++) {
        m.padded_vocab *= 1 + twice;
        struct model larger = m;
        larger.padded_vocab *= 2;
        static const enum unit_kind kinds[] = {KIND_E, KIND_M};
        for (int i = 0; i < 2; i++) {
            const struct work w = work_of(&m, kinds[i]);
            const struct work x = work_of(&larger, kinds[i]);
            cr_expect_float_eq(x.backward.moved_bytes - w.backward.moved_bytes,
                               table * (1 + twice), 1, "%s",
                               kind_name(kinds[i]));
            cr_expect_float_eq(x.forward.moved_bytes, w.forward.moved_bytes, 0);
        }
    }
    const struct work t = work_of(&m, KIND_T);
    m.padded_vocab *= 2;
    cr_assert_float_eq(work_of(&m, KIND_T).backward.moved_bytes,
                       t.backward.moved_bytes, 0);
}

/* Main head and one of each MTP layer, in the loss stage. */
Test(work, the_loss_makes_a_pass_for_each_mtp_layer_more)
{
    struct model m = one_rank();
    const struct work one = work_of(&m, KIND_L);
    m.n_mtp = 0;
    const struct work none = work_of(&m, KIND_L);
    cr_assert_float_eq(flops_of(&one.backward), 2 * flops_of(&none.backward),
                       1);
    m.n_mtp = 40; // products do not run out of room
    const struct work many = work_of(&m, KIND_L);
    cr_assert_float_eq(flops_of(&many.forward), 41 * flops_of(&none.forward),
                       1);
}

Test(work, a_fused_loss_moves_less_than_half)
{
    struct model m = one_rank();
    m.padded_vocab = 1 << 16;
    const double apart = work_of(&m, KIND_L).forward.moved_bytes;
    m.memory.loss_fusion = true;
    const double fused = work_of(&m, KIND_L).forward.moved_bytes;
    cr_assert(fused < apart / 2 && fused > 0, "%g %g", fused, apart);
}

/* The backward does the forward again; embedding and loss keep what they made.
 */
Test(work, full_recompute_adds_the_forward_to_the_backward)
{
    struct model m = one_rank();
    struct model full = m;
    full.memory.full_recompute = RECOMPUTE_UNIFORM;
    const struct work a = work_of(&m, KIND_T), b = work_of(&full, KIND_T);
    cr_assert_float_eq(flops_of(&b.backward),
                       flops_of(&a.backward) + flops_of(&a.forward), 1);
    cr_assert_float_eq(b.backward.moved_bytes,
                       a.backward.moved_bytes + a.forward.moved_bytes, 1);
    cr_assert_float_eq(b.backward.n_kernels,
                       a.backward.n_kernels + a.forward.n_kernels, 1e-9);
    static const enum unit_kind kept[] = {KIND_E, KIND_L};
    for (int i = 0; i < 2; i++)
        cr_expect_float_eq(work_of(&full, kept[i]).backward.moved_bytes,
                           work_of(&m, kept[i]).backward.moved_bytes, 0);
}

Test(work, modules_are_recomputed_by_themselves)
{
    for (int r = 0; r < N_RECOMPUTE; r++) {
        struct model m = one_rank(), plain = m;
        if (r == RECOMPUTE_MLP || r == RECOMPUTE_SHARED_EXPERTS ||
            r == RECOMPUTE_MLA_UP_PROJ)
            continue; // the model has none of them
        m.memory.recompute = 1U << r;
        const struct work a = work_of(&plain, KIND_T), b = work_of(&m, KIND_T);
        const double more = flops_of(&b.backward) - flops_of(&a.backward) +
                            b.backward.moved_bytes - a.backward.moved_bytes;
        cr_expect_gt(more, 0, "module %d", r);
        cr_expect_lt(flops_of(&b.backward),
                     flops_of(&a.backward) + flops_of(&a.forward), "module %d",
                     r);
    }
}

/* Ranks of tensor parallelism share the products, and then send. */
Test(work, tensor_parallelism_divides_products_and_sends_sums)
{
    struct model m = one_rank(), two = m;
    two.par.tp = two.par.etp = 2;
    const struct work a = work_of(&m, KIND_L), b = work_of(&two, KIND_L);
    cr_assert_float_eq(flops_of(&b.forward), flops_of(&a.forward) / 2, 1);
    cr_assert_float_eq(work_of(&m, KIND_T).forward.sent_bytes, 0, 0);
    cr_assert_gt(work_of(&two, KIND_T).forward.sent_bytes, 0);
}

/* Experts of other ranks cost messages; EP overlap hides them, copies stay. */
Test(work, expert_parallelism_sends_what_overlap_hides)
{
    struct model m = one_rank();
    const double bytes = work_of(&m, KIND_T).forward.moved_bytes;
    cr_assert_float_eq(work_of(&m, KIND_T).forward.routed_bytes, 0, 0);
    m.par.ep = 2;
    const struct work shared = work_of(&m, KIND_T);
    const double rows =
        (double)(m.batch.micro_batch * m.batch.seq_tokens) * (double)m.topk;
    cr_assert_float_eq(shared.forward.routed_bytes,
                       2 * 2 * rows * (double)m.hidden / 2, 1e-6);
    cr_assert_gt(shared.forward.moved_bytes, bytes);
    m.overlap_moe_comm = true;
    cr_assert_float_eq(work_of(&m, KIND_T).backward.routed_bytes, 0, 0);
}

/* All experts of the rank are read for a handful of tokens. */
Test(work, every_expert_of_the_rank_is_read)
{
    struct model m = one_rank();
    m.batch.seq_tokens = 1;
    const struct work w = work_of(&m, KIND_T);
    double bytes = 0;
    for (int i = 0; i < w.forward.n_products; i++)
        bytes += w.forward.product[i].expert ? w.forward.product[i].bytes : 0;
    const double weights =
        2.0 * (double)(m.n_experts * 3 * m.moe_ffn * m.hidden);
    cr_assert(bytes >= weights && bytes < 1.1 * weights, "%g %g", bytes,
              weights);
}

Test(work, graphs_start_no_kernels_one_by_one)
{
    struct model m = one_rank();
    cr_assert_gt(work_of(&m, KIND_T).forward.n_kernels, 10);
    m.memory.graphs = true;
    cr_assert_float_eq(work_of(&m, KIND_T).forward.n_kernels, 0, 0);
}

Test(work, widths_that_tiles_do_not_divide_are_odd)
{
    struct model m = one_rank();
    struct work w = work_of(&m, KIND_L);
    cr_assert_not(w.forward.product[0].odd);
    m.padded_vocab = 1000;
    w = work_of(&m, KIND_L);
    cr_assert(w.forward.product[0].odd);
}

Test(work, only_linear_layers_are_in_fp8)
{
    struct model m = one_rank();
    m.memory.fp8 = true;
    const struct work t = work_of(&m, KIND_T), l = work_of(&m, KIND_L);
    int n = 0;
    for (int i = 0; i < t.forward.n_products; i++)
        n += t.forward.product[i].fp8;
    cr_assert_gt(n, 2);
    cr_assert_lt(n, t.forward.n_products); // router and scores are not
    cr_assert_not(l.forward.product[0].fp8);
}

/* The unit with the most products that a model can have still has room. */
Test(work, the_largest_unit_fits)
{
    struct model m = one_rank();
    m.mla = true;
    m.q_lora = 64;
    m.kv_lora = 32;
    m.qk_dim = m.v_dim = 16;
    m.qk_rope_dim = 8;
    m.latent = 32;
    m.shared_ffn = 128;
    m.shared_gate = m.linear_bias = m.layernorm = m.qk_norm = true;
    m.memory.full_recompute = RECOMPUTE_UNIFORM;
    const struct work w = work_of(&m, KIND_M);
    cr_assert_gt(w.backward.n_products, 30);
    cr_assert_lt(w.backward.n_products, WORK_MAX_PRODUCTS);
}

/* ---- symbols of hybrid models ---- */

/* Everything that is added up of a pass, products by what they take. */
struct totals {
    double flops, bytes, fp8, expert, odd, moved, sent, routed, kernels;
};

static void add_totals(struct totals *to, const struct work_pass *p)
{
    for (int i = 0; i < p->n_products; i++) {
        const struct work_product *x = &p->product[i];
        to->flops += x->flops;
        to->bytes += x->bytes;
        to->fp8 += x->fp8 ? x->flops : 0;
        to->expert += x->expert ? x->bytes : 0;
        to->odd += x->odd ? x->bytes : 0;
    }
    to->moved += p->moved_bytes;
    to->sent += p->sent_bytes;
    to->routed += p->routed_bytes;
    to->kernels += p->n_kernels;
}

static void same_totals(const struct totals *a, const struct totals *b,
                        const char *what)
{
    const double x[] = {a->flops, a->bytes, a->fp8,    a->expert, a->odd,
                        a->moved, a->sent,  a->routed, a->kernels};
    const double y[] = {b->flops, b->bytes, b->fp8,    b->expert, b->odd,
                        b->moved, b->sent,  b->routed, b->kernels};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        cr_expect_float_eq(x[i], y[i], 1e-12 * (1 + fabs(x[i])),
                           "%s: %zu: %g, %g", what, i, x[i], y[i]);
}

/* One unit of the GPT model against two symbols of the same model. */
static void halves_are(const struct model *gpt, enum unit_kind kind)
{
    struct arena a;
    struct model h;
    struct err_msg msg = {""};
    struct totals whole[2], halves[2];
    enum unit_kind half[2] = {KIND_M, KIND_M};
    memset(whole, 0, sizeof whole);
    memset(halves, 0, sizeof halves);
    arena_init(&a);
    cr_assert_eq(model_as_hybrid(&a, gpt, &h, &msg), ERR_OK, "%s", msg.text);
    if (kind != KIND_M)
        model_layer_halves(gpt, kind, half);
    const struct work w = work_of(gpt, kind);
    add_totals(&whole[0], &w.forward);
    add_totals(&whole[1], &w.backward);
    for (int i = 0; i < (kind == KIND_M ? 1 : 2); i++) {
        const struct work part = work_of(&h, half[i]);
        add_totals(&halves[0], &part.forward);
        add_totals(&halves[1], &part.backward);
    }
    cr_assert_gt(whole[0].flops, 0);
    same_totals(&whole[0], &halves[0], kind_name(kind));
    same_totals(&whole[1], &halves[1], kind_name(kind));
    arena_clear(&a);
}

static void all_halves_are(const struct model *m)
{
    for (int k = 0; k < N_KINDS; k++)
        if (model_unit_count(m, (enum unit_kind)k) && k != KIND_E &&
            k != KIND_L)
            halves_are(m, (enum unit_kind)k);
}

Test(work, halves_of_a_layer_do_what_the_layer_does)
{
    static const uint8_t moe[8] = {0, 1, 0, 1, 1, 1, 0, 1};
    struct model m = one_rank();
    m.layer_moe = moe;
    all_halves_are(&m);
    m.par.tp = m.par.ep = 2;
    m.memory.sequence_parallel = m.memory.unfused_attention = true;
    m.shared_ffn = 64;
    m.memory.fp8 = true;
    m.memory.recompute = 1U << RECOMPUTE_CORE_ATTN | 1U << RECOMPUTE_MOE |
                         1U << RECOMPUTE_MLA_UP_PROJ;
    all_halves_are(&m);
    m.memory.full_recompute = RECOMPUTE_UNIFORM;
    all_halves_are(&m);
    m.mla = true;
    m.q_lora = 24;
    m.kv_lora = 32;
    m.qk_dim = m.v_dim = 16;
    m.qk_rope_dim = 8;
    all_halves_are(&m);
    m.indexer = (struct indexer){2, 8, 16};
    all_halves_are(&m);
    m.indexer.heads = 0;
    m.mla = false;
    m.layer_lean = moe;
    m.linear = (struct linear_attention){2, 4, 8, 16, 4, false};
    all_halves_are(&m);
}

/* What the model counts of it, and no scores. */
Test(work, a_mamba_layer_has_its_products_and_its_scan)
{
    struct model m = one_rank();
    m.symbols = "MMMMMMMM";
    m.n_mtp = 0;
    m.mamba = (struct mamba){16, 16, 2, 8};
    const struct work w = work_of(&m, KIND_MAMBA);
    cr_assert_float_eq(
        flops_of(&w.forward) / model_unit_fwd_flops(&m, KIND_MAMBA), 1, 1e-12);
    const double ratio = flops_of(&w.backward) / flops_of(&w.forward);
    cr_assert(ratio > 2 && ratio < 2.5, "%g", ratio);
    m.memory.unfused_attention = true;
    const struct work same = work_of(&m, KIND_MAMBA);
    cr_assert_float_eq(same.forward.moved_bytes, w.forward.moved_bytes, 0);
}
