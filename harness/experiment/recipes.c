/*
 * How it works: a case becomes a model split as its way says, analytic costs
 * with the ratios in them, and a schedule: the context in which planner and
 * recipes are predicted alike. Where the search proves, its layout's step is
 * the reference of all gaps, else its bound is. Each case has an arena of its
 * own; what rows keep is copied to the caller's.
 */
#include "recipes.h"

#include "cost/cost.h"
#include "manifest/settings.h"
#include "manifest/workload.h"
#include "model/as_hybrid.h"
#include "plan/search.h"
#include "schedule/schedule.h"

#include <math.h>
#include <string.h>

/* Everything that a case is predicted with; the context points into it. */
struct recipe_bench {
    const struct manifest *manifest;
    bool refused; // Megatron has no such order of work
    struct workload workload;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx;
};

static enum err recipes_no_memory(const struct manifest *mf,
                                  struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
}

/* ---- cases ---- */

/* Leaves out what the manifest does not ask for. */
static void recipes_add_case(struct recipe_cases *to, const struct manifest *mf,
                             struct recipe_case c)
{
    const struct planning *p = &mf->planning;
    if (c.ep_overlap ? p->with_overlap : p->without_overlap)
        to->all[to->n++] = c;
}

/* A list of ratios, or one NAN where there is none. */
static struct planning_ratios recipes_ratios(const struct planning_ratios *r)
{
    static const double none[] = {NAN};
    return r->n > 0 ? *r : (struct planning_ratios){none, 1};
}

enum err recipes_cases(struct arena *a, const struct manifest *mf,
                       struct recipe_cases *out, struct err_msg *msg)
{
    const struct planning *p = &mf->planning;
    const struct planning_ratios m = recipes_ratios(&p->m),
                                 l = recipes_ratios(&p->l);
    const int n_grid = p->m.n + p->l.n > 0 ? m.n * l.n : 0;
    const size_t most = 2 * (size_t)p->n_ways * (size_t)(1 + n_grid);
    struct recipe_cases r = {arena_alloc(a, most, sizeof *r.all), 0};
    if (!r.all)
        return recipes_no_memory(mf, msg);
    // what is asked first comes first: a way by FLOPs, without overlap and with
    for (int i = 0; i < 2 * p->n_ways; i++)
        recipes_add_case(&r, mf, (struct recipe_case){i / 2, i % 2, NAN, NAN});
    for (int i = 0; i < 2 * p->n_ways; i++)
        for (int k = 0; k < n_grid; k++)
            recipes_add_case(
                &r, mf,
                (struct recipe_case){i / 2, i % 2, m.x[k / l.n], l.x[k % l.n]});
    *out = r;
    return ERR_OK;
}

/* ---- what a case is predicted with ---- */

/* A cost in MoE layers, forward and backward alike: FLOPs, too, put the
 * backward of every unit at twice its forward. A kind that the model lacks
 * stays away. */
static void recipes_scale(struct cost *c, enum unit_kind kind, double ratio)
{
    const struct unit_cost *t = &c->unit[KIND_T];
    if (!isfinite(ratio) || !c->unit[kind].known)
        return;
    c->unit[kind].fwd_s = ratio * t->fwd_s;
    c->unit[kind].bwd_s = ratio * t->bwd_s;
}

/* As the manifest gave it, to the last digit, else as FLOPs give it. */
static double recipes_ratio(const struct cost *c, enum unit_kind kind,
                            double given)
{
    const struct unit_cost *x = &c->unit[kind], *t = &c->unit[KIND_T];
    if (!x->known || isfinite(given))
        return x->known ? given : (double)NAN;
    return (x->fwd_s + x->bwd_s) / (t->fwd_s + t->bwd_s);
}

/* A pair of MoE layers hides four all-to-alls; with one dense layer half of
 * them are there at all. */
static struct overlap_save recipes_save(const struct cost *c, double share)
{
    const struct unit_cost *t = &c->unit[KIND_T];
    const double both_s = share * (t->fwd_s + t->bwd_s);
    return (struct overlap_save){both_s, both_s / 2, both_s / 2};
}

/* Transfers are ideal whatever the trainer would do: only then is a bound a
 * proof. No memory limit: what a layout takes is shown, not judged. */
