/*
 * split: what the flags say about ranks: which units each stage has (a layout,
 * or Megatron's default split), how many stages a rank has, in which order
 * ranks work and how they exchange. What Megatron refuses is refused here, and
 * what could hang, before anything starts.
 */
#ifndef TRAIN_SPLIT_H
#define TRAIN_SPLIT_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "megatron/flags.h"
#include "model/model.h"
#include "schedule/schedule.h"

/* All of it is the same on every rank. */
struct split {
    struct layout layout;
    const char *layout_text; // as given, or the default split's
    struct order order;
    enum p2p_mode p2p;
};

/* Reads the flags of pipelines for model `m`, whose number of virtual stages
 * becomes the layout's. ERR_RANGE names the flag, or says which numbers would
 * do. Owned by the arena. */
enum err split_read(struct arena *a, const struct megatron_flags *f,
                    struct model *m, struct split *out, struct err_msg *msg);

#endif
