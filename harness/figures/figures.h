/*
 * figures: from the logs of runs to the numbers that are reported. Pure
 * computation on loaded runs; times in milliseconds as logs have them, NAN
 * where unknown.
 *
 * Speed correction: beside each iteration the trainer times fixed reference
 * bursts. A step that ran while the machine was slow is divided by how slow
 * it was, relative to the experiment's median burst. Logs without bursts
 * (real GPUs, the declared-flops clock) are not corrected.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "store/oplog.h"
#include "store/results.h"

#include <stdbool.h>

/* One run. An iteration is used when the log calls it usable and it comes
 * after the warm-up. */
struct run_figures {
    int n_used, n_warmup;
    double step_ms, corr_ms, mad_ms; // medians; MAD of the corrected steps
    double reference_ms;             // median burst
};

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

bool figures_is_used(const struct log_iteration *it, int warmup);

/* Median burst of all used iterations of valid runs; NAN without bursts. */
double figures_reference(struct arena *a, const struct run_list *runs,
                         int warmup);

/* A step corrected to the speed at which a burst takes reference_ms. */
double figures_corrected(const struct log_iteration *it, double reference_ms);

enum err figures_run(struct arena *a, const struct run_record *run, int warmup,
                     double reference_ms, struct run_figures *out,
                     struct err_msg *msg);

/* Coefficient of variation of single operations over the micro-batches of a
 * step, from the recorded operations of the valid profile runs; NAN where
 * nothing was recorded. */
enum err figures_jitter(struct arena *a, const struct run_list *runs,
                        const struct model *m, int warmup, double *cv,
                        struct err_msg *msg);

/* What to look at: the valid runs of (role, layout). `ctx` with costs gives
 * the replay its transfers; ctx->cost NULL leaves the replay out. */
struct figures_request {
    const struct run_list *runs;
    const char *role, *layout;
    const struct layout *parsed;
    const struct plan_context *ctx;
    int warmup;
    double reference_ms;
};

/* Interval: bootstrap over rounds (seed FIGURES_SEED), over the iterations
 * when there is one round. n_rounds is 0 when no run is valid. */
enum { FIGURES_SEED = 20260801 };
enum err figures_layout(struct arena *a, const struct figures_request *req,
                        struct layout_figures *out, struct err_msg *msg);

/* `out` holds parsed->n_stages. Times from the recorded operations, corrected
 * and the median over iterations; else from the timers of a profile run of the
 * same layout. */
enum err figures_stages(struct arena *a, const struct figures_request *req,
                        struct stage_figures *out, struct err_msg *msg);

/* A step as it was recorded: of the first valid run, the one whose time is
 * nearest to the run's median. n_stages is 0 when nothing was recorded. */
struct timeline {
    int n_stages, n_mb;
    struct oplog_step step;
};
enum err figures_timeline(struct arena *a, const struct figures_request *req,
                          struct timeline *out, struct err_msg *msg);

#endif