static enum err recipes_context(struct arena *a, const struct manifest *mf,
                                struct recipe_bench *b, struct err_msg *msg)
{
    const struct model *m = &b->workload.model;
    struct plan_settings set;
    const char *note = NULL; // of the GPU's workspaces: said in the manifest
    enum err e = manifest_settings(a, mf, &set, &note, msg);
    if (e != ERR_OK)
        return e;
    b->ctx = (struct plan_context){
        .model = m,
        .cost = &b->cost,
        .n_mb = b->schedule.n_mb,
        .schedule = &b->schedule,
        .save = recipes_save(&b->cost, mf->planning.save_share)};
    plan_settings_apply(&set, m, &b->ctx);
    b->ctx.mode = P2P_IDEAL;
    return ERR_OK;
}

/* ERR_RANGE with `refused` set for an order that Megatron refuses; a way that
 * does not fit the manifest's own sizes is an error of the manifest. */
static enum err recipes_open(struct arena *a, const struct manifest *mf,
                             const struct recipe_case *c,
                             struct recipe_bench *b, struct err_msg *msg)
{
    const struct planning_way *way = &mf->planning.way[c->way];
    b->manifest = mf;
    enum err e = workload_read_way(a, mf, way, &b->workload, msg);
    if (e != ERR_OK)
        return e;
    struct model *m = &b->workload.model;
    if (mf->planning.hybrid)
        e = model_as_hybrid(a, &b->workload.model, m, msg);
    if (e != ERR_OK)
        return e;
    m->overlap_moe_comm = c->ep_overlap;
    struct order order = order_of_model(m);
    order.vpp = way->vpp; // a model without the flag, too
    e = schedule_outline(&order, P2P_IDEAL, &b->schedule, msg);
    b->refused = e == ERR_RANGE;
    if (e != ERR_OK)
        return e;
    // ratios are of MoE layers: what MTP layers and most others are
    cost_analytic(m, mf->planning.tflops * 1e12, &b->cost);
    recipes_scale(&b->cost, KIND_M, c->m_over_t);
    recipes_scale(&b->cost, KIND_L, c->l_over_t);
    return recipes_context(a, mf, b, msg);
}

/* ---- rows ---- */

/* The place behind the last row, twice the room when it is full, so that all
 * copies together are no larger than the list; NULL when out of memory. */
static struct recipe_row *recipes_grow(struct arena *a, struct recipe_rows *to)
{
    if (to->n == to->room) {
        int room = 2 * to->room + 64;
        struct recipe_row *all = arena_alloc(a, (size_t)room, sizeof *all);
        if (!all)
            return NULL;
        if (to->n > 0)
            memcpy(all, to->row, (size_t)to->n * sizeof *all);
        to->row = all;
        to->room = room;
    }
    return &to->row[to->n];
}

/* What all rows of a case say alike, as for a way that is refused: a row that
 * has a layout sets the rest. */
static struct recipe_row recipes_blank(const struct manifest *mf,
                                       const struct recipe_case *c)
{
    const struct planning_way *way = &mf->planning.way[c->way];
    return (struct recipe_row){.way = c->way + 1,
                               .pp = way->pp,
                               .vpp = way->vpp,
                               .ep = way->ep,
                               .ep_overlap = c->ep_overlap,
                               .grid = isfinite(c->m_over_t) ||
                                       isfinite(c->l_over_t),
                               .m_over_t = c->m_over_t,
                               .l_over_t = c->l_over_t,
                               .who = "planner",
                               .layout = "",
                               .pred_ms = NAN,
                               .planner_ms = NAN,
                               .bound_ms = NAN,
                               .proof = "refused",
                               .gap_pct = NAN,
                               .source = "",
                               .reason = ""};
}

/* Stages of one rank all carry the rank's peak. */
static int64_t recipes_fullest(const struct plan *p)
{
    int64_t most = 0;
    for (int s = 0; s < p->n_stages; s++)
        most = p->stages[s].mem_bytes > most ? p->stages[s].mem_bytes : most;
    return most;
}

/* A layout beside the others of its case: `like` has the case and the bound.
 * Texts are copied: the plan's go with its arena. */
static enum err recipes_add(struct arena *a, struct recipe_rows *to,
                            const struct recipe_row *like, const struct plan *p)
{
    struct recipe_row *r = recipes_grow(a, to);
    const char *layout = r ? arena_strdup(a, p->layout) : NULL;
    if (!layout)
        return ERR_NOMEM;
    *r = *like;
    r->layout = layout;
    r->pred_ms = 1e3 * p->pred_step_s;
    r->gap_pct = 100 * (r->pred_ms / r->bound_ms - 1);
    r->mem_bytes = recipes_fullest(p);
    to->n++;
    return ERR_OK;
}

