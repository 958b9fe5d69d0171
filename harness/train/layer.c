/*
 * How it works. With n(x) = RMSNorm,
 *
 *   mid = x + attention(n1(x)) Wo       y = mid + mlp(n2(mid))
 *
 * where mlp is routed experts plus a shared one, or a dense SwiGLU. Each of the
 * two is a half that can be a layer by itself, mid being its output or input;
 * a whole layer does the same sums in the same order. The forward pass keeps
 * what the backward pass needs (struct layer_acts); the backward pass goes the
 * same way in reverse and works in the gradient's own place: residual paths
 * pass it on unchanged, blocks add theirs to it. One matrix holds q, k and v of
 * all heads, and one holds gate and up, so that each is one product.
 */
#include "layer.h"

#include "data.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Megatron's --init-method-std; matrices that write to the residual stream get
 * it divided by the root of how many do, two a layer, as in GPT-2. */
static const double init_std = 0.02;

/* Kernels take int: what the model has in 64 bits must fit, with room for the
 * sums of two. */
struct dim_check {
    int64_t value;
    const char *flag;
    int *out;
};

/* By one table, so that no size goes unchecked into an int. */
static enum err take_dims(const struct dim_check *check, int n,
                          struct err_msg *msg)
{
    for (int i = 0; i < n; i++) {
        if (check[i].value < 0 || check[i].value > INT_MAX / 4)
            return err_set(msg, ERR_RANGE, "%s: got %lld, want 0 to %d",
                           check[i].flag, (long long)check[i].value,
                           INT_MAX / 4);
        *check[i].out = (int)check[i].value;
    }
    return ERR_OK;
}

/* Numbers of elements or rows that kernels count in an int, and of attention's
 * probabilities, the one tensor whose size could leave 64 bits. */
static enum err check_products(const struct dims *d, struct err_msg *msg)
{
    double tokens = (double)d->n_seq * d->seq;
    int64_t widest = d->vocab > 4 * d->hidden ? d->vocab : 4 * d->hidden;
    const struct {
        double value, most;
        const char *flags;
    } check[] = {
        // matrices of a micro-batch: the widest are the logits and the MLP's
        {tokens * (double)widest * (1 + d->n_mtp), INT_MAX,
         "--micro-batch-size x --seq-length x the widest of --vocab-size and "
         "4 x --hidden-size, for all heads"},
        {(d->n_heads + 2.0 * d->n_groups) * d->head_dim, INT_MAX / 4,
         "(--num-attention-heads + 2 x --num-query-groups) x --kv-channels"},
        {tokens * d->topk, INT_MAX / 4,
         "--micro-batch-size x --seq-length x --moe-router-topk"},
        {tokens * d->seq * d->n_heads, (double)(INT64_MAX / 64),
         "--micro-batch-size x --seq-length^2 x --num-attention-heads"},
    };
    for (size_t i = 0; i < sizeof check / sizeof check[0]; i++)
        if (check[i].value > check[i].most)
            return err_set(msg, ERR_RANGE, "%s: got %.0f, want at most %.0f",
                           check[i].flags, check[i].value, check[i].most);
    return ERR_OK;
}

/* Sizes that must fit each other, or memory would be read and written where
 * nothing is. */
static enum err check_fit(const struct dims *d, int64_t vocab,
                          struct err_msg *msg)
{
    if (vocab < 1 || vocab > d->vocab)
        return err_set(msg, ERR_RANGE,
                       "--padded-vocab-size: got %d, want at least "
                       "--vocab-size %lld",
                       d->vocab, (long long)vocab);
    if (d->head_dim % 2)
        return err_set(msg, ERR_RANGE,
                       "--kv-channels: got %d, want an even number for rotary "
                       "positions",
                       d->head_dim);
    if (d->n_groups < 1 || d->n_heads % d->n_groups)
        return err_set(msg, ERR_RANGE,
                       "--num-query-groups: got %d, want a divisor of "
                       "--num-attention-heads %d",
                       d->n_groups, d->n_heads);
    if (d->topk > d->n_experts && d->n_experts)
        return err_set(msg, ERR_RANGE,
                       "--moe-router-topk: got %d, want at most --num-experts "
                       "%d",
                       d->topk, d->n_experts);
    if (data_n_labels(d->seq, d->n_mtp) < 1)
        return err_set(msg, ERR_RANGE,
                       "--seq-length: got %d, want more than --mtp-num-layers "
                       "%d, or the last MTP layer has no token to predict",
                       d->seq, d->n_mtp);
    return ERR_OK;
}

