/*
 * How it works: the search gives the pick; its step and the run's own are
 * predicted by the same costs, and only their ratio is used, on the measured
 * step. The ratio is predicted again with each unit's cost at either end of its
 * interval. Parts of the interval are independent: squares add up.
 */
#include "advice.h"

#include "memory/fit.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>

/* Mean error of predicted steps over the seven layouts of
 * results/reference/local-full (REPORT.md), as one standard deviation. */
static const double ADVICE_PLANNER_SD = 0.0233;

/* Assumed, not measured: gradient sums, optimiser, data of a step whose timers
 * nobody has. */
static const double ADVICE_OUTSIDE_MOST = 0.3;

static const double ADVICE_TIME_LIMIT_S = 0.3, ADVICE_95 = 1.96;

const char *advice_part_name(enum advice_part p)
{
    static const char *const names[] = {
#define ADVICE_PART_NAME(id, name, text) name,
        ADVICE_PART_TABLE(ADVICE_PART_NAME)
#undef ADVICE_PART_NAME
    };
    return names[p];
}

const char *advice_part_text(enum advice_part p)
{
    static const char *const texts[] = {
#define ADVICE_PART_TEXT(id, name, text) text,
        ADVICE_PART_TABLE(ADVICE_PART_TEXT)
#undef ADVICE_PART_TEXT
    };
    return texts[p];
}

const char *advice_verdict_name(enum advice_verdict v)
{
    static const char *const names[] = {[ADVICE_NONE] = "none",
                                        [ADVICE_KEEP] = "keep",
                                        [ADVICE_UNSURE] = "unsure",
                                        [ADVICE_PASTE] = "paste"};
    return names[v];
}

/* Not an error of the command: the answer is that there is none. */
static enum err advice_none(struct arena *a, struct advice *out, enum err e,
                            const struct err_msg *msg)
{
    out->verdict = ADVICE_NONE;
    out->why = arena_strdup(a, msg->text);
    return out->why && e != ERR_NOMEM ? ERR_OK : ERR_NOMEM;
}

/* ---- memory ---- */

/* The run's lines correct the model of memory; rows tell its error before. */
static enum err advice_correct(struct arena *a, const struct price_question *q,
                               struct price *p, struct advice_memory *out,
                               struct err_msg *msg)
{
    struct memory_fit f;
    const bool ours = p->cost.rules.trainer == TRAINER_MOE_TRAIN;
    const struct memory_fit_input in = {q->model, q->run, 1, q->set->platform};
    out->error = (double)NAN;
    for (size_t i = 0; i < q->run->log->n_memory; i++)
        if (q->run->log->memory[i].max_allocated_bytes > out->own_bytes)
            out->own_bytes = q->run->log->memory[i].max_allocated_bytes;
    if (ours ? q->run->layout.vpp > 1 : memory_refusal(q->model) != NULL)
        return ERR_OK;
    const enum err e = memory_fit(a, &in, &p->cost.rules, &f, msg);
    if (e == ERR_OK && f.n_rows)
        out->error = f.model_error;
    return e;
}

/* Without a limit only what the run itself held is known to be there. */
static void advice_fits(const struct plan *pick, const struct price *p,
                        struct advice_memory *m)
{
    const struct model *model = p->ctx.model;
    for (int s = 0; s < pick->n_stages; s++)
        if (pick->stages[s].mem_bytes > m->pick_bytes)
            m->pick_bytes = pick->stages[s].mem_bytes;
    if (p->cost.rules.trainer == TRAINER_MEGATRON && memory_refusal(model)) {
        m->pick_bytes = 0;
        m->why = memory_refusal(model);
    } else if (p->ctx.hbm_bytes > 0) {
        m->fits = pick->tight_memory ? ADVICE_FIT_TIGHT : ADVICE_FIT_YES;
        m->why = pick->tight_memory
                     ? "below the limit, but not with what the driver takes"
                     : "below the limit given";
    } else if (m->own_bytes &&
               (double)m->pick_bytes * (1 + p->ctx.memory_margin) <=
                   (double)m->own_bytes) {
        m->fits = ADVICE_FIT_YES;
        m->why = "no more than a rank of this run held";
    } else {
        m->why = "the card's memory is not known: give --hbm-gb";
    }
}

/* ---- the gain ---- */

/* Pick's step over the run's own, by the price's costs as they stand. */
static enum err advice_ratio(struct plan_engine *e, const struct advice *a,
                             double *out)
{
    double own = 0, pick = 0;
    enum err err = plan_engine_step(e, &a->own.parsed, &own);
    if (err == ERR_OK)
        err = plan_engine_step(e, &a->pick.parsed, &pick);
    if (err == ERR_OK)
        *out = pick / own;
    return err;
}

/* The ratio with one unit at an end of its interval; costs are put back. */
static enum err advice_moved(struct plan_engine *e, const struct advice *a,
                             struct unit_cost *u, double by, double *out)
{
    const struct unit_cost kept = *u;
    u->fwd_s = fmax(u->fwd_s + by * u->fwd_se, 0);
    u->bwd_s = fmax(u->bwd_s + by * u->bwd_se, 0);
    const enum err err = advice_ratio(e, a, out);
    *u = kept;
    return err;
}

/* Each unit's price is moved to both ends of its interval, the others staying;
 * what the gain loses or wins by it adds up in squares, as for errors that do
 * not know of one another. */
