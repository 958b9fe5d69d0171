/*
 * How it works: each part of a unit adds to both passes through add_*(); where
 * its module is recomputed, its forward is added to the backward, too. Products
 * follow from the table of weights, so that every shape that a model can have
 * is there already.
 */
#include "work.h"

#include "model/as_hybrid.h"
#include "model/weights.h"

#include <assert.h>

enum { BF16 = 2, FP32 = 4, TILE = 64 };

/* Megatron's module for grouped products deals experts to so many streams. */
static const double STREAMS = 4;

/* Bytes an element: a table's gradient made and added; a logit, forward and
 * backward, by whether loss and softmax are one kernel. */
static const double TABLE_GRADIENT = 12;
static const double LOGIT[2][2] = {{40, 18}, {12, 6}};

struct builder {
    const struct model *m;
    struct work *w;
    double tokens;  // T
    double part;    // 1 / TP where sequence parallelism deals them out
    bool again;     // the part in hand is recomputed
    bool all_again; // the whole layer is
    double times;   // what is added counts so often
};

/* ---- adding ---- */

/* The table of weights has fewer rows than this has room for: a test builds
 * the largest unit. */
static void add_to(const struct builder *b, struct work_pass *to,
                   struct work_product p)
{
    assert(to->n_products < WORK_MAX_PRODUCTS);
    p.flops *= b->times;
    p.bytes *= b->times;
    to->product[to->n_products++] = p;
}

static void add_moved(const struct builder *b, double forward, double backward)
{
    b->w->forward.moved_bytes += b->times * forward;
    b->w->backward.moved_bytes +=
        b->times * (backward + (b->again ? forward : 0));
}

static void add_sent(const struct builder *b, double forward, double backward)
{
    b->w->forward.sent_bytes += b->times * forward;
    b->w->backward.sent_bytes +=
        b->times * (backward + (b->again ? forward : 0));
}

static void add_kernels(const struct builder *b, double forward,
                        double backward)
{
    if (b->m->memory.graphs)
        return;
    b->w->forward.n_kernels += b->times * forward;
    b->w->backward.n_kernels +=
        b->times * (backward + (b->again ? forward : 0));
}

/* `rows` vectors through a weight, or dealt to several of one shape: forward,
 * gradient of the input, gradient of the weights. */
static void add_weight(const struct builder *b, const struct weight *w,
                       double rows, bool fp8)
{
    const double weights = (double)weight_params(w);
    const double used = (double)w->rows * (double)w->cols;
    const double values = BF16 * rows * ((double)w->rows + (double)w->cols);
    const struct work_product p = {.flops = 2 * rows * used,
                                   .bytes = BF16 * weights + values,
                                   .fp8 = fp8,
                                   .expert = w->expert,
                                   .odd = w->rows % TILE || w->cols % TILE};
    struct work_product gradient = p;
    gradient.bytes = 2 * FP32 * weights + values; // read, added, written
    add_to(b, &b->w->forward, p);
    add_to(b, &b->w->backward, p);
    add_to(b, &b->w->backward, gradient);
    if (b->again)
        add_to(b, &b->w->backward, p);
    const double n = w->expert ? (double)w->count / STREAMS : 1;
    add_kernels(b, n, 2 * n);
}

/* Is this part of a layer run again in the backward? */
static void of_module(struct builder *b, enum recompute_module module)
{
    b->again = b->all_again || (b->m->memory.recompute >> module & 1U);
}

static void of_layer(struct builder *b)
{
    b->again = b->all_again;
}

/* ---- parts of a layer ---- */

/* Read and written once forward; backward reads gradient and input. */
static void add_norm(struct builder *b)
{
    const double bytes = BF16 * b->tokens * (double)b->m->hidden * b->part;
    of_module(b, RECOMPUTE_LAYERNORM);
    add_moved(b, 2 * bytes, 3 * bytes);
    add_kernels(b, 1, 2);
    of_layer(b);
}

