/*
 * How it works: the engine of plan holds a pointer to costs that are ours, so
 * that asking for other prices is writing them there; what a plan of these
 * costs would predict is then, by construction, what was fitted.
 */
#include "observed.h"

#include "plan/settings.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    bool on;
    const char *help;
} observed_terms[] = {
#define OBSERVED_ROW(id, name, on, help) {name, on, help},
    OBSERVED_TERM_TABLE(OBSERVED_ROW)
#undef OBSERVED_ROW
};

const char *observed_term_name(enum observed_term t)
{
    return observed_terms[t].name;
}

const char *observed_term_help(enum observed_term t)
{
    return observed_terms[t].help;
}

unsigned observed_default_terms(void)
{
    unsigned bits = 0;
    for (int t = 0; t < N_OBSERVED_TERMS; t++)
        bits |= observed_terms[t].on ? 1U << t : 0;
    return bits;
}

static enum err add_term(const char *name, size_t len, unsigned *bits,
                         struct err_msg *msg)
{
    for (int t = 0; t < N_OBSERVED_TERMS; t++)
        if (strlen(observed_terms[t].name) == len &&
            memcmp(observed_terms[t].name, name, len) == 0) {
            *bits |= 1U << t;
            return ERR_OK;
        }
    return err_set(msg, ERR_PARSE,
                   "terms: got '%.*s', want some of dp, constant, output, "
                   "recompute, free-output, optimizer and start with commas, "
                   "or none",
                   (int)len, name);
}

enum err observed_read_terms(const char *text, unsigned *out,
                             struct err_msg *msg)
{
    unsigned bits = 0;
    if (strcmp(text, "none") != 0)
        for (const char *at = text; at;) {
            const size_t len = strcspn(at, ",");
            const enum err e = add_term(at, len, &bits, msg);
            if (e != ERR_OK)
                return e;
            at = at[len] ? at + len + 1 : NULL;
        }
    *out = bits;
    return ERR_OK;
}

/* ---- sizes of units and their backwards ---- */

/* Scores and what is made of them grow with the square of the sequence, all
 * else with its length: two lengths part them. */
static double score_share(const struct model *m, enum unit_kind k)
{
    struct model half = *m;
    half.batch.seq_tokens = m->batch.seq_tokens / 2;
    const double whole = model_unit_fwd_flops(m, k);
    const double rest = model_unit_fwd_flops(&half, k) *
                        (double)m->batch.seq_tokens /
                        (double)half.batch.seq_tokens;
    return whole > 0 && half.batch.seq_tokens > 0 ? 2 * (whole - rest) / whole
                                                  : 0;
}

/* What a backward runs again, in forwards of the unit. */
static enum err forwards_again(const struct model *m, enum unit_kind k,
                               double *again, struct err_msg *msg)
{
    const struct memory_options *o = &m->memory;
    const unsigned scores = 1U << RECOMPUTE_CORE_ATTN;
    *again = 0;
    if (o->full_recompute == RECOMPUTE_BLOCK)
        return err_set(msg, ERR_MODEL,
                       "recompute by blocks: some layers of a stage cost more "
                       "than others: use the uniform method, or profile");
    if (o->full_recompute == RECOMPUTE_NONE && (o->recompute & ~scores))
        return err_set(msg, ERR_MODEL,
                       "recompute of modules other than core_attn: their share "
                       "of a layer does not follow from its FLOPs: profile");
    if (k == KIND_E || k == KIND_L)
        return ERR_OK;
    if (o->full_recompute == RECOMPUTE_UNIFORM)
        *again = 1;
    else if (o->recompute & scores)
        *again = score_share(m, k);
    return ERR_OK;
}

/* The values that an embedding writes stand for its size: it has no FLOPs. */
static double size_of(const struct model *m, enum unit_kind k)
{
    const double ranks = (double)m->par.tp * m->par.cp;
    const double written = (double)m->batch.micro_batch *
                           (double)m->batch.seq_tokens * (double)m->hidden;
    return (k == KIND_E ? written : model_unit_fwd_flops(m, k)) / ranks;
}

/* MTP of a hybrid model always stands with the loss: one unit to its steps, as
 * joint costs have it. */
static void join_sizes(struct observed *o)
{
    double *const size = o->size, *const ratio = o->bwd_ratio;
    const double sum = size[KIND_M] + size[KIND_L];
    if (!observed_is_joint(o))
        return;
    ratio[KIND_L] =
        (size[KIND_M] * ratio[KIND_M] + size[KIND_L] * ratio[KIND_L]) / sum;
    size[KIND_L] = sum;
    size[KIND_M] = 0;
}

/* Backward twice a forward, and once more what is recomputed; timers of the
 * same model say it better. */
