/*
 * How it works. Rank and null space come from the singular values of the matrix
 * with columns of length 1, so that units of seconds do not decide what is
 * small. The non-negative fit is the active-set method of Lawson and Hanson
 * 1974, chapter 23: columns enter one by one as long as the residual falls
 * along them, and leave when they would become negative. Problems have some ten
 * columns and some hundred rows, so that each step solves the passive columns
 * afresh (QR).
 */
#include "lsq.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RANK_TOLERANCE = 1e-9; // relative to the largest value

/* What OpenBLAS maps for its buffer, and a little. */
enum { LSQ_ROOM_BYTES = (128 << 20) + (1 << 20) };

/* Where it gets no buffer OpenBLAS asks again without end, so that a limit of
 * address space would be a hang: it is asked for here before the first call. */
static enum err lsq_room(struct err_msg *msg)
{
    static bool is_there; // the buffer is kept
    if (is_there)
        return ERR_OK;
    void *volatile room = malloc(LSQ_ROOM_BYTES);
    is_there = room != NULL;
    free(room);
    return is_there ? ERR_OK
                    : err_set(msg, ERR_NOMEM,
                              "least squares: out of memory: OpenBLAS wants "
                              "128 MiB of address space (ulimit -v)");
}

/* Column lengths; a column of zeros counts as length 1. */
static void column_lengths(const struct lsq_problem *p, double *len)
{
    for (int j = 0; j < p->n_cols; j++) {
        double sum = 0;
        for (int i = 0; i < p->n_rows; i++)
            sum += p->a[i * p->n_cols + j] * p->a[i * p->n_cols + j];
        len[j] = sum > 0 ? sqrt(sum) : 1;
    }
}

/* An unknown is determined when no direction that leaves all rows unchanged has
 * a part in it. */
static void read_rank(const struct lsq_problem *p, const double *sv,
                      int n_values, const double *vt, struct lsq_rank *out)
{
    const int n = p->n_cols;
    out->rank = 0;
    while (out->rank < n_values && sv[out->rank] > RANK_TOLERANCE * sv[0])
        out->rank++;
    out->condition = out->rank == n && n ? sv[0] / sv[n - 1] : (double)INFINITY;
    for (int j = 0; j < n; j++) {
        double null_part = 0;
        for (int k = out->rank; k < n; k++)
            null_part += vt[k * n + j] * vt[k * n + j];
        out->determined[j] = null_part < 1e-10; // rounding of a unit vector
    }
}

enum err lsq_rank(struct arena *a, const struct lsq_problem *p,
                  struct lsq_rank *out, struct err_msg *msg)
{
    const int m = p->n_rows, n = p->n_cols, k = m < n ? m : n;
    size_t cells = (size_t)m * (size_t)n;
    double *scaled = arena_alloc(a, cells, sizeof *scaled);
    double *sv = arena_alloc(a, (size_t)n, sizeof *sv);
    double *vt = arena_alloc(a, (size_t)n * (size_t)n, sizeof *vt);
    double *work = arena_alloc(a, (size_t)n, sizeof *work);
    double len[LSQ_MAX_COLS];
    if (!scaled || !sv || !vt || !work)
        return err_set(msg, ERR_NOMEM, "least squares: out of memory");
    const enum err e = lsq_room(msg);
    if (e != ERR_OK)
        return e;
    column_lengths(p, len);
    for (size_t i = 0; i < cells; i++)
        scaled[i] = p->a[i] / len[i % (size_t)n];
    double unused = 0;
    int info = LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'A', m, n, scaled, n, sv,
                              &unused, 1, vt, n, work);
    if (info != 0)
        return err_set(msg, ERR_MODEL, "least squares: no singular values");
    read_rank(p, sv, k, vt, out);
    return ERR_OK;
}

/* Scratch of one solve. */
struct solver {
    const struct lsq_problem *p;
    double *sub, *rhs; // the passive columns, the right side
    bool passive[LSQ_MAX_COLS];
    double x[LSQ_MAX_COLS];
};

static int passive_columns(const struct solver *s, int *columns)
{
    int n = 0;
    for (int j = 0; j < s->p->n_cols; j++)
        if (s->passive[j])
            columns[n++] = j;
    return n;
}

static void lsq_gather(const struct solver *s, const int *columns, int n)
{
    const struct lsq_problem *p = s->p;
    for (int i = 0; i < p->n_rows; i++)
        for (int j = 0; j < n; j++)
            s->sub[i * n + j] = p->a[i * p->n_cols + columns[j]];
    memcpy(s->rhs, p->b, (size_t)p->n_rows * sizeof *s->rhs);
}

/* Least squares over the passive columns; z is 0 elsewhere. */
static bool solve_passive(const struct solver *s, double *z)
{
    int columns[LSQ_MAX_COLS];
    int n = passive_columns(s, columns);
    memset(z, 0, LSQ_MAX_COLS * sizeof *z);
    if (n == 0)
        return true;
    lsq_gather(s, columns, n);
    if (LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', s->p->n_rows, n, 1, s->sub, n,
                      s->rhs, 1) != 0)
        return false;
    for (int j = 0; j < n; j++)
        z[columns[j]] = s->rhs[j];
    return true;
}

static double lsq_residual(const struct solver *s, int row)
{
    double r = s->p->b[row];
    for (int j = 0; j < s->p->n_cols; j++)
        r -= s->p->a[row * s->p->n_cols + j] * s->x[j];
    return r;
}

