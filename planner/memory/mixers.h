/*
 * mixers: bytes of layers that keep a state in place of scores, Mamba-2 (M) and
 * gated delta net (G), and of the indexer of sparse attention (D): what a
 * forward pass keeps of them for one micro-batch on one rank, and what stands
 * only while such a layer is in its backward pass.
 *
 * Mamba keeps what its fused kernel saves (mamba_split_conv1d_scan_combined of
 * mamba_ssm, called by core/ssm/mamba_mixer.py): the joint projection, the
 * scan's output, the gated output. Its backward makes the convolution's output
 * and the states at the ends of chunks of 128 tokens again. Gated delta net
 * keeps the inputs of its kernels (core/ssm/gated_delta_net/common.py and
 * flash-linear-attention's chunk_gated_delta_rule); states at the ends of
 * chunks of 64 tokens are made again. Mamba on one stage is held against
 * Megatron's own measurements (results/reference/memory.csv), the rest is not.
 */
#ifndef MEMORY_MIXERS_H
#define MEMORY_MIXERS_H

#include "model/model.h"

#include <stdint.h>

/* What the mixer of a layer M or G keeps, without the layer's input and what
 * the norm makes of it; 0 for other kinds. */
int64_t memory_mixer_bytes(const struct model *m, enum unit_kind symbol,
                           const struct memory_options *o);

/* What the indexer of a layer D keeps: its queries, keys and weights, and the
 * numbers of the keys that it picked. */
int64_t memory_indexer_bytes(const struct model *m,
                             const struct memory_options *o);

/* What stands only while one unit of the kind is in its backward pass: states
 * and convolution buffers, or the scores of an unfused attention
 * (memory_scores_bytes()); of a hybrid model's MTP the most of its symbols. */
int64_t memory_working_bytes(const struct model *m, enum unit_kind kind);

/* An upper bound of all of that for one layer, in doubles, which cannot
 * overflow. */
double memory_mixers_bound(const struct model *m);

#endif
