/*
 * How it works. What a rank may hold is a limit on a sum over its chunks. Two
 * ways to use it: a chunk with the lightest live others of its rank, which is
 * cheap enough for every step of the search; and a shortest path through the
 * graph in bytes, of one rank or of all, which knows that units not held here
 * are held elsewhere. The latter sees when there is simply too much for all
 * ranks together.
 */
#include "proof.h"

#include <string.h>

/* ---- the lightest others ---- */

/* Bytes of the stage's lightest live chunk. */
static int64_t proof_cheapest(const struct proof *p, const struct live *l,
                              int stage)
{
    int64_t least = INT64_MAX;
    const uint64_t *node = live_node(l, stage);
    for (int i = live_next(node, l->words, 0); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, stage, i);
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1)) {
            int64_t b = space_bytes(p->sp, stage, i, to);
            least = b < least ? b : least;
        }
    }
    return least;
}

/* Drops the stage's chunks that take more than `room`. */
static bool proof_drop_heavy(const struct proof *p, struct live *l, int stage,
                             int64_t room)
{
    bool any = false;
    const uint64_t *node = live_node(l, stage);
    for (int i = live_next(node, l->words, 0); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        uint64_t *arc = live_arc(l, stage, i);
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1))
            if (space_bytes(p->sp, stage, i, to) > room) {
                arc[to / LIVE_WORD] &= ~((uint64_t)1 << (to % LIVE_WORD));
                any = true;
            }
    }
    return any;
}

/* Until nothing changes: what goes at one stage makes others' lightest chunks
 * heavier. */
bool proof_prune_memory(const struct proof *p, struct live *l)
{
    if (!p->sp->bytes)
        return true;
    bool again = true;
    while (again) {
        int64_t cheapest[PROVE_MAX_STAGES], used[PROVE_MAX_STAGES] = {0};
        again = false;
        for (int s = 0; s < l->n_stages; s++) {
            cheapest[s] = proof_cheapest(p, l, s);
            used[s % p->sp->pp] += cheapest[s];
        }
        for (int s = 0; s < l->n_stages; s++) {
            int64_t others = used[s % p->sp->pp] - cheapest[s];
            again |= proof_drop_heavy(p, l, s, p->sp->limit_bytes - others);
        }
        if (again && !live_clean(l))
            return false;
    }
    return true;
}

/* ---- shortest paths in bytes ---- */

enum { MEMORY_ALL_RANKS = -1 };

/* What a chunk adds to the sum that is limited. */
static int64_t memory_bytes(const struct proof *p, int rank, int s, int from,
                            int to)
{
    bool counts = rank == MEMORY_ALL_RANKS || s % p->sp->pp == rank;
    return counts ? space_bytes(p->sp, s, from, to) : 0;
}

/* p->ahead[s][pos]: least bytes of the stages from s on. */
static void memory_ahead(struct proof *p, const struct live *l, int rank)
{
    int n = l->n_pos;
    int64_t *ahead = p->ahead + (size_t)l->n_stages * (size_t)n;
    memset(ahead, 0, sizeof *ahead * (size_t)n);
    for (int s = l->n_stages - 1; s >= 0; s--) {
        const int64_t *next = ahead;
        ahead -= n;
        for (int i = live_first(l, s); i >= 0;
             i = live_next(live_node(l, s), l->words, i + 1)) {
            const uint64_t *arc = live_arc(l, s, i);
            ahead[i] = PROOF_INFINITE;
            for (int to = live_next(arc, l->words, i); to >= 0;
                 to = live_next(arc, l->words, to + 1)) {
                int64_t b = memory_bytes(p, rank, s, i, to) + next[to];
                ahead[i] = b < ahead[i] ? b : ahead[i];
            }
        }
    }
}

/* One stage: drops chunks beyond the limit, carries the least bytes on. */
static bool memory_drop(struct proof *p, struct live *l, int rank, int s,
                        int64_t limit)
{
    size_t n = (size_t)l->n_pos;
    const int64_t *behind = p->behind + (size_t)s * n;
    int64_t *next = p->behind + ((size_t)s + 1) * n;
    const int64_t *ahead = p->ahead + ((size_t)s + 1) * n;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        next[i] = PROOF_INFINITE;
    for (int i = live_first(l, s); i >= 0;
         i = live_next(live_node(l, s), l->words, i + 1)) {
        uint64_t *arc = live_arc(l, s, i);
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1)) {
            int64_t b = behind[i] + memory_bytes(p, rank, s, i, to);
            if (b + ahead[to] > limit) {
                arc[to / LIVE_WORD] &= ~((uint64_t)1 << (to % LIVE_WORD));
                any = true;
            } else if (b < next[to]) {
                next[to] = b;
            }
        }
    }
    return any;
}

bool proof_prune_bytes(struct proof *p, struct live *l)
{
    for (int rank = MEMORY_ALL_RANKS; p->sp->bytes && rank < l->pp; rank++) {
        int64_t limit =
            p->sp->limit_bytes * (rank == MEMORY_ALL_RANKS ? l->pp : 1);
        bool any = false;
        memory_ahead(p, l, rank);
        p->behind[0] = 0;
        for (int s = 0; s < l->n_stages; s++)
            any |= memory_drop(p, l, rank, s, limit);
        if (any && !live_clean(l))
            return false;
    }
    return proof_prune_memory(p, l);
}
