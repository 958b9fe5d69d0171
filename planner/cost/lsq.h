/*
 * lsq: small dense least squares with the guards that a cost fit needs: rank
 * and condition, which unknowns the rows determine, non-negative solution,
 * standard errors. Sized for some hundred rows and at most LSQ_MAX_COLS
 * unknowns.
 */
#ifndef COST_LSQ_H
#define COST_LSQ_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

enum { LSQ_MAX_COLS = 96 };

/* Minimise |A x - b|; A is n_rows x n_cols, row by row, rows already divided
 * by their standard deviation up to a common factor. */
struct lsq_problem {
    int n_rows, n_cols;
    const double *a, *b;
};

struct lsq_rank {
    int rank;
    double condition;              // of A with columns scaled to length 1
    bool determined[LSQ_MAX_COLS]; // the rows fix this unknown
};

struct lsq_solution {
    double x[LSQ_MAX_COLS];
    double se[LSQ_MAX_COLS]; // standard errors; 0 at the bound x = 0
    double variance;         // residual variance, rss / degrees of freedom
    int degrees_of_freedom;  // rows - unknowns that are not at the bound
};

/* Singular values of the column-scaled A; unknowns outside its null space. */
enum err lsq_rank(struct arena *a, const struct lsq_problem *p,
                  struct lsq_rank *out, struct err_msg *msg);

/* Non-negative least squares (Lawson and Hanson 1974, chapter 23). With no
 * degree of freedom left `variance` and `se` are those of unit row errors. */
enum err lsq_nnls(struct arena *a, const struct lsq_problem *p,
                  struct lsq_solution *out, struct err_msg *msg);

/* Standard errors of all unknowns for rows with errors of 1, free of sign:
 * those that stand at the bound add to the others' errors, too. ERR_MODEL when
 * the rows do not determine them. */
enum err lsq_unit_errors(struct arena *a, const struct lsq_problem *p,
                         double se[LSQ_MAX_COLS], struct err_msg *msg);

/* Two-sided 95% quantile of Student's t for `dof` >= 1. */
double lsq_t95(int dof);

#endif
