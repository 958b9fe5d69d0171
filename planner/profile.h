/*
 * profile: which layouts to run, so that their timers tell the cost of every
 * kind of unit with the smallest error.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include "arena.h"
#include "err.h"
#include "layout.h"
#include "model.h"

#include <stdbool.h>

/* The `n` layouts (2 or more) whose timers together give the costs with the
 * smallest relative error (D-optimal); `standalone` allows m on a stage of its
 * own, without which m and L cannot be told apart. */
enum err profile_layouts(struct arena *a, const struct model *m, int pp, int n,
                         bool standalone, struct layout *out,
                         struct err_msg *msg);

#endif
