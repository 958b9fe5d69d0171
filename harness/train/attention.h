/*
 * attention: causal self-attention with grouped K/V heads and rotary
 * positions, on the joint projection qkv (T, (H+2G)*D) of B sequences of S
 * tokens (T = B*S): H query heads, then G key heads, then G value heads.
 * A token meets itself and those before it: S(S+1)/2 pairs a head are computed.
 * Sized for sequences of up to some thousand tokens: probabilities are kept.
 */
#ifndef TRAIN_ATTENTION_H
#define TRAIN_ATTENTION_H

#include "ops.h"

struct attention {
    int n_seq, seq;             // B, S
    int n_heads, n_groups, dim; // H, G, D
    const real *cosine, *sine;  // (S, D/2)
};

/* Elements of the probabilities: B*H*S*S, of which those of later tokens are
 * never used. */
int64_t attention_probs_count(const struct attention *a);

/* Fills the tables (S, D/2) of rotary positions, base 10000. */
void attention_fill_rotary(const struct attention *a, real *cosine, real *sine);

/* Rotates queries and keys in place, then out (T, H*D); `probs` is kept for
 * the backward pass. */
void attention_forward(const struct attention *a, struct ops *o, struct mat qkv,
                       real *probs, struct mat out);

/* dqkv from dout, with the rotated qkv and probs of the forward pass;
 * `scores` is scratch for S*S elements. */
struct attention_back {
    struct mat qkv, dqkv, dout;
    real *probs, *scores;
};
void attention_backward(const struct attention *a, struct ops *o,
                        const struct attention_back *b);

#endif
