/*
 * checks: what is asked of step times before they are given away, and again by
 * a reviewer from the files alone: enough iterations, little scatter, the unit
 * of typed times, a rate that the hardware can have, nothing twice, nothing
 * picked. A check answers yes, doubt (told, and kept with the data) or no.
 *
 * Rates are FLOP/s by the rule of doctor/rate, against a card's dense peak.
 */
#ifndef CONTRIBUTE_CHECKS_H
#define CONTRIBUTE_CHECKS_H

#include "contribution.h"

/* identifier, name in manifests, what is asked */
#define CHECK_TABLE(X)                                                         \
    X(CHECK_LAYOUTS, "layouts", "Megatron takes every layout")                 \
    X(CHECK_ITERATIONS, "iterations", "enough iterations count")               \
    X(CHECK_SPREAD, "spread", "steps of a run are alike")                      \
    X(CHECK_UNITS, "units", "times are in the unit they are said to be")       \
    X(CHECK_RATE, "rate", "the card can be that fast")                         \
    X(CHECK_DUPLICATES, "duplicates", "no run is there twice")                 \
    X(CHECK_SERIES, "series", "all runs of the series are there")              \
    X(CHECK_RUN, "run", "nothing else is wrong with a run")

enum check_id {
#define CHECK_ENUM(id, name, help) id,
    CHECK_TABLE(CHECK_ENUM)
#undef CHECK_ENUM
        N_CHECKS
};

enum check_answer { CHECK_YES, CHECK_DOUBT, CHECK_NO, N_CHECK_ANSWERS };

/* Each check with the worst that was found and a line on it. */
struct checks {
    enum check_answer answer[N_CHECKS];
    const char *text[N_CHECKS];
    double mfu_lo, mfu_hi; // over runs; NAN: no card's peak is known
};

/* Names as in manifest.json ("units", "yes"); static texts. */
const char *check_name(enum check_id id);
const char *check_answer_name(enum check_answer a);

/* Bounds, relative where no unit is named. */
extern const double CHECK_SPREAD_DOUBT, CHECK_SPREAD_NO; // half of q75 - q25
extern const double CHECK_MFU_DOUBT_LO, CHECK_MFU_DOUBT_HI;
enum { CHECK_FEWEST = 5, CHECK_FEW = 10 }; // iterations
enum { CHECK_FEWEST_MEANS = 3 };           // where a line is the mean of some

/* Asks all; texts are owned by the contribution's arena. `others` are folders
 * of contributed datasets to look for the same runs in, NULL at the end, or
 * NULL; the dataset of the contribution's own name is passed over. ERR_NOMEM.
 */
enum err checks_ask(struct contribution *c, const char *const *others,
                    struct checks *out, struct err_msg *msg);

/* True unless one answers no. */
bool checks_pass(const struct checks *k);

#endif
