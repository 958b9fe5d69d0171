/*
 * How it works: a table gives each role a function that finds its layout, in
 * the order of enum role. The searched roles share two searches, one without
 * and one with MTP on a stage of its own, made when first asked for.
 */
#include "roles.h"

#include "core_check.h"
#include "layout/baseline.h"
#include "layout/default_split.h"
#include "plan/jitter.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough to hold the whole space of a model of some dozen layers. */
enum { ROLES_TOP = 2000 };

#define FLOPS_PER_S 1e12 // scale of analytic costs: the order ignores it

struct finder {
    struct arena *a;
    const struct plan_context *ctx;
    const struct manifest *manifest;
    const struct manifest_measure *measure; // the entry that is looked for
    int nth; // how many earlier entries have the same role
    struct search_result plain, standalone; // n_plans 0: not searched yet
};

struct role_finder {
    bool needs_costs;
    enum err (*find)(struct finder *f, struct layout *out, struct err_msg *msg);
};

/* m stays with L: the layouts that Megatron's users have run for long. */
static enum err search_plain(struct finder *f, struct err_msg *msg)
{
    const struct search_options opt = {.top = ROLES_TOP};
    if (f->plain.n_plans > 0)
        return ERR_OK;
    return search_layouts(f->a, f->ctx, &opt, &f->plain, msg);
}

static enum err search_all(struct finder *f, struct err_msg *msg)
{
    const struct search_options opt = {.standalone_mtp = true,
                                       .top = ROLES_TOP};
    if (f->standalone.n_plans > 0)
        return ERR_OK;
    return search_layouts(f->a, f->ctx, &opt, &f->standalone, msg);
}

/* The fastest of the plain layouts, or of those with standalone MTP, too. */
static enum err roles_fastest(struct finder *f, bool standalone_mtp,
                              struct layout *out, struct err_msg *msg)
{
    enum err e = standalone_mtp ? search_all(f, msg) : search_plain(f, msg);
    if (e == ERR_OK)
        *out = (standalone_mtp ? &f->standalone : &f->plain)->plans[0].parsed;
    return e;
}

static enum err find_pick(struct finder *f, struct layout *out,
                          struct err_msg *msg)
{
    return roles_fastest(f, f->measure->standalone_mtp, out, msg);
}

/* The pick that is measured: as its entry asks, a plain one without entry. */
static enum err find_measured_pick(struct finder *f, struct layout *out,
                                   struct err_msg *msg)
{
    const struct manifest *mf = f->manifest;
    for (int i = 0; i < mf->n_measure; i++)
        if (mf->measure[i].role == ROLE_PICK)
            return roles_fastest(f, mf->measure[i].standalone_mtp, out, msg);
    return roles_fastest(f, false, out, msg);
}

static enum err find_default(struct finder *f, struct layout *out,
                             struct err_msg *msg)
{
    const struct model *m = f->ctx->model;
    return default_split_layout(f->a, m, m->par.pp, out, msg);
}

/* The rule splits over all stages alike, whatever rank they are on. */
static enum err find_count_based(struct finder *f, struct layout *out,
                                 struct err_msg *msg)
{
    const struct model *m = f->ctx->model;
    struct layout l;
    enum err e = baseline_count_based(f->a, m, m->par.pp * m->par.vpp, &l, msg);
    if (e != ERR_OK)
        return e;
    l.pp = m->par.pp;
    l.vpp = m->par.vpp;
    *out = l;
    return ERR_OK;
}

/* What a planner without measurements would pick: costs in proportion to FLOPs
 * (the article's comparison). */
static enum err find_flops_pick(struct finder *f, struct layout *out,
                                struct err_msg *msg)
{
    struct cost cost = {0};
    struct plan_context ctx = *f->ctx;
    struct search_result found;
    const struct search_options opt = {.top = 1};
    cost_analytic(ctx.model, FLOPS_PER_S, &cost);
    if (f->ctx->cost) // bytes as the measured costs' trainer keeps them
        cost.rules = f->ctx->cost->rules;
    plan_context_costs(&ctx, &cost);
    enum err e = search_layouts(f->a, &ctx, &opt, &found, msg);
    if (e == ERR_OK)
        *out = found.plans[0].parsed;
    return e;
}

