/*
 * order: which chunk of which micro-batch a rank works on, one operation after
 * the other: Megatron's order without exchanges and without time. Exchanges
 * (schedule), seconds (plan/graph), memory in flight and the trainer all come
 * from here, so that they cannot drift apart.
 *
 * Stage s = v*pp + r is chunk v of rank r. Forwards go through the chunks from
 * first to last, backwards from last to first; with more than one chunk a rank
 * micro-batches go in groups: a group passes a chunk before the next chunk's
 * turn (megatron/core/pipeline_parallel/schedules.py, get_schedule_table).
 * Nothing is allocated: every operation is computed when asked for, in a few
 * divisions. Sizes as in order_check().
 */
#ifndef ORDER_H
#define ORDER_H

#include "base/err.h"

#include <stdbool.h>

enum { ORDER_MAX_RANKS = 1024, ORDER_MAX_CHUNKS = 1024, ORDER_MAX_MB = 65536 };

/* What an order depends on. `group` is the number of micro-batches a group
 * (--microbatch-group-size-per-virtual-pipeline-stage; Megatron's default is
 * pp); it has no effect when vpp is 1. With `ep_overlap`
 * (--overlap-moe-expert-parallel-comm) a forward and a backward are one
 * operation once the warm-up, longer by one forward, is over. */
struct order {
    int pp, vpp, n_mb, group;
    bool ep_overlap;
};

enum order_kind { ORDER_FORWARD, ORDER_BACKWARD, ORDER_COMBINED };

/* One operation of a rank. A combined one has a forward and a backward, of
 * different micro-batches; -1 stands where there is none. */
struct order_op {
    enum order_kind kind;
    int fwd_chunk, fwd_mb;
    int bwd_chunk, bwd_mb;
};

struct model;

/* The order that a model's flags ask for: its ranks, chunks, micro-batches,
 * group and EP overlap. Not checked: more micro-batches than ORDER_MAX_MB stay
 * too many, so that order_check() refuses them. */
struct order order_of_model(const struct model *m);

/* ERR_RANGE for what Megatron refuses, and beyond the sizes above or 2^24
 * operations in all: the message says which numbers would do. With vpp > 1:
 * pp > 1, pp <= group <= n_mb, and n_mb mod group 0 or at least pp. EP overlap
 * with pp > 1 needs vpp > 1. */
enum err order_check(const struct order *o, struct err_msg *msg);

/* Forwards before the first operation with a backward: min(P-1-r, M) for one
 * chunk a rank, min(2(P-1-r) + (V-1)N, M*V) interleaved, one more (same cap)
 * with EP overlap. */
int order_warmup(const struct order *o, int rank);

/* Number of operations of a rank: 2*M*V, or M*V + warm-up with EP overlap. */
int order_size(const struct order *o, int rank);

/* Operation `i` of a rank, 0 <= i < order_size(). */
struct order_op order_at(const struct order *o, int rank, int i);

/* The k-th forward, and the k-th backward, of every rank: 0 <= k < M*V. Ranks
 * differ only in how the two are woven together. */
struct order_op order_forward(const struct order *o, int k);
struct order_op order_backward(const struct order *o, int k);

/* Where a forward, or a backward, of this rank's `chunk` and micro-batch `mb`
 * stands among the forwards or backwards: the inverse of the two above. */
int order_forward_index(const struct order *o, int chunk, int mb);
int order_backward_index(const struct order *o, int chunk, int mb);

/* Most chunks in flight on the rank: forward begun, backward not ended. */
int order_max_in_flight(const struct order *o, int rank);

/* Operations to walk for a peak of anything that forwards add and backwards
 * take off: the warm-up and a group, after which the order repeats itself; at
 * most order_size(). */
int order_walk_size(const struct order *o, int rank);

/* Peak of the sum of `weight[chunk]` over the chunks in flight, weights >= 0.
 * In a combined operation both its chunks are in flight. */
double order_peak(const struct order *o, int rank, const double *weight);

/* Most in flight of each chunk by itself, into most[vpp]. */
void order_max_in_flight_chunks(const struct order *o, int rank, int *most);

/* The same peak where activations come and go by layers: the chunk's
 * `weight[chunk]` is that of `n_layers[chunk]` equal layers, and in a combined
 * operation the forward's layer k joins before the backward's layer L-1-k
 * leaves; what is left over of the backward leaves before the rest of the
 * forward joins (Megatron's model_chunk_schedule_plan.py). A chunk without
 * layers comes at the beginning and leaves at the end. */
double order_peak_layers(const struct order *o, int rank, const double *weight,
                         const int *n_layers);

#endif
