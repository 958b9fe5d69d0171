/*
 * How it works. A start is the path of the graph nearest to wished positions of
 * the cuts (even chunks; chunks that shrink towards the ends; a run of larger
 * chunks; noise). From there every shift of a run of cuts by one position is
 * tried, which moves one unit from a chunk to any other, a batch at a time; the
 * best of the first batch that holds a better layout is the next place to
 * stand. It ends where a whole sweep finds nothing.
 */
#include "descent.h"

#include <math.h>
#include <string.h>

/* Slack that a start may give its first chunks or its last: shares of a chunk
 * that move from the ends to the middle. */
static const double TILTS[] = {0, -0.5, 0.5, -1, 1};
enum { DESCENT_N_TILTS = sizeof TILTS / sizeof *TILTS };

enum { DESCENT_N_RUNS = 16 }; // starts with uneven chunks, at most

struct descent {
    struct proof *p;
    const struct live *l;
    int n;            // n_stages + 1
    int *pos, *trial; // [n], [LANES_WIDE][n]
    int n_trial;
    int64_t step, excess; // of pos
    uint64_t random;
};

/* ---- one layout ---- */

/* Bytes above the limit, over all ranks. */
static int64_t descent_excess(const struct descent *d, const int *pos)
{
    const struct space *sp = d->p->sp;
    int64_t used[PROVE_MAX_STAGES] = {0}, over = 0;
    if (!sp->bytes)
        return 0;
    for (int s = 0; s < sp->n_stages; s++)
        used[s % sp->pp] += space_bytes(sp, s, pos[s], pos[s + 1]);
    for (int r = 0; r < sp->pp; r++)
        over += used[r] > sp->limit_bytes ? used[r] - sp->limit_bytes : 0;
    return over;
}

static bool descent_fits(const struct descent *d, const int *pos)
{
    const struct prove_memory *m = d->p->sp->problem->memory;
    int cuts[PROVE_MAX_STAGES + 1];
    if (!m || !m->fits)
        return true;
    space_units(d->p->sp, pos, cuts);
    return m->fits(m->data, cuts);
}

/* What does not fit first has to fit, at whatever time. */
static bool descent_better(int64_t excess, int64_t step, int64_t than_excess,
                           int64_t than_step)
{
    return excess < than_excess || (excess == than_excess && step < than_step);
}

/* ---- neighbours ---- */

/* Looks at one batch; moves to its best layout if that is better. */
static bool descent_flush(struct descent *d)
{
    int64_t step[LANES_WIDE];
    int best = -1;
    lanes_eval(d->p->lanes, d->p->sp, d->trial, d->n_trial, step);
    for (int i = 0; i < d->n_trial; i++) {
        const int *pos = d->trial + i * d->n;
        int64_t excess = descent_excess(d, pos);
        bool better = descent_better(excess, step[i], d->excess, d->step);
        bool listed = !excess && step[i] <= best_limit(&d->p->best);
        if ((!better && !listed) || (!excess && !descent_fits(d, pos)))
            continue;
        if (!excess)
            best_offer(&d->p->best, pos, step[i]);
        if (!better)
            continue;
        best = i;
        d->step = step[i];
        d->excess = excess;
    }
    d->n_trial = 0;
    if (best >= 0)
        memcpy(d->pos, d->trial + best * d->n, sizeof *d->pos * (size_t)d->n);
    return best >= 0;
}

/* Only the chunks from the one before the run to its last have changed. */
static bool descent_in_space(const struct descent *d, const int *pos, int first,
                             int last)
{
    for (int s = first - 1; s <= last; s++)
        if (pos[s + 1] < pos[s] || pos[s + 1] >= d->l->n_pos || pos[s] < 0 ||
            !live_has(live_arc(d->l, s, pos[s]), pos[s + 1]))
            return false;
    return true;
}

/* One neighbour; true when a batch was full and led to a better layout. */
static bool descent_try(struct descent *d, int first, int last, int by)
{
    int *pos = d->trial + d->n_trial * d->n;
    memcpy(pos, d->pos, sizeof *pos * (size_t)d->n);
    for (int s = first; s <= last; s++)
        pos[s] += by;
    if (!descent_in_space(d, pos, first, last))
        return false;
    return ++d->n_trial == LANES_WIDE && descent_flush(d);
}

/* All neighbours once, moving on from each better one that a batch holds. */
static bool descent_sweep(struct descent *d)
{
    bool moved = false;
    for (int first = 1; first < d->n - 1; first++)
        for (int last = first; last < d->n - 1; last++)
            for (int by = -1; by <= 1; by += 2)
                moved |= descent_try(d, first, last, by);
    return (d->n_trial && descent_flush(d)) || moved;
}

static void descent_walk(struct descent *d)
{
    d->excess = descent_excess(d, d->pos);
    lanes_eval(d->p->lanes, d->p->sp, d->pos, 1, &d->step);
    if (!d->excess && descent_fits(d, d->pos))
        best_offer(&d->p->best, d->pos, d->step);
    else if (!d->excess)
        d->step = INT64_MAX; // any layout that fits is better
    while (descent_sweep(d) && !proof_stop(d->p))
        ;
}

/* ---- starts ---- */

