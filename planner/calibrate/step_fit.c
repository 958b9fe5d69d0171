/*
 * How it works. step_prices lists the unknowns in the order in which they are
 * told apart, step_system makes and solves the linear system at the prices of
 * the moment. descend() repeats that (Gauss-Newton) with a line search on true
 * predictions, since a long step may end on other paths, from several guesses,
 * since what is minimised has several valleys.
 */
#include "step_fit.h"

#include "cost/fit.h"
#include "step_system.h"

#include <math.h>
#include <string.h>

static const double STEP_FIT_LIFT = 1e-3;   // the least price that has slopes
static const double STEP_FIT_OUTSIDE = 0.1; // of a step, outside the pipeline
static const double STEP_FIT_GAIN = 1e-9;   // relative, of what is minimised
enum { STEP_FIT_ROUNDS = 30 };

/* Noise moves paths, too, which errors along one path do not count: with this
 * factor intervals of random models hold the truth as often as they say
 * (tests/test_calibrate_step_fit.c). */
static const double STEP_FIT_BENDS = 1.2;

/* Each group's unit as its last row has it, all else by FLOPs and nothing
 * outside. */
static enum err guess_units(struct step_work *w, struct err_msg *msg)
{
    struct step_fit *f = w->f;
    for (int j = 0; j < f->n_columns; j++) {
        f->column[j].used = f->column[j].kind == STEP_COLUMN_UNIT;
        f->column[j].x = f->column[j].used ? 1 : 0;
    }
    for (int i = 0; i < w->rows->n; i++) {
        struct observed *o = w->rows->row[i].of;
        const struct step_column *unit =
            step_prices_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
        double *x = &f->column[unit - f->column].x, step = 0;
        *x = 1;
        const enum err e = step_fit_step(f, o, &step, msg);
        if (e != ERR_OK)
            return e;
        *x = w->rows->row[i].meas_s / step;
    }
    return ERR_OK;
}

/* Where free rates begin, as shares of the FLOPs': of all, or of the last kinds
 * (m) less than of the first (L). */
struct step_guess {
    double loss, other;
};
static const struct step_guess guesses[] = {{1, 1},   {0.5, 0.5}, {0.25, 1},
                                            {2, 1},   {0.5, 1.5}, {1, 2},
                                            {1, 0.5}, {4, 1}};
enum { N_GUESSES = sizeof guesses / sizeof guesses[0] };

/* All units at the FLOPs' rates (free ones at a share of them): a first guess.
 * The terms get a twentieth of a step, so that those hidden by overlap can
 * show. */
static enum err first_guess(struct step_work *w, const struct step_guess *guess,
                            struct err_msg *msg)
{
    static const double SHARE = 0.05;
    const enum err e = guess_units(w, msg);
    const struct observed *o = w->rows->row[0].of;
    const double unit_s = w->f->column[0].x, meas_s = w->rows->row[0].meas_s;
    const double bytes = (double)memory_rank_params(&o->model, &o->layout, 0);
    for (int j = 0; j < w->f->n_columns; j++) {
        struct step_column *c = &w->f->column[j];
        c->used = true;
        if (c->kind == STEP_COLUMN_FREE && c->unit == KIND_E)
            c->x = SHARE * unit_s / o->size[KIND_E];
        else if (c->kind == STEP_COLUMN_FREE)
            c->x = (c->unit == KIND_L ? guess->loss : guess->other) * unit_s /
                   o->size[observed_base(o)];
        else if (c->kind == STEP_COLUMN_CONSTANT)
            c->x = SHARE * meas_s;
        else if (c->kind != STEP_COLUMN_UNIT)
            c->x = SHARE * meas_s / bytes;
        w->scale[j] = c->x;
    }
    return e;
}