/* ---- shapes ---- */

static struct layer_shape shape_of_symbol(char symbol)
{
    enum unit_kind kind = kind_of_symbol(symbol);
    return (struct layer_shape){.attention = kind == KIND_ATTENTION,
                                .mlp = kind == KIND_MLP || kind == KIND_EXPERTS,
                                .moe = kind == KIND_EXPERTS};
}

struct layer_shape layer_shape_of(const struct model *m, int i)
{
    if (model_is_hybrid(m))
        return shape_of_symbol(m->symbols[i]);
    return (struct layer_shape){
        .attention = true, .mlp = true, .moe = m->layer_moe[i]};
}

/* A pattern says it; else as the last decoder layer, as in Megatron. */
struct layer_shape layer_shape_of_mtp(const struct model *m)
{
    struct layer_shape all = {false, false, false};
    if (!model_is_hybrid(m))
        return layer_shape_of(m, m->n_layers - 1);
    for (const char *s = m->mtp_symbols; s && *s; s++) {
        struct layer_shape one = shape_of_symbol(*s);
        all.attention |= one.attention;
        all.mlp |= one.mlp;
        all.moe |= one.moe;
    }
    return all;
}

int layer_block(const struct model *m, int i)
{
    int block = 0;
    for (int k = 1; k <= i; k++) {
        struct layer_shape before = layer_shape_of(m, k - 1);
        bool joins = !before.mlp && !layer_shape_of(m, k).attention;
        block += !joins;
    }
    return block;
}

static int count_halves(const struct model *m)
{
    int n = 0;
    for (int i = 0; i < m->n_layers; i++) {
        struct layer_shape s = layer_shape_of(m, i);
        n += s.attention + s.mlp;
    }
    return n;
}

enum err dims_from_model(const struct model *m, struct dims *out,
                         struct err_msg *msg)
{
    struct dims d = {.n_layers = m->n_layers,
                     .n_mtp = m->n_mtp,
                     .n_blocks =
                         m->n_layers ? layer_block(m, m->n_layers - 1) + 1 : 0,
                     .n_halves = count_halves(m),
                     .tied = m->tied};
    const struct dim_check check[] = {
        {m->batch.micro_batch, "--micro-batch-size", &d.n_seq},
        {m->batch.seq_tokens, "--seq-length", &d.seq},
        {m->hidden, "--hidden-size", &d.hidden},
        {m->n_heads, "--num-attention-heads", &d.n_heads},
        {m->n_kv_heads, "--num-query-groups", &d.n_groups},
        {m->head_dim, "--kv-channels", &d.head_dim},
        {m->ffn, "--ffn-hidden-size", &d.ffn},
        {m->n_experts, "--num-experts", &d.n_experts},
        {m->topk, "--moe-router-topk", &d.topk},
        {m->moe_ffn, "--moe-ffn-hidden-size", &d.moe_ffn},
        {m->shared_ffn, "--moe-shared-expert-intermediate-size", &d.shared_ffn},
        {m->padded_vocab, "--vocab-size", &d.vocab},
    };
    enum err e = take_dims(check, sizeof check / sizeof check[0], msg);
    if (!e)
        e = check_fit(&d, m->vocab, msg);
    if (!e)
        e = check_products(&d, msg);
    if (e)
        return e;
    d.n_tokens = d.n_seq * d.seq;
    *out = d;
    return ERR_OK;
}

/* Columns: all query heads, then keys, then values of each group. */
static int qkv_width(const struct dims *d)
{
    return (d->n_heads + 2 * d->n_groups) * d->head_dim;
}

static struct attention attention_of(const struct dims *d,
                                     const struct layer_work *w)
{
    return (struct attention){.n_seq = d->n_seq,
                              .seq = d->seq,
                              .n_heads = d->n_heads,
                              .n_groups = d->n_groups,
                              .dim = d->head_dim,
                              .cosine = w ? w->cosine : NULL,
                              .sine = w ? w->sine : NULL};
}

