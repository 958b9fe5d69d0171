/*
 * triangle: matrix products with a lower triangle: the scores of causal
 * attention and what is made of them. Half of the square and the diagonal is
 * computed, n(n+1)/2 pairs of rows, and counted as work. What lies above the
 * diagonal is neither read nor written.
 *
 * Sums run in a fixed order for each size. Sized for triangles of up to some
 * thousand rows, with rows of a head's width beside them.
 */
#ifndef TRAIN_TRIANGLE_H
#define TRAIN_TRIANGLE_H

#include "ops.h"

/* Elements of a triangle of n rows: n(n+1)/2. */
double triangle_pairs(int n);

/* c (n,n) = alpha * a b^T below and on the diagonal; a, b (n,k). */
void triangle_outer(struct ops *o, struct mat a, struct mat b, struct mat c,
                    real alpha);

/* c (n,k) = alpha * t b + beta * c, or with t^T; t (n,n) a lower triangle, b
 * (n,k). */
void triangle_times(struct ops *o, struct mat t, struct mat b,
                    struct gemm_out out);
void triangle_transposed_times(struct ops *o, struct mat t, struct mat b,
                               struct gemm_out out);

#endif
