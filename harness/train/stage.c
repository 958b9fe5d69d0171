/*
 * How it works: stage_new() decides from the layout which units are here and
 * what passes the borders, then carves four allocations in two passes each
 * (see tensors.h). A slot is what one micro-batch leaves for its backward
 * pass; slots are reused in turn, since micro-batches leave in the order they
 * came. x[i] enters layer i, z holds the states behind the final norm.
 */
#include "stage.h"

#include <string.h>

struct slot {
    int *samples; // tokens of its sequences
    real **x;     // [n_layers + 1], NULL when the stage starts behind the norm
    struct layer_acts *layers;
    real *inv; // final norm
    real *z;   // ((1+K)*T,C), NULL when the stage ends before the norm
    struct mtp_acts *mtp;
    real *dlogits;
};

static int64_t hidden_count(const struct stage *s)
{
    return (int64_t)s->dims.n_tokens * s->dims.hidden;
}

static bool layer_is_moe(const struct model *m, int layer)
{
    return m->layer_moe[layer] != 0;
}

/* ---- what is here ---- */

static enum err check_ends(const struct layout *l, struct err_msg *msg)
{
    struct layout_counts first = layout_stage(l, 0);
    struct layout_counts last = layout_stage(l, l->n_stages - 1);
    if (!first.n_embedding)
        return err_set(msg, ERR_RANGE,
                       "--pipeline-model-parallel-layout: E is "
                       "not on the first stage, moe-train "
                       "wants it there");
    if (!last.n_loss)
        return err_set(msg, ERR_RANGE,
                       "--pipeline-model-parallel-layout: L is "
                       "not on the last stage, moe-train "
                       "wants it there");
    return ERR_OK;
}

static void place_units(struct stage *s, const struct stage_options *opt)
{
    const struct layout *l = opt->layout;
    struct layout_counts here = layout_stage(l, opt->stage);
    int first = layout_first_layer(l, opt->stage), mtp = layout_mtp_stage(l);
    int after = s->dims.n_mtp && opt->stage >= mtp ? 1 + s->dims.n_mtp : 1;
    int before = s->dims.n_mtp && opt->stage > mtp ? 1 + s->dims.n_mtp : 1;
    s->index = opt->stage;
    s->n_layers = here.n_layers;
    s->n_mtp = here.n_mtp;
    s->has_embedding = here.n_embedding > 0;
    s->has_loss = here.n_loss > 0;
    s->starts_behind = first == s->dims.n_layers;
    s->ends_behind = first + here.n_layers == s->dims.n_layers;
    s->ends_layers = s->ends_behind && !s->starts_behind;
    s->n_in = before;
    s->n_out = after;
    s->standalone_mtp = layout_mtp_standalone(l);
    s->use_stage[USE_LOOKUP] = 0;
    s->use_stage[USE_MTP] = s->dims.n_mtp ? mtp : -1;
    s->use_stage[USE_HEAD] = s->dims.tied ? l->n_stages - 1 : -1;
}

/* ---- memory ---- */

static bool holds_use(const struct stage *s, int use)
{
    return s->use_stage[use] == s->index;
}

static bool holds_embedding(const struct stage *s)
{
    return holds_use(s, USE_LOOKUP) || holds_use(s, USE_MTP) ||
           holds_use(s, USE_HEAD);
}

/* The same calls carve weights (first use of the embedding only) and
 * gradients; `layer` and so on say where the places go. */
struct weight_places {
    real **embedding, **norm, **output;
    bool grads;
};

