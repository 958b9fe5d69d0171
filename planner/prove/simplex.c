/*
 * How it works. The dual: maximise c.w + (bounds times their multipliers), rows
 * 0: sum of w = 1; 1..n: for each x, multipliers balance g. All columns are
 * non-negative, the right side is the first unit vector (shifted a little to
 * keep pivots from stalling). The basis inverse is kept dense; the prices y
 * are theta and x themselves, so pricing a column is asking how much x violates
 * that row or bound.
 */
#include "simplex.h"

#include "wide.h"

#include <math.h>
#include <string.h>

/* Column ids: rows of the programme first, then bounds by family. */
enum family {
    FAMILY_LO,
    FAMILY_HI,
    FAMILY_LEAST,
    FAMILY_MOST,
    FAMILY_GROUP_LEAST,
    FAMILY_GROUP_MOST
};

static const double TOLERANCE = 1e-7; // rows are scaled to entries of about 1
static const double PIVOT = 1e-8;     // smallest usable pivot
static const double SHIFT = 1e-7;     // of the right side, against stalling
enum {
    SIMPLEX_REFACTOR = 150,
    SIMPLEX_MAX_PIVOTS = 4000,
    SIMPLEX_LANES = 8,
    SIMPLEX_ROW_BLOCK = 32,
    SIMPLEX_CANDIDATES = 32 // rows that are looked at before all are
};

struct simplex {
    int n, m, groups, max_rows, n_rows; // m = n + 1
    int stride;                         // m, rounded up to whole registers
    double *g, *c;                      // [n][max_rows], [max_rows]
    double *slope;                      // [max_rows][stride] g by rows
    double *value;                      // [max_rows] of the rows at x
    int *used; // [max_rows] solve in which it was basic last
    double *lo, *hi, *least, *most, total;
    double *group_least, *group_most;
    int *basis;          // [m] column ids
    bool *basic_row;     // [max_rows]
    double *inverse;     // [m][m]
    double *rhs, *level; // [m] right side, values of the basic columns
    double *y, *column, *dir, *part;
    double *work; // [m][stride]
    int candidate[SIMPLEX_CANDIDATES], n_candidates;
    int n_solves, since_refactor;
    long n_pivots;
    int ray; // column that enters along a ray, -1: none
};

static bool simplex_alloc(struct arena *a, struct simplex *s)
{
    size_t n = (size_t)s->stride, m = (size_t)s->m, rows = (size_t)s->max_rows;
    double **vectors[] = {&s->lo,  &s->hi,    &s->least,       &s->most,
                          &s->rhs, &s->level, &s->y,           &s->column,
                          &s->dir, &s->part,  &s->group_least, &s->group_most};
    bool ok = true;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        // y is also read in whole registers from its second entry on
        *vectors[i] = arena_alloc(a, n + SIMPLEX_LANES, sizeof(double));
        ok = ok && *vectors[i];
    }
    s->g = arena_alloc(a, rows * n, sizeof(double));
    s->c = arena_alloc(a, rows, sizeof(double));
    s->slope = arena_alloc(a, rows * n, sizeof(double));
    s->value = arena_alloc(a, rows, sizeof(double));
    s->used = arena_alloc(a, rows, sizeof(int));
    s->basis = arena_alloc(a, m, sizeof(int));
    s->basic_row = arena_alloc(a, rows, sizeof(bool));
    s->inverse = arena_alloc(a, m * n, sizeof(double));
    s->work = arena_alloc(a, m * n, sizeof(double));
    return ok && s->g && s->c && s->slope && s->value && s->used && s->basis &&
           s->basic_row && s->inverse && s->work;
}

struct simplex *simplex_new(struct arena *a, int n, int groups, int max_rows)
{
    struct simplex *s = arena_alloc(a, 1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct simplex){.n = n,
                          .groups = groups,
                          .m = n + 1,
                          .max_rows = (max_rows + SIMPLEX_ROW_BLOCK - 1) /
                                      SIMPLEX_ROW_BLOCK * SIMPLEX_ROW_BLOCK,
                          .stride = (n + SIMPLEX_LANES) / SIMPLEX_LANES *
                                    SIMPLEX_LANES};
    return simplex_alloc(a, s) ? s : NULL;
}

int simplex_rows(const struct simplex *s)
{
    return s->n_rows;
}

/* ---- columns ---- */

static int simplex_bound_id(const struct simplex *s, enum family f, int i)
{
    return s->max_rows + (int)f * s->m + i;
}

