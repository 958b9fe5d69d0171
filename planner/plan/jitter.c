/*
 * How it works: samples pass in blocks, one for each of the simulator's lanes.
 * A block's random factors are made once and laid over the mean times of every
 * layout in turn: layouts are compared under the same luck, and logarithms and
 * exponentials do not grow with their number.
 */
#include "jitter.h"

#include "base/random.h"
#include "base/stats.h"
#include "log/runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TAU = 6.283185307179586;

/* ---- random numbers ---- */

/* Two independent standard normal numbers of a key (Box and Muller 1958). */
static void normal_pair(uint64_t key, double *x, double *y)
{
    double r = sqrt(-2 * log(random_uniform(random_mix(key))));
    double angle = TAU * random_uniform(random_mix(~key));
    *x = r * cos(angle);
    *y = r * sin(angle);
}

/* ---- expected steps ---- */

/* Of a step of many operations each is closer to the mean (their deviations
 * even out), so fewer samples say the same; a million operations a layout, of
 * ten layouts and more, would take minutes. So many operations are simulated,
 * but no fewer samples than the interval needs. */
enum { JITTER_MAX_OPS = 1 << 22, JITTER_LEAST_SAMPLES = 32 };

/* Samples that are simulated side by side, one for each of the simulator's
 * lanes; together they have so many operations at most, of 160 bytes each. */
enum { JITTER_LANES = 16, JITTER_LANE_OPS = 1 << 19 };

/* A layout whose steps are sampled. */
struct jitter_case {
    const struct layout *layout;
    double *fwd_s, *bwd_s; // [stage], means
    double steps[JITTER_SAMPLES];
};

/* The samples at hand, the same ones for every layout. */
struct sampler {
    const struct plan_context *ctx;
    struct plan_engine *engine;
    size_t n_ops;                    // stages * micro-batches
    int n_samples, lanes;            // of all, at once
    double *fwd_factor, *bwd_factor; // [lane * n_ops + stage * n_mb + mb]
    double *fwd_s, *bwd_s;           // the same of one layout
    struct jitter_case *cases;
    int n_cases;
};

/* Factors of samples `first` and on. */
static void jitter_factors(struct sampler *s, int first)
{
    const size_t n_mb = (size_t)s->ctx->n_mb;
    const double cv = s->ctx->cost->jitter_cv;
    const double sigma = sqrt(log1p(cv * cv)), mu = -sigma * sigma / 2;
    for (int lane = 0; lane < s->lanes; lane++) {
        const uint64_t sample = (uint64_t)(first + lane);
        for (size_t i = 0; i < s->n_ops; i++) {
            const uint64_t key = random_mix(JITTER_SEED + sample) ^
                                 ((uint64_t)(i / n_mb) << 32 | i % n_mb);
            const size_t at = (size_t)lane * s->n_ops + i;
            double x, y;
            normal_pair(key, &x, &y);
            s->fwd_factor[at] = exp(mu + sigma * x);
            s->bwd_factor[at] = exp(mu + sigma * y);
        }
    }
}

void jitter_draw(const struct jitter_times *mean,
                 const struct plan_context *ctx, int index, double *fwd_s,
                 double *bwd_s)
{
    const int n_mb = ctx->n_mb;
    const double cv = ctx->cost->jitter_cv;
    const double sigma = sqrt(log1p(cv * cv)), mu = -sigma * sigma / 2;
    for (int stage = 0; stage < mean->layout->n_stages; stage++) {
        const double fwd = mean->fwd_s[stage], bwd = mean->bwd_s[stage];
        for (int mb = 0; mb < n_mb; mb++) {
            uint64_t key = random_mix(JITTER_SEED + (uint64_t)index) ^
                           ((uint64_t)stage << 32 | (uint64_t)mb);
            double x, y;
            normal_pair(key, &x, &y);
            fwd_s[stage * n_mb + mb] = fwd * exp(mu + sigma * x);
            bwd_s[stage * n_mb + mb] = bwd * exp(mu + sigma * y);
        }
    }
}

/* Operation times of a stage: its mean, factor by factor. */
static void jitter_scale(double mean_s, const double *factor, int n,
                         double *out)
{
    for (int mb = 0; mb < n; mb++)
        out[mb] = mean_s * factor[mb];
}

