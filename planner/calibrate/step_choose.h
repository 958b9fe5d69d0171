/*
 * step_choose: which unknowns a fit has, told from the rows that it is made of
 * and from no others. The terms of the options are in; the output layer gets a
 * rate of its own where leaving rows out speaks for it.
 */
#ifndef CALIBRATE_STEP_CHOOSE_H
#define CALIBRATE_STEP_CHOOSE_H

#include "step_leave_out.h"

/* How far a free rate of the output layer may lie from its FLOPs, relative
 * standard deviation: chosen by leaving rows out, over the public data. */
extern const double STEP_CHOOSE_PRIOR;

/* Part of the error with rows left out that a free rate must save. */
extern const double STEP_CHOOSE_GAIN;

/* A fit, and its error with rows left out. */
struct step_choice {
    struct step_fit fit;
    struct step_left_out left_out;
};

/* Fits with the terms, and again with a free output layer where OBSERVED_FREE
 * is among them; the better one by STEP_CHOOSE_GAIN counts. Errors as
 * step_fit_make(). */
enum err step_choose(struct arena *a, const struct step_rows *rows,
                     unsigned terms, struct step_choice *out,
                     struct err_msg *msg);

#endif
