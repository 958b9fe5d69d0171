/*
 * memory_weights: the weights of one unit as one rank of its stage holds them:
 * shapes after tensor and expert parallelism. From these rows come parameter
 * counts, what the distributed optimiser divides by which group, the matrices
 * that Muon takes, the linear weights that FP8 casts, and the shapes of the
 * buffers that fused gradient accumulation keeps.
 *
 * Shapes as in megatron/core/transformer (attention.py,
 * multi_latent_attention.py, mlp.py, moe/experts.py, moe/router.py,
 * multi_token_prediction.py) and models/gpt/gpt_model.py.
 */
#ifndef MEMORY_WEIGHTS_H
#define MEMORY_WEIGHTS_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct weight {
    int64_t rows, cols; // cols 1: a vector
    int64_t count;      // how many of it
    bool expert;        // divided over expert ranks
    bool matrix;        // two-dimensional and not an embedding: Muon's
    bool linear;        // of a linear layer: FP8 casts, fused gradients
};

enum { MEMORY_MAX_WEIGHTS = 32 };

/* Weights of one unit of the kind; returns how many rows were written. L holds
 * the final norm and, unless tied, the output layer; copies of the embedding
 * are the stage's (memory_embedding_copies). */
int memory_unit_weights(const struct model *m, enum unit_kind kind,
                        struct weight rows[MEMORY_MAX_WEIGHTS]);

/* The embedding table of one rank. */
struct weight memory_embedding(const struct model *m);

/* Parameters in the rows of a unit, by what decides their bytes. */
struct weight_sums {
    int64_t dense, expert;               // all
    int64_t dense_matrix, expert_matrix; // of these, Muon's
    int64_t linear;                      // of these, cast to FP8
    // the same with every weight's start at a multiple of 64 elements, as the
    // distributed optimiser's buffers are filled
    int64_t dense_padded, expert_padded;
    int64_t n_dense; // weights, not parameters
};

void memory_add_weight(struct weight_sums *sums, const struct weight *w);
struct weight_sums memory_unit_sums(const struct model *m, enum unit_kind kind);

#endif
