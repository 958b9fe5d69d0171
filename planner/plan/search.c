/*
 * How it works: a small space of one chunk a rank is enumerated, every layout
 * under the context's own mode of transfers; a larger one goes to the exact
 * search. Both fill one list of candidates, which is ranked; the best of it
 * become plans, beside the baselines, and jitter has the last word on their
 * order.
 */
#include "search.h"

#include "candidates.h"
#include "exact.h"
#include "jitter.h"
#include "layout/baseline.h"
#include "layout/default_split.h"
#include "layout/space.h"
#include "layout/symbols.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enumerating so many takes about a second; beyond it proving is quicker. */
enum { SEARCH_MAX_ENUMERATED = 200000, SEARCH_MAX_DIGITS = 6 };

struct collector {
    struct candidates list;
    bool whole_layers;
    int64_t n_dropped, n_refused;
    const char *refusal; // why the last of them was
    struct err_msg *msg;
};

static const double SEARCH_GIB = 1024.0 * 1024.0 * 1024.0;

const char *search_proof_name(enum search_proof p)
{
    static const char *const names[] = {[SEARCH_ENUMERATED] = "enumerated",
                                        [SEARCH_OPTIMAL] = "optimal",
                                        [SEARCH_GAP] = "gap"};
    return names[p];
}

/* ---- enumerating ---- */

/* What is dropped is counted by its reason, so that a search that ends with
 * nothing can say why. */
static enum err search_collect(void *data, const struct layout *l)
{
    struct collector *c = data;
    if (c->whole_layers && !symbols_keeps_layers(c->list.ctx->model, l))
        return ERR_OK;
    const char *refusal = plan_refusal(c->list.ctx, l);
    if (refusal) {
        c->refusal = refusal;
        c->n_refused++;
        return ERR_OK;
    }
    if (!candidates_fits(&c->list, l)) {
        c->n_dropped++;
        return ERR_OK;
    }
    return candidates_put(&c->list, l, c->msg);
}

/* The count is text, for it may not fit any integer; its length is looked at
 * before it is read as a number. */
static bool search_is_small(const struct layout_space *space)
{
    char text[SPACE_COUNT_BYTES];
    struct err_msg ignored;
    return space->vpp == 1 &&
           layout_space_count(space, text, &ignored) == ERR_OK &&
           strlen(text) <= SEARCH_MAX_DIGITS &&
           strtol(text, NULL, 10) <= SEARCH_MAX_ENUMERATED;
}

/* What would help besides, of what the flags leave unused. */
static const char *search_more(const struct model *m)
{
    const bool experts = m->n_experts > 0 && m->par.ep == 1;
    return m->memory.distributed ? experts ? ", expert parallelism" : ""
           : experts ? ", expert parallelism, --use-distributed-optimizer"
                     : ", --use-distributed-optimizer";
}

/* ERR_MODEL with the reason when nothing is left of the space. */
static enum err search_check_any(const struct layout_space *space,
                                 const struct collector *c, struct err_msg *msg)
{
    const struct plan_context *ctx = c->list.ctx;
    if (c->list.n + (size_t)c->n_dropped == 0 && c->n_refused)
        return err_set(msg, ERR_MODEL,
                       "search: Megatron core %s refuses all %lld layouts: %s",
                       ctx->core->name, (long long)c->n_refused, c->refusal);
    if (c->list.n + (size_t)c->n_dropped == 0)
        return err_set(
            msg, ERR_MODEL,
            "search: no layout of %d layers%s fills %d stages: use "
            "fewer stages%s",
            space->n_layers, c->whole_layers ? " without a cut inside one" : "",
            space->pp,
            space->standalone_mtp || !space->n_mtp ? ""
                                                   : ", or --standalone-mtp");
    if (c->list.n == 0)
        return err_set(msg, ERR_MODEL,
                       "search: none of %lld layouts fits in %.1f GiB a rank: "
                       "use more stages, a smaller micro-batch%s or recompute",
                       (long long)c->n_dropped, ctx->hbm_bytes / SEARCH_GIB,
                       search_more(ctx->model));
    return ERR_OK;
}

static double fastest(const struct collector *c)
{
    double best_s = INFINITY;
    for (size_t i = 0; i < c->list.n; i++)
        best_s = fmin(best_s, c->list.all[i].step_s);
    return best_s;
}

static enum err search_enumerate(const struct layout_space *space,
                                 struct collector *c, struct search_result *r,
                                 struct err_msg *msg)
{
    enum err e =
        layout_space_each(c->list.arena, space, search_collect, c, msg);
    if (e == ERR_OK)
        e = search_check_any(space, c, msg);
    if (e == ERR_OK)
        e = candidates_predict(&c->list, msg);
    if (e != ERR_OK)
        return e;
    snprintf(r->searched, sizeof r->searched, "%lld",
             (long long)c->list.n + (long long)c->n_dropped);
    r->n_dropped_for_memory = c->n_dropped;
    r->n_refused = c->n_refused;
    r->proof = SEARCH_ENUMERATED;
    candidates_sort(&c->list);
    r->bound_s = fastest(c);
    return ERR_OK;
}

