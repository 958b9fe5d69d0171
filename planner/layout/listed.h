/*
 * listed: a layout as Megatron-Bridge and NeMo write it, a list of stages that
 * are lists of words, in the letters of Megatron's flag. Blanks and quotes are
 * Python's or YAML's. Sized for layouts of some thousand units.
 */
#ifndef LAYOUT_LISTED_H
#define LAYOUT_LISTED_H

#include "base/arena.h"
#include "base/err.h"

/* [["embedding", "decoder"], ["decoder", "mtp", "loss"]] is "Et|tmL"; what does
 * not begin with a bracket is the text itself. Owned by the arena. ERR_RANGE
 * says what is no list of stages and where; ERR_NOMEM. */
enum err layout_of_list(struct arena *a, const char *text, const char **out,
                        struct err_msg *msg);

#endif