/* Steps of samples `first` and on of one layout. */
static enum err jitter_steps(struct sampler *s, struct jitter_case *c,
                             int first)
{
    const int n_mb = s->ctx->n_mb;
    struct plan_ops ops[JITTER_LANES];
    for (int lane = 0; lane < s->lanes; lane++) {
        size_t at = (size_t)lane * s->n_ops;
        ops[lane] = (struct plan_ops){c->layout, s->fwd_s + at, s->bwd_s + at};
        for (int k = 0; k < c->layout->n_stages; k++, at += (size_t)n_mb) {
            jitter_scale(c->fwd_s[k], s->fwd_factor + at, n_mb, s->fwd_s + at);
            jitter_scale(c->bwd_s[k], s->bwd_factor + at, n_mb, s->bwd_s + at);
        }
    }
    return plan_engine_replays(s->engine, ops, s->lanes, &c->steps[first]);
}

/* Without jitter every sample is the same. */
static struct jitter_step jitter_summarise(const struct sampler *s,
                                           struct jitter_case *c)
{
    const double one = c->steps[0];
    if (s->ctx->cost->jitter_cv <= 0)
        return (struct jitter_step){one, one, one, 0};
    const size_t n = (size_t)s->n_samples;
    struct stats_mean m = stats_mean(c->steps, n);
    struct stats_interval middle = stats_middle(c->steps, n);
    return (struct jitter_step){
        .mean_s = m.mean, .lo_s = middle.lo, .hi_s = middle.hi, .se_s = m.se};
}

int jitter_samples(const struct plan_context *ctx)
{
    const int64_t n_ops =
        (int64_t)ctx->schedule->pp * ctx->schedule->vpp * (int64_t)ctx->n_mb;
    int64_t most = JITTER_MAX_OPS / (n_ops > 0 ? n_ops : 1);
    if (ctx->cost->jitter_cv <= 0)
        return 1;
    // whole blocks of lanes
    most -= most % JITTER_LANES;
    return most > JITTER_SAMPLES         ? JITTER_SAMPLES
           : most < JITTER_LEAST_SAMPLES ? JITTER_LEAST_SAMPLES
                                         : (int)most;
}

/* Memory of `n` cases, which are the caller's to fill. */
static struct sampler *sampler_new(struct arena *a,
                                   const struct plan_context *ctx, int n)
{
    const size_t p = (size_t)ctx->schedule->pp * (size_t)ctx->schedule->vpp;
    struct sampler *s = arena_alloc(a, 1, sizeof *s);
    if (!s)
        return NULL;
    s->ctx = ctx;
    s->engine = plan_engine_new(a, ctx);
    s->n_ops = p * (size_t)ctx->n_mb;
    s->n_samples = jitter_samples(ctx);
    s->lanes = JITTER_LANES;
    while (s->lanes > 1 && (size_t)s->lanes * s->n_ops > JITTER_LANE_OPS)
        s->lanes /= 2;
    s->n_cases = n;
    const size_t all = (size_t)s->lanes * s->n_ops;
    double *ops = arena_alloc(a, all, 4 * sizeof *ops);
    double *means = arena_alloc(a, (size_t)n * p, 2 * sizeof *means);
    s->cases = arena_alloc(a, (size_t)n, sizeof *s->cases);
    if (!s->engine || !ops || !means || !s->cases)
        return NULL;
    s->fwd_factor = ops;
    s->bwd_factor = ops + all;
    s->fwd_s = ops + 2 * all;
    s->bwd_s = ops + 3 * all;
    for (int i = 0; i < n; i++) {
        s->cases[i].fwd_s = means + 2 * (size_t)i * p;
        s->cases[i].bwd_s = s->cases[i].fwd_s + p;
    }
    return s;
}

static enum err sampler_run(struct sampler *s, struct err_msg *msg)
{
    for (int first = 0; first < s->n_samples; first += s->lanes) {
        jitter_factors(s, first);
        for (int i = 0; i < s->n_cases; i++)
            if (jitter_steps(s, &s->cases[i], first) != ERR_OK)
                return err_set(msg, ERR_MODEL,
                               "jitter: the layout cannot be simulated");
    }
    return ERR_OK;
}

/* Single operations are combined as wholes, without the parts before and after
 * their layers that a step of stages' times has (sim.h): what that makes of
 * steady operations is taken off. */
