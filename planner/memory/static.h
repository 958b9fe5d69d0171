/*
 * static: bytes of a Megatron rank that stay from step to step: parameters,
 * gradients and optimiser state, from the sums of its units' weights. For
 * memory.c, and for searches that want a bound of them.
 */
#ifndef MEMORY_STATIC_H
#define MEMORY_STATIC_H

#include "memory.h"

/* Weights of a rank. */
struct memory_held {
    struct weight_sums sums;    // all
    struct weight_sums outside; // of these, outside of decoder layers
    int n_tables; // embeddings and output layers, which Muon does not take
};

/* Replicas over which the distributed optimiser divides dense and expert
 * state, and their instances. */
struct memory_groups {
    int64_t dense, expert;
};

/* Sets params, the bytes of parameters, gradients and optimiser state, and
 * static_bytes, their sum. */
void memory_static(const struct memory_terms *t, const struct memory_held *held,
                   struct memory_rank *out);

/* A lower bound of the bytes between steps that one unit adds to a Megatron
 * rank, and that a copy of the embedding adds (`kind` N_KINDS): parameters,
 * gradients and, with Adam, optimiser state, without any padding. Sums of it
 * never exceed memory_rank()'s static bytes; 0 for moe-train and FSDP. */
int64_t memory_unit_least(const struct memory_terms *t, int kind);

#endif
