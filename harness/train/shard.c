/*
 * How it works: shard_new() makes the rank's stages, then carves four
 * allocations in two passes each (see tensors.h): the embedding copy first,
 * then what each stage holds, chunk by chunk, then scratch that they share.
 */
#include "shard.h"

#include "comm.h"
#include "memory/train.h"

#include <string.h>

/* Megatron checks the flattened list of units only; elsewhere E or L would have
 * no stage to take tokens from or to report a loss. */
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

/* ---- the embedding ---- */

/* Chunks of a rank share one copy. Megatron keeps one on the first rank, on the
 * last where the output layer is tied, and one where an m is
 * (language_module.py, setup_embeddings_and_output_layer). */
static void place_uses(struct shard *s, const struct layout *l)
{
    const struct dims *d = &s->shared.dims;
    s->use_rank[USE_LOOKUP] = 0;
    s->use_rank[USE_MTP] = d->n_mtp ? layout_mtp_stage(l) % l->pp : -1;
    s->use_rank[USE_HEAD] = d->tied ? l->pp - 1 : -1;
}

static bool holds_use(const struct shard *s, int use)
{
    return s->use_rank[use] == s->rank;
}

static bool holds_embedding(const struct shard *s)
{
    return holds_use(s, USE_LOOKUP) || holds_use(s, USE_MTP) ||
           holds_use(s, USE_HEAD);
}

static int64_t table_count(const struct shard *s)
{
    return (int64_t)s->shared.dims.vocab * s->shared.dims.hidden;
}

/* ---- memory ---- */

/* The order is that of offsets only: values and sums go by tensor ids. */
static void carve_weights(struct shard *s, struct tensors *t, real **embedding,
                          bool grads)
{
    int first = LAYER_IDS_A_UNIT * unit_embedding(&s->shared.dims);
    if (holds_embedding(s))
        *embedding = tensors_carve(
            t, weight_spec("embedding", table_count(s), first, 0.02));
    for (int v = 0; v < s->n_chunks; v++)
        stage_carve_weights(&s->chunks[v], t, grads);
}

/* Gradients: one for each weight, then rows of the look-ups of all ranks, which
 * every holder of a copy is sent. */
static void carve_grads(struct shard *s)
{
    static const char *const name[N_LOOKUPS] = {"rows_of_embedding",
                                                "rows_of_mtp"};
    const struct dims *d = &s->shared.dims;
    carve_weights(s, &s->grads, &s->shared.dembedding, true);
    for (int u = 0; u < N_LOOKUPS && holds_embedding(s); u++)
        if (s->use_rank[u] >= 0)
            s->shared.drows[u] = tensors_carve_real(
                &s->grads, name[u], (int64_t)d->n_symbols * d->hidden);
}

/* A stage of its own needs gradients of what enters and leaves it once, see
 * stage.c. */
static void carve_gradients_once(struct shard *s)
{
    const struct dims *d = &s->shared.dims;
    int64_t TC = (int64_t)d->n_tokens * d->hidden;
    s->shared.dx = tensors_carve_real(&s->acts, "dhidden", TC);
    s->shared.dz =
        tensors_carve_real(&s->acts, "dhidden_out", s->chunks[0].n_out * TC);
}

/* Chunks take turns, so what lives only within an operation is shared. */
static void carve_acts(struct shard *s)
{
    struct tensors *t = &s->acts;
    const struct dims *d = &s->shared.dims;
    bool has_mtp = false;
    for (int v = 0; v < s->n_chunks; v++) {
        stage_carve_acts(&s->chunks[v], t);
        has_mtp = has_mtp || s->chunks[v].n_mtp;
    }
    layer_carve_work(d, t, &s->shared.work);
    if (has_mtp)
        mtp_carve_work(d, t, &s->shared.mtp_work);
    if (s->n_chunks == 1)
        carve_gradients_once(s);
    s->shared.window = tensors_carve_int(t, "window", d->n_tokens);
    s->scratch = tensors_carve_real(t, "message_chunk", COMM_CHUNK);
}

static void carve_all(struct shard *s)
{
    carve_weights(s, &s->weights, &s->shared.embedding, false);
    s->n_weights = s->weights.n_items;
    carve_grads(s);
    carve_acts(s);
}

/* Four allocations a rank: a message names the one that does not fit. */
static enum err alloc_all(struct shard *s, struct err_msg *msg)
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

