/*
 * step_fit: prices of units and of the terms outside the pipeline from step
 * times alone, seconds. A step is the largest of many sums of the prices, a
 * sum for each path through the schedule: linear as long as one path stays
 * the longest. So the slopes along it make a system of equations, solved by
 * non-negative least squares on relative errors, and again with the slopes
 * found there until nothing moves.
 *
 * Rows come from one cluster, whose network and rates they share. Those of one
 * group share unit costs: all units cost in proportion to their FLOPs, but for
 * those that are free. A free unit has one rate (seconds an operation) for all
 * groups. An unknown enters only where the rows tell it from those before it;
 * what does not enter is tied to the FLOPs (units) or left out (terms), and
 * the note says so. Tied units keep a prior's width, so that the intervals of
 * all others count what the tie may be wrong by. Sized for some hundred rows and LSQ_MAX_COLS unknowns.
 */
#ifndef CALIBRATE_STEP_FIT_H
#define CALIBRATE_STEP_FIT_H

#include "cost/lsq.h"
#include "observed.h"

/* A measured step of a configuration. */
struct step_row {
    const char *id;
    struct observed *of; // repeated runs of one configuration share it
    double meas_s;
};

struct step_rows {
    const struct step_row *row;
    int n, n_groups; // groups are numbered from 0
};

struct step_fit_options {
    unsigned terms;     // bits 1 << enum observed_term
    bool free[N_KINDS]; // units with a rate of their own
    // relative deviation of free rates from the FLOPs': of all of them, or only
    // of those that the rows do not tell apart; 0: those are tied and no more
    double prior_rel;
    bool prior_of_all;
    const struct cost *timers; // unit costs with errors, of one group; or NULL
};

/* Relative scatter of a step that is assumed where the rows are too few to
 * show theirs. */
extern const double STEP_FIT_NOISE;

enum step_column_kind {
    STEP_COLUMN_UNIT, // base unit of a group, seconds
    STEP_COLUMN_FREE, // a unit's own rate, seconds an operation
    STEP_COLUMN_DP,
    STEP_COLUMN_OPTIMIZER,
    STEP_COLUMN_CONSTANT // of a group, seconds
};

/* An unknown. `se` is scaled so that 1.96 x se is half a 95% interval. */
struct step_column {
    enum step_column_kind kind;
    int group;           // -1: of all
    enum unit_kind unit; // of FREE
    bool asked, used;    // `asked`: there are rows that it has a part in
    bool tied;           // a free unit at its FLOPs' rate: not told apart, or
                         // it came out at 0; used, where there is a prior
    bool zero;           // it came out at 0
    double x, se;
};

struct step_fit {
    struct step_fit_options options;
    struct step_column column[LSQ_MAX_COLS];
    int n_columns;
    int rank, n_unknowns; // told apart by the rows, and asked for
    double condition;     // of the used ones, columns scaled to length 1
    int degrees_of_freedom;
    double mean_misfit, worst_misfit; // relative, absolute values
    // the last system: rows over all columns, without those of priors
    const double *design; // seconds a unit of the unknown
    const double *rest_s; // what no unknown explains (transfers)
    const char *note;     // what was tied or left out, or NULL
};

/* ERR_MODEL when no row has a group's units to price, or there are more
 * unknowns than LSQ_MAX_COLS. Owned by the arena. */
enum err step_fit_make(struct arena *a, const struct step_rows *rows,
                       const struct step_fit_options *options,
                       struct step_fit *out, struct err_msg *msg);

/* Can the fit price that configuration: had its group rows? */
bool step_fit_covers(const struct step_fit *f, const struct observed *o);

/* Its prices; standard errors of the units' forwards unless `fwd_se` is NULL.
 */
void step_fit_prices(const struct step_fit *f, const struct observed *o,
                     struct observed_prices *out, double fwd_se[N_KINDS]);

/* Mean relative error (absolute values) of the rows when each configuration in
 * turn is left out, along the fit's own paths; `n` is how many rows could be
 * left out so that their group still had others. NAN when none. */
struct step_left_out {
    double mean;
    int n;
};
enum err step_fit_leave_out(struct arena *a, const struct step_rows *rows,
                            const struct step_fit *f,
                            struct step_left_out *out, struct err_msg *msg);

#endif