/* The column of a group's sum, and the cost of its bound. */
static double simplex_group_column(struct simplex *s, int group, double sign,
                                   double bound)
{
    double *a = s->column;
    for (int i = group; i <= s->n; i += s->groups) {
        if (i < s->n)
            a[i + 1] += sign;
        if (i > 0)
            a[i] -= sign;
    }
    bool last = s->n % s->groups == group;
    return sign * (bound - (last ? s->total : 0));
}

/* The column of an id into s->column, and its cost. */
static double simplex_column(struct simplex *s, int id)
{
    double *a = s->column;
    memset(a, 0, sizeof *a * (size_t)s->m);
    if (id < s->max_rows) {
        a[0] = 1;
        for (int i = 0; i < s->n; i++)
            a[i + 1] = -s->slope[id * s->stride + i];
        return s->c[id];
    }
    int f = (id - s->max_rows) / s->m, i = (id - s->max_rows) % s->m;
    double sign = f % 2 ? -1 : 1;
    if (f >= FAMILY_GROUP_LEAST)
        return simplex_group_column(s, i, sign,
                                    f == FAMILY_GROUP_LEAST ? s->group_least[i]
                                                            : s->group_most[i]);
    if (f == FAMILY_LO || f == FAMILY_HI) {
        a[i + 1] = sign;
        return sign * (f == FAMILY_LO ? s->lo[i] : s->hi[i]);
    }
    if (i < s->n)
        a[i + 1] = sign;
    if (i > 0)
        a[i] = -sign;
    double width = f == FAMILY_LEAST ? s->least[i] : s->most[i];
    return sign * (width - (i == s->n ? s->total : 0));
}

/* ---- kernels of the basis: nearly all the time goes here ---- */

/* n is a multiple of SIMPLEX_LANES: loops have no rest. */
WIDE static void simplex_add_times(double *restrict to,
                                   const double *restrict from, double times,
                                   int n)
{
    for (int i = 0; i < n; i++)
        to[i] += times * from[i];
}

/* column[j] -= part[j] * dir for all m columns. */
WIDE static void simplex_subtract_outer(double *columns, const double *dir,
                                        const double *part, int m, int stride)
{
    for (int j = 0; j < m; j++) {
        double *restrict column = columns + j * stride;
        double times = part[j];
        for (int i = 0; times != 0 && i < stride; i++)
            column[i] -= times * dir[i];
    }
}

/* value = c + g x, SIMPLEX_ROW_BLOCK rows at a time. */
WIDE static void simplex_price_rows(const struct simplex *s, double *value)
{
    for (int k = 0; k < s->n_rows; k += SIMPLEX_ROW_BLOCK) {
        double sum[SIMPLEX_ROW_BLOCK];
        for (int j = 0; j < SIMPLEX_ROW_BLOCK; j++)
            sum[j] = s->c[k + j];
        for (int i = 0; i < s->n; i++) {
            const double *g = s->g + i * s->max_rows + k;
            double x = s->y[i + 1];
            for (int j = 0; j < SIMPLEX_ROW_BLOCK; j++)
                sum[j] += g[j] * x;
        }
        for (int j = 0; j < SIMPLEX_ROW_BLOCK; j++)
            value[k + j] = sum[j];
    }
}

static double *simplex_inverse(const struct simplex *s, int column)
{
    return s->inverse + (size_t)column * (size_t)s->stride;
}

/* Multiplies the inverse with the right side and the costs: levels and y. */
static void simplex_values(struct simplex *s)
{
    int m = s->m;
    memset(s->level, 0, sizeof *s->level * (size_t)s->stride);
    for (int i = 0; i < m; i++)
        s->dir[i] = simplex_column(s, s->basis[i]); // costs
    for (int j = 0; j < m; j++) {
        const double *column = simplex_inverse(s, j);
        double price = 0;
        simplex_add_times(s->level, column, s->rhs[j], s->stride);
        for (int i = 0; i < m; i++)
            price += s->dir[i] * column[i];
        s->y[j] = price;
    }
}

/* Gauss-Jordan on [work | inverse], both by columns of length m as rows here:
 * the basis is laid out transposed, so that what comes out is too. */
static bool simplex_invert(struct simplex *s)
{
    int m = s->m, n = s->stride;
    for (int k = 0; k < m; k++) {
        int best = k;
        for (int i = k + 1; i < m; i++)
            if (fabs(s->work[i * n + k]) > fabs(s->work[best * n + k]))
                best = i;
        double pivot = s->work[best * n + k];
        if (fabs(pivot) < PIVOT)
            return false;
        for (int j = 0; j < m; j++) {
            double w = s->work[best * n + j], v = s->inverse[best * n + j];
            s->work[best * n + j] = s->work[k * n + j];
            s->inverse[best * n + j] = s->inverse[k * n + j];
            s->work[k * n + j] = w / pivot;
            s->inverse[k * n + j] = v / pivot;
        }
        for (int i = 0; i < m; i++) {
            double times = s->work[i * n + k];
            if (i == k || times == 0)
                continue;
            simplex_add_times(s->work + i * n, s->work + k * n, -times, n);
            simplex_add_times(s->inverse + i * n, s->inverse + k * n, -times,
                              n);
        }
    }
    return true;
}