static enum err jitter_restore_parts(struct sampler *s,
                                     const struct jitter_case *c,
                                     struct jitter_step *out,
                                     struct err_msg *msg)
{
    const int n_mb = s->ctx->n_mb;
    const struct plan_ops ops = {c->layout, s->fwd_s, s->bwd_s};
    double whole = 0, parts = 0;
    if (!s->ctx->schedule->order.ep_overlap)
        return ERR_OK;
    for (int i = 0; i < c->layout->n_stages * n_mb; i++) {
        s->fwd_s[i] = c->fwd_s[i / n_mb];
        s->bwd_s[i] = c->bwd_s[i / n_mb];
    }
    if (plan_engine_replay(s->engine, &ops, &whole) != ERR_OK ||
        plan_engine_step(s->engine, c->layout, &parts) != ERR_OK)
        return err_set(msg, ERR_MODEL,
                       "jitter: the layout cannot be simulated");
    out->mean_s += parts - whole;
    out->lo_s += parts - whole;
    out->hi_s += parts - whole;
    return ERR_OK;
}

/* A layout with the costs' times. */
static void jitter_case_of(const struct plan_context *ctx,
                           const struct layout *l, struct jitter_case *out)
{
    out->layout = l;
    for (int stage = 0; stage < l->n_stages; stage++) {
        struct cost_times t = cost_stage(ctx->cost, ctx->model, l, stage);
        out->fwd_s[stage] = t.fwd_s;
        out->bwd_s[stage] = t.bwd_s;
    }
}

/* Without jitter the plain step, which does not look at single operations. */
static enum err jitter_plain(struct sampler *s, struct jitter_step *out,
                             struct err_msg *msg)
{
    double one = 0;
    if (plan_engine_step(s->engine, s->cases[0].layout, &one) != ERR_OK)
        return err_set(msg, ERR_MODEL,
                       "jitter: the layout cannot be simulated");
    *out = (struct jitter_step){one, one, one, 0};
    return ERR_OK;
}

enum err jitter_expect(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct jitter_step *out,
                       struct err_msg *msg)
{
    struct sampler *s = sampler_new(a, ctx, 1);
    if (!s)
        return err_set(msg, ERR_NOMEM, "jitter: out of memory");
    jitter_case_of(ctx, l, &s->cases[0]);
    if (ctx->cost->jitter_cv <= 0)
        return jitter_plain(s, out, msg);
    enum err e = sampler_run(s, msg);
    if (e != ERR_OK)
        return e;
    *out = jitter_summarise(s, &s->cases[0]);
    return jitter_restore_parts(s, &s->cases[0], out, msg);
}

enum err jitter_expect_times(struct arena *a, const struct plan_context *ctx,
                             const struct jitter_times *times,
                             struct jitter_step *out, struct err_msg *msg)
{
    struct sampler *s = sampler_new(a, ctx, 1);
    if (!s)
        return err_set(msg, ERR_NOMEM, "jitter: out of memory");
    struct jitter_case *c = &s->cases[0];
    const size_t n = (size_t)times->layout->n_stages;
    c->layout = times->layout;
    memcpy(c->fwd_s, times->fwd_s, n * sizeof *c->fwd_s);
    memcpy(c->bwd_s, times->bwd_s, n * sizeof *c->bwd_s);
    enum err e = sampler_run(s, msg);
    if (e == ERR_OK)
        *out = jitter_summarise(s, c);
    return e;
}

/* ---- the top list ---- */

static int by_expected(const void *x, const void *y)
{
    const struct plan *a = x, *b = y;
    return (a->exp_step_s > b->exp_step_s) - (a->exp_step_s < b->exp_step_s);
}

static int jitter_by_bottleneck(const void *x, const void *y)
{
    const struct plan *a = x, *b = y;
    if (a->near_bottleneck != b->near_bottleneck)
        return a->near_bottleneck - b->near_bottleneck;
    return by_expected(x, y);
}

/* Without jitter a step is what the mean times give. */
static void jitter_fill_none(struct plan *plans, int n)
{
    for (int i = 0; i < n; i++) {
        plans[i].exp_step_s = plans[i].pred_step_s;
        plans[i].exp_lo_s = plans[i].exp_hi_s = plans[i].pred_step_s;
    }
}

enum err jitter_fill(struct arena *a, const struct plan_context *ctx,
                     struct plan *plans, int n, struct err_msg *msg)
{
    if (n == 0 || ctx->cost->jitter_cv <= 0) {
        jitter_fill_none(plans, n);
        return ERR_OK;
    }
    struct sampler *s = sampler_new(a, ctx, n);
    if (!s)
        return err_set(msg, ERR_NOMEM, "jitter: out of memory");
    for (int i = 0; i < n; i++)
        jitter_case_of(ctx, &plans[i].parsed, &s->cases[i]);
    enum err e = sampler_run(s, msg);
    for (int i = 0; i < n && e == ERR_OK; i++) {
        struct jitter_step step = jitter_summarise(s, &s->cases[i]);
        e = jitter_restore_parts(s, &s->cases[i], &step, msg);
        plans[i].exp_step_s = step.mean_s;
        plans[i].exp_lo_s = step.lo_s;
        plans[i].exp_hi_s = step.hi_s;
    }
    return e;
}

