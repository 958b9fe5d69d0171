/*
 * fit: corrections of the memory model from the memory lines of profile
 * runs. Unknown are how much more (or less) than predicted each kind of unit
 * keeps, the loss head takes, and every rank holds. Least squares with the
 * analytic model as prior: an unknown that the runs say little about stays
 * where the model has it. The sum of squared errors over the runs is never
 * larger than without corrections, because no correction at all is among the
 * candidates and costs nothing.
 *
 * Sized for a handful of runs of up to some hundred ranks.
 */
#ifndef MEMORY_FIT_H
#define MEMORY_FIT_H

#include "cost/fit.h"
#include "memory.h"

/* One rank of one run. */
struct memory_fit_row {
    int run, rank;       // of the pipeline
    int64_t meas_bytes;  // max allocated, the largest of the rank's lines
    int64_t model_bytes; // without corrections
    int64_t pred_bytes;  // with them
};

struct memory_fit {
    const struct memory_fit_row *rows;
    int n_rows; // 0: the logs have no memory lines, nothing was fitted
    double model_error, fit_error; // root mean square, relative
};

/* What was run, and where. */
struct memory_fit_input {
    const struct model *model;
    const struct fit_run *runs;
    int n_runs;
    enum platform platform;
};

/* Fills the corrections of *rules (whose other fields say which trainer it
 * was) from all runs. A run of moe-train, whose tables are known exactly, is
 * compared but not corrected. ERR_PARSE when a line names a rank that the run
 * cannot have. Owned by the arena. */
enum err memory_fit(struct arena *a, const struct memory_fit_input *in,
                    struct memory_rules *rules, struct memory_fit *out,
                    struct err_msg *msg);

#endif