/* The fastest with m on a stage of its own, whether or not it is the pick. */
static enum err find_standalone(struct finder *f, struct layout *out,
                                struct err_msg *msg)
{
    enum err e = search_all(f, msg);
    for (int i = 0; i < f->standalone.n_plans && e == ERR_OK; i++)
        if (f->standalone.plans[i].standalone_mtp) {
            *out = f->standalone.plans[i].parsed;
            return ERR_OK;
        }
    return e != ERR_OK ? e
                       : err_set(msg, ERR_MODEL,
                                 "no layout has MTP on a stage of its own");
}

/* The fastest but the pick whose two slowest stages are alike: where jitter
 * costs the most. */
static enum err find_two_bottlenecks(struct finder *f, struct layout *out,
                                     struct err_msg *msg)
{
    enum err e = search_plain(f, msg);
    for (int i = 1; i < f->plain.n_plans && e == ERR_OK; i++)
        if (f->plain.plans[i].near_bottleneck >= 2) {
            *out = f->plain.plans[i].parsed;
            return ERR_OK;
        }
    return e != ERR_OK ? e
                       : err_set(msg, ERR_MODEL,
                                 "no layout has two stages within 2%% of the "
                                 "slowest");
}

/* What the pick would be if a stage could not end within a layer, as for a GPT
 * model. */
static enum err find_whole_layers(struct finder *f, struct layout *out,
                                  struct err_msg *msg)
{
    const struct search_options opt = {.whole_layers = true, .top = ROLES_TOP};
    struct search_result found;
    if (!model_is_hybrid(f->ctx->model))
        return err_set(msg, ERR_MODEL,
                       "every layout of a model without a pattern keeps layers "
                       "whole");
    enum err e = search_layouts(f->a, f->ctx, &opt, &found, msg);
    if (e == ERR_OK)
        *out = found.plans[0].parsed;
    return e;
}

/* The pick with one unit moved over the cut behind `stage`; false when there
 * is none to move or a stage would be left empty. */
static bool move_unit(struct arena *a, const struct layout *pick, int stage,
                      bool forward, struct layout *out)
{
    const char *left = pick->units[stage], *right = pick->units[stage + 1];
    size_t n_left = strlen(left), n_right = strlen(right);
    if ((forward ? n_left : n_right) < 2)
        return false;
    const char **units = arena_alloc(a, (size_t)pick->n_stages, sizeof *units);
    if (!units)
        return false;
    memcpy(units, pick->units, (size_t)pick->n_stages * sizeof *units);
    if (forward) {
        units[stage] = arena_strndup(a, left, n_left - 1);
        units[stage + 1] = arena_printf(a, "%c%s", left[n_left - 1], right);
    } else {
        units[stage] = arena_printf(a, "%s%c", left, right[0]);
        units[stage + 1] = arena_strdup(a, right + 1);
    }
    *out = *pick;
    out->units = units;
    return units[stage] && units[stage + 1];
}

struct neighbour {
    struct layout layout;
    double step_s;
};

static int by_step(const void *x, const void *y)
{
    double a = ((const struct neighbour *)x)->step_s;
    double b = ((const struct neighbour *)y)->step_s;
    return (a > b) - (a < b);
}

/* The valid neighbours with the pick's MTP mode; `out` holds two a cut. */
static int roles_neighbours(struct finder *f, const struct layout *pick,
                            struct neighbour *out, struct err_msg *msg)
{
    const struct model *m = f->ctx->model;
    int n = 0;
    for (int i = 0; i < 2 * (pick->n_stages - 1); i++) {
        struct layout l;
        struct plan p;
        if (!move_unit(f->a, pick, i / 2, i % 2 == 0, &l) ||
            layout_validate(&l, m->n_layers, m->n_mtp, msg) != LAYOUT_OK ||
            layout_mtp_standalone(&l) != layout_mtp_standalone(pick) ||
            plan_refusal(f->ctx, &l) ||
            plan_predict(f->a, f->ctx, &l, &p, msg) != ERR_OK)
            continue;
        out[n++] = (struct neighbour){l, p.pred_step_s};
    }
    return n;
}

