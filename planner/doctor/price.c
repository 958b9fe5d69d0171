/*
 * How it works: costs by FLOPs are made first, since two of the ways need them;
 * the timers then take their place or are joined with them in one small least
 * squares, forward and backward apart. Last the run's own step is predicted and
 * held against the measured one.
 */
#include "price.h"

#include "calibrate/overhead.h"
#include "cost/lsq.h"
#include "cost/roofline.h"
#include "log/runlog.h"

#include <math.h>
#include <string.h>

/* How far a unit lies from its FLOPs' ratio, relative standard deviation: as
 * calibrate/step_choose found over public step times. E has next to no FLOPs:
 * between nothing and 0.2 t, REPORT.md says. Timers of a stage scatter by
 * percents. */
static const double PRICE_PRIOR_REL = 0.5, PRICE_E = 0.1, PRICE_ROW = 0.02;

/* A stage's timers off by more are of another layout or model; work of a rank
 * beyond the step, or a step that timers explain less of, is no step of theirs.
 */
static const double PRICE_MISFIT = 0.15, PRICE_MORE = 1.05, PRICE_LESS = 0.4;

static const double PRICE_FLOP_S = 1e14; // any: ratios alone count

const char *price_way_name(enum price_way w)
{
    static const char *const names[] = {
#define PRICE_NAME(id, name, text) name,
        PRICE_WAY_TABLE(PRICE_NAME)
#undef PRICE_NAME
    };
    return names[w];
}

const char *price_way_text(enum price_way w)
{
    static const char *const texts[] = {
#define PRICE_TEXT(id, name, text) text,
        PRICE_WAY_TABLE(PRICE_TEXT)
#undef PRICE_TEXT
    };
    return texts[w];
}

static enum err price_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "doctor: out of memory");
}

/* ---- by FLOPs or a card ---- */

/* No unit was measured: all are worked out, with an error as large as such
 * ratios were found to be off. E is a lookup whose bytes FLOPs do not tell, so
 * that it has a least. */
static void price_ratios(const struct price_question *q, struct price *p)
{
    const struct model *m = q->model;
    struct cost *c = &p->cost;
    p->way = PRICE_FLOPS;
    if (q->card) {
        roofline_costs(&ROOFLINE_FITTED, q->card, m, c);
        p->way = PRICE_CARD;
    } else {
        cost_analytic(m, PRICE_FLOP_S, c);
    }
    const struct unit_cost *base = &c->unit[model_base_kind(m)];
    const double e_fwd = PRICE_E * base->fwd_s, e_bwd = PRICE_E * base->bwd_s;
    for (int k = 0; k < N_KINDS; k++) {
        struct unit_cost *u = &c->unit[k];
        if (!u->known || k == (int)model_base_kind(m))
            continue;
        if (k == KIND_E) {
            u->fwd_s = fmax(u->fwd_s, e_fwd);
            u->bwd_s = fmax(u->bwd_s, e_bwd);
        }
        const double rel = k == KIND_E ? 1 : PRICE_PRIOR_REL;
        u->fwd_se = rel * u->fwd_s;
        u->bwd_se = rel * u->bwd_s;
    }
}

/* Ratios stay, and so do relative errors. */
static void price_scale(struct cost *c, double by)
{
    for (int k = 0; k < N_KINDS; k++) {
        struct unit_cost *u = &c->unit[k];
        u->fwd_s *= by;
        u->bwd_s *= by;
        u->fwd_se *= by;
        u->bwd_se *= by;
    }
}

/* ---- timers, with FLOPs where they say nothing ---- */

struct price_join {
    const struct price_question *q;
    struct cost *cost;    // by FLOPs before, joined after
    double *a, *b;        // of one pass
    int kind[N_KINDS], n; // unknowns
    double misfit;
};

/* Units of all chunks of a rank, which its timer adds up. */
static void price_rank_counts(const struct price_question *q, int rank,
                              int counts[N_KINDS])
{
    const struct layout *l = &q->run->layout;
    memset(counts, 0, N_KINDS * sizeof *counts);
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int chunk[N_KINDS];
        layout_stage_kinds(l, q->model, s, chunk);
        for (int k = 0; k < N_KINDS; k++)
            counts[k] += chunk[k];
    }
}

/* A row a stage, and one a kind that says what its FLOPs do at the scale that
 * the timers have in all. */
