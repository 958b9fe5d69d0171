/*
 * profile: which layouts to run, so that their timers tell the cost of every
 * kind of unit with the smallest error.
 */
#ifndef CALIBRATE_PROFILE_H
#define CALIBRATE_PROFILE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "model/model.h"

#include <stdbool.h>

struct profile_wish {
    int pp;          // stages
    int n;           // runs, 2 or more
    bool standalone; // allow m on a stage of its own, without which m and L
                     // cannot be told apart
};

/* The layouts, with the model's number of chunks a rank, whose timers together
 * give the costs with the smallest relative error (D-optimal), all different;
 * fills out[0..n). ERR_MODEL when no choice tells all kinds apart. Owned by the
 * arena. */
enum err profile_layouts(struct arena *a, const struct model *m,
                         const struct profile_wish *w, struct layout *out,
                         struct err_msg *msg);

#endif