/* ---- proving ---- */

/* What the version of core says of layouts at all: NULL where it takes some. */
static const char *search_core_refuses(const struct plan_context *ctx)
{
    const struct core_version *v = ctx->core;
    if (v && !v->has_layout)
        return "it has no --pipeline-model-parallel-layout";
    if (v && ctx->model->n_mtp && v->mtp == CORE_MTP_REFUSED)
        return "it takes no MTP layer in a layout";
    return NULL;
}

/* The count-based rule over all chunks. */
static enum err search_count_based(struct arena *a, const struct model *m,
                                   int pp, struct layout *out,
                                   struct err_msg *msg)
{
    const int vpp = m->par.vpp;
    enum err e = baseline_count_based(a, m, pp * vpp, out, msg);
    if (e != ERR_OK)
        return e;
    out->pp = pp;
    out->vpp = vpp;
    return layout_validate(out, m->n_layers, m->n_mtp, msg) == LAYOUT_OK
               ? ERR_OK
               : ERR_MODEL;
}

/* GiB of the fullest rank when layers are dealt out evenly: how far from
 * fitting the space is; 0 where the rule gives no layout. */
static double search_even_gib(const struct candidates *c)
{
    const struct schedule *s = c->ctx->schedule;
    struct model m = *c->ctx->model;
    struct layout l;
    int64_t most = 0;
    m.par.vpp = s->vpp;
    if (search_count_based(c->arena, &m, s->pp, &l, NULL) != ERR_OK)
        return 0;
    for (int r = 0; r < l.pp; r++) {
        int64_t peak = plan_rank_peak(&c->memory, &l, r);
        most = peak > most ? peak : most;
    }
    return (double)most / SEARCH_GIB;
}

/* The message holds the numbers that a user can act on: what the ordinary split
 * would take, and whether the search had time to look at all. */
static enum err search_nothing_fits(const struct candidates *c,
                                    const struct exact_result *found,
                                    struct err_msg *msg)
{
    const double gib = c->ctx->hbm_bytes / SEARCH_GIB;
    const double even = search_even_gib(c);
    char one[64] = ""; // there is none where layers do not fill the stages
    if (even > 0)
        snprintf(one, sizeof one, "; the count-based one takes %.1f GiB", even);
    return err_set(
        msg, ERR_MODEL,
        "search: none of %s layouts %s in %.1f GiB a rank%s%s: use more "
        "stages, a smaller micro-batch%s or "
        "recompute",
        found->space, found->state == PROVE_GAP ? "was found to fit" : "fits",
        gib,
        found->state == PROVE_GAP ? " in the time given (--time-limit)" : "",
        one, search_more(c->ctx->model));
}

/* What has no layout of whole layers fits in no memory either. */
static enum err search_nothing_whole(const struct exact_result *found,
                                     struct err_msg *msg)
{
    return err_set(msg, ERR_MODEL,
                   "search: none of %s layouts %s without a cut inside a layer "
                   "and within memory: use fewer stages",
                   found->space,
                   found->state == PROVE_GAP ? "was found" : "is");
}

/* A proof is of rounded costs (whole ticks): a best step that is above the
 * bound by less than rounding makes is optimal, and one below it lowers the
 * bound. */
static enum err search_prove(const struct layout_space *space,
                             const struct search_options *opt,
                             struct collector *c, struct search_result *r,
                             struct err_msg *msg)
{
    const struct plan_context *ctx = c->list.ctx;
    const char *refusal = search_core_refuses(ctx);
    struct exact_result found;
    const bool parts = !ctx->core || core_version_parts_mtp(ctx->core);
    const struct exact_options exact = {.standalone_mtp =
                                            space->standalone_mtp && parts,
                                        .empty_stages = opt->empty_stages,
                                        .whole_layers = opt->whole_layers,
                                        .top = opt->top,
                                        .time_limit_s = opt->time_limit_s,
                                        .hooks = opt->hooks};
    if (refusal)
        return err_set(msg, ERR_MODEL, "search: Megatron core %s: %s",
                       ctx->core->name, refusal);
    enum err e = exact_search(&c->list, &exact, &found, msg);
    if (e != ERR_OK)
        return e;
    if (found.n_found == 0)
        return opt->whole_layers ? search_nothing_whole(&found, msg)
                                 : search_nothing_fits(&c->list, &found, msg);
    candidates_sort(&c->list);
    snprintf(r->searched, sizeof r->searched, "%s", found.space);
    r->n_dropped_for_memory = SEARCH_NOT_COUNTED;
    const double best = fastest(c);
    // costs were rounded: what differs by less is no gap
    const double rounding = found.tick_s * ctx->n_mb * space->n_layers;
    r->gap = fmax(0, (best - rounding) / found.bound_s - 1);
    r->bound_s = found.bound_s;
    if (best < found.bound_s && best >= found.bound_s - rounding)
        r->bound_s = best;
    r->proof =
        found.state != PROVE_GAP && r->gap == 0 ? SEARCH_OPTIMAL : SEARCH_GAP;
    return ERR_OK;
}

