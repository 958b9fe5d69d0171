/*
 * tables: the CSV files of an experiment, rebuilt as a whole from the runs'
 * folders and predictions, each under a temporary name and renamed: runs.csv,
 * iterations.csv, layouts.csv, stages.csv, units.csv (costs of the units beside
 * costs in proportion to FLOPs), jitter.csv (what it adds to each step) and
 * timeline.csv (operations of one recorded
 * step of the default and the pick). Columns are listed in
 * the .c and in results/README.md; a missing value is an empty field.
 */
#ifndef EXPERIMENT_TABLES_H
#define EXPERIMENT_TABLES_H

#include "base/arena.h"
#include "base/err.h"
#include "figures/rounds.h"
#include "manifest/manifest.h"
#include "plan/plan.h"
#include "roles.h"
#include "store/results.h"

struct tables_input {
    const struct manifest *manifest;
    const struct plan_context *ctx; // ctx->cost may be NULL: no predictions
    const struct run_list *runs;
    const struct targets *targets; // n 0: no layout known yet
    double reference_ms;           // of the experiment, NAN without bursts
    struct arena *keep; // of what the runs have recorded; outlives them
};

/* One row of layouts.csv, also for the closing table. */
struct layout_row {
    const struct target *target;
    struct layout_figures figures;
    double pred_ms, lo_ms, hi_ms; // predicted, with its interval
    double step_error_pct;
    double pred_speedup, meas_speedup; // over the default layout
    double worst_pred_mem_bytes;
    const char *source; // "" when nothing was measured
};

/* `rows` holds targets->n. */
enum err tables_layout_rows(struct arena *a, const struct tables_input *in,
                            struct layout_row *rows, struct err_msg *msg);

/* Writes all files into `dir`. Its time grows with all runs, so it is not for
 * every run of many; of a run's recorded operations it reads each once, and
 * nothing but that stays in memory. */
enum err tables_write(const struct tables_input *in, const char *dir,
                      struct err_msg *msg);

#endif
