/*
 * How it works: step_system_linearise() asks each row's simulator for its
 * slopes by central differences; step_system_choose() is Gram-Schmidt in the
 * columns' order; the least-squares problem has rows for priors and timers
 * beside those of steps.
 */
#include "step_system.h"

#include <math.h>
#include <string.h>

static const double STEP_SYSTEM_CONSTANT = 0.05; // of a step: what a constant
                                                 // may be if nothing tells
static const double STEP_FIT_NEW = 5e-3;   // part of a column that must be new
static const double STEP_FIT_NUDGE = 1e-4; // of a price's scale, for slopes

/* Central difference: at a bend, the mean of both sides. */
static enum err slope(struct step_work *w, struct observed *o, int column,
                      double *out, struct err_msg *msg)
{
    struct step_column *c = &w->f->column[column];
    const double x = c->x, by = STEP_FIT_NUDGE * fmax(x, w->scale[column]);
    double less = 0, more = 0;
    *out = 0;
    if (!step_prices_is_of(c, o) || by <= 0)
        return ERR_OK;
    c->x = x - by;
    enum err e = step_fit_step(w->f, o, &less, msg);
    c->x = x + by;
    if (e == ERR_OK)
        e = step_fit_step(w->f, o, &more, msg);
    c->x = x;
    *out = (more - less) / (2 * by);
    return e;
}

/* Rows of one configuration have the same slopes. */
static const double *same_row(const struct step_work *w, int row)
{
    for (int i = 0; i < row; i++)
        if (w->rows->row[i].of == w->rows->row[row].of)
            return w->design + (size_t)i * (size_t)w->f->n_columns;
    return NULL;
}

/* A step is its slopes times the prices and a rest. Rows of one configuration
 * have the same, and are worked out once. */
enum err step_system_linearise(struct step_work *w, struct err_msg *msg)
{
    const size_t n = (size_t)w->f->n_columns;
    for (int i = 0; i < w->rows->n; i++) {
        struct observed *o = w->rows->row[i].of;
        double *to = w->design + (size_t)i * n, step = 0;
        const double *from = same_row(w, i);
        enum err e = from ? ERR_OK : step_fit_step(w->f, o, &step, msg);
        if (from) {
            memcpy(to, from, n * sizeof *to);
            w->rest_s[i] = w->rest_s[(size_t)(from - w->design) / n];
            continue;
        }
        for (size_t j = 0; j < n && e == ERR_OK; j++) {
            e = slope(w, o, (int)j, &to[j], msg);
            step -= to[j] * w->f->column[j].x;
        }
        if (e != ERR_OK)
            return e;
        w->rest_s[i] = step;
    }
    return ERR_OK;
}

/* ---- the system ---- */

static double *add_row(struct step_system *s, double b)
{
    double *row = s->a + (size_t)s->n_rows * (size_t)s->n_cols;
    s->b[s->n_rows++] = b;
    return row;
}

/* The place of a used column in the system, or -1. */
static int system_place(const struct step_system *s, const struct step_fit *f,
                        const struct step_column *c)
{
    for (int j = 0; j < s->n_cols && c; j++)
        if (&f->column[s->at[j]] == c)
            return j;
    return -1;
}

/* Free rates around the group's FLOPs rate: one row a group, together as
 * strong as one. The unit's last price makes it relative. */
static void add_priors(const struct step_work *w, struct step_system *s)
{
    const struct step_fit *f = w->f;
    const double weight =
        1 / f->options.prior_rel / sqrt(fmax(1, w->rows->n_groups));
    for (int i = 0; i < w->rows->n; i++) {
        const struct observed *o = w->rows->row[i].of;
        bool first = true;
        for (int k = 0; k < i; k++)
            first = first && w->rows->row[k].of->group != o->group;
        const struct step_column *unit =
            step_prices_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
        const int base = system_place(s, f, unit);
        const bool any = first && base >= 0 && unit->x > 0;
        for (int j = 0; j < s->n_cols && any; j++) {
            const struct step_column *c = &f->column[s->at[j]];
            if (c->kind != STEP_COLUMN_FREE || !step_prices_is_of(c, o) ||
                c->unit == KIND_E || !(f->options.prior_of_all || c->tied))
                continue;
            double *row = add_row(s, 0);
            row[j] = weight * o->size[observed_base(o)] / unit->x;
            row[base] = -weight / unit->x;
        }
    }
}