static struct experts experts_of(const struct dims *d)
{
    return (struct experts){.n_tokens = d->n_tokens,
                            .hidden = d->hidden,
                            .n_experts = d->n_experts,
                            .topk = d->topk,
                            .ffn = d->moe_ffn};
}

/* Width of the layer's plain SwiGLU: dense MLP, shared expert, or none. */
static int plain_ffn(const struct dims *d, struct layer_shape s)
{
    return !s.mlp ? 0 : s.moe ? d->shared_ffn : d->ffn;
}

struct tensor weight_spec(const char *name, int64_t count, int id, double std)
{
    return (struct tensor){.name = name,
                           .count = count,
                           .elem_bytes = sizeof(real),
                           .id = id,
                           .decay = std >= 0, // norms are not decayed
                           .init_std = std};
}

static const char *const layer_tensors[LAYER_IDS] = {
    "input_norm",      "qkv",          "attention_out", "mlp_norm", "router",
    "experts_gate_up", "experts_down", "gate_up",       "down"};

const char *layer_tensor_name(int place)
{
    return layer_tensors[place];
}

/* Experts' matrices lie one behind the other in one tensor each. */
void layer_carve_weights(const struct dims *d, struct layer_shape shape,
                         int unit, struct tensors *t, struct layer_weights *out)
{
    int64_t C = d->hidden, N = shape.moe ? d->n_experts : 0, F = d->moe_ffn;
    int64_t P = plain_ffn(d, shape), A = (int64_t)d->n_heads * d->head_dim;
    int64_t at = shape.attention;
    int id = unit * LAYER_IDS_A_UNIT;
    double out_std = init_std / sqrt((double)d->n_halves);
    const struct {
        int64_t count;
        double std;
        real **place;
    } row[LAYER_IDS] = {
        {at * C, -1, &out->norm1},
        {at * qkv_width(d) * C, init_std, &out->qkv},
        {at * C * A, out_std, &out->out},
        {shape.mlp * C, -1, &out->norm2},
        {N * C, init_std, &out->experts.router},
        {N * 2 * F * C, init_std, &out->experts.gu},
        {N * C * F, out_std, &out->experts.down},
        {2 * P * C, init_std, &out->gu},
        {C * P, out_std, &out->down},
    };
    for (int i = 0; i < LAYER_IDS; i++)
        if (row[i].count)
            *row[i].place =
                tensors_carve(t, weight_spec(layer_tensors[i], row[i].count,
                                             id + i, row[i].std));
}

static void carve_attention_acts(const struct dims *d, struct tensors *t,
                                 struct layer_acts *out)
{
    int64_t T = d->n_tokens;
    struct attention a = attention_of(d, NULL);
    out->norm1 = tensors_carve_real(t, "input_norm_out", T * d->hidden);
    out->inv1 = tensors_carve_real(t, "input_norm_inv", T);
    out->qkv = tensors_carve_real(t, "qkv", T * qkv_width(d));
    out->probs = tensors_carve_real(t, "probs", attention_probs_count(&a));
    out->attn =
        tensors_carve_real(t, "attention", T * d->n_heads * d->head_dim);
}

/* A shared expert has the room of a dense MLP, beside those that are routed to.
 */
static void carve_mlp_acts(const struct dims *d, struct layer_shape shape,
                           struct tensors *t, struct layer_acts *out)
{
    int64_t T = d->n_tokens, P = plain_ffn(d, shape);
    struct experts e = experts_of(d);
    out->norm2 = tensors_carve_real(t, "mlp_norm_out", T * d->hidden);
    out->inv2 = tensors_carve_real(t, "mlp_norm_inv", T);
    if (P) {
        out->gu = tensors_carve_real(t, "gate_up", T * 2 * P);
        out->act = tensors_carve_real(t, "act", T * P);
    }
    if (shape.moe)
        experts_carve_acts(&e, t, &out->experts);
}

static bool is_whole(struct layer_shape s)
{
    return s.attention && s.mlp;
}

/* `mid` stands between the halves of a whole layer; a half has none. */
void layer_carve_acts(const struct dims *d, struct layer_shape shape,
                      struct tensors *t, struct layer_acts *out)
{
    if (shape.attention)
        carve_attention_acts(d, t, out);
    if (is_whole(shape))
        out->mid =
            tensors_carve_real(t, "mid", (int64_t)d->n_tokens * d->hidden);
    if (shape.mlp)
        carve_mlp_acts(d, shape, t, out);
}

