/*
 * work: what a unit does for one micro-batch on one of the ranks that share
 * it, forward and backward, before any rate is put to it: matrix products with
 * the bytes that they touch, bytes moved by everything else, bytes sent to
 * other cards, kernels started. From the table of its weights (model/weights)
 * and the flags that choose kernels (model/memory_options).
 *
 * What is counted, a token batch of T = micro_batch * seq / CP:
 * - products: forward, and backward for input and weights, the latter adding
 *   to a gradient in fp32; experts by the rows routed to them, all experts of
 *   the rank read; a product with a width that is no multiple of 64 is `odd`;
 * - attention by its scores, causal halved where it is fused, with the scores
 *   written and read where it is not;
 * - norms, residuals, activation, dispatch and permutation of tokens;
 * - logits, their fp32 copy and gradient: about 40 bytes a logit forward and
 *   18 backward through the loss of core, 12 and 6 where it is fused;
 * - the gradient of the whole token table for every look-up: E makes one, m
 *   another: 12 bytes an element (zeroed and written in bf16, read, added to
 *   fp32);
 * - tensor-parallel sums, all-to-all of experts;
 * - what recompute runs again, as part of the backward.
 * A layer of a GPT model is the sum of its halves, attention and MLP or
 * experts, which are units of their own in a hybrid model; Mamba and gated
 * delta net have a scan in place of scores, about 8 passes over its width
 * forward. Small things stand for their order of size: the numbers of kernels
 * are counted in Megatron's modules to a handful.
 */
#ifndef COST_WORK_H
#define COST_WORK_H

#include "model/model.h"
#include "model/weights.h"

#include <stdbool.h>

/* A matrix product: takes its FLOPs or its bytes, whichever is longer. */
struct work_product {
    double flops, bytes;
    bool fp8;    // at the rate of FP8
    bool expert; // of grouped experts
    bool odd;    // a width that tiles do not divide
};

/* Three in a backward for each product of the largest unit, and its scores. */
enum { WORK_MAX_PRODUCTS = 3 * WEIGHTS_MAX + 3 };

struct work_pass {
    struct work_product product[WORK_MAX_PRODUCTS];
    int n_products;
    double moved_bytes;  // by kernels that do little else
    double sent_bytes;   // to ranks of tensor parallelism
    double routed_bytes; // to ranks of expert parallelism; 0 where EP
                         // overlap hides them
    double n_kernels;    // started one by one; 0 within a CUDA graph
};

struct work {
    struct work_pass forward, backward;
};

/* Work of one unit of the kind; all zero for a kind that the model lacks. */
void work_of_unit(const struct model *m, enum unit_kind kind, struct work *out);

#endif
