/*
 * How it works. Each stage's live chunks take a few different times; the sums
 * of one of each of a rank's stages are its possible loads. A bound on a load
 * is a row of the relaxation like a path is, with its own right side, so a
 * probe is: may this rank have one of the lower (upper) half of its loads? What
 * the relaxation refutes is gone for good, and the bounds of all ranks together
 * must still add up to all there is.
 */
#include "proof.h"

#include <stdlib.h>
#include <string.h>

/* More possible loads than this and only their range is used. */
enum { LOAD_VALUES = 4096, LOAD_SUMS = 65536, LOAD_NARROWEST = 16 };

struct loads {
    int64_t value[LOAD_VALUES];
    int n;
};

static int loads_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts, drops repetitions, returns how many are left. */
static int loads_unique(int64_t *v, int n)
{
    int kept = 0;
    qsort(v, (size_t)n, sizeof *v, loads_order);
    for (int i = 0; i < n; i++)
        if (kept == 0 || v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

/* Times that a stage's chunk may take; 0 where there are too many. */
static int loads_of_stage(const struct proof *p, const struct live *l, int s,
                          int64_t *out)
{
    int n = 0;
    const uint64_t *node = live_node(l, s);
    const int64_t *fwd = p->sp->sum[SPACE_FWD], *bwd = p->sp->sum[SPACE_BWD];
    for (int i = live_first(l, s); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, s, i);
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1)) {
            if (n == LOAD_VALUES)
                n = loads_unique(out, n);
            if (n == LOAD_VALUES)
                return 0;
            out[n++] = fwd[to] - fwd[i] + bwd[to] - bwd[i];
        }
    }
    return loads_unique(out, n);
}

/* All sums of one of each; false where there are too many. */
static bool loads_add(struct loads *to, const int64_t *more, int n_more)
{
    if (n_more == 0 || to->n * n_more > LOAD_SUMS)
        return false;
    int64_t *sum = malloc(sizeof *sum * (size_t)(to->n * n_more));
    if (!sum)
        return false;
    int n = 0;
    for (int i = 0; i < to->n; i++)
        for (int j = 0; j < n_more; j++)
            sum[n++] = to->value[i] + more[j];
    n = loads_unique(sum, n);
    to->n = n <= LOAD_VALUES ? n : 0;
    if (to->n)
        memcpy(to->value, sum, sizeof *sum * (size_t)n);
    free(sum);
    return to->n > 0;
}

/* The loads that a rank's live chunks can add up to, within its bounds; false
 * where there are too many to list. */
static bool loads_list(const struct proof *p, const struct live *l, int rank,
                       struct loads *out)
{
    int64_t stage[LOAD_VALUES];
    int kept = 0;
    out->n = 1;
    out->value[0] = 0;
    for (int s = rank; s < l->n_stages; s += l->pp)
        if (!loads_add(out, stage, loads_of_stage(p, l, s, stage)))
            return false;
    for (int i = 0; i < out->n; i++)
        if (out->value[i] >= live_load(l, rank)[0] &&
            out->value[i] <= live_load(l, rank)[1])
            out->value[kept++] = out->value[i];
    out->n = kept;
    return true;
}

/* Whether the rank cannot have a load within these bounds. */
static bool loads_refuted(struct proof *p, const struct live *l, int rank,
                          const int64_t bounds[2])
{
    struct live *child = &p->spare[0];
    live_copy(child, l);
    memcpy(live_load(child, rank), bounds, 2 * sizeof *bounds);
    return proof_relax(p, child) == PROOF_REFUTED;
}

/* Halves, quarters, ... of the listed loads from one end. */
static enum proof_end loads_probe_listed(struct proof *p, struct live *l,
                                         int rank, struct loads *of, bool low)
{
    int first = 0, last = of->n - 1;
    int64_t *load = live_load(l, rank);
    for (int part = of->n / 2; part >= 1 && !p->stopped;) {
        int a = low ? first : last - part + 1;
        int64_t bounds[2] = {of->value[a], of->value[a + part - 1]};
        if (!loads_refuted(p, l, rank, bounds)) {
            part /= 2;
            continue;
        }
        first += low ? part : 0;
        last -= low ? 0 : part;
        if (first > last)
            return PROOF_REFUTED;
        load[0] = of->value[first];
        load[1] = of->value[last];
        part = part < last - first + 1 ? part : (last - first + 1) / 2;
    }
    return PROOF_OPEN;
}

/* The same on a range of numbers. */
static enum proof_end loads_probe_range(struct proof *p, struct live *l,
                                        int rank, bool low)
{
    int64_t *load = live_load(l, rank);
    for (int share = 2; share <= LOAD_NARROWEST && !p->stopped;) {
        int64_t part = (load[1] - load[0]) / share;
        int64_t bounds[2] = {low ? load[0] : load[1] - part,
                             low ? load[0] + part : load[1]};
        if (part == 0)
            break;
        if (!loads_refuted(p, l, rank, bounds))
            share *= 2;
        else if (low)
            load[0] = bounds[1] + 1;
        else
            load[1] = bounds[0] - 1;
    }
    return PROOF_OPEN;
}

static enum proof_end loads_probe_end(struct proof *p, struct live *l, int rank,
                                      bool low)
{
    struct loads of;
    if (!loads_list(p, l, rank, &of))
        return loads_probe_range(p, l, rank, low);
    if (of.n == 0)
        return PROOF_REFUTED;
    live_load(l, rank)[0] = of.value[0];
    live_load(l, rank)[1] = of.value[of.n - 1];
    return loads_probe_listed(p, l, rank, &of, low);
}

enum proof_end proof_probe_loads(struct proof *p, struct live *l)
{
    if (l->n_stages == l->pp) // a load is a chunk
        return PROOF_OPEN;
    for (int r = 0; r < l->pp && !p->stopped; r++)
        for (int low = 0; low < 2; low++)
            if (loads_probe_end(p, l, r, low) == PROOF_REFUTED)
                return p->stopped ? PROOF_OPEN : PROOF_REFUTED;
    return PROOF_OPEN;
}
