/*
 * price: what units cost, from one log and its one layout. Three ways, the
 * first that goes:
 *   timers  cost/fit on the run's per-rank timers, where one layout tells all
 *           kinds of units apart (m and L may stay one)
 *   prior   the same timers, and the FLOPs' ratios where they say nothing
 *   ratios  no timers: FLOPs' or a card's ratios, scaled to the step
 * The step outside the pipeline is what the timers leave of it. Seconds.
 *
 * A price is believed only where it tells the run's own step: `doubt` says why
 * not.
 */
#ifndef DOCTOR_PRICE_H
#define DOCTOR_PRICE_H

#include "calibrate/run_view.h"
#include "cost/card.h"
#include "plan/settings.h"

#define PRICE_WAY_TABLE(X)                                                     \
    X(PRICE_TIMERS, "timers",                                                  \
      "unit costs fitted to this run's per-rank timers")                       \
    X(PRICE_PRIOR, "timers-and-flops",                                         \
      "unit costs fitted to this run's per-rank timers, and to FLOPs, give "   \
      "or take a half, where one layout does not tell units apart")            \
    X(PRICE_FLOPS, "flops",                                                    \
      "units in the ratio of their FLOPs, give or take a half, scaled to the " \
      "step")                                                                  \
    X(PRICE_CARD, "roofline",                                                  \
      "units in the ratio that they have on the card named, give or take a "   \
      "half, scaled to the step")

enum price_way {
#define PRICE_ENUM(id, name, text) id,
    PRICE_WAY_TABLE(PRICE_ENUM)
#undef PRICE_ENUM
};

const char *price_way_name(enum price_way w);
const char *price_way_text(enum price_way w);

struct price_question {
    const struct model *model;
    const struct fit_run *run;
    const struct plan_settings *set;
    const struct card *card; // for ratios; NULL: FLOPs
    bool timers;             // the run has usable ones
    double meas_half_s;      // of the step's 95% interval
};

/* Costs whose standard errors are of what the way can be wrong by, and what a
 * prediction with them needs; the pointers of `ctx` are into this struct, which
 * is not to be copied. */
struct price {
    enum price_way way;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx;
    double pred_step_s, meas_step_s; // of the run's own layout
    double meas_half_s;              // of the measured one's 95% interval
    double misfit;                   // worst of a stage's timers
    const char *note;                // of the fit, or NULL
    const char *doubt;               // NULL: believed
};

/* ERR_MODEL or ERR_RANGE for what cannot be priced or simulated, with the
 * reason. Owned by the arena. */
enum err price_make(struct arena *a, const struct price_question *q,
                    struct price *out, struct err_msg *msg);

#endif