/* A residual sum with dropout's mask or bias, some three passes each way. */
static void add_residual(const struct builder *b)
{
    const double bytes = BF16 * b->tokens * (double)b->m->hidden * b->part;
    add_moved(b, 3 * bytes, 2.5 * bytes);
    add_kernels(b, 1, 1);
}

/* FLOPs of scores and of what they weigh: what the products leave of the
 * unit's own count, on one rank. */
static double score_flops(const struct model *m, enum unit_kind kind)
{
    struct weights t;
    double products = 0;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++) {
        struct weight w = t.row[i];
        w.count = w.expert ? m->topk : w.count;
        if (WEIGHT_USE[w.role].product)
            products += (double)weight_params(&w);
    }
    const double tokens = (double)(m->batch.micro_batch * m->batch.seq_tokens);
    return (model_unit_fwd_flops(m, kind) - 2 * tokens * products) /
           (double)(m->par.tp * m->par.cp);
}

/* Fused: the backward makes the scores once more, 2.5 forwards in all. Not
 * fused: the upper half is computed, too, and the scores of every head pass
 * through memory for scale, softmax and dropout, 12 bytes and 16 a score. */
static void add_scores(struct builder *b, enum unit_kind kind)
{
    const struct model *m = b->m;
    const bool apart = m->memory.unfused_attention;
    const double flops = score_flops(m, kind) * (apart ? 2 : 1);
    const double scores = b->tokens * (double)m->batch.seq_tokens *
                          (double)m->n_heads / m->par.tp;
    of_module(b, RECOMPUTE_CORE_ATTN);
    const struct work_product p = {.flops = flops};
    add_to(b, &b->w->forward, p);
    add_to(b, &b->w->backward,
           (struct work_product){.flops = flops * (apart ? 2 : 2.5)});
    if (b->again)
        add_to(b, &b->w->backward, p);
    if (apart)
        add_moved(b, 12 * scores, 16 * scores);
    else // rotary positions of queries and keys
        add_moved(b, 2 * BF16 * b->tokens * 2 * (double)m->hidden / m->par.tp,
                  2 * BF16 * b->tokens * 2 * (double)m->hidden / m->par.tp);
    add_kernels(b, 4, 8);
    of_layer(b);
}

/* Mamba and gated delta net: what the products leave of the count is the state;
 * the convolution reads and writes what comes of the way in, the scan reads
 * that and writes its states at the end of each chunk, the gate and its norm
 * pass over the output. The backward makes convolution and states once more. */
static void add_scan(struct builder *b, enum unit_kind of, double inner,
                     double states)
{
    enum { CHUNK = 128 };
    const double flops = score_flops(b->m, of);
    const double values = BF16 * b->tokens * inner / b->m->par.tp;
    const double moved =
        8 * values + 2 * FP32 * b->tokens / CHUNK * states / b->m->par.tp;
    add_to(b, &b->w->forward, (struct work_product){.flops = flops});
    add_to(b, &b->w->backward, (struct work_product){.flops = 2.5 * flops});
    if (b->again)
        add_to(b, &b->w->backward, (struct work_product){.flops = flops});
    add_moved(b, moved, 2.5 * moved);
    add_kernels(b, 8, 14);
}

/* A sum over tensor ranks (with sequence parallelism a gather and a scatter of
 * the same bytes): each sends twice its part. */
static void add_tensor_sum(const struct builder *b, double forward,
                           double backward)
{
    const double tp = b->m->par.tp;
    const double bytes =
        BF16 * b->tokens * (double)b->m->hidden * 2 * (tp - 1) / tp;
    if (tp > 1) {
        add_sent(b, forward * bytes, backward * bytes);
        add_kernels(b, forward, backward);
    }
}

/* Gate and up projection read, their product written. */
static void add_activation(struct builder *b, double rows, double width,
                           bool expert)
{
    const double bytes = BF16 * rows * width;
    const double parts = b->m->gated ? 3 : 2;
    of_module(b, expert ? RECOMPUTE_MOE_ACT : RECOMPUTE_MLP);
    add_moved(b, parts * bytes, (2 * parts - 1) * bytes);
    add_kernels(b, b->m->memory.unfused_act ? 3 : 1, 2);
    of_layer(b);
}

