/*
 * outside: what replicas make of a step beyond the pipeline: the reduction of
 * gradients over them, as traffic that leaves a node, bytes and seconds.
 *
 * The ranks of a node share its way out. Tensor-parallel neighbours hold parts
 * of one layer, so that together they send it once; replicas on one node
 * reduce among themselves first (a fast link), and only their sum leaves. A
 * ring over n nodes moves 2 (n-1)/n times what is reduced: half of it to add
 * gradients up, half to hand the sums (or, with the distributed optimiser, the
 * new parameters) back. Experts are reduced over the replicas of the expert
 * ranks. Ranks lie in Megatron's order, tp-cp-ep-dp-pp (parallel_state.py).
 *
 * With --overlap-grad-reduce the first half moves beside the backwards of the
 * last micro-batch, with --overlap-param-gather the second half beside the
 * forwards of the first one: only what is longer than these shows.
 * Sized for thousands of layouts a second.
 */
#ifndef COST_OUTSIDE_H
#define COST_OUTSIDE_H

#include "cost.h"

/* Bytes that leave each node of pipeline rank `rank`, both halves, of nodes
 * with `gpus_per_node` cards; 0 where all replicas share a node, or where
 * gpus_per_node is 0: all is one node. */
double outside_dp_bytes(const struct model *m, const struct layout *l, int rank,
                        int gpus_per_node);

/* Seconds of the reduction that the step waits for: those of the rank that
 * ends last. 0 where the costs do not know it (cost->dp.s_per_byte 0). */
double outside_dp_s(const struct cost *c, const struct model *m,
                    const struct layout *l);

#endif
