/*
 * How it works: stage_init() decides from the layout which units are here and
 * what passes the borders; the carve functions run twice, see tensors.h. A
 * slot is what one micro-batch leaves for its backward pass; slots are reused
 * in turn, since a stage's micro-batches leave in the order they came. x[i]
 * enters layer i, z holds the states behind the final norm.
 *
 * One stage a rank: every gradient that arrives has been worked on and sent on
 * before the next one arrives, so a rank has one place for them. Interleaved,
 * the rank posts receives ahead and other stages work in between: every slot
 * has its own.
 */
#include "stage.h"

struct slot {
    int *samples; // tokens of its sequences
    real **x;     // [n_layers + 1], NULL when the stage starts behind the norm
    struct layer_acts *layers;
    real *inv; // final norm
    real *z;   // ((1+K)*T,C), NULL when the stage ends before the norm
    struct mtp_acts *mtp;
    real *dlogits;
    real *dx, *dz; // gradients of x[n_layers] down to x[0], and of z
};

static int64_t hidden_count(const struct stage *s)
{
    return (int64_t)s->shared->dims.n_tokens * s->shared->dims.hidden;
}

/* ---- what is here ---- */

/* From the first m on a message holds all hidden states; the stage of m takes
 * one and gives 1+K. */
static void place_units(struct stage *s, const struct stage_options *opt)
{
    const struct layout *l = opt->layout;
    const struct dims *d = &s->shared->dims;
    struct layout_counts here = layout_stage(l, opt->stage);
    int first = layout_first_layer(l, opt->stage), mtp = layout_mtp_stage(l);
    s->index = opt->stage;
    s->n_layers = here.n_layers;
    s->n_mtp = here.n_mtp;
    s->has_embedding = here.n_embedding > 0;
    s->has_loss = here.n_loss > 0;
    s->starts_behind = d->n_mtp && first == d->n_layers;
    s->ends_behind =
        d->n_mtp ? first + here.n_layers == d->n_layers : s->has_loss;
    s->has_norm = s->ends_behind && !s->starts_behind;
    s->n_in = d->n_mtp && opt->stage > mtp ? 1 + d->n_mtp : 1;
    s->n_out = d->n_mtp && opt->stage >= mtp ? 1 + d->n_mtp : 1;
    s->n_slots = opt->n_slots;
    s->keeps_gradients = l->vpp > 1;
}

/* Units have numbers of the whole model, by which values are seeded: a layer
 * begins the same wherever it is. */
static void set_up_units(struct stage *s, const struct stage_options *opt)
{
    const struct model *m = opt->model;
    const struct dims *d = &s->shared->dims;
    int first = layout_first_layer(opt->layout, opt->stage);
    for (int i = 0; i < s->n_layers; i++) {
        s->layers[i].shape = layer_shape_of(m, first + i);
        s->layers[i].unit = unit_layer(d, layer_block(m, first + i));
        s->layers[i].balance = s->shared->balance + first + i;
    }
    for (int i = 0; i < s->n_mtp; i++) {
        s->mtp[i].layer.shape = layer_shape_of_mtp(m);
        s->mtp[i].layer.balance = s->shared->balance + d->n_layers + i;
    }
    s->loss.n_passes = (double)m->batch.n_microbatches * (double)m->par.dp;
    s->loss.mtp_factor = opt->mtp_factor;
}

static bool alloc_units(struct arena *a, struct stage *s)
{
    size_t n_layers = (size_t)s->n_layers, n_mtp = (size_t)s->n_mtp;
    s->layers = arena_alloc(a, n_layers, sizeof *s->layers);
    s->mtp = arena_alloc(a, n_mtp, sizeof *s->mtp);
    s->slots = arena_alloc(a, (size_t)s->n_slots, sizeof *s->slots);
    if (!s->layers || !s->mtp || !s->slots)
        return false;
    for (int i = 0; i < s->n_slots; i++) {
        struct slot *slot = &s->slots[i];
        slot->x = arena_alloc(a, n_layers + 1, sizeof *slot->x);
        slot->layers = arena_alloc(a, n_layers, sizeof *slot->layers);
        slot->mtp = arena_alloc(a, n_mtp, sizeof *slot->mtp);
        if (!slot->x || !slot->layers || !slot->mtp)
            return false;
    }
    return true;
}

enum err stage_init(struct arena *a, const struct stage_options *opt,
                    struct shared *shared, struct stage *s)
{
    *s = (struct stage){.shared = shared};
    place_units(s, opt);
    if (!alloc_units(a, s))
        return ERR_NOMEM;
    set_up_units(s, opt);
    return ERR_OK;
}

/* ---- memory ---- */