enum err jitter_rerank(struct arena *a, const struct plan_context *ctx,
                       struct plan *plans, int n, struct err_msg *msg)
{
    enum err e = jitter_fill(a, ctx, plans, n, msg);
    if (e != ERR_OK || ctx->cost->jitter_cv <= 0)
        return e; // without jitter the order stays the one of the search
    qsort(plans, (size_t)n, sizeof *plans, by_expected);
    for (int i = 0, j; i < n; i = j) {
        j = i;
        while (j < n && plans[j].exp_step_s <= plans[i].exp_step_s * PLAN_TIE)
            j++;
        qsort(plans + i, (size_t)(j - i), sizeof *plans, jitter_by_bottleneck);
    }
    return ERR_OK;
}

/* ---- estimates ---- */

double jitter_from_ops(const double *times_s, size_t n_rows, int n_mb)
{
    double squares = 0;
    int dof = 0;
    for (size_t row = 0; row < n_rows; row++) {
        const double *t = times_s + row * (size_t)n_mb;
        double sum = 0, spread = 0;
        int n = 0;
        for (int i = 0; i < n_mb; i++)
            if (isfinite(t[i])) {
                sum += t[i];
                n++;
            }
        if (n < 2 || sum <= 0)
            continue;
        for (int i = 0; i < n_mb; i++)
            if (isfinite(t[i]))
                spread += pow(t[i] / (sum / n) - 1, 2);
        squares += spread;
        dof += n - 1;
    }
    return dof ? sqrt(squares / dof) : (double)NAN;
}

/* Timers of one name as a matrix of iterations x ranks, each rank divided by
 * its mean over the iterations. */
struct matrix {
    double *x; // [n_rows * n_ranks]
    int n_rows, n_ranks;
};

static bool jitter_collect(struct arena *a, const struct runlog *log,
                           const char *name, int n_ranks, struct matrix *m)
{
    m->n_ranks = n_ranks;
    m->x = arena_alloc(a, log->n_timers * (size_t)n_ranks, sizeof *m->x);
    const struct log_timer *t;
    for (size_t at = 0;
         m->x && (t = runlog_next_timer(log, name, &at)) != NULL;) {
        bool whole = t->per_rank && t->n_ranks >= n_ranks;
        for (int r = 0; r < n_ranks && whole; r++)
            whole = isfinite(t->rank_ms[r]) && t->rank_ms[r] > 0;
        if (!whole)
            continue;
        memcpy(m->x + m->n_rows++ * n_ranks, t->rank_ms,
               (size_t)n_ranks * sizeof *m->x);
    }
    for (int r = 0; r < n_ranks && m->x; r++) {
        double sum = 0;
        for (int i = 0; i < m->n_rows; i++)
            sum += m->x[i * n_ranks + r];
        for (int i = 0; i < m->n_rows; i++)
            m->x[i * n_ranks + r] *= m->n_rows / sum;
    }
    return m->x && m->n_rows > 1;
}

/* Sum of squares once each iteration's mean over ranks is divided out. */
static double residual_squares(const struct matrix *m)
{
    double squares = 0;
    for (int i = 0; i < m->n_rows; i++) {
        const double *row = m->x + i * m->n_ranks;
        double mean = 0;
        for (int r = 0; r < m->n_ranks; r++)
            mean += row[r] / m->n_ranks;
        for (int r = 0; r < m->n_ranks; r++)
            squares += pow(row[r] / mean - 1, 2);
    }
    return squares;
}

double jitter_from_timers(struct arena *a, const struct runlog *log,
                          int n_ranks, int n_mb)
{
    static const char *const names[] = {RUNLOG_FORWARD, RUNLOG_BACKWARD};
    double squares = 0;
    int dof = 0;
    for (int k = 0; k < 2 && n_ranks > 1; k++) {
        struct matrix m = {0};
        if (!jitter_collect(a, log, names[k], n_ranks, &m))
            continue;
        squares += residual_squares(&m);
        dof += (m.n_rows - 1) * (n_ranks - 1);
    }
    return dof ? sqrt(n_mb * squares / dof) : (double)NAN;
}
