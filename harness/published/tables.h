/*
 * tables: what is predicted of all public datasets, as CSV files beside them,
 * from which REPORT.md and its figure are made:
 *
 *   predicted.csv  a row to be predicted: format, source, id, group, compare,
 *                  gpu, n_gpus, meas_step_s, pred_step_s (empty: not covered),
 *                  error_pct, why (not covered)
 *   errors.csv     a source, and all of them: format, source, licence,
 *                  n_fitted, n, n_covered, mean_pct, median_pct, p90_pct,
 *                  worst_pct, bias_pct, regret_pct, tau, n_choices,
 * left_out_pct terms.csv      a term and a source: format, term, is_default,
 * source, left_out_with_pct, left_out_without_pct, mean_with_pct,
 *                  mean_without_pct, help. left_out is the error of fitted
 *                  rows, each left out: what terms are chosen by; mean is of
 *                  predicted rows: what comes of it
 *
 * Each with the format PUBLISHED_TABLES. Seconds and percent.
 */
#ifndef PUBLISHED_TABLES_H
#define PUBLISHED_TABLES_H

#include "dataset.h"
#include "score.h"

#define PUBLISHED_TABLES "moe-bench/published-tables/1"

/* At most so many sources are told apart. */
enum { PUBLISHED_MAX_SOURCES = 64 };

/* Reads the rows of all folders of the list and predicts them with the terms.
 * Owned by the arena. */
enum err published_predict_all(struct arena *a,
                               const struct published_list *list,
                               unsigned terms, struct published *out,
                               struct err_msg *msg);

/* Writes the three files of the datasets below `root` into `to`. */
enum err published_tables_write(struct arena *a, const char *root,
                                const char *to, struct err_msg *msg);

#endif
