/*
 * static: bytes of a Megatron rank that stay from step to step: parameters,
 * gradients and optimiser state, from the sums of its units' weights. For
 * memory.c, and for searches that want a bound of them.
 */
#ifndef MEMORY_STATIC_H
#define MEMORY_STATIC_H

#include "memory.h"

/* Sets params, the bytes of parameters, gradients and optimiser state, and
 * static_bytes, their sum. `n_tables` of the sums are embeddings or output
 * layers, which Muon does not take. */
void memory_static(const struct memory_terms *t, const struct weight_sums *sums,
                   int n_tables, struct memory_rank *out);

/* A lower bound of the bytes between steps that one unit adds to a Megatron
 * rank, and that a copy of the embedding adds (`kind` N_KINDS): parameters,
 * gradients and, with Adam, optimiser state, without any padding. Sums of it
 * never exceed memory_rank()'s static bytes; 0 for moe-train. */
int64_t memory_unit_least(const struct memory_terms *t, int kind);

#endif
