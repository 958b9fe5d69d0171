/*
 * run_view: one profile run as the simulator sees it: the order of work and
 * the transfers that the run's own number of chunks has, its stages' times as
 * its timers tell them, its step. Seconds; times are divided by the run's
 * `speed`. Sized as cost/fit.
 */
#ifndef CALIBRATE_RUN_VIEW_H
#define CALIBRATE_RUN_VIEW_H

#include "cost/fit.h"
#include "plan/plan.h"

/* A context whose schedule is beside it: not to be copied alone. */
struct run_view {
    const struct fit_run *run;
    struct plan_context ctx;
    struct schedule schedule;
};

/* The context `base` for this run, with or without EP overlap. Transfers stay
 * those of `base` unless they are what Megatron does for another number of
 * chunks: then they are what it does for the run's, where the run's dump of
 * arguments does not say otherwise (it also tells the group). ERR_RANGE for
 * what Megatron refuses; the message names the run. */
enum err run_view_make(const struct plan_context *base,
                       const struct fit_run *run, bool ep_overlap,
                       struct run_view *out, struct err_msg *msg);

/* Means of the run's own timers, a micro-batch, into stage_s[2 * n_stages]:
 * all forwards, then all backwards. A timer adds up the chunks of a rank: it
 * is shared out in proportion to what the unit costs of `cost`, with the
 * timers' constant, say of each. ERR_PARSE without timers. */
enum err run_view_times(struct arena *a, const struct run_view *view,
                        const struct cost *cost, double *stage_s,
                        struct err_msg *msg);

/* Mean of the steps that the timers' means are over, and its standard error;
 * ERR_PARSE where the log has no usable iteration. */
struct run_step {
    double mean_s, se_s;
};
enum err run_view_step(const struct fit_run *run, struct run_step *out,
                       struct err_msg *msg);

#endif
