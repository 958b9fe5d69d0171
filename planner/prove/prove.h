/*
 * prove: the fastest pipeline layouts, with a proof that none is faster.
 *
 * A sequence of units (embedding, decoder layers, MTP layers, loss head) is cut
 * into S = P*V contiguous chunks; chunk v*P + r is rank r's v-th. The step time
 * is the makespan of Megatron's order of operations when a transfer costs
 * nothing ("ideal"), in whole nanoseconds. The result is either optimal, or
 * comes with a gap: no layout of the space is faster than `bound_ns`.
 *
 * Designed for spaces from a few to 10^20 layouts: 2 to 64 ranks, up to 128
 * chunks in all, up to 254 units, some hundred micro-batches. All that is
 * claimed rests on 64-bit integers; floating point only guides the search.
 */
#ifndef PROVE_H
#define PROVE_H

#include "base/arena.h"
#include "base/err.h"
#include "schedule/order.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PROVE_MAX_STAGES = 128,
    PROVE_MAX_UNITS = 254,
    PROVE_MAX_TOP = 1000,
    PROVE_DIGITS = 40
};

/* What a unit is to EP overlap: which layers pair up, and with what saving. */
enum prove_kind { PROVE_NO_LAYER, PROVE_DENSE, PROVE_MOE };

/* Nanoseconds that a pair of layers of one combined operation saves: both are
 * MoE, only the forward one, only the backward one. All >= 0. */
struct prove_saving {
    const enum prove_kind *kinds; // [n_units]
    int64_t both_ns, fwd_ns, bwd_ns;
};

/* Bytes on a rank. `chunk_bytes` is a lower bound of what the chunk [from, to)
 * of stage `stage` adds to its rank, to be summed over the rank's chunks;
 * `fits` is the exact answer for a layout whose stage s is
 * [cuts[s], cuts[s+1]). Either may be NULL. */
struct prove_memory {
    int64_t limit_bytes;
    int64_t (*chunk_bytes)(void *data, int stage, int from, int to);
    bool (*fits)(void *data, const int *cuts);
    void *data;
};

/* What the caller hears and says while the search runs; each may be NULL. */
struct prove_hooks {
    void (*progress)(void *data, int64_t best_ns, int64_t bound_ns,
                     double seconds); // about ten times a second
    bool (*interrupted)(void *data);  // true ends the search early
    void *data;
};

struct prove_problem {
    struct order order;
    int n_units; // the first is the embedding, the last the loss head
    const int64_t *fwd_ns, *bwd_ns; // [n_units]
    int n_mtp;         // MTP units, just before the loss head; all in one chunk
    bool empty_stages; // a chunk may hold nothing
    bool standalone_mtp; // MTP in any rank's last chunk, else with the loss
    const struct prove_saving *saving; // NULL: nothing; EP overlap only
    const struct prove_memory *memory; // NULL: no limit
    /* one more rule for a chunk, NULL: none */
    bool (*allowed)(void *data, int stage, int from, int to);
    void *allowed_data;
    int top;                 // layouts wanted, 1 to PROVE_MAX_TOP
    double gap;              // good enough: bound within this share; 0: optimal
    double time_limit_s;     // 0: none
    int64_t enumerate_up_to; // spaces of so many layouts are enumerated;
                             // 0: the default, negative: never
    struct prove_hooks hooks;
};

enum prove_state {
    PROVE_ENUMERATED, // every layout was looked at
    PROVE_OPTIMAL,    // searched, and no layout outside the list is faster
    PROVE_GAP         // ended by time, interrupt or `gap` before that
};

struct prove_layout {
    const int *cuts; // [n_stages + 1] unit indices
    int64_t step_ns;
    int near; // chunks whose time is within 2% of the slowest chunk's
};

struct prove_result {
    enum prove_state state;
    struct prove_layout *layouts; // fastest first, ties by fewest `near`
    int n_layouts;                // 0: none fits in memory
    int64_t bound_ns;         // no layout outside the list is faster than this
    double gap;               // worst listed step over the bound, minus one
    char space[PROVE_DIGITS]; // layouts by the rules, memory aside; decimal
    int64_t n_evaluated;      // layouts whose step time was computed
    double seconds;
};

/* Searches. Results are owned by the arena. ERR_RANGE for what Megatron's order
 * refuses, sizes beyond those above, or no layout by the rules; ERR_NOMEM. That
 * no layout fits in memory is an answer (state PROVE_OPTIMAL or
 * PROVE_ENUMERATED, n_layouts 0), not an error. The same problem gives the same
 * answer, unless time or an interrupt ended the search. */
enum err prove_layouts(struct arena *a, const struct prove_problem *problem,
                       struct prove_result *out, struct err_msg *msg);

#endif