/* The first entry gets the fastest predicted neighbour, the second the next. */
static enum err find_neighbour(struct finder *f, struct layout *out,
                               struct err_msg *msg)
{
    struct layout pick;
    enum err e = find_measured_pick(f, &pick, msg);
    if (e != ERR_OK)
        return e;
    struct neighbour *all =
        arena_alloc(f->a, 2 * (size_t)pick.n_stages, sizeof *all);
    if (!all)
        return err_set(msg, ERR_NOMEM, "layouts: out of memory");
    int n = roles_neighbours(f, &pick, all, msg);
    if (n <= f->nth)
        return err_set(msg, ERR_MODEL, "the pick has %d valid neighbour%s", n,
                       n == 1 ? "" : "s");
    qsort(all, (size_t)n, sizeof *all, by_step);
    *out = all[f->nth].layout;
    return ERR_OK;
}

/* As it is written in the manifest. */
static enum err find_layout(struct finder *f, struct layout *out,
                            struct err_msg *msg)
{
    const struct model *m = f->ctx->model;
    const char *text = f->measure->layout;
    enum err e = layout_read(f->a, text, m, out, msg);
    if (e == ERR_OK && out->vpp != m->par.vpp)
        e = err_set(msg, ERR_RANGE,
                    "'%s' has %d chunks a rank, parallel.vpp says %d", text,
                    out->vpp, m->par.vpp);
    return e;
}

static const struct role_finder finders[N_ROLES] = {
    [ROLE_PICK] = {true, find_pick},
    [ROLE_DEFAULT] = {false, find_default},
    [ROLE_COUNT_BASED] = {false, find_count_based},
    [ROLE_FLOPS_PICK] = {false, find_flops_pick},
    [ROLE_NEIGHBOUR] = {true, find_neighbour},
    [ROLE_STANDALONE_MTP] = {true, find_standalone},
    [ROLE_TWO_BOTTLENECKS] = {true, find_two_bottlenecks},
    [ROLE_WHOLE_LAYERS] = {true, find_whole_layers},
    [ROLE_REPEAT] = {false, find_default},
    [ROLE_LAYOUT] = {false, find_layout},
};

/* The expectation lies above the step of mean times by the same amount at both
 * ends of the interval. */
static enum err roles_do_predict(struct arena *a,
                                 const struct plan_context *ctx,
                                 struct target *t, struct err_msg *msg)
{
    enum err e = plan_predict(a, ctx, &t->parsed, &t->pred, msg);
    if (e == ERR_OK)
        e = jitter_fill(a, ctx, &t->pred, 1, msg);
    if (e != ERR_OK)
        return e;
    double more = t->pred.exp_step_s - t->pred.pred_step_s;
    if (!isfinite(more))
        more = 0;
    t->step_s = t->pred.pred_step_s + more;
    t->lo_s = t->pred.pred_lo_s + more;
    t->hi_s = t->pred.pred_hi_s + more;
    return ERR_OK;
}

/* A repeat is there to be run again; other roles share equal layouts. */
static int whose_runs(const struct targets *t, int i)
{
    for (int j = 0; j < i; j++)
        if (t->target[i].layout && t->target[j].layout &&
            t->target[i].role != ROLE_REPEAT &&
            t->target[j].role != ROLE_REPEAT &&
            strcmp(t->target[i].layout, t->target[j].layout) == 0)
            return t->target[j].runs_of;
    return i;
}

/* A layout that waits for costs keeps its place in the order of the manifest.
 */
static struct target unknown_target(enum role role)
{
    return (struct target){.role = role,
                           .pred = {.pred_step_s = NAN},
                           .step_s = NAN,
                           .lo_s = NAN,
                           .hi_s = NAN};
}

/* Layouts of roles that need costs are unknown before the profile, and so is
 * every prediction. */
