/*
 * best: the K fastest layouts seen so far, each once.
 *
 * In: layouts as positions of the space's graph with their step times in ns.
 * Out: the list, fastest first, and what a layout must still reach. Sized for
 * K up to PROVE_MAX_TOP.
 */
#ifndef PROVE_BEST_H
#define PROVE_BEST_H

#include "space.h"

struct best {
    const struct space *sp;
    int top, n;
    int *pos;           // [top][n_stages + 1], fastest first
    int64_t *step_ns;   // [top]
    int *near;          // [top] chunks within 2% of the slowest
    int64_t slowest_ns; // no layout takes longer: all operations in a row
    int64_t n_seen;     // layouts offered
};

/* An empty list of up to `top` layouts; false: out of memory. */
bool best_new(struct arena *a, const struct space *sp, struct best *out);

/* Offers a layout that is in the space and fits; true when it is now in the
 * list. Ties are won by fewer chunks near the bottleneck. */
bool best_offer(struct best *b, const int *pos, int64_t step_ns);

/* What a layout must reach to change the set of times: less than the worst of
 * a full list. */
int64_t best_limit(const struct best *b);

#endif