/* The reason is the schedule's own message, which says what would do. */
static enum err recipes_refused(struct arena *a, struct recipe_rows *to,
                                const struct recipe_row *like, const char *why)
{
    struct recipe_row *r = recipes_grow(a, to);
    const char *reason = r ? arena_strdup(a, why) : NULL;
    if (!reason)
        return ERR_NOMEM;
    *r = *like;
    r->reason = reason;
    to->n++;
    return ERR_OK;
}

/* The best of a search as a row, and into `like` its proof, which the rows that
 * are held against it share. */
static enum err recipes_add_found(struct arena *a, struct recipe_rows *to,
                                  const struct search_result *found,
                                  struct recipe_row *like)
{
    const struct plan *best = &found->plans[0];
    // what is proved in whole nanoseconds is the layout, not its last digits
    bool proved = found->proof == SEARCH_OPTIMAL;
    like->planner_ms = 1e3 * best->pred_step_s;
    like->bound_ms = 1e3 * (proved ? best->pred_step_s : found->bound_s);
    like->proof = search_proof_name(found->proof);
    return recipes_add(a, to, like, best);
}

/* The published layouts of the way. */
static enum err recipes_add_published(struct arena *a,
                                      const struct manifest *mf,
                                      const struct recipe_bench *b,
                                      struct recipe_rows *to,
                                      struct recipe_row like)
{
    struct arena scratch;
    struct err_msg msg;
    enum err e = ERR_OK;
    arena_init(&scratch);
    like.who = "recipe";
    like.compared = true;
    for (int i = 0; i < mf->planning.n_recipes && e == ERR_OK; i++) {
        const struct planning_recipe *r = &mf->planning.recipe[i];
        struct layout l;
        struct plan p;
        if (r->pp != like.pp || r->vpp != like.vpp)
            continue;
        e = layout_read(&scratch, r->layout, &b->workload.model, &l, &msg);
        if (e == ERR_OK)
            e = plan_predict(&scratch, &b->ctx, &l, &p, &msg);
        like.source = r->source;
        if (e == ERR_OK)
            e = recipes_add(a, to, &like, &p);
        like.compared = false;
    }
    arena_clear(&scratch);
    return e;
}

/* Megatron's default split and the count-based rule, as far as they exist;
 * with ratios only the one that is compared. */
static enum err recipes_add_baselines(struct arena *a, struct recipe_rows *to,
                                      const struct search_result *found,
                                      struct recipe_row like)
{
    enum err e = ERR_OK;
    // behind the planner's row stand the recipes
    like.compared = strcmp(to->row[to->n - 1].who, "recipe") != 0;
    for (int i = 0; i < found->n_baselines && e == ERR_OK; i++) {
        like.who = strcmp(found->baseline_names[i], "default") == 0
                       ? "default"
                       : "count-based";
        if (!like.grid || like.compared)
            e = recipes_add(a, to, &like, &found->baselines[i]);
        like.compared = false;
    }
    return e;
}

/* The same search without cuts inside layers, behind the planner's row. */
static enum err recipes_add_whole(struct arena *a, struct recipe_bench *b,
                                  struct recipe_rows *to,
                                  struct recipe_row like, struct err_msg *msg)
{
    struct search_result found;
    struct arena scratch;
    const struct search_options opt = {.top = 1,
                                       .time_limit_s =
                                           b->manifest->planning.time_limit_s,
                                       .whole_layers = true};
    if (!b->manifest->planning.hybrid)
        return ERR_OK;
    arena_init(&scratch);
    enum err e = search_layouts(&scratch, &b->ctx, &opt, &found, msg);
    const double planner_ms = like.planner_ms;
    like.who = "whole-layers";
    if (e == ERR_OK)
        e = recipes_add_found(a, to, &found, &like);
    if (e == ERR_OK)
        to->row[to->n - 1].planner_ms = planner_ms;
    arena_clear(&scratch);
    return e;
}