/* The path of the graph whose cuts are nearest to the wished shares (least
 * squares), by dynamic programming; the graph is not empty. */
static bool descent_nearest(struct descent *d, const double *share)
{
    const struct live *l = d->l;
    const struct space *sp = d->p->sp;
    struct arena scratch;
    arena_init(&scratch);
    size_t n_pos = (size_t)l->n_pos;
    double *cost = arena_alloc(&scratch, (size_t)d->n * n_pos, sizeof *cost);
    int *from = arena_alloc(&scratch, (size_t)d->n * n_pos, sizeof *from);
    int last = l->n_pos - 1;
    double all = (double)(sp->sum[SPACE_FWD][last] + sp->sum[SPACE_BWD][last]);
    for (size_t i = 1; cost && i < (size_t)d->n * n_pos; i++)
        cost[i] = INFINITY;
    for (int s = 0; cost && from && s < l->n_stages; s++)
        for (int i = live_first(l, s); i >= 0;
             i = live_next(live_node(l, s), l->words, i + 1))
            for (int to = live_next(live_arc(l, s, i), l->words, i); to >= 0;
                 to = live_next(live_arc(l, s, i), l->words, to + 1)) {
                double x =
                    (double)(sp->sum[SPACE_FWD][to] + sp->sum[SPACE_BWD][to]);
                double off = all > 0 ? x / all - share[s + 1] : 0;
                size_t at = (size_t)(s + 1) * n_pos + (size_t)to;
                double c = cost[(size_t)s * n_pos + (size_t)i] + off * off;
                if (c < cost[at]) {
                    cost[at] = c;
                    from[at] = i;
                }
            }
    d->pos[l->n_stages] = last;
    for (int s = l->n_stages; from && s > 0; s--)
        d->pos[s - 1] = from[(size_t)s * n_pos + (size_t)d->pos[s]];
    bool ok = cost && from;
    arena_clear(&scratch);
    return ok;
}

static bool descent_init(struct arena *a, struct proof *p, const struct live *l,
                         struct descent *d)
{
    size_t n = (size_t)l->n_stages + 1;
    *d = (struct descent){.p = p, .l = l, .n = (int)n};
    d->random = 0x9e3779b97f4a7c15u; // any odd number: the same every time
    d->pos = arena_alloc(a, n, sizeof *d->pos);
    d->trial = arena_alloc(a, n * LANES_WIDE, sizeof *d->trial);
    return d->pos && d->trial;
}

/* Uniform in -1..1 (xorshift64). */
static double descent_random(struct descent *d)
{
    d->random ^= d->random << 13;
    d->random ^= d->random >> 7;
    d->random ^= d->random << 17;
    return (double)(d->random >> 11) / 4503599627370496.0 - 1;
}

/* Chunks of which that of stage s is `weight[s]` large;
 * `tilt` of a chunk is taken from each end, `noise` of a chunk moves each cut.
 */
static void descent_shares(struct descent *d, const double *weight, double tilt,
                           double noise, double *share)
{
    int n = d->n - 1;
    double all = 0, sum = 0;
    for (int s = 0; s < n; s++)
        all += weight[s];
    for (int s = 0; s <= n; s++) {
        double middle = 1 - 2.0 * s / n;
        share[s] = sum / all + (tilt * middle + noise * descent_random(d)) / n;
        sum += s < n ? weight[s] : 0;
    }
}

static bool descent_start(struct descent *d, const double *weight, double tilt,
                          double noise)
{
    double share[PROVE_MAX_STAGES + 1];
    descent_shares(d, weight, tilt, noise, share);
    if (!descent_nearest(d, share))
        return false;
    descent_walk(d);
    return true;
}

/* Where chunks cannot all have the same number of layers, some have one more:
 * those of a run of stages (round the end), beginning at `first`. */
static void descent_run_of(const struct descent *d, int first, double *weight)
{
    int n = d->n - 1, units = d->l->n_pos - 2, base = units / n;
    for (int s = 0; s < n; s++)
        weight[s] = base + ((s - first + n) % n < units % n ? 1 : 0.1);
}

static bool descent_all(struct descent *d, int n_random)
{
    double weight[PROVE_MAX_STAGES];
    int n = d->n - 1, step = (n + DESCENT_N_RUNS - 1) / DESCENT_N_RUNS;
    bool ok = true;
    for (int s = 0; s < n; s++)
        weight[s] = 1;
    for (int i = 0; ok && i < DESCENT_N_TILTS && !d->p->stopped; i++)
        ok = descent_start(d, weight, TILTS[i], 0);
    for (int i = 0; ok && i < n_random && !d->p->stopped; i++)
        ok = descent_start(d, weight, descent_random(d), 0.7);
    for (int first = 0; ok && first < n && !d->p->stopped; first += step) {
        descent_run_of(d, first, weight);
        ok = descent_start(d, weight, 0, 0);
    }
    return ok;
}

enum err descent_run(struct proof *p, const struct live *l, int n_random,
                     struct err_msg *msg)
{
    struct arena scratch;
    struct descent d;
    arena_init(&scratch);
    bool ok = descent_init(&scratch, p, l, &d) && descent_all(&d, n_random);
    arena_clear(&scratch);
    return ok ? ERR_OK : err_set(msg, ERR_NOMEM, "local search: out of memory");
}
