/*
 * Gradients against central differences, in double, for every kind of unit.
 * The loss of a check is sum(r * output) with fixed random r, so its gradient
 * by the output is r; a random direction in one tensor then has the derivative
 * sum(direction * gradient). Routing stays as the unperturbed pass chose it.
 * Built with REAL_DOUBLE, see the Makefile.
 */
#include "train/data.h"
#include "train/unit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(real) == sizeof(double), "wants REAL_DOUBLE");

enum { N_DIRECTIONS = 5, MAX_COUNT = 2048 };

/* error of a central difference with this step, in units of round-off: both
 * far below 1e-6 for values around 1 */
static const double step = 1e-5, tolerance = 1e-6;

static const struct dims dims = {.n_seq = 2,
                                 .seq = 5,
                                 .n_tokens = 10,
                                 .hidden = 16,
                                 .n_layers = 2,
                                 .n_mtp = 1,
                                 .n_blocks = 2,
                                 .n_halves = 4,
                                 .n_heads = 4,
                                 .n_groups = 2,
                                 .head_dim = 6,
                                 .ffn = 12,
                                 .shared_ffn = 10,
                                 .n_experts = 5,
                                 .topk = 2,
                                 .moe_ffn = 7,
                                 .vocab = 19,
                                 .n_symbols = 19};

/* of the auxiliary loss, in checks of routers */
static const double balance_weight = 0.8;

static const struct layer_shape whole_moe = {true, true, true},
                                whole_dense = {true, true, false},
                                attention_half = {true, false, false},
                                moe_half = {false, true, true},
                                mlp_half = {false, true, false};

/* A unit under check: forward gives the loss, backward fills gradients. */
struct subject {
    struct tensors weights, grads, acts;
    struct ops ops;
    struct layer_work work;
    struct mtp_work mtp_work;
    struct layer layer;
    struct mtp mtp;
    struct norm norm;
    struct loss loss;
    real *table, *dtable;
    real *x, *dx, *y, *r; // input, its gradient, output, weights of the loss
    int64_t n_x, n_y;
    double balance; // added by backward passes
    bool balanced;  // the auxiliary loss counts
    int tokens[16];
    double (*forward)(struct subject *s, struct pass *p);
    void (*backward)(struct subject *s, struct pass *p);
};

static struct pass pass_of(struct subject *s)
{
    return (struct pass){.dims = &dims,
                         .ops = &s->ops,
                         .work = &s->work,
                         .balance_weight = s->balanced ? balance_weight : 0};
}

static double weighted_sum(const struct subject *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n_y; i++)
        sum += s->r[i] * s->y[i];
    return sum;
}

static const int64_t n_hidden = 10 * 16;

/* All tensors that any unit needs, in one table a kind. */
static void carve(struct subject *s, struct layer_shape shape)
{
    int64_t table = (int64_t)dims.vocab * dims.hidden;
    layer_carve_weights(&dims, shape, 1, &s->weights, &s->layer.w);
    layer_carve_weights(&dims, shape, 1, &s->grads, &s->layer.dw);
    mtp_carve_weights(&dims, shape, 5, &s->weights, &s->mtp.w);
    mtp_carve_weights(&dims, shape, 5, &s->grads, &s->mtp.dw);
    s->table = tensors_carve(&s->weights, weight_spec("table", table, 0, 0.5));
    s->dtable = tensors_carve(&s->grads, weight_spec("table", table, 0, 0.5));
    s->norm.w =
        tensors_carve(&s->weights, weight_spec("norm", dims.hidden, 7, -1));
    s->norm.dw =
        tensors_carve(&s->grads, weight_spec("norm", dims.hidden, 7, -1));
    s->norm.inv = tensors_carve_real(&s->acts, "inv", dims.n_tokens);
    layer_carve_acts(&dims, shape, &s->acts, &s->layer.acts);
    mtp_carve_acts(&dims, shape, &s->acts, &s->mtp.acts);
    layer_carve_work(&dims, &s->acts, &s->work);
    mtp_carve_work(&dims, &s->acts, &s->mtp_work);
    s->loss.dlogits =
        tensors_carve_real(&s->acts, "logits", 2 * dims.n_tokens * dims.vocab);
    s->x = tensors_carve_real(&s->acts, "x", 2 * n_hidden);
    s->dx = tensors_carve_real(&s->acts, "dx", 2 * n_hidden);
    s->y = tensors_carve_real(&s->acts, "y", 2 * n_hidden);
    s->r = tensors_carve_real(&s->acts, "r", 2 * n_hidden);
}