/* A constant that the rows do not tell apart is a part of a step. */
static void add_constants(const struct step_work *w, struct step_system *s)
{
    for (int j = 0; j < s->n_cols; j++) {
        const struct step_column *c = &w->f->column[s->at[j]];
        if (c->kind == STEP_COLUMN_CONSTANT && c->tied)
            add_row(s, 0)[j] =
                1 / (STEP_SYSTEM_CONSTANT * w->rows->row[0].meas_s);
    }
}

/* What timers say of a unit, of the one group that they are of. */
static void add_timers(const struct step_work *w, struct step_system *s)
{
    const struct observed *o = w->rows->row[0].of;
    for (int j = 0; j < s->n_cols; j++) {
        const struct step_column *c = &w->f->column[s->at[j]];
        const bool is_base = c->kind == STEP_COLUMN_UNIT;
        const enum unit_kind k = is_base ? observed_base(o) : c->unit;
        const struct unit_cost *t = &w->f->options.timers->unit[k];
        if (!t->known || (!is_base && c->kind != STEP_COLUMN_FREE))
            continue;
        const double se =
            fmax(fmax(t->fwd_se, t->bwd_se), STEP_FIT_NOISE * t->fwd_s);
        if (se <= 0)
            continue;
        add_row(s, t->fwd_s / se)[j] = (is_base ? 1 : o->size[k]) / se;
    }
}

/* Steps first, each divided by its error, so that squares can be added; priors,
 * constants and timers behind them. */
bool step_system_make(const struct step_work *w, struct step_system *s)
{
    const struct step_fit *f = w->f;
    s->n_cols = s->n_rows = 0;
    for (int j = 0; j < f->n_columns; j++)
        if (f->column[j].used)
            s->at[s->n_cols++] = j;
    // a step, its group's priors, and constants; timers
    const size_t most = (size_t)w->rows->n * (2 + N_KINDS) + N_KINDS + 1;
    s->a = arena_alloc(w->arena, most * (size_t)(s->n_cols + 1), sizeof *s->a);
    s->b = arena_alloc(w->arena, most, sizeof *s->b);
    if (!s->a || !s->b)
        return false;
    for (int i = 0; i < w->rows->n; i++) {
        const double by = 1 / (STEP_FIT_NOISE * w->rows->row[i].meas_s);
        if (w->skip && w->skip[i])
            continue;
        double *row = add_row(s, by * (w->rows->row[i].meas_s - w->rest_s[i]));
        for (int j = 0; j < s->n_cols; j++)
            row[j] =
                by *
                w->design[(size_t)i * (size_t)f->n_columns + (size_t)s->at[j]];
    }
    s->n_measured = s->n_rows;
    if (f->options.prior_rel > 0)
        add_priors(w, s);
    add_constants(w, s);
    if (f->options.timers)
        add_timers(w, s);
    return true;
}

/* ---- which unknowns ---- */

static double dot(const struct step_system *s, const double *x, int column)
{
    double sum = 0;
    for (int i = 0; i < s->n_rows; i++)
        sum += x[i] * s->a[(size_t)i * (size_t)s->n_cols + (size_t)column];
    return sum;
}

/* What of a column is new to those taken. */
struct step_news {
    double length; // one over the error with which the rows tell it
    double part;   // of the column's length
};

/* Leaves the new direction in q. */
static struct step_news new_part(const struct step_system *s, int column,
                                 double *const *taken, double *q)
{
    double length = 0, left = 0;
    for (int i = 0; i < s->n_rows; i++)
        q[i] = s->a[(size_t)i * (size_t)s->n_cols + (size_t)column];
    for (int i = 0; i < s->n_rows; i++)
        length += q[i] * q[i];
    // twice is enough against rounding
    for (int again = 0; again < 2; again++)
        for (int t = 0; taken[t]; t++) {
            double part = 0;
            for (int i = 0; i < s->n_rows; i++)
                part += q[i] * taken[t][i];
            for (int i = 0; i < s->n_rows; i++)
                q[i] -= part * taken[t][i];
        }
    for (int i = 0; i < s->n_rows; i++)
        left += q[i] * q[i];
    for (int i = 0; i < s->n_rows && left > 0; i++)
        q[i] /= sqrt(left);
    return (struct step_news){sqrt(left), length > 0 ? sqrt(left / length) : 0};
}

