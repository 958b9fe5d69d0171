/*
 * space: the layouts that the rules allow, as a layered graph.
 *
 * A node is (stage, position): the stage begins there; an arc from (s, from) to
 * (s+1, to) is chunk s holding the units between. A layout is a path from
 * (0, 0) to (S, last). Units that must stay together (all MTP layers; with them
 * the loss where MTP may not stand alone) are one step between positions.
 *
 * Sums are prefix sums by position, so that a chunk's value of any linear
 * function is a difference: sum[to] - sum[from].
 */
#ifndef PROVE_SPACE_H
#define PROVE_SPACE_H

#include "prove.h"

/* Forward and backward times, and what EP overlap can save at most when the
 * chunk is the forward, or the backward, of a combined operation (negated, as
 * it is taken off). The parts are what of a chunk's forward and backward a
 * combined operation does apart from the layers, embedding and loss head; 0
 * without EP overlap. */
enum space_sum {
    SPACE_FWD,
    SPACE_BWD,
    SPACE_SAVE_FWD,
    SPACE_SAVE_BWD,
    SPACE_PART_FWD,
    SPACE_PART_BWD,
    SPACE_N_SUMS
};

struct space {
    const struct prove_problem *problem;
    int n_stages, pp, n_pos;
    const int *unit;                  // [n_pos] position -> unit index
    const int64_t *sum[SPACE_N_SUMS]; // each [n_pos]
    int *lo, *hi;                     // [n_stages + 1] by the rules
    int least_units;                  // 0 where stages may be empty
    bool mixed_kinds;     // savings are larger than what pairs really save
    const int64_t *bytes; // [n_stages][n_pos][n_pos], NULL: no limit
    int64_t limit_bytes;
};

/* Builds the space of a checked problem in the arena. */
enum err space_init(struct arena *a, const struct prove_problem *problem,
                    struct space *out, struct err_msg *msg);

/* Whether chunk `stage` may be [from, to) in positions, by rules and memory of
 * the chunk alone. */
bool space_allows(const struct space *sp, int stage, int from, int to);

/* Bytes of a chunk (0 without a limit). */
int64_t space_bytes(const struct space *sp, int stage, int from, int to);

/* Number of layouts by the rules (without `allowed` and memory), in decimal;
 * returns it as a double too. */
double space_count(const struct space *sp, char digits[PROVE_DIGITS]);

/* Positions of a layout to unit indices; both [n_stages + 1]. */
void space_units(const struct space *sp, const int *pos, int *cuts);

/* Nanoseconds a combined operation saves: the forward of chunk [a0, a1), the
 * backward of [b0, b1), positions. */
int64_t space_saving(const struct space *sp, const int *fwd, const int *bwd);

#endif