/* Scratch is for one micro-batch at a time, so that one serves all layers. */
void layer_carve_work(const struct dims *d, struct tensors *t,
                      struct layer_work *out)
{
    int64_t T = d->n_tokens, S = d->seq, half = d->head_dim / 2;
    int widest = d->shared_ffn > d->ffn ? d->shared_ffn : d->ffn;
    struct experts e = experts_of(d);
    out->cosine = tensors_carve_real(t, "rotary_cos", S * half);
    out->sine = tensors_carve_real(t, "rotary_sin", S * half);
    out->dattn =
        tensors_carve_real(t, "dattention", T * d->n_heads * d->head_dim);
    out->dqkv = tensors_carve_real(t, "dqkv", T * qkv_width(d));
    out->scores = tensors_carve_real(t, "dscores", S * S);
    out->dnorm = tensors_carve_real(t, "dnorm", T * d->hidden);
    out->dact = tensors_carve_real(t, "dact", T * widest);
    if (d->n_experts)
        experts_carve_work(&e, t, &out->experts);
}

void layer_init_work(const struct dims *d, struct layer_work *w)
{
    struct attention a = attention_of(d, w);
    attention_fill_rotary(&a, w->cosine, w->sine);
}

static struct experts_pass experts_pass_of(struct layer *l,
                                           const struct pass *p)
{
    return (struct experts_pass){.ops = p->ops,
                                 .w = &l->w.experts,
                                 .dw = &l->dw.experts,
                                 .acts = &l->acts.experts,
                                 .work = &p->work->experts,
                                 .keep_choice = p->keep_choice,
                                 .balance_weight = p->balance_weight,
                                 .balance = l->balance};
}

/* out = in + y with y to be added: starts the sum. */
static void copy_residual(const struct pass *p, real *out, const real *in)
{
    int64_t n = (int64_t)p->dims->n_tokens * p->dims->hidden;
    memcpy(out, in, (size_t)n * sizeof *out);
    p->ops->work += (double)n;
}

/* x (T,C) -> mid (T,C) */
static void attention_block(struct layer *l, const struct pass *p, real *x,
                            real *mid)
{
    const struct dims *d = p->dims;
    int T = d->n_tokens, C = d->hidden, A = d->n_heads * d->head_dim;
    struct attention a = attention_of(d, p->work);
    struct mat n1 = mat_of(l->acts.norm1, T, C);
    struct mat qkv = mat_of(l->acts.qkv, T, qkv_width(d));
    struct mat attn = mat_of(l->acts.attn, T, A);
    ops_rmsnorm(p->ops, mat_of(x, T, C), l->w.norm1, n1, l->acts.inv1);
    ops_linear(p->ops, n1, mat_of(l->w.qkv, qkv.cols, C), qkv);
    attention_forward(&a, p->ops, qkv, l->acts.probs, attn);
    copy_residual(p, mid, x);
    ops_gemm(p->ops, GEMM_NT, attn, mat_of(l->w.out, C, A),
             (struct gemm_out){mat_of(mid, T, C), 1, 1});
}

/* mid (T,C) -> y (T,C); with experts the shared one is the plain SwiGLU. */
static void mlp_block(struct layer *l, const struct pass *p, real *mid, real *y)
{
    const struct dims *d = p->dims;
    int T = d->n_tokens, C = d->hidden, P = plain_ffn(d, l->shape);
    struct mat n2 = mat_of(l->acts.norm2, T, C), out = mat_of(y, T, C);
    ops_rmsnorm(p->ops, mat_of(mid, T, C), l->w.norm2, n2, l->acts.inv2);
    copy_residual(p, y, mid);
    if (l->shape.moe) {
        struct experts e = experts_of(d);
        struct experts_pass ep = experts_pass_of(l, p);
        experts_forward(&e, &ep, n2, out);
    }
    if (P) {
        struct mat gu = mat_of(l->acts.gu, T, 2 * P);
        struct mat act = mat_of(l->acts.act, T, P);
        ops_linear(p->ops, n2, mat_of(l->w.gu, 2 * P, C), gu);
        ops_swiglu(p->ops, gu, act);
        ops_gemm(p->ops, GEMM_NT, act, mat_of(l->w.down, C, P),
                 (struct gemm_out){out, 1, 1});
    }
}

