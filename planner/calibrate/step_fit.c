/*
 * How it works. list_columns() names the unknowns in order of importance;
 * linearise() asks each row's simulator for its slopes at the prices of the
 * moment; choose_columns() takes them one by one as long as each adds a
 * direction (Gram-Schmidt); solve_columns() is the least-squares problem, with
 * rows for priors. step_fit_make() repeats these until prices stay, keeping the
 * best. Leaving rows out uses the slopes of the whole fit: paths are properties
 * of layouts, hardly of one row.
 */
#include "step_fit.h"

#include "cost/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double STEP_FIT_NOISE = 0.01;

static const double STEP_FIT_NEW = 5e-3; // part of a column that must be new
static const double STEP_FIT_NUDGE = 1e-4; // of a price's scale, for slopes
static const double STEP_FIT_LIFT = 1e-3;  // the least price that has slopes
static const double STEP_FIT_GAIN = 1e-9; // relative, of what is minimised
enum { STEP_FIT_ROUNDS = 30 };

/* What one fit works on. */
struct step_work {
    struct arena *arena;
    const struct step_rows *rows;
    struct step_fit *f;
    double *design, *rest_s;
    double scale[LSQ_MAX_COLS]; // of each price: the first guess
    const bool *skip;           // rows left out, or NULL
};

static bool step_has(const struct step_fit *f, enum observed_term t)
{
    return f->options.terms >> t & 1U;
}

/* ---- unknowns ---- */

static void add_column(struct step_fit *f, enum step_column_kind kind,
                       int group, enum unit_kind unit)
{
    if (f->n_columns < LSQ_MAX_COLS)
        f->column[f->n_columns] = (struct step_column){
            .kind = kind, .group = group, .unit = unit};
    f->n_columns++;
}

/* Is the group's constant asked for, by the chunks of its runs? */
static bool wants_constant(const struct step_fit *f,
                           const struct step_rows *rows, int group)
{
    for (int i = 0; i < rows->n; i++) {
        const struct observed *o = rows->row[i].of;
        if (o->group == group &&
            step_has(f, o->layout.vpp > 1 ? OBSERVED_CONSTANT : OBSERVED_START))
            return true;
    }
    return false;
}

static bool group_has_rows(const struct step_rows *rows, int group)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].of->group == group)
            return true;
    return false;
}

/* An embedding hardly shows: last. */
static const enum unit_kind free_order[] = {KIND_L, KIND_M, KIND_T_DENSE};
enum { N_FREE_ORDER = sizeof free_order / sizeof free_order[0] };

static enum err list_columns(struct step_fit *f, const struct step_rows *rows,
                             struct err_msg *msg)
{
    for (int g = 0; g < rows->n_groups; g++)
        if (group_has_rows(rows, g))
            add_column(f, STEP_COLUMN_UNIT, g, KIND_T);
    for (int i = 0; i < N_FREE_ORDER; i++)
        if (f->options.free[free_order[i]])
            add_column(f, STEP_COLUMN_FREE, -1, free_order[i]);
    if (step_has(f, OBSERVED_DP))
        add_column(f, STEP_COLUMN_DP, -1, KIND_T);
    for (int g = 0; g < rows->n_groups; g++)
        if (wants_constant(f, rows, g))
            add_column(f, STEP_COLUMN_CONSTANT, g, KIND_T);
    if (step_has(f, OBSERVED_OPTIMIZER))
        add_column(f, STEP_COLUMN_OPTIMIZER, -1, KIND_T);
    if (f->options.free[KIND_E])
        add_column(f, STEP_COLUMN_FREE, -1, KIND_E);
    if (f->n_columns > LSQ_MAX_COLS)
        return err_set(msg, ERR_MODEL,
                       "steps: %d unknowns, want at most %d: fit fewer groups "
                       "at once",
                       f->n_columns, (int)LSQ_MAX_COLS);
    return ERR_OK;
}

static const struct step_column *step_find(const struct step_fit *f,
                                           enum step_column_kind kind,
                                           int group, enum unit_kind unit)
{
    for (int j = 0; j < f->n_columns; j++) {
        const struct step_column *c = &f->column[j];
        if (c->kind == kind && c->group == group && c->unit == unit)
            return c;
    }
    return NULL;
}

static double step_value(const struct step_column *c)
{
    return c ? c->x : 0;
}

bool step_fit_covers(const struct step_fit *f, const struct observed *o)
{
    const struct step_column *unit =
        step_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
    return unit && unit->used && unit->x > 0;
}

