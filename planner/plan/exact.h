/*
 * exact: from a plan's context to the exact search (room prove) and back. The
 * search works on whole nanoseconds of units under ideal transfers; what it
 * finds is then predicted as the context says, improved by small shifts where
 * transfers are not ideal, and held against the search's bound, which no
 * layout of the space can pass under any mode of transfers.
 */
#ifndef PLAN_EXACT_H
#define PLAN_EXACT_H

#include "candidates.h"
#include "prove/prove.h"

#include <stdbool.h>

struct exact_options {
    bool standalone_mtp, empty_stages, whole_layers;
    int top;             // layouts wanted
    double time_limit_s; // 0: until it is proved
    struct prove_hooks hooks;
};

struct exact_result {
    enum prove_state state; // of the search under ideal transfers
    double bound_s;         // no step of the space is shorter
    double tick_s;          // to which costs were rounded: 1 ns, or more where
                            // a step takes hours
    char space[PROVE_DIGITS];
    int n_found; // 0: none fits in memory
};

/* Adds the best layouts of the context's order to `c`. ERR_RANGE for an order
 * that Megatron refuses, sizes beyond those of prove.h or an empty space. */
enum err exact_search(struct candidates *c, const struct exact_options *opt,
                      struct exact_result *out, struct err_msg *msg);

#endif