static enum err set_sizes(const struct observed_case *from, struct observed *o,
                          struct err_msg *msg)
{
    const struct model *m = &o->model;
    for (int k = 0; k < N_KINDS; k++) {
        double again = 0;
        if (model_unit_count(m, (enum unit_kind)k) == 0)
            continue;
        const enum err e = forwards_again(m, (enum unit_kind)k, &again, msg);
        if (e != ERR_OK)
            return e;
        o->size[k] = size_of(m, (enum unit_kind)k);
        o->bwd_ratio[k] = 2 + (from->no_recompute ? 0 : again);
    }
    join_sizes(o);
    for (int k = 0; k < N_KINDS && from->timers; k++) {
        const struct unit_cost *t = &from->timers->unit[k];
        if (o->size[k] > 0 && t->known && t->fwd_s > 0)
            o->bwd_ratio[k] = t->bwd_s / t->fwd_s;
    }
    return ERR_OK;
}

bool observed_is_joint(const struct observed *o)
{
    return model_is_hybrid(&o->model) && o->model.n_mtp > 0;
}

enum unit_kind observed_base(const struct observed *o)
{
    if (model_is_hybrid(&o->model))
        return model_base_kind(&o->model);
    return o->size[KIND_T] > 0 ? KIND_T : KIND_T_DENSE;
}

/* ---- the simulator ---- */

/* One engine a row for all rounds of a fit: only its prices change. */
static enum err observed_engine(struct arena *a,
                                const struct observed_case *from,
                                struct observed *o, struct err_msg *msg)
{
    const struct order order = order_of_model(&o->model);
    enum err e = schedule_outline(&order, from->mode, &o->schedule, msg);
    if (e != ERR_OK)
        return e;
    *o->cost = from->links ? *from->links
                           : (struct cost){.source = COST_MEASURED,
                                           .rules = MEMORY_MEGATRON};
    o->cost->dp.gpus_per_node = from->gpus_per_node;
    o->cost->joint_ml = observed_is_joint(o);
    for (int k = 0; k < N_KINDS; k++)
        o->cost->unit[k].known = o->size[k] > 0;
    struct plan_context ctx = {.model = &o->model,
                               .mode = from->mode,
                               .n_mb = order.n_mb,
                               .schedule = &o->schedule,
                               .gpus_per_node = from->gpus_per_node};
    plan_context_costs(&ctx, o->cost);
    o->engine = plan_engine_new(a, &ctx);
    return o->engine ? ERR_OK : err_set(msg, ERR_NOMEM, "steps: out of memory");
}

enum err observed_open(struct arena *a, const struct observed_case *from,
                       struct observed *out, struct err_msg *msg)
{
    struct observed *o = out;
    o->model = *from->model;
    o->model.par.pp = from->layout.pp;
    o->model.par.vpp = from->layout.vpp;
    o->layout = from->layout;
    o->cost = arena_alloc(a, 1, sizeof *o->cost);
    if (!o->cost)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    enum err e = set_sizes(from, o, msg);
    return e == ERR_OK ? observed_engine(a, from, o, msg) : e;
}

static void observed_set(const struct observed *o,
                         const struct observed_prices *p, struct cost *c)
{
    for (int k = 0; k < N_KINDS; k++) {
        c->unit[k].fwd_s = p->fwd_s[k];
        c->unit[k].bwd_s = p->fwd_s[k] * o->bwd_ratio[k];
    }
    c->dp.s_per_byte = p->dp_s_per_byte;
    c->overhead_s = p->constant_s;
    // of all ranks that share the pipeline rank, as costs count them
    c->overhead_s_per_byte = p->optimizer_s_per_byte / o->model.par.tp;
}

enum err observed_step(struct observed *o, const struct observed_prices *p,
                       double *step_s, struct err_msg *msg)
{
    observed_set(o, p, o->cost);
    const enum err e = plan_engine_step(o->engine, &o->layout, step_s);
    return e == ERR_OK
               ? ERR_OK
               : err_set(msg, e, "%s: %s", o->id, plan_engine_error(o->engine));
}

void observed_write_cost(const struct observed *o,
                         const struct observed_prices *p,
                         const double fwd_se[N_KINDS], struct cost *cost)
{
    observed_set(o, p, cost);
    for (int k = 0; k < N_KINDS; k++) {
        struct unit_cost *u = &cost->unit[k];
        u->known = o->size[k] > 0;
        u->fwd_se = fwd_se[k];
        u->bwd_se = fwd_se[k] * o->bwd_ratio[k];
    }
    cost->joint_ml = observed_is_joint(o);
    cost->dp.gpus_per_node = o->cost->dp.gpus_per_node;
}
