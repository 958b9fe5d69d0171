/*
 * How it works. Chunks are chosen from the first stage on. For each of up to
 * 256 paths a table holds, by node, the least that the rest of any layout adds
 * to it; a prefix is given up as soon as one path, prefix and least rest, is
 * longer than the limit. Chunk values are differences of a stage's weights, so
 * that a step down is one addition a path and a look ahead is another. A layout
 * that passes all paths is evaluated; its critical path joins at once.
 */
#include "proof.h"
#include "wide.h"

#include <stdlib.h>
#include <string.h>

enum { DIVE_PATHS = 256, DIVE_BLOCK = 32, DIVE_BLOCKS = 8 };

struct dive {
    int n_paths;    // in use; the rest prune nothing
    int n_loads;    // the first of them are bounds of ranks' loads
    int32_t *count; // [DIVE_PATHS][SPACE_N_SUMS * n_stages]
    int *index;     // [n_stages + 1][n_pos] node number of live positions
    int n_nodes, room;
    int64_t *rest; // [n_nodes][DIVE_PATHS] weight at the node, and least rest
    int64_t *turn; // [n_nodes][DIVE_PATHS] from one stage's weights to the next
    int64_t *base; // [n_stages + 1][DIVE_PATHS] of the prefix
    int *pos;      // [n_stages + 1]
    int64_t *used; // [pp] bytes of the prefix on each rank
    int64_t *cheap; // [n_stages] least bytes of later chunks of the rank
    long hits[DIVE_PATHS], left;
    int last_block, oldest;
    const struct live *live;
    int64_t limit; // of steps
    int64_t *most; // [DIVE_PATHS] what each path may reach
};

enum err proof_dive_init(struct proof *p, struct err_msg *msg)
{
    size_t stages = (size_t)p->sp->n_stages, n_pos = (size_t)p->sp->n_pos;
    struct dive *d = arena_alloc(p->arena, 1, sizeof *d);
    if (!d)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    p->dive = d;
    size_t paths = DIVE_PATHS;
    d->count =
        arena_alloc(p->arena, paths * SPACE_N_SUMS * stages, sizeof *d->count);
    d->index = arena_alloc(p->arena, (stages + 1) * n_pos, sizeof *d->index);
    d->base = arena_alloc(p->arena, (stages + 1) * paths, sizeof *d->base);
    d->pos = arena_alloc(p->arena, stages + 1, sizeof *d->pos);
    d->most = arena_alloc(p->arena, paths, sizeof *d->most);
    d->used = arena_alloc(p->arena, stages, sizeof *d->used);
    d->cheap = arena_alloc(p->arena, stages, sizeof *d->cheap);
    if (!d->count || !d->index || !d->base || !d->pos || !d->most || !d->used ||
        !d->cheap)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    return ERR_OK;
}

/* ---- tables ---- */

static int dive_node(const struct dive *d, int stage, int pos)
{
    return d->index[stage * d->live->n_pos + pos];
}

/* Only live nodes have rows in the tables: a few hundred after probing, which
 * keeps the tables in the second cache level. */
static bool dive_number_nodes(struct proof *p, struct dive *d)
{
    const struct live *l = d->live;
    d->n_nodes = 0;
    for (int s = 0; s <= l->n_stages; s++)
        for (int i = live_first(l, s); i >= 0;
             i = live_next(live_node(l, s), l->words, i + 1))
            d->index[s * l->n_pos + i] = d->n_nodes++;
    if (d->n_nodes <= d->room)
        return true;
    size_t cells = (size_t)d->n_nodes * DIVE_PATHS;
    d->rest = arena_alloc(p->arena, cells, sizeof *d->rest);
    d->turn = arena_alloc(p->arena, cells, sizeof *d->turn);
    d->room = d->n_nodes;
    return d->rest && d->turn;
}

static int64_t dive_weight(const struct proof *p, const int32_t *count, int s,
                           int pos)
{
    int64_t w = 0;
    for (int j = 0; j < SPACE_N_SUMS; j++)
        w += count[j * p->sp->n_stages + s] * p->sp->sum[j][pos];
    return w;
}

