/*
 * fsdp: bytes that Megatron-FSDP keeps between steps on a rank: what its
 * sharding strategy divides over the replicas, and what stays gathered. Inputs
 * are sums of weights on the rank, outputs bytes. Buffers are those of version
 * 1 (core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py): model
 * weights, main weights, gradients; their padding to whole rows is left out.
 * Some nanoseconds a rank.
 */
#ifndef MEMORY_FSDP_H
#define MEMORY_FSDP_H

#include "static.h"

/* Sets the bytes of parameters, gradients and optimiser state, in their sizes
 * over `dense` and `expert` replicas. */
void memory_fsdp(const struct memory_options *o, const struct memory_held *held,
                 const struct memory_groups *g, struct memory_rank *out);

#endif
