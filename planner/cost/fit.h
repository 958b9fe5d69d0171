/*
 * fit: from the timers of short profile runs to the cost of each unit kind.
 * Forward and backward seconds of every kind and one constant that timers add
 * to each chunk, by weighted non-negative least squares on relative errors.
 * With several chunks a rank timers are sums over the rank's chunks, so that
 * a "stage" here is a rank of the pipeline; runs may differ in their chunks.
 * A fit that cannot tell two kinds apart says so and names the layout to add.
 * Sized for a handful of runs of up to some hundred stages.
 */
#ifndef COST_FIT_H
#define COST_FIT_H

#include "cost.h"
#include "log/parse.h"

/* One profile run as the fit sees it. */
struct fit_run {
    const char *layout_text;
    struct layout layout;
    const struct runlog *log;
    const char *log_sha256;
    double speed; // times of this run are divided by it (1: none): correction
                  // for a machine that ran slower than in the other runs
};

/* What a fit tells besides the costs. Standard errors in `cost` are scaled by
 * t(95%, degrees of freedom) / 1.96, so that 1.96 x se is always the half
 * width of a 95% interval. */
struct fit_residual {
    int run, stage; // stage: rank of the pipeline
    double meas_fwd_s, pred_fwd_s, meas_bwd_s, pred_bwd_s;
    double spread_fwd_s, spread_bwd_s; // slowest less fastest rank of the stage
};
struct fit {
    struct cost cost;
    const struct fit_residual *residuals;
    int n_residuals;
    int rank, n_unknowns; // of the design matrix
    double condition;     // of the column-scaled design matrix
    int degrees_of_freedom;
    double worst_misfit; // largest relative residual of a stage and pass
    const char *note;    // what was absorbed or left joint, or NULL
};

struct fit_timer {
    const struct model *model;
    const struct fit_run *run;
    const char *name; // RUNLOG_FORWARD, ...
};

/* Mean of one timer over the usable iterations and the ranks of each stage,
 * seconds a step divided by the run's `speed`; NAN for a stage that the timer
 * does not list. Ranks: pipeline outermost (tp-cp-ep-dp-pp), or data-parallel
 * outermost where the run had --use-tp-pp-dp-mapping. A block of extremes
 * counts where there is one rank. ERR_PARSE when no rank has the timer. */
enum err fit_stage_times(struct arena *a, const struct fit_timer *timer,
                         double *stage_s, struct err_msg *msg);

/* Weighted non-negative least squares on all runs' per-rank forward and
 * backward timers. ERR_MODEL (with the layout to add) when a kind cannot be
 * told apart, ERR_PARSE when a log lacks timers. Owned by the arena. */
struct fit_input {
    const struct model *model;
    const struct fit_run *runs;
    int n_runs;
};
enum err fit_costs(struct arena *a, const struct fit_input *in, struct fit *out,
                   struct err_msg *msg);

/* Adds what is said beside a fit to its note, after "; "; `more` NULL adds
 * nothing. ERR_NOMEM. Owned by the arena. */
enum err fit_join_notes(struct arena *a, const char *more, const char **note,
                        struct err_msg *msg);

#endif