/* ---- plans ---- */

static void set_speedups(const struct search_result *r, struct plan *p)
{
    for (int i = 0; i < r->n_baselines; i++) {
        double x = r->baselines[i].exp_step_s / p->exp_step_s;
        if (strcmp(r->baseline_names[i], "default") == 0)
            p->speedup_vs_default = x;
        else
            p->speedup_vs_count_based = x;
    }
}

/* What the search is compared with: Megatron's own split, and the rule that
 * counts layers only. One that the model or the core refuses is left out. */
static enum err add_baselines(const struct candidates *c,
                              struct search_result *r, struct err_msg *msg)
{
    struct arena *a = c->arena;
    const struct plan_context *ctx = c->ctx;
    static const struct {
        const char *name;
        enum err (*make)(struct arena *, const struct model *, int,
                         struct layout *, struct err_msg *);
        bool needs_layout; // Megatron makes the default without the flag
    } rules[] = {{"default", default_split_layout, false},
                 {"count-based", search_count_based, true}};
    struct plan *plans = arena_alloc(a, 2, sizeof *plans);
    if (!plans)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    r->baselines = plans;
    struct model m = *ctx->model; // split as the schedule runs it
    m.par.vpp = ctx->schedule->vpp;
    for (int i = 0; i < 2; i++) {
        struct layout l;
        struct err_msg why = {""};
        enum err e = rules[i].make(a, &m, ctx->schedule->pp, &l, &why);
        if (e == ERR_OK && rules[i].needs_layout && plan_refusal(ctx, &l))
            e = err_set(&why, ERR_MODEL, "%s", plan_refusal(ctx, &l));
        if (e == ERR_OK)
            e = plan_engine_predict(c->engine, &l, &plans[r->n_baselines], msg);
        if (e == ERR_OK)
            r->baseline_names[r->n_baselines++] = rules[i].name;
        else if (e == ERR_MODEL)
            r->baseline_refusals[i] = arena_strdup(a, why.text);
        else
            return e;
    }
    enum err e = jitter_fill(a, ctx, plans, r->n_baselines, msg);
    for (int i = 0; i < r->n_baselines && e == ERR_OK; i++)
        set_speedups(r, &plans[i]);
    return e;
}

/* Only these are predicted in full, with intervals and memory: a list of
 * candidates has thousands. */
static enum err keep_top(const struct candidates *c, int top,
                         struct search_result *r, struct err_msg *msg)
{
    struct arena *a = c->arena;
    const struct plan_context *ctx = c->ctx;
    size_t n = c->n < (size_t)top ? c->n : (size_t)top;
    struct plan *plans = arena_alloc(a, n, sizeof *plans);
    if (!plans)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    for (size_t i = 0; i < n; i++) {
        struct layout l;
        enum err e = candidates_layout(c, i, &l);
        if (e == ERR_OK)
            e = plan_engine_predict(c->engine, &l, &plans[i], msg);
        if (e != ERR_OK)
            return e;
    }
    enum err e = jitter_rerank(a, ctx, plans, (int)n, msg);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < n; i++)
        set_speedups(r, &plans[i]);
    r->plans = plans;
    r->n_plans = (int)n;
    return ERR_OK;
}

enum err search_layouts(struct arena *a, const struct plan_context *ctx,
                        const struct search_options *opt,
                        struct search_result *out, struct err_msg *msg)
{
    const struct layout_space space = {
        .n_layers = ctx->model->n_layers,
        .n_mtp = ctx->model->n_mtp,
        .pp = ctx->schedule->pp,
        .vpp = ctx->schedule->vpp,
        .kind = opt->empty_stages ? SPACE_EMPTY_STAGES : SPACE_NO_EMPTY_STAGE,
        .standalone_mtp = opt->standalone_mtp && !ctx->cost->joint_ml &&
                          !model_is_hybrid(ctx->model)};
    struct collector c = {.msg = msg, .whole_layers = opt->whole_layers};
    struct search_result r = {0};
    enum err e = candidates_init(a, ctx, &c.list, msg);
    if (e == ERR_OK)
        e = search_is_small(&space) ? search_enumerate(&space, &c, &r, msg)
                                    : search_prove(&space, opt, &c, &r, msg);
    if (e == ERR_OK)
        e = add_baselines(&c.list, &r, msg);
    if (e == ERR_OK)
        e = keep_top(&c.list, opt->top, &r, msg);
    if (e == ERR_OK)
        *out = r;
    return e;
}
