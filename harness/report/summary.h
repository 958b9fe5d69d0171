/*
 * summary: what the layouts of one experiment say together, from its CSV
 * files: how large the errors are and where they come from, how many intervals
 * meet, how far single runs scatter, how the pick stands among the measured;
 * and whether the bounds of a manifest's `accept` hold.
 *
 * A layout that two roles share through the same runs counts once. Errors are
 * absolute values in percent; NAN where nothing is known.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"

#include <stdbool.h>
#include <stdio.h>

/* Where the step errors come from, by size: the replay error is what the
 * schedule model adds, the noise what measuring adds. */
enum summary_cause { CAUSE_UNKNOWN, CAUSE_SCHEDULE, CAUSE_NOISE, CAUSE_COSTS };

struct summary {
    int n_layouts; // measured and predicted
    double mean_step_error_pct, max_step_error_pct;
    const char *max_step_role;
    double mean_replay_error_pct, max_replay_error_pct;
    double max_memory_error_pct;
    int n_intervals, n_meeting; // layouts with intervals of some width, and
                                // those whose measured meets the predicted one
    double noise_pct; // standard deviation of single runs of one layout, pooled
                      // over layouts (round 1 and up), of its mean
    int n_noise_runs, n_noise_layouts;
    double pick_step_error_pct, pick_replay_error_pct, pick_speedup;
    const char *best_role;     // the fastest measured
    double pick_over_best_pct; // by how much the pick is slower than that
    bool pick_meets_best;      // their measured intervals overlap
    enum summary_cause cause;
};

/* Reads layouts.csv, runs.csv and stages.csv of `dir`. ERR_PARSE when one is
 * missing or lacks a column. Strings are owned by the arena. */
enum err summary_read(struct arena *a, const char *dir, struct summary *out,
                      struct err_msg *msg);

/* Some sentences, a line each. */
void summary_print(const struct summary *s, FILE *out);

/* Prints a line for each bound that is given; false when one is missed, also
 * for want of a figure. */
bool summary_accept(const struct summary *s, const struct manifest_accept *x,
                    FILE *out);

#endif