/* Router, dispatch and return of routed tokens: copies into the order of
 * experts and back, once more by expert where ranks share them. */
static void add_dispatch(struct builder *b, double rows)
{
    const struct model *m = b->m;
    const double h = (double)(m->latent ? m->latent : m->hidden);
    const double tokens = b->tokens * b->part, ep = m->par.ep;
    const double copies = 2 * BF16 * (tokens + rows) * h;
    const double scores = FP32 * tokens * (double)m->n_experts;
    of_module(b, RECOMPUTE_MOE);
    add_moved(b, 6 * scores + copies, 6 * scores + 1.5 * copies);
    add_kernels(b, 25, 25);
    if (ep > 1) {
        const double again = 4 * BF16 * rows * h;
        const double sent =
            m->overlap_moe_comm ? 0 : 2 * BF16 * rows * h * (ep - 1) / ep;
        add_moved(b, again, again);
        b->w->forward.routed_bytes += sent;
        b->w->backward.routed_bytes += sent + (b->again ? sent : 0);
        add_kernels(b, 6, 6);
    }
    of_layer(b);
}

/* Is the weight's product run again? Experts with their module, ways up from
 * latents with theirs; shared experts and dense MLPs, whose shapes are not told
 * apart here, only with the whole layer. */
static bool product_again(const struct builder *b, const struct weight *w)
{
    const struct model *m = b->m;
    const bool up = m->mla && (w->cols == m->q_lora || w->cols == m->kv_lora);
    const unsigned modules = m->memory.recompute;
    return b->all_again || (w->expert && modules >> RECOMPUTE_MOE & 1U) ||
           (up && modules >> RECOMPUTE_MLA_UP_PROJ & 1U);
}

/* Every weight of the unit that is a factor of a product; experts take the
 * rows that are routed to the rank. */
static void add_products(struct builder *b, enum unit_kind kind, double rows)
{
    const struct model *m = b->m;
    struct weights t;
    const struct weight_shares shares = weights_shares(m);
    weights_of_unit(m, kind, &shares, &t);
    for (int i = 0; i < t.n; i++) {
        const struct weight *w = &t.row[i];
        const struct weight_use *use = &WEIGHT_USE[w->role];
        if (!use->product)
            continue;
        b->again = product_again(b, w);
        add_weight(b, w, w->expert ? rows : b->tokens,
                   use->fp8 && m->memory.fp8);
    }
    of_layer(b);
}

/* Attention or what stands in its place; `of` is the unit whose count holds
 * its scores. */
static void add_mixer(struct builder *b, enum unit_kind symbol,
                      enum unit_kind of)
{
    const struct linear_attention *l = &b->m->linear;
    const double width = (double)weights_mamba_width(b->m);
    if (symbol == KIND_MAMBA)
        add_scan(b, of, width, width * (double)b->m->mamba.state_dim);
    else if (symbol == KIND_DELTA)
        add_scan(b, of, (double)(l->v_heads * l->v_dim),
                 (double)(l->v_heads * l->k_dim * l->v_dim));
    else
        add_scores(b, of);
}

static void add_mlp(struct builder *b, enum unit_kind symbol, double rows)
{
    const struct model *m = b->m;
    if (symbol == KIND_MLP) {
        add_activation(b, b->tokens, (double)m->ffn / m->par.tp, false);
        return;
    }
    add_dispatch(b, rows);
    add_activation(b, rows, (double)m->moe_ffn / m->par.etp, true);
    if (m->shared_ffn)
        add_activation(b, b->tokens, (double)m->shared_ffn / m->par.tp, false);
}