void stage_carve_weights(struct stage *s, struct tensors *t, bool grads)
{
    const struct dims *d = &s->shared->dims;
    int64_t table = (int64_t)d->vocab * d->hidden;
    for (int i = 0; i < s->n_layers; i++) {
        struct layer *l = &s->layers[i];
        layer_carve_weights(d, l->shape, l->unit, t, grads ? &l->dw : &l->w);
    }
    if (s->has_norm)
        *(grads ? &s->norm.dw : &s->norm.w) = tensors_carve(
            t, weight_spec("final_norm", d->hidden,
                           LAYER_IDS_A_UNIT * unit_final_norm(d), -1));
    for (int i = 0; i < s->n_mtp; i++)
        mtp_carve_weights(d, s->mtp[i].layer.shape, unit_mtp(d, i), t,
                          grads ? &s->mtp[i].dw : &s->mtp[i].w);
    if (s->has_loss && !d->tied)
        *(grads ? &s->loss.dw : &s->loss.w) = tensors_carve(
            t, weight_spec("output", table, LAYER_IDS_A_UNIT * unit_output(d),
                           0.02));
}

/* x[0] to x[n_layers] share one gradient, worked on in place; a stage behind
 * the norm has none of them. */
static void carve_gradients(struct stage *s, struct tensors *t,
                            struct slot *slot)
{
    int64_t TC = hidden_count(s);
    if (!s->starts_behind)
        slot->dx = tensors_carve_real(t, "dhidden", TC);
    if (s->ends_behind)
        slot->dz = tensors_carve_real(t, "dhidden_out", s->n_out * TC);
}

static void carve_slot(struct stage *s, struct tensors *t, struct slot *slot)
{
    const struct dims *d = &s->shared->dims;
    int64_t TC = hidden_count(s);
    slot->samples = tensors_carve_int(
        t, "samples", (int64_t)d->n_seq * data_sample_tokens(&s->shared->data));
    for (int i = 0; !s->starts_behind && i <= s->n_layers; i++)
        slot->x[i] = tensors_carve_real(t, "hidden", TC);
    for (int i = 0; i < s->n_layers; i++)
        layer_carve_acts(d, s->layers[i].shape, t, &slot->layers[i]);
    if (s->has_norm)
        slot->inv = tensors_carve_real(t, "final_norm_inv", d->n_tokens);
    if (s->ends_behind)
        slot->z = tensors_carve_real(t, "hidden_out", s->n_out * TC);
    for (int i = 0; i < s->n_mtp; i++)
        mtp_carve_acts(d, s->mtp[i].layer.shape, t, &slot->mtp[i]);
    if (s->has_loss)
        slot->dlogits = tensors_carve_real(
            t, "logits", (int64_t)(1 + d->n_mtp) * d->n_tokens * d->vocab);
    if (s->keeps_gradients)
        carve_gradients(s, t, slot);
}

void stage_carve_acts(struct stage *s, struct tensors *t)
{
    for (int i = 0; i < s->n_slots; i++)
        carve_slot(s, t, &s->slots[i]);
}

/* A tied output layer has no weights of its own, and MTP looks up in the rank's
 * copy of the table. */
void stage_bind(struct stage *s)
{
    struct shared *all = s->shared;
    if (s->has_loss && all->dims.tied) {
        s->loss.w = all->embedding;
        s->loss.dw = all->dembedding;
    }
    for (int i = 0; i < s->n_mtp; i++) {
        struct mtp *m = &s->mtp[i];
        m->layer.w = m->w.layer;
        m->layer.dw = m->dw.layer;
        m->work = &all->mtp_work;
        m->table = all->embedding;
        m->drows = all->drows[USE_MTP];
    }
    for (int i = 0; !s->keeps_gradients && i < s->n_slots; i++) {
        s->slots[i].dx = all->dx;
        s->slots[i].dz = all->dz;
    }
}

/* ---- work ---- */

static struct slot *slot_of(struct stage *s, int mb)
{
    return &s->slots[mb % s->n_slots];
}

static struct pass pass_of(struct stage *s)
{
    struct shared *all = s->shared;
    return (struct pass){.dims = &all->dims,
                         .ops = &all->ops,
                         .work = &all->work,
                         .balance_weight = all->balance_weight};
}

static real *stage_behind(struct stage *s, real *z, int k)
{
    return z + k * hidden_count(s);
}

/* Of the decoder or of the m of a depth. Valid until the next call of either:
 * every user takes them at once. */
static const int *inputs_of(struct stage *s, struct slot *slot, int depth)
{
    data_inputs(&s->shared->data, slot->samples, s->shared->dims.n_seq, depth,
                s->shared->window);
    return s->shared->window;
}