static void set_up(struct subject *s, struct layer_shape shape)
{
    struct err_msg msg;
    tensors_init(&s->weights, "weights");
    tensors_init(&s->grads, "gradients");
    tensors_init(&s->acts, "activations");
    carve(s, shape);
    cr_assert_eq(tensors_alloc(&s->weights, &msg), ERR_OK);
    cr_assert_eq(tensors_alloc(&s->grads, &msg), ERR_OK);
    cr_assert_eq(tensors_alloc(&s->acts, &msg), ERR_OK);
    carve(s, shape);
    layer_init_work(&dims, &s->work);
    for (int i = 0; i < s->weights.n_items; i++) // large enough to matter
        tensors_normal(tensors_at(&s->weights, i), s->weights.item[i].count,
                       0.4, 77 + (uint64_t)i);
    tensors_normal(s->x, 2 * n_hidden, 1, 1001);
    tensors_normal(s->r, 2 * n_hidden, 1, 1002);
    for (int t = 0; t < dims.n_tokens; t++)
        s->tokens[t] = (t * 7 + 3) % dims.vocab;
    s->layer.shape = s->mtp.layer.shape = shape;
    s->layer.balance = &s->balance;
    s->mtp.layer.w = s->mtp.w.layer;
    s->mtp.layer.dw = s->mtp.dw.layer;
    s->mtp.work = &s->mtp_work;
    s->mtp.table = s->table;
    s->mtp.drows = s->dtable;
    s->loss.w = s->table;
    s->loss.dw = s->dtable;
    s->loss.n_passes = 0.5;
    s->loss.mtp_factor = 0.3;
    s->n_x = s->n_y = n_hidden;
}

static void tear_down(struct subject *s)
{
    tensors_clear(&s->weights);
    tensors_clear(&s->grads);
    tensors_clear(&s->acts);
}

/* Central difference along a random direction against the gradient. Returns
 * whether the gradient was other than zero. */
static bool check_tensor(struct subject *s, const char *name, real *w,
                         const real *dw, int64_t n)
{
    struct pass p = pass_of(s);
    double direction[MAX_COUNT], kept[MAX_COUNT];
    bool moved = false;
    cr_assert_leq(n, MAX_COUNT);
    memcpy(kept, w, (size_t)n * sizeof *w);
    p.keep_choice = true;
    for (uint64_t k = 0; k < N_DIRECTIONS; k++) {
        double slope = 0, value[2];
        tensors_normal(direction, n, 1, 5000 + 131 * k);
        for (int64_t i = 0; i < n; i++)
            slope += direction[i] * dw[i];
        for (int side = 0; side < 2; side++) {
            for (int64_t i = 0; i < n; i++)
                w[i] = kept[i] + (side ? -step : step) * direction[i];
            value[side] = s->forward(s, &p);
        }
        memcpy(w, kept, (size_t)n * sizeof *w);
        double difference = (value[0] - value[1]) / (2 * step);
        double scale = fmax(fmax(fabs(slope), fabs(difference)), 1e-3);
        moved = moved || fabs(slope) > 1e-3;
        cr_expect_lt(fabs(slope - difference) / scale, tolerance,
                     "%s, direction %d: gradient %.12g, difference %.12g", name,
                     (int)k, slope, difference);
    }
    return moved;
}

