/*
 * pipeline: executes one rank's part of a schedule: forwards, backwards and
 * exchanges, in the order that the planner simulates. Records when each
 * forward and backward ran.
 */
#ifndef TRAIN_PIPELINE_H
#define TRAIN_PIPELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "comm.h"
#include "schedule/schedule.h"
#include "stage.h"

#include <stdint.h>

struct pipeline_op {
    enum op_kind kind; // OP_FORWARD or OP_BACKWARD
    int mb;
    double start_s, end_s; // from the step's start
};

struct pipeline {
    const struct comm *comm;
    struct stage *stage;
    const struct schedule *schedule;
    struct pipeline_op *ops;         // 2 a micro-batch, in the order of work
    int n_ops;                       // done in this step
    double fwd_s, bwd_s, exchange_s; // sums over this step
};

/* ERR_NOMEM. Owned by the arena; the parts must outlive it. */
enum err pipeline_new(struct arena *a, const struct comm *c, struct stage *s,
                      const struct schedule *schedule, struct pipeline *out);

/* One forward-backward pass over all micro-batches of a step that began at
 * `start_s` of the clock; `sample` is the step's first sequence. */
void pipeline_run(struct pipeline *p, double start_s, int64_t sample);

#endif
