/*
 * How it works: a case is one context with up to three sets of costs. Each set
 * searches, giving a pick and the best step by it; then all layouts (picks,
 * recipes, the default split) are predicted by every set.
 */
#include "compare.h"

#include "base/csv.h"
#include "bench.h"
#include "cost/roofline.h"
#include "layout/default_split.h"
#include "manifest/settings.h"
#include "manifest/workload.h"
#include "plan/search.h"
#include "table.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FLOPS_PER_S 1e12 // scale of costs by FLOPs: the order ignores it

/* Layouts of one case: a pick of each, recipes, the default. */
enum { CASE_LAYOUTS = N_COMPARE + PLANNING_MAX_FLAGS };

struct compare_case {
    const struct manifest *manifest;
    const struct card *card;
    struct workload workload;
    struct schedule schedule;
    struct plan_context ctx;
    bool standalone_mtp;
    double limit_s;
    struct cost cost[N_COMPARE];
    bool known[N_COMPARE];
    struct layout layout[CASE_LAYOUTS];
    struct compare_row row[CASE_LAYOUTS];
    int n;
};

const char *compare_name(enum compare_by b)
{
    static const char *const names[] = {[COMPARE_FLOPS] = "flops",
                                        [COMPARE_ROOFLINE] = "roofline",
                                        [COMPARE_MEASURED] = "measured"};
    return names[b];
}

static enum err no_memory(const struct manifest *mf, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
}

/* ---- layouts of a case ---- */

/* A cost in MoE layers, forward and backward. */
static double over_t(const struct cost *c, enum unit_kind k)
{
    const struct unit_cost *x = &c->unit[k], *t = &c->unit[KIND_T];
    if (!x->known || !t->known)
        return NAN;
    return (x->fwd_s + x->bwd_s) / (t->fwd_s + t->bwd_s);
}

/* NULL where a case has its most layouts. */
static struct compare_row *add_layout(struct compare_case *c, const char *who,
                                      const struct layout *l)
{
    const struct parallel *p = &c->workload.model.par;
    struct compare_row *r = &c->row[c->n];
    if (c->n >= CASE_LAYOUTS)
        return NULL;
    c->layout[c->n++] = *l;
    *r = (struct compare_row){.experiment = c->manifest->name,
                              .card = c->card->name,
                              .pp = p->pp,
                              .vpp = l->vpp,
                              .who = who,
                              .proof = "",
                              .m_over_t = NAN,
                              .l_over_t = NAN};
    return r;
}

/* The pick by one kind of costs. */
static enum err add_pick(struct arena *a, struct compare_case *c,
                         enum compare_by by, struct err_msg *msg)
{
    const struct search_options opt = {.standalone_mtp = c->standalone_mtp,
                                       .top = 1,
                                       .time_limit_s = c->limit_s};
    struct plan_context ctx = c->ctx;
    struct search_result r;
    plan_context_costs(&ctx, &c->cost[by]);
    const enum err e = search_layouts(a, &ctx, &opt, &r, msg);
    if (e != ERR_OK)
        return e;
    struct compare_row *row =
        add_layout(c, compare_name(by), &r.plans[0].parsed);
    if (!row)
        return no_memory(c->manifest, msg);
    row->proof = search_proof_name(r.proof);
    row->m_over_t = over_t(&c->cost[by], KIND_M);
    row->l_over_t = over_t(&c->cost[by], KIND_L);
    return ERR_OK;
}

/* What others run with this split, and Megatron's own split. */
static enum err add_recipes(struct arena *a, struct compare_case *c,
                            struct err_msg *msg)
{
    const struct planning *p = &c->manifest->planning;
    const struct model *m = &c->workload.model;
    for (int i = 0; i < p->n_recipes; i++) {
        struct layout l;
        if (p->recipe[i].pp != m->par.pp || p->recipe[i].vpp != m->par.vpp)
            continue;
        const enum err e = layout_read(a, p->recipe[i].layout, m, &l, msg);
        if (e != ERR_OK)
            return e;
        add_layout(c, "recipe", &l);
    }
    struct layout l;
    struct err_msg ignored; // many models have no even split
    if (default_split_layout(a, m, m->par.pp, &l, &ignored) == ERR_OK)
        add_layout(c, "default", &l);
    return ERR_OK;
}

