#include "weights.h"

enum { START_ELEMENTS = 64 }; // param_and_grad_buffer.py, start alignment

struct table {
    struct weight *rows;
    int n;
};

static void weights_add(struct table *t, struct weight w)
{
    t->rows[t->n++] = w;
}

static void add_vector(struct table *t, int64_t n)
{
    weights_add(t, (struct weight){.rows = n, .cols = 1, .count = 1});
}

static void add_linear(struct table *t, int64_t rows, int64_t cols)
{
    weights_add(t, (struct weight){.rows = rows,
                                   .cols = cols,
                                   .count = 1,
                                   .matrix = true,
                                   .linear = true});
}

static void add_norm(struct table *t, const struct model *m, int64_t width)
{
    add_vector(t, width);
    if (m->layernorm)
        add_vector(t, width);
}

/* ---- decoder layers ---- */

static void add_mla(struct table *t, const struct model *m)
{
    int64_t h = m->hidden, tp = m->par.tp;
    int64_t q = m->n_heads * (m->qk_dim + m->qk_rope_dim) / tp;
    if (m->q_lora) {
        add_linear(t, m->q_lora, h); // down projections are on every rank
        add_linear(t, q, m->q_lora);
    } else {
        add_linear(t, q, h);
    }
    add_linear(t, m->kv_lora + m->qk_rope_dim, h);
    add_linear(t, m->n_heads * (m->qk_dim + m->v_dim) / tp, m->kv_lora);
    add_linear(t, h, m->n_heads * m->v_dim / tp);
    if (m->qk_norm && m->q_lora)
        add_norm(t, m, m->q_lora);
    if (m->qk_norm)
        add_norm(t, m, m->kv_lora);
}

static void add_attention(struct table *t, const struct model *m)
{
    int64_t h = m->hidden, tp = m->par.tp;
    int64_t q = m->n_heads * m->head_dim, kv = m->n_kv_heads * m->head_dim;
    add_norm(t, m, h);
    if (m->mla) {
        add_mla(t, m);
    } else {
        add_linear(t, (q + 2 * kv) / tp, h);
        add_linear(t, h, q / tp);
        if (m->linear_bias || m->qkv_bias)
            add_vector(t, (q + 2 * kv) / tp);
        if (m->qk_norm) {
            add_norm(t, m, m->qk_norm_full ? q / tp : m->head_dim);
            add_norm(t, m, m->qk_norm_full ? kv / tp : m->head_dim);
        }
    }
    if (m->linear_bias)
        add_vector(t, h);
    if (m->sinks)
        add_vector(t, m->n_heads / tp);
}

/* An MLP of `width` between vectors of `outer`, split over `parts` ranks. */
struct mlp_shape {
    int64_t outer, width, parts, count;
    bool expert, bias;
};

static void add_mlp(struct table *t, const struct model *m, struct mlp_shape s)
{
    int64_t in = (m->gated ? 2 : 1) * s.width / s.parts;
    struct weight up = {in, s.outer, s.count, s.expert, true, true};
    struct weight down = {s.outer, s.width / s.parts, s.count, s.expert, true,
                          true};
    weights_add(t, up);
    weights_add(t, down);
    if (!s.bias)
        return;
    weights_add(t, (struct weight){in, 1, s.count, s.expert, false, false});
    weights_add(t,
                (struct weight){s.outer, 1, s.count, s.expert, false, false});
}

static void add_experts(struct table *t, const struct model *m)
{
    int64_t h = m->hidden, tp = m->par.tp;
    weights_add(
        t, (struct weight){.rows = m->n_experts,
                           .cols = h,
                           .count = 1,
                           .matrix = true}); // the router is no linear layer
    if (m->linear_bias)
        add_vector(t, m->n_experts);
    if (m->latent) {
        add_linear(t, m->latent, h);
        add_linear(t, h, m->latent);
    }
    add_mlp(t, m,
            (struct mlp_shape){m->latent ? m->latent : h, m->moe_ffn,
                               m->par.etp, m->n_experts / m->par.ep, true,
                               m->linear_bias});
    if (m->shared_ffn)
        add_mlp(t, m,
                (struct mlp_shape){h, m->shared_ffn, tp, 1, false, false});
    if (m->shared_gate)
        add_vector(t, h);
}

static void add_layer(struct table *t, const struct model *m,
                      enum unit_kind kind)
{
    add_attention(t, m);
    add_norm(t, m, m->hidden);
    if (m->n_experts && kind == KIND_T)
        add_experts(t, m);
    else
        add_mlp(t, m,
                (struct mlp_shape){m->hidden, m->ffn, m->par.tp, 1, false,
                                   m->linear_bias});
}

/* ---- units ---- */

struct weight memory_embedding(const struct model *m)
{
    return (struct weight){
        .rows = m->padded_vocab / m->par.tp, .cols = m->hidden, .count = 1};
}

static void add_loss(struct table *t, const struct model *m)
{
    add_norm(t, m, m->hidden);
    if (m->tied)
        return;
    struct weight output = memory_embedding(m);
    output.linear = true;
    weights_add(t, output);
}

int memory_unit_weights(const struct model *m, enum unit_kind kind,
                        struct weight rows[MEMORY_MAX_WEIGHTS])
{
    struct table t = {rows, 0};
    int64_t h = m->hidden;
    switch (kind) {
    case KIND_E:
        weights_add(&t, memory_embedding(m));
        if (m->learned_positions)
            weights_add(&t, (struct weight){m->max_positions, h, 1, 0, 0, 0});
        break;
    case KIND_M:
        for (int i = 0; i < 3; i++)
            add_norm(&t, m, h);
        add_linear(&t, h / m->par.tp, 2 * h);
        add_layer(&t, m, model_layer_kind(m, m->n_layers - 1));
        break;
    case KIND_L:
        add_loss(&t, m);
        break;
    default:
        add_layer(&t, m, kind);
    }
    return t.n;
}

/* ---- sums ---- */

void memory_add_weight(struct weight_sums *sums, const struct weight *w)
{
    int64_t one = w->rows * w->cols, n = one * w->count;
    int64_t padded =
        (one + START_ELEMENTS - 1) / START_ELEMENTS * START_ELEMENTS * w->count;
    *(w->expert ? &sums->expert : &sums->dense) += n;
    *(w->expert ? &sums->expert_padded : &sums->dense_padded) += padded;
    sums->n_dense += w->expert ? 0 : w->count;
    if (w->matrix)
        *(w->expert ? &sums->expert_matrix : &sums->dense_matrix) += n;
    // the output layer stays in bf16
    if (w->linear && w->matrix)
        sums->linear += n;
}

struct weight_sums memory_unit_sums(const struct model *m, enum unit_kind kind)
{
    struct weight rows[MEMORY_MAX_WEIGHTS];
    struct weight_sums sums = {0};
    int n = memory_unit_weights(m, kind, rows);
    for (int i = 0; i < n; i++)
        memory_add_weight(&sums, &rows[i]);
    return sums;
}