static struct lsq_problem price_rows(struct price_join *j, const double *meas_s,
                                     bool forward)
{
    const int pp = j->q->run->layout.pp, n = j->n;
    double measured = 0, counted = 0;
    int rows = 0;
    for (int r = 0; r < pp; r++) {
        int counts[N_KINDS];
        if (!(meas_s[r] > 0)) // an empty stage has no timer
            continue;
        price_rank_counts(j->q, r, counts);
        measured += meas_s[r];
        for (int i = 0; i < n; i++) {
            const struct unit_cost *u = &j->cost->unit[j->kind[i]];
            const int count = counts[j->kind[i]];
            j->a[rows * n + i] = count / meas_s[r] / PRICE_ROW;
            counted += count * (forward ? u->fwd_s : u->bwd_s);
        }
        j->b[rows++] = 1 / PRICE_ROW;
    }
    // the base kind has none: the timers alone say how fast the machine is
    for (int i = 0; i < n; i++) {
        const enum unit_kind k = (enum unit_kind)j->kind[i];
        const struct unit_cost *u = &j->cost->unit[k];
        const double x = (forward ? u->fwd_s : u->bwd_s) * measured / counted;
        if (k == model_base_kind(j->q->model))
            continue;
        const double rel = k == KIND_E ? 1 : PRICE_PRIOR_REL;
        memset(j->a + rows * n, 0, (size_t)n * sizeof *j->a);
        j->a[rows * n + i] = 1 / x / rel;
        j->b[rows++] = 1 / rel;
    }
    return (struct lsq_problem){rows, n, j->a, j->b};
}

/* Worst relative difference of a stage's timer from its units' sum. */
static void price_misfit(struct price_join *j, const double *meas_s,
                         const double *x)
{
    for (int r = 0; r < j->q->run->layout.pp; r++) {
        int counts[N_KINDS];
        double sum = 0;
        if (!(meas_s[r] > 0))
            continue;
        price_rank_counts(j->q, r, counts);
        for (int i = 0; i < j->n; i++)
            sum += counts[j->kind[i]] * x[i];
        j->misfit = fmax(j->misfit, fabs(sum / meas_s[r] - 1));
    }
}

/* Forward and backward apart: timers tell both, and their ratio differs from
 * kind to kind. */
static enum err price_join_pass(struct arena *a, struct price_join *j,
                                const double *meas_s, bool forward,
                                struct err_msg *msg)
{
    struct lsq_solution s;
    double se[LSQ_MAX_COLS];
    const struct lsq_problem p = price_rows(j, meas_s, forward);
    enum err e = lsq_nnls(a, &p, &s, msg);
    if (e == ERR_OK)
        e = lsq_unit_errors(a, &p, se, msg);
    if (e != ERR_OK)
        return e;
    price_misfit(j, meas_s, s.x);
    for (int i = 0; i < j->n; i++) {
        struct unit_cost *u = &j->cost->unit[j->kind[i]];
        *(forward ? &u->fwd_s : &u->bwd_s) = s.x[i];
        *(forward ? &u->fwd_se : &u->bwd_se) = se[i];
    }
    return ERR_OK;
}

/* Every kind is determined, by timers or by its prior: no layout is refused. */
static enum err price_prior(struct arena *a, const struct price_question *q,
                            struct price *p, struct err_msg *msg)
{
    const int pp = q->run->layout.pp;
    const size_t rows = (size_t)pp + N_KINDS;
    double *s = arena_alloc(a, (size_t)pp, sizeof *s);
    struct price_join j = {.q = q, .cost = &p->cost};
    j.a = arena_alloc(a, rows * N_KINDS, sizeof *j.a);
    j.b = arena_alloc(a, rows, sizeof *j.b);
    if (!s || !j.a || !j.b)
        return price_no_memory(msg);
    for (int k = 0; k < N_KINDS; k++)
        if (p->cost.unit[k].known)
            j.kind[j.n++] = k;
    for (int pass = 0; pass < 2; pass++) {
        const struct fit_timer t = {q->model, q->run,
                                    pass ? RUNLOG_BACKWARD : RUNLOG_FORWARD};
        enum err e = fit_stage_times(a, &t, s, msg);
        for (int r = 0; r < pp; r++)
            s[r] /= (double)q->model->batch.n_microbatches;
        if (e == ERR_OK)
            e = price_join_pass(a, &j, s, pass == 0, msg);
        if (e != ERR_OK)
            return e;
    }
    p->way = PRICE_PRIOR;
    p->misfit = j.misfit;
    return ERR_OK;
}

/* ---- one way after the other ---- */

