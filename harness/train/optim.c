#include "optim.h"

#include <math.h>
#include <string.h>

/* A message counts its bytes in an int. */
enum { OPTIM_TAG_EMBEDDING = 20, OPTIM_MOST_VALUES = 1 << 28 };

enum err optim_new(struct arena *a, const struct shard *s,
                   const struct adamw *settings, double clip, struct optim *out)
{
    int n = unit_count(&s->shared.dims) * LAYER_IDS_A_UNIT;
    *out = (struct optim){.adamw = *settings, .clip = clip, .n_squares = n};
    out->squares = arena_alloc(a, (size_t)n, sizeof *out->squares);
    return out->squares ? ERR_OK : ERR_NOMEM;
}

/* Every gradient buffer, also the rows of look-ups: replicas are summed before
 * uses are. */
static void sum_replicas(const struct comm *c, struct shard *s)
{
    for (int i = 0; i < s->grads.n_items; i++)
        comm_sum_replicas(c, &s->shared.ops, tensors_at(&s->grads, i),
                          s->grads.item[i].count);
}

/* The gradients that use `u` left on the rank that has it. */
static struct part {
    real *x;
    int64_t n;
} part_of(const struct shard *s, int u)
{
    const struct dims *d = &s->shared.dims;
    bool rows = u < N_LOOKUPS;
    return (struct part){rows ? s->shared.drows[u] : s->shared.dembedding,
                         (int64_t)(rows ? d->n_symbols : d->vocab) * d->hidden};
}

/* `n` values of a use from the rank that has it to all other ranks with a copy
 * of the embedding. */
static void share_piece(const struct comm *c, const struct shard *s, int u,
                        real *x, int64_t n)
{
    struct comm_message m[N_USES];
    int n_messages = 0, from = s->use_rank[u];
    for (int v = 0; v < N_USES; v++) {
        int to = s->use_rank[v];
        bool told = false; // a rank may hold several uses
        for (int before = 0; before < v; before++)
            told = told || s->use_rank[before] == to;
        if (to < 0 || to == from || told)
            continue;
        if (s->rank == from || s->rank == to)
            m[n_messages++] =
                (struct comm_message){.data = x,
                                      .bytes = n * (int64_t)sizeof *x,
                                      .peer = s->rank == from ? to : from,
                                      .tag = OPTIM_TAG_EMBEDDING,
                                      .send = s->rank == from};
    }
    comm_exchange(c, m, n_messages);
}

static void share_use(const struct comm *c, const struct shard *s, int u)
{
    struct part p = part_of(s, u);
    for (int64_t n; p.n > 0; p.x += n, p.n -= n) {
        n = p.n < OPTIM_MOST_VALUES ? p.n : OPTIM_MOST_VALUES;
        share_piece(c, s, u, p.x, n);
    }
}

/* Each holder of a copy adds E's, m's and the loss's gradients in this order.
 * Those of look-ups are a few rows, that of the loss crosses once. */
static void sum_embedding(const struct comm *c, struct shard *s)
{
    const struct shared *all = &s->shared;
    int H = all->dims.hidden, R = all->dims.n_symbols;
    if (!all->embedding)
        return;
    for (int u = 0; u < N_USES; u++)
        if (s->use_rank[u] >= 0)
            share_use(c, s, u);
    real *rows = all->drows[USE_LOOKUP];
    if (all->drows[USE_MTP])
        ops_add(&s->shared.ops, (int64_t)R * H, all->drows[USE_MTP], rows);
    for (int i = 0; i < R; i++)
        ops_add(&s->shared.ops, H, rows + (int64_t)i * H,
                all->dembedding + (int64_t)data_token(&all->data, i) * H);
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

/* A norm that is no number skips the update, as Megatron does; the gradients go
 * either way. */
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
