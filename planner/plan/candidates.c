#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES_FIRST = 256 }; // room at first; it doubles

static enum err candidates_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "search: out of memory");
}

enum err candidates_init(struct arena *a, const struct plan_context *ctx,
                         struct candidates *out, struct err_msg *msg)
{
    *out = (struct candidates){.arena = a, .ctx = ctx};
    memory_terms(ctx->model, &ctx->cost->rules, ctx->platform, &out->memory);
    out->engine = plan_engine_new(a, ctx);
    return out->engine ? ERR_OK : candidates_no_memory(msg);
}

bool candidates_fits(const struct candidates *c, const struct layout *l)
{
    const struct plan_context *ctx = c->ctx;
    if (ctx->hbm_bytes <= 0)
        return true;
    for (int r = 0; r < l->pp; r++) {
        int64_t peak = plan_rank_peak(&c->memory, l, r);
        if (memory_judge(&c->memory, peak, ctx->hbm_bytes,
                         ctx->memory_margin) == MEMORY_TOO_MUCH)
            return false;
    }
    return true;
}

/* ---- the list ---- */

static double candidates_unevenness(const struct plan_context *ctx,
                                    const struct layout *l)
{
    double sum = 0;
    for (int r = 0; r < l->pp; r++) {
        double rank = 0;
        for (int s = r; s < l->n_stages; s += l->pp) {
            struct cost_times t = cost_stage(ctx->cost, ctx->model, l, s);
            rank += t.fwd_s + t.bwd_s;
        }
        sum += rank * rank;
    }
    return sum;
}

static size_t candidates_text_bytes(const struct layout *l)
{
    size_t bytes = 0;
    for (int s = 0; s < l->n_stages; s++)
        bytes += strlen(l->units[s]) + 1;
    return bytes;
}

/* All stages' strings in one piece of memory. */
static char *candidates_pack(struct arena *a, const struct layout *l)
{
    char *text = arena_alloc(a, candidates_text_bytes(l), 1), *p = text;
    for (int s = 0; s < l->n_stages && text; s++) {
        size_t n = strlen(l->units[s]) + 1;
        memcpy(p, l->units[s], n);
        p += n;
    }
    return text;
}

static bool candidates_grow(struct candidates *c)
{
    if (c->n < c->cap)
        return true;
    size_t cap = c->cap ? 2 * c->cap : CANDIDATES_FIRST;
    struct candidate *all = arena_alloc(c->arena, cap, sizeof *all);
    if (!all)
        return false;
    if (c->n)
        memcpy(all, c->all, c->n * sizeof *all);
    c->all = all;
    c->cap = cap;
    return true;
}

enum err candidates_add(struct candidates *c, const struct layout *l,
                        struct err_msg *msg)
{
    if (!candidates_grow(c))
        return candidates_no_memory(msg);
    struct candidate *out = &c->all[c->n];
    out->text = candidates_pack(c->arena, l);
    if (!out->text)
        return candidates_no_memory(msg);
    out->unevenness = candidates_unevenness(c->ctx, l);
    out->near_bottleneck = plan_near_bottleneck(c->ctx, l);
    enum err e = plan_engine_step(c->engine, l, &out->step_s);
    if (e != ERR_OK)
        return err_set(msg, e, "search: %s", plan_engine_error(c->engine));
    c->n++;
    return ERR_OK;
}

bool candidates_has(const struct candidates *c, const struct layout *l)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *p = c->all[i].text;
        int s = 0;
        while (s < l->n_stages && strcmp(p, l->units[s]) == 0) {
            p += strlen(p) + 1;
            s++;
        }
        if (s == l->n_stages)
            return true;
    }
    return false;
}

enum err candidates_layout(const struct candidates *c, size_t i,
                           struct layout *out)
{
    const struct schedule *s = c->ctx->schedule;
    struct layout l = {.pp = s->pp, .vpp = s->vpp, .n_stages = s->pp * s->vpp};
    const char *text = c->all[i].text;
    l.units = arena_alloc(c->arena, (size_t)l.n_stages, sizeof *l.units);
    if (!l.units)
        return ERR_NOMEM;
    for (int k = 0; k < l.n_stages; k++) {
        l.units[k] = text;
        text += strlen(text) + 1;
    }
    *out = l;
    return ERR_OK;
}

/* ---- order ---- */

/* By time to the nanosecond; at equal times the more even layout has more
 * slack in the stages that are not the slowest. */
static int candidates_by_time(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    long long at = llround(a->step_s * 1e9), bt = llround(b->step_s * 1e9);
    if (at != bt)
        return at < bt ? -1 : 1;
    return (a->unevenness > b->unevenness) - (a->unevenness < b->unevenness);
}

static int candidates_by_bottleneck(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->near_bottleneck != b->near_bottleneck)
        return a->near_bottleneck - b->near_bottleneck;
    return candidates_by_time(x, y);
}

void candidates_sort(struct candidates *c)
{
    struct candidate *all = c->all;
    if (c->n)
        qsort(all, c->n, sizeof *all, candidates_by_time);
    for (size_t i = 0; i < c->n;) {
        size_t j = i;
        while (j < c->n && all[j].step_s <= all[i].step_s * PLAN_TIE)
            j++;
        qsort(all + i, j - i, sizeof *all, candidates_by_bottleneck);
        i = j;
    }
}