/* cost/fit refuses a layout that does not tell kinds apart. */
static enum err price_timers(struct arena *a, const struct price_question *q,
                             struct price *p, struct err_msg *msg)
{
    struct fit f;
    const struct fit_input in = {q->model, q->run, 1};
    const enum err e = fit_costs(a, &in, &f, msg);
    // without a degree of freedom nothing checks the fit
    if (e == ERR_MODEL || (e == ERR_OK && f.degrees_of_freedom < 1))
        return price_prior(a, q, p, msg);
    if (e != ERR_OK)
        return e;
    p->way = PRICE_TIMERS;
    p->cost = f.cost;
    p->misfit = f.worst_misfit;
    p->note = f.note;
    return ERR_OK;
}

/* The trainer's rules; moe-train's logs name a clock. */
static void price_rules(const struct price_question *q, struct cost *c)
{
    c->rules = q->run->log->clock ? MEMORY_MOE_TRAIN : MEMORY_MEGATRON;
}

/* The context points into *p, whose costs are still to change. */
static enum err price_context(const struct price_question *q, struct price *p,
                              struct err_msg *msg)
{
    const struct order order = order_of_model(q->model);
    const enum err e = schedule_outline(
        &order, plan_settings_mode(q->set, q->model), &p->schedule, msg);
    p->ctx = (struct plan_context){
        .model = q->model, .n_mb = p->schedule.n_mb, .schedule = &p->schedule};
    plan_settings_apply(q->set, q->model, &p->ctx);
    plan_context_costs(&p->ctx, &p->cost);
    return e;
}

static enum err price_predict(struct arena *a, const struct price_question *q,
                              struct price *p, struct err_msg *msg)
{
    struct plan own;
    const enum err e = plan_predict(a, &p->ctx, &q->run->layout, &own, msg);
    if (e == ERR_OK)
        p->pred_step_s = own.pred_step_s;
    return e;
}

/* With timers the rest of the step is outside of the pipeline; ratios give all
 * of it to the units. */
static enum err price_fill_step(struct arena *a, const struct price_question *q,
                                struct price *p, struct err_msg *msg)
{
    const struct overhead_runs all = {q->run, 1};
    enum err e = ERR_OK;
    if (q->timers) {
        overhead_jitter(a, &p->ctx, &all, &p->cost);
        e = overhead_fit(a, &p->ctx, &all, &p->cost, msg);
        return e == ERR_OK ? price_predict(a, q, p, msg) : e;
    }
    e = price_predict(a, q, p, msg);
    if (e == ERR_OK && p->pred_step_s > 0)
        price_scale(&p->cost, p->meas_step_s / p->pred_step_s);
    p->pred_step_s = p->meas_step_s;
    return e;
}

/* ---- is it to be believed? ---- */

/* Three ways in which timers cannot be of this run. */
static const char *price_doubt(struct arena *a, const struct price_question *q,
                               const struct price *p)
{
    const double outside = p->cost.overhead_s / p->meas_step_s;
    const double off = p->pred_step_s / p->meas_step_s;
    if (!q->timers)
        return NULL;
    if (p->misfit > PRICE_MISFIT)
        return arena_printf(a,
                            "the timers of a stage are %.0f%% off what its "
                            "units cost elsewhere: are they of this model and "
                            "layout?",
                            100 * p->misfit);
    if (off > PRICE_MORE)
        return arena_printf(a,
                            "the stages' timers make a step of %.1f ms, but "
                            "the log says %.1f: they are not of the same steps",
                            p->pred_step_s * 1e3, p->meas_step_s * 1e3);
    if (outside > PRICE_LESS)
        return arena_printf(a,
                            "the timers explain %.0f%% of the step only: the "
                            "rest (data, checkpoints, waiting) is no matter of "
                            "layout, and to be found first",
                            100 * (1 - outside));
    return NULL;
}

/* Ratios of kinds by work; their scale by this run's timers or, without these,
 * by its step. */
enum err price_make(struct arena *a, const struct price_question *q,
                    struct price *out, struct err_msg *msg)
{
    struct run_step step;
    // recompute by blocks makes layers of one kind differ, whatever the way
    enum err e = roofline_check(q->model, "one log", msg);
    *out = (struct price){.misfit = 0};
    if (e == ERR_OK)
        price_ratios(q, out);
    if (e == ERR_OK)
        e = run_view_step(q->run, &step, msg);
    if (e == ERR_OK && q->timers)
        e = price_timers(a, q, out, msg);
    if (e != ERR_OK)
        return e;
    price_rules(q, &out->cost);
    out->meas_step_s = step.mean_s;
    out->meas_half_s = q->meas_half_s;
    e = price_context(q, out, msg);
    if (e == ERR_OK)
        e = price_fill_step(a, q, out, msg);
    if (e == ERR_OK)
        out->doubt = price_doubt(a, q, out);
    return e;
}