/* All weights and the input; `n_moved` counts tensors that matter. */
static int check_subject(struct subject *s)
{
    struct pass p = pass_of(s);
    int n_moved = 0;
    s->forward(s, &p);
    tensors_zero(&s->grads);
    memset(s->dx, 0, 2 * n_hidden * sizeof(real));
    s->backward(s, &p);
    /* the backward pass may reuse activations: copies of gradients stay */
    for (int i = 0; i < s->weights.n_items; i++)
        n_moved +=
            check_tensor(s, s->weights.item[i].name, tensors_at(&s->weights, i),
                         tensors_at(&s->grads, i), s->weights.item[i].count);
    if (s->n_x > 0)
        n_moved += check_tensor(s, "input", s->x, s->dx, s->n_x);
    return n_moved;
}

/* ---- the units ---- */

/* N sum over experts of their share of choices x their mean probability. */
static double balance_of(const struct subject *s)
{
    const struct experts_acts *a = &s->layer.acts.experts;
    int N = dims.n_experts, T = dims.n_tokens;
    double sum = 0;
    for (int t = 0; t < T; t++) {
        double total = 0;
        for (int i = 0; i < N; i++)
            total += exp(a->scores[t * N + i]);
        for (int i = 0; i < N; i++)
            sum += (a->first[i + 1] - a->first[i]) / (dims.topk * (double)T) *
                   exp(a->scores[t * N + i]) / total / T;
    }
    return N * sum;
}

static double layer_loss(struct subject *s, struct pass *p)
{
    layer_forward(&s->layer, p, s->x, s->y);
    return weighted_sum(s) +
           (s->balanced ? p->balance_weight * balance_of(s) : 0);
}

static void layer_grad(struct subject *s, struct pass *p)
{
    memcpy(s->dx, s->r, n_hidden * sizeof(real));
    layer_backward(&s->layer, p, s->x, s->dx);
}

static double mtp_loss(struct subject *s, struct pass *p)
{
    mtp_forward(&s->mtp, p, s->tokens, s->x, s->y);
    return weighted_sum(s);
}

static void mtp_grad(struct subject *s, struct pass *p)
{
    struct mtp_back b = {s->tokens, s->x, s->r, s->dx};
    mtp_backward(&s->mtp, p, &b);
}

static double embedding_loss(struct subject *s, struct pass *p)
{
    embedding_forward(p, s->table, s->tokens, s->y);
    return weighted_sum(s);
}

static void embedding_grad(struct subject *s, struct pass *p)
{
    embedding_backward(p, s->dtable, s->tokens, s->r);
}

static double norm_loss(struct subject *s, struct pass *p)
{
    norm_forward(&s->norm, p, s->x, s->y);
    return weighted_sum(s);
}

static void norm_grad(struct subject *s, struct pass *p)
{
    norm_backward(&s->norm, p, s->x, s->r, s->dx);
}

/* Main and one MTP head: means over their labels, of which the MTP head has
 * one less in each of the two sequences. */
static double head_loss(struct subject *s, struct pass *p)
{
    int masked[10];
    memcpy(masked, s->tokens, sizeof masked);
    masked[4] = masked[9] = DATA_MASKED;
    double main = loss_forward(&s->loss, p, s->tokens, s->x, 0) / 10;
    double mtp = loss_forward(&s->loss, p, masked, s->x, 1) / 8;
    return (main + s->loss.mtp_factor * mtp) / s->loss.n_passes;
}

static void head_grad(struct subject *s, struct pass *p)
{
    loss_backward(&s->loss, p, s->x, s->dx);
}

static void check_unit(struct layer_shape shape,
                       double (*forward)(struct subject *, struct pass *),
                       void (*backward)(struct subject *, struct pass *),
                       int n_want, int64_t n_x)
{
    static struct subject s;
    memset(&s, 0, sizeof s);
    set_up(&s, shape);
    s.forward = forward;
    s.backward = backward;
    s.n_x = n_x;
    cr_expect_eq(check_subject(&s), n_want,
                 "the number of tensors with a gradient");
    tear_down(&s);
}

