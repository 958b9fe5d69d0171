/*
 * hybrid: memory of models whose layers are mixers or MLPs of their own, in the
 * order of a pattern (--hybrid-layer-pattern, or the older
 * --hybrid-override-pattern): M Mamba-2, * attention, E experts, - MLP; behind
 * "/" the layers of an MTP depth. On one pipeline stage, where a rank holds
 * all. Shapes are those of core/ssm/mamba_mixer.py, what it keeps those of the
 * fused kernel that it calls (mamba_split_conv1d_scan_combined of mamba_ssm):
 * the joint projection, the scan's output, the gated output. Sizes: a pattern
 * of some hundred letters.
 */
#ifndef MEMORY_HYBRID_H
#define MEMORY_HYBRID_H

#include "megatron/flags.h"
#include "memory.h"

/* Sorts of layers that a pattern may have. */
enum hybrid_layer {
    HYBRID_MAMBA,
    HYBRID_ATTENTION,
    HYBRID_EXPERTS,
    HYBRID_MLP,
    N_HYBRID_LAYERS
};

struct memory_hybrid {
    int n_main[N_HYBRID_LAYERS]; // layers of the decoder
    int n_each[N_HYBRID_LAYERS]; // of one MTP depth
    int n_depths;
    int64_t state_dim, head_dim, n_groups,
        n_heads; // of Mamba; heads 0: 2h wide
};

/* The pattern of the flags, NULL where there is none. */
const char *memory_hybrid_pattern(const struct megatron_flags *f);

/* Reads it and takes it out of the flags, which then describe a GPT model of
 * the same widths with as many layers and MTP depths. Returns why it is not
 * modelled, or NULL. A static text. */
const char *memory_hybrid_take(struct megatron_flags *f,
                               struct memory_hybrid *out);

/* Why the rest of that model is not modelled in a hybrid one, or NULL. What is
 * refused must not be given to memory_hybrid_rank(): it may overflow. */
const char *memory_hybrid_refusal(const struct model *m,
                                  const struct memory_hybrid *h);

/* The one rank, of the terms of that model. */
void memory_hybrid_rank(const struct memory_terms *t,
                        const struct memory_hybrid *h, struct memory_rank *out);

#endif
