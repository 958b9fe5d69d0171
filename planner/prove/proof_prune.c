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

struct proof_range {
    int64_t least, most;
};

WIDE static struct proof_range proof_span(const int64_t *v, int n)
{
    int64_t least = PROOF_INFINITE, most = -PROOF_INFINITE;
    for (int i = 0; i < n; i++) {
        least = v[i] < least ? v[i] : least;
        most = v[i] > most ? v[i] : most;
    }
    return (struct proof_range){least, most};
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

/* Drops those arcs of a run that are beyond the limit; how many. */
static int proof_drop_run(uint64_t *arc, int from, int run, int64_t most,
                          const int64_t *onward, int64_t *least)
{
    int dropped = 0;
    for (int to = from; to < from + run; to++) {
        if (onward[to] > most) {
            arc[to / LIVE_WORD] &= ~((uint64_t)1 << (to % LIVE_WORD));
            dropped++;
        } else if (onward[to] < *least) {
            *least = onward[to];
        }
    }
    return dropped;
}

/* The arcs of one node: drops those beyond the limit, returns how many;
 * *least is the best of the others to the end. */
static int proof_prune_node(uint64_t *arc, int words, int64_t most,
                            const int64_t *onward, int64_t *least)
{
    int dropped = 0, run;
    for (int to = live_next(arc, words, 0); to >= 0;
         to = live_next(arc, words, to + run)) {
        run = proof_run(arc, words, to);
        struct proof_range r = proof_span(onward + to, run);
        if (r.most > most)
            dropped += proof_drop_run(arc, to, run, most, onward, least);
        else if (r.least < *least)
            *least = r.least;
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

/* ---- memory ---- */

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