static void carve_weights(struct stage *s, const struct model *m,
                          struct tensors *t, struct weight_places to)
{
    const struct dims *d = &s->dims;
    int64_t table = (int64_t)d->vocab * d->hidden;
    int first = IDS_A_UNIT * unit_embedding(d);
    if (holds_embedding(s))
        *to.embedding =
            tensors_carve(t, weight_spec("embedding", table, first, 0.02));
    for (int i = 0; i < s->n_layers; i++) {
        struct layer *l = &s->layers[i];
        layer_carve_weights(d, l->moe, l->unit, t, to.grads ? &l->dw : &l->w);
    }
    if (s->ends_layers)
        *to.norm =
            tensors_carve(t, weight_spec("final_norm", d->hidden,
                                         IDS_A_UNIT * unit_final_norm(d), -1));
    for (int i = 0; i < s->n_mtp; i++)
        mtp_carve_weights(d, layer_is_moe(m, m->n_layers - 1), unit_mtp(d, i),
                          t, to.grads ? &s->mtp[i].dw : &s->mtp[i].w);
    if (s->has_loss && !d->tied)
        *to.output = tensors_carve(
            t, weight_spec("output", table, IDS_A_UNIT * unit_output(d), 0.02));
}

/* Gradients: one for each weight, then one for each further use of the
 * embedding on this stage. */
static void carve_grads(struct stage *s, const struct model *m)
{
    static const char *const name[N_USES] = {"embedding", "embedding_of_mtp",
                                             "embedding_of_head"};
    int64_t table = (int64_t)s->dims.vocab * s->dims.hidden;
    real *first = NULL;
    carve_weights(s, m, &s->grads,
                  (struct weight_places){.embedding = &first,
                                         .norm = &s->norm.dw,
                                         .output = &s->loss.dw,
                                         .grads = true});
    bool taken = false;
    for (int u = 0; u < N_USES; u++) {
        if (!holds_use(s, u))
            continue;
        s->dembedding[u] =
            taken ? tensors_carve_real(&s->grads, name[u], table) : first;
        taken = true;
    }
}

static void carve_slot(struct stage *s, const struct model *m,
                       struct slot *slot)
{
    struct tensors *t = &s->acts;
    const struct dims *d = &s->dims;
    int64_t TC = hidden_count(s);
    slot->samples = tensors_carve_int(
        t, "samples", (int64_t)d->n_seq * data_sample_tokens(&s->data));
    for (int i = 0; !s->starts_behind && i <= s->n_layers; i++)
        slot->x[i] = tensors_carve_real(t, "hidden", TC);
    for (int i = 0; i < s->n_layers; i++)
        layer_carve_acts(d, s->layers[i].moe, t, &slot->layers[i]);
    if (s->ends_layers)
        slot->inv = tensors_carve_real(t, "final_norm_inv", d->n_tokens);
    if (s->ends_behind)
        slot->z = tensors_carve_real(t, "hidden_out", s->n_out * TC);
    for (int i = 0; i < s->n_mtp; i++)
        mtp_carve_acts(d, layer_is_moe(m, m->n_layers - 1), t, &slot->mtp[i]);
    if (s->has_loss)
        slot->dlogits = tensors_carve_real(
            t, "logits", (int64_t)(1 + d->n_mtp) * d->n_tokens * d->vocab);
}

static void carve_acts(struct stage *s, const struct model *m)
{
    struct tensors *t = &s->acts;
    for (int i = 0; i < s->n_slots; i++)
        carve_slot(s, m, &s->slots[i]);
    layer_carve_work(&s->dims, t, &s->work);
    if (s->n_mtp)
        mtp_carve_work(&s->dims, t, &s->mtp_work);
    s->dx = tensors_carve_real(t, "dhidden", hidden_count(s));
    s->dz = tensors_carve_real(t, "dhidden_out", s->n_out * hidden_count(s));
    s->window = tensors_carve_int(t, "window", s->dims.n_tokens);
    s->chunk = tensors_carve_real(t, "message_chunk", COMM_CHUNK);
}

static void carve_all(struct stage *s, const struct model *m)
{
    carve_weights(s, m, &s->weights,
                  (struct weight_places){.embedding = &s->embedding,
                                         .norm = &s->norm.w,
                                         .output = &s->loss.w});
    s->n_weights = s->weights.n_items;
    carve_grads(s, m);
    carve_acts(s, m);
}