/* ---- prices ---- */

/* Steps of all layouts by one kind of costs, then over the least of them: a
 * search that ended early may be behind another's pick. */
static enum err price(struct arena *a, struct compare_case *c,
                      enum compare_by by, struct err_msg *msg)
{
    struct plan_context ctx = c->ctx;
    double best = INFINITY;
    plan_context_costs(&ctx, &c->cost[by]);
    for (int i = 0; i < c->n; i++) {
        c->row[i].slower_pct[by] = NAN;
        if (!c->known[by])
            continue;
        const enum err e =
            study_step(a, &ctx, &c->layout[i], &c->row[i].slower_pct[by], msg);
        if (e != ERR_OK)
            return e;
        best = fmin(best, c->row[i].slower_pct[by]);
    }
    for (int i = 0; i < c->n; i++)
        c->row[i].slower_pct[by] = 100 * (c->row[i].slower_pct[by] / best - 1);
    return ERR_OK;
}

/* Rows of all cases in one array, made anew for each: an arena grows none. */
static enum err append(struct arena *a, struct compare_rows *to,
                       const struct compare_case *c, struct err_msg *msg)
{
    struct compare_row *all =
        arena_alloc(a, (size_t)(to->n + c->n) + 1, sizeof *all);
    if (!all)
        return no_memory(c->manifest, msg);
    if (to->n > 0)
        memcpy(all, to->row, (size_t)to->n * sizeof *all);
    for (int i = 0; i < c->n; i++) {
        all[to->n + i] = c->row[i];
        all[to->n + i].layout = layout_string(a, &c->layout[i]);
        if (!all[to->n + i].layout)
            return no_memory(c->manifest, msg);
    }
    *to = (struct compare_rows){all, to->n + c->n};
    return ERR_OK;
}

/* Picks first: they are what the case is about. */
static enum err run_case(struct arena *a, struct compare_case *c,
                         struct compare_rows *to, struct err_msg *msg)
{
    enum err e = ERR_OK;
    c->n = 0;
    for (int by = 0; by < N_COMPARE && e == ERR_OK; by++)
        if (c->known[by])
            e = add_pick(a, c, (enum compare_by)by, msg);
    if (e == ERR_OK)
        e = add_recipes(a, c, msg);
    for (int by = 0; by < N_COMPARE && e == ERR_OK; by++)
        e = price(a, c, (enum compare_by)by, msg);
    return e == ERR_OK ? append(a, to, c, msg) : e;
}

/* ---- cases ---- */

/* These need no measurement, so that every case has them. */
static void set_costs(struct compare_case *c)
{
    const struct model *m = &c->workload.model;
    cost_analytic(m, FLOPS_PER_S, &c->cost[COMPARE_FLOPS]);
    roofline_costs(&ROOFLINE_FITTED, c->card, m, &c->cost[COMPARE_ROOFLINE]);
    c->known[COMPARE_FLOPS] = c->known[COMPARE_ROOFLINE] = true;
}

/* One way of a manifest that only plans; false in *taken where Megatron has no
 * such order. */
static enum err open_way(struct arena *a, struct compare_case *c,
                         const struct planning_way *way, bool *taken,
                         struct err_msg *msg)
{
    struct plan_settings set;
    const char *note = NULL;
    enum err e = workload_read_way(a, c->manifest, way, &c->workload, msg);
    if (e == ERR_OK)
        e = manifest_settings(a, c->manifest, &set, &note, msg);
    if (e != ERR_OK)
        return e;
    struct model *m = &c->workload.model;
    m->overlap_moe_comm = false;
    m->par.vpp = way->vpp;
    struct order order = order_of_model(m);
    *taken = schedule_outline(&order, P2P_IDEAL, &c->schedule, msg) == ERR_OK;
    c->standalone_mtp = way->standalone_mtp;
    c->ctx = (struct plan_context){
        .model = m, .n_mb = c->schedule.n_mb, .schedule = &c->schedule};
    plan_settings_apply(&set, m, &c->ctx);
    c->ctx.mode = P2P_IDEAL;
    set_costs(c);
    return ERR_OK;
}

