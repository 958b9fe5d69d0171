/*
 * memory_order: which chunk a rank works on, and when: Megatron's 1F1B and
 * interleaved orders as far as memory needs them (no exchanges, no time).
 * Operations are computed one at a time; nothing is allocated.
 */
#ifndef SCHEDULE_MEMORY_ORDER_H
#define SCHEDULE_MEMORY_ORDER_H

#include <stdbool.h>

struct memory_order {
    int pp, vpp, rank;
    int n_mb;
    int group; // micro-batches a group of the interleaved order, >= 1
};

struct memory_op {
    bool forward;
    int chunk, mb;
};

/* Forwards before the first backward: min(P-1-r, M) for one chunk a rank,
 * min(2(P-1-r) + (V-1)N, M*V) interleaved (schedules.py). */
int memory_order_warmup(const struct memory_order *o);

/* Operations of a step (2*M*V), and operation i of them. */
int memory_order_size(const struct memory_order *o);
struct memory_op memory_order_at(const struct memory_order *o, int i);

#endif
