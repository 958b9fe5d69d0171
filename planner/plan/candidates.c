/*
 * How it works: a candidate is its stages' strings in one piece of memory and
 * three numbers, since a search keeps some hundred thousand of them. They are
 * predicted in blocks, which the plan's engine simulates side by side, and
 * sorted twice: by time, and within a tie by how many ranks are near the
 * slowest.
 */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATES_FIRST = 256, // room at first; it doubles
    CANDIDATES_BLOCK = 256  // predicted together: as many as an engine takes
};

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

/* One rank that holds too much decides. A layout that is tight, for what is
 * allowed to NCCL and the CUDA context, stays and is marked in its plan. */
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

/* An arena cannot give back the old lists; with doubling they are together no
 * larger than the new one. */
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

enum err candidates_put(struct candidates *c, const struct layout *l,
                        struct err_msg *msg)
{
    if (!candidates_grow(c))
        return candidates_no_memory(msg);
    char *text = candidates_pack(c->arena, l);
    if (!text)
        return candidates_no_memory(msg);
    c->all[c->n++] = (struct candidate){.text = text};
    return ERR_OK;
}

/* Texts of the i-th to a layout; `units` is its room. */
static struct layout candidates_unpack(const struct candidates *c, size_t i,
                                       const char **units)
{
    const struct schedule *s = c->ctx->schedule;
    const char *text = c->all[i].text;
    const int n = s->pp * s->vpp;
    for (int k = 0; k < n; k++) {
        units[k] = text;
        text += strlen(text) + 1;
    }
    return (struct layout){
        .pp = s->pp, .vpp = s->vpp, .n_stages = n, .units = units};
}

/* Predicts `n` from the i-th on, with this room. */
static enum err candidates_block(struct candidates *c, size_t i, int n,
                                 const char **units, struct err_msg *msg)
{
    const int n_stages = c->ctx->schedule->pp * c->ctx->schedule->vpp;
    struct layout layouts[CANDIDATES_BLOCK] = {{0}};
    struct plan_step steps[CANDIDATES_BLOCK];
    for (int k = 0; k < n; k++)
        layouts[k] = candidates_unpack(c, i + (size_t)k, units + k * n_stages);
    enum err e = plan_engine_steps(c->engine, layouts, n, steps);
    if (e != ERR_OK)
        return err_set(msg, e, "search: %s", plan_engine_error(c->engine));
    for (int k = 0; k < n; k++) {
        struct candidate *out = &c->all[i + (size_t)k];
        out->step_s = steps[k].step_s;
        out->near_bottleneck = steps[k].near_bottleneck;
        out->unevenness = steps[k].unevenness;
    }
    return ERR_OK;
}

enum err candidates_predict(struct candidates *c, struct err_msg *msg)
{
    const struct schedule *s = c->ctx->schedule;
    const size_t n_stages = (size_t)s->pp * (size_t)s->vpp;
    const size_t left = c->n - c->n_predicted;
    const size_t block = left < CANDIDATES_BLOCK ? left : CANDIDATES_BLOCK;
    const char **units = arena_alloc(c->arena, block * n_stages, sizeof *units);
    if (!units)
        return candidates_no_memory(msg);
    enum err e = ERR_OK;
    while (c->n_predicted < c->n && e == ERR_OK) {
        const size_t more = c->n - c->n_predicted;
        const size_t n = more < block ? more : block;
        e = candidates_block(c, c->n_predicted, (int)n, units, msg);
        if (e == ERR_OK)
            c->n_predicted += n;
    }
    return e;
}

enum err candidates_add(struct candidates *c, const struct layout *l,
                        struct err_msg *msg)
{
    enum err e = candidates_put(c, l, msg);
    return e == ERR_OK ? candidates_predict(c, msg) : e;
}

/* A plain walk: it is asked for the few layouts that a search adds by hand. */
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
    const char **units =
        arena_alloc(c->arena, (size_t)s->pp * (size_t)s->vpp, sizeof *units);
    if (!units)
        return ERR_NOMEM;
    *out = candidates_unpack(c, i, units);
    return ERR_OK;
}

/* ---- order ---- */

/* By time to the nanosecond; at equal times the more even layout has more
 * slack in the stages that are not the slowest. */
static int candidates_by_time(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    // doubles: as integers, steps of centuries would overflow
    double at = round(a->step_s * 1e9), bt = round(b->step_s * 1e9);
    if (at < bt || at > bt)
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

/* A tie reaches PLAN_TIE beyond its fastest layout. Within it jitter decides
 * which layout wins, and the fewer ranks are near the slowest, the less of it
 * reaches the step. */
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
