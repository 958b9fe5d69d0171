/*
 * lanes: step times of many layouts at once, and the critical path of one.
 *
 * The operations of an order are compiled once into a list that is sorted by
 * when they run: each takes the later of its rank's previous operation and its
 * input, adds its time, and leaves the result in a slot; a slot is used again
 * as soon as nobody reads it. A batch of layouts goes through the list side by
 * side, one lane each. Transfers cost nothing ("ideal").
 *
 * A combined operation of the first or last stage is more than one of these
 * (sim/overlap.h): embedding forward and loss backward come before its layers,
 * as soon as their own input is there, loss forward and embedding backward
 * after both outputs have left.
 */
#ifndef PROVE_LANES_H
#define PROVE_LANES_H

#include "space.h"

enum { LANES_WIDE = 32 };

struct lanes;

/* Compiles a checked order; owned by the arena. ERR_NOMEM. */
enum err lanes_new(struct arena *a, const struct space *sp, struct lanes **out,
                   struct err_msg *msg);

/* Step times in ns of `n` <= LANES_WIDE layouts; layout i is the n_stages + 1
 * positions from pos[i * (n_stages + 1)]. */
void lanes_eval(struct lanes *l, const struct space *sp, const int *pos, int n,
                int64_t *step_ns);

/* A path through the operations as a linear function of the chunks: how often
 * it takes chunk s forward and backward, how often a combined operation's
 * saving is taken as that of its forward or its backward chunk, and the parts
 * (less than 0 where it takes a combined operation's layers alone). Entry
 * [which * n_stages + s]; the path's length for a layout is the sum of
 * count * (sum[which][to] - sum[which][from]), never more than its step. */
struct lanes_times {
    const int64_t *value[SPACE_N_SUMS]; // [n_stages], of each chunk
};

/* The critical path for these chunk times (any unit); its length. A combined
 * operation saves the lesser of what its two chunks could. `late_input`: where
 * both bind, follow the input and not the rank. */
int64_t lanes_path(struct lanes *l, const struct lanes_times *t,
                   bool late_input, int32_t *count);

#endif
