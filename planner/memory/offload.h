/*
 * offload: what fine-grained activation offloading moves out of a chunk
 * (--fine-grained-activation-offloading, core/pipeline_parallel/
 * fine_grained_activation_offload.py): a group is one module of one layer; a
 * share of a chunk's groups goes, from the first on. Inputs are the bytes of
 * each group by kind, outputs bytes of a chunk and micro-batch. For chunks of
 * up to some hundred layers.
 */
#ifndef MEMORY_OFFLOAD_H
#define MEMORY_OFFLOAD_H

#include "memory.h"

struct memory_offload {
    int64_t away;  // of one micro-batch, on the CPU between its passes
    int64_t layer; // the most that one layer has of it
    int64_t back;  // the most that one layer takes when it is back
};

/* Of a chunk with `n_layers` decoder layers from `first` on and `n_mtp` MTP
 * layers behind them. */
struct memory_offload memory_offload(const struct memory_terms *t, int first,
                                     int n_layers, int n_mtp);

#endif