/* ---- making a shard ---- */

/* Places for auxiliary losses, also of layers without experts. */
static size_t n_routers(const struct dims *d)
{
    return (size_t)d->n_layers + (size_t)d->n_mtp;
}

static enum err make_chunks(struct arena *a, struct shard *s,
                            const struct shard_options *opt)
{
    const struct layout *l = opt->layout;
    const size_t n_losses = (size_t)s->shared.dims.n_mtp + 1;
    s->n_chunks = l->vpp;
    s->chunks = arena_alloc(a, (size_t)l->vpp, sizeof *s->chunks);
    s->shared.loss_sum = arena_alloc(a, n_losses, sizeof *s->shared.loss_sum);
    s->shared.balance =
        arena_alloc(a, n_routers(&s->shared.dims), sizeof *s->shared.balance);
    if (!s->chunks || !s->shared.loss_sum || !s->shared.balance)
        return ERR_NOMEM;
    enum err e = ERR_OK;
    for (int v = 0; e == ERR_OK && v < l->vpp; v++) {
        struct stage_options stage = {
            .model = opt->model,
            .layout = l,
            .stage = v * l->pp + opt->rank,
            .n_slots = memory_train_slots(opt->order, opt->rank, v),
            .mtp_factor = opt->mtp_factor};
        e = stage_init(a, &stage, &s->shared, &s->chunks[v]);
    }
    return e;
}

/* First pass: sizes; second: places. Values come last, when places are known.
 */
static enum err fill_memory(struct shard *s, const struct shard_options *opt,
                            struct err_msg *msg)
{
    carve_all(s);
    enum err e = alloc_all(s, msg);
    if (e != ERR_OK)
        return e;
    carve_all(s);
    layer_init_work(&s->shared.dims, &s->shared.work);
    for (int v = 0; v < s->n_chunks; v++)
        stage_bind(&s->chunks[v]);
    tensors_randomize(&s->weights, opt->seed);
    return ERR_OK;
}

static void shard_init(struct shard *s, const struct shard_options *opt)
{
    *s = (struct shard){.rank = opt->rank,
                        .standalone_mtp = layout_mtp_standalone(opt->layout)};
    tensors_init(&s->weights, "weights");
    tensors_init(&s->grads, "gradients");
    tensors_init(&s->adam, "optimizer state");
    tensors_init(&s->acts, "activations");
}

/* What the flags ask for is checked before memory is taken: a size that is too
 * large is told as such. */
enum err shard_new(struct arena *a, const struct shard_options *opt,
                   struct shard **out, struct err_msg *msg)
{
    struct shard *s = arena_alloc(a, 1, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "stages: out of memory");
    shard_init(s, opt);
    struct dims *d = &s->shared.dims;
    enum err e = dims_from_model(opt->model, d, msg);
    if (e == ERR_OK)
        e = check_ends(opt->layout, msg);
    if (e != ERR_OK)
        return e;
    place_uses(s, opt->layout);
    // each micro-batch of each replica has a loss, and the step has their mean
    s->shared.balance_weight = opt->balance_factor /
                               (double)opt->model->batch.n_microbatches /
                               (double)opt->model->par.dp;
    s->shared.data = (struct data){
        .seed = opt->seed, .vocab = (int)opt->model->vocab, .seq = d->seq};
    d->n_symbols = data_n_symbols(&s->shared.data);
    if (make_chunks(a, s, opt) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "stages: out of memory");
    e = fill_memory(s, opt, msg);
    if (e != ERR_OK)
        shard_free(s);
    else
        *out = s;
    return e;
}

void shard_free(struct shard *s)
{
    if (!s)
        return;
    tensors_clear(&s->weights);
    tensors_clear(&s->grads);
    tensors_clear(&s->adam);
    tensors_clear(&s->acts);
}

void shard_reset_losses(struct shard *s)
{
    memset(s->shared.loss_sum, 0,
           (size_t)(s->shared.dims.n_mtp + 1) * sizeof *s->shared.loss_sum);
    memset(s->shared.balance, 0,
           n_routers(&s->shared.dims) * sizeof *s->shared.balance);
}

int64_t shard_allocated_bytes(const struct shard *s)
{
    return s->weights.bytes + s->grads.bytes + s->adam.bytes + s->acts.bytes;
}
