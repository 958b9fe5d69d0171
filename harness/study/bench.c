/*
 * How it works: for each number of micro-batches the three layouts are
 * simulated over a grid of the loss head's cost, and the overhead that fits
 * best is found by bisection, since speedups fall with it. Costs go to the
 * simulator with a second for a t.
 */
#include "bench.h"

#include "base/text.h"
#include "cost/roofline.h"
#include "layout/baseline.h"
#include "layout/default_split.h"
#include "manifest/settings.h"

#include <math.h>
#include <string.h>

// a third of a layer's time is its forward: assumed, the article has sums
static const double FORWARD = 1.0 / 3;

static const double L_STEP = 0.01;
enum { HALVINGS = 60, L_MOST = 1000 };

const char *study_published(const struct study_bench *b, const char *key)
{
    for (int i = 0; i < b->n_manifests; i++)
        for (int k = 0; k < b->manifest[i].n_published; k++)
            if (strcmp(b->manifest[i].published[k].key, key) == 0)
                return b->manifest[i].published[k].value;
    return NULL;
}

double study_figure(const struct study_bench *b, const char *key)
{
    const char *text = study_published(b, key);
    double x = NAN;
    if (text)
        text_to_double(text, &x);
    return x;
}

/* ---- opening ---- */

/* A layout that the article states, else Megatron's or the rule's. */
static enum err read_layout(struct arena *a, const struct study_bench *b,
                            const char *key, struct layout *out,
                            struct err_msg *msg)
{
    const char *text = study_published(b, key);
    const struct model *m = &b->workload.model;
    if (!text && strcmp(key, "default_layout") == 0)
        return default_split_layout(a, m, m->par.pp, out, msg);
    if (!text && strcmp(key, "count_based_layout") == 0)
        return baseline_count_based(a, m, m->par.pp, out, msg);
    if (!text)
        return err_set(msg, ERR_PARSE,
                       "%s: published.%s: missing: the pick of "
                       "study '%s'",
                       b->manifest->path, key, b->name);
    const enum err e = layout_read(a, text, m, out, msg);
    return e == ERR_OK
               ? e
               : err_prefix(msg, e, "%s: published.%s", b->manifest->path, key);
}

/* The pick must be stated: without it no speedup is known. */
static enum err read_layouts(struct arena *a, struct study_bench *b,
                             struct err_msg *msg)
{
    enum err e = read_layout(a, b, "pick_layout", &b->pick, msg);
    if (e == ERR_OK)
        e = read_layout(a, b, "default_layout", &b->base, msg);
    if (e == ERR_OK)
        e = read_layout(a, b, "count_based_layout", &b->count_based, msg);
    return e;
}

/* Figures that the simulation is made of must be there; others are only
 * compared. */
static enum err read_figures(struct study_bench *b, struct err_msg *msg)
{
    const struct {
        const char *key;
        double *to;
    } needed[] = {{"speedup_vs_default", &b->wanted[0]},
                  {"speedup_vs_count_based", &b->wanted[1]},
                  {"unit_cost_m", &b->costs.m},
                  {"unit_cost_L_min", &b->l_lo},
                  {"unit_cost_L_max", &b->l_hi}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        *needed[i].to = study_figure(b, needed[i].key);
        if (!(*needed[i].to > 0))
            return err_set(msg, ERR_PARSE,
                           "%s: published.%s: want a figure above 0: a study "
                           "is simulated with it",
                           b->manifest->path, needed[i].key);
    }
    if (b->l_lo <= b->l_hi && b->l_hi - b->l_lo < L_MOST * L_STEP)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "%s: published.unit_cost_L_min: got %g, want no more than "
                   "unit_cost_L_max, %g, and at most %g below it",
                   b->manifest->path, b->l_lo, b->l_hi, L_MOST * L_STEP);
}

static double pass_sum(const struct cost *c, enum unit_kind k)
{
    return c->unit[k].fwd_s + c->unit[k].bwd_s;
}

static enum err read_card(struct study_bench *b, struct err_msg *msg)
{
    const char *gpu = b->manifest->hardware.gpu;
    const enum err e =
        card_find(gpu ? gpu : "", b->manifest->path, &b->card, msg);
    return e == ERR_OK ? e : err_prefix(msg, e, "hardware.gpu");
}

/* Of both passes, in units of a layer: that is how the study states its costs.
 */
double study_roofline(const struct study_bench *b, enum unit_kind kind,
                      int64_t micro_batch)
{
    struct model m = b->workload.model;
    struct cost c;
    m.batch.micro_batch = micro_batch;
    roofline_costs(&ROOFLINE_FITTED, b->card, &m, &c);
    return pass_sum(&c, kind) / pass_sum(&c, KIND_T);
}