/* Column at the bound along which the residual falls fastest, or -1. */
static int entering_column(const struct solver *s)
{
    const struct lsq_problem *p = s->p;
    double len[LSQ_MAX_COLS], best = 1e-12;
    int column = -1;
    column_lengths(p, len);
    double scale = 0;
    for (int i = 0; i < p->n_rows; i++)
        scale += p->b[i] * p->b[i];
    scale = scale > 0 ? sqrt(scale) : 1;
    for (int j = 0; j < p->n_cols; j++) {
        double w = 0;
        for (int i = 0; i < p->n_rows && !s->passive[j]; i++)
            w += p->a[i * p->n_cols + j] * lsq_residual(s, i);
        if (!s->passive[j] && w / (len[j] * scale) > best) {
            best = w / (len[j] * scale);
            column = j;
        }
    }
    return column;
}

/* Moves x towards z as far as it stays non-negative and drops the columns
 * that reach the bound; false when z was reached. */
static bool step_back(struct solver *s, const double *z)
{
    double alpha = 1;
    for (int j = 0; j < s->p->n_cols; j++)
        if (s->passive[j] && z[j] <= 0) {
            double limit = s->x[j] / (s->x[j] - z[j]);
            alpha = limit < alpha ? limit : alpha;
        }
    bool dropped = false;
    for (int j = 0; j < s->p->n_cols; j++) {
        if (!s->passive[j])
            continue;
        s->x[j] += alpha * (z[j] - s->x[j]);
        if (z[j] <= 0 && s->x[j] <= 1e-15 * fabs(z[j])) {
            s->x[j] = 0;
            s->passive[j] = false;
            dropped = true;
        }
    }
    return dropped;
}

/* Ends by itself for exact numbers; the bound on rounds is against rounding. */
static bool lsq_iterate(struct solver *s)
{
    double z[LSQ_MAX_COLS];
    for (int round = 0; round < 10 * LSQ_MAX_COLS; round++) {
        int column = entering_column(s);
        if (column < 0)
            return true;
        s->passive[column] = true;
        do {
            if (!solve_passive(s, z))
                return false;
        } while (step_back(s, z));
        if (!s->passive[column] && s->x[column] <= 0)
            return true; // rounding: it cannot enter
    }
    return true;
}

/* Standard errors from (A'A)^-1 over the passive columns. */
static bool standard_errors(const struct solver *s, struct lsq_solution *out)
{
    int columns[LSQ_MAX_COLS];
    int n = passive_columns(s, columns), m = s->p->n_rows;
    out->degrees_of_freedom = m - n;
    double rss = 0;
    for (int i = 0; i < m; i++)
        rss += lsq_residual(s, i) * lsq_residual(s, i);
    out->variance = m > n ? rss / (m - n) : 1;
    if (n == 0)
        return true;
    lsq_gather(s, columns, n);
    double ata[LSQ_MAX_COLS * LSQ_MAX_COLS];
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            ata[j * n + k] = 0;
            for (int i = 0; i < m; i++)
                ata[j * n + k] += s->sub[i * n + j] * s->sub[i * n + k];
        }
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', n, ata, n) != 0 ||
        LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'U', n, ata, n) != 0)
        return false;
    for (int j = 0; j < n; j++)
        out->se[columns[j]] = sqrt(out->variance * ata[j * n + j]);
    return true;
}

enum err lsq_nnls(struct arena *a, const struct lsq_problem *p,
                  struct lsq_solution *out, struct err_msg *msg)
{
    struct solver s = {.p = p};
    s.sub =
        arena_alloc(a, (size_t)p->n_rows * (size_t)p->n_cols, sizeof *s.sub);
    int longer = p->n_rows > p->n_cols ? p->n_rows : p->n_cols;
    s.rhs = arena_alloc(a, (size_t)longer, sizeof *s.rhs);
    if (!s.sub || !s.rhs)
        return err_set(msg, ERR_NOMEM, "least squares: out of memory");
    const enum err e = lsq_room(msg);
    if (e != ERR_OK)
        return e;
    *out = (struct lsq_solution){0};
    if (!lsq_iterate(&s) || !standard_errors(&s, out))
        return err_set(msg, ERR_MODEL,
                       "least squares: the rows do not determine the unknowns");
    memcpy(out->x, s.x, sizeof out->x);
    return ERR_OK;
}

enum err lsq_unit_errors(struct arena *a, const struct lsq_problem *p,
                         double se[LSQ_MAX_COLS], struct err_msg *msg)
{
    const int n = p->n_cols;
    double len[LSQ_MAX_COLS];
    double *ata = arena_alloc(a, (size_t)n * (size_t)n + 1, sizeof *ata);
    if (!ata)
        return err_set(msg, ERR_NOMEM, "least squares: out of memory");
    const enum err e = lsq_room(msg);
    if (e != ERR_OK)
        return e;
    column_lengths(p, len);
    for (int i = 0; i < p->n_rows; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                ata[j * n + k] +=
                    p->a[i * n + j] / len[j] * p->a[i * n + k] / len[k];
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', n, ata, n) != 0 ||
        LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'U', n, ata, n) != 0)
        return err_set(msg, ERR_MODEL,
                       "least squares: the rows do not determine the unknowns");
    for (int j = 0; j < n; j++)
        se[j] = sqrt(ata[j * n + j]) / len[j];
    return ERR_OK;
}

/* Two-sided 95% quantiles of Student's t; beyond 30 the first term of its
 * expansion in 1/dof, right to 0.1%. */
double lsq_t95(int dof)
{
    static const double t[] = {
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    const int n = (int)(sizeof t / sizeof t[0]);
    if (dof > n)
        return 1.96 + 2.46 / dof;
    return t[(dof < 1 ? 1 : dof) - 1];
}
