/*
 * checkpoint: which checkpoints a hybrid pattern can follow. A GPT checkpoint
 * is read into a hybrid model while it loads, layer by layer, since core 0.19
 * (core/dist_checkpointing/gpt_checkpoint_interop.py,
 * gpt_compatible_layer_maps()); a checkpoint of a hybrid model goes on under
 * any cuts of the same symbols, because layers are stored under their number
 * in the whole pattern (hybrid_block.py sharded_state_dict()).
 */
#ifndef PATTERN_CHECKPOINT_H
#define PATTERN_CHECKPOINT_H

#include "pattern.h"

/* identifier, why a GPT checkpoint does not load; in Megatron's order. */
#define CHECKPOINT_TABLE(X)                                                    \
    X(CHECKPOINT_LOADS, "a GPT checkpoint loads into this pattern")            \
    X(CHECKPOINT_MTP, "MTP has no weights to come from")                       \
    X(CHECKPOINT_SYMBOLS,                                                      \
      "layers other than * - E M have weights of another form")                \
    X(CHECKPOINT_MIXED, "dense and MoE layers do not mix")                     \
    X(CHECKPOINT_COUNTS, "there must be as many * as - or E, and one at "      \
                         "least")

enum checkpoint_reason {
#define CHECKPOINT_ENUM(name, text) name,
    CHECKPOINT_TABLE(CHECKPOINT_ENUM)
#undef CHECKPOINT_ENUM
};

/* The reason in words, a static text. */
const char *checkpoint_text(enum checkpoint_reason r);

/* Whether a GPT checkpoint of as many layers as the pattern has * loads into
 * it, M keeping its fresh weights; else the first reason why not. */
enum checkpoint_reason checkpoint_of_gpt(const struct pattern *p);

#endif
