/*
 * How it works. A small linear programme over the positions of the cuts (as
 * real numbers) finds chunk times at which many paths are equally long; its
 * rows are paths, found by simulating the programme's own solution. Its dual is
 * a mix of paths, which the exact dynamic programme turns into dropped chunks.
 * The programme lies wherever times are not linear in x (around units of
 * unequal kind); that costs strength, never truth.
 */
#include "proof.h"

#include <math.h>
#include <string.h>

/* Solutions are simulated in this share of a nanosecond. */
static const double FINE = 256;
/* Duals become integers that sum to about this. */
static const double MIX_TOTAL = 1 << 20;
static const double CLOSE = 1e-7; // of theta: the solution is simulated exactly
enum { RELAX_POINTS = 400, RELAX_PRUNE_EVERY = 3, RELAX_KEEP_ROWS = 200 };

struct relax {
    int64_t *value; // [SPACE_N_SUMS][n_stages]
    int32_t *count; // [SPACE_N_SUMS * n_stages]
    double *g, *weights;
    int *kept;
    double *lo, *hi, *least, *most;
    double *group_least, *group_most;
    struct proof_mix mix;
};

static double relax_x(const struct proof *p, int pos)
{
    return (double)(p->sp->sum[SPACE_FWD][pos] + p->sp->sum[SPACE_BWD][pos]) /
           p->x_unit;
}

/* Each sum at each cut as a line in x, through the ends of the cut's range. */
static void relax_fit_lines(struct proof *p, const struct live *l)
{
    int n = p->sp->n_stages + 1;
    for (int s = 0; s < n; s++) {
        int a = live_first(l, s), b = live_last(l, s);
        double xa = relax_x(p, a), xb = relax_x(p, b);
        for (int j = 0; j < SPACE_N_SUMS; j++) {
            double va = (double)p->sp->sum[j][a], vb = (double)p->sp->sum[j][b];
            double slope = xb > xa ? (vb - va) / (xb - xa) : 0;
            p->slope[j * n + s] = slope;
            p->at[j * n + s] = va - slope * xa;
        }
    }
}

enum err proof_relax_init(struct proof *p, struct err_msg *msg)
{
    size_t stages = (size_t)p->sp->n_stages, n = stages + 1;
    struct arena *a = p->arena;
    struct relax *r = arena_alloc(a, 1, sizeof *r);
    if (!r)
        return err_set(msg, ERR_NOMEM, "relaxation: out of memory");
    p->relax = r;
    r->value = arena_alloc(a, SPACE_N_SUMS * stages, sizeof *r->value);
    r->count = arena_alloc(a, SPACE_N_SUMS * stages, sizeof *r->count);
    r->mix.count = arena_alloc(a, SPACE_N_SUMS * stages, sizeof(int64_t));
    r->g = arena_alloc(a, n, sizeof(double));
    r->lo = arena_alloc(a, n, sizeof(double));
    r->hi = arena_alloc(a, n, sizeof(double));
    r->least = arena_alloc(a, n, sizeof(double));
    r->most = arena_alloc(a, n, sizeof(double));
    r->group_least = arena_alloc(a, n, sizeof(double));
    r->group_most = arena_alloc(a, n, sizeof(double));
    r->weights = arena_alloc(a, PROOF_ROWS, sizeof(double));
    r->kept = arena_alloc(a, PROOF_ROWS, sizeof(int));
    p->row = arena_alloc(a, PROOF_ROWS * SPACE_N_SUMS * stages, sizeof *p->row);
    p->at = arena_alloc(a, SPACE_N_SUMS * n, sizeof(double));
    p->slope = arena_alloc(a, SPACE_N_SUMS * n, sizeof(double));
    p->lp = simplex_new(a, (int)stages - 1, p->sp->pp, PROOF_ROWS);
    if (!r->value || !r->count || !r->mix.count || !r->g || !r->lo || !r->hi ||
        !r->least || !r->most || !r->group_least || !r->group_most ||
        !r->weights || !r->kept || !p->row || !p->at || !p->slope || !p->lp)
        return err_set(msg, ERR_NOMEM, "relaxation: out of memory");
    return ERR_OK;
}

/* Units of x and theta that make slopes about one: an average chunk, and all
 * micro-batches of one. */
static void relax_scale(struct proof *p, const struct live *l)
{
    int last = p->sp->n_pos - 1;
    double all =
        (double)(p->sp->sum[SPACE_FWD][last] + p->sp->sum[SPACE_BWD][last]);
    p->x_unit = all > 0 ? all / p->sp->n_stages : 1;
    p->step_unit = p->x_unit * p->sp->problem->order.n_mb;
    relax_fit_lines(p, l);
}

/* ---- rows ---- */

static size_t relax_row_size(const struct proof *p)
{
    return (size_t)(SPACE_N_SUMS * p->sp->n_stages);
}