/* A layer of a hybrid model: half of a GPT model's. */
static void add_half(struct builder *b, enum unit_kind symbol,
                     enum unit_kind of)
{
    const struct model *m = b->m;
    const double rows = b->tokens * b->part * (double)m->topk * m->par.etp;
    add_norm(b);
    add_residual(b);
    add_products(b, symbol, rows);
    add_tensor_sum(b, 1, 1);
    if (symbol == KIND_MLP || symbol == KIND_EXPERTS)
        add_mlp(b, symbol, rows);
    else
        add_mixer(b, symbol, of);
}

/* A decoder layer of a GPT model, or that of an MTP layer `of`. */
static void add_layer(struct builder *b, enum unit_kind kind, enum unit_kind of)
{
    enum unit_kind half[2];
    model_layer_halves(b->m, kind, half);
    add_half(b, half[0], of);
    add_half(b, half[1], of);
}

/* ---- units ---- */

/* Rows looked up and written; backward the whole table's gradient. */
static void add_lookup(const struct builder *b)
{
    const struct weight_shares shares = weights_shares(b->m);
    const struct weight table = weights_token_table(b->m, &shares);
    const double rows = BF16 * b->tokens * (double)b->m->hidden;
    add_moved(b, 2 * rows,
              2 * rows + TABLE_GRADIENT * (double)weight_params(&table));
    add_kernels(b, 2, 4);
    add_tensor_sum(b, 1, 0);
}

/* Three norms, two states put side by side and projected, the layer or the
 * layers of a hybrid model's depth. */
static void add_mtp(struct builder *b)
{
    const struct model *m = b->m;
    const double rows = BF16 * b->tokens * (double)m->hidden;
    const struct weight project = {.rows = m->hidden / m->par.tp,
                                   .cols = 2 * m->hidden,
                                   .count = 1,
                                   .role = WEIGHT_LINEAR};
    for (int i = 0; i < 3; i++)
        add_norm(b);
    add_moved(b, 4 * rows * b->part, 4 * rows * b->part);
    add_kernels(b, 10, 10);
    add_weight(b, &project, b->tokens, m->memory.fp8);
    if (!model_is_hybrid(m))
        add_layer(b, model_mtp_kind(m), KIND_M);
    for (const char *s = m->mtp_symbols; s && *s; s++)
        add_half(b, kind_of_symbol(*s), kind_of_symbol(*s));
    b->again = false; // recompute keeps what goes into the layer
    add_lookup(b);
}

/* A pass of main head and one of each MTP layer; the loss stays in 16 bits. */
static void add_loss(struct builder *b)
{
    const struct model *m = b->m;
    const struct weight_shares shares = weights_shares(m);
    const struct weight table = weights_token_table(m, &shares);
    const double *bytes = LOGIT[m->memory.loss_fusion];
    const double logits = b->tokens * (double)table.rows;
    b->again = false;
    add_norm(b);
    b->times = 1 + m->n_mtp;
    add_weight(b, &table, b->tokens, false);
    add_moved(b, bytes[0] * logits, bytes[1] * logits);
    add_kernels(b, m->memory.loss_fusion ? 6 : 12, 6);
    add_tensor_sum(b, 0, 1);
}

void work_of_unit(const struct model *m, enum unit_kind kind, struct work *out)
{
    const bool full = m->memory.full_recompute == RECOMPUTE_UNIFORM;
    struct builder b = {
        .m = m,
        .times = 1,
        .w = out,
        .tokens =
            (double)(m->batch.micro_batch * m->batch.seq_tokens) / m->par.cp,
        .part = m->memory.sequence_parallel ? 1.0 / m->par.tp : 1,
        .all_again = full && kind != KIND_E && kind != KIND_L};
    *out = (struct work){.forward = {.n_products = 0}};
    b.again = b.all_again;
    if (model_unit_count(m, kind) == 0)
        return;
    if (kind == KIND_E)
        add_lookup(&b);
    else if (kind == KIND_L)
        add_loss(&b);
    else if (kind == KIND_M)
        add_mtp(&b);
    else if (kind_is_symbol(kind))
        add_half(&b, kind, kind);
    else
        add_layer(&b, kind, kind);
}
