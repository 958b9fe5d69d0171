/*
 * How it works: a unit is a list of parts (norm, attention, MLP, experts), and
 * each part adds its weights to the table. A divisor stands where Megatron
 * splits a weight over ranks; norms, the router, latents and the biases of what
 * a rank adds up at the end are whole on each.
 */
#include "weights.h"

/* Muon takes what is two-dimensional in Megatron and no embedding (a
 * convolution has three); the gate has one row, but is kept as a matrix of
 * Adam's. FP8 is for linear layers only. */
const struct weight_use WEIGHT_USE[N_WEIGHT_ROLES] = {
    [WEIGHT_LINEAR] = {.product = true,
                       .muon = true,
                       .fp8 = true,
                       .fused = true,
                       .trained = true},
    [WEIGHT_ROUTER] = {.product = true, .muon = true, .trained = true},
    [WEIGHT_GATE] = {.product = true, .trained = true},
    [WEIGHT_TABLE] = {.trained = true},
    [WEIGHT_OUTPUT] = {.product = true, .fused = true, .trained = true},
    [WEIGHT_NORM] = {.trained = true},
    [WEIGHT_CONV] = {.product = true, .trained = true},
    [WEIGHT_BIAS] = {.trained = true},
    [WEIGHT_BUFFER] = {.trained = false},
};

const struct weight_shares WEIGHTS_WHOLE = {1, 1, 1};

struct weight_shares weights_shares(const struct model *m)
{
    return (struct weight_shares){m->par.tp, m->par.ep, m->par.etp};
}

int64_t weight_params(const struct weight *w)
{
    return w->rows * w->cols * w->count;
}

/* What does not fit is counted, and weights_check() refuses the model. */
void weights_add(struct weights *t, struct weight w)
{
    if (t->n < WEIGHTS_MAX)
        t->row[t->n++] = w;
    else
        t->n_lost++;
}

/* ---- parts ---- */

/* A table in the making. */
struct builder {
    const struct model *m;
    const struct weight_shares *shares;
    struct weights *t;
};

static void weights_vector(const struct builder *b, enum weight_role role,
                           int64_t n)
{
    weights_add(
        b->t, (struct weight){.rows = n, .cols = 1, .count = 1, .role = role});
}

static void weights_matrix(const struct builder *b, enum weight_role role,
                           int64_t rows, int64_t cols)
{
    weights_add(
        b->t,
        (struct weight){.rows = rows, .cols = cols, .count = 1, .role = role});
}

static void weights_linear(const struct builder *b, int64_t rows, int64_t cols)
{
    weights_matrix(b, WEIGHT_LINEAR, rows, cols);
}

static void weights_bias(const struct builder *b, int64_t n)
{
    if (b->m->linear_bias)
        weights_vector(b, WEIGHT_BIAS, n);
}

/* RMSNorm has a weight only. */
static void weights_norm(const struct builder *b, int64_t width)
{
    weights_vector(b, WEIGHT_NORM, width);
    if (b->m->layernorm)
        weights_vector(b, WEIGHT_NORM, width);
}

/* The indexer of sparse attention is whole on every rank, and the norm of its
 * keys is a LayerNorm in any model. */
static void weights_indexer(const struct builder *b)
{
    const struct model *m = b->m;
    const struct indexer *x = &m->indexer;
    weights_linear(b, x->heads * x->dim, m->q_lora ? m->q_lora : m->hidden);
    weights_linear(b, x->dim, m->hidden);
    weights_linear(b, x->heads, m->hidden);
    weights_vector(b, WEIGHT_NORM, x->dim);
    weights_vector(b, WEIGHT_NORM, x->dim);
}

/* Gated delta net: one way in to queries, keys, values, the output's gate, and
 * two gates of the state (gdn2: three, for each channel); a convolution over
 * queries, keys and values; decay and its bias; a norm of one value head. */