static const int32_t *dive_count(const struct proof *p, int k)
{
    return p->dive->count + (size_t)(k * SPACE_N_SUMS * p->sp->n_stages);
}

/* One stage of a path's table. onward[pos]: the least of the stages from here
 * on, with the weight that the chunk before has at pos; `after` is the same of
 * the next stage. */
static void dive_fill_stage(struct proof *p, int k, int s, const int64_t *after,
                            int64_t *onward)
{
    struct dive *d = p->dive;
    const struct live *l = d->live;
    const int32_t *count = dive_count(p, k);
    const uint64_t *node = live_node(l, s);
    for (int i = live_first(l, s); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, s, i);
        int64_t best = PROOF_INFINITE;
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1))
            best = after[to] < best ? after[to] : best;
        size_t at = (size_t)dive_node(d, s, i) * DIVE_PATHS + (size_t)k;
        d->turn[at] =
            dive_weight(p, count, s - 1, i) - dive_weight(p, count, s, i);
        d->rest[at] = onward[i] = best + d->turn[at];
    }
}

/* Nothing is asked of the first node, so stages 1.. are enough. */
static void dive_fill(struct proof *p, int k)
{
    struct dive *d = p->dive;
    int64_t onward[2][PROVE_MAX_UNITS + 2];
    int last = d->live->n_pos - 1, n = d->live->n_stages;
    size_t at = (size_t)dive_node(d, n, last) * DIVE_PATHS + (size_t)k;
    int64_t end = dive_weight(p, dive_count(p, k), n - 1, last);
    d->rest[at] = d->turn[at] = onward[n % 2][last] = end;
    for (int s = n - 1; s >= 1; s--)
        dive_fill_stage(p, k, s, onward[(s + 1) % 2], onward[s % 2]);
}

/* A place without a path prunes nothing. */
static void dive_clear_path(struct dive *d, int k)
{
    for (int i = 0; i < d->n_nodes; i++)
        d->rest[(size_t)i * DIVE_PATHS + (size_t)k] =
            d->turn[(size_t)i * DIVE_PATHS + (size_t)k] = 0;
    for (int s = 0; s <= d->live->n_stages; s++)
        d->base[s * DIVE_PATHS + k] = -PROOF_INFINITE;
}

/* The prefix's value of path k at every stage down to `depth`. */
static void dive_rebase(struct proof *p, int k, int depth)
{
    struct dive *d = p->dive;
    int64_t base = -dive_weight(p, dive_count(p, k), 0, d->pos[0]);
    d->base[k] = base;
    for (int s = 1; s <= depth; s++) {
        base += d->turn[(size_t)dive_node(d, s, d->pos[s]) * DIVE_PATHS +
                        (size_t)k];
        d->base[s * DIVE_PATHS + k] = base;
    }
}

/* ---- which paths ---- */

static void dive_set_path(struct proof *p, int k, const int32_t *count,
                          int depth)
{
    struct dive *d = p->dive;
    size_t size = (size_t)(SPACE_N_SUMS * p->sp->n_stages);
    memcpy(d->count + (size_t)k * size, count, size * sizeof *count);
    d->hits[k] = 0;
    d->most[k] = d->limit;
    dive_fill(p, k);
    dive_rebase(p, k, depth);
}

/* A new path takes a free place or that of one that prunes little: the first
 * of the next few with the fewest hits. */
static void dive_learn(struct proof *p, const int32_t *count, int depth)
{
    enum { DIVE_LOOK_AT = 24 };
    struct dive *d = p->dive;
    int k = d->n_paths, fixed = d->n_loads;
    if (k < DIVE_PATHS) {
        d->n_paths++;
    } else {
        k = fixed + d->oldest;
        for (int i = 0; i < DIVE_LOOK_AT; i++) {
            int other = fixed + (d->oldest + i) % (DIVE_PATHS - fixed);
            if (d->hits[other] < d->hits[k])
                k = other;
            d->hits[other] /= 2;
        }
        d->oldest = (d->oldest + DIVE_LOOK_AT) % (DIVE_PATHS - fixed);
    }
    dive_set_path(p, k, count, depth);
}

