/*
 * ops: the numeric kernels of the trainer. Matrices are row-major. Each kernel
 * adds what it did to `work`, in floating-point operations (or elements
 * copied); the count depends on shapes only, so that a clock driven by it is
 * the same for every input. Sums run in a fixed order: a kernel gives the same
 * bits for the same shapes and values wherever it runs.
 *
 * `real` is float; with REAL_DOUBLE double, for checks of gradients.
 * Sized for hundreds of tokens, widths of up to a few thousand.
 */
#ifndef TRAIN_OPS_H
#define TRAIN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

struct ops {
    double work; // since the caller last set it to 0
};

/* A matrix or a part of one: rows of `cols` elements, `ld` apart. */
struct mat {
    real *p;
    int rows, cols;
    int ld; // elements from one row to the next
};

/* A whole matrix, its rows one behind the other. */
struct mat mat_of(real *p, int rows, int cols);
/* Rows from `first` on; columns from `first` on. */
struct mat mat_rows(struct mat m, int first, int rows);
struct mat mat_cols(struct mat m, int first, int cols);

/* c = alpha * op(a) op(b) + beta * c, for a b, a b^T and a^T b. */
enum gemm_form { GEMM_NN, GEMM_NT, GEMM_TN };
struct gemm_out {
    struct mat c;
    real alpha, beta;
};
void ops_gemm(struct ops *o, enum gemm_form form, struct mat a, struct mat b,
              struct gemm_out out);

/* y (T,O) = x (T,C) w^T, w (O,C). Backward: dx = dy w (added to dx when `add`),
 * dw += dy^T x. */
void ops_linear(struct ops *o, struct mat x, struct mat w, struct mat y);
void ops_linear_dx(struct ops *o, struct mat dy, struct mat w, struct mat dx,
                   bool add);
void ops_linear_dw(struct ops *o, struct mat dy, struct mat x, struct mat dw);

/* y = x / rms(x) * w for each row; `inv` (T) keeps 1/rms. Backward adds to dx
 * and dw. y may be wider than x: its columns from `y.p` on are written. */
void ops_rmsnorm(struct ops *o, struct mat x, const real *w, struct mat y,
                 real *inv);
struct norm_back {
    struct mat x, dy, dx;
    const real *w, *inv;
    real *dw;
};
void ops_rmsnorm_back(struct ops *o, const struct norm_back *b);

/* a (N,F) = silu(gu[:, :F]) * gu[:, F:], gu (N,2F). Backward replaces gu by
 * its gradient. */
void ops_swiglu(struct ops *o, struct mat gu, struct mat a);
void ops_swiglu_back(struct ops *o, struct mat gu, struct mat da);

/* Softmax of the first `n` values of a row, the rest of `width` becomes 0. */
void ops_softmax_row(real *row, int n, int width);

/* Cross-entropy: replaces logits (T,V) by `scale` times the gradient of the
 * sum of losses, and returns that sum (unscaled). A label below 0 masks its
 * row, which has no loss and no gradient. */
double ops_cross_entropy(struct ops *o, struct mat logits, const int *labels,
                         real scale);

/* Rows of a table (V,H): x[t] = table[token[t]], and its gradient added to
 * rows of `dtable`, row[t] for x[t], in the order of t. */
void ops_embed(struct ops *o, struct mat table, const int *tokens,
               struct mat x);
void ops_embed_back(struct ops *o, struct mat dtable, const int *row,
                    struct mat dx);

/* y += x over n elements. */
void ops_add(struct ops *o, int64_t n, const real *x, real *y);

/* sum of a[i]*b[i] in a fixed order of sixteen partial sums. */
real ops_dot(int n, const real *a, const real *b);

/* Sum of squares in double, in a fixed order. */
double ops_square_sum(struct ops *o, int64_t n, const real *x);

/* One AdamW update of n weights (decoupled decay). `step` counts from 1. */
struct adamw {
    double lr, beta1, beta2, eps, decay;
    double grad_scale; // gradients are multiplied by it
    int64_t step;
};
struct adamw_state { // n elements each: weights, moments, gradients
    real *w, *m, *v;
    const real *g;
};
void ops_adamw(struct ops *o, const struct adamw *a, int64_t n,
               struct adamw_state s);

#endif
