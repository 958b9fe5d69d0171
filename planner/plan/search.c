#include "search.h"

#include "jitter.h"
#include "layout/baseline.h"
#include "layout/default_split.h"
#include "layout/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENUMERATED = 2000000 };

/* One layout of the space while it is only a number of layers a stage: the
 * stage of m follows from the layout's kind. */
struct candidate {
    double step_s;
    int near_bottleneck;
    double unevenness; // sum of squared stage times
    const char *text;  // the stages' units, zero-separated
};

struct collector {
    struct arena *arena;
    const struct plan_context *ctx;
    struct plan_engine *engine;
    struct memory_terms memory;
    struct candidate *all;
    size_t n, cap;
    int64_t n_dropped, n_refused;
    const char *refusal; // why the last of them was
};

static bool search_fits(const struct collector *c, const struct layout *l)
{
    const struct plan_context *ctx = c->ctx;
    if (ctx->hbm_bytes <= 0)
        return true;
    for (int s = 0; s < l->n_stages; s++) {
        struct memory_stage mem;
        memory_stage_of(&c->memory, l, s,
                        schedule_max_in_flight(ctx->schedule, s % l->pp), &mem);
        if (memory_judge(&c->memory, mem.peak_bytes, ctx->hbm_bytes,
                         ctx->memory_margin) == MEMORY_TOO_MUCH)
            return false;
    }
    return true;
}

static double search_unevenness(const struct plan_context *ctx,
                                const struct layout *l)
{
    double sum = 0;
    for (int s = 0; s < l->n_stages; s++) {
        struct cost_times t = cost_stage(ctx->cost, ctx->model, l, s);
        sum += (t.fwd_s + t.bwd_s) * (t.fwd_s + t.bwd_s);
    }
    return sum;
}

/* All stages' strings in one piece of memory. */
static char *search_pack(struct arena *a, const struct layout *l)
{
    size_t bytes = 0;
    for (int s = 0; s < l->n_stages; s++)
        bytes += strlen(l->units[s]) + 1;
    char *text = arena_alloc(a, bytes, 1), *p = text;
    for (int s = 0; s < l->n_stages && text; s++) {
        size_t n = strlen(l->units[s]) + 1;
        memcpy(p, l->units[s], n);
        p += n;
    }
    return text;
}

static enum err search_unpack(struct arena *a, const char *text, int pp,
                              struct layout *out)
{
    struct layout l = {.pp = pp, .vpp = 1, .n_stages = pp};
    l.units = arena_alloc(a, (size_t)pp, sizeof *l.units);
    if (!l.units)
        return ERR_NOMEM;
    for (int s = 0; s < pp; s++) {
        l.units[s] = text;
        text += strlen(text) + 1;
    }
    *out = l;
    return ERR_OK;
}

static enum err search_collect(void *data, const struct layout *l)
{
    struct collector *c = data;
    const char *refusal = plan_refusal(c->ctx, l);
    if (refusal) {
        c->refusal = refusal;
        c->n_refused++;
        return ERR_OK;
    }
    if (!search_fits(c, l)) {
        c->n_dropped++;
        return ERR_OK;
    }
    if (c->n == c->cap)
        return ERR_RANGE;
    struct candidate *out = &c->all[c->n++];
    out->text = search_pack(c->arena, l);
    if (!out->text)
        return ERR_NOMEM;
    out->unevenness = search_unevenness(c->ctx, l);
    out->near_bottleneck = plan_near_bottleneck(c->ctx, l);
    return plan_engine_step(c->engine, l, &out->step_s);
}

/* By time to the nanosecond; at equal times the more even layout has more
 * slack in the stages that are not the slowest. */
static int by_time(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    long long at = llround(a->step_s * 1e9), bt = llround(b->step_s * 1e9);
    if (at != bt)
        return at < bt ? -1 : 1;
    return (a->unevenness > b->unevenness) - (a->unevenness < b->unevenness);
}

static int search_by_bottleneck(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->near_bottleneck != b->near_bottleneck)
        return a->near_bottleneck - b->near_bottleneck;
    return by_time(x, y);
}

/* Sorts by time, then each group of ties by how many stages are as slow as the
 * slowest: one slow stage is less exposed to jitter than two. */
static void search_rank(struct candidate *all, size_t n)
{
    qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (j < n && all[j].step_s <= all[i].step_s * PLAN_TIE)
            j++;
        qsort(all + i, j - i, sizeof *all, search_by_bottleneck);
        i = j;
    }
}

