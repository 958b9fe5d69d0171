/*
 * score: how far predictions of public step times are off, by source, and what
 * a planner that believed them would have lost. Errors are relative, signed
 * ones (predicted - measured) / measured.
 *
 * Regret and Kendall's tau are over rows of one `compare`: one model, batch and
 * number of GPUs, so that a planner could choose between them, also those that
 * prices were fitted to. Regret is of sets with a predicted row. The pick is
 * the row with the shortest predicted step; its regret is by how much its
 * measured step is longer than the shortest measured one. Tau counts pairs with
 * a predicted row that predictions order as measurements do, less those they do
 * not, over all such pairs.
 */
#ifndef PUBLISHED_SCORE_H
#define PUBLISHED_SCORE_H

#include "predict.h"

struct published_score {
    const char *source;              // NULL: all
    int n, n_covered;                // rows to be predicted
    double mean, median, p90, worst; // absolute values; NAN: none
    double bias;                     // mean of signed ones
    double regret;                   // the largest; NAN: nothing to choose
    double tau;
    int n_choices, n_pairs; // sets of rows to choose from, pairs in them
    double left_out;        // mean error of fitted rows, each left out
    int n_left_out, n_fitted;
};

/* The score of a source, or of all with NULL. ERR_NOMEM. */
enum err published_score(struct arena *a, const struct published *p,
                         const char *source, struct published_score *out,
                         struct err_msg *msg);

/* Sources in the order of their first rows, at most `most`; how many. */
int published_sources(const struct published *p, const char **out, int most);

#endif