/* Seconds an operation of the kind, and its error. */
static double rate_of(const struct step_fit *f, const struct observed *o,
                      enum unit_kind k, double *se)
{
    const enum unit_kind base = observed_base(o);
    const struct step_column *own = step_find(f, STEP_COLUMN_FREE, -1, k);
    const struct step_column *unit =
        step_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
    *se = 0;
    if (own && own->used && k != base) {
        *se = own->se;
        return own->x;
    }
    if (!unit || k == KIND_E || (k == KIND_L && !step_has(f, OBSERVED_OUTPUT)))
        return 0;
    *se = unit->se / o->size[base];
    return unit->x / o->size[base];
}

void step_fit_prices(const struct step_fit *f, const struct observed *o,
                     struct observed_prices *out, double fwd_se[N_KINDS])
{
    *out = (struct observed_prices){{0}, 0, 0, 0};
    for (int k = 0; k < N_KINDS; k++) {
        double se = 0;
        if (o->size[k] > 0)
            out->fwd_s[k] =
                o->size[k] * rate_of(f, o, (enum unit_kind)k, &se);
        if (fwd_se)
            fwd_se[k] = o->size[k] * se;
    }
    out->dp_s_per_byte = step_value(step_find(f, STEP_COLUMN_DP, -1, KIND_T));
    out->optimizer_s_per_byte =
        step_value(step_find(f, STEP_COLUMN_OPTIMIZER, -1, KIND_T));
    if (step_has(f, o->layout.vpp > 1 ? OBSERVED_CONSTANT : OBSERVED_START))
        out->constant_s =
            step_value(step_find(f, STEP_COLUMN_CONSTANT, o->group, KIND_T));
}

/* ---- slopes ---- */

static enum err step_at(const struct step_fit *f, struct observed *o,
                        double *step_s, struct err_msg *msg)
{
    struct observed_prices p;
    step_fit_prices(f, o, &p, NULL);
    return observed_step(o, &p, step_s, msg);
}

/* Does the unknown have a part in this configuration's step? */
static bool is_of(const struct step_column *c, const struct observed *o)
{
    if (c->group >= 0 && c->group != o->group)
        return false;
    return c->kind != STEP_COLUMN_FREE ||
           (o->size[c->unit] > 0 && c->unit != observed_base(o));
}

