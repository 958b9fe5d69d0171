/*
 * activations: bytes that the forward pass of one unit keeps, on one
 * rank, for the backward pass of one micro-batch; and what the loss keeps and
 * needs while its logits are alive.
 *
 * T = tokens of a micro-batch / CP; with sequence parallelism what lies
 * between the tensor-parallel regions is divided by r = TP, else r = 1.
 * Values are 2 bytes (bf16, fp16) or 4 (fp32). Terms follow Korthikanti et al.
 * 2022, "Reducing Activation Recomputation in Large Transformer Models",
 * section 4.1, changed for grouped queries, latent attention, routed experts
 * and the tensors that Transformer Engine's modules really save; they were
 * checked against Megatron-LM's own measurements
 * (results/reference/memory.csv).
 */
#ifndef MEMORY_ACTIVATIONS_H
#define MEMORY_ACTIVATIONS_H

#include "model/model.h"

#include <stdint.h>

/* One unit of the kind, for one micro-batch, with the model's recompute. L is
 * the final norm's input and output. */
int64_t memory_unit_activations(const struct model *m, enum unit_kind kind);

/* The same as if nothing were recomputed. */
int64_t memory_unit_activations_plain(const struct model *m,
                                      enum unit_kind kind);

/* What recompute brings back while a unit is in its backward pass. Recomputed
 * modules of both halves of a layer count at once: the measured run that has
 * some in both asks for it. A layer that is recomputed whole is all in
 * `mixer`. */
struct memory_recomputed {
    int64_t mixer, mlp;
};
struct memory_recomputed memory_unit_recomputed(const struct model *m,
                                                enum unit_kind kind);

/* Scores of one layer as an unfused attention makes them before the softmax,
 * or their gradient in its backward pass: alive only then. 0 where fused. */
int64_t memory_scores_bytes(const struct model *m);

/* Bytes of a unit and micro-batch that fine-grained offloading moves to the
 * CPU, by module in the order of the forward pass; 0 for what is not offloaded
 * or in tensors too small for it. Where tensors of a group differ in size, the
 * group is judged as one. */
void memory_unit_offloads(const struct model *m, enum unit_kind kind,
                          int64_t out[N_OFFLOAD]);

/* Bytes of a value that is not cast: 2, or 4 where all is fp32. */
int64_t memory_value_bytes(const struct memory_options *o);

/* Logits and what the loss makes of them, from the forward pass of L to the
 * end of its backward pass: bf16 logits and an fp32 copy in which softmax and
 * gradient are computed in place (6 bytes a logit); 10 with the fused loss; 6
 * with Transformer Engine's from mid 2026 on (before, it wrote gradients over
 * the logits: 2). Each
 * MTP depth, whose pass is over by then, adds its softmax (4), and up to core
 * 0.16 the last one its bf16 logits, too. All fp32: 4, 8
 * with either fused loss. */
int64_t memory_head_bytes(const struct model *m);

/* Gradients of logits that --defer-embedding-wgrad-compute keeps. */
int64_t memory_deferred_bytes(const struct model *m);

/* Hidden states of one micro-batch as they lie between layers (2*T*h/r). */
int64_t memory_hidden_bytes(const struct model *m);

#endif
