/*
 * How it works: one context with the fitted costs and two searches serve all
 * figures. Where a figure asks what other costs would do (a planner on FLOPs,
 * E for nothing, links, jitter), it copies the costs and changes them there.
 * Times are in t.
 */
#include "follow.h"

#include "cost/roofline.h"
#include "layout/baseline.h"
#include "layout/default_split.h"
#include "layout/space.h"
#include "plan/jitter.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLLOW_TOP = 2000 }; // holds the space of a model of some dozen layers

static enum err no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "study: out of memory");
}

static enum err search(struct arena *a, const struct plan_context *ctx,
                       bool standalone, struct search_result *out,
                       struct err_msg *msg)
{
    const struct search_options opt = {.standalone_mtp = standalone,
                                       .top = FOLLOW_TOP};
    return search_layouts(a, ctx, &opt, out, msg);
}

/* Two searches: with MTP alone on a stage the space is another one, and the
 * study's pick may be of either. */
enum err follow_open(struct arena *a, const struct study_bench *b,
                     struct follow *out, struct err_msg *msg)
{
    struct follow f = {.a = a, .bench = b};
    enum err e = study_context(a, b, &b->costs, &f.ctx, msg);
    if (e == ERR_OK)
        e = search(a, &f.ctx, false, &f.plain, msg);
    if (e == ERR_OK)
        e = search(a, &f.ctx, true, &f.all, msg);
    if (e == ERR_OK)
        *out = f;
    return e;
}

/* ---- unit costs ---- */

enum err follow_m(const struct follow *f, struct study_row *to,
                  struct err_msg *msg)
{
    (void)msg;
    to->computed.number = f->bench->costs.m;
    return ERR_OK;
}

/* The source of an input that the article lacks is a command of ours. */
enum err follow_e(const struct follow *f, struct study_row *to,
                  struct err_msg *msg)
{
    to->computed.number = f->bench->costs.e;
    to->source = arena_printf(f->a, "moe-layout costs --roofline %s",
                              f->bench->card->name);
    return to->source ? ERR_OK : no_memory(msg);
}

enum err follow_l(const struct follow *f, struct study_row *to,
                  struct err_msg *msg)
{
    (void)msg;
    to->computed.number = f->bench->costs.l;
    return ERR_OK;
}

enum err follow_batches(const struct follow *f, struct study_row *to,
                        struct err_msg *msg)
{
    (void)msg;
    to->computed.number = f->bench->costs.n_mb;
    return ERR_OK;
}

/* Of the fit; 0 where the two speedups are low without any. */
enum err follow_overhead(const struct follow *f, struct study_row *to,
                         struct err_msg *msg)
{
    (void)msg;
    to->computed.number = f->bench->costs.overhead;
    return ERR_OK;
}

/* With the micro-batch that the fitted number of them means. */
enum err follow_roofline_m(const struct follow *f, struct study_row *to,
                           struct err_msg *msg)
{
    const struct study_bench *b = f->bench;
    (void)msg;
    to->computed.number =
        study_roofline(b, KIND_M, study_micro_batch(b, b->costs.n_mb));
    return ERR_OK;
}

enum err follow_roofline_l(const struct follow *f, struct study_row *to,
                           struct err_msg *msg)
{
    const struct study_bench *b = f->bench;
    (void)msg;
    to->computed.number =
        study_roofline(b, KIND_L, study_micro_batch(b, b->costs.n_mb));
    return ERR_OK;
}

/* ---- layouts ---- */

/* Of the article's pick, which need not be ours. */
static enum err speedup_over(const struct follow *f, const struct layout *other,
                             struct study_row *to, struct err_msg *msg)
{
    double pick, step;
    enum err e = study_step(f->a, &f->ctx, &f->bench->pick, &pick, msg);
    if (e == ERR_OK)
        e = study_step(f->a, &f->ctx, other, &step, msg);
    if (e == ERR_OK)
        to->computed.number = step / pick;
    return e;
}

enum err follow_default(const struct follow *f, struct study_row *to,
                        struct err_msg *msg)
{
    return speedup_over(f, &f->bench->base, to, msg);
}

enum err follow_count_based(const struct follow *f, struct study_row *to,
                            struct err_msg *msg)
{
    return speedup_over(f, &f->bench->count_based, to, msg);
}

