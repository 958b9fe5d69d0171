/*
 * choose: the best layouts over several ways to split the same work: pipeline
 * sizes, virtual stages, micro-batch groups. Every way is searched by itself
 * and the plans are ranked across them.
 */
#ifndef PLAN_CHOOSE_H
#define PLAN_CHOOSE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan.h"
#include "search.h"

#include <stdbool.h>

/* One way. Where `refusal` is set it is not searched: why, in one line. */
struct choose_way {
    struct plan_context ctx;
    int pp, vpp, group;
    const char *refusal;         // set here, too, when nothing of it fits
    struct search_result result; // of a way that was searched
};

struct choose_pick {
    const struct choose_way *way;
    const struct plan *plan;
};

struct choose_result {
    const struct choose_pick *picks; // best first, at most opt->top
    int n_picks;
    char searched[PROVE_DIGITS]; // layouts of all ways, decimal
    enum search_proof proof;     // over all ways
    double bound_s;              // no layout of any way has a shorter step
    double gap;
};

/* The ways to choose from; their results are written. */
struct choose_from {
    struct choose_way *ways;
    int n;
};

/* Searches every way that is not refused; opt->time_limit_s is shared among
 * those left. ERR_MODEL or ERR_RANGE with the reason of the first when none is
 * left. Steps within 0.5% of each other are a tie that fewer near-bottleneck
 * ranks win. Owned by the arena. */
enum err choose(struct arena *a, const struct choose_from *from,
                const struct search_options *opt, struct choose_result *out,
                struct err_msg *msg);

#endif
