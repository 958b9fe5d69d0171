#include "optim.h"

#include <math.h>
#include <string.h>

enum err optim_new(struct arena *a, const struct shard *s,
                   const struct adamw *settings, double clip, struct optim *out)
{
    int n = unit_count(&s->shared.dims) * LAYER_IDS_A_UNIT;
    *out = (struct optim){.adamw = *settings, .clip = clip, .n_squares = n};
    out->squares = arena_alloc(a, (size_t)n, sizeof *out->squares);
    return out->squares ? ERR_OK : ERR_NOMEM;
}

/* Every gradient buffer, also the further uses of the embedding: replicas are
 * summed before uses are. */
static void sum_replicas(const struct comm *c, struct shard *s)
{
    for (int i = 0; i < s->grads.n_items; i++)
        comm_sum_replicas(c, &s->shared.ops, tensors_at(&s->grads, i),
                          s->grads.item[i].count);
}

/* To the first rank, which adds lookup, MTP and head in this order, and back
 * to the others that hold a copy. */
static void sum_embedding(const struct comm *c, struct shard *s)
{
    int64_t n = (int64_t)s->shared.dims.vocab * s->shared.dims.hidden;
    int home = s->use_rank[USE_LOOKUP], last = home;
    real *total = s->shared.dembedding[USE_LOOKUP];
    for (int u = USE_MTP; u < N_USES; u++) {
        int holder = s->use_rank[u];
        if (holder == home && s->rank == home)
            ops_add(&s->shared.ops, n, s->shared.dembedding[u], total);
        else if (holder >= 0 && s->rank == home)
            comm_add_from(c, &s->shared.ops, total, n, holder);
        else if (s->rank == holder)
            comm_send(c, s->shared.dembedding[u], n, home);
    }
    for (int u = USE_MTP; u < N_USES; u++) {
        int holder = s->use_rank[u];
        if (holder < 0 || holder == last)
            continue;
        last = holder;
        if (s->rank == home)
            comm_send(c, total, n, holder);
        else if (s->rank == holder)
            comm_recv(c, tensors_at(&s->grads, 0), n, home);
    }
    comm_work(c, &s->shared.ops);
}

/* Copies of the embedding count once, on the first rank. */
static bool counts_here(const struct shard *s, const struct tensor *t)
{
    return t->id != LAYER_IDS_A_UNIT * unit_embedding(&s->shared.dims) ||
           s->use_rank[USE_LOOKUP] == s->rank;
}

/* Squares are added in the order of tensor ids, the same for every split; each
 * is known to one rank, so the merge adds only zeros to it. */
static double global_norm(struct optim *o, const struct comm *c,
                          struct shard *s)
{
    memset(o->squares, 0, (size_t)o->n_squares * sizeof *o->squares);
    for (int i = 0; i < s->n_weights; i++) {
        const struct tensor *t = &s->weights.item[i];
        if (counts_here(s, t))
            o->squares[t->id] = ops_square_sum(&s->shared.ops, t->count,
                                               tensors_at(&s->grads, i));
    }
    comm_work(c, &s->shared.ops);
    comm_merge(c, o->squares, o->n_squares);
    double sum = 0;
    for (int i = 0; i < o->n_squares; i++)
        sum += o->squares[i];
    return sqrt(sum);
}

/* Clipping scales gradients as they are read; norms are not decayed. */
static void optim_update(struct optim *o, struct shard *s, double norm)
{
    struct adamw a = o->adamw;
    char *m = (char *)tensors_at(&s->adam, 0);
    char *v = (char *)tensors_at(&s->adam, 1);
    a.grad_scale = o->clip > 0 && norm > o->clip ? o->clip / norm : 1;
    for (int i = 0; i < s->n_weights; i++) {
        const struct tensor *t = &s->weights.item[i];
        a.decay = t->decay ? o->adamw.decay : 0;
        ops_adamw(&s->shared.ops, &a, t->count,
                  (struct adamw_state){.w = tensors_at(&s->weights, i),
                                       .m = (real *)(void *)(m + t->offset_b),
                                       .v = (real *)(void *)(v + t->offset_b),
                                       .g = tensors_at(&s->grads, i)});
    }
}

void optim_step(struct optim *o, const struct comm *c, struct shard *s,
                struct optim_result *out)
{
    double start_s = comm_now(c);
    sum_replicas(c, s);
    out->grads_sync_s = comm_now(c) - start_s;
    start_s = comm_now(c);
    sum_embedding(c, s);
    out->embedding_sync_s = comm_now(c) - start_s;
    start_s = comm_now(c);
    out->grad_norm = global_norm(o, c, s);
    out->skipped = !isfinite(out->grad_norm);
    if (!out->skipped) {
        o->adamw.step++;
        optim_update(o, s, out->grad_norm);
    }
    tensors_zero(&s->grads);
    s->shared.ops.work += (double)s->grads.bytes / (double)sizeof(real);
    comm_work(c, &s->shared.ops);
    out->optimizer_s = comm_now(c) - start_s;
}
