/*
 * calibrate: from the profile runs of an experiment to the costs that its
 * predictions rest on, at a stated speed of the machine; or the costs of
 * another experiment where the manifest says so (costs_from).
 */
#ifndef EXPERIMENT_CALIBRATE_H
#define EXPERIMENT_CALIBRATE_H

#include "base/arena.h"
#include "base/err.h"
#include "cost/cost.h"
#include "manifest/manifest.h"
#include "plan/plan.h"
#include "store/results.h"

struct calibrate_input {
    const struct manifest *manifest;
    const struct plan_context *ctx; // its cost is not looked at
    const struct run_list *runs;    // profile runs are those of round 0
    const char *dir; // of the results; costs_from is looked for beside it
};

struct calibration {
    struct cost cost;
    const char *note; // what the fit had to leave joint, or NULL
};

/* `reference_ms`: the burst that tells the speed, NAN for logs without bursts.
 * ERR_MODEL or ERR_PARSE when the runs are too few or other costs do not fit.
 * Owned by the arena. */
enum err calibrate(struct arena *a, const struct calibrate_input *in,
                   double reference_ms, struct calibration *out,
                   struct err_msg *msg);

/* The costs.json of the experiment that costs_from names: beside our results
 * or the manifest (in a job), else among the reference data; NULL when there is
 * none. */
const char *calibrate_other_costs(struct arena *a,
                                  const struct calibrate_input *in);

#endif
