/*
 * baseline: the layouts that people use without a planner, to compare with.
 */
#ifndef LAYOUT_BASELINE_H
#define LAYOUT_BASELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout.h"
#include "model/model.h"

/* Megatron's default split. ERR_MODEL with Megatron's reason when it would
 * refuse it. Owned by the arena. */
enum err baseline_default(struct arena *a, const struct model *m, int pp,
                          struct layout *out, struct err_msg *msg);

/* Count-based rule: E, t..., m..., L count one each, spread evenly, the first
 * stages take the remainder. ERR_MODEL when there are fewer units than
 * stages. */
enum err baseline_count_based(struct arena *a, const struct model *m, int pp,
                              struct layout *out, struct err_msg *msg);

/* The layout whose largest stage has the fewest parameters. */
enum err baseline_parameter_balanced(struct arena *a, const struct model *m,
                                     int pp, struct layout *out,
                                     struct err_msg *msg);

#endif
