#include "plan/proof.h"
#include <stdio.h>

/* Enough for most spaces after probing; beyond it halving a range pays. */
static const long BUDGET = 30000;
enum { ROOT_PASSES = 10, CHILD_PASSES = 2 };

/* The cut with most live positions; 0 when all are settled. */
static int proof_widest(const struct live *l)
{
    int best = 0, most = 1;
    for (int s = 1; s < l->n_stages; s++) {
        int n = live_count(l, s);
        if (n > most) {
            most = n;
            best = s;
        }
    }
    return best;
}

/* Both halves of the widest cut, the second one in `l` itself. */
static bool proof_halve(struct proof *p, struct live *l, int depth);

static bool proof_settle_at(struct proof *p, struct live *l, int depth)
{
    int passes = depth == 0 ? ROOT_PASSES : TUNE("CP", CHILD_PASSES);
    if (p->stopped)
        return false;
    if (proof_relax(p, l) == PROOF_REFUTED ||
        proof_probe(p, l, passes) == PROOF_REFUTED)
        return !p->stopped;
#ifdef PROVE_STATS
    if (getenv("SHOW")) {
        fprintf(stderr, "depth %d arcs %d nodes", depth, live_arcs(l));
        for (int i = 1; i < l->n_stages; i++)
            fprintf(stderr, " %d", live_count(l, i));
        fprintf(stderr, " lengths");
        for (int i = 0; i < l->n_stages; i++) {
            int a, b; live_lengths(l, i, &a, &b);
            fprintf(stderr, " %d-%d", a, b);
        }
        fprintf(stderr, " loads");
        for (int r = 0; r < l->pp; r++)
            fprintf(stderr, " %lld-%lld", (long long)live_load(l, r)[0] / 3, (long long)live_load(l, r)[1] / 3);
        fprintf(stderr, " limit %lld t %.3f\n", (long long)proof_limit(p), proof_now() - p->began);
    }
#endif
    long budget = depth + 1 < PROOF_DEPTH ? TUNE("BUDGET", (int)BUDGET) : INT64_MAX;
    if (p->stopped)
        return false;
    return proof_dive(p, l, budget) ||
           (!p->stopped && proof_halve(p, l, depth));
}

/* Where a graph is cut in two. */
struct halves {
    enum { HALVE_POSITION, HALVE_LENGTH, HALVE_LOAD } by;
    int index; // stage or rank
    int64_t first, middle, last; // middle belongs to the second half
};

static bool proof_take(struct live *l, const struct halves *h, bool second)
{
    int64_t from = second ? h->middle : h->first;
    int64_t to = second ? h->last : h->middle - 1;
    switch (h->by) {
    case HALVE_POSITION:
        return live_keep(l, h->index, (int)from, (int)to);
    case HALVE_LENGTH:
        return live_keep_lengths(l, h->index, (int)from, (int)to);
    default:
        live_load(l, h->index)[0] = from;
        live_load(l, h->index)[1] = to;
        return true;
    }
}

static struct halves proof_choose(const struct proof *p, const struct live *l)
{
    int br = TUNE("BR", 2);
    struct halves h = {HALVE_POSITION, proof_widest(l), 0, 0, l->n_pos - 1};
    h.middle = live_nth(l, h.index, live_count(l, h.index) / 2);
    if (br == 1 || br == 2) {
        int most = 0;
        for (int s = 0; s < l->n_stages; s++) {
            int a, b;
            live_lengths(l, s, &a, &b);
            if (b - a > most) {
                most = b - a;
                h = (struct halves){HALVE_LENGTH, s, a, (a + b + 1) / 2, b};
            }
        }
    }
    if (br == 2) {
        int64_t most = (p->sp->sum[0][l->n_pos - 1] + p->sp->sum[1][l->n_pos - 1]) / l->n_pos;
        for (int r = 0; r < l->pp && l->pp < l->n_stages; r++) {
            int64_t *load = live_load(l, r), w = load[1] - load[0];
            if (w >= most) {
                most = w;
                h = (struct halves){HALVE_LOAD, r, load[0],
                                    load[0] + (w + 1) / 2, load[1]};
            }
        }
    }
    (void)p;
    return h;
}

static bool proof_halve(struct proof *p, struct live *l, int depth)
{
    struct halves h = proof_choose(p, l);
    struct live *first = &p->spare[depth + 1];
    p->n_branches++;
    live_copy(first, l);
    if (proof_take(first, &h, TUNE("SEC", 0)) && !proof_settle_at(p, first, depth + 1))
        return false;
    return !proof_take(l, &h, !TUNE("SEC", 0)) || proof_settle_at(p, l, depth + 1);
}

bool proof_settle(struct proof *p, struct live *l)
{
    return proof_settle_at(p, l, 0);
}
