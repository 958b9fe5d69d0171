/*
 * recipes: what public recipes leave on the table. For each way of a manifest's
 * `plan`, with and without EP overlap, the planner's layout beside published
 * ones, Megatron's default split and the count-based rule: predicted step, gap
 * to the proved optimum or to a certified bound, memory of the fullest rank;
 * and the same while MTP layer and loss head cost other multiples of a decoder
 * layer. Costs are analytic, transfers ideal; nothing runs.
 *
 * Sized for some hundred searches of seconds each.
 */
#ifndef EXPERIMENT_RECIPES_H
#define EXPERIMENT_RECIPES_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* One layout of one case; texts are "" and numbers NAN where there is none. */
struct recipe_row {
    int way; // from 1, in the manifest's order
    int pp, vpp, ep, n_mb;
    bool ep_overlap;
    bool grid;                 // planned with a ratio of the manifest's
    double m_over_t, l_over_t; // forward and backward of an MoE layer are 1
    const char *who; // planner, recipe, default, count-based, or whole-layers:
                     // the planner without cuts inside layers, whose bound,
                     // proof and gap are of its own space
    bool compared;   // stands for public practice: the first recipe of the way,
                     // else Megatron's default split, else the count-based rule
    const char *layout;         // shortest string; "" for a way that is refused
    double pred_ms, planner_ms; // its step, and that of the planner's layout
    double bound_ms; // no layout of the way has a shorter step than this; where
                     // it is proved it is the planner's step
    const char *proof;  // enumerated, optimal, gap, or refused
    double gap_pct;     // step over the bound
    int64_t mem_bytes;  // of the fullest rank, 0: none
    const char *source; // of a published layout
    const char *reason; // why the way is refused
};

struct recipe_rows {
    struct recipe_row *row;
    int n, room;
};

/* One case that is searched: a way, EP overlap, costs. The ratios are NAN where
 * costs are by FLOPs. */
struct recipe_case {
    int way; // index
    bool ep_overlap;
    double m_over_t, l_over_t;
};

/* All cases of the manifest: first every way by FLOPs, then the ratios.
 * ERR_NOMEM is the only error. */
struct recipe_cases {
    struct recipe_case *all;
    int n;
};
enum err recipes_cases(struct arena *a, const struct manifest *mf,
                       struct recipe_cases *out, struct err_msg *msg);

/* Plans one case and adds its rows: the planner's, then the compared one, then
 * (by FLOPs) all others. A way that Megatron refuses gives one row with the
 * reason. ERR_RANGE for a recipe that is no layout of the model. */
enum err recipes_plan(struct arena *a, const struct manifest *mf,
                      const struct recipe_case *c, struct recipe_rows *to,
                      struct err_msg *msg);

/* Step (ms) and fullest rank (bytes) of a row's layout predicted again, with
 * the manifest's costs as they are now; no search. */
struct recipe_prediction {
    double step_ms;
    int64_t mem_bytes;
};
enum err recipes_predict(struct arena *a, const struct manifest *mf,
                         const struct recipe_row *row,
                         struct recipe_prediction *out, struct err_msg *msg);

#endif