/* The global batch stays, however many parts it has. */
int64_t study_micro_batch(const struct study_bench *b, int n_mb)
{
    const struct batch *batch = &b->workload.model.batch;
    return batch->n_microbatches * batch->micro_batch / n_mb;
}

/* Manifests that follow one another and name the same study are one: it may
 * have several runs. */
enum err study_open(struct arena *a, const struct manifest *manifest, int n,
                    struct study_bench *out, struct err_msg *msg)
{
    struct study_bench b = {.manifest = manifest, .n_manifests = 1};
    b.name = study_published(&b, "study");
    if (!b.name)
        return err_set(msg, ERR_PARSE,
                       "%s: published.study: missing: the study whose figures "
                       "these are",
                       manifest->path);
    while (b.n_manifests < n) {
        const struct study_bench next = {.manifest = &manifest[b.n_manifests],
                                         .n_manifests = 1};
        const char *name = study_published(&next, "study");
        if (!name || strcmp(name, b.name) != 0)
            break;
        b.n_manifests++;
    }
    enum err e = workload_read(a, manifest, &b.workload, msg);
    if (e == ERR_OK)
        e = read_figures(&b, msg);
    if (e == ERR_OK)
        e = read_layouts(a, &b, msg);
    if (e == ERR_OK)
        e = read_card(&b, msg);
    if (e == ERR_OK)
        *out = b;
    return e;
}

/* ---- simulating ---- */

static struct unit_cost unit_of(double in_t)
{
    return (struct unit_cost){
        .known = true, .fwd_s = in_t * FORWARD, .bwd_s = in_t * (1 - FORWARD)};
}

/* A layer takes one unit of time, all else what the study says relative to it;
 * steps come out in the same unit. */
enum err study_context(struct arena *a, const struct study_bench *b,
                       const struct study_costs *c, struct plan_context *out,
                       struct err_msg *msg)
{
    struct cost *cost = arena_alloc(a, 1, sizeof *cost);
    struct schedule *schedule = arena_alloc(a, 1, sizeof *schedule);
    struct plan_settings set;
    const char *note = NULL;
    if (!cost || !schedule)
        return err_set(msg, ERR_NOMEM, "study: out of memory");
    enum err e = manifest_settings(a, b->manifest, &set, &note, msg);
    if (e != ERR_OK)
        return e;
    *cost = (struct cost){.source = COST_PUBLISHED,
                          .overhead_s = c->overhead,
                          .rules = MEMORY_MEGATRON};
    cost->unit[KIND_E] = unit_of(c->e);
    cost->unit[KIND_T] = unit_of(1);
    cost->unit[KIND_T_DENSE] = unit_of(1);
    cost->unit[KIND_M] = unit_of(c->m);
    cost->unit[KIND_L] = unit_of(c->l);
    struct order order = order_of_model(&b->workload.model);
    order.n_mb = c->n_mb;
    struct plan_context ctx = {
        .model = &b->workload.model, .n_mb = c->n_mb, .schedule = schedule};
    plan_settings_apply(&set, ctx.model, &ctx);
    e = schedule_outline(&order, ctx.mode, schedule, msg);
    plan_context_costs(&ctx, cost);
    if (e == ERR_OK)
        *out = ctx;
    return e;
}

enum err study_step(struct arena *a, const struct plan_context *ctx,
                    const struct layout *l, double *step, struct err_msg *msg)
{
    struct plan p;
    const enum err e = plan_predict(a, ctx, l, &p, msg);
    if (e == ERR_OK)
        *step = p.pred_step_s;
    return e;
}

/* ---- the fit ---- */

/* Steps of pick, default and count-based without overhead. */
struct three {
    double pick, other[2];
};

/* Without overhead, which is what the three are to tell. */
static enum err three_steps(struct arena *a, const struct study_bench *b,
                            const struct study_costs *c, struct three *out,
                            struct err_msg *msg)
{
    struct plan_context ctx;
    struct study_costs bare = *c;
    bare.overhead = 0;
    enum err e = study_context(a, b, &bare, &ctx, msg);
    if (e == ERR_OK)
        e = study_step(a, &ctx, &b->pick, &out->pick, msg);
    if (e == ERR_OK)
        e = study_step(a, &ctx, &b->base, &out->other[0], msg);
    if (e == ERR_OK)
        e = study_step(a, &ctx, &b->count_based, &out->other[1], msg);
    return e;
}

/* Signed relative errors of both speedups with an overhead. */
static void errors_with(const struct study_bench *b, const struct three *t,
                        double overhead, double error[2])
{
    for (int i = 0; i < 2; i++)
        error[i] =
            (t->other[i] + overhead) / (t->pick + overhead) / b->wanted[i] - 1;
}

