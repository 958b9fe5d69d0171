/*
 * How it works: units are numbered E, layers, final norm, m, L through the
 * whole model, and a tensor's id is its unit's number times LAYER_IDS_A_UNIT
 * plus its place. So first values and the order of sums depend on the model
 * alone, and losses are the same to the last bit for every layout.
 *
 * An m of depth k (DeepSeek-V3, section 2.2) with tokens t shifted by k:
 *
 *   cat = [norm_e(E(t+k)), norm_h(hidden)]     x = cat P^T
 *   out = norm_out(layer(x))
 *
 * The head of L is shared by all depths: each makes its own pass through it.
 */
#include "unit.h"

#include "data.h"

#include <stdio.h>
#include <string.h>

static const double init_std = 0.02; // as for layers, see layer.c

int unit_embedding(const struct dims *d)
{
    (void)d;
    return 0;
}

int unit_layer(const struct dims *d, int i)
{
    return unit_embedding(d) + 1 + i;
}

int unit_final_norm(const struct dims *d)
{
    return unit_layer(d, d->n_blocks);
}

int unit_mtp(const struct dims *d, int i)
{
    return unit_final_norm(d) + 1 + i;
}

int unit_output(const struct dims *d)
{
    return unit_mtp(d, d->n_mtp);
}

int unit_count(const struct dims *d)
{
    return unit_output(d) + 1;
}

static const char *const mtp_tensors[] = {"mtp_enorm", "mtp_hnorm",
                                          "mtp_projection", "mtp_norm"};

const char *unit_tensor_name(const struct dims *d, int id,
                             char unit[UNIT_NAME_BYTES])
{
    int u = id / LAYER_IDS_A_UNIT, place = id % LAYER_IDS_A_UNIT;
    bool layer = u < unit_final_norm(d);
    const char *alone = u == unit_embedding(d)    ? "E"
                        : u == unit_final_norm(d) ? "norm"
                        : u == unit_output(d)     ? "L"
                                                  : NULL;
    if (!alone) {
        int first = layer ? unit_layer(d, 0) : unit_mtp(d, 0);
        snprintf(unit, UNIT_NAME_BYTES, "%c%d", layer ? 't' : 'm',
                 u - first + 1);
        return place < LAYER_IDS ? layer_tensor_name(place)
                                 : mtp_tensors[place - LAYER_IDS];
    }
    snprintf(unit, UNIT_NAME_BYTES, "%s", alone);
    return *alone == 'E'   ? "embedding"
           : *alone == 'L' ? "output"
                           : "final_norm";
}

static struct mat hidden_mat(const struct pass *p, real *x)
{
    return mat_of(x, p->dims->n_tokens, p->dims->hidden);
}

static size_t hidden_bytes(const struct dims *d)
{
    return (size_t)d->n_tokens * (size_t)d->hidden * sizeof(real);
}

void embedding_forward(const struct pass *p, real *table, const int *tokens,
                       real *x)
{
    ops_embed(p->ops, mat_of(table, p->dims->vocab, p->dims->hidden), tokens,
              hidden_mat(p, x));
}

void embedding_backward(const struct pass *p, real *drows, const int *symbols,
                        real *dx)
{
    ops_embed_back(p->ops, mat_of(drows, p->dims->n_symbols, p->dims->hidden),
                   symbols, hidden_mat(p, dx));
}

void norm_forward(const struct norm *n, const struct pass *p, real *x, real *y)
{
    ops_rmsnorm(p->ops, hidden_mat(p, x), n->w, hidden_mat(p, y), n->inv);
}

void norm_backward(const struct norm *n, const struct pass *p, real *x,
                   real *dy, real *dx)
{
    memset(dx, 0, hidden_bytes(p->dims));
    ops_rmsnorm_back(p->ops, &(struct norm_back){.x = hidden_mat(p, x),
                                                 .dy = hidden_mat(p, dy),
                                                 .dx = hidden_mat(p, dx),
                                                 .w = n->w,
                                                 .inv = n->inv,
                                                 .dw = n->dw});
}

/* The ids of m's own weights follow those of its layer. */
void mtp_carve_weights(const struct dims *d, struct layer_shape shape, int unit,
                       struct tensors *t, struct mtp_weights *out)
{
    int64_t C = d->hidden;
    int id = unit * LAYER_IDS_A_UNIT + LAYER_IDS;
    layer_carve_weights(d, shape, unit, t, &out->layer);
    out->norm_e = tensors_carve(t, weight_spec(mtp_tensors[0], C, id, -1));
    out->norm_h = tensors_carve(t, weight_spec(mtp_tensors[1], C, id + 1, -1));
    out->proj = tensors_carve(
        t, weight_spec(mtp_tensors[2], 2 * C * C, id + 2, init_std));
    out->norm_out =
        tensors_carve(t, weight_spec(mtp_tensors[3], C, id + 3, -1));
}

void mtp_carve_acts(const struct dims *d, struct layer_shape shape,
                    struct tensors *t, struct mtp_acts *out)
{
    int64_t T = d->n_tokens, TC = T * d->hidden;
    layer_carve_acts(d, shape, t, &out->layer);
    out->emb = tensors_carve_real(t, "mtp_embedding", TC);
    out->inv_e = tensors_carve_real(t, "mtp_enorm_inv", T);
    out->inv_h = tensors_carve_real(t, "mtp_hnorm_inv", T);
    out->cat = tensors_carve_real(t, "mtp_concatenation", 2 * TC);
    out->x = tensors_carve_real(t, "mtp_layer_in", TC);
    out->y = tensors_carve_real(t, "mtp_layer_out", TC);
    out->inv_out = tensors_carve_real(t, "mtp_norm_inv", T);
}

