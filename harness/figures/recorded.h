/*
 * recorded: what the recorded operations of one run (ops.csv) say, in the size
 * of its steps and stages. An operation log is some hundred kilobytes and is
 * asked for by three tables after every run, so it is read once, and what it
 * says is kept with the run.
 */
#ifndef FIGURES_RECORDED_H
#define FIGURES_RECORDED_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "store/oplog.h"
#include "store/results.h"

/* One step that counts, with all its operations. */
struct recorded_step {
    const struct log_iteration *iteration; // of the run's log
    double replay_error_pct; // simulated against recorded span; NAN: no costs
    const double *fwd_s, *bwd_s; // [stage], sums over the micro-batches
};

struct recorded {
    const struct cost *cost; // that the replay was made with, or NULL
    int n_stages, n_mb, n_steps;
    const struct recorded_step *step; // n_steps of them, in order
    struct oplog_step shown; // with n_steps > 0: the one whose time is nearest
                             // to the median of the run
};

struct recorded_request {
    const struct layout *layout;    // of the run
    const struct plan_context *ctx; // ctx->cost NULL: no replay
    int warmup;
};

/* What the run has recorded; n_steps is 0 where it wrote no file. Read when
 * first asked for, and again when asked for with other costs; owned by `keep`,
 * which must outlive the run's record. ERR_PARSE for a file that does not fit
 * the layout. */
enum err recorded_of(struct arena *keep, const struct recorded_request *req,
                     struct run_record *run, const struct recorded **out,
                     struct err_msg *msg);

#endif