/* How many layouts tie with the pick: which of them wins is a rule of ours. */
enum err follow_pick(const struct follow *f, struct study_row *to,
                     struct err_msg *msg)
{
    const struct plan *best = &f->plain.plans[0];
    int n = 0;
    for (int i = 0; i < f->plain.n_plans; i++)
        n += f->plain.plans[i].pred_step_s <= PLAN_TIE * f->plain.bound_s;
    to->computed.text = layout_string(f->a, &best->parsed);
    to->note = arena_printf(f->a,
                            "%d layout%s within 0.5%% of the fastest; the "
                            "fewest slow stages, then the most even work, win",
                            n, n == 1 ? "" : "s");
    return to->computed.text && to->note ? ERR_OK : no_memory(msg);
}

static enum err follow_layout_text(const struct follow *f,
                                   const struct layout *l, struct study_row *to,
                                   struct err_msg *msg)
{
    to->computed.text = layout_string(f->a, l);
    return to->computed.text ? ERR_OK : no_memory(msg);
}

enum err follow_default_layout(const struct follow *f, struct study_row *to,
                               struct err_msg *msg)
{
    const struct model *m = f->ctx.model;
    struct layout l;
    const enum err e = default_split_layout(f->a, m, m->par.pp, &l, msg);
    return e == ERR_OK ? follow_layout_text(f, &l, to, msg) : e;
}

enum err follow_count_layout(const struct follow *f, struct study_row *to,
                             struct err_msg *msg)
{
    const struct model *m = f->ctx.model;
    struct layout l;
    const enum err e = baseline_count_based(f->a, m, m->par.pp, &l, msg);
    return e == ERR_OK ? follow_layout_text(f, &l, to, msg) : e;
}

static int n_standalone(const struct search_result *r)
{
    int n = 0;
    for (int i = 0; i < r->n_plans; i++)
        n += r->plans[i].standalone_mtp;
    return n;
}

/* Counted by enumerating: the three figures add up. */
enum err follow_searched(const struct follow *f, struct study_row *to,
                         struct err_msg *msg)
{
    (void)msg;
    to->computed.number = strtod(f->all.searched, NULL);
    return ERR_OK;
}

enum err follow_with_loss(const struct follow *f, struct study_row *to,
                          struct err_msg *msg)
{
    (void)msg;
    to->computed.number = strtod(f->plain.searched, NULL);
    return ERR_OK;
}

enum err follow_alone(const struct follow *f, struct study_row *to,
                      struct err_msg *msg)
{
    (void)msg;
    to->computed.number = n_standalone(&f->all);
    return ERR_OK;
}

/* Forward and backward together; its others differ by E alone. */
enum err follow_last_stage(const struct follow *f, struct study_row *to,
                           struct err_msg *msg)
{
    const struct layout *l = &f->bench->base;
    double others = 0, last = 0;
    for (int s = 0; s < l->n_stages; s++) {
        const struct cost_times t = cost_stage(f->ctx.cost, f->ctx.model, l, s);
        *(s == l->n_stages - 1 ? &last : &others) += t.fwd_s + t.bwd_s;
    }
    (void)msg;
    to->computed.number = last / (others / (l->n_stages - 1));
    return ERR_OK;
}

/* ---- FLOPs ---- */

/* Forward FLOPs of one unit in those of t; of L, one of its passes. */
static double flops_of(const struct follow *f, enum unit_kind k)
{
    const struct model *m = f->ctx.model;
    const double x =
        model_unit_fwd_flops(m, k) / model_unit_fwd_flops(m, KIND_T);
    return k == KIND_L ? x / (1 + m->n_mtp) : x;
}

/* The article counts the head's pass with m, though Megatron makes it in L. */
enum err follow_flops_m(const struct follow *f, struct study_row *to,
                        struct err_msg *msg)
{
    (void)msg;
    to->computed.number = flops_of(f, KIND_M) + flops_of(f, KIND_L);
    return ERR_OK;
}

enum err follow_flops_l(const struct follow *f, struct study_row *to,
                        struct err_msg *msg)
{
    (void)msg;
    to->computed.number = flops_of(f, KIND_L);
    return ERR_OK;
}

/* The article's own FLOPs where it states them, else those of the model; E for
 * nothing. */
static enum err search_flops(const struct follow *f, struct search_result *out,
                             struct err_msg *msg)
{
    struct study_costs flops = {
        .m = study_figure(f->bench, "flops_unit_cost_m"),
        .l = study_figure(f->bench, "flops_unit_cost_L"),
        .n_mb = f->bench->costs.n_mb};
    struct plan_context ctx;
    if (!(flops.m > 0) || !(flops.l > 0)) {
        flops.l = flops_of(f, KIND_L);
        flops.m = flops_of(f, KIND_M) + flops.l;
    }
    const enum err e = study_context(f->a, f->bench, &flops, &ctx, msg);
    return e == ERR_OK ? search(f->a, &ctx, false, out, msg) : e;
}

