/*
 * search: the fastest layouts of a space.
 * Spaces of up to two million layouts of one chunk a rank are enumerated in
 * full (16 layers, 1 MTP, 4 stages: 816).
 */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "base/arena.h"
#include "base/err.h"
#include "cost/cost.h"
#include "layout/layout.h"
#include "plan.h"

#include <stdbool.h>
#include <stdint.h>

struct search_options {
    bool standalone_mtp, empty_stages;
    int top; // how many plans to keep
};

struct search_result {
    const struct plan *plans; // best first
    int n_plans;
    const struct plan *baselines; // default, count-based: those that exist
    const char *baseline_names[2];
    int n_baselines;
    int64_t n_searched, n_dropped_for_memory;
    int64_t n_refused; // by the version of core, not among those searched
};

/* Enumerates every layout of the space, best first; predictions within 0.5%
 * are a tie, which fewer near-bottleneck stages win. ERR_MODEL when nothing
 * fits in memory or the context's version of core takes none, ERR_RANGE when
 * the space is too large to enumerate. */
enum err search_layouts(struct arena *a, const struct plan_context *ctx,
                        const struct search_options *opt,
                        struct search_result *out, struct err_msg *msg);

#endif
