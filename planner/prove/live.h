/*
 * live: the chunks that the search has not excluded yet.
 *
 * For every stage and every position that it may begin at, a bit mask of the
 * positions where it may end. After live_clean() every arc that is left lies on
 * a path from the first to the last node, so an empty graph means that no
 * layout is left. Copied at every probe and branch: 4 to 30 KB. Besides arcs it
 * holds what is proved of the ranks' loads; those are not checked against the
 * arcs here.
 */
#ifndef PROVE_LIVE_H
#define PROVE_LIVE_H

#include "space.h"

enum { LIVE_WORD = 64, LIVE_MAX_WORDS = (PROVE_MAX_UNITS + 64) / 64 };

struct live {
    int n_stages, n_pos, words;
    uint64_t *arc;  // [n_stages][n_pos][words]
    uint64_t *node; // [n_stages + 1][words], positions with an arc
    int pp;
    int64_t *load; // [pp][2] least and most time of a rank's chunks together
};

/* An empty graph of the space's size in the arena; false: out of memory. */
bool live_new(struct arena *a, const struct space *sp, struct live *out);

/* All chunks that the space allows; false when no layout is left. */
bool live_fill(struct live *l, const struct space *sp);

/* `to` becomes a copy of `from`, of the same space. */
void live_copy(struct live *to, const struct live *from);

/* Drops arcs that lie on no path; false when none is left. */
bool live_clean(struct live *l);

/* Keeps at the beginning of `stage` (0..n_stages) only positions from..to, or
 * all but those. False when no layout is left. */
bool live_keep(struct live *l, int stage, int from, int to);
bool live_drop(struct live *l, int stage, int from, int to);

/* Number of live positions where `stage` begins, the smallest and largest, and
 * the k-th smallest. */
int live_count(const struct live *l, int stage);
int live_first(const struct live *l, int stage);
int live_last(const struct live *l, int stage);
int live_nth(const struct live *l, int stage, int k);

/* Fewest and most positions that a chunk of `stage` spans. */
void live_lengths(const struct live *l, int stage, int *fewest, int *most);

/* Keeps only chunks of `stage` that span from..to positions, or all but those.
 * False when no layout is left. */
bool live_keep_lengths(struct live *l, int stage, int from, int to);
bool live_drop_lengths(struct live *l, int stage, int from, int to);

/* Time, forward and backward, of all chunks of a rank: bounds that the search
 * has proved. */
static inline int64_t *live_load(const struct live *l, int rank)
{
    return l->load + 2 * rank;
}

/* Number of arcs. */
int live_arcs(const struct live *l);

/* Ends of the arcs of a node, and live positions of a stage: bit masks. */
static inline uint64_t *live_arc(const struct live *l, int stage, int from)
{
    return l->arc +
           ((size_t)stage * (size_t)l->n_pos + (size_t)from) * (size_t)l->words;
}

static inline uint64_t *live_node(const struct live *l, int stage)
{
    return l->node + (size_t)stage * (size_t)l->words;
}

/* The first set bit at or after `at`; -1 when there is none. */
static inline int live_next(const uint64_t *mask, int words, int at)
{
    int w = at / LIVE_WORD;
    if (w >= words)
        return -1;
    uint64_t rest = mask[w] & (~(uint64_t)0 << (at % LIVE_WORD));
    while (!rest && ++w < words)
        rest = mask[w];
    return rest ? w * LIVE_WORD + __builtin_ctzll(rest) : -1;
}

/* Whether bit `at` is set. */
static inline bool live_has(const uint64_t *mask, int at)
{
    return mask[at / LIVE_WORD] >> (at % LIVE_WORD) & 1;
}

#endif