/* A basis that is always feasible: one row, and for each x the bound that
 * balances its slope. */
static void simplex_start(struct simplex *s)
{
    memset(s->basic_row, 0, sizeof *s->basic_row * (size_t)s->max_rows);
    s->basis[0] = 0;
    s->basic_row[0] = true;
    for (int i = 0; i < s->n; i++) {
        bool up = s->g[i * s->max_rows] >= 0;
        s->basis[i + 1] = simplex_bound_id(s, up ? FAMILY_LO : FAMILY_HI, i);
        /* uneven shifts, so that ties are broken */
        double shift = SHIFT * (1 + (double)(i * 7919 % 101) / 101);
        s->rhs[i + 1] = up ? shift : -shift;
    }
    s->rhs[0] = 1;
}

/* The inverse from scratch: updates drift. A basis that has become singular or
 * infeasible by rounding is given up for the first one. */
static void simplex_refactor(struct simplex *s)
{
    int m = s->m;
    for (int tries = 0; tries < 2; tries++) {
        memset(s->inverse, 0, sizeof *s->inverse * (size_t)(m * s->stride));
        for (int j = 0; j < m; j++) {
            simplex_column(s, s->basis[j]);
            memcpy(s->work + j * s->stride, s->column,
                   sizeof *s->work * (size_t)s->stride);
            simplex_inverse(s, j)[j] = 1;
        }
        if (simplex_invert(s))
            break;
        simplex_start(s); // singular by rounding: begin anew
    }
    s->since_refactor = 0;
    simplex_values(s);
    for (int i = 0; i < m; i++)
        if (s->level[i] < -1e-6) { // drifted out: begin anew
            simplex_start(s);
            s->since_refactor = SIMPLEX_REFACTOR;
            break;
        }
}

int simplex_add(struct simplex *s, const double *g, double c)
{
    if (s->n_rows == s->max_rows)
        return -1;
    int k = s->n_rows++;
    for (int i = 0; i < s->n; i++)
        s->g[i * s->max_rows + k] = s->slope[k * s->stride + i] = g[i];
    s->c[k] = c;
    s->used[k] = s->n_solves;
    s->basic_row[k] = false;
    return k;
}

static bool simplex_keeps(const struct simplex *s, int k, int since)
{
    return s->basic_row[k] || s->used[k] >= since;
}

/* Looks back over 1, 2, 4, ... solves, as far as `keep` rows allow. */
int simplex_purge(struct simplex *s, int keep, int *kept)
{
    int since = s->n_solves + 1, n = 0;
    for (int step = 1; step <= s->n_solves + 1; step *= 2) {
        n = 0;
        for (int k = 0; k < s->n_rows; k++)
            n += simplex_keeps(s, k, s->n_solves + 1 - step);
        if (n > keep)
            break;
        since = s->n_solves + 1 - step;
    }
    n = 0;
    for (int k = 0; k < s->n_rows; k++) {
        if (!simplex_keeps(s, k, since))
            continue;
        for (int i = 0; i < s->n; i++)
            s->g[i * s->max_rows + n] = s->slope[n * s->stride + i] =
                s->slope[k * s->stride + i];
        s->c[n] = s->c[k];
        s->used[n] = s->used[k];
        s->basic_row[n] = s->basic_row[k];
        for (int i = 0; i < s->m; i++)
            s->basis[i] = s->basis[i] == k ? n : s->basis[i];
        kept[n++] = k;
    }
    s->n_rows = n;
    s->n_candidates = 0;
    return n;
}

void simplex_bound(struct simplex *s, const struct simplex_bounds *b)
{
    size_t n = (size_t)s->n;
    memcpy(s->lo, b->lo, n * sizeof *s->lo);
    memcpy(s->hi, b->hi, n * sizeof *s->hi);
    memcpy(s->least, b->least, (n + 1) * sizeof *s->least);
    memcpy(s->most, b->most, (n + 1) * sizeof *s->most);
    s->total = b->total;
    size_t groups = (size_t)s->groups;
    memcpy(s->group_least, b->group_least, groups * sizeof *s->group_least);
    memcpy(s->group_most, b->group_most, groups * sizeof *s->group_most);
}