static enum err alloc_all(struct stage *s, struct err_msg *msg)
{
    tensors_carve_real(&s->adam, "moment1",
                       s->weights.bytes / (int64_t)sizeof(real));
    tensors_carve_real(&s->adam, "moment2",
                       s->weights.bytes / (int64_t)sizeof(real));
    struct tensors *all[] = {&s->weights, &s->grads, &s->adam, &s->acts};
    enum err e = ERR_OK;
    for (int i = 0; e == ERR_OK && i < 4; i++)
        e = tensors_alloc(all[i], msg);
    return e;
}

/* Joins the units to their places. */
static void bind_units(struct stage *s)
{
    const struct dims *d = &s->dims;
    layer_init_work(d, &s->work);
    if (s->has_loss && d->tied) {
        s->loss.w = s->embedding;
        s->loss.dw = s->dembedding[USE_HEAD];
    }
    for (int i = 0; i < s->n_mtp; i++) {
        struct mtp *m = &s->mtp[i];
        m->layer.w = m->w.layer;
        m->layer.dw = m->dw.layer;
        m->work = &s->mtp_work;
        m->table = s->embedding;
        m->dtable = s->dembedding[USE_MTP];
    }
}

/* ---- making a stage ---- */

static bool alloc_units(struct arena *a, struct stage *s)
{
    size_t n_layers = (size_t)s->n_layers, n_mtp = (size_t)s->n_mtp;
    s->layers = arena_alloc(a, n_layers, sizeof *s->layers);
    s->mtp = arena_alloc(a, n_mtp, sizeof *s->mtp);
    s->slots = arena_alloc(a, (size_t)s->n_slots, sizeof *s->slots);
    s->loss_sum =
        arena_alloc(a, (size_t)s->dims.n_mtp + 1, sizeof *s->loss_sum);
    if (!s->layers || !s->mtp || !s->slots || !s->loss_sum)
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

static void set_up_units(struct stage *s, const struct stage_options *opt)
{
    const struct model *m = opt->model;
    int first = layout_first_layer(opt->layout, opt->stage);
    double tokens = (double)s->dims.n_tokens * (double)m->batch.n_microbatches *
                    (double)m->par.dp;
    for (int i = 0; i < s->n_layers; i++) {
        s->layers[i].moe = layer_is_moe(m, first + i);
        s->layers[i].unit = unit_layer(&s->dims, first + i);
    }
    for (int i = 0; i < s->n_mtp; i++)
        s->mtp[i].layer.moe = layer_is_moe(m, m->n_layers - 1);
    s->loss.main_scale = 1 / tokens;
    if (s->dims.n_mtp)
        s->loss.mtp_scale = opt->mtp_factor / s->dims.n_mtp / tokens;
    s->data = (struct data){.seed = opt->seed,
                            .vocab = (int)m->vocab,
                            .seq = s->dims.seq,
                            .n_ahead = 1 + s->dims.n_mtp};
}

enum err stage_new(struct arena *a, const struct stage_options *opt,
                   struct stage **out, struct err_msg *msg)
{
    struct stage *s = arena_alloc(a, 1, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "stage: out of memory");
    tensors_init(&s->weights, "weights");
    tensors_init(&s->grads, "gradients");
    tensors_init(&s->adam, "optimizer state");
    tensors_init(&s->acts, "activations");
    enum err e = dims_from_model(opt->model, &s->dims, msg);
    if (e == ERR_OK)
        e = check_ends(opt->layout, msg);
    if (e != ERR_OK)
        return e;
    place_units(s, opt);
    s->n_slots = opt->n_slots;
    if (!alloc_units(a, s))
        return err_set(msg, ERR_NOMEM, "stage: out of memory");
    set_up_units(s, opt);
    carve_all(s, opt->model);
    e = alloc_all(s, msg);
    if (e != ERR_OK) {
        stage_free(s);
        return e;
    }
    carve_all(s, opt->model);
    bind_units(s);
    tensors_randomize(&s->weights, opt->seed);
    *out = s;
    return ERR_OK;
}

void stage_free(struct stage *s)
{
    if (!s)
        return;
    tensors_clear(&s->weights);
    tensors_clear(&s->grads);
    tensors_clear(&s->adam);
    tensors_clear(&s->acts);
}

/* ---- work ---- */

static struct slot *slot_of(struct stage *s, int mb)
{
    return &s->slots[mb % s->n_slots];
}

static struct pass pass_of(struct stage *s)
{
    return (struct pass){.dims = &s->dims, .ops = &s->ops, .work = &s->work};
}

static real *stage_behind(struct stage *s, real *z, int k)
{
    return z + k * hidden_count(s);
}

static const int *tokens_ahead(struct stage *s, struct slot *slot, int shift)
{
    data_window(&s->data, slot->samples, s->dims.n_seq, shift, s->window);
    return s->window;
}

void stage_reset_losses(struct stage *s)
{
    memset(s->loss_sum, 0, (size_t)(s->dims.n_mtp + 1) * sizeof *s->loss_sum);
}

static void load_samples(struct stage *s, struct slot *slot, int64_t sample)
{
    if (!s->has_embedding && !s->n_mtp && !s->has_loss)
        return;
    for (int b = 0; b < s->dims.n_seq; b++)
        data_sample(&s->data, sample + b,
                    slot->samples + b * data_sample_tokens(&s->data));
}

static void forward_layers(struct stage *s, struct slot *slot)
{
    struct pass p = pass_of(s);
    if (s->has_embedding)
        embedding_forward(&p, s->embedding, tokens_ahead(s, slot, 0),
                          slot->x[0]);
    for (int i = 0; i < s->n_layers; i++) {
        s->layers[i].acts = slot->layers[i];
        layer_forward(&s->layers[i], &p, slot->x[i], slot->x[i + 1]);
    }
    s->norm.inv = slot->inv;
    if (s->ends_layers)
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
        mtp_forward(m, &p, tokens_ahead(s, slot, k),
                    stage_behind(s, slot->z, k - 1),
                    stage_behind(s, slot->z, k));
    }
    s->loss.dlogits = slot->dlogits;
    for (int k = 0; s->has_loss && k <= s->dims.n_mtp; k++)
        s->loss_sum[k] += loss_forward(
            &s->loss, &p, tokens_ahead(s, slot, k + 1), slot->z, k);
}

