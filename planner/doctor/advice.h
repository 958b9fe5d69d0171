/*
 * advice: which layout to paste in place of the run's own, what it is predicted
 * to gain and how sure that is, and whether it fits. A gain is the part of the
 * measured step that goes; its 95% interval is made of parts that are kept
 * apart, so that whoever reads it sees what would narrow it. A layout is only
 * advised where the whole interval is a gain.
 */
#ifndef DOCTOR_ADVICE_H
#define DOCTOR_ADVICE_H

#include "price.h"

/* identifier, name, what the part of the interval is */
#define ADVICE_PART_TABLE(X)                                                   \
    X(ADVICE_UNITS, "units", "what units cost")                                \
    X(ADVICE_SCATTER, "scatter", "the scatter of this run's steps")            \
    X(ADVICE_PLANNER, "planner",                                               \
      "the planner's own error over layouts that were run (2.3% of a step)")   \
    X(ADVICE_OUTSIDE, "outside",                                               \
      "the part of a step outside of the pipeline, taken as up to 30% where "  \
      "no timers tell it")

enum advice_part {
#define ADVICE_PART_ENUM(id, name, text) id,
    ADVICE_PART_TABLE(ADVICE_PART_ENUM)
#undef ADVICE_PART_ENUM
        N_ADVICE_PARTS
};

const char *advice_part_name(enum advice_part p);
const char *advice_part_text(enum advice_part p);

enum advice_verdict {
    ADVICE_NONE,   // the log cannot carry one: `why`
    ADVICE_KEEP,   // no layout is faster by more than a tie
    ADVICE_UNSURE, // one may be, but the interval holds 0
    ADVICE_PASTE
};
const char *advice_verdict_name(enum advice_verdict v);

enum advice_fit { ADVICE_FIT_UNKNOWN, ADVICE_FIT_YES, ADVICE_FIT_TIGHT };

struct advice_memory {
    enum advice_fit fits;
    const char *why;
    int64_t pick_bytes; // largest predicted peak of a rank, 0: not predicted
    int64_t own_bytes;  // largest that the log has, 0: it has none
    double error;       // of the prediction for the run's own, relative; NAN
};

struct advice {
    enum advice_verdict verdict;
    const char *why; // of ADVICE_NONE
    struct plan own, pick;
    const char *searched, *proof;
    double gap; // no layout is faster than the pick by more, relative
    double gain, gain_lo, gain_hi;                   // of the step, relative
    double step_s, step_lo_s, step_hi_s;             // of the pick
    double down[N_ADVICE_PARTS], up[N_ADVICE_PARTS]; // half widths, of gains
    struct advice_memory memory;
};

/* Searches layouts for the pipeline and virtual size of the run; the price's
 * costs get the memory corrections that the run's own lines tell. hbm_bytes 0:
 * no limit was stated. What cannot be searched is ADVICE_NONE. Owned by the
 * arena; ERR_NOMEM is the only error. */
enum err advice_make(struct arena *a, const struct price_question *q,
                     struct price *p, double hbm_bytes, struct advice *out);

#endif
