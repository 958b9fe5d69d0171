/*
 * pipeline: executes one rank's part of a schedule: forwards, backwards and
 * exchanges, in the order that the planner simulates. Records when each
 * forward and backward ran.
 *
 * A combined operation (EP overlap) is a forward and a backward, one after the
 * other, whose outputs leave after both: there is no all-to-all here that
 * could be hidden, so nothing is saved. Blocking exchanges wait for their
 * messages; overlapped ones are started and waited for apart, while the rank
 * works on.
 */
#ifndef TRAIN_PIPELINE_H
#define TRAIN_PIPELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "comm.h"
#include "schedule/schedule.h"
#include "shard.h"

#include <stdint.h>

struct pipeline_op {
    bool forward;
    int stage, mb;
    double start_s, end_s; // from the step's start
};

struct pipeline_message; // started and not yet waited for

struct pipeline {
    const struct comm *comm;
    struct shard *shard;
    const struct schedule *schedule;
    struct pipeline_op *ops; // 2 a chunk and micro-batch, in the order of work
    int n_ops;               // done in this step
    struct pipeline_message *open;
    int n_open, n_room;
    double step_s;  // when the step began
    int64_t sample; // its first sequence
    // sums over this step; a combined operation counts as forward, as in
    // Megatron, whose backward timer never starts then
    double fwd_s, bwd_s, exchange_s;
};

/* ERR_NOMEM. Owned by the arena; the parts must outlive it. */
enum err pipeline_new(struct arena *a, const struct comm *c, struct shard *s,
                      const struct schedule *schedule, struct pipeline *out);

/* One forward-backward pass over all micro-batches of a step that began at
 * `start_s` of the clock; `sample` is the step's first sequence. */
void pipeline_run(struct pipeline *p, double start_s, int64_t sample);

#endif
