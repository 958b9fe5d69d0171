/*
 * memory: bytes a stage takes: parameters, gradients, optimiser state,
 * activations of the micro-batches in flight, and the loss head. Terms and
 * their sources stand beside each function. An estimate for choosing layouts;
 * workspaces, communication buffers and the CUDA context are not in it.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "err.h"
#include "layout.h"
#include "model.h"

#include <stdint.h>

struct memory_stage {
    int64_t params;           // parameters held, copies of embeddings included
    int64_t static_bytes;     // parameters, gradients, optimiser state
    int64_t activation_bytes; // of one micro-batch
    int64_t head_bytes;       // logits and their gradient
    int in_flight;
    int64_t peak_bytes; // static + in_flight x activations + head
};

/* Parameters that a stage holds on one rank group: its units, and the copy of
 * the embedding that a tied output layer (PP > 1) or an MTP layer away from
 * the first stage needs. */
int64_t memory_stage_params(const struct model *m, const struct layout *l,
                            int stage);

/* The stage with `in_flight` micro-batches. */
void memory_stage(const struct model *m, const struct layout *l, int stage,
                  int in_flight, const struct memory_rules *rules,
                  struct memory_stage *out);

#endif