/* What priors and timers say of the prices, in their errors squared. */
static double penalty(const struct step_work *w)
{
    struct step_system s;
    double sum = 0;
    if (!step_system_make(w, &s))
        return (double)INFINITY;
    for (int i = s.n_measured; i < s.n_rows; i++) {
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
        const enum err e =
            same ? ERR_OK : step_fit_step(w->f, r->of, &last, msg);
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
        step_prices_find(w->f, STEP_COLUMN_UNIT, o->group, KIND_T);
    for (int j = 0; j < w->f->n_columns; j++) {
        struct step_column *c = &w->f->column[j];
        if (c->kind == STEP_COLUMN_FREE && !c->used && c->unit != KIND_E)
            c->x = unit->x / o->size[observed_base(o)];
        c->used = true;
        c->x = fmax(c->x, STEP_FIT_LIFT * w->scale[j]);
    }
}

/* The best fit so far, with the system that it solves; and where each guess
 * ended. */
struct step_best {
    struct step_fit fit;
    struct lsq_solution sol;
    double squares;
    double *design, *rest_s;
    struct step_valley {
        double squares, x[LSQ_MAX_COLS];
    } valley[N_GUESSES];
    int n_valleys;
};

/* Does a price hang on what is only supposed, and not on the rows alone? */
static bool has_tied(const struct step_fit *f)
{
    for (int j = 0; j < f->n_columns; j++)
        if (f->column[j].tied && f->column[j].used)
            return true;
    return false;
}

/* Standard errors as if no price were bound to be positive: one that came out
 * at 0 might be a little more, which moves the others. With Student's factor;
 * rows that leave none free stand for the assumed scatter. */
static enum err step_errors(struct step_work *w, const struct step_system *s,
                            const struct lsq_solution *sol, struct err_msg *msg)
{
    double se[LSQ_MAX_COLS];
    const struct lsq_problem p = {s->n_rows, s->n_cols, s->a, s->b};
    const enum err e = lsq_unit_errors(w->arena, &p, se, msg);
    const int bound = sol->degrees_of_freedom, dof = s->n_rows - s->n_cols;
    const double rss = bound > 0 ? sol->variance * bound : 0;
    double scatter =
        STEP_FIT_BENDS * (dof > 0 ? sqrt(rss / dof) * lsq_t95(dof) / 1.96 : 1);
    // rows that agree say nothing of what they were not asked
    if (has_tied(w->f))
        scatter = fmax(scatter, STEP_FIT_BENDS);
    w->f->degrees_of_freedom = dof > 0 ? dof : 0;
    for (int j = 0; j < s->n_cols && e == ERR_OK; j++)
        w->f->column[s->at[j]].se = se[j] * scatter;
    return e;
}

/* Another valley that explains the rows as well, within what 95% of samples
 * scatter, is another answer: intervals reach it. */
static void reach_valleys(const struct step_best *best, struct step_fit *f)
{
    const double scatter = fmax(1, best->sol.variance);
    for (int i = 0; i < best->n_valleys; i++) {
        const struct step_valley *v = &best->valley[i];
        if (v->squares - best->squares > 1.96 * 1.96 * scatter)
            continue;
        for (int j = 0; j < f->n_columns; j++) {
            struct step_column *c = &f->column[j];
            c->se = fmax(c->se, fabs(v->x[j] - c->x) / 1.96);
        }
    }
}

/* Errors and rank are of the best solution's own system, priors included. */
static enum err finish(struct step_work *w, const struct step_best *best,
                       struct err_msg *msg)
{
    const struct lsq_solution *sol = &best->sol;
    struct step_fit *f = w->f;
    struct step_system s;
    struct lsq_rank rank;
    if (!step_system_make(w, &s))
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const struct lsq_problem p = {s.n_rows, s.n_cols, s.a, s.b};
    enum err e = lsq_rank(w->arena, &p, &rank, msg);
    if (e == ERR_OK)
        e = step_errors(w, &s, sol, msg);
    if (e == ERR_MODEL)
        e = err_set(msg, ERR_MODEL,
                    "steps: the prices are not determined: times and layouts "
                    "do not go together, or are too few");
    reach_valleys(best, f);
    f->rank = s.n_cols;
    f->condition = rank.condition;
    for (int j = 0; j < f->n_columns; j++) {
        f->rank -= f->column[j].tied && f->column[j].used;
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
        return c->unit == KIND_E ? "taken to cost nothing"
                                 : "tied to its FLOPs";
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

/* What is told so vaguely that it might be 0 or twice as much. */
static bool is_vague(const struct step_column *c)
{
    return c->kind == STEP_COLUMN_FREE && c->used && !c->tied &&
           1.96 * c->se > c->x;
}

/* Names what was asked for and could not be told. */
static enum err step_notes(struct arena *a, struct step_fit *f,
                           struct err_msg *msg)
{
    for (int j = 0; j < f->n_columns; j++) {
        const struct step_column *c = &f->column[j];
        const bool free = c->kind == STEP_COLUMN_FREE;
        const bool told = c->used && !c->tied && !is_vague(c);
        if (told || (!c->asked && !free))
            continue;
        const char *text = arena_printf(
            a, "%s%s%s: the steps do not tell it apart",
            free ? kind_name(c->unit) : "", free ? " is " : "",
            is_vague(c) ? "told to no better than twice" : column_words(c));
        const enum err e =
            text ? fit_join_notes(a, text, &f->note, msg)
                 : err_set(msg, ERR_NOMEM, "steps: out of memory");
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* How far the valley is from what is supposed of every run, squared: steps that
 * all wait for one stage are told as well by a constant in that stage's place,
 * which would be a large part of a step. It chooses the valley, not the prices
 * in it. */
static double supposed(const struct step_work *w)
{
    const struct step_fit_options *o = &w->f->options;
    double sum = 0;
    for (int j = 0; j < w->f->n_columns; j++) {
        const struct step_column *c = &w->f->column[j];
        const double part = c->x / (STEP_FIT_OUTSIDE * w->rows->row[0].meas_s);
        if (c->kind == STEP_COLUMN_CONSTANT && c->used && !c->tied)
            sum += part * part;
    }
    return o->prior_rel > 0 && !o->prior_of_all ? sum : 0;
}

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
                w->f->column[j].x = from->column[j].x +
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
        enum err e = step_system_linearise(w, msg);
        before = *w->f;
        if (e == ERR_OK && !step_system_choose(w))
            e = err_set(msg, ERR_NOMEM, "steps: out of memory");
        if (e == ERR_OK)
            e = step_system_solve(w, &sol, msg);
        if (e == ERR_OK)
            e = line_search(w, &before, least, &squares, msg);
        if (e != ERR_OK)
            return e;
        const double all = squares + supposed(w);
        if (all < best->squares * (1 - STEP_FIT_GAIN))
            keep_best(w, &sol, all, best);
        if (!(squares < least * (1 - STEP_FIT_GAIN)))
            return ERR_OK;
        least = squares;
    }
    return ERR_OK;
}

static void note_valley(const struct step_fit *f, double squares,
                        struct step_best *best)
{
    struct step_valley *v = &best->valley[best->n_valleys++];
    v->squares = squares;
    for (int j = 0; j < f->n_columns; j++)
        v->x[j] = f->column[j].x;
}

/* Free rates may lead into several valleys, as paths go over one stage or
 * another: from several guesses. Without any, one is enough. */
static enum err descend_all(struct step_work *w, struct step_best *best,
                            struct err_msg *msg)
{
    const struct step_fit empty = *w->f;
    bool free = false;
    best->squares = (double)INFINITY;
    best->n_valleys = 0;
    for (int k = 0; k < N_KINDS; k++)
        free = free || empty.options.free[k];
    for (int i = 0; i < (free ? N_GUESSES : 1); i++) {
        double squares = 0;
        *w->f = empty;
        enum err e = first_guess(w, &guesses[i], msg);
        if (e == ERR_OK)
            e = descend(w, best, msg);
        if (e == ERR_OK)
            e = step_misfit(w, &squares, msg);
        if (e != ERR_OK)
            return e;
        note_valley(w->f, squares + supposed(w), best);
    }
    *w->f = best->fit;
    return ERR_OK;
}

/* A free rate of 0 is no price: such a unit goes back to its FLOPs, the last
 * one first, and all begins again. */
static bool tie_zeros(const struct step_fit *found, struct step_fit *again)
{
    for (int j = found->n_columns - 1; j >= 0; j--) {
        const struct step_column *c = &found->column[j];
        if (c->kind == STEP_COLUMN_FREE && c->used && !c->tied && c->x <= 0) {
            again->column[j].zero = true;
            return true;
        }
    }
    return false;
}

/* Memory of the best fit. */
static struct step_best *new_best(struct step_work *w)
{
    const size_t n = (size_t)w->rows->n;
    const size_t cells = n * (size_t)w->f->n_columns;
    struct step_best *best = arena_alloc(w->arena, 1, sizeof *best);
    if (!best)
        return NULL;
    best->design = arena_alloc(w->arena, cells, sizeof *best->design);
    best->rest_s = arena_alloc(w->arena, n, sizeof *best->rest_s);
    w->design = arena_alloc(w->arena, cells, sizeof *w->design);
    w->rest_s = arena_alloc(w->arena, n, sizeof *w->rest_s);
    return best->design && best->rest_s && w->design && w->rest_s ? best : NULL;
}

/* From all guesses, and once more without what came out at 0. */
static enum err step_fit_once(struct arena *a, const struct step_rows *rows,
                              struct step_fit *start, struct step_fit *out,
                              struct err_msg *msg)
{
    struct step_work w = {.arena = a, .rows = rows, .f = out};
    *out = *start;
    struct step_best *best = new_best(&w);
    if (!best)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const enum err e = descend_all(&w, best, msg);
    if (e != ERR_OK)
        return e;
    w.design = best->design;
    w.rest_s = best->rest_s;
    return finish(&w, best, msg);
}

enum err step_fit_make(struct arena *a, const struct step_rows *rows,
                       const struct step_fit_options *options,
                       struct step_fit *out, struct err_msg *msg)
{
    struct step_fit start = {.options = *options};
    if (rows->n == 0)
        return err_set(msg, ERR_MODEL, "steps: none to fit: want two or more");
    enum err e = step_prices_list(&start, rows, msg);
    do {
        if (e == ERR_OK)
            e = step_fit_once(a, rows, &start, out, msg);
    } while (e == ERR_OK && tie_zeros(out, &start));
    return e == ERR_OK ? step_notes(a, out, msg) : e;
}