static void weights_gated_delta_net(const struct builder *b)
{
    const struct model *m = b->m;
    const struct linear_attention *l = &m->linear;
    int64_t tp = b->shares->tp;
    int64_t qk = l->k_heads * l->k_dim / tp, v = l->v_heads * l->v_dim / tp;
    int64_t gates = l->channel_gates ? 2 * qk + v : 2 * l->v_heads / tp;
    weights_linear(b, 2 * qk + 2 * v + gates, m->hidden);
    weights_matrix(b, WEIGHT_CONV, 2 * qk + v, l->taps);
    weights_vector(b, WEIGHT_BIAS, l->channel_gates ? qk : l->v_heads / tp);
    weights_vector(b, WEIGHT_BIAS,
                   (l->channel_gates ? l->k_heads : l->v_heads) / tp);
    weights_norm(b, l->v_dim);
    weights_linear(b, m->hidden, v);
}

int64_t weights_mamba_width(const struct model *m)
{
    return m->mamba.n_heads * m->mamba.head_dim;
}

/* Mamba-2: one way in to gate, values, the ways into and out of the state, and
 * a step a head; a convolution with its bias over all but gate and step; a
 * step's bias, a decay and a skip weight a head; the gated norm; the way out
 * (ssm/mamba_mixer.py: neither projection has a bias, the norm none either). */
static void weights_mamba(const struct builder *b)
{
    enum { TAPS = 4 };
    const struct mamba *x = &b->m->mamba;
    int64_t tp = b->shares->tp;
    int64_t inner = weights_mamba_width(b->m) / tp, heads = x->n_heads / tp;
    int64_t convolved = inner + 2 * x->n_groups * x->state_dim / tp;
    weights_linear(b, inner + convolved + heads, b->m->hidden);
    weights_matrix(b, WEIGHT_CONV, convolved, TAPS);
    weights_vector(b, WEIGHT_BIAS, convolved);
    for (int i = 0; i < 3; i++)
        weights_vector(b, WEIGHT_BIAS, heads);
    weights_vector(b, WEIGHT_NORM, inner);
    weights_linear(b, b->m->hidden, inner);
}

/* Multi-latent attention: queries through a latent of q_lora (or straight),
 * keys and values through one of kv_lora beside the rotary part. The ways down
 * are whole on every rank. */
static void weights_mla(const struct builder *b)
{
    const struct model *m = b->m;
    int64_t h = m->hidden, tp = b->shares->tp;
    int64_t q = m->n_heads * (m->qk_dim + m->qk_rope_dim) / tp;
    if (m->q_lora)
        weights_linear(b, m->q_lora, h);
    weights_linear(b, q, m->q_lora ? m->q_lora : h);
    weights_linear(b, m->kv_lora + m->qk_rope_dim, h);
    weights_linear(b, m->n_heads * (m->qk_dim + m->v_dim) / tp, m->kv_lora);
    weights_linear(b, h, m->n_heads * m->v_dim / tp);
    if (m->qk_norm && m->q_lora)
        weights_norm(b, m->q_lora);
    if (m->qk_norm)
        weights_norm(b, m->kv_lora);
}

/* Heads with keys and values of their own, or of their group's. An output gate
 * comes with the queries and is as wide. */
static void weights_heads(const struct builder *b)
{
    const struct model *m = b->m;
    int64_t h = m->hidden, tp = b->shares->tp;
    int64_t q = m->n_heads * m->head_dim, kv = m->n_kv_heads * m->head_dim;
    int64_t in = (m->attn_gate ? 2 * q : q) + 2 * kv;
    weights_linear(b, in / tp, h);
    weights_linear(b, h, q / tp);
    if (m->linear_bias || m->qkv_bias)
        weights_vector(b, WEIGHT_BIAS, in / tp);
    if (m->qk_norm) {
        weights_norm(b, m->qk_norm_full ? q / tp : m->head_dim);
        weights_norm(b, m->qk_norm_full ? kv / tp : m->head_dim);
    }
}

/* The output bias is added once the ranks' shares are summed: whole on each.
 * The offsets of the softmax go with their heads. */
