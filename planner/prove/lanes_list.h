/*
 * lanes_list: the operations of an order as the list that lanes.c runs
 * through, for use by lanes alone. They stand in an order in which each comes
 * after what it waits for: repeatedly the rank whose next operation can begin
 * first, with chunks of equal time, so that few results are alive at any
 * moment. The list is kept twice: with slots for batches (values of dead
 * operations are overwritten, all of it stays in the first cache level), and
 * with plain operation numbers for the critical path, which needs every value.
 *
 * A combined operation of the first or last stage is up to three operations
 * here, as in the simulator: the embedding's forward or the loss's backward,
 * the layers of both, and what is left of the two on this rank. A rank that is
 * alone never waits: there it is one.
 */
#ifndef PROVE_LANES_LIST_H
#define PROVE_LANES_LIST_H

#include "lanes.h"

enum { LANE_NONE = 0 }; // operation 0 and slot 0: ended at time 0

/* Operation numbers or slots of what it waits for, and what it takes. */
struct lane_op {
    int32_t before, input, input2, out, time;
};

struct lane_pair {
    int fwd, bwd; // chunks of a combined operation
};

/* Parts of combined operations: before the layers, and after them. */
enum lane_part {
    LANE_HEAD_FWD, // embedding, first stage
    LANE_HEAD_BWD, // loss, last stage
    LANE_TAIL_FWD, // loss
    LANE_TAIL_BWD, // embedding
    LANE_N_PARTS
};

struct lanes {
    int n_stages, n_ops, n_pairs, n_slots, n_times;
    struct lane_op *op, *slotted; // [n_ops], operation i has number i + 1
    struct lane_pair *pairs;      // time n_stages * 2 + LANE_N_PARTS + i
    bool combined, has_parts;     // two inputs; parts are operations
    int64_t *value;               // [n_slots][LANES_WIDE]
    int64_t *time;                // [n_times][LANES_WIDE]
    int64_t *end;                 // [n_ops + 1] of one evaluation
    /* 1F1B with many micro-batches: the same with fewer, and how many fewer;
     * there, slots of the last two steady rounds, [2 * pp] each */
    struct lanes *brief;
    int n_skipped, n_round;
    int *before_round, *last_round;
};

/* Which sum a part is of, and of which stage. */
static inline enum space_sum lanes_part_sum(enum lane_part part)
{
    return part == LANE_HEAD_FWD || part == LANE_TAIL_FWD ? SPACE_PART_FWD
                                                          : SPACE_PART_BWD;
}

static inline int lanes_part_stage(const struct lanes *l, enum lane_part part)
{
    return part == LANE_HEAD_FWD || part == LANE_TAIL_BWD ? 0 : l->n_stages - 1;
}

/* Lists a checked order; owned by the arena, NULL when out of memory.
 * `n_round`: how many values of a steady round of 1F1B to keep, 0: none. */
struct lanes *lanes_list(struct arena *a, const struct order *o, int n_round);

#endif