/* Steps of the layouts of a search that tie with its best, over the pick's, by
 * the study's costs. */
struct tie {
    double least, most, sum;
    int n;
    const struct plan *slowest;
};

/* Plans that tie with the best one by the search's step: how far from the
 * study's pick each of them is says how much of that pick was chance. */
static enum err look_at_tie(const struct follow *f,
                            const struct search_result *r, struct tie *out,
                            struct err_msg *msg)
{
    double pick;
    enum err e = study_step(f->a, &f->ctx, &f->bench->pick, &pick, msg);
    *out = (struct tie){.least = INFINITY};
    for (int i = 0; i < r->n_plans && e == ERR_OK; i++) {
        double step;
        if (r->plans[i].pred_step_s > PLAN_TIE * r->bound_s)
            continue;
        e = study_step(f->a, &f->ctx, &r->plans[i].parsed, &step, msg);
        if (e != ERR_OK)
            return e;
        if (step / pick > out->most)
            out->slowest = &r->plans[i];
        out->least = fmin(out->least, step / pick);
        out->most = fmax(out->most, step / pick);
        out->sum += step / pick;
        out->n++;
    }
    return e;
}

/* A planner on FLOPs cannot tell layouts within the tie apart, and the article
 * does not name its pick: what is lost is their mean, and lies between two
 * ends. */
enum err follow_flops_loss(const struct follow *f, struct study_row *to,
                           struct err_msg *msg)
{
    struct search_result r;
    struct tie t;
    enum err e = search_flops(f, &r, msg);
    if (e == ERR_OK)
        e = look_at_tie(f, &r, &t, msg);
    if (e != ERR_OK)
        return e;
    to->computed.number = 100 * (t.sum / t.n - 1);
    to->note = arena_printf(f->a,
                            "mean of the %d layouts that tie by FLOPs, "
                            "%.1f to %.1f%% (%s): which of them it ran is not "
                            "published",
                            t.n, 100 * (t.least - 1), 100 * (t.most - 1),
                            layout_string(f->a, &t.slowest->parsed));
    return to->note ? ERR_OK : no_memory(msg);
}

/* ---- misses ---- */

/* The context with other costs, which are ours to change. */
static struct cost *own_costs(const struct follow *f, struct plan_context *ctx)
{
    struct cost *c = arena_alloc(f->a, 1, sizeof *c);
    *ctx = f->ctx;
    if (c) {
        *c = *f->ctx.cost;
        ctx->cost = c;
    }
    return c;
}

/* The fastest of them: the article does not name its own. */
static const struct plan *first_standalone(const struct follow *f)
{
    for (int i = 0; i < f->all.n_plans; i++)
        if (f->all.plans[i].standalone_mtp)
            return &f->all.plans[i];
    return NULL;
}

/* Links of the card, a kernel's start for each message; in t. */
static void set_links(const struct follow *f, struct cost *c)
{
    const struct roofline *r = &ROOFLINE_FITTED;
    struct cost priced;
    roofline_costs(r, f->bench->card, f->ctx.model, &priced);
    const double t_s = priced.unit[KIND_T].fwd_s + priced.unit[KIND_T].bwd_s;
    c->latency_s = r->price[ROOFLINE_KERNEL] / t_s;
    c->bytes_per_s =
        f->bench->card->link_bytes_s / r->price[ROOFLINE_BYTES] * t_s;
}

/* The synchronisation at each exchange with which the step is `wanted` times
 * as long as `bare`, in t; bisected, the step grows with it. */
static enum err sync_for(const struct follow *f, const struct layout *l,
                         double wanted, double *out, struct err_msg *msg)
{
    struct plan_context ctx;
    struct cost *c = own_costs(f, &ctx);
    double lo = 0, hi = 1, step = 0;
    if (!c)
        return no_memory(msg);
    set_links(f, c);
    for (int i = 0; i < 40; i++) {
        c->exchange_sync_s = (lo + hi) / 2;
        const enum err e = study_step(f->a, &ctx, l, &step, msg);
        if (e != ERR_OK)
            return e;
        *(step < wanted ? &lo : &hi) = c->exchange_sync_s;
    }
    *out = hi;
    return ERR_OK;
}

/* What the exchange of shapes and doubled messages of that mode cost by the
 * links' figures; what is left of the published miss as a term an exchange. */
