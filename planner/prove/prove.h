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
    PROVE_DIGITS = 128
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
    /* the first unit is the embedding, the last the loss head; each [n_units]
     */
    int n_units;
    const int64_t *fwd_ns, *bwd_ns;
    /* MTP units, just before the loss head: all of them in one chunk, in any
     * rank's last chunk if `standalone_mtp`, else with the loss */
    int n_mtp;
    bool standalone_mtp;
    /* a chunk may hold nothing */
    bool empty_stages;
    /* NULL: combined operations save nothing; without EP overlap not looked
     * at */
    const struct prove_saving *saving;
    /* EP overlap: embedding and loss head belong to the layers' operation, as
     * in moe-train; else they go before and after it, as in Megatron */
    bool whole_operations;
    /* NULL: no limit */
    const struct prove_memory *memory;
    /* one more rule for the chunk [from, to) of a stage; NULL: none */
    bool (*allowed)(void *data, int stage, int from, int to);
    void *allowed_data;
    /* layouts wanted, 1 to PROVE_MAX_TOP */
    int top;
    /* good enough: all listed within this share of the bound; 0: optimal */
    double gap;
    /* 0: none */
    double time_limit_s;
    /* spaces of at most so many layouts are enumerated; 0: the default,
     * negative: never */
    int64_t enumerate_up_to;
    struct prove_hooks hooks;
};

enum prove_state {
    PROVE_ENUMERATED, // every layout was looked at
    PROVE_OPTIMAL,    // searched, and no layout outside the list is faster
    PROVE_GAP         // ended by time, interrupt or `gap` before that
};

/* One layout: stage s holds the units [cuts[s], cuts[s + 1]). `near` counts the
 * chunks whose time, forward and backward, is within 2% of the slowest's. */
struct prove_layout {
    const int *cuts; // [n_stages + 1]
    int64_t step_ns;
    int near;
};

/* The answer. Every layout of the space that is not listed takes at least
 * `bound_ns`; `gap` is the worst listed step over that bound, minus one. A list
 * of fewer than `top` layouts has all there are, unless the state is
 * PROVE_GAP. */
struct prove_result {
    enum prove_state state;
    struct prove_layout *layouts; // fastest first, ties by fewest `near`
    int n_layouts;                // 0: none fits in memory
    int64_t bound_ns;
    double gap;
    /* layouts by the rules, before `allowed` and memory, in decimal */
    char space[PROVE_DIGITS];
    int64_t n_evaluated; // complete layouts that were offered to the list
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
