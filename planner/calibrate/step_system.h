/*
 * step_system: the linear system of a fit from step times: slopes of each row's
 * step along its longest path, which unknowns the rows tell apart, and the
 * non-negative least squares. For step_fit and step_leave_out.
 */
#ifndef CALIBRATE_STEP_SYSTEM_H
#define CALIBRATE_STEP_SYSTEM_H

#include "step_prices.h"

/* What one fit works on. `design` has rows->n rows over all columns of f: a
 * column's slope, seconds a unit of the unknown; rest_s what no unknown
 * explains. All owned by the arena. */
struct step_work {
    struct arena *arena;
    const struct step_rows *rows;
    struct step_fit *f;
    double *design, *rest_s;
    double scale[LSQ_MAX_COLS]; // of each price: the first guess
    const bool *skip;           // rows left out, or NULL
};

/* Rows over the used columns, divided by their errors; those of priors and
 * timers behind the first n_measured. */
struct step_system {
    double *a, *b;
    int n_rows, n_cols, n_measured;
    int at[LSQ_MAX_COLS]; // of each used column
};

/* Fills design and rest_s with slopes at the prices of w->f. */
enum err step_system_linearise(struct step_work *w, struct err_msg *msg);

/* Takes the columns in their order, each if the rows show something new; the
 * others are left out or tied. False when out of memory. */
bool step_system_choose(struct step_work *w);

/* The system of the used columns. False when out of memory. */
bool step_system_make(const struct step_work *w, struct step_system *out);

/* Solves it: prices of the used columns into w->f, the others 0. */
enum err step_system_solve(struct step_work *w, struct lsq_solution *sol,
                           struct err_msg *msg);

#endif
