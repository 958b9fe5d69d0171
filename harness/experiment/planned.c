/*
 * How it works: a walk is a pair (round, place); next() looks at one place
 * after the other and skips targets whose runs another target's serve.
 */
#include "planned.h"

#include "base/stats.h"
#include "store/results.h"

#include <string.h>

/* A walk is a value: a copy goes on from the same place by itself. */
struct planned_walk planned_between(const struct planned *p, int first,
                                    int last)
{
    return (struct planned_walk){
        .of = *p, .first = first, .last = last, .round = first};
}

struct planned_walk planned_all(const struct planned *p)
{
    return planned_between(p, 0, p->rounds);
}

/* The same layout may be profiled more than once; `nth` tells the runs apart.
 */
static struct planned_run planned_profile(const struct planned *p, int i)
{
    struct planned_run r = {.role = ROLE_PROFILE_NAME, .layout = p->profile[i]};
    for (int k = 0; k < i; k++)
        r.nth += strcmp(p->profile[k], r.layout) == 0;
    return r;
}

/* One of the layouts, in one round; `i` is its place among the targets. */
static struct planned_run planned_of_target(const struct planned *p, int round,
                                            int i)
{
    const struct target *t = &p->targets->target[i];
    return (struct planned_run){.round = round,
                                .role = role_name(t->role),
                                .layout = t->layout,
                                .target = t,
                                .shared = t->runs_of != i};
}

/* Round r begins with layout r mod n, so that no layout always has the same
 * one before it, whose heat or cache it would find. */
bool planned_next(struct planned_walk *w, struct planned_run *out)
{
    const struct planned *p = &w->of;
    for (; w->round <= w->last; w->round++, w->place = 0) {
        int n = w->round == 0 ? p->n_profile : p->targets->n;
        while (w->place < n) {
            int place = w->place++;
            *out =
                w->round == 0
                    ? planned_profile(p, place)
                    : planned_of_target(p, w->round,
                                        stats_rotated(w->round - 1, place, n));
            if (!out->shared || w->shared)
                return true;
        }
    }
    return false;
}

int planned_count(struct planned_walk w)
{
    struct planned_run ignored;
    int n = 0;
    while (planned_next(&w, &ignored))
        n++;
    return n;
}
