/*
 * overhead: what a step takes outside the pipeline (gradient sums, norm,
 * optimiser), from the profile runs that also gave the unit costs.
 */
#ifndef CALIBRATE_OVERHEAD_H
#define CALIBRATE_OVERHEAD_H

#include "cost/fit.h"
#include "plan/plan.h"

struct overhead_runs {
    const struct fit_run *runs;
    int n;
};

/* Estimates cost->jitter_cv from the timers of the runs; leaves it where
 * somebody has measured it better (it is above 0), or no log tells. */
void overhead_jitter(struct arena *a, const struct plan_context *ctx,
                     const struct overhead_runs *runs, struct cost *cost);

/* Fits what a step takes outside the pipeline (overhead_s and
 * overhead_s_per_byte) from the profile runs and writes it into `cost`, with
 * step_noise_rel: each run's step time less the simulation of its own timers,
 * and, as a prior for the part that grows with the parameters (15% model
 * error), the slope of its per-rank optimizer timers over the stages' bytes.
 * The simulation is the expected one under cost->jitter_cv, which is estimated
 * from the timers first when it is 0. Timers of ranks with several chunks are
 * shared out by `cost`, which has the fitted unit costs.
 * ctx->cost supplies the transfers. */
enum err overhead_fit(struct arena *a, const struct plan_context *ctx,
                      const struct overhead_runs *runs, struct cost *cost,
                      struct err_msg *msg);

#endif