static enum err space_size(const struct layout_space *space, size_t *n,
                           struct err_msg *msg)
{
    char text[SPACE_COUNT_BYTES];
    enum err e = layout_space_count(space, text, msg);
    if (e != ERR_OK)
        return e;
    *n = strlen(text) > 7 ? MAX_ENUMERATED + 1 : strtoul(text, NULL, 10);
    if (*n > MAX_ENUMERATED)
        return err_set(msg, ERR_RANGE,
                       "search: %s layouts, this version enumerates at most "
                       "%d: use fewer stages",
                       text, MAX_ENUMERATED);
    return ERR_OK;
}

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

static enum err add_baselines(struct arena *a, const struct plan_context *ctx,
                              struct search_result *r, struct err_msg *msg)
{
    static const struct {
        const char *name;
        enum err (*make)(struct arena *, const struct model *, int,
                         struct layout *, struct err_msg *);
        bool needs_layout; // Megatron makes the default without the flag
    } rules[] = {{"default", default_split_layout, false},
                 {"count-based", baseline_count_based, true}};
    struct plan *plans = arena_alloc(a, 2, sizeof *plans);
    if (!plans)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    r->baselines = plans;
    struct model m = *ctx->model; // split as the schedule runs it
    m.par.vpp = ctx->schedule->vpp;
    for (int i = 0; i < 2; i++) {
        struct layout l;
        enum err e = rules[i].make(a, &m, ctx->schedule->pp, &l, NULL);
        if (e == ERR_OK && rules[i].needs_layout && plan_refusal(ctx, &l))
            e = ERR_MODEL;
        if (e == ERR_OK)
            e = plan_predict(a, ctx, &l, &plans[r->n_baselines], msg);
        if (e == ERR_OK)
            r->baseline_names[r->n_baselines++] = rules[i].name;
        else if (e != ERR_MODEL)
            return e;
    }
    enum err e = jitter_fill(a, ctx, plans, r->n_baselines, msg);
    for (int i = 0; i < r->n_baselines && e == ERR_OK; i++)
        set_speedups(r, &plans[i]);
    return e;
}

static enum err keep_top(const struct collector *c, int top,
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
        enum err e = search_unpack(a, c->all[i].text, ctx->schedule->pp, &l);
        if (e == ERR_OK)
            e = plan_predict(a, ctx, &l, &plans[i], msg);
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

/* ERR_MODEL with the reason when nothing is left of the space. */
static enum err search_check_any(const struct layout_space *space,
                                 const struct collector *c, struct err_msg *msg)
{
    if (c->n + (size_t)c->n_dropped == 0 && c->n_refused)
        return err_set(msg, ERR_MODEL,
                       "search: Megatron core %s refuses all %lld layouts: %s",
                       c->ctx->core->name, (long long)c->n_refused, c->refusal);
    if (c->n + (size_t)c->n_dropped == 0)
        return err_set(msg, ERR_MODEL,
                       "search: no layout of %d layers fills %d stages: use "
                       "fewer stages%s",
                       space->n_layers, space->pp,
                       space->standalone_mtp || !space->n_mtp
                           ? ""
                           : ", or --standalone-mtp");
    if (c->n == 0)
        return err_set(msg, ERR_MODEL,
                       "search: none of %lld layouts fits in %.1f GiB a rank: "
                       "use more stages, a smaller micro-batch or recompute",
                       (long long)c->n_dropped,
                       c->ctx->hbm_bytes / (1024.0 * 1024.0 * 1024.0));
    return ERR_OK;
}

static enum err search_enumerate(struct arena *a,
                                 const struct layout_space *space,
                                 struct collector *c, struct err_msg *msg)
{
    enum err e = space_size(space, &c->cap, msg);
    if (e != ERR_OK)
        return e;
    c->all = arena_alloc(a, c->cap, sizeof *c->all);
    c->engine = plan_engine_new(a, c->ctx);
    if (!c->all || !c->engine)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    e = layout_space_each(a, space, search_collect, c, msg);
    return e == ERR_OK ? search_check_any(space, c, msg) : e;
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
        .standalone_mtp = opt->standalone_mtp && !ctx->cost->joint_ml};
    struct collector c = {.arena = a, .ctx = ctx};
    memory_terms(ctx->model, &ctx->cost->rules, ctx->platform, &c.memory);
    struct search_result r = {0};
    enum err e = search_enumerate(a, &space, &c, msg);
    if (e != ERR_OK)
        return e;
    search_rank(c.all, c.n);
    e = add_baselines(a, ctx, &r, msg);
    if (e == ERR_OK)
        e = keep_top(&c, opt->top, &r, msg);
    if (e != ERR_OK)
        return e;
    r.n_searched = (int64_t)c.n + c.n_dropped;
    r.n_dropped_for_memory = c.n_dropped;
    r.n_refused = c.n_refused;
    *out = r;
    return ERR_OK;
}
