/*
 * step_leave_out: how well a fit from step times predicts configurations that
 * it has not seen, from its own rows: what terms are chosen by.
 */
#ifndef CALIBRATE_STEP_LEAVE_OUT_H
#define CALIBRATE_STEP_LEAVE_OUT_H

#include "step_fit.h"

/* Mean relative error (absolute values) of the rows when each configuration in
 * turn is left out, along the fit's own paths; `n` is how many rows could be
 * left out so that their group still had others. NAN when none. */
struct step_left_out {
    double mean;
    int n;
};
enum err step_fit_leave_out(struct arena *a, const struct step_rows *rows,
                            const struct step_fit *f, struct step_left_out *out,
                            struct err_msg *msg);

#endif