static enum err advice_units(struct plan_engine *e, struct price *p,
                             struct advice *out)
{
    double up = 0, down = 0;
    for (int k = 0; k < N_KINDS; k++) {
        struct unit_cost *u = &p->cost.unit[k];
        double ratio[2] = {1 - out->gain, 1 - out->gain};
        if (!u->known)
            continue;
        for (int i = 0; i < 2; i++) {
            const double by = i ? ADVICE_95 : -ADVICE_95;
            const enum err err = advice_moved(e, out, u, by, &ratio[i]);
            if (err != ERR_OK)
                return err;
        }
        const double more = 1 - fmin(ratio[0], ratio[1]) - out->gain;
        const double less = out->gain - (1 - fmax(ratio[0], ratio[1]));
        up += more > 0 ? more * more : 0;
        down += less > 0 ? less * less : 0;
    }
    out->up[ADVICE_UNITS] = sqrt(up);
    out->down[ADVICE_UNITS] = sqrt(down);
    return ERR_OK;
}

/* Ratios take all of a step for the pipeline's: a part that is not brings the
 * gain nearer to nothing, and never further from it. */
static void advice_interval(const struct price *p, struct advice *out)
{
    double up = 0, down = 0;
    const double scatter = p->meas_half_s / p->meas_step_s;
    const double planner = ADVICE_95 * ADVICE_PLANNER_SD;
    out->up[ADVICE_SCATTER] = out->down[ADVICE_SCATTER] = scatter;
    out->up[ADVICE_PLANNER] = out->down[ADVICE_PLANNER] = planner;
    if (p->way == PRICE_FLOPS || p->way == PRICE_CARD) {
        out->down[ADVICE_OUTSIDE] = ADVICE_OUTSIDE_MOST * fmax(out->gain, 0);
        out->up[ADVICE_OUTSIDE] = ADVICE_OUTSIDE_MOST * fmax(-out->gain, 0);
    }
    for (int i = 0; i < N_ADVICE_PARTS; i++) {
        up += out->up[i] * out->up[i];
        down += out->down[i] * out->down[i];
    }
    out->gain_lo = out->gain - sqrt(down);
    out->gain_hi = fmin(out->gain + sqrt(up), 1);
    out->step_s = p->meas_step_s * (1 - out->gain);
    out->step_lo_s = p->meas_step_s * (1 - out->gain_hi);
    out->step_hi_s = p->meas_step_s * (1 - out->gain_lo);
}

/* Errors of the engine are of layouts that were predicted before. */
static enum err advice_gain(struct arena *a, struct price *p,
                            struct advice *out, struct err_msg *msg)
{
    struct plan_engine *e = plan_engine_new(a, &p->ctx);
    double ratio = 1;
    if (!e)
        return err_set(msg, ERR_NOMEM, "doctor: out of memory");
    enum err err = advice_ratio(e, out, &ratio);
    out->gain = 1 - ratio;
    if (err == ERR_OK)
        err = advice_units(e, p, out);
    if (err != ERR_OK)
        return err_set(msg, err, "%s", plan_engine_error(e));
    advice_interval(p, out);
    const double tie = PLAN_TIE - 1;
    out->verdict = out->gain <= tie      ? ADVICE_KEEP
                   : out->gain_lo <= tie ? ADVICE_UNSURE
                                         : ADVICE_PASTE;
    return ERR_OK;
}

/* ---- the search ---- */

/* Under a limit of time, since somebody waits for the page; the proof then says
 * gap. */
static enum err advice_search(struct arena *a, const struct price_question *q,
                              struct price *p, struct advice *out,
                              struct err_msg *msg)
{
    struct search_result found;
    const struct search_options opt = {.top = 1,
                                       .time_limit_s = ADVICE_TIME_LIMIT_S};
    char *searched = arena_alloc(a, PROVE_DIGITS, 1);
    if (!searched)
        return err_set(msg, ERR_NOMEM, "doctor: out of memory");
    enum err e = plan_context_check(&p->ctx, &p->cost.rules, "--hbm-gb", msg);
    if (e == ERR_OK)
        e = plan_predict(a, &p->ctx, &q->run->layout, &out->own, msg);
    if (e == ERR_OK)
        e = search_layouts(a, &p->ctx, &opt, &found, msg);
    if (e != ERR_OK)
        return e;
    memcpy(searched, found.searched, PROVE_DIGITS);
    out->searched = searched;
    out->proof = search_proof_name(found.proof);
    out->gap = found.gap;
    out->pick = found.plans[0];
    return ERR_OK;
}

/* What stands against advice becomes a verdict with its reason, and no error:
 * the other findings are still worth printing. */
enum err advice_make(struct arena *a, const struct price_question *q,
                     struct price *p, double hbm_bytes, struct advice *out)
{
    struct err_msg msg = {""};
    *out = (struct advice){.verdict = ADVICE_NONE};
    p->ctx.hbm_bytes = hbm_bytes;
    enum err e = advice_correct(a, q, p, &out->memory, &msg);
    if (e == ERR_OK && p->doubt)
        e = err_set(&msg, ERR_MODEL, "%s", p->doubt);
    if (e == ERR_OK)
        e = advice_search(a, q, p, out, &msg);
    if (e == ERR_OK)
        e = advice_gain(a, p, out, &msg);
    if (e != ERR_OK)
        return advice_none(a, out, e, &msg);
    advice_fits(&out->pick, p, &out->memory);
    return ERR_OK;
}