/* norm1 qkv out norm2 router gate_up down + shared gate_up down, input */
Test(unit, gradient_of_t_moe_equals_central_difference)
{
    check_unit(whole_moe, layer_loss, layer_grad, 10, n_hidden);
}

Test(unit, gradient_of_t_with_auxiliary_loss_equals_central_difference)
{
    static struct subject s;
    memset(&s, 0, sizeof s);
    set_up(&s, whole_moe);
    s.forward = layer_loss;
    s.backward = layer_grad;
    s.balanced = true;
    struct pass p = pass_of(&s);
    layer_loss(&s, &p);
    layer_grad(&s, &p);
    cr_expect_float_eq(s.balance, balance_of(&s), 1e-12, "the value, once");
    cr_expect_eq(check_subject(&s), 10, "tensors with a gradient");
    tear_down(&s);
}

Test(unit, gradient_of_t_dense_equals_central_difference)
{
    check_unit(whole_dense, layer_loss, layer_grad, 7, n_hidden);
}

/* norm1 qkv out, input */
Test(unit, gradient_of_an_attention_half_equals_central_difference)
{
    check_unit(attention_half, layer_loss, layer_grad, 4, n_hidden);
}

/* norm2 router gate_up down + shared gate_up down, input */
Test(unit, gradient_of_a_moe_half_equals_central_difference)
{
    check_unit(moe_half, layer_loss, layer_grad, 7, n_hidden);
}

/* norm2 gate_up down, input */
Test(unit, gradient_of_an_mlp_half_equals_central_difference)
{
    check_unit(mlp_half, layer_loss, layer_grad, 4, n_hidden);
}

enum { MAX_GRADS = 8192 };

/* What a pass forward and one backward leave behind. */
struct outcome {
    double y[160], dx[160], grads[MAX_GRADS], balance;
};

static void keep_outcome(struct subject *s, struct outcome *out)
{
    size_t n = (size_t)s->grads.bytes;
    cr_assert_leq(n, sizeof out->grads, "room for gradients");
    memcpy(out->y, s->y, sizeof out->y);
    memcpy(out->dx, s->dx, sizeof out->dx);
    memcpy(out->grads, s->grads.base, n);
    out->balance = s->balance;
    tensors_zero(&s->grads);
    memset(s->y, 0, sizeof out->y);
    s->balance = 0;
}

/* The halves have the whole layer's weights and gradients; what lies between
 * them is their own. */
static void run_halves(struct subject *s, struct pass *p, bool moe)
{
    struct layer first = s->layer, second = s->layer;
    real *mid = s->y + n_hidden;
    first.shape = attention_half;
    second.shape = moe ? moe_half : mlp_half;
    first.acts.mid = second.acts.mid = NULL;
    layer_forward(&first, p, s->x, mid);
    layer_forward(&second, p, mid, s->y);
    memcpy(s->dx, s->r, n_hidden * sizeof(real));
    layer_backward(&second, p, mid, s->dx);
    layer_backward(&first, p, s->x, s->dx);
}

static void expect_halves_equal_the_whole(bool moe)
{
    static struct subject s;
    static struct outcome whole, halves;
    memset(&s, 0, sizeof s);
    memset(&whole, 0, sizeof whole);
    memset(&halves, 0, sizeof halves);
    set_up(&s, moe ? whole_moe : whole_dense);
    s.balanced = moe;
    struct pass p = pass_of(&s);
    layer_forward(&s.layer, &p, s.x, s.y);
    layer_grad(&s, &p);
    keep_outcome(&s, &whole);
    run_halves(&s, &p, moe);
    keep_outcome(&s, &halves);
    cr_expect_arr_eq(whole.y, halves.y, sizeof whole.y, "output");
    cr_expect_arr_eq(whole.dx, halves.dx, sizeof whole.dx, "its gradient");
    cr_expect_arr_eq(whole.grads, halves.grads, sizeof whole.grads, "weights");
    cr_expect(whole.balance == halves.balance, "auxiliary loss");
    cr_expect_neq(whole.y[0], 0.0);
    tear_down(&s);
}