/* The rows that were basic lately stay, with their counts. */
static void relax_make_room(struct proof *p)
{
    struct relax *r = p->relax;
    size_t size = relax_row_size(p);
    int n = simplex_purge(p->lp, RELAX_KEEP_ROWS, r->kept);
    for (int k = 0; k < n; k++)
        memmove(p->row + (size_t)k * size, p->row + (size_t)r->kept[k] * size,
                size * sizeof *p->row);
}

void proof_relax_add(struct proof *p, const int32_t *count)
{
    struct relax *r = p->relax;
    int n = p->sp->n_stages;
    double c = 0;
    memset(r->g, 0, sizeof *r->g * (size_t)n);
    if (simplex_rows(p->lp) == PROOF_ROWS)
        relax_make_room(p);
    for (int cut = 0; cut <= n; cut++)
        for (int j = 0; j < SPACE_N_SUMS; j++) {
            double times = (cut > 0 ? count[j * n + cut - 1] : 0) -
                           (cut < n ? count[j * n + cut] : 0);
            c += times * p->at[j * (n + 1) + cut];
            if (cut > 0 && cut < n)
                r->g[cut - 1] +=
                    times * p->slope[j * (n + 1) + cut] / p->step_unit;
            else
                c += times * p->slope[j * (n + 1) + cut] *
                     relax_x(p, cut ? p->sp->n_pos - 1 : 0);
        }
    int k = simplex_add(p->lp, r->g, c / p->step_unit);
    if (k >= 0)
        memcpy(p->row + (size_t)k * relax_row_size(p), count,
               relax_row_size(p) * sizeof *count);
}

/* Chunk times at x, and the critical path there; its length as a theta. */
static double relax_simulate(struct proof *p, const double *x)
{
    struct relax *r = p->relax;
    int n = p->sp->n_stages;
    struct lanes_times t;
    for (int j = 0; j < SPACE_N_SUMS; j++) {
        int64_t *value = r->value + j * n;
        const double *at = p->at + j * (n + 1), *slope = p->slope + j * (n + 1);
        double last = 0;
        for (int s = 0; s < n; s++) {
            double here = s + 1 < n ? at[s + 1] + slope[s + 1] * x[s]
                                    : (double)p->sp->sum[j][p->sp->n_pos - 1];
            double v = here - last;
            bool saving = j == SPACE_SAVE_FWD || j == SPACE_SAVE_BWD;
            v = saving ? fmin(v, 0) : fmax(v, 0);
            value[s] = (int64_t)(v * FINE);
            last = here;
        }
        t.value[j] = value;
    }
    int64_t length = lanes_path(p->lanes, &t, false, r->count);
    return (double)length / FINE / p->step_unit;
}

/* ---- bounds from the graph ---- */

static int relax_last_bit(const uint64_t *mask, int words)
{
    int w = words - 1;
    while (w > 0 && !mask[w])
        w--;
    return w * LIVE_WORD + 63 - __builtin_clzll(mask[w]);
}

/* Shortest and longest live chunk of the stage, in x: times grow with
 * positions, so the ends of each node's arcs decide. */
static void relax_widths(struct proof *p, const struct live *l, int s)
{
    struct relax *r = p->relax;
    const uint64_t *node = live_node(l, s);
    double least = INFINITY, most = 0;
    for (int i = live_next(node, l->words, 0); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, s, i);
        double x = relax_x(p, i);
        least = fmin(least, relax_x(p, live_next(arc, l->words, i)) - x);
        most = fmax(most, relax_x(p, relax_last_bit(arc, l->words)) - x);
    }
    r->least[s] = least;
    r->most[s] = most;
}

static void relax_set_bounds(struct proof *p, const struct live *l)
{
    struct relax *r = p->relax;
    for (int s = 0; s < l->n_stages; s++) {
        relax_widths(p, l, s);
        if (s > 0) {
            r->lo[s - 1] = relax_x(p, live_first(l, s));
            r->hi[s - 1] = relax_x(p, live_last(l, s));
        }
    }
    for (int g = 0; g < l->pp; g++) {
        r->group_least[g] = (double)live_load(l, g)[0] / p->x_unit;
        r->group_most[g] = (double)live_load(l, g)[1] / p->x_unit;
    }
    simplex_bound(
        p->lp, &(struct simplex_bounds){.lo = r->lo,
                                        .hi = r->hi,
                                        .least = r->least,
                                        .most = r->most,
                                        .group_least = r->group_least,
                                        .group_most = r->group_most,
                                        .total = relax_x(p, p->sp->n_pos - 1)});
}

/* ---- solving ---- */

/* Any layout's path, so that the programme has a row. */
static void relax_first_row(struct proof *p, const struct live *l)
{
    double x[PROVE_MAX_STAGES];
    if (simplex_rows(p->lp))
        return;
    relax_scale(p, l);
    for (int s = 1; s < l->n_stages; s++)
        x[s - 1] =
            (relax_x(p, live_first(l, s)) + relax_x(p, live_last(l, s))) / 2;
    relax_simulate(p, x);
    proof_relax_add(p, p->relax->count);
}

