/*
 * train: bytes that moe-train allocates for one stage. Its size tables
 * (harness/train/stage.c, layer.c, unit.c, experts.c) in closed form: every
 * tensor starts at a multiple of 64 bytes, all values are 4 bytes, a slot is
 * what one micro-batch in flight keeps. Checked to the byte against the
 * trainer's memory lines.
 */
#ifndef MEMORY_TRAIN_H
#define MEMORY_TRAIN_H

#include "layout/layout.h"
#include "model/model.h"

#include <stdint.h>

struct memory_train { // bytes
    int64_t weights, grads, adam;
    int64_t slot; // of one micro-batch in flight, logits included
    int64_t head; // of these, the logits
    int64_t work; // scratch
};

/* Stage `stage` of the layout, one chunk a rank. */
void memory_train_stage(const struct model *m, const struct layout *l,
                        int stage, struct memory_train *out);

#endif
