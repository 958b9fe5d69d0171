/*
 * space: the set of layouts that may be planned: how many there are,
 * and one after the other. Sized for counts up to 10^38 and enumerations up
 * to some million.
 */
#ifndef LAYOUT_SPACE_H
#define LAYOUT_SPACE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout.h"

#include <stdbool.h>

enum space_kind {
    SPACE_NO_EMPTY_STAGE,
    SPACE_EMPTY_STAGES, // E in the first stage, L in the last, others may be
                        // empty
    SPACE_ANY           // all that Megatron's validator accepts
};

struct layout_space {
    int n_layers, n_mtp, pp, vpp;
    enum space_kind kind;
    bool standalone_mtp; // with m on a rank other than the last (enumeration;
                         // counts always include them)
};

enum { SPACE_COUNT_BYTES = 48 };

/* Number of layouts, in decimal. ERR_RANGE when a size is below 1 (MTP below
 * 0) or the number is beyond 3.4e38. */
enum err layout_space_count(const struct layout_space *space,
                            char text[SPACE_COUNT_BYTES], struct err_msg *msg);

/* Calls `visit` for every layout of a space of one chunk a rank; the layout's
 * strings change after the call. An error of `visit` ends the walk and is
 * returned. ERR_RANGE for vpp > 1 and SPACE_ANY, which are not walked. */
typedef enum err (*layout_visit)(void *data, const struct layout *l);
enum err layout_space_each(struct arena *a, const struct layout_space *space,
                           layout_visit visit, void *data, struct err_msg *msg);

#endif
