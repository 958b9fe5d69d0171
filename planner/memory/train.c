#include "train.h"

#include "model/weights.h"

#include <stdbool.h>

// a cache line, as tensors.c aligns; fp32; COMM_CHUNK of comm.h; the tokens
// that occur, DATA_MAX_SYMBOLS of data.c
enum { ALIGN_BYTES = 64, VALUE = 4, MESSAGE_CHUNK = 1 << 18, SYMBOLS = 64 };

/* One tensor of `n` values. */
static int64_t train_tensor(int64_t n)
{
    return (n * VALUE + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Sizes under the letters of the trainer: T tokens, C hidden, A all heads'
 * values, Q the joint projection's width. */
struct sizes {
    const struct model *m;
    int64_t T, S, C, A, Q;
};

static struct sizes sizes_of(const struct model *m)
{
    return (struct sizes){.m = m,
                          .T = m->batch.micro_batch * m->batch.seq_tokens,
                          .S = m->batch.seq_tokens,
                          .C = m->hidden,
                          .A = m->n_heads * m->head_dim,
                          .Q = (m->n_heads + 2 * m->n_kv_heads) * m->head_dim};
}

/* ---- weights ---- */

static int64_t train_weight(const struct weight *w)
{
    return train_tensor(weight_params(w));
}

/* A unit's weights, all experts' as one tensor. The trainer keeps the final
 * norm and the output layer of L at different places. */
static int64_t unit_weights(const struct model *m, enum unit_kind kind)
{
    struct weights t;
    int64_t n = 0;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++)
        n += train_weight(&t.row[i]);
    return n;
}

static int64_t token_table(const struct model *m)
{
    struct weight table = weights_token_table(m, &WEIGHTS_WHOLE);
    return train_weight(&table);
}

/* ---- activations ---- */

static int64_t experts_acts(const struct sizes *z)
{
    const struct model *m = z->m;
    int64_t rows = z->T * m->topk;
    return train_tensor(z->T * m->n_experts) + 3 * train_tensor(rows) +
           train_tensor(m->n_experts + 1) + 2 * train_tensor(rows * z->C) +
           train_tensor(rows * 2 * m->moe_ffn) +
           train_tensor(rows * m->moe_ffn);
}

/* The norm's output with its inverse root, the joint projection, the
 * probabilities, what comes of the values. */
static int64_t attention_acts(const struct sizes *z)
{
    const struct model *m = z->m;
    return train_tensor(z->T * z->C) + train_tensor(z->T) +
           train_tensor(z->T * z->Q) + train_tensor(z->T * z->A) +
           train_tensor(m->batch.micro_batch * m->n_heads * z->S * z->S);
}

static int64_t mlp_acts(const struct sizes *z, bool moe)
{
    const struct model *m = z->m;
    int64_t plain = moe ? m->shared_ffn : m->ffn;
    return train_tensor(z->T * z->C) + train_tensor(z->T) +
           train_tensor(z->T * 2 * plain) + train_tensor(z->T * plain) +
           (moe ? experts_acts(z) : 0);
}

/* A whole layer keeps what passes from one half to the other; between layers
 * that are halves it is the stage's. */
static int64_t kind_acts(const struct sizes *z, enum unit_kind kind)
{
    bool moe =
        kind == KIND_EXPERTS ||
        (z->m->n_experts && !kind_is_symbol(kind) && !kind_is_dense(kind));
    if (kind == KIND_ATTENTION)
        return attention_acts(z);
    if (kind_is_symbol(kind))
        return mlp_acts(z, moe);
    return attention_acts(z) + train_tensor(z->T * z->C) + mlp_acts(z, moe);
}

/* The decoder layer within: that of the last layer, or the halves of a part of
 * a pattern, of which two are one layer to the trainer. */
static int64_t mtp_layer_acts(const struct sizes *z)
{
    int64_t n = 0;
    if (!model_is_hybrid(z->m))
        return kind_acts(z, model_mtp_kind(z->m));
    for (const char *s = z->m->mtp_symbols; s && *s; s++)
        n += kind_acts(z, kind_of_symbol(*s)) +
             (s > z->m->mtp_symbols ? train_tensor(z->T * z->C) : 0);
    return n;
}

/* Two norms before the projection and one behind, with their inverse roots. */
static int64_t mtp_acts(const struct sizes *z)
{
    return mtp_layer_acts(z) + 3 * train_tensor(z->T * z->C) +
           3 * train_tensor(z->T) + train_tensor(2 * z->T * z->C);
}

/* Scratch is shared by all layers of the rank: the widest of each counts. */
static int64_t layer_work(const struct sizes *z)
{
    const struct model *m = z->m;
    int64_t rows = z->T * m->topk;
    int64_t widest = m->shared_ffn > m->ffn ? m->shared_ffn : m->ffn;
    int64_t n = 2 * train_tensor(z->S * (m->head_dim / 2)) +
                train_tensor(z->T * z->A) + train_tensor(z->T * z->Q) +
                train_tensor(z->S * z->S) + train_tensor(z->T * z->C) +
                train_tensor(z->T * widest);
    if (m->n_experts)
        n += train_tensor(rows * m->moe_ffn) + train_tensor(rows * z->C) +
             train_tensor(z->T * m->n_experts);
    return n;
}

/* ---- slots ---- */

/* Place of the k-th forward, and backward, among a rank's operations. */
static int forward_at(const struct order *o, int rank, int k)
{
    int warm = order_warmup(o, rank);
    return k < warm || o->ep_overlap ? k : 2 * k - warm;
}

static int backward_at(const struct order *o, int rank, int k)
{
    int warm = order_warmup(o, rank), all = o->n_mb * o->vpp;
    if (o->ep_overlap)
        return warm + k;
    return k < all - warm ? warm + 2 * k + 1 : all + k;
}

/* The operation behind which the input of a micro-batch may begin to come in:
 * the one before its forward, but the first rank posts the receive when the
 * last rank has just sent (schedules.py, recv_tensor_from_previous_stage). */
static int arrives_at(const struct order *o, int rank, int chunk, int mb)
{
    int k = order_forward_index(o, chunk, mb) - 1;
    if (rank == 0 && chunk == 0)
        k++;
    else if (rank == 0)
        k = order_forward_index(o, chunk - 1, mb) + o->pp - 1;
    return k < 0 ? 0 : forward_at(o, rank, k);
}

/* The operation behind which its gradient has certainly left: the send is
 * waited for after the next backward at the latest. */
static int leaves_at(const struct order *o, int rank, int chunk, int mb)
{
    int k = order_backward_index(o, chunk, mb), last = o->n_mb * o->vpp - 1;
    bool sends = rank > 0 || chunk > 0;
    return backward_at(o, rank, sends && k < last ? k + 1 : k);
}

int memory_train_slots(const struct order *o, int rank, int chunk)
{
    int first = 0, most = 0;
    if (o->vpp == 1)
        return order_max_in_flight(o, rank);
    // micro-batches of a chunk leave in the order in which they came
    for (int mb = 0; mb < o->n_mb; mb++) {
        int arrives = arrives_at(o, rank, chunk, mb);
        while (first < mb && leaves_at(o, rank, chunk, first) < arrives)
            first++;
        most = mb - first + 1 > most ? mb - first + 1 : most;
    }
    return most;
}

/* ---- stages ---- */

/* What of the model is here, as stage.c's place_units() finds it. */
struct here {
    struct layout_counts n;
    int first, mtp; // decoder layer; stage of the MTP layers, -1: none
    bool starts_behind, ends_behind, has_norm;
    bool has_table; // a copy of the embedding
    int64_t n_out;  // hidden states that leave
};

static struct here train_find(const struct model *m, const struct layout *l,
                              int stage)
{
    struct here h = {.n = layout_stage(l, stage),
                     .first = layout_first_layer(l, stage),
                     .mtp = m->n_mtp ? layout_mtp_stage(l) : -1};
    h.starts_behind = m->n_mtp && h.first == m->n_layers;
    h.ends_behind =
        m->n_mtp ? h.first + h.n.n_layers == m->n_layers : h.n.n_loss > 0;
    h.has_norm = h.ends_behind && !h.starts_behind;
    h.has_table =
        stage == 0 || h.mtp == stage || (m->tied && stage == l->n_stages - 1);
    h.n_out = h.mtp >= 0 && stage >= h.mtp ? 1 + m->n_mtp : 1;
    return h;
}

/* All but the token table, which add_table() adds; the final norm goes with the
 * last decoder layer, without MTP with the loss. Kinds that are not here are
 * not built: their sizes may not be known. */
static int64_t stage_weights(const struct model *m, const struct here *h)
{
    int64_t output = m->tied ? 0 : token_table(m), n = 0;
    int64_t final_norm = unit_weights(m, KIND_L) - output;
    int n_units[N_KINDS] = {[KIND_M] = h->n.n_mtp};
    for (int i = 0; i < h->n.n_layers; i++)
        n_units[model_layer_kind(m, h->first + i)]++;
    for (int k = 0; k < N_KINDS; k++)
        if (n_units[k])
            n += n_units[k] * unit_weights(m, (enum unit_kind)k);
    return n + (h->has_norm ? final_norm : 0) + (h->n.n_loss ? output : 0);
}

static int64_t stage_slot(const struct sizes *z, const struct here *h,
                          int64_t head, bool keeps_gradients)
{
    const struct model *m = z->m;
    int64_t TC = z->T * z->C;
    int64_t n = train_tensor(m->batch.micro_batch * (z->S + 1)) + head;
    if (!h->starts_behind)
        n += (h->n.n_layers + 1 + keeps_gradients) * train_tensor(TC);
    for (int i = 0; i < h->n.n_layers; i++)
        n += kind_acts(z, model_layer_kind(m, h->first + i));
    if (h->has_norm)
        n += train_tensor(z->T);
    if (h->ends_behind)
        n += (1 + keeps_gradients) * train_tensor(h->n_out * TC);
    return n + h->n.n_mtp * mtp_acts(z);
}

/* What does not depend on the stage, and with one stage a rank the place for
 * gradients; interleaved they are in the slots (harness/train/stage.c). */
static int64_t scratch(const struct sizes *z, const struct here *only)
{
    int64_t TC = z->T * z->C;
    int64_t n =
        layer_work(z) + train_tensor(z->T) + train_tensor(MESSAGE_CHUNK);
    return only ? n + train_tensor(TC) + train_tensor(only->n_out * TC) : n;
}

/* Adds one stage with `n_slots`, all but its copy of the embedding. */
static void add_stage(const struct sizes *z, const struct here *h, int n_slots,
                      bool keeps_gradients, struct memory_train *t)
{
    const struct model *m = z->m;
    int64_t TC = z->T * z->C, head = 0;
    if (h->n.n_loss)
        head = train_tensor((1 + m->n_mtp) * z->T * m->padded_vocab);
    t->weights += stage_weights(m, h);
    t->head += n_slots * head;
    t->slot += n_slots * stage_slot(z, h, head, keeps_gradients);
    if (h->n.n_mtp)
        t->work += 2 * train_tensor(TC) + train_tensor(2 * TC);
}

/* All uses of the embedding share a copy and a gradient; look-ups by E and m
 * have rows of their own for the tokens that occur. */
static void add_table(const struct model *m, bool has_table,
                      struct memory_train *t)
{
    int64_t symbols = m->vocab < SYMBOLS ? m->vocab : SYMBOLS;
    int64_t rows = (1 + (m->n_mtp > 0)) * train_tensor(symbols * m->hidden);
    t->weights += has_table ? token_table(m) : 0;
    t->grads = t->weights + (has_table ? rows : 0);
    t->adam = 2 * train_tensor(t->weights / VALUE);
}

void memory_train_stage(const struct model *m, const struct layout *l,
                        int stage, struct memory_train *out)
{
    struct sizes z = sizes_of(m);
    struct here h = train_find(m, l, stage);
    struct memory_train t = {.work = scratch(&z, l->vpp == 1 ? &h : NULL)};
    add_stage(&z, &h, 1, l->vpp > 1, &t);
    add_table(m, h.has_table, &t);
    *out = t;
}

void memory_train_rank(const struct model *m, const struct layout *l,
                       const struct order *o, int rank,
                       struct memory_train *out)
{
    struct sizes z = sizes_of(m);
    struct here h = train_find(m, l, rank);
    struct memory_train t = {.work = scratch(&z, l->vpp == 1 ? &h : NULL)};
    bool has_table = false;
    for (int v = 0; v < l->vpp; v++) {
        h = train_find(m, l, v * l->pp + rank);
        add_stage(&z, &h, memory_train_slots(o, rank, v), l->vpp > 1, &t);
        has_table = has_table || h.has_table;
    }
    add_table(m, has_table, &t);
    *out = t;
}