void mtp_carve_work(const struct dims *d, struct tensors *t,
                    struct mtp_work *out)
{
    int64_t TC = (int64_t)d->n_tokens * d->hidden;
    out->d = tensors_carve_real(t, "mtp_dlayer", TC);
    out->dcat = tensors_carve_real(t, "mtp_dconcatenation", 2 * TC);
    out->demb = tensors_carve_real(t, "mtp_dembedding", TC);
}

/* Both norms write into their half of the concatenation. */
void mtp_forward(struct mtp *m, const struct pass *p, const int *tokens,
                 real *hidden, real *out)
{
    int T = p->dims->n_tokens, C = p->dims->hidden;
    struct mat cat = mat_of(m->acts.cat, T, 2 * C);
    m->layer.acts = m->acts.layer;
    embedding_forward(p, m->table, tokens, m->acts.emb);
    ops_rmsnorm(p->ops, hidden_mat(p, m->acts.emb), m->w.norm_e,
                mat_cols(cat, 0, C), m->acts.inv_e);
    ops_rmsnorm(p->ops, hidden_mat(p, hidden), m->w.norm_h, mat_cols(cat, C, C),
                m->acts.inv_h);
    ops_linear(p->ops, cat, mat_of(m->w.proj, C, 2 * C),
               hidden_mat(p, m->acts.x));
    layer_forward(&m->layer, p, m->acts.x, m->acts.y);
    ops_rmsnorm(p->ops, hidden_mat(p, m->acts.y), m->w.norm_out,
                hidden_mat(p, out), m->acts.inv_out);
}

/* From the gradient of the concatenation to those of its two inputs. */
static void concatenation_back(struct mtp *m, const struct pass *p,
                               const struct mtp_back *b)
{
    int T = p->dims->n_tokens, C = p->dims->hidden;
    struct mat dcat = mat_of(m->work->dcat, T, 2 * C);
    ops_rmsnorm_back(p->ops,
                     &(struct norm_back){.x = hidden_mat(p, b->hidden),
                                         .dy = mat_cols(dcat, C, C),
                                         .dx = hidden_mat(p, b->dhidden),
                                         .w = m->w.norm_h,
                                         .inv = m->acts.inv_h,
                                         .dw = m->dw.norm_h});
    memset(m->work->demb, 0, hidden_bytes(p->dims));
    ops_rmsnorm_back(p->ops,
                     &(struct norm_back){.x = hidden_mat(p, m->acts.emb),
                                         .dy = mat_cols(dcat, 0, C),
                                         .dx = hidden_mat(p, m->work->demb),
                                         .w = m->w.norm_e,
                                         .inv = m->acts.inv_e,
                                         .dw = m->dw.norm_e});
    embedding_backward(p, m->drows, b->symbols, m->work->demb);
}

void mtp_backward(struct mtp *m, const struct pass *p, const struct mtp_back *b)
{
    int T = p->dims->n_tokens, C = p->dims->hidden;
    struct norm out = {m->w.norm_out, m->dw.norm_out, m->acts.inv_out};
    struct mat d = hidden_mat(p, m->work->d);
    m->layer.acts = m->acts.layer;
    norm_backward(&out, p, m->acts.y, b->dout, m->work->d);
    layer_backward(&m->layer, p, m->acts.x, m->work->d);
    ops_linear_dx(p->ops, d, mat_of(m->w.proj, C, 2 * C),
                  mat_of(m->work->dcat, T, 2 * C), false);
    ops_linear_dw(p->ops, d, mat_of(m->acts.cat, T, 2 * C),
                  mat_of(m->dw.proj, C, 2 * C));
    concatenation_back(m, p, b);
}

/* Logits (T,V) of head k, and its hidden states (T,C). */
static struct mat head_logits(const struct loss *l, const struct dims *d, int k)
{
    return mat_of(l->dlogits + (int64_t)k * d->n_tokens * d->vocab, d->n_tokens,
                  d->vocab);
}

static struct mat head_hidden(const struct pass *p, real *hidden, int k)
{
    return hidden_mat(p, hidden +
                             (int64_t)k * p->dims->n_tokens * p->dims->hidden);
}

int64_t loss_n_labels(const struct dims *d, int k)
{
    return (int64_t)d->n_seq * data_n_labels(d->seq, k);
}

/* Losses are means over the labels of a step, and the MTP losses are a mean
 * over the K of them (gpt_model.py, multi_token_prediction.py). */
static double head_scale(const struct loss *l, const struct dims *d, int k)
{
    double weight = k ? l->mtp_factor / d->n_mtp : 1;
    return weight / ((double)loss_n_labels(d, k) * l->n_passes);
}

/* ops_cross_entropy() leaves the gradients in the logits' place, scaled by what
 * the head counts in the loss. */
double loss_forward(const struct loss *l, const struct pass *p,
                    const int *labels, real *hidden, int k)
{
    struct mat logits = head_logits(l, p->dims, k);
    real scale = (real)head_scale(l, p->dims, k);
    ops_linear(p->ops, head_hidden(p, hidden, k),
               mat_of(l->w, p->dims->vocab, p->dims->hidden), logits);
    return ops_cross_entropy(p->ops, logits, labels, scale);
}

void loss_backward(const struct loss *l, const struct pass *p, real *hidden,
                   real *dhidden)
{
    struct mat w = mat_of(l->w, p->dims->vocab, p->dims->hidden);
    struct mat dw = mat_of(l->dw, p->dims->vocab, p->dims->hidden);
    for (int k = 0; k <= p->dims->n_mtp; k++) {
        struct mat dlogits = head_logits(l, p->dims, k);
        ops_linear_dx(p->ops, dlogits, w, head_hidden(p, dhidden, k), false);
        ops_linear_dw(p->ops, dlogits, head_hidden(p, hidden, k), dw);
    }
}
