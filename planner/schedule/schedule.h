/*
 * schedule: each rank's operations with their exchanges, without any time in
 * them. plan/graph gives them time; the trainer executes them; so the two
 * cannot drift apart. The order of the work comes from schedule/order; what is
 * added here is which message leaves and arrives when, as Megatron does it
 * (megatron/core/pipeline_parallel/schedules.py, combined_1f1b.py):
 *   blocking       every exchange is one batched group of sends and receives
 *                  that the rank waits for. One chunk a rank: 1F1B. More: one
 *                  group after every step, needs more than two ranks
 *   overlap        more than one chunk a rank; warm-up and cool-down as in
 *                  blocking; between them receives are posted one step ahead
 *                  and waited on when used, a forward's send is waited on at
 *                  once (its memory is given back), a backward's before the
 *                  next one is posted
 *   overlap-flush  the same with warm-up and cool-down overlapped too
 *   ideal, async   no exchanges in the list: transfers take no part of a rank
 *
 * How to execute a list: messages of one direction between two ranks leave and
 * arrive in the same order. OP_EXCHANGE posts its messages and waits for all;
 * OP_POST starts messages; OP_WAIT ends started ones. A combined operation is
 * a forward and a backward; the heads before it and the tails after it are the
 * parts of it that Megatron does apart, for timing: who does not split them
 * does all at OP_COMBINED, whose inputs have arrived by then.
 * Sized for P*V*M up to 2^24.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "base/arena.h"
#include "base/err.h"
#include "order.h"

#include <stdbool.h>

enum p2p_mode {
    P2P_IDEAL,
    P2P_ASYNC,
    P2P_BLOCKING,
    P2P_OVERLAP,
    P2P_OVERLAP_FLUSH,
    N_P2P_MODES
};

/* "ideal", "async", "blocking", "overlap", "overlap-flush". */
const char *p2p_mode_name(enum p2p_mode mode);

/* ERR_PARSE names the known modes. */
enum err p2p_mode_from_name(const char *name, enum p2p_mode *out,
                            struct err_msg *msg);

/* What Megatron does when nothing is said: overlap where it can, which is with
 * more than one chunk a rank. */
enum p2p_mode p2p_mode_default(int vpp);

enum op_kind {
    OP_FORWARD,
    OP_BACKWARD,
    OP_EXCHANGE,
    OP_COMBINED,      // layers of a forward and of a backward
    OP_HEAD_FORWARD,  // of a combined one: before its forward layers
    OP_HEAD_BACKWARD, // before its backward layers
    OP_TAILS,         // after the layers of both
    OP_POST,
    OP_WAIT,
    N_OP_KINDS
};

/* Messages of an exchange, as seen by the rank: forward ones carry hidden
 * states to the next rank, backward ones their gradients to the one before;
 * the last rank's next one is the first. */
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
    int chunk, mb;          // of a forward or backward, and of the forward of a
                            // combined operation; else mb is NO_MB
    int bwd_chunk, bwd_mb;  // of the backward of a combined operation
    bool aside;             // of a post or wait: on the communication stream,
                            // which computing does not wait for
    int chunks[N_MESSAGES]; // this rank's chunk whose output, input, or
                            // gradient of one of them, the message is
    int mbs[N_MESSAGES];    // micro-batch of each message, NO_MB where the
                            // group has no such message
};

struct rank_ops {
    const struct op *ops;
    int n_ops;
};

struct schedule {
    int pp, vpp, n_mb;
    struct order order;
    enum p2p_mode mode;           // which the lists are for
    const struct rank_ops *ranks; // pp of them
};

/* A schedule without lists, `ranks` NULL: for questions about the order, and
 * for the simulator, which makes what lists it needs. Errors as
 * schedule_build(). */
enum err schedule_outline(const struct order *order, enum p2p_mode mode,
                          struct schedule *out, struct err_msg *msg);

/* Forwards of all ranks in the largest simulation: 16 ranks, 2 chunks, 4096
 * micro-batches. */
enum { SCHEDULE_MAX_OPS = 1 << 17 };

/* The lists of an order for one mode, owned by the arena. ERR_RANGE as
 * order_check(), for more than SCHEDULE_MAX_OPS, and for a mode that Megatron
 * does not have: overlap with one chunk a rank, blocking with several chunks on
 * two ranks. */
enum err schedule_build(struct arena *a, const struct order *order,
                        enum p2p_mode mode, struct schedule *out,
                        struct err_msg *msg);

/* 1F1B for `pp` >= 1 ranks and `n_mb` >= 1 micro-batches, blocking: one chunk
 * a rank. As schedule_build(). */
enum err schedule_1f1b(struct arena *a, int pp, int n_mb, struct schedule *out,
                       struct err_msg *msg);

/* The rank at the other end of a message of `rank`. */
int schedule_peer(const struct schedule *s, int rank, enum message m);

/* The boundary that message `m` of `op` crosses: b when it goes between stages
 * b and b+1, stage v*P + r being chunk v of rank r. */
int schedule_boundary(const struct schedule *s, int rank, const struct op *op,
                      enum message m);

/* Largest number of chunks in flight on the rank: forward begun, backward not
 * ended. min(P-r, M) for 1F1B. */
int schedule_max_in_flight(const struct schedule *s, int rank);

/* Number of groups of messages that the rank starts. */
int schedule_n_exchanges(const struct schedule *s, int rank);

#endif
