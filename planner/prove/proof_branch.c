/*
 * The search as a whole: relax, probe, look at the layouts that are left, and
 * where those are too many cut the graph in two and do the same with both. The
 * cut is made where the relaxation is furthest from whole layers: in the load
 * of a rank, then the size of a chunk, then a position.
 */
#include "proof.h"

/* Nodes of the depth-first part before halving: small, as probing the halves
 * decides more than looking at layouts does. */
static const long BUDGET = 30000;
enum { BRANCH_ROOT_PASSES = 10, BRANCH_CHILD_PASSES = 2 };

/* Where a graph is cut in two: `middle` belongs to the second half. */
enum halves_by { HALVES_POSITION, HALVES_LENGTH, HALVES_LOAD };

struct halves {
    enum halves_by by;
    int index; // stage or rank
    int64_t first, middle, last;
};

static bool proof_take(struct live *l, const struct halves *h, bool second)
{
    int64_t from = second ? h->middle : h->first;
    int64_t to = second ? h->last : h->middle - 1;
    switch (h->by) {
    case HALVES_POSITION:
        return live_keep(l, h->index, (int)from, (int)to);
    case HALVES_LENGTH:
        return live_keep_lengths(l, h->index, (int)from, (int)to);
    default:
        live_load(l, h->index)[0] = from;
        live_load(l, h->index)[1] = to;
        return true;
    }
}

static struct halves halves_even(enum halves_by by, int index, int64_t first,
                                 int64_t last)
{
    return (struct halves){by, index, first, first + (last - first + 1) / 2,
                           last};
}

/* The widest load, if an average unit more or less is still open there. */
static bool halves_of_load(const struct proof *p, const struct live *l,
                           struct halves *out)
{
    int last = l->n_pos - 1;
    int64_t all = p->sp->sum[SPACE_FWD][last] + p->sp->sum[SPACE_BWD][last];
    int64_t most = all / last;
    bool any = false;
    for (int r = 0; r < l->pp && l->pp < l->n_stages; r++) {
        const int64_t *load = live_load(l, r);
        if (load[1] - load[0] <= most)
            continue;
        most = load[1] - load[0];
        *out = halves_even(HALVES_LOAD, r, load[0], load[1]);
        any = true;
    }
    return any;
}

/* The chunk with most lengths. */
static bool halves_of_length(const struct live *l, struct halves *out)
{
    int most = 0;
    for (int s = 0; s < l->n_stages; s++) {
        int a, b;
        live_lengths(l, s, &a, &b);
        if (b - a <= most)
            continue;
        most = b - a;
        *out = halves_even(HALVES_LENGTH, s, a, b);
    }
    return most > 0;
}

/* The cut with most positions. */
static bool halves_of_position(const struct live *l, struct halves *out)
{
    int most = 1;
    for (int s = 1; s < l->n_stages; s++) {
        int n = live_count(l, s);
        if (n <= most)
            continue;
        most = n;
        *out = (struct halves){HALVES_POSITION, s, 0, live_nth(l, s, n / 2),
                               l->n_pos - 1};
    }
    return most > 1;
}

/* Also called by what it calls: the halves of a half. */
static bool proof_halve(struct proof *p, struct live *l, int depth);

static bool proof_settle_at(struct proof *p, struct live *l, int depth)
{
    if (proof_stop(p))
        return false;
    if (!proof_prune_bytes(p, l) || proof_relax(p, l) == PROOF_REFUTED ||
        proof_probe(p, l, depth ? BRANCH_CHILD_PASSES : BRANCH_ROOT_PASSES) ==
            PROOF_REFUTED)
        return !p->stopped;
    if (p->stopped)
        return false;
    /* at the bottom of the spare graphs there is no other way than through */
    long budget = depth + 1 < PROOF_DEPTH ? BUDGET : INT64_MAX;
    return proof_dive(p, l, budget) ||
           (!p->stopped && proof_halve(p, l, depth));
}

/* Settles the first half in a spare graph, the second in `l`. */
static bool proof_halve(struct proof *p, struct live *l, int depth)
{
    struct halves h;
    struct live *first = &p->spare[depth + 1];
    if (!halves_of_load(p, l, &h) && !halves_of_length(l, &h) &&
        !halves_of_position(l, &h))
        return proof_dive(p, l, INT64_MAX); // one layout, or out of memory
    live_copy(first, l);
    if (proof_take(first, &h, false) && !proof_settle_at(p, first, depth + 1))
        return false;
    return !proof_take(l, &h, true) || proof_settle_at(p, l, depth + 1);
}

bool proof_settle(struct proof *p, struct live *l)
{
    return proof_settle_at(p, l, 0);
}