/* A rank's load as if it were a path; negated for its lower bound. */
static void dive_add_load(struct proof *p, int rank, bool upper)
{
    struct dive *d = p->dive;
    int n = p->sp->n_stages;
    int32_t count[SPACE_N_SUMS * PROVE_MAX_STAGES] = {0};
    for (int s = rank; s < n; s += p->sp->pp)
        count[SPACE_FWD * n + s] = count[SPACE_BWD * n + s] = upper ? 1 : -1;
    int64_t bound = live_load(d->live, rank)[upper];
    dive_set_path(p, d->n_paths, count, 0);
    d->most[d->n_paths++] = upper ? bound : -bound;
}

static void dive_add_loads(struct proof *p)
{
    struct dive *d = p->dive;
    int last = p->sp->n_pos - 1;
    int64_t all = p->sp->sum[SPACE_FWD][last] + p->sp->sum[SPACE_BWD][last];
    for (int r = 0; r < p->sp->pp; r++) {
        if (live_load(d->live, r)[1] < all && d->n_paths < DIVE_PATHS / 2)
            dive_add_load(p, r, true);
        if (live_load(d->live, r)[0] > 0 && d->n_paths < DIVE_PATHS / 2)
            dive_add_load(p, r, false);
    }
    d->n_loads = d->n_paths;
}

/* Starts with the paths of the relaxation, latest first. */
static void dive_begin(struct proof *p)
{
    struct dive *d = p->dive;
    size_t size = (size_t)(SPACE_N_SUMS * p->sp->n_stages);
    int rows = simplex_rows(p->lp);
    d->n_paths = d->oldest = d->last_block = 0;
    for (int k = 0; k < DIVE_PATHS; k++)
        dive_clear_path(d, k);
    d->pos[0] = 0;
    d->limit = proof_limit(p);
    dive_add_loads(p);
    for (int k = rows - 1; k >= 0 && d->n_paths < DIVE_PATHS; k--)
        dive_set_path(p, d->n_paths++, p->row + (size_t)k * size, 0);
}

/* ---- memory of the prefix ---- */

static int64_t dive_least_bytes(const struct proof *p, const struct live *l,
                                int s)
{
    int64_t least = INT64_MAX;
    const uint64_t *node = live_node(l, s);
    for (int i = live_first(l, s); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, s, i);
        for (int to = live_next(arc, l->words, i); to >= 0;
             to = live_next(arc, l->words, to + 1)) {
            int64_t b = space_bytes(p->sp, s, i, to);
            least = b < least ? b : least;
        }
    }
    return least;
}

static void dive_begin_memory(struct proof *p)
{
    struct dive *d = p->dive;
    size_t stages = (size_t)p->sp->n_stages;
    int pp = p->sp->pp;
    memset(d->used, 0, sizeof *d->used * stages);
    memset(d->cheap, 0, sizeof *d->cheap * stages);
    if (!p->sp->bytes)
        return;
    for (int s = p->sp->n_stages - 1; s >= pp; s--)
        d->cheap[s - pp] = d->cheap[s] + dive_least_bytes(p, d->live, s);
}

/* ---- the search ---- */

WIDE static bool dive_block_prunes(const int64_t *base, const int64_t *rest,
                                   const int64_t *most)
{
    int64_t over = 0;
    for (int k = 0; k < DIVE_BLOCK; k++)
        over |= most[k] - (base[k] + rest[k]); // negative: longer
    return over < 0;
}

WIDE static void dive_step(int64_t *to, const int64_t *from,
                           const int64_t *turn)
{
    int64_t *restrict out = to;
    for (int k = 0; k < DIVE_PATHS; k++)
        out[k] = from[k] + turn[k];
}

/* Which paths of the block were the ones: sampled, as asking costs as much as
 * the pruning did. */
static void dive_credit(struct dive *d, const int64_t *base,
                        const int64_t *rest, int block)
{
    for (int k = block * DIVE_BLOCK; k < (block + 1) * DIVE_BLOCK; k++)
        d->hits[k] += base[k] + rest[k] > d->most[k];
}

