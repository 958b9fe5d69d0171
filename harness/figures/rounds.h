/*
 * rounds: what all runs of one layout say together: its step time with an
 * interval, the error of replaying what was recorded, its stages' times and
 * memory, one step to look at. Times in milliseconds; NAN where unknown.
 *
 * Sized for some hundred runs: what a run has recorded is read once (see
 * recorded), so that asking again after every run costs no file.
 */
#ifndef FIGURES_ROUNDS_H
#define FIGURES_ROUNDS_H

#include "base/arena.h"
#include "base/err.h"
#include "figures.h"
#include "plan/plan.h"
#include "recorded.h"
#include "store/results.h"

/* All rounds of one layout. */
struct layout_figures {
    int n_rounds;                 // valid ones
    double meas_ms, lo_ms, hi_ms; // median over rounds, 95% interval
    double spread_pct;            // (largest - smallest round) / median
    double replay_error_pct;
    double worst_mem_bytes;
};

/* One stage of one layout. */
struct stage_figures {
    double fwd_ms, bwd_ms; // a micro-batch
    double mem_bytes;
};

/* What to look at: the valid runs of (role, layout). `ctx` with costs gives
 * the replay its transfers; ctx->cost NULL leaves the replay out. */
struct rounds_request {
    const struct run_list *runs;
    const char *role, *layout;
    const struct layout *parsed;
    const struct plan_context *ctx;
    int warmup;
    double reference_ms;
    struct arena *keep; // of what is kept with the runs; outlives them
};

/* Interval: bootstrap over rounds (seed FIGURES_SEED), over the iterations
 * when there is one round. n_rounds is 0 when no run is valid. */
enum { FIGURES_SEED = 20260801 };
enum err rounds_layout(struct arena *a, const struct rounds_request *req,
                       struct layout_figures *out, struct err_msg *msg);

/* `out` holds parsed->n_stages. Times from the recorded operations, corrected
 * and the median over iterations; else from the timers of a profile run of the
 * same layout. */
enum err rounds_stages(struct arena *a, const struct rounds_request *req,
                       struct stage_figures *out, struct err_msg *msg);

/* A step as it was recorded: of the first valid run, the one whose time is
 * nearest to the run's median. n_stages is 0 when nothing was recorded. */
struct timeline {
    int n_stages, n_mb;
    struct oplog_step step;
};
enum err rounds_timeline(const struct rounds_request *req, struct timeline *out,
                         struct err_msg *msg);

#endif
