/*
 * validate: are predictions worse than they were? Predictions of every layout
 * of a dataset (results/reference/<experiment>) are made again, from the raw
 * logs of its profile runs, and compared with the measured step times of its
 * layouts.csv; replay and memory again from the run that is kept of each
 * layout. The figures of an earlier code are in results/baseline.csv.
 *
 * What of it is worse is another room's to say (regress/verdict.h).
 */
#ifndef REPORT_VALIDATE_H
#define REPORT_VALIDATE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* One layout; NAN where unknown. */
struct validate_row {
    const char *experiment, *role, *layout;
    double pred_ms, meas_ms;
    double step_error_pct, replay_error_pct;  // signed, of the measured
    double memory_error_pct;                  // the largest of any stage
    double memory_over_pct, memory_under_pct; // by direction, at least 0
    // what the experiment's pick (the shortest predicted step) loses to the
    // fastest measured: the same in all rows of an experiment
    double regret_pct;
    double base_step_error_pct, base_regret_pct;
    double base_memory_over_pct, base_memory_under_pct;
    bool in_baseline; // with the same measured step: else it is new
    bool wants_replay, wants_memory; // the dataset, or the baseline, knows them
};

/* A row of which only the step is known, as of runs of others; its names are
 * left to the caller. */
struct validate_row validate_row_of_step(double pred_ms, double meas_ms);

struct validate_rows {
    struct validate_row *row;
    int n;
};

/* Recomputes the dataset in `dir`. ERR_PARSE for one that is damaged. Owned by
 * the arena. */
enum err validate_dataset(struct arena *a, const char *dir,
                          struct validate_rows *out, struct err_msg *msg);

/* Reads a baseline file; a missing file has no rows. */
enum err validate_read_baseline(struct arena *a, const char *path,
                                struct validate_rows *out, struct err_msg *msg);

/* The row of that experiment, role and layout, or NULL: a layout that another
 * role measures is another row. */
const struct validate_row *validate_find(const struct validate_rows *in,
                                         const struct validate_row *like);

/* Is there a row of the experiment? */
bool validate_has(const struct validate_rows *in, const char *experiment);

/* Writes the rows of `now`, and those of `baseline` of other experiments. */
enum err validate_write_baseline(struct arena *a, const char *path,
                                 const struct validate_rows *now,
                                 const struct validate_rows *baseline,
                                 struct err_msg *msg);

#endif
