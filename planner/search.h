/*
 * search: baselines, the pair of layouts to profile, and the fastest layouts.
 * Spaces of this size (816 layouts for 16 layers, 1 MTP, 4 stages) are
 * enumerated in full.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "arena.h"
#include "cost.h"
#include "err.h"
#include "layout.h"
#include "plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Megatron's default split. ERR_MODEL with Megatron's reason when it would
 * refuse it. Owned by the arena. */
enum err search_default_layout(struct arena *a, const struct model *m, int pp,
                               struct layout *out, struct err_msg *msg);

/* Count-based rule: E, t..., m..., L count one each, spread evenly, the first
 * stages take the remainder. ERR_MODEL when there are fewer units than
 * stages. */
enum err search_count_based_layout(struct arena *a, const struct model *m,
                                   int pp, struct layout *out,
                                   struct err_msg *msg);

/* The layout whose largest stage has the fewest parameters. */
enum err search_parameter_balanced_layout(struct arena *a,
                                          const struct model *m, int pp,
                                          struct layout *out,
                                          struct err_msg *msg);

/* The `n` layouts (2 or more) whose timers together give the costs with the
 * smallest relative error (D-optimal); `standalone` allows m on a stage of its
 * own, without which m and L cannot be told apart. */
enum err search_profile_layouts(struct arena *a, const struct model *m, int pp,
                                int n, bool standalone, struct layout *out,
                                struct err_msg *msg);

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
};

/* Enumerates every layout of the space, best first; predictions within 0.5%
 * are a tie, which fewer near-bottleneck stages win. ERR_MODEL when nothing
 * fits in memory, ERR_RANGE when the space is too large to enumerate. */
enum err search_layouts(struct arena *a, const struct plan_context *ctx,
                        const struct search_options *opt,
                        struct search_result *out, struct err_msg *msg);

#endif