/* Central difference: at a bend, the mean of both sides. */
static enum err slope(struct step_work *w, struct observed *o, int column,
                      double *out, struct err_msg *msg)
{
    struct step_column *c = &w->f->column[column];
    const double x = c->x, by = STEP_FIT_NUDGE * fmax(x, w->scale[column]);
    double less = 0, more = 0;
    *out = 0;
    if (!is_of(c, o) || by <= 0)
        return ERR_OK;
    c->x = x - by;
    enum err e = step_at(w->f, o, &less, msg);
    c->x = x + by;
    if (e == ERR_OK)
        e = step_at(w->f, o, &more, msg);
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

static enum err linearise(struct step_work *w, struct err_msg *msg)
{
    const size_t n = (size_t)w->f->n_columns;
    for (int i = 0; i < w->rows->n; i++) {
        struct observed *o = w->rows->row[i].of;
        double *to = w->design + (size_t)i * n, step = 0;
        const double *from = same_row(w, i);
        enum err e = from ? ERR_OK : step_at(w->f, o, &step, msg);
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

/* Rows over the used columns, divided by their errors; more behind them. */
struct step_system {
    double *a, *b;
    int n_rows, n_cols, most;
    int at[LSQ_MAX_COLS]; // of each used column
};

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
            step_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
        const int base = system_place(s, f, unit);
        const bool any = first && base >= 0 && unit->x > 0;
        for (int j = 0; j < s->n_cols && any; j++) {
            const struct step_column *c = &f->column[s->at[j]];
            if (c->kind != STEP_COLUMN_FREE || !is_of(c, o) ||
                c->unit == KIND_E ||
                !(f->options.prior_of_all || c->tied))
                continue;
            double *row = add_row(s, 0);
            row[j] = weight * o->size[observed_base(o)] / unit->x;
            row[base] = -weight / unit->x;
        }
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

static bool make_system(const struct step_work *w, struct step_system *s)
{
    const struct step_fit *f = w->f;
    s->n_cols = s->n_rows = 0;
    for (int j = 0; j < f->n_columns; j++)
        if (f->column[j].used)
            s->at[s->n_cols++] = j;
    s->most = w->rows->n * (1 + N_KINDS) + N_KINDS + 1;
    s->a = arena_alloc(w->arena, (size_t)s->most * (size_t)(s->n_cols + 1),
                       sizeof *s->a);
    s->b = arena_alloc(w->arena, (size_t)s->most, sizeof *s->b);
    if (!s->a || !s->b)
        return false;
    for (int i = 0; i < w->rows->n; i++) {
        const double by = 1 / (STEP_FIT_NOISE * w->rows->row[i].meas_s);
        if (w->skip && w->skip[i])
            continue;
        double *row = add_row(s, by * (w->rows->row[i].meas_s - w->rest_s[i]));
        for (int j = 0; j < s->n_cols; j++)
            row[j] = by * w->design[(size_t)i * (size_t)f->n_columns +
                                    (size_t)s->at[j]];
    }
    if (f->options.prior_rel > 0)
        add_priors(w, s);
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

/* What of a column is new to those taken, as a part of its length; leaves the
 * new direction in q. */
static double new_part(const struct step_system *s, int column,
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
    return length > 0 ? sqrt(left / length) : 0;
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
            step_find(w->f, STEP_COLUMN_UNIT, o->group, KIND_T);
        double *row = w->design + (size_t)i * n;
        double *own = row + (c - w->f->column);
        if (unit && c->unit != KIND_E)
            row[unit - w->f->column] += *own / o->size[observed_base(o)];
        *own = 0;
    }
}

/* A free unit that was not taken is tied: with a prior's width where there is
 * one. */
static void settle(struct step_work *w, struct step_column *c)
{
    const bool free = c->kind == STEP_COLUMN_FREE && c->unit != KIND_E;
    c->tied = free && !c->used;
    if (c->tied && w->f->options.prior_rel > 0)
        c->used = true;
    else if (!c->used)
        fold(w, c);
}

/* Takes the columns in their order, each if the rows show something new. */
static bool choose_columns(struct step_work *w)
{
    struct step_system s;
    double *taken[LSQ_MAX_COLS + 1] = {NULL};
    int n = 0;
    for (int j = 0; j < w->f->n_columns; j++) {
        w->f->column[j].used = true;
        w->f->column[j].tied = false;
    }
    if (!make_system(w, &s))
        return false;
    for (int j = 0; j < s.n_cols; j++) {
        struct step_column *c = &w->f->column[s.at[j]];
        double *q = arena_alloc(w->arena, (size_t)s.n_rows + 1, sizeof *q);
        if (!q)
            return false;
        c->asked = c->asked || dot(&s, s.b, j) > 0;
        c->used = !c->zero && n < s.n_rows &&
                  new_part(&s, j, taken, q) > STEP_FIT_NEW;
        if (c->used)
            taken[n++] = q;
    }
    for (int j = 0; j < w->f->n_columns; j++)
        settle(w, &w->f->column[j]);
    return true;
}

/* ---- solving ---- */

/* Prices of the used columns; the others are 0. */
static enum err solve_columns(struct step_work *w, struct lsq_solution *sol,
                              struct err_msg *msg)
{
    struct step_system s;
    if (!make_system(w, &s))
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

/* All units at the FLOPs' rates (free ones at a share of them), nothing
 * outside: a first guess. The terms get a twentieth of a step, so that those hidden by overlap can show. */
static enum err first_guess(struct step_work *w, double share_of_flops,
                            struct err_msg *msg)
{
    static const double SHARE = 0.05;
    struct step_fit *f = w->f;
    for (int j = 0; j < f->n_columns; j++) {
        f->column[j].used = f->column[j].kind == STEP_COLUMN_UNIT;
        f->column[j].x = f->column[j].used ? 1 : 0;
    }
    for (int i = 0; i < w->rows->n; i++) {
        struct observed *o = w->rows->row[i].of;
        struct step_column *unit = NULL;
        double step = 0;
        for (int j = 0; j < f->n_columns; j++)
            if (f->column[j].kind == STEP_COLUMN_UNIT &&
                f->column[j].group == o->group)
                unit = &f->column[j];
        unit->x = 1;
        const enum err e = step_at(f, o, &step, msg);
        if (e != ERR_OK)
            return e;
        unit->x = w->rows->row[i].meas_s / step;
    }
    const struct observed *o = w->rows->row[0].of;
    const double unit_s = f->column[0].x, meas_s = w->rows->row[0].meas_s;
    const double bytes = (double)memory_rank_params(&o->model, &o->layout, 0);
    for (int j = 0; j < f->n_columns; j++) {
        struct step_column *c = &f->column[j];
        c->used = true;
        if (c->kind == STEP_COLUMN_FREE && c->unit == KIND_E)
            c->x = SHARE * unit_s / o->size[KIND_E];
        else if (c->kind == STEP_COLUMN_FREE)
            c->x = share_of_flops * unit_s / o->size[observed_base(o)];
        else if (c->kind == STEP_COLUMN_CONSTANT)
            c->x = SHARE * meas_s;
        else if (c->kind != STEP_COLUMN_UNIT)
            c->x = SHARE * meas_s / bytes;
        w->scale[j] = c->x;
    }
    return ERR_OK;
}

/* What priors and timers say of the prices, in their errors squared. */
static double penalty(const struct step_work *w)
{
    struct step_system s;
    double sum = 0;
    if (!make_system(w, &s))
        return (double)INFINITY;
    for (int i = w->rows->n; i < s.n_rows; i++) {
        double off = -s.b[i];
        for (int j = 0; j < s.n_cols; j++)
            off += s.a[(size_t)i * (size_t)s.n_cols + (size_t)j] *
                   w->f->column[s.at[j]].x;
        sum += off * off;
    }
    return sum;
}

/* What is minimised, with true predictions in place of the slopes': squared
 * errors in their standard deviations; and the rows' relative errors. */
static enum err step_misfit(struct step_work *w, double *squares,
                            struct err_msg *msg)
{
    double sum = 0, last = 0;
    w->f->mean_misfit = w->f->worst_misfit = 0;
    *squares = penalty(w);
    for (int i = 0; i < w->rows->n; i++) {
        const struct step_row *r = &w->rows->row[i];
        const bool same = i > 0 && w->rows->row[i - 1].of == r->of;
        const enum err e = same ? ERR_OK : step_at(w->f, r->of, &last, msg);
        if (e != ERR_OK)
            return e;
        const double off = fabs(last / r->meas_s - 1);
        *squares += off * off / (STEP_FIT_NOISE * STEP_FIT_NOISE);
        sum += off;
        w->f->worst_misfit = fmax(w->f->worst_misfit, off);
    }
    w->f->mean_misfit = sum / w->rows->n;
    return ERR_OK;
}

/* Slopes are asked for at a price: of a free unit that was tied, at its FLOPs',
 * since it may show on the paths of these prices; of what was left out or fell
 * to 0, at a small one. */
static void lift_zeros(struct step_work *w)
{
    const struct observed *o = w->rows->row[0].of;
    const struct step_column *unit =
        step_find(w->f, STEP_COLUMN_UNIT, o->group, KIND_T);
    for (int j = 0; j < w->f->n_columns; j++) {
        struct step_column *c = &w->f->column[j];
        if (c->kind == STEP_COLUMN_FREE && !c->used && c->unit != KIND_E)
            c->x = step_value(unit) / o->size[observed_base(o)];
        c->used = true;
        c->x = fmax(c->x, STEP_FIT_LIFT * w->scale[j]);
    }
}

/* Errors with Student's factor; rows that leave none free stand for the
 * assumed scatter already. */
static enum err finish(struct step_work *w, const struct lsq_solution *sol,
                       struct err_msg *msg)
{
    struct step_fit *f = w->f;
    struct step_system s;
    struct lsq_rank rank;
    if (!make_system(w, &s))
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const struct lsq_problem p = {s.n_rows, s.n_cols, s.a, s.b};
    const enum err e = lsq_rank(w->arena, &p, &rank, msg);
    const int dof = sol->degrees_of_freedom;
    const double wide = dof > 0 ? lsq_t95(dof) / 1.96 : 1;
    f->rank = s.n_cols;
    for (int j = 0; j < f->n_columns; j++)
        f->rank -= f->column[j].tied && f->column[j].used;
    f->condition = rank.condition;
    f->degrees_of_freedom = dof;
    for (int j = 0; j < f->n_columns; j++) {
        f->column[j].se *= wide;
        f->n_unknowns += f->column[j].asked;
    }
    f->design = w->design;
    f->rest_s = w->rest_s;
    return e;
}

static const char *column_words(const struct step_column *c)
{
    switch (c->kind) {
    case STEP_COLUMN_FREE:
        return "tied to its FLOPs";
    case STEP_COLUMN_DP:
        return "the reduction over replicas is left out";
    case STEP_COLUMN_OPTIMIZER:
        return "the optimiser is left out";
    case STEP_COLUMN_CONSTANT:
        return "a constant of its own is left out";
    case STEP_COLUMN_UNIT:
        return "its group has no price";
    }
    return "";
}

/* Names what was asked for and could not be told. */
static enum err step_notes(struct arena *a, struct step_fit *f,
                           struct err_msg *msg)
{
    for (int j = 0; j < f->n_columns; j++) {
        const struct step_column *c = &f->column[j];
        const bool free = c->kind == STEP_COLUMN_FREE;
        if ((c->used && !c->tied) || (!c->asked && !free))
            continue;
        const char *text = arena_printf(
            a, "%s%s%s: the steps do not tell it apart",
            free ? kind_name(c->unit) : "", free ? " is " : "",
            column_words(c));
        const enum err e =
            text ? fit_join_notes(a, text, &f->note, msg)
                 : err_set(msg, ERR_NOMEM, "steps: out of memory");
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* The best fit so far, with the system that it solves. */
struct step_best {
    struct step_fit fit;
    struct lsq_solution sol;
    double squares;
    double *design, *rest_s;
};

static void keep_best(struct step_work *w, const struct lsq_solution *sol,
                      double squares, struct step_best *best)
{
    const size_t n = (size_t)w->rows->n;
    best->fit = *w->f;
    best->sol = *sol;
    best->squares = squares;
    memcpy(best->design, w->design,
           n * (size_t)w->f->n_columns * sizeof *w->design);
    memcpy(best->rest_s, w->rest_s, n * sizeof *w->rest_s);
}

/* From the prices of `from` towards those of the work, whole or in part: the
 * first that lowers what is minimised. */
static enum err line_search(struct step_work *w, const struct step_fit *from,
                            double least, double *squares, struct err_msg *msg)
{
    const struct step_fit to = *w->f;
    for (double part = 1; part > 0.05; part /= 2) {
        for (int j = 0; j < to.n_columns; j++)
            if (to.column[j].used)
                w->f->column[j].x =
                    from->column[j].x +
                    part * (to.column[j].x - from->column[j].x);
        const enum err e = step_misfit(w, squares, msg);
        if (e != ERR_OK || *squares < least * (1 - STEP_FIT_GAIN))
            return e;
    }
    return ERR_OK;
}

/* Rounds from one guess until nothing gets better. */
static enum err descend(struct step_work *w, struct step_best *best,
                        struct err_msg *msg)
{
    double least = (double)INFINITY;
    for (int round = 0; round < STEP_FIT_ROUNDS; round++) {
        struct lsq_solution sol;
        struct step_fit before;
        double squares = 0;
        lift_zeros(w);
        enum err e = linearise(w, msg);
        before = *w->f;
        if (e == ERR_OK && !choose_columns(w))
            e = err_set(msg, ERR_NOMEM, "steps: out of memory");
        if (e == ERR_OK)
            e = solve_columns(w, &sol, msg);
        if (e == ERR_OK)
            e = line_search(w, &before, least, &squares, msg);
        if (e != ERR_OK)
            return e;
        if (squares < best->squares * (1 - STEP_FIT_GAIN))
            keep_best(w, &sol, squares, best);
        if (!(squares < least * (1 - STEP_FIT_GAIN)))
            return ERR_OK;
        least = squares;
    }
    return ERR_OK;
}

/* Free rates may lead into several valleys, as paths go over one stage or
 * another: from several guesses. Without any, one is enough. */
static enum err descend_all(struct step_work *w, struct step_best *best,
                            struct err_msg *msg)
{
    static const double shares[] = {1, 0.5, 0.25, 2};
    const struct step_fit empty = *w->f;
    bool free = false;
    best->squares = (double)INFINITY;
    for (int k = 0; k < N_KINDS; k++)
        free = free || empty.options.free[k];
    for (size_t i = 0; i < (free ? sizeof shares / sizeof shares[0] : 1); i++) {
        *w->f = empty;
        enum err e = first_guess(w, shares[i], msg);
        if (e == ERR_OK)
            e = descend(w, best, msg);
        if (e != ERR_OK)
            return e;
    }
    *w->f = best->fit;
    return ERR_OK;
}

/* A free rate of 0 is no price: such a unit goes back to its FLOPs, the one
 * that is least sure of itself first, and all begins again. */
static bool tie_zeros(const struct step_fit *found, struct step_fit *again)
{
    for (int j = found->n_columns - 1; j >= 0; j--) {
        const struct step_column *c = &found->column[j];
        if (c->kind == STEP_COLUMN_FREE && c->used && !c->zero && c->x <= 0) {
            again->column[j].zero = true;
            return true;
        }
    }
    return false;
}

static enum err step_rounds(struct step_work *w, struct lsq_solution *sol,
                            struct err_msg *msg)
{
    const size_t n = (size_t)w->rows->n;
    struct step_fit start = *w->f;
    struct step_best *best = arena_alloc(w->arena, 1, sizeof *best);
    if (!best)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    best->design = arena_alloc(w->arena, n * (size_t)start.n_columns,
                               sizeof *best->design);
    best->rest_s = arena_alloc(w->arena, n, sizeof *best->rest_s);
    if (!best->design || !best->rest_s)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    do {
        *w->f = start;
        const enum err e = descend_all(w, best, msg);
        if (e != ERR_OK)
            return e;
    } while (tie_zeros(w->f, &start));
    *sol = best->sol;
    w->design = best->design;
    w->rest_s = best->rest_s;
    return ERR_OK;
}

enum err step_fit_make(struct arena *a, const struct step_rows *rows,
                       const struct step_fit_options *options,
                       struct step_fit *out, struct err_msg *msg)
{
    struct step_work w = {.arena = a, .rows = rows, .f = out};
    struct lsq_solution sol = {0};
    *out = (struct step_fit){.options = *options};
    if (rows->n == 0)
        return err_set(msg, ERR_MODEL, "steps: none to fit: want two or more");
    enum err e = list_columns(out, rows, msg);
    if (e != ERR_OK)
        return e;
    const size_t n = (size_t)rows->n;
    w.design = arena_alloc(a, n * (size_t)out->n_columns, sizeof *w.design);
    w.rest_s = arena_alloc(a, n, sizeof *w.rest_s);
    if (!w.design || !w.rest_s)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    e = step_rounds(&w, &sol, msg);
    if (e == ERR_OK)
        e = finish(&w, &sol, msg);
    return e == ERR_OK ? step_notes(a, out, msg) : e;
}

/* ---- leaving rows out ---- */

/* Solves without the configuration and adds the errors of its rows. */
static enum err leave_one(struct step_work *w, const struct step_fit *whole,
                          const struct observed *o, struct step_left_out *sum,
                          struct err_msg *msg)
{
    struct step_fit less = *whole;
    struct lsq_solution sol;
    const size_t cells = (size_t)w->rows->n * (size_t)less.n_columns;
    memcpy(w->design, whole->design, cells * sizeof *w->design);
    w->f = &less;
    if (!choose_columns(w))
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const enum err e = solve_columns(w, &sol, msg);
    if (e != ERR_OK || !step_fit_covers(&less, o))
        return e;
    for (int i = 0; i < w->rows->n; i++) {
        const double *row = w->design + (size_t)i * (size_t)less.n_columns;
        double step = whole->rest_s[i];
        if (w->rows->row[i].of != o)
            continue;
        for (int j = 0; j < less.n_columns; j++)
            step += row[j] * less.column[j].x;
        sum->mean += fabs(step / w->rows->row[i].meas_s - 1);
        sum->n++;
    }
    return ERR_OK;
}

enum err step_fit_leave_out(struct arena *a, const struct step_rows *rows,
                            const struct step_fit *f,
                            struct step_left_out *out, struct err_msg *msg)
{
    bool *skip = arena_alloc(a, (size_t)rows->n + 1, sizeof *skip);
    struct step_work w = {.arena = a, .rows = rows, .skip = skip};
    struct step_left_out sum = {0, 0};
    const size_t cells = (size_t)rows->n * (size_t)f->n_columns;
    w.design = arena_alloc(a, cells + 1, sizeof *w.design);
    w.rest_s = arena_alloc(a, (size_t)rows->n + 1, sizeof *w.rest_s);
    if (!skip || !w.design || !w.rest_s)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    memcpy(w.rest_s, f->rest_s, (size_t)rows->n * sizeof *w.rest_s);
    for (int i = 0; i < rows->n; i++) {
        const struct observed *o = rows->row[i].of;
        bool first = true, others = false;
        for (int k = 0; k < rows->n; k++) {
            skip[k] = rows->row[k].of == o;
            first = first && (k >= i || !skip[k]);
            others = others || (!skip[k] && rows->row[k].of->group == o->group);
        }
        const enum err e =
            first && others ? leave_one(&w, f, o, &sum, msg) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    *out = (struct step_left_out){sum.n ? sum.mean / sum.n : (double)NAN,
                                  sum.n};
    return ERR_OK;
}
