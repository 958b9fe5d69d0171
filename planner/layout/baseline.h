/*
 * baseline: layouts that simple rules give, to compare with, one chunk a rank.
 * Megatron's own split is default_split's.
 */
#ifndef LAYOUT_BASELINE_H
#define LAYOUT_BASELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout.h"
#include "model/model.h"

/* Count-based rule (Megatron Lite): E, t..., m..., L count one each, spread
 * evenly, the first stages take the remainder. ERR_MODEL when there are fewer
 * units than stages. Owned by the arena. */
enum err baseline_count_based(struct arena *a, const struct model *m, int pp,
                              struct layout *out, struct err_msg *msg);

/* The layout whose largest stage has the fewest parameters, copies of a tied
 * token table included; E stands first, all m and L last. ERR_MODEL when there
 * are fewer layers than stages need. Owned by the arena. */
enum err baseline_parameter_balanced(struct arena *a, const struct model *m,
                                     int pp, struct layout *out,
                                     struct err_msg *msg);

#endif
