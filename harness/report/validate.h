/*
 * validate: are predictions worse than they were? Predictions of every layout
 * of a dataset (results/reference/<experiment>) are made again, from the raw
 * logs of its profile runs, and compared with the measured step times of its
 * layouts.csv; replay and memory again from the run that is kept of each
 * layout. The figures of an earlier code are in results/baseline.csv.
 *
 * An experiment is worse when
 *   - the mean absolute step error of its layouts is larger than the
 *     baseline's by more than VALIDATE_MARGIN_PCT percentage points (the
 *     computation is exact: any difference comes from the code), or
 *   - the replay error of any layout is above VALIDATE_REPLAY_PCT, or
 *   - the memory error of any stage is larger than the baseline's by more than
 *     VALIDATE_MARGIN_PCT, or
 *   - a layout of the baseline is not predicted any more, or
 *   - a figure is not known that must be: a step error of any layout, a replay
 *     or memory error where the dataset or the baseline has one; or there is no
 *     layout at all. No comparison passes on what is not known.
 */
#ifndef REPORT_VALIDATE_H
#define REPORT_VALIDATE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

#define VALIDATE_MARGIN_PCT 0.05
#define VALIDATE_REPLAY_PCT 0.5

/* One layout; NAN where unknown. */
struct validate_row {
    const char *experiment, *role, *layout;
    double pred_ms, meas_ms;
    double step_error_pct, replay_error_pct; // signed, of the measured
    double memory_error_pct;                 // the largest of any stage
    double base_step_error_pct, base_memory_error_pct;
    bool in_baseline; // with the same measured step: else it is new
    bool wants_replay, wants_memory; // the dataset, or the baseline, knows them
};

struct validate_rows {
    struct validate_row *row;
    int n;
};

/* An experiment's rows together; means of absolute values. */
struct validate_verdict {
    double step_error_pct, base_step_error_pct; // over rows of the baseline
    double replay_error_pct;                    // the largest
    double memory_error_pct, base_memory_error_pct;
    int n_new, n_lost;
    bool unknown; // some figure that must be known is not: also worse
    bool worse;
    const char *why; // "" or what is worse
};

/* Recomputes the dataset in `dir`. ERR_PARSE for one that is damaged. Owned by
 * the arena. */
enum err validate_dataset(struct arena *a, const char *dir,
                          struct validate_rows *out, struct err_msg *msg);

/* Reads a baseline file; a missing file has no rows. */
enum err validate_read_baseline(struct arena *a, const char *path,
                                struct validate_rows *out, struct err_msg *msg);

/* Fills the base_ fields of `now` and judges one experiment. */
enum err validate_judge(struct arena *a, struct validate_rows *now,
                        const struct validate_rows *baseline,
                        struct validate_verdict *out, struct err_msg *msg);

/* Writes the rows of `now`, and those of `baseline` of other experiments. */
enum err validate_write_baseline(struct arena *a, const char *path,
                                 const struct validate_rows *now,
                                 const struct validate_rows *baseline,
                                 struct err_msg *msg);

#endif