/* Ways that Megatron's schedule refuses have no rows. */
static enum err compare_ways(struct arena *a, struct compare_case *c,
                             struct compare_rows *to, struct err_msg *msg)
{
    const struct planning *p = &c->manifest->planning;
    enum err e = ERR_OK;
    for (int i = 0; i < p->n_ways && e == ERR_OK; i++) {
        bool taken = false;
        e = open_way(a, c, &p->way[i], &taken, msg);
        if (e == ERR_OK && taken)
            e = run_case(a, c, to, msg);
    }
    return e;
}

/* The study's fitted costs stand for measured ones; FLOPs and roofline plan
 * with the same overhead of a step, in seconds of their own t. */
static enum err compare_study(struct arena *a, struct compare_case *c,
                              struct compare_rows *to, struct err_msg *msg)
{
    struct study_bench b;
    enum err e = study_open(a, c->manifest, 1, &b, msg);
    if (e == ERR_OK)
        e = study_fit(a, &b, msg);
    if (e == ERR_OK)
        e = study_context(a, &b, &b.costs, &c->ctx, msg);
    if (e != ERR_OK)
        return e;
    c->workload = b.workload;
    c->ctx.model = &c->workload.model;
    set_costs(c);
    for (int by = 0; by < COMPARE_MEASURED; by++) {
        const struct unit_cost *t = &c->cost[by].unit[KIND_T];
        c->cost[by].overhead_s = b.costs.overhead * (t->fwd_s + t->bwd_s);
    }
    c->cost[COMPARE_MEASURED] = *c->ctx.cost;
    c->known[COMPARE_MEASURED] = true;
    return run_case(a, c, to, msg);
}

/* A manifest that only plans names its ways; any other has the study's layouts.
 */
enum err compare_manifest(struct arena *a, const struct manifest *mf,
                          double limit_s, struct compare_rows *to,
                          struct err_msg *msg)
{
    struct compare_case *c = arena_alloc(a, 1, sizeof *c);
    if (!c)
        return no_memory(mf, msg);
    c->manifest = mf;
    c->limit_s = limit_s;
    const enum err e = card_find(mf->hardware.gpu ? mf->hardware.gpu : "",
                                 mf->path, &c->card, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "hardware.gpu");
    return manifest_plans_only(mf) ? compare_ways(a, c, to, msg)
                                   : compare_study(a, c, to, msg);
}

/* ---- the table ---- */

/* An empty field where a case has no such costs. */
static bool write_plans(FILE *out, const void *data)
{
    static const char *const columns[] = {"format",
                                          "experiment",
                                          "card",
                                          "pp",
                                          "vpp",
                                          "who",
                                          "layout",
                                          "by_flops_pct",
                                          "by_roofline_pct",
                                          "by_measured_pct",
                                          "proof",
                                          "m_over_t",
                                          "l_over_t"};
    const struct compare_rows *all = data;
    bool ok = csv_write_row(out, columns, COUNT(columns));
    for (int i = 0; i < all->n && ok; i++) {
        const struct compare_row *r = &all->row[i];
        char x[7][CSV_NUMBER_BYTES];
        const char *const fields[] = {
            "moe-bench/plans/1",
            r->experiment,
            r->card,
            csv_number(r->pp, x[0]),
            csv_number(r->vpp, x[1]),
            r->who,
            r->layout,
            csv_number(r->slower_pct[COMPARE_FLOPS], x[2]),
            csv_number(r->slower_pct[COMPARE_ROOFLINE], x[3]),
            csv_number(r->slower_pct[COMPARE_MEASURED], x[4]),
            r->proof,
            csv_number(r->m_over_t, x[5]),
            csv_number(r->l_over_t, x[6])};
        ok = csv_write_row(out, fields, COUNT(fields));
    }
    return ok;
}

enum err compare_write(const struct compare_rows *rows, const char *dir,
                       struct err_msg *msg)
{
    return table_write(dir, "plans.csv", write_plans, rows, msg);
}
