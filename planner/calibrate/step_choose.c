#include "step_choose.h"

#include <math.h>

const double STEP_CHOOSE_PRIOR = 0.5;
const double STEP_CHOOSE_GAIN = 0.05;

static const double STEP_CHOOSE_LEAST = 1e-4; // less is no error to speak of

static enum err choose_try(struct arena *a, const struct step_rows *rows,
                           const struct step_fit_options *options,
                           struct step_choice *out, struct err_msg *msg)
{
    const enum err e = step_fit_make(a, rows, options, &out->fit, msg);
    return e == ERR_OK
               ? step_fit_leave_out(a, rows, &out->fit, &out->left_out, msg)
               : e;
}

/* The loss with a price of its own only where rows that were left out are told
 * clearly better by it: with few rows a freed price follows their noise. */
enum err step_choose(struct arena *a, const struct step_rows *rows,
                     unsigned terms, struct step_choice *out,
                     struct err_msg *msg)
{
    struct step_fit_options options = {.terms = terms};
    struct step_choice freed;
    enum err e = choose_try(a, rows, &options, out, msg);
    const bool may =
        terms >> OBSERVED_FREE & 1U && terms >> OBSERVED_OUTPUT & 1U;
    if (e != ERR_OK || !may || out->left_out.n == 0 ||
        out->left_out.mean < STEP_CHOOSE_LEAST)
        return e;
    options.free[KIND_L] = true;
    options.prior_rel = STEP_CHOOSE_PRIOR;
    options.prior_of_all = true;
    e = choose_try(a, rows, &options, &freed, msg);
    if (e == ERR_OK && freed.left_out.n == out->left_out.n &&
        freed.left_out.mean < (1 - STEP_CHOOSE_GAIN) * out->left_out.mean)
        *out = freed;
    return e;
}