/* Symbols of those tokens, see data.h. */
static const int *symbols_of(struct stage *s, struct slot *slot, int depth)
{
    inputs_of(s, slot, depth);
    for (int t = 0; t < s->shared->dims.n_tokens; t++)
        s->shared->window[t] =
            data_symbol(&s->shared->data, s->shared->window[t]);
    return s->shared->window;
}

static const int *labels_of(struct stage *s, struct slot *slot, int depth)
{
    data_labels(&s->shared->data, slot->samples, s->shared->dims.n_seq, depth,
                s->shared->window);
    return s->shared->window;
}

/* Tokens are made where they are needed, from their number alone, so that no
 * rank has to send them. */
static void load_samples(struct stage *s, struct slot *slot, int64_t sample)
{
    if (!s->has_embedding && !s->n_mtp && !s->has_loss)
        return;
    for (int b = 0; b < s->shared->dims.n_seq; b++)
        data_sample(&s->shared->data, sample + b,
                    slot->samples + b * data_sample_tokens(&s->shared->data));
}

static void forward_layers(struct stage *s, struct slot *slot)
{
    struct pass p = pass_of(s);
    if (s->has_embedding)
        embedding_forward(&p, s->shared->embedding, inputs_of(s, slot, 0),
                          slot->x[0]);
    for (int i = 0; i < s->n_layers; i++) {
        s->layers[i].acts = slot->layers[i];
        layer_forward(&s->layers[i], &p, slot->x[i], slot->x[i + 1]);
    }
    s->norm.inv = slot->inv;
    if (s->has_norm)
        norm_forward(&s->norm, &p, slot->x[s->n_layers], slot->z);
}

void stage_forward(struct stage *s, int mb, int64_t sample)
{
    struct slot *slot = slot_of(s, mb);
    struct pass p = pass_of(s);
    load_samples(s, slot, sample);
    forward_layers(s, slot);
    for (int k = 1; k <= s->n_mtp; k++) {
        struct mtp *m = &s->mtp[k - 1];
        m->acts = slot->mtp[k - 1];
        mtp_forward(m, &p, inputs_of(s, slot, k),
                    stage_behind(s, slot->z, k - 1),
                    stage_behind(s, slot->z, k));
    }
    s->loss.dlogits = slot->dlogits;
    for (int k = 0; s->has_loss && k <= s->shared->dims.n_mtp; k++)
        s->shared->loss_sum[k] +=
            loss_forward(&s->loss, &p, labels_of(s, slot, k), slot->z, k);
}

/* Backward of forward_layers(); dx holds the gradient of what enters at the
 * end. */
static void backward_layers(struct stage *s, struct slot *slot)
{
    struct pass p = pass_of(s);
    s->norm.inv = slot->inv;
    if (s->has_norm)
        norm_backward(&s->norm, &p, slot->x[s->n_layers], slot->dz, slot->dx);
    for (int i = s->n_layers - 1; i >= 0; i--) {
        s->layers[i].acts = slot->layers[i];
        layer_backward(&s->layers[i], &p, slot->x[i], slot->dx);
    }
    if (s->has_embedding)
        embedding_backward(&p, s->shared->drows[USE_LOOKUP],
                           symbols_of(s, slot, 0), slot->dx);
}

void stage_backward(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    struct pass p = pass_of(s);
    s->loss.dlogits = slot->dlogits;
    if (s->has_loss)
        loss_backward(&s->loss, &p, slot->z, slot->dz);
    for (int k = s->n_mtp; k >= 1; k--) {
        struct mtp *m = &s->mtp[k - 1];
        m->acts = slot->mtp[k - 1];
        mtp_backward(
            m, &p,
            &(struct mtp_back){.symbols = symbols_of(s, slot, k),
                               .hidden = stage_behind(s, slot->z, k - 1),
                               .dout = stage_behind(s, slot->dz, k),
                               .dhidden = stage_behind(s, slot->dz, k - 1)});
    }
    backward_layers(s, slot);
}

/* ---- borders ---- */

real *stage_in(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    return s->starts_behind ? slot->z : slot->x[0];
}

real *stage_out(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    return s->ends_behind ? slot->z : slot->x[s->n_layers];
}

real *stage_dout(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    return s->ends_behind ? slot->dz : slot->dx;
}

real *stage_din(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    return s->starts_behind ? slot->dz : slot->dx;
}

int64_t stage_in_bytes(const struct stage *s)
{
    return s->n_in * hidden_count(s) * (int64_t)sizeof(real);
}

int64_t stage_out_bytes(const struct stage *s)
{
    return s->n_out * hidden_count(s) * (int64_t)sizeof(real);
}