static void backward_layers(struct stage *s, struct slot *slot)
{
    struct pass p = pass_of(s);
    s->norm.inv = slot->inv;
    if (s->ends_layers)
        norm_backward(&s->norm, &p, slot->x[s->n_layers], s->dz, s->dx);
    for (int i = s->n_layers - 1; i >= 0; i--) {
        s->layers[i].acts = slot->layers[i];
        layer_backward(&s->layers[i], &p, slot->x[i], s->dx);
    }
    if (s->has_embedding)
        embedding_backward(&p, s->dembedding[USE_LOOKUP],
                           tokens_ahead(s, slot, 0), s->dx);
}

void stage_backward(struct stage *s, int mb)
{
    struct slot *slot = slot_of(s, mb);
    struct pass p = pass_of(s);
    s->loss.dlogits = slot->dlogits;
    if (s->has_loss)
        loss_backward(&s->loss, &p, slot->z, s->dz);
    for (int k = s->n_mtp; k >= 1; k--) {
        struct mtp *m = &s->mtp[k - 1];
        m->acts = slot->mtp[k - 1];
        mtp_backward(
            m, &p,
            &(struct mtp_back){.tokens = tokens_ahead(s, slot, k),
                               .hidden = stage_behind(s, slot->z, k - 1),
                               .dout = stage_behind(s, s->dz, k),
                               .dhidden = stage_behind(s, s->dz, k - 1)});
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

real *stage_dout(struct stage *s)
{
    return s->ends_behind ? s->dz : s->dx;
}

real *stage_din(struct stage *s)
{
    return s->starts_behind ? s->dz : s->dx;
}

int64_t stage_in_bytes(const struct stage *s)
{
    return s->n_in * hidden_count(s) * (int64_t)sizeof(real);
}

int64_t stage_out_bytes(const struct stage *s)
{
    return s->n_out * hidden_count(s) * (int64_t)sizeof(real);
}

int64_t stage_allocated_bytes(const struct stage *s)
{
    return s->weights.bytes + s->grads.bytes + s->adam.bytes + s->acts.bytes;
}