void layer_forward(struct layer *l, const struct pass *p, real *x, real *y)
{
    real *mid = is_whole(l->shape) ? l->acts.mid : l->shape.mlp ? x : y;
    if (l->shape.attention)
        attention_block(l, p, x, mid);
    if (l->shape.mlp)
        mlp_block(l, p, mid, y);
}

/* Adds the gradient through the norm to rest.dx, which has the residual's. */
static void norm_back(const struct pass *p, real *x, const real *inv,
                      struct mat dy, struct norm_back rest)
{
    rest.x = mat_of(x, dy.rows, dy.cols);
    rest.dy = dy;
    rest.inv = inv;
    ops_rmsnorm_back(p->ops, &rest);
}

/* d is the gradient by the block's output and gets that of its input added: the
 * residual path's share of the input's gradient is d itself. */
static void mlp_back(struct layer *l, const struct pass *p, real *mid,
                     struct mat d)
{
    int T = d.rows, C = d.cols, P = plain_ffn(p->dims, l->shape);
    struct mat dn = mat_of(p->work->dnorm, T, C);
    struct mat n2 = mat_of(l->acts.norm2, T, C);
    memset(dn.p, 0, (size_t)T * (size_t)C * sizeof(real));
    if (l->shape.moe) {
        struct experts e = experts_of(p->dims);
        struct experts_pass ep = experts_pass_of(l, p);
        experts_backward(&e, &ep, n2, d, dn);
    }
    if (P) {
        struct mat gu = mat_of(l->acts.gu, T, 2 * P);
        struct mat act = mat_of(l->acts.act, T, P);
        struct mat dact = mat_of(p->work->dact, T, P);
        ops_linear_dx(p->ops, d, mat_of(l->w.down, C, P), dact, false);
        ops_linear_dw(p->ops, d, act, mat_of(l->dw.down, C, P));
        ops_swiglu_back(p->ops, gu, dact);
        ops_linear_dx(p->ops, gu, mat_of(l->w.gu, 2 * P, C), dn, true);
        ops_linear_dw(p->ops, gu, n2, mat_of(l->dw.gu, 2 * P, C));
    }
    norm_back(p, mid, l->acts.inv2, dn,
              (struct norm_back){.dx = d, .w = l->w.norm2, .dw = l->dw.norm2});
}

/* In the reverse order of the forward pass; the norm adds to the residual's
 * gradient in place. */
static void attention_back(struct layer *l, const struct pass *p, real *x,
                           struct mat d)
{
    const struct dims *s = p->dims;
    int T = d.rows, C = d.cols, A = s->n_heads * s->head_dim, Q = qkv_width(s);
    struct attention a = attention_of(s, p->work);
    struct mat dattn = mat_of(p->work->dattn, T, A);
    struct attention_back b = {.qkv = mat_of(l->acts.qkv, T, Q),
                               .dqkv = mat_of(p->work->dqkv, T, Q),
                               .dout = dattn,
                               .probs = l->acts.probs,
                               .scores = p->work->scores};
    struct mat dn = mat_of(p->work->dnorm, T, C);
    ops_linear_dx(p->ops, d, mat_of(l->w.out, C, A), dattn, false);
    ops_linear_dw(p->ops, d, mat_of(l->acts.attn, T, A),
                  mat_of(l->dw.out, C, A));
    attention_backward(&a, p->ops, &b);
    ops_linear_dx(p->ops, b.dqkv, mat_of(l->w.qkv, Q, C), dn, false);
    ops_linear_dw(p->ops, b.dqkv, mat_of(l->acts.norm1, T, C),
                  mat_of(l->dw.qkv, Q, C));
    norm_back(p, x, l->acts.inv1, dn,
              (struct norm_back){.dx = d, .w = l->w.norm1, .dw = l->dw.norm1});
}

void layer_backward(struct layer *l, const struct pass *p, real *x, real *d)
{
    struct mat dm = mat_of(d, p->dims->n_tokens, p->dims->hidden);
    if (l->shape.mlp)
        mlp_back(l, p, is_whole(l->shape) ? l->acts.mid : x, dm);
    if (l->shape.attention)
        attention_back(l, p, x, dm);
}
