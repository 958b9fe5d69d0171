/*
 * burst: a fixed product, timed beside each step. A shared machine's speed
 * drifts; the burst's time tells how fast it was just then. Its memory is not
 * part of the memory line.
 */
#ifndef TRAIN_BURST_H
#define TRAIN_BURST_H

#include "base/arena.h"
#include "base/err.h"
#include "comm.h"
#include "tensors.h"

struct burst {
    struct tensors memory;
    real *a, *b, *c;
    double *time_s; // [n] of this rank
    double *all_s;  // [world * n] on the last rank
    int n;          // bursts a step and rank; 0: none
};

/* ERR_NOMEM. The memory is freed by burst_free(). */
enum err burst_new(struct arena *a, const struct comm *c, int n,
                   struct burst *out, struct err_msg *msg);
void burst_free(struct burst *b);

/* Runs n bursts on every rank; the last rank gets the median of all in
 * milliseconds, others and n == 0 get -1. Collective. */
double burst_run_ms(struct burst *b, const struct comm *c);

#endif
