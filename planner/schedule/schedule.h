/*
 * schedule: Megatron's order of work on each rank, without any time in it.
 * sim gives it time; the trainer executes it; so the two cannot drift apart.
 *
 * 1F1B without interleaving (one chunk a rank): min(P-1-r, M) warm-up
 * forwards, then one forward and one backward in turn, then the remaining
 * backwards. Exchanges are the batched groups of sends and receives that
 * Megatron waits for (megatron/core/pipeline_parallel/schedules.py,
 * forward_backward_pipelining_without_interleaving).
 * Sized for P up to 1024 and M up to 65536 while P*M stays below 2^24.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "base/arena.h"
#include "base/err.h"

enum op_kind { OP_FORWARD, OP_BACKWARD, OP_EXCHANGE };

/* Messages of an exchange, as seen by the rank: forward ones carry hidden
 * states to rank+1, backward ones their gradients to rank-1. */
enum message {
    SEND_FORWARD,
    RECV_FORWARD,
    SEND_BACKWARD,
    RECV_BACKWARD,
    N_MESSAGES
};

enum { NO_MB = -1 };

struct op {
    enum op_kind kind;
    int chunk;           // of this rank, 0 for one chunk a rank
    int mb;              // micro-batch of a forward or backward, else NO_MB
    int mbs[N_MESSAGES]; // of an exchange: micro-batch of each message, NO_MB
                         // where the group has no such message
};

struct rank_ops {
    const struct op *ops;
    int n_ops;
};

struct schedule {
    int pp, vpp, n_mb;
    const struct rank_ops *ranks; // pp of them
};

/* 1F1B for `pp` >= 1 ranks and `n_mb` >= 1 micro-batches, owned by the arena;
 * ERR_RANGE beyond the sizes above. */
enum err schedule_1f1b(struct arena *a, int pp, int n_mb, struct schedule *out,
                       struct err_msg *msg);

/* Largest number of micro-batches in flight on the rank: forward begun,
 * backward not ended. min(P-r, M) for 1F1B. */
int schedule_max_in_flight(const struct schedule *s, int rank);

/* Number of exchanges that the rank takes part in. */
int schedule_n_exchanges(const struct schedule *s, int rank);

#endif
