#include "plan/proof.h"
#include <stdio.h>

/* Enough for most spaces after probing; beyond it halving a range pays. */
static const long BUDGET = 1000000;
enum { ROOT_PASSES = 10, CHILD_PASSES = 1 };

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

static bool proof_halve(struct proof *p, struct live *l, int depth)
{
    int stage = proof_widest(l), n = live_count(l, stage);
    int middle = live_nth(l, stage, n / 2);
    struct live *first = &p->spare[depth + 1];
    p->n_branches++;
    live_copy(first, l);
    if (live_keep(first, stage, 0, middle - 1) &&
        !proof_settle_at(p, first, depth + 1))
        return false;
    return !live_keep(l, stage, middle, l->n_pos - 1) ||
           proof_settle_at(p, l, depth + 1);
}

bool proof_settle(struct proof *p, struct live *l)
{
    return proof_settle_at(p, l, 0);
}