/* ---- pivots ---- */

static void simplex_offer(double violation, int id, double *worst, int *best)
{
    if (violation > *worst) {
        *worst = violation;
        *best = id;
    }
}

/* Bounds of x and of its differences. */
static int simplex_price_bounds(const struct simplex *s, double *worst)
{
    const double *x = s->y + 1;
    int best = -1;
    for (int i = 0; i < s->n; i++) {
        simplex_offer(s->lo[i] - x[i], simplex_bound_id(s, FAMILY_LO, i), worst,
                      &best);
        simplex_offer(x[i] - s->hi[i], simplex_bound_id(s, FAMILY_HI, i), worst,
                      &best);
    }
    for (int i = 0; i <= s->n; i++) {
        double width = (i < s->n ? x[i] : s->total) - (i > 0 ? x[i - 1] : 0);
        simplex_offer(s->least[i] - width, simplex_bound_id(s, FAMILY_LEAST, i),
                      worst, &best);
        simplex_offer(width - s->most[i], simplex_bound_id(s, FAMILY_MOST, i),
                      worst, &best);
    }
    return best;
}

/* Bounds of the groups' sums. */
static void simplex_price_groups(const struct simplex *s, double *worst,
                                 int *best)
{
    const double *x = s->y + 1;
    for (int g = 0; g < s->groups; g++) {
        double sum = 0;
        for (int i = g; i <= s->n; i += s->groups)
            sum += (i < s->n ? x[i] : s->total) - (i > 0 ? x[i - 1] : 0);
        simplex_offer(s->group_least[g] - sum,
                      simplex_bound_id(s, FAMILY_GROUP_LEAST, g), worst, best);
        simplex_offer(sum - s->group_most[g],
                      simplex_bound_id(s, FAMILY_GROUP_MOST, g), worst, best);
    }
}

/* How much x violates a row. */
WIDE static double simplex_row_at(const struct simplex *s, int k)
{
    // x has n entries; g is 0 behind them
    const double *g = s->slope + k * s->stride, *x = s->y + 1;
    double part[SIMPLEX_LANES] = {0}, sum = s->c[k];
    for (int i = 0; i < s->stride; i += SIMPLEX_LANES)
        for (int j = 0; j < SIMPLEX_LANES; j++)
            part[j] += g[i + j] * x[i + j];
    for (int j = 0; j < SIMPLEX_LANES; j++)
        sum += part[j];
    return sum - s->y[0];
}

/* Of those that were violated when all were looked at last. */
static void simplex_price_few(struct simplex *s, double *worst, int *best)
{
    int n = 0;
    for (int i = 0; i < s->n_candidates; i++) {
        const int k = s->candidate[i];
        const double v = s->basic_row[k] ? 0 : simplex_row_at(s, k);
        if (v > TOLERANCE)
            s->candidate[n++] = k;
        simplex_offer(v, k, worst, best);
    }
    s->n_candidates = n;
}

/* All rows; those nearly as violated as the worst become candidates. */
static void simplex_price_all(struct simplex *s, double *worst, int *best)
{
    const double share = 0.2; // of the worst violation
    simplex_price_rows(s, s->value);
    for (int i = 0; i < s->m; i++)
        if (s->basis[i] < s->max_rows)
            s->value[s->basis[i]] = -INFINITY;
    for (int k = 0; k < s->n_rows; k++)
        simplex_offer(s->value[k] - s->y[0], k, worst, best);
    s->n_candidates = 0;
    for (int k = 0; k < s->n_rows && s->n_candidates < SIMPLEX_CANDIDATES; k++)
        if (s->value[k] - s->y[0] > share * *worst)
            s->candidate[s->n_candidates++] = k;
}

/* A column that x violates much; -1 when none is violated. */
static int simplex_price(struct simplex *s)
{
    double worst = TOLERANCE;
    int best = simplex_price_bounds(s, &worst);
    simplex_price_groups(s, &worst, &best);
    simplex_price_few(s, &worst, &best);
    if (best < 0)
        simplex_price_all(s, &worst, &best);
    return best;
}

/* Harris: among the rows that bind within a tolerance, the largest pivot. */
static int simplex_ratio(const struct simplex *s)
{
    double most = INFINITY, pivot = 0;
    int best = -1;
    for (int i = 0; i < s->m; i++) {
        const double step = (fmax(s->level[i], 0) + 1e-9) / s->dir[i];
        most = s->dir[i] > PIVOT && step < most ? step : most;
    }
    for (int i = 0; i < s->m; i++)
        if (s->dir[i] > PIVOT && fmax(s->level[i], 0) / s->dir[i] <= most &&
            s->dir[i] > pivot) {
            pivot = s->dir[i];
            best = i;
        }
    return best;
}