/* The block that pruned last is asked first. */
static bool dive_prunes(struct dive *d, const int64_t *base,
                        const int64_t *rest)
{
    enum { DIVE_CREDIT_EVERY = 16 };
    int blocks = (d->n_paths + DIVE_BLOCK - 1) / DIVE_BLOCK, b = d->last_block;
    for (int i = 0; i < blocks; i++, b = b + 1 < blocks ? b + 1 : 0) {
        int at = b * DIVE_BLOCK;
        if (!dive_block_prunes(base + at, rest + at, d->most + at))
            continue;
        d->last_block = b;
        if (d->left % DIVE_CREDIT_EVERY == 0)
            dive_credit(d, base, rest, b);
        return true;
    }
    return false;
}

/* A layout was found: paths may reach less. */
static void dive_lower(struct proof *p)
{
    struct dive *d = p->dive;
    d->limit = proof_limit(p);
    for (int k = d->n_loads; k < DIVE_PATHS; k++)
        d->most[k] = d->limit;
}

/* A layout that no path excludes: evaluate, list it, learn what bounds it. */
static void dive_leaf(struct proof *p)
{
    struct dive *d = p->dive;
    int n = p->sp->n_stages;
    struct lanes_times t;
    int64_t value[SPACE_N_SUMS][PROVE_MAX_STAGES];
    int32_t count[SPACE_N_SUMS * PROVE_MAX_STAGES];
    p->n_leaves++;
    int64_t step = proof_leaf(p, d->pos);
    dive_lower(p);
    for (int j = 0; j < SPACE_N_SUMS; j++) {
        for (int s = 0; s < n; s++)
            value[j][s] =
                p->sp->sum[j][d->pos[s + 1]] - p->sp->sum[j][d->pos[s]];
        t.value[j] = value[j];
    }
    if (step <= d->limit)
        return;
    /* what bounds it, unless its excess is one that no path shows (savings
     * that the linear bound overstates, memory) */
    if (lanes_path(p->lanes, &t, p->n_leaves % 2, count) > d->limit) {
        dive_learn(p, count, n);
        proof_relax_add(p, count);
    }
}

/* The prefix, this chunk, and the least that the rank's later chunks take. */
static bool dive_fits(struct proof *p, int s, int from, int to)
{
    struct dive *d = p->dive;
    if (!p->sp->bytes)
        return true;
    return d->used[s % p->sp->pp] + space_bytes(p->sp, s, from, to) +
               d->cheap[s] <=
           p->sp->limit_bytes;
}

/* False when the budget is spent. */
static bool dive_visit(struct proof *p, int s)
{
    struct dive *d = p->dive;
    const struct live *l = d->live;
    int from = d->pos[s], rank = s % p->sp->pp;
    if (s == l->n_stages) {
        dive_leaf(p);
        return true;
    }
    const uint64_t *arc = live_arc(l, s, from);
    int64_t *base = d->base + s * DIVE_PATHS;
    for (int to = live_next(arc, l->words, from); to >= 0;
         to = live_next(arc, l->words, to + 1)) {
        size_t node = (size_t)dive_node(d, s + 1, to) * DIVE_PATHS;
        if (--d->left < 0 || (d->left % 16384 == 0 && proof_stop(p)))
            return false;
        if (!dive_fits(p, s, from, to) || dive_prunes(d, base, d->rest + node))
            continue;
        dive_step(base + DIVE_PATHS, base, d->turn + node);
        d->pos[s + 1] = to;
        int64_t bytes = space_bytes(p->sp, s, from, to);
        d->used[rank] += bytes;
        bool done = dive_visit(p, s + 1);
        d->used[rank] -= bytes;
        if (!done)
            return false;
    }
    return true;
}

bool proof_dive(struct proof *p, const struct live *l, long budget)
{
    struct dive *d = p->dive;
    d->live = l;
    if (!dive_number_nodes(p, d)) { // no memory for it: as if out of budget
        d->room = 0;
        return false;
    }
    dive_begin(p);
    dive_begin_memory(p);
    d->left = budget;
    bool done = dive_visit(p, 0);
    p->n_nodes += budget - d->left;
    return done;
}