/* The larger of both, so that neither speedup is bought with the other. */
static double miss_with(const struct study_bench *b, const struct three *t,
                        double overhead)
{
    double e[2];
    errors_with(b, t, overhead, e);
    return fmax(fabs(e[0]), fabs(e[1]));
}

/* Both errors fall with the overhead: the larger of their sizes is least where
 * they are opposite, or at no overhead. */
static double best_overhead(const struct study_bench *b, const struct three *t)
{
    double lo = 0, hi = t->pick;
    for (int i = 0; i < HALVINGS; i++) {
        const double mid = (lo + hi) / 2;
        double e[2];
        errors_with(b, t, mid, e);
        if (e[0] + e[1] > 0)
            lo = mid;
        else
            hi = mid;
    }
    return miss_with(b, t, 0) <= miss_with(b, t, lo) ? 0 : lo;
}

/* The least overhead up to `best` with which the miss is no larger than `most`.
 */
static double least_overhead(const struct study_bench *b, const struct three *t,
                             double best, double most)
{
    double lo = 0, hi = best;
    if (miss_with(b, t, 0) <= most)
        return 0;
    for (int i = 0; i < HALVINGS; i++) {
        const double mid = (lo + hi) / 2;
        *(miss_with(b, t, mid) <= most ? &hi : &lo) = mid;
    }
    return hi;
}

/* What a reader sees of a try. */
static void fill_try(const struct study_bench *b, const struct three *t,
                     struct study_try *to)
{
    const double over = to->costs.overhead;
    for (int i = 0; i < 2; i++)
        to->speedup[i] = (t->other[i] + over) / (t->pick + over);
    to->miss = miss_with(b, t, over);
}

/* The best of one number of micro-batches, over the grid of L. */
static enum err try_batches(struct arena *a, const struct study_bench *b,
                            int n_mb, struct study_try *out,
                            struct err_msg *msg)
{
    const int n = (int)lround((b->l_hi - b->l_lo) / L_STEP);
    // the article prices it at nothing; its table's gradient does not grow with
    // the micro-batch as t does
    const double e_in_t = study_roofline(b, KIND_E, study_micro_batch(b, n_mb));
    out->miss = INFINITY;
    for (int i = 0; i <= n; i++) {
        struct three t;
        struct study_try x = {.costs = b->costs};
        x.costs.n_mb = n_mb;
        x.costs.e = e_in_t;
        x.costs.l = n > 0 ? b->l_lo + (b->l_hi - b->l_lo) * i / n : b->l_lo;
        const enum err e = three_steps(a, b, &x.costs, &t, msg);
        if (e != ERR_OK)
            return e;
        x.costs.overhead = best_overhead(b, &t);
        fill_try(b, &t, &x);
        if (x.miss < out->miss)
            *out = x;
    }
    return ERR_OK;
}

/* Half a unit of the last of the two decimals stated. */
static double rounding(const struct study_bench *b)
{
    return 0.005 / fmin(b->wanted[0], b->wanted[1]);
}

/* Takes the try with the least overhead among those that the rounding cannot
 * tell from the best. */
static enum err choose_try(struct arena *a, struct study_bench *b,
                           struct err_msg *msg)
{
    struct study_try taken = b->tries[0];
    double least = INFINITY;
    for (int i = 0; i < b->n_tries; i++)
        least = fmin(least, b->tries[i].miss);
    least += rounding(b);
    for (int i = 1; i < b->n_tries; i++)
        if (b->tries[i].miss <= least &&
            (taken.miss > least ||
             b->tries[i].costs.overhead < taken.costs.overhead))
            taken = b->tries[i];
    struct three t;
    b->costs = taken.costs;
    const enum err e = three_steps(a, b, &b->costs, &t, msg);
    if (e == ERR_OK)
        b->costs.overhead = least_overhead(b, &t, b->costs.overhead, least);
    return e;
}

/* A micro-batch of 1, 2, 4, ... sequences, as long as every rank has one to
 * begin with. */
enum err study_fit(struct arena *a, struct study_bench *b, struct err_msg *msg)
{
    const struct model *m = &b->workload.model;
    const int64_t most = m->batch.n_microbatches * m->batch.micro_batch;
    b->n_tries = 0;
    for (int64_t n = most; n >= m->par.pp && b->n_tries < STUDY_MAX_TRIES;
         n /= 2) {
        const enum err e =
            try_batches(a, b, (int)n, &b->tries[b->n_tries++], msg);
        if (e != ERR_OK)
            return e;
        if (n % 2)
            break;
    }
    if (b->n_tries > 0)
        return choose_try(a, b, msg);
    return err_set(msg, ERR_RANGE,
                   "%s: batch.global_batch: %lld micro-batches for %d stages, "
                   "want one a stage or more",
                   b->manifest->path, (long long)most, m->par.pp);
}
