#include "mixers.h"

#include "activations.h"
#include "model/as_hybrid.h"
#include "model/weights.h"

// bytes: of fp32, of a key's number; tokens of a chunk of either scan
enum { MIXER_FP32 = 4, MIXER_INDEX = 8, MAMBA_CHUNK = 128, DELTA_CHUNK = 64 };

static int64_t mixers_tokens(const struct model *m)
{
    return m->batch.micro_batch * m->batch.seq_tokens / m->par.cp;
}

/* Bytes of an input of a linear layer. */
static int64_t mixers_input(const struct memory_options *o)
{
    return o->fp8 ? 1 : memory_value_bytes(o);
}

/* ---- Mamba ---- */

/* Widths of a layer on one rank. */
struct mamba_widths {
    int64_t inner, convolved, projected;
};

static struct mamba_widths mamba_of(const struct model *m)
{
    const struct mamba *x = &m->mamba;
    const int64_t tp = m->par.tp, inner = weights_mamba_width(m) / tp;
    const int64_t convolved = inner + 2 * x->n_groups * x->state_dim / tp;
    return (struct mamba_widths){inner, convolved,
                                 inner + convolved + x->n_heads / tp};
}

static int64_t mamba_bytes(const struct model *m,
                           const struct memory_options *o)
{
    const struct mamba_widths w = mamba_of(m);
    return mixers_tokens(m) * (memory_value_bytes(o) * (w.projected + w.inner) +
                               mixers_input(o) * w.inner);
}

/* States and their gradients are in fp32; the convolution's output and its
 * gradient are values. */
static int64_t mamba_states(const struct model *m)
{
    const struct mamba_widths w = mamba_of(m);
    const int64_t tokens = mixers_tokens(m);
    const int64_t chunks = (tokens + MAMBA_CHUNK - 1) / MAMBA_CHUNK;
    return 2 * MIXER_FP32 * chunks * w.inner * m->mamba.state_dim +
           2 * memory_value_bytes(&m->memory) * tokens * w.convolved;
}

/* ---- gated delta net ---- */

struct delta_widths {
    int64_t qk, v, heads; // all heads' keys, values; value heads
    int64_t wide;         // keys of as many heads as values have
    int64_t projected, gates;
};

static struct delta_widths delta_of(const struct model *m)
{
    const struct linear_attention *l = &m->linear;
    const int64_t tp = m->par.tp;
    struct delta_widths w = {.qk = l->k_heads * l->k_dim / tp,
                             .v = l->v_heads * l->v_dim / tp,
                             .heads = l->v_heads / tp,
                             .wide = l->v_heads * l->k_dim / tp};
    // of the state: decay and strength a head, or of every channel
    w.gates = l->channel_gates ? 2 * w.wide + w.v : 2 * w.heads;
    w.projected =
        2 * w.qk + 2 * w.v + (l->channel_gates ? 2 * w.qk + w.v : 2 * w.heads);
    return w;
}

/* The joint projection; the convolution's output, then queries and keys of
 * every value head and the values apart; gates in fp32; the products of keys
 * within a chunk; the output gate, and attention's output before and behind its
 * norm and with the gate. */
static int64_t delta_bytes(const struct model *m,
                           const struct memory_options *o)
{
    const struct delta_widths w = delta_of(m);
    const int64_t values = w.projected + 2 * w.qk + w.v + 2 * w.wide + w.v +
                           w.heads * DELTA_CHUNK + 3 * w.v;
    return mixers_tokens(m) * (memory_value_bytes(o) * values +
                               MIXER_FP32 * w.gates + mixers_input(o) * w.v);
}

/* States and their gradients, and what a chunk makes of keys and values. */
static int64_t delta_states(const struct model *m)
{
    const struct delta_widths w = delta_of(m);
    const int64_t tokens = mixers_tokens(m);
    const int64_t chunks = (tokens + DELTA_CHUNK - 1) / DELTA_CHUNK;
    return memory_value_bytes(&m->memory) *
           (2 * chunks * w.wide * m->linear.v_dim +
            tokens * (w.wide + 2 * w.v) + tokens * (2 * w.qk + w.v));
}

/* ---- all ---- */

int64_t memory_mixer_bytes(const struct model *m, enum unit_kind symbol,
                           const struct memory_options *o)
{
    if (symbol == KIND_MAMBA)
        return mamba_bytes(m, o);
    return symbol == KIND_DELTA ? delta_bytes(m, o) : 0;
}

int64_t memory_indexer_bytes(const struct model *m,
                             const struct memory_options *o)
{
    const struct indexer *x = &m->indexer;
    const int64_t keys =
        x->topk < m->batch.seq_tokens ? x->topk : m->batch.seq_tokens;
    return mixers_tokens(m) *
           (memory_value_bytes(o) * (x->heads * x->dim + x->dim + x->heads) +
            MIXER_INDEX * keys);
}

static int64_t working_of_symbol(const struct model *m, enum unit_kind symbol)
{
    if (symbol == KIND_MAMBA)
        return mamba_states(m);
    if (symbol == KIND_DELTA)
        return delta_states(m);
    return kind_has_scores(symbol) ? memory_scores_bytes(m) : 0;
}

static int64_t working_within_mtp(const struct model *m)
{
    int64_t most = 0;
    for (const char *s = m->mtp_symbols; s && *s; s++) {
        const int64_t n = working_of_symbol(m, kind_of_symbol(*s));
        most = n > most ? n : most;
    }
    return most;
}

int64_t memory_working_bytes(const struct model *m, enum unit_kind kind)
{
    enum unit_kind half[2];
    if (kind == KIND_M && model_is_hybrid(m))
        return working_within_mtp(m);
    if (kind == KIND_M)
        kind = model_layer_kind(m, m->n_layers - 1);
    if (kind_is_symbol(kind))
        return working_of_symbol(m, kind);
    if (!kind_is_layer(kind))
        return 0;
    model_layer_halves(m, kind, half);
    return working_of_symbol(m, half[0]);
}

double memory_mixers_bound(const struct model *m)
{
    const struct mamba *x = &m->mamba;
    const struct linear_attention *l = &m->linear;
    const double tokens =
        (double)m->batch.micro_batch * (double)m->batch.seq_tokens;
    const double inner = (double)x->n_heads * (double)x->head_dim;
    const double ways = (double)x->n_groups * (double)x->state_dim;
    const double key = (double)(l->k_heads + l->v_heads) * (double)l->k_dim;
    const double value = (double)l->v_heads * (double)l->v_dim;
    const double picked = (double)m->indexer.topk +
                          (double)m->indexer.heads * (double)m->indexer.dim;
    // sparse attention's queries and output as latents
    const double latents =
        (double)m->n_heads * (double)(m->kv_lora + m->qk_rope_dim);
    // 4 bytes of three widths, of the ways twice and of a step a head
    const double kept = 24 * (inner + ways) + 16 * latents +
                        32 * (key + value) + 256 * (double)l->v_heads +
                        8 * picked;
    const double states =
        8 * inner * (double)x->state_dim + 4 * (key + value) * (double)l->v_dim;
    // of which the convolution's output and its gradient are no states
    const double convolved = 8 * (inner + 2 * ways);
    return tokens * (kept + convolved) + (tokens + MAMBA_CHUNK) * states;
}
