/*
 * search: the fastest layouts of a space, for one pipeline size and number of
 * virtual stages. Small spaces of one chunk a rank (16 layers, 1 MTP, 4 stages:
 * 816 layouts) are enumerated; others, of 10^18 layouts and more, are searched
 * with a proof (room prove): exact under ideal transfers, under other modes
 * with the gap to the ideal bound, which no layout can pass.
 */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "base/arena.h"
#include "base/err.h"
#include "cost/cost.h"
#include "layout/layout.h"
#include "plan.h"
#include "prove/prove.h"

#include <stdbool.h>
#include <stdint.h>

struct search_options {
    bool standalone_mtp, empty_stages;
    bool whole_layers;   // of a hybrid model: no cut between a layer and the
                         // MLP or experts behind it (symbols_parts_layer)
    int top;             // how many plans to keep
    double time_limit_s; // of the exact search; 0: until it is proved
    struct prove_hooks hooks;
};

enum search_proof {
    SEARCH_ENUMERATED, // every layout was predicted
    SEARCH_OPTIMAL,    // proved: no layout of the space is faster
    SEARCH_GAP         // none is faster than the best by more than `gap`
};

/* "enumerated", "optimal", "gap". */
const char *search_proof_name(enum search_proof p);

enum { SEARCH_NOT_COUNTED = -1 };

struct search_result {
    const struct plan *plans; // best first
    int n_plans;
    const struct plan *baselines;  // default, count-based: those that exist
    const char *baseline_names[2]; // of those
    int n_baselines;
    const char *baseline_refusals[2]; // why there is no default, count-based
    char searched[PROVE_DIGITS];      // layouts of the space, decimal
    int64_t n_dropped_for_memory;     // or SEARCH_NOT_COUNTED
    int64_t n_refused; // by the version of core, not among those searched
    enum search_proof proof;
    double bound_s; // no layout of the space has a shorter step
    double gap;     // best step over the bound, minus one
};

/* Best first; predictions within 0.5% are a tie, which fewer near-bottleneck
 * stages win. ERR_MODEL when nothing fits in memory or the context's version
 * of core takes none, ERR_RANGE for an order that Megatron refuses. Owned by
 * the arena. */
enum err search_layouts(struct arena *a, const struct plan_context *ctx,
                        const struct search_options *opt,
                        struct search_result *out, struct err_msg *msg);

#endif
