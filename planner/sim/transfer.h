/*
 * transfer: what one message between two pipeline stages holds. Every rank of
 * a stage sends to the rank in the same place of the next stage, all at once;
 * bytes here are those of one such message, one micro-batch, one direction
 * (gradients by hidden states are as large as the hidden states).
 *
 * Source: get_tensor_shapes() in Megatron-LM's pipeline_parallel/schedules.py
 * (core 0.13 to 0.17): shape (S', micro-batch, hidden), where S' is the
 * sequence length, divided by the context-parallel size always, and by the
 * tensor-parallel size only with sequence parallelism. Without it every
 * tensor-parallel rank holds, and sends, the same whole hidden state.
 *
 * Which way it goes: the pipeline is outermost in Megatron's order of ranks
 * (tp-cp-ep-dp-pp, parallel_state.py), so that the W = world/PP ranks of
 * pipeline rank r are r*W .. r*W+W-1, and node n has ranks n*G .. n*G+G-1.
 */
#ifndef SIM_TRANSFER_H
#define SIM_TRANSFER_H

#include "model/model.h"

#include <stdbool.h>

/* Bytes of one message with `n_states` hidden states of a micro-batch:
 *
 *   n_states * micro_batch * (seq_tokens / CP / (SP ? TP : 1)) * hidden
 *            * value_bytes
 *
 * `value_bytes` is 2 for Megatron's bf16 and 4 for moe-train. `n_states` is 1;
 * behind MTP on a stage of its own it is 1 + the number of MTP layers. */
double transfer_bytes(const struct model *m, int value_bytes, int n_states);

/* Do messages from pipeline rank `rank` (of `pp`) to the next one, the last
 * one's next being the first, pass between nodes? True when any of its ranks
 * and its peer lie on different nodes: the slowest of them decides. False when
 * gpus_per_node is 0: all is one node. */
bool transfer_between_nodes(const struct parallel *par, int pp,
                            int gpus_per_node, int rank);

#endif