/* Do the rows say more of it than what is supposed of every run? Where all wait
 * for one stage, a constant or the embedding takes the place of that stage's
 * units: on paths of these rows, and of no others. An embedding is no half of a
 * layer, a constant a small part of a step. */
static bool is_worth(const struct step_work *w, const struct step_column *c,
                     double length)
{
    const struct step_fit_options *o = &w->f->options;
    const struct observed *of = w->rows->row[0].of;
    const struct step_column *unit =
        step_prices_find(w->f, STEP_COLUMN_UNIT, of->group, KIND_T);
    if (o->prior_rel <= 0 || o->prior_of_all)
        return true;
    if (c->kind == STEP_COLUMN_CONSTANT)
        return length * STEP_SYSTEM_CONSTANT * w->rows->row[0].meas_s > 1;
    if (c->kind == STEP_COLUMN_FREE && c->unit == KIND_E)
        return length * o->prior_rel * unit->x > of->size[KIND_E];
    return true;
}

/* A free unit that is tied after all costs what its FLOPs do: its slopes go to
 * the group's unit. An embedding has no FLOPs. */
static void fold(struct step_work *w, struct step_column *c)
{
    const size_t n = (size_t)w->f->n_columns;
    c->used = false;
    if (c->kind != STEP_COLUMN_FREE)
        return;
    for (int i = 0; i < w->rows->n; i++) {
        const struct observed *o = w->rows->row[i].of;
        const struct step_column *unit =
            step_prices_find(w->f, STEP_COLUMN_UNIT, o->group, KIND_T);
        double *row = w->design + (size_t)i * n;
        double *own = row + (c - w->f->column);
        if (unit && c->unit != KIND_E)
            row[unit - w->f->column] += *own / o->size[observed_base(o)];
        *own = 0;
    }
}

/* What was not taken and has a prior stays, as wide as that: a free unit about
 * its FLOPs, a constant about 0. */
static void settle(struct step_work *w, struct step_column *c)
{
    const struct step_fit_options *o = &w->f->options;
    const bool unit = c->kind == STEP_COLUMN_FREE && c->unit != KIND_E;
    const bool constant = c->kind == STEP_COLUMN_CONSTANT && !o->prior_of_all;
    c->tied = (unit || (constant && o->prior_rel > 0)) && !c->used;
    if (c->tied && o->prior_rel > 0)
        c->used = true;
    else if (!c->used)
        fold(w, c);
}

/* Takes the columns in their order, each if the rows show something new. */
bool step_system_choose(struct step_work *w)
{
    struct step_system s;
    double *taken[LSQ_MAX_COLS + 1] = {NULL};
    int n = 0;
    for (int j = 0; j < w->f->n_columns; j++) {
        w->f->column[j].used = true;
        w->f->column[j].tied = false;
    }
    if (!step_system_make(w, &s))
        return false;
    for (int j = 0; j < s.n_cols; j++) {
        struct step_column *c = &w->f->column[s.at[j]];
        double *q = arena_alloc(w->arena, (size_t)s.n_rows + 1, sizeof *q);
        if (!q)
            return false;
        c->asked = c->asked || dot(&s, s.b, j) > 0;
        const struct step_news news = new_part(&s, j, taken, q);
        c->used = !c->zero && n < s.n_rows && news.part > STEP_FIT_NEW &&
                  is_worth(w, c, news.length);
        if (c->used)
            taken[n++] = q;
    }
    for (int j = 0; j < w->f->n_columns; j++)
        settle(w, &w->f->column[j]);
    return true;
}

/* ---- solving ---- */

/* Prices of the used columns; the others are 0. */
enum err step_system_solve(struct step_work *w, struct lsq_solution *sol,
                           struct err_msg *msg)
{
    struct step_system s;
    if (!step_system_make(w, &s))
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const struct lsq_problem p = {s.n_rows, s.n_cols, s.a, s.b};
    const enum err e = lsq_nnls(w->arena, &p, sol, msg);
    if (e != ERR_OK)
        return e;
    for (int j = 0; j < w->f->n_columns; j++)
        w->f->column[j].x = w->f->column[j].se = 0;
    for (int j = 0; j < s.n_cols; j++) {
        w->f->column[s.at[j]].x = sol->x[j];
        w->f->column[s.at[j]].se = sol->se[j];
    }
    return ERR_OK;
}
