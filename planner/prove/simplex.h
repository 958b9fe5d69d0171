/*
 * simplex: a small linear programme that grows row by row.
 *
 *   minimise theta over x[0..n), with
 *   theta >= c_k + g_k . x     for every row k (added as they are found)
 *   lo <= x <= hi,  least_i <= x[i] - x[i-1] <= most_i   (x[-1] = 0,
 *   x[n] = total, so n + 1 differences; difference i is of group i mod groups)
 *   group_least <= sum of a group's differences <= group_most
 *
 * Its dual is solved with the primal simplex method: new rows and changed
 * bounds leave the basis feasible, so every solve starts from the last one.
 * Floating point: what comes out is a suggestion (which rows to mix, and at
 * which x they meet), never a proof. Sized for n <= 128, some hundred rows.
 */
#ifndef PROVE_SIMPLEX_H
#define PROVE_SIMPLEX_H

#include "base/arena.h"

#include <stdbool.h>

struct simplex;

struct simplex_bounds {
    const double *lo, *hi;                  // [n]
    const double *least, *most;             // [n + 1]
    const double *group_least, *group_most; // [groups]
    double total;
};

enum simplex_end {
    SIMPLEX_OPTIMAL, // no row and no bound is violated
    SIMPLEX_PASSED,  // theta reached `stop_at`
    SIMPLEX_STUCK,   // iterations ran out
    SIMPLEX_RAY      // bounds contradict each other: the weights show how
};

/* A programme without rows; NULL: out of memory. */
struct simplex *simplex_new(struct arena *a, int n, int groups, int max_rows);

/* Adds a row and returns its index, or -1 when there is no room. */
int simplex_add(struct simplex *s, const double *g, double c);
int simplex_rows(const struct simplex *s);

/* Pivots made so far: a measure of work. */
long simplex_pivots(const struct simplex *s);

/* Drops the rows that are not in the basis, keeping at most about `keep` of
 * those that were used last; kept[new index] = old index. Returns the number
 * of rows now. */
int simplex_purge(struct simplex *s, int keep, int *kept);

/* Sets the bounds (copied). Call before the first solve, after the first row.
 */
void simplex_bound(struct simplex *s, const struct simplex_bounds *b);

/* Pivots until done; at least one row must be there. */
enum simplex_end simplex_solve(struct simplex *s, double stop_at);

/* After a solve: theta, x, and the row weights of the dual (summing to 1, zero
 * outside the basis; all zero after SIMPLEX_RAY). */
double simplex_theta(const struct simplex *s);
const double *simplex_x(const struct simplex *s);
void simplex_weights(const struct simplex *s, double *weight);

/* Weights of the bounds of the groups' sums: weight[g] > 0 of the upper, < 0 of
 * the lower bound. */
void simplex_group_weights(const struct simplex *s, double *weight);

#endif