enum err follow_standalone(const struct follow *f, struct study_row *to,
                           struct err_msg *msg)
{
    const struct plan *p = first_standalone(f);
    struct plan_context ctx;
    struct cost *c = own_costs(f, &ctx);
    double bare, with, sync = NAN;
    if (!p || !c)
        return p ? no_memory(msg) : ERR_OK;
    set_links(f, c);
    enum err e = study_step(f->a, &f->ctx, &p->parsed, &bare, msg);
    if (e == ERR_OK)
        e = study_step(f->a, &ctx, &p->parsed, &with, msg);
    const double wanted = bare / (1 + to->published.number / 100);
    if (e == ERR_OK && wanted > with)
        e = sync_for(f, &p->parsed, wanted, &sync, msg);
    if (e != ERR_OK)
        return e;
    to->computed.number = 100 * (bare / with - 1);
    const char *rest =
        isfinite(sync)
            ? arena_printf(f->a,
                           "; the rest would need %.3f t more at each "
                           "exchange, a calibration and no explanation",
                           sync)
            : "";
    to->note = arena_printf(f->a,
                            "%s: what messages and exchanges of shapes add by "
                            "the card's links%s",
                            layout_string(f->a, &p->parsed), rest ? rest : "");
    return to->note ? ERR_OK : no_memory(msg);
}

/* Mean of steps whose operations vary. */
static enum err expected(const struct follow *f, struct plan_context *ctx,
                         const struct layout *l, double *step,
                         struct err_msg *msg)
{
    struct jitter_step s;
    const enum err e = jitter_expect(f->a, ctx, l, &s, msg);
    if (e == ERR_OK)
        *step = s.mean_s;
    return e;
}

/* The jitter of operations with which the expected step is `wanted`. */
static enum err jitter_for(const struct follow *f, const struct layout *l,
                           double wanted, double *out, struct err_msg *msg)
{
    struct plan_context ctx;
    struct cost *c = own_costs(f, &ctx);
    double lo = 0, hi = 1, step = 0;
    if (!c)
        return no_memory(msg);
    for (int i = 0; i < 12; i++) {
        c->jitter_cv = (lo + hi) / 2;
        const enum err e = expected(f, &ctx, l, &step, msg);
        if (e != ERR_OK)
            return e;
        *(step < wanted ? &lo : &hi) = c->jitter_cv;
    }
    *out = hi;
    return ERR_OK;
}

/* A layout with its step by costs without E and by those with it. */
struct equals {
    const struct plan *plan;
    double free_e, with_e;
};

/* Of the layouts that the article's costs, E for nothing, have as fast as the
 * best but with two slowest stages, the one that E slows most. */
static enum err find_equals(const struct follow *f,
                            const struct plan_context *free_e,
                            struct equals *out, struct err_msg *msg)
{
    struct search_result r;
    enum err e = search(f->a, free_e, false, &r, msg);
    *out = (struct equals){.plan = NULL};
    for (int i = 0; i < r.n_plans && e == ERR_OK; i++) {
        const struct plan *p = &r.plans[i];
        double step;
        if (p->near_bottleneck < 2 || p->pred_step_s > PLAN_TIE * r.bound_s)
            continue;
        e = study_step(f->a, &f->ctx, &p->parsed, &step, msg);
        if (e == ERR_OK &&
            (!out->plan || step / p->pred_step_s > out->with_e / out->free_e))
            *out = (struct equals){p, p->pred_step_s, step};
    }
    return e;
}

/* Without jitter, as the article's simulator: what E's cost alone makes of two
 * stages that the article took for equal. */
enum err follow_two_bottlenecks(const struct follow *f, struct study_row *to,
                                struct err_msg *msg)
{
    struct plan_context ctx;
    struct cost *c = own_costs(f, &ctx);
    struct equals x;
    double cv = 0;
    if (!c)
        return no_memory(msg);
    c->unit[KIND_E].fwd_s = c->unit[KIND_E].bwd_s = 0;
    enum err e = find_equals(f, &ctx, &x, msg);
    if (e != ERR_OK || !x.plan)
        return e;
    const double wanted = x.free_e / (1 + to->published.number / 100);
    if (wanted > x.with_e)
        e = jitter_for(f, &x.plan->parsed, wanted, &cv, msg);
    if (e != ERR_OK)
        return e;
    to->computed.number = 100 * (x.free_e / x.with_e - 1);
    const char *rest =
        cv > 0 ? arena_printf(f->a,
                              "; the rest would need operations that vary by "
                              "%.0f%%",
                              100 * cv)
               : "";
    to->note =
        arena_printf(f->a,
                     "%s without jitter: what E costs, which the "
                     "article priced at nothing%s",
                     layout_string(f->a, &x.plan->parsed), rest ? rest : "");
    return to->note ? ERR_OK : no_memory(msg);
}