static void weights_scores(const struct builder *b, bool latent, bool indexer)
{
    const struct model *m = b->m;
    if (latent)
        weights_mla(b);
    else
        weights_heads(b);
    if (indexer)
        weights_indexer(b);
    if (m->linear_bias || m->attn_out_bias)
        weights_vector(b, WEIGHT_BIAS, m->hidden);
    if (m->sinks)
        weights_vector(b, WEIGHT_BIAS, m->n_heads / b->shares->tp);
}

static void weights_attention(const struct builder *b, bool lean)
{
    if (lean && b->m->linear.v_heads)
        weights_gated_delta_net(b);
    else
        weights_scores(b, b->m->mla, b->m->indexer.heads && !lean);
}

/* `count` MLPs of `width` between vectors of `outer`, over `parts` ranks. */
struct mlp_shape {
    int64_t outer, width, parts, count;
    bool expert, bias;
};

static void weights_mlp(const struct builder *b, const struct mlp_shape *s)
{
    // gate and up projection are one matrix in Megatron
    int64_t in = (b->m->gated ? 2 : 1) * s->width / s->parts;
    struct weight w = {.rows = in,
                       .cols = s->outer,
                       .count = s->count,
                       .role = WEIGHT_LINEAR,
                       .expert = s->expert};
    weights_add(b->t, w);
    w.rows = s->outer;
    w.cols = s->width / s->parts;
    weights_add(b->t, w);
    if (!s->bias)
        return;
    w.role = WEIGHT_BIAS;
    w.cols = 1;
    weights_add(b->t, w);
    w.rows = in;
    weights_add(b->t, w);
}

/* Router and latents have biases where linear layers have them, the shared
 * expert never has. */
static void weights_experts(const struct builder *b)
{
    const struct model *m = b->m;
    int64_t h = m->hidden;
    weights_matrix(b, WEIGHT_ROUTER, m->n_experts, h);
    weights_bias(b, m->n_experts);
    if (m->expert_bias && m->count_bias)
        weights_vector(b, WEIGHT_BUFFER, m->n_experts);
    if (m->latent) {
        weights_linear(b, m->latent, h);
        weights_linear(b, h, m->latent);
        weights_bias(b, m->latent);
        weights_bias(b, h);
    }
    weights_mlp(b, &(struct mlp_shape){.outer = m->latent ? m->latent : h,
                                       .width = m->moe_ffn,
                                       .parts = b->shares->etp,
                                       .count = m->n_experts / b->shares->ep,
                                       .expert = true,
                                       .bias = m->linear_bias});
    if (m->shared_ffn)
        weights_mlp(b, &(struct mlp_shape){.outer = h,
                                           .width = m->shared_ffn,
                                           .parts = b->shares->tp,
                                           .count = 1});
    if (m->shared_ffn && m->shared_gate)
        weights_vector(b, WEIGHT_GATE, h);
}

static void weights_dense_mlp(const struct builder *b)
{
    weights_mlp(b, &(struct mlp_shape){.outer = b->m->hidden,
                                       .width = b->m->ffn,
                                       .parts = b->shares->tp,
                                       .count = 1,
                                       .bias = b->m->linear_bias});
}

/* ---- units ---- */

/* Where a layer has no experts its MLP has the width `ffn`, also in a model
 * without any, whose layers are of no dense kind. */
static void weights_layer(const struct builder *b, enum unit_kind kind)
{
    const struct model *m = b->m;
    weights_norm(b, m->hidden);
    weights_attention(b, kind_is_lean(kind));
    if (m->post_norms)
        weights_norm(b, m->hidden);
    weights_norm(b, m->hidden);
    if (m->n_experts && !kind_is_dense(kind))
        weights_experts(b);
    else
        weights_dense_mlp(b);
    if (m->post_norms)
        weights_norm(b, m->hidden);
}

