/*
 * steps: timelines as they go into the page: when each forward and backward of
 * each stage and micro-batch began and how long it took.
 *
 * Written as {"pp", "n_mb", "fwd", "bwd"} with "iteration" of a recorded one;
 * fwd and bwd are start, duration, start, ... in whole microseconds, null where
 * nothing is known, by stage and micro-batch. Stage s = v*pp + r is chunk v of
 * rank r.
 */
#ifndef PAGE_STEPS_H
#define PAGE_STEPS_H

#include "sheet.h"

/* More operations than that nobody could tell apart on a page. */
enum { STEPS_MOST_OPERATIONS = 20000 };

/* A step: times in seconds, [stage * n_mb + mb], NAN where not known. */
struct steps_step {
    int pp, n_stages, n_mb;
    double iteration; // NAN: simulated
    const double *fwd_start_s, *fwd_s, *bwd_start_s, *bwd_s;
};

/* Adds it to the page; returns its place in the list of timelines. */
int steps_add(struct sheet *s, const struct steps_step *step);

#endif
