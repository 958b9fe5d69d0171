/*
 * A sorted array: lists are short (1 to a few hundred), and most offers fail
 * the first comparison.
 */
#include "best.h"

#include <string.h>

static const double NEAR = 0.02; // of the slowest chunk's time

bool best_new(struct arena *a, const struct space *sp, struct best *out)
{
    size_t top = (size_t)sp->problem->top;
    *out = (struct best){.sp = sp, .top = sp->problem->top};
    out->pos = arena_alloc(a, top * (size_t)(sp->n_stages + 1), sizeof(int));
    out->step_ns = arena_alloc(a, top, sizeof *out->step_ns);
    out->near = arena_alloc(a, top, sizeof *out->near);
    int last = sp->n_pos - 1;
    out->slowest_ns = (sp->sum[SPACE_FWD][last] + sp->sum[SPACE_BWD][last]) *
                      sp->problem->order.n_mb;
    return out->pos && out->step_ns && out->near;
}

static int64_t best_chunk_ns(const struct best *b, const int *pos, int s)
{
    const int64_t *fwd = b->sp->sum[SPACE_FWD], *bwd = b->sp->sum[SPACE_BWD];
    return fwd[pos[s + 1]] - fwd[pos[s]] + bwd[pos[s + 1]] - bwd[pos[s]];
}

static int best_near(const struct best *b, const int *pos)
{
    int64_t most = 0;
    int near = 0;
    for (int s = 0; s < b->sp->n_stages; s++) {
        int64_t t = best_chunk_ns(b, pos, s);
        most = t > most ? t : most;
    }
    for (int s = 0; s < b->sp->n_stages; s++)
        near += (double)best_chunk_ns(b, pos, s) >= (1 - NEAR) * (double)most;
    return near;
}

static int *best_at(const struct best *b, int i)
{
    return b->pos + (size_t)i * (size_t)(b->sp->n_stages + 1);
}

static size_t best_bytes(const struct best *b)
{
    return sizeof(int) * (size_t)(b->sp->n_stages + 1);
}

/* Local search and the proof meet the same layouts again and again. */
static bool best_holds(const struct best *b, const int *pos, int64_t step_ns)
{
    for (int i = 0; i < b->n; i++)
        if (b->step_ns[i] == step_ns &&
            memcmp(best_at(b, i), pos, best_bytes(b)) == 0)
            return true;
    return false;
}

static bool best_before(const struct best *b, int64_t step_ns, int near, int i)
{
    return step_ns < b->step_ns[i] ||
           (step_ns == b->step_ns[i] && near < b->near[i]);
}

bool best_offer(struct best *b, const int *pos, int64_t step_ns)
{
    b->n_seen++;
    if (b->n == b->top && step_ns > b->step_ns[b->n - 1])
        return false;
    int near = best_near(b, pos), at = b->n;
    while (at > 0 && best_before(b, step_ns, near, at - 1))
        at--;
    if (at == b->top || best_holds(b, pos, step_ns))
        return false;
    b->n += b->n < b->top;
    for (int i = b->n - 1; i > at; i--) {
        memcpy(best_at(b, i), best_at(b, i - 1), best_bytes(b));
        b->step_ns[i] = b->step_ns[i - 1];
        b->near[i] = b->near[i - 1];
    }
    memcpy(best_at(b, at), pos, best_bytes(b));
    b->step_ns[at] = step_ns;
    b->near[at] = near;
    return true;
}

/* A list that is not full takes anything. A tie with the last place could only
 * change which of equals is listed, so it is not searched for. */
int64_t best_limit(const struct best *b)
{
    return b->n < b->top ? b->slowest_ns : b->step_ns[b->n - 1] - 1;
}