/* A symbol of a hybrid model is half of that: a norm and one part. */
static void weights_symbol(const struct builder *b, enum unit_kind kind)
{
    const struct model *m = b->m;
    weights_norm(b, m->hidden);
    if (kind == KIND_MAMBA)
        weights_mamba(b);
    else if (kind == KIND_DELTA)
        weights_gated_delta_net(b);
    else if (kind == KIND_EXPERTS)
        weights_experts(b);
    else if (kind == KIND_MLP)
        weights_dense_mlp(b);
    else
        weights_scores(b, kind != KIND_ATTENTION, kind == KIND_SPARSE);
    if (m->post_norms && kind != KIND_MAMBA)
        weights_norm(b, m->hidden);
}

struct weight weights_token_table(const struct model *m,
                                  const struct weight_shares *shares)
{
    return (struct weight){.rows = m->padded_vocab / shares->tp,
                           .cols = m->hidden,
                           .count = 1,
                           .role = WEIGHT_TABLE};
}

/* Learned positions are not split over tensor ranks. */
static void weights_embedding(const struct builder *b)
{
    weights_add(b->t, weights_token_table(b->m, b->shares));
    if (b->m->learned_positions)
        weights_matrix(b, WEIGHT_TABLE, b->m->max_positions, b->m->hidden);
}

/* Norms of the hidden state, of the embedding and behind, the projection of
 * both, and a layer like the last one (DeepSeek-V3, section 2.2). */
static void weights_mtp(const struct builder *b)
{
    const struct model *m = b->m;
    for (int i = 0; i < 3; i++)
        weights_norm(b, m->hidden);
    weights_linear(b, m->hidden / b->shares->tp, 2 * m->hidden);
    if (!model_is_hybrid(m))
        weights_layer(b, model_mtp_kind(m));
    for (const char *s = m->mtp_symbols; s && *s; s++)
        weights_symbol(b, kind_of_symbol(*s));
}

/* A tied output layer is the token table of E; where L stands on another stage
 * its copy there is the stage's, not the unit's. */
static void weights_loss(const struct builder *b)
{
    weights_norm(b, b->m->hidden);
    if (b->m->output_bias)
        weights_vector(b, WEIGHT_BIAS, b->m->padded_vocab / b->shares->tp);
    if (b->m->tied)
        return;
    struct weight output = weights_token_table(b->m, b->shares);
    output.role = WEIGHT_OUTPUT;
    weights_add(b->t, output);
}

void weights_of_unit(const struct model *m, enum unit_kind kind,
                     const struct weight_shares *shares, struct weights *out)
{
    out->n = out->n_lost = 0;
    const struct builder b = {m, shares, out};
    if (kind == KIND_E)
        weights_embedding(&b);
    else if (kind == KIND_M)
        weights_mtp(&b);
    else if (kind == KIND_L)
        weights_loss(&b);
    else if (kind_is_symbol(kind))
        weights_symbol(&b, kind);
    else
        weights_layer(&b, kind);
}

/* ---- check ---- */

/* Parameters of all, as a double: it cannot overflow. */
static double weights_sum(const struct weights *t)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++)
        sum += (double)t->row[i].rows * (double)t->row[i].cols *
               (double)t->row[i].count;
    return sum;
}

enum err weights_check(const struct model *m, struct err_msg *msg)
{
    // three tables: of E, of a stage with m, of the output layer
    double all = 3 * (double)m->padded_vocab * (double)m->hidden;
    for (int k = 0; k < N_KINDS; k++) {
        int n = model_unit_count(m, (enum unit_kind)k);
        struct weights t;
        if (n == 0)
            continue;
        weights_of_unit(m, (enum unit_kind)k, &WEIGHTS_WHOLE, &t);
        if (t.n_lost)
            return err_set(msg, ERR_RANGE,
                           "model: unit '%s' has %d weights, want at most %d",
                           kind_name((enum unit_kind)k), t.n + t.n_lost,
                           WEIGHTS_MAX);
        all += n * weights_sum(&t);
    }
    // such sums, in bytes of 16 a parameter, stay below 2^63
    if (all < 1e17)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "model: about %.2g parameters, want below 1e17: look for a "
                   "width or a count with too many digits",
                   all);
}
