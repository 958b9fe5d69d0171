/*
 * weights: parameters of a unit as one rank of its stage holds them,
 * added up by what decides their bytes: what the distributed optimiser divides
 * by which group, what Muon takes, what FP8 casts. The weights themselves are
 * the table in model/weights.
 */
#ifndef MEMORY_WEIGHTS_H
#define MEMORY_WEIGHTS_H

#include "model/weights.h"

#include <stdint.h>

/* Parameters in the rows of a unit, by what decides their bytes. */
struct weight_sums {
    int64_t dense, expert;               // all
    int64_t dense_matrix, expert_matrix; // of these, Muon's
    int64_t linear, expert_linear;       // of these, cast to FP8: all; experts'
    // the same with every weight's start at a multiple of 64 elements, as the
    // distributed optimiser's buffers are filled
    int64_t dense_padded, expert_padded;
    int64_t n_dense; // weights, not parameters
};

/* Adds one row; a buffer has no bytes here and is passed over. */
void memory_add_weight(struct weight_sums *sums, const struct weight *w);

/* Adds `n` times *s; n may be negative. */
void memory_add_sums(struct weight_sums *to, const struct weight_sums *s,
                     int n);

/* All of one unit, on one rank of m->par. */
struct weight_sums memory_unit_sums(const struct model *m, enum unit_kind kind);

#endif