Test(unit, two_halves_are_a_moe_layer_to_the_last_bit)
{
    expect_halves_equal_the_whole(true);
}

Test(unit, two_halves_are_a_dense_layer_to_the_last_bit)
{
    expect_halves_equal_the_whole(false);
}

/* Sizes of the allocations in the first pass. */
static int64_t weights_and_acts_bytes(struct layer_shape shape)
{
    struct tensors t;
    struct layer_weights w;
    struct layer_acts acts;
    tensors_init(&t, "layer");
    layer_carve_weights(&dims, shape, 1, &t, &w);
    layer_carve_acts(&dims, shape, &t, &acts);
    int64_t bytes = 0;
    for (int i = 0; i < t.n_items; i++)
        bytes +=
            ((int64_t)t.item[i].elem_bytes * t.item[i].count + 63) / 64 * 64;
    tensors_clear(&t);
    return bytes;
}

/* the hidden states between them are a place of the stage's, see stage.c */
Test(unit, halves_take_the_bytes_of_the_whole_but_what_lies_between)
{
    int64_t mid = n_hidden * (int64_t)sizeof(real);
    cr_expect_eq(weights_and_acts_bytes(attention_half) +
                     weights_and_acts_bytes(moe_half) + mid,
                 weights_and_acts_bytes(whole_moe));
    cr_expect_eq(weights_and_acts_bytes(attention_half) +
                     weights_and_acts_bytes(mlp_half) + mid,
                 weights_and_acts_bytes(whole_dense));
}

/* the half's six, two norms, projection, norm, embedding, input */
Test(unit, gradient_of_m_with_a_moe_half_equals_central_difference)
{
    check_unit(moe_half, mtp_loss, mtp_grad, 12, n_hidden);
}

/* the layer's nine, two norms, projection, norm, embedding, input */
Test(unit, gradient_of_m_moe_equals_central_difference)
{
    check_unit(whole_moe, mtp_loss, mtp_grad, 15, n_hidden);
}

Test(unit, gradient_of_m_dense_equals_central_difference)
{
    check_unit(whole_dense, mtp_loss, mtp_grad, 12, n_hidden);
}

Test(unit, gradient_of_E_equals_central_difference)
{
    check_unit(whole_moe, embedding_loss, embedding_grad, 1, 0);
}

Test(unit, gradient_of_final_norm_equals_central_difference)
{
    check_unit(whole_moe, norm_loss, norm_grad, 2, n_hidden);
}

Test(unit, gradient_of_L_equals_central_difference)
{
    check_unit(whole_moe, head_loss, head_grad, 2, 2 * n_hidden);
}

/* A mixer and the MLP behind it are one block, everything else is its own. */
Test(unit, halves_of_a_layer_are_one_block)
{
    static const int blocks[] = {0, 1, 2, 2, 3, 4, 4};
    const struct model m = {.symbols = "E**-E*E", .n_layers = 7};
    for (int i = 0; i < 7; i++)
        cr_expect_eq(layer_block(&m, i), blocks[i], "layer %d", i);
}

/* Matrices that write to the residual stream: two a layer, as in GPT-2. */
Test(unit, what_writes_to_the_stream_begins_smaller)
{
    static const char *const small[] = {"attention_out", "experts_down",
                                        "down"};
    struct tensors t;
    struct layer_weights w = {NULL};
    tensors_init(&t, "weights");
    layer_carve_weights(&dims, whole_moe, 1, &t, &w);
    for (int i = 0; i < t.n_items; i++) {
        double want = 0.02;
        for (int k = 0; k < 3; k++)
            want = strcmp(t.item[i].name, small[k]) == 0 ? 0.01 : want;
        if (t.item[i].init_std >= 0)
            cr_expect_float_eq(t.item[i].init_std, want, 1e-12, "%s",
                               t.item[i].name);
    }
    tensors_clear(&t);
}