/* What the basic columns lose when the column enters. */
static void simplex_direction(struct simplex *s)
{
    memset(s->dir, 0, sizeof *s->dir * (size_t)s->stride);
    for (int j = 0; j < s->m; j++)
        if (s->column[j] != 0)
            simplex_add_times(s->dir, simplex_inverse(s, j), s->column[j],
                              s->stride);
}

static void simplex_enter(struct simplex *s, int at, int id)
{
    if (s->basis[at] < s->max_rows) {
        s->basic_row[s->basis[at]] = false;
        s->used[s->basis[at]] = s->n_solves;
    }
    if (id < s->max_rows)
        s->basic_row[id] = true;
    s->basis[at] = id;
    s->since_refactor++;
    s->n_pivots++;
}

/* Column `id` takes the place of basic column `at`. */
static void simplex_pivot(struct simplex *s, int at, int id, double reduced)
{
    int m = s->m;
    double pivot = s->dir[at];
    double level = fmax(s->level[at], 0) / pivot;
    s->dir[at] = 0;
    for (int j = 0; j < m; j++)
        s->part[j] = simplex_inverse(s, j)[at] / pivot;
    simplex_subtract_outer(s->inverse, s->dir, s->part, m, s->stride);
    for (int j = 0; j < m; j++) {
        simplex_inverse(s, j)[at] = s->part[j];
        s->y[j] += reduced * s->part[j];
    }
    simplex_add_times(s->level, s->dir, -level, s->stride);
    s->level[at] = level;
    simplex_enter(s, at, id);
}

/* The dual grows without end along this direction: its weights instead of the
 * basic ones, until the next solve computes those again. */
static void simplex_show_ray(struct simplex *s, int id)
{
    for (int i = 0; i < s->m; i++)
        s->level[i] = fmax(-s->dir[i], 0);
    s->ray = id;
}

enum simplex_end simplex_solve(struct simplex *s, double stop_at)
{
    if (s->n_solves++ == 0)
        simplex_start(s);
    if (s->n_solves == 1 || s->since_refactor >= SIMPLEX_REFACTOR)
        simplex_refactor(s);
    simplex_values(s);
    s->ray = -1;
    for (int n = 0; n < SIMPLEX_MAX_PIVOTS; n++) {
        if (s->since_refactor >= SIMPLEX_REFACTOR)
            simplex_refactor(s);
        if (s->y[0] >= stop_at)
            return SIMPLEX_PASSED;
        int id = simplex_price(s);
        if (id < 0)
            return SIMPLEX_OPTIMAL;
        double reduced = simplex_column(s, id);
        for (int j = 0; j < s->m; j++)
            reduced -= s->y[j] * s->column[j];
        simplex_direction(s);
        int at = simplex_ratio(s);
        if (at < 0) {
            simplex_show_ray(s, id);
            return SIMPLEX_RAY;
        }
        simplex_pivot(s, at, id, reduced);
    }
    return SIMPLEX_STUCK;
}

/* ---- the answer ---- */

double simplex_theta(const struct simplex *s)
{
    return s->y[0];
}

const double *simplex_x(const struct simplex *s)
{
    return s->y + 1;
}

void simplex_weights(const struct simplex *s, double *weight)
{
    memset(weight, 0, sizeof *weight * (size_t)s->n_rows);
    if (s->ray >= 0) // a ray has no rows: their weights sum to one
        return;
    for (int i = 0; i < s->m; i++)
        if (s->basis[i] < s->max_rows)
            weight[s->basis[i]] = fmax(s->level[i], 0);
}

long simplex_pivots(const struct simplex *s)
{
    return s->n_pivots;
}

/* Adds to its group's weight if the column is a bound of a group. */
static void simplex_add_group(const struct simplex *s, int id, double level,
                              double *weight)
{
    int at = id - simplex_bound_id(s, FAMILY_GROUP_LEAST, 0);
    if (at >= 0)
        weight[at % s->m] += (at >= s->m ? 1 : -1) * fmax(level, 0);
}

void simplex_group_weights(const struct simplex *s, double *weight)
{
    memset(weight, 0, sizeof *weight * (size_t)s->groups);
    for (int i = 0; i < s->m; i++)
        simplex_add_group(s, s->basis[i], s->level[i], weight);
    if (s->ray >= 0)
        simplex_add_group(s, s->ray, 1, weight);
}
