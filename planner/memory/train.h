/*
 * train: bytes that moe-train allocates for one stage. Its size tables
 * (harness/train/stage.c, layer.c, unit.c, experts.c) in closed form: every
 * tensor starts at a multiple of 64 bytes, all values are 4 bytes, a slot is
 * what one micro-batch in flight keeps. A layer is whole, or one half of it as
 * a symbol of a hybrid pattern. Checked to the byte against the
 * trainer's memory lines.
 */
#ifndef MEMORY_TRAIN_H
#define MEMORY_TRAIN_H

#include "layout/layout.h"
#include "model/model.h"
#include "schedule/order.h"

#include <stdint.h>

struct memory_train { // bytes
    int64_t weights, grads, adam;
    int64_t slot; // of the micro-batches in flight, logits included
    int64_t head; // of these, the logits
    int64_t work; // scratch
};

/* Stage `stage` of the layout by itself, with one micro-batch in flight. */
void memory_train_stage(const struct model *m, const struct layout *l,
                        int stage, struct memory_train *out);

/* All stages of pipeline rank `rank`, with the micro-batches in flight that
 * the order asks for. The order's sizes are the layout's. */
void memory_train_rank(const struct model *m, const struct layout *l,
                       const struct order *o, int rank,
                       struct memory_train *out);

/* Micro-batches of chunk `chunk` of a rank for which the trainer has room.
 * One chunk a rank: those in flight. Interleaved, a micro-batch takes its room
 * from the time its input may come in, before its forward, to the time when
 * its gradient has left, after its backward: Megatron posts receives one
 * operation ahead, the first rank N-P+1 ahead. O(n_mb). */
int memory_train_slots(const struct order *o, int rank, int chunk);

#endif