/* All recipes must be layouts of the model before anything is searched. */
static enum err recipes_check(struct arena *a, const struct manifest *mf,
                              const struct recipe_bench *b, struct err_msg *msg)
{
    const struct model *m = &b->workload.model;
    for (int i = 0; i < mf->planning.n_recipes; i++) {
        const struct planning_recipe *r = &mf->planning.recipe[i];
        struct layout l;
        if (r->pp != m->par.pp || r->vpp != b->schedule.vpp)
            continue;
        enum err e = layout_read(a, r->layout, m, &l, msg);
        if (e == ERR_OK && l.vpp != r->vpp)
            e = err_set(msg, ERR_RANGE,
                        "layout '%s' has %d stages a rank, want %d", r->layout,
                        l.vpp, r->vpp);
        if (e != ERR_OK)
            return err_prefix(msg, e, "%s: plan: recipes[%d]", mf->path, i);
    }
    return ERR_OK;
}

/* The planner first, then what it is held against. One layout is asked for:
 * with a list the search would have to prove all of it. */
static enum err recipes_search(struct arena *a, struct recipe_bench *b,
                               struct recipe_row *like, struct recipe_rows *to,
                               struct err_msg *msg)
{
    const struct manifest *mf = b->manifest;
    const struct planning *p = &mf->planning;
    struct search_result found;
    const struct search_options opt = {
        .standalone_mtp = p->way[like->way - 1].standalone_mtp,
        .top = 1,
        .time_limit_s = like->grid ? p->ratio_limit_s : p->time_limit_s};
    struct arena scratch;
    arena_init(&scratch);
    enum err e = recipes_check(&scratch, mf, b, msg);
    if (e == ERR_OK)
        e = search_layouts(&scratch, &b->ctx, &opt, &found, msg);
    if (e != ERR_OK)
        goto done;
    e = recipes_add_found(a, to, &found, like);
    if (e == ERR_OK)
        e = recipes_add_whole(a, b, to, *like, msg);
    if (e == ERR_OK)
        e = recipes_add_published(a, mf, b, to, *like);
    if (e == ERR_OK)
        e = recipes_add_baselines(a, to, &found, *like);
    if (e != ERR_OK)
        e = recipes_no_memory(mf, msg);
done:
    arena_clear(&scratch);
    return e;
}

enum err recipes_plan(struct arena *a, const struct manifest *mf,
                      const struct recipe_case *c, struct recipe_rows *to,
                      struct err_msg *msg)
{
    struct arena scratch;
    struct recipe_bench *b;
    struct recipe_row like = recipes_blank(mf, c);
    arena_init(&scratch);
    b = arena_alloc(&scratch, 1, sizeof *b);
    enum err e =
        b ? recipes_open(&scratch, mf, c, b, msg) : recipes_no_memory(mf, msg);
    if (e == ERR_RANGE && b->refused) {
        e = recipes_refused(a, to, &like, msg->text);
        if (e != ERR_OK)
            e = recipes_no_memory(mf, msg);
    } else if (e == ERR_OK) {
        like.ep = b->workload.model.par.ep;
        like.n_mb = b->schedule.n_mb;
        like.m_over_t = recipes_ratio(&b->cost, KIND_M, c->m_over_t);
        like.l_over_t = recipes_ratio(&b->cost, KIND_L, c->l_over_t);
        e = recipes_search(a, b, &like, to, msg);
    }
    arena_clear(&scratch);
    return e;
}

/* ---- again ---- */

enum err recipes_predict(struct arena *a, const struct manifest *mf,
                         const struct recipe_row *row,
                         struct recipe_prediction *out, struct err_msg *msg)
{
    const struct recipe_case c = {
        .way = row->way - 1,
        .ep_overlap = row->ep_overlap,
        .m_over_t = row->grid ? row->m_over_t : (double)NAN,
        .l_over_t = row->grid ? row->l_over_t : (double)NAN};
    struct recipe_bench *b = arena_alloc(a, 1, sizeof *b);
    struct layout l;
    struct plan p;
    if (c.way < 0 || c.way >= mf->planning.n_ways)
        return err_set(msg, ERR_RANGE, "%s: way: got %d, want 1 to %d",
                       mf->path, row->way, mf->planning.n_ways);
    enum err e =
        b ? recipes_open(a, mf, &c, b, msg) : recipes_no_memory(mf, msg);
    if (e == ERR_OK)
        e = layout_read(a, row->layout, &b->workload.model, &l, msg);
    if (e == ERR_OK)
        e = plan_predict(a, &b->ctx, &l, &p, msg);
    if (e == ERR_OK)
        *out = (struct recipe_prediction){1e3 * p.pred_step_s,
                                          recipes_fullest(&p)};
    return e;
}
