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

struct sampler {
    const struct plan_context *ctx;
    struct plan_engine *engine;
    double *mean_fwd_s, *mean_bwd_s; // [stage]
    double *fwd_s, *bwd_s;           // [stage * n_mb + mb]
    double steps[JITTER_SAMPLES];
};

static enum err jitter_sample(struct sampler *s, const struct layout *l,
                              int index)
{
    const int n_mb = s->ctx->n_mb;
    const double cv = s->ctx->cost->jitter_cv;
    const double sigma = sqrt(log1p(cv * cv)), mu = -sigma * sigma / 2;
    for (int stage = 0; stage < l->n_stages; stage++) {
        const double fwd = s->mean_fwd_s[stage], bwd = s->mean_bwd_s[stage];
        for (int mb = 0; mb < n_mb; mb++) {
            uint64_t key = random_mix(JITTER_SEED + (uint64_t)index) ^
                           ((uint64_t)stage << 32 | (uint64_t)mb);
            double x, y;
            normal_pair(key, &x, &y);
            s->fwd_s[stage * n_mb + mb] = fwd * exp(mu + sigma * x);
            s->bwd_s[stage * n_mb + mb] = bwd * exp(mu + sigma * y);
        }
    }
    const struct plan_ops ops = {l, s->fwd_s, s->bwd_s};
    return plan_engine_replay(s->engine, &ops, &s->steps[index]);
}

static struct jitter_step jitter_summarise(struct sampler *s)
{
    struct stats_mean m = stats_mean(s->steps, JITTER_SAMPLES);
    struct stats_interval middle = stats_middle(s->steps, JITTER_SAMPLES);
    return (struct jitter_step){
        .mean_s = m.mean, .lo_s = middle.lo, .hi_s = middle.hi, .se_s = m.se};
}

static struct sampler *sampler_new(struct arena *a,
                                   const struct plan_context *ctx, int n_stages)
{
    size_t n = (size_t)n_stages * (size_t)ctx->n_mb, p = (size_t)n_stages;
    struct sampler *s = arena_alloc(a, 1, sizeof *s);
    double *room = arena_alloc(a, n + p, 2 * sizeof *room);
    if (!s || !room)
        return NULL;
    s->ctx = ctx;
    s->engine = plan_engine_new(a, ctx);
    s->fwd_s = room;
    s->bwd_s = room + n;
    s->mean_fwd_s = room + 2 * n;
    s->mean_bwd_s = room + 2 * n + p;
    return s->engine ? s : NULL;
}

static enum err jitter_do_expect(struct sampler *s, const struct layout *l,
                                 struct jitter_step *out, struct err_msg *msg)
{
    // without jitter every sample is the same
    const int n = s->ctx->cost->jitter_cv > 0 ? JITTER_SAMPLES : 1;
    enum err e = ERR_OK;
    for (int i = 0; i < n && e == ERR_OK; i++)
        e = jitter_sample(s, l, i);
    if (e != ERR_OK)
        return err_set(msg, e, "jitter: the layout cannot be simulated");
    const double one = s->steps[0];
    *out = n > 1 ? jitter_summarise(s) : (struct jitter_step){one, one, one, 0};
    return ERR_OK;
}

/* Of the costs' times; without jitter that is the plain step, which does not
 * look at single operations. */
static enum err jitter_of_costs(struct sampler *s, const struct layout *l,
                                struct jitter_step *out, struct err_msg *msg)
{
    const struct plan_context *ctx = s->ctx;
    double one = 0;
    if (ctx->cost->jitter_cv <= 0) {
        if (plan_engine_step(s->engine, l, &one) != ERR_OK)
            return err_set(msg, ERR_MODEL,
                           "jitter: the layout cannot be simulated");
        *out = (struct jitter_step){one, one, one, 0};
        return ERR_OK;
    }
    for (int stage = 0; stage < l->n_stages; stage++) {
        struct cost_times t = cost_stage(ctx->cost, ctx->model, l, stage);
        s->mean_fwd_s[stage] = t.fwd_s;
        s->mean_bwd_s[stage] = t.bwd_s;
    }
    return jitter_do_expect(s, l, out, msg);
}

enum err jitter_expect(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct jitter_step *out,
                       struct err_msg *msg)
{
    struct sampler *s = sampler_new(a, ctx, l->n_stages);
    return s ? jitter_of_costs(s, l, out, msg)
             : err_set(msg, ERR_NOMEM, "jitter: out of memory");
}

enum err jitter_expect_times(struct arena *a, const struct plan_context *ctx,
                             const struct jitter_times *times,
                             struct jitter_step *out, struct err_msg *msg)
{
    struct sampler *s = sampler_new(a, ctx, times->layout->n_stages);
    if (!s)
        return err_set(msg, ERR_NOMEM, "jitter: out of memory");
    size_t bytes = (size_t)times->layout->n_stages * sizeof *s->mean_fwd_s;
    memcpy(s->mean_fwd_s, times->fwd_s, bytes);
    memcpy(s->mean_bwd_s, times->bwd_s, bytes);
    return jitter_do_expect(s, times->layout, out, msg);
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

enum err jitter_fill(struct arena *a, const struct plan_context *ctx,
                     struct plan *plans, int n, struct err_msg *msg)
{
    struct sampler *sampler =
        n > 0 ? sampler_new(a, ctx, plans[0].parsed.n_stages) : NULL;
    if (n > 0 && !sampler)
        return err_set(msg, ERR_NOMEM, "jitter: out of memory");
    for (int i = 0; i < n; i++) {
        struct jitter_step s;
        enum err e = jitter_of_costs(sampler, &plans[i].parsed, &s, msg);
        if (e != ERR_OK)
            return e;
        plans[i].exp_step_s = s.mean_s;
        plans[i].exp_lo_s = s.lo_s;
        plans[i].exp_hi_s = s.hi_s;
    }
    return ERR_OK;
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
