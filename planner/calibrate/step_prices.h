/*
 * step_prices: the unknowns of a fit from step times, and what they say of a
 * configuration: its prices. Seconds. What makes them is step_fit.
 */
#ifndef CALIBRATE_STEP_PRICES_H
#define CALIBRATE_STEP_PRICES_H

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
    bool tied;           // a free unit at its FLOPs' rate, a constant near 0:
                         // not told apart, or the unit came out at 0; used,
                         // where there is a prior
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

/* Lists the unknowns that rows and options ask for, in the order in which they
 * are told apart. ERR_MODEL when there are more than LSQ_MAX_COLS. */
enum err step_prices_list(struct step_fit *f, const struct step_rows *rows,
                          struct err_msg *msg);

/* The unknown, or NULL where there is none; `group` -1: of all. */
const struct step_column *step_prices_find(const struct step_fit *f,
                                           enum step_column_kind kind,
                                           int group, enum unit_kind unit);

/* Does the unknown have a part in this configuration's step? */
bool step_prices_is_of(const struct step_column *c, const struct observed *o);

/* Can the fit price that configuration: had its group rows? */
bool step_fit_covers(const struct step_fit *f, const struct observed *o);

/* Its prices; standard errors of the units' forwards unless `fwd_se` is NULL.
 */
void step_fit_prices(const struct step_fit *f, const struct observed *o,
                     struct observed_prices *out, double fwd_se[N_KINDS]);

/* What its step takes at the prices. */
enum err step_fit_step(const struct step_fit *f, struct observed *o,
                       double *step_s, struct err_msg *msg);

#endif
