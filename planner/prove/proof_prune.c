/*
 * How it works. The value of a mix of paths for a layout is a sum over its
 * chunks, so the least over all layouts is a shortest path through the layered
 * graph, and the least over the layouts with a given chunk is a shortest path
 * to it, the chunk, and a shortest path from there. Where even that is beyond
 * what a layout within the limit may have, the chunk goes. All in 64-bit
 * integers: what goes here is proved.
 *
 * Reference: through-bounds as in reduced-cost fixing (Irnich, Desaulniers,
 * Desrosiers, Hadjar 2010).
 */
#include "proof.h"
#include "wide.h"

#include <string.h>

static int64_t *proof_cell(const struct proof *p, int64_t *of, int stage)
{
    return of + (size_t)stage * (size_t)p->sp->n_pos;
}

/* weight[s][pos]: a chunk [from, to) of stage s is worth weight[to] -
 * weight[from]. */
static void proof_weights(struct proof *p, const struct proof_mix *mix)
{
    const struct space *sp = p->sp;
    for (int s = 0; s < sp->n_stages; s++) {
        int64_t *w = proof_cell(p, p->weight, s);
        memset(w, 0, sizeof *w * (size_t)sp->n_pos);
        for (int j = 0; j < SPACE_N_SUMS; j++) {
            int64_t times = mix->count[j * sp->n_stages + s];
            for (int i = 0; times && i < sp->n_pos; i++)
                w[i] += times * sp->sum[j][i];
        }
    }
}

/* ---- kernels over runs of neighbouring positions: most arcs of a node ---- */

/* next = min(next, base + w) */
WIDE static void proof_reach(int64_t *restrict next, const int64_t *restrict w,
                             int64_t base, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t v = base + w[i];
        next[i] = v < next[i] ? v : next[i];
    }
}

/* Of a run of arcs: the least that is within the limit, and whether (or how
 * many) others there are. */
struct proof_range {
    int64_t least;
    int dropped;
};

WIDE static struct proof_range proof_span(const int64_t *v, int n, int64_t most)
{
    int64_t least = PROOF_INFINITE, largest = -PROOF_INFINITE;
    for (int i = 0; i < n; i++) {
        least = v[i] < least ? v[i] : least;
        largest = v[i] > largest ? v[i] : largest;
    }
    return (struct proof_range){least, largest > most};
}

/* Length of the run of set bits from `at` on. */
static int proof_run(const uint64_t *mask, int words, int at)
{
    int end = at;
    while (end / LIVE_WORD < words) {
        uint64_t clear = ~(mask[end / LIVE_WORD] >> (end % LIVE_WORD));
        int room = LIVE_WORD - end % LIVE_WORD;
        int run = clear ? __builtin_ctzll(clear) : LIVE_WORD;
        end += run < room ? run : room;
        if (run < room)
            break;
    }
    return end - at;
}

/* behind[s][pos]: least value of chunks 0..s-1 when stage s begins at pos. */
static void proof_forward(struct proof *p, const struct live *l)
{
    int n = l->n_pos, words = l->words;
    for (int i = 0; i < n; i++)
        p->behind[i] = i ? PROOF_INFINITE : 0;
    for (int s = 0; s < l->n_stages; s++) {
        const int64_t *w = proof_cell(p, p->weight, s);
        const int64_t *now = proof_cell(p, p->behind, s);
        int64_t *next = proof_cell(p, p->behind, s + 1);
        const uint64_t *node = live_node(l, s);
        for (int i = 0; i < n; i++)
            next[i] = PROOF_INFINITE;
        for (int i = live_next(node, words, 0); i >= 0;
             i = live_next(node, words, i + 1)) {
            const uint64_t *arc = live_arc(l, s, i);
            int run;
            for (int to = live_next(arc, words, i); to >= 0;
                 to = live_next(arc, words, to + run)) {
                run = proof_run(arc, words, to);
                proof_reach(next + to, w + to, now[i] - w[i], run);
            }
        }
    }
}

/* Drops those arcs of a run that are beyond the limit; what is left of it. */
static struct proof_range proof_drop_run(uint64_t *arc, int from, int run,
                                         int64_t most, const int64_t *onward)
{
    struct proof_range left = {PROOF_INFINITE, 0};
    for (int to = from; to < from + run; to++) {
        if (onward[to] > most) {
            arc[to / LIVE_WORD] &= ~((uint64_t)1 << (to % LIVE_WORD));
            left.dropped++;
        } else if (onward[to] < left.least) {
            left.least = onward[to];
        }
    }
    return left;
}

/* The arcs of one node: drops those beyond the limit, returns how many;
 * *least is the best of the others to the end. */
static int proof_prune_node(uint64_t *arc, int words, int64_t most,
                            const int64_t *onward, int64_t *least)
{
    int dropped = 0, run;
    *least = PROOF_INFINITE;
    for (int to = live_next(arc, words, 0); to >= 0;
         to = live_next(arc, words, to + run)) {
        run = proof_run(arc, words, to);
        struct proof_range r = proof_span(onward + to, run, most);
        if (r.dropped)
            r = proof_drop_run(arc, to, run, most, onward);
        dropped += r.dropped;
        *least = r.least < *least ? r.least : *least;
    }
    return dropped;
}

/* From the last stage to the first: onward[to] is the chunk's part that
 * depends on `to` and all that follows. */
static int proof_backward(struct proof *p, struct live *l, int64_t most)
{
    int n = l->n_pos, words = l->words, dropped = 0;
    int64_t onward[PROVE_MAX_UNITS + 2], *end = p->ahead;
    for (int i = 0; i < n; i++)
        end[i] = i == n - 1 ? 0 : PROOF_INFINITE;
    for (int s = l->n_stages - 1; s >= 0; s--) {
        const int64_t *w = proof_cell(p, p->weight, s);
        const int64_t *behind = proof_cell(p, p->behind, s);
        for (int i = 0; i < n; i++) {
            onward[i] =
                end[i] >= PROOF_INFINITE ? PROOF_INFINITE : end[i] + w[i];
            end[i] = PROOF_INFINITE;
        }
        uint64_t *node = live_node(l, s);
        for (int i = live_next(node, words, 0); i >= 0;
             i = live_next(node, words, i + 1)) {
            int64_t least = PROOF_INFINITE;
            if (behind[i] < PROOF_INFINITE)
                dropped +=
                    proof_prune_node(live_arc(l, s, i), words,
                                     most - behind[i] + w[i], onward, &least);
            end[i] = least >= PROOF_INFINITE ? least : least - w[i];
        }
    }
    return dropped;
}

int proof_prune(struct proof *p, struct live *l, const struct proof_mix *mix)
{
    proof_weights(p, mix);
    proof_forward(p, l);
    int dropped =
        proof_backward(p, l, mix->total * proof_limit(p) + mix->extra);
    if (dropped && !live_clean(l))
        return -1;
    return dropped;
}

int64_t proof_least(struct proof *p, const struct live *l,
                    const struct proof_mix *mix)
{
    proof_weights(p, mix);
    proof_forward(p, l);
    return proof_cell(p, p->behind, l->n_stages)[l->n_pos - 1] - mix->extra;
}