/* Adds the bounds of ranks' loads that the dual uses: load <= most, times what
 * it is worth, or load >= least. */
static void relax_mix_loads(struct proof *p, const struct live *l, double scale)
{
    struct relax *r = p->relax;
    int n = p->sp->n_stages;
    simplex_group_weights(p->lp, r->weights);
    for (int g = 0; g < l->pp; g++) {
        int64_t times =
            (int64_t)(r->weights[g] * scale * p->sp->problem->order.n_mb);
        for (int s = g; times && s < n; s += l->pp) {
            r->mix.count[SPACE_FWD * n + s] += times;
            r->mix.count[SPACE_BWD * n + s] += times;
        }
        r->mix.extra += times * live_load(l, g)[times > 0];
    }
}

/* The dual as integers, on a scale that the programmes cannot overflow. */
static const struct proof_mix *relax_mix(struct proof *p, const struct live *l)
{
    struct relax *r = p->relax;
    size_t size = relax_row_size(p);
    double most = (double)p->best.slowest_ns * p->sp->n_stages + 1;
    double scale = fmin(MIX_TOTAL, (double)PROOF_INFINITE / 8 / most);
    scale = fmax(scale, 1);
    memset(r->mix.count, 0, size * sizeof *r->mix.count);
    r->mix.total = r->mix.extra = 0;
    simplex_weights(p->lp, r->weights);
    for (int k = 0; k < simplex_rows(p->lp); k++) {
        int64_t times = (int64_t)(r->weights[k] * scale + 0.5);
        for (size_t i = 0; times && i < size; i++)
            r->mix.count[i] += times * p->row[(size_t)k * size + i];
        r->mix.total += times;
    }
    relax_mix_loads(p, l, scale);
    return &r->mix;
}

/* What became of one solution of the programme. */
enum relax_end {
    RELAX_ON,      // a row was added
    RELAX_STALLED, // nothing to add, or no use
    RELAX_EMPTY    // no layout is left
};

/* Simulates the programme's solution and adds its path as a row; its length,
 * or theta itself when the programme knows that path. */
static double relax_separate(struct proof *p)
{
    double theta = simplex_theta(p->lp);
    double length = relax_simulate(p, simplex_x(p->lp));
    if (length <= theta * (1 + CLOSE))
        return theta;
    proof_relax_add(p, p->relax->count);
    return length;
}

/* Drops chunks by the dual mix; the number, -1 when no layout is left. */
static int relax_prune(struct proof *p, struct live *l)
{
    int dropped = proof_prune(p, l, relax_mix(p, l));
    if (dropped < 0 || (dropped && !proof_prune_memory(p, l)))
        return -1;
    if (dropped)
        relax_set_bounds(p, l);
    return dropped;
}

/* Solves and looks for a row. Chunks are dropped when that ends, and from time
 * to time before. */
static enum relax_end relax_step(struct proof *p, struct live *l, int number)
{
    double limit = (double)proof_limit(p) / p->step_unit;
    bool over = simplex_solve(p->lp, limit * (1 + 1e-9)) != SIMPLEX_OPTIMAL;
    int dropped = 0;
    if (over || number % RELAX_PRUNE_EVERY == RELAX_PRUNE_EVERY - 1)
        dropped = relax_prune(p, l);
    if (dropped < 0)
        return RELAX_EMPTY;
    if (!over) {
        over = relax_separate(p) <= limit;
        dropped += over ? relax_prune(p, l) : 0;
    }
    return dropped < 0        ? RELAX_EMPTY
           : over && !dropped ? RELAX_STALLED
                              : RELAX_ON;
}

enum proof_end proof_relax(struct proof *p, struct live *l)
{
    relax_first_row(p, l);
    relax_set_bounds(p, l);
    for (int n = 0; n < RELAX_POINTS && !proof_stop(p); n++) {
        enum relax_end end = relax_step(p, l, n);
        if (end == RELAX_EMPTY)
            return PROOF_REFUTED;
        if (end == RELAX_STALLED)
            break;
    }
    return PROOF_OPEN;
}

int64_t proof_relax_bound(struct proof *p, const struct live *l)
{
    relax_first_row(p, l);
    relax_set_bounds(p, l);
    for (int n = 0; n < RELAX_POINTS && !proof_stop(p); n++) {
        if (simplex_solve(p->lp, INFINITY) != SIMPLEX_OPTIMAL ||
            relax_separate(p) <= simplex_theta(p->lp))
            break;
    }
    const struct proof_mix *mix = relax_mix(p, l);
    int64_t least = proof_least(p, l, mix);
    return mix->total ? (least + mix->total - 1) / mix->total : 0;
}