static enum err resolve_one(struct finder *f, struct target *t,
                            struct err_msg *msg)
{
    *t = unknown_target(f->measure->role);
    if (finders[t->role].needs_costs && !f->ctx->cost)
        return ERR_OK;
    enum err e = finders[t->role].find(f, &t->parsed, msg);
    if (e != ERR_OK)
        return e;
    t->layout = layout_text(f->a, &t->parsed, f->ctx->model);
    if (!t->layout)
        return err_set(msg, ERR_NOMEM, "layouts: out of memory");
    e = core_check_layout(f->ctx, t->layout, &t->parsed, msg);
    if (e != ERR_OK)
        return e;
    if (!f->ctx->cost)
        return ERR_OK;
    return roles_do_predict(f->a, f->ctx, t, msg);
}

/* How many entries before this one have its role. */
static int n_earlier(const struct manifest *mf, int at)
{
    int n = 0;
    for (int i = 0; i < at; i++)
        n += mf->measure[i].role == mf->measure[at].role;
    return n;
}

static void warn_left_out(const struct roles_request *req, struct arena *a,
                          enum role role, const struct err_msg *msg)
{
    const char *line =
        arena_printf(a, "role '%s' left out: %s", role_name(role), msg->text);
    if (line && req->warn)
        req->warn(req->data, line);
}

/* A role that this model or core cannot have is left out with a warning; the
 * others are still worth their runs. */
enum err roles_resolve(struct arena *a, const struct roles_request *req,
                       struct targets *out, struct err_msg *msg)
{
    const struct manifest *mf = req->manifest;
    struct finder f = {.a = a, .ctx = req->ctx, .manifest = mf};
    struct targets t = {arena_alloc(a, (size_t)mf->n_measure, sizeof *t.target),
                        0};
    if (!t.target)
        return err_set(msg, ERR_NOMEM, "layouts: out of memory");
    for (int i = 0; i < mf->n_measure; i++) {
        f.measure = &mf->measure[i];
        f.nth = n_earlier(mf, i);
        if (req->only != N_ROLES && f.measure->role != req->only)
            continue;
        enum err e = resolve_one(&f, &t.target[t.n], msg);
        if (e == ERR_OK && !t.target[t.n].layout && !req->keep_unknown)
            e = err_set(msg, ERR_MODEL, "it needs costs");
        if (e == ERR_MODEL) {
            warn_left_out(req, a, f.measure->role, msg);
            continue;
        }
        if (e != ERR_OK)
            return err_prefix(msg, e, "%s: measure[%d]", mf->path, i);
        t.target[t.n].runs_of = whose_runs(&t, t.n);
        t.n++;
    }
    *out = t;
    return ERR_OK;
}

/* Layouts as a dataset has them, predicted anew, where costs are at hand. */
enum err roles_recorded(struct arena *a, const struct plan_context *ctx,
                        const struct words layouts[2], struct targets *out,
                        struct err_msg *msg)
{
    const struct words *roles = &layouts[0], *texts = &layouts[1];
    const struct model *m = ctx->model;
    struct targets t = {arena_alloc(a, (size_t)roles->n + 1, sizeof *t.target),
                        0};
    if (!t.target)
        return err_set(msg, ERR_NOMEM, "layouts: out of memory");
    for (int i = 0; i < roles->n; i++) {
        struct target *x = &t.target[t.n];
        *x = unknown_target(ROLE_LAYOUT);
        enum err e = role_from_name("layouts", roles->word[i], &x->role, msg);
        if (e == ERR_OK)
            e = layout_read(a, texts->word[i], m, &x->parsed, msg);
        x->layout = texts->word[i];
        if (e == ERR_OK && ctx->cost)
            e = roles_do_predict(a, ctx, x, msg);
        if (e != ERR_OK)
            return e;
        x->runs_of = whose_runs(&t, t.n);
        t.n++;
    }
    *out = t;
    return ERR_OK;
}

enum err roles_predict(struct arena *a, const struct plan_context *ctx,
                       struct targets *t, struct err_msg *msg)
{
    for (int i = 0; i < t->n; i++) {
        enum err e = roles_do_predict(a, ctx, &t->target[i], msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
