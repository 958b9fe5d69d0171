/*
 * figures: from the log of a run to the numbers that are reported of it. Pure
 * computation on loaded runs; times in milliseconds as logs have them, NAN
 * where unknown. What the runs of one layout say together is in rounds.
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
#include "model/model.h"
#include "store/results.h"

#include <stdbool.h>

/* One run. An iteration is used when the log calls it usable and it comes
 * after the warm-up. */
struct run_figures {
    int n_used, n_warmup;
    double step_ms, corr_ms, mad_ms; // medians; MAD of the corrected steps
    double reference_ms;             // median burst
};

/* True when the iteration counts: usable, timed, behind the warm-up, and of the
 * section of `log` that counts (an earlier run in the same file does not). */
bool figures_is_used(const struct runlog *log, const struct log_iteration *it,
                     int warmup);

/* Median burst of all used iterations of valid runs; NAN without bursts. */
double figures_reference(struct arena *a, const struct run_list *runs,
                         int warmup);

/* A step corrected to the speed at which a burst takes reference_ms. */
double figures_corrected(const struct log_iteration *it, double reference_ms);

/* Corrected steps of the used iterations into `x`, which holds the log's
 * n_iterations; their number. */
size_t figures_corrected_steps(const struct run_record *run, int warmup,
                               double reference_ms, double *x);

/* What iterations count and at which speed. */
struct figures_rule {
    int warmup;          // iterations that are left out
    double reference_ms; // of a burst; NAN: no correction
};

/* Figures of one run; ERR_NOMEM is the only error. */
enum err figures_run(struct arena *a, const struct run_record *run,
                     struct figures_rule rule, struct run_figures *out,
                     struct err_msg *msg);

/* Runs of a model whose operations were recorded. */
struct figures_source {
    const struct run_list *runs;
    const struct model *model; // its stages and micro-batches
    int warmup;
};

/* Coefficient of variation of single operations over the micro-batches of a
 * step, from the recorded operations of the valid profile runs; NAN where
 * nothing was recorded. */
enum err figures_jitter(struct arena *a, const struct figures_source *from,
                        double *cv, struct err_msg *msg);

#endif
