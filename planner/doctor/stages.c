/*
 * How it works: forward and backward timers are means over the iterations that
 * count, and over the ranks of a stage; ranks of a stage are compared apart,
 * since a slow card is no matter of layout.
 */
#include "stages.h"

#include "log/runlog.h"

#include <math.h>

const double STAGES_EVEN = 0.03;

static enum err stages_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "doctor: out of memory");
}

/* `n_mb` is how often a step does that work. */
static void stages_compare(struct stages *s, double n_mb)
{
    double sum = 0;
    s->slowest = 0;
    for (int r = 0; r < s->n; r++) {
        sum += s->work_s[r];
        if (s->work_s[r] > s->work_s[s->slowest])
            s->slowest = r;
    }
    const double most = s->work_s[s->slowest];
    s->others_s = s->n > 1 ? (sum - most) / (s->n - 1) : most;
    s->excess = s->others_s > 0 ? most / s->others_s - 1 : 0;
    s->waits_s = n_mb * (most - sum / s->n);
}

/* Largest of a stage's ranks over its smallest, both passes together. */
static void stages_spread(const struct fit_timer *t, const double *ms, int s,
                          double *least, double *most)
{
    const int block = t->model->par.world / t->run->layout.pp;
    for (int r = s * block; r < (s + 1) * block; r++)
        if (isfinite(ms[r])) {
            *least = fmin(*least, ms[r]);
            *most = fmax(*most, ms[r]);
        }
}

/* Ranks of a stage do the same work: how far they are apart is noise, or one
 * that is slow. */
static enum err stages_spreads(struct arena *a, const struct model *m,
                               const struct fit_run *run, double *spread,
                               struct err_msg *msg)
{
    const size_t world = (size_t)m->par.world;
    double *ms = arena_alloc(a, 3 * world, sizeof *ms);
    const struct fit_timer timer = {m, run, NULL};
    if (!ms)
        return stages_no_memory(msg);
    runlog_timer_mean(run->log, RUNLOG_FORWARD, ms, ms + 2 * world,
                      m->par.world);
    runlog_timer_mean(run->log, RUNLOG_BACKWARD, ms + world, ms + 2 * world,
                      m->par.world);
    for (size_t r = 0; r < world; r++)
        ms[r] += ms[world + r];
    for (int s = 0; s < run->layout.pp; s++) {
        double least = INFINITY, most = -INFINITY;
        stages_spread(&timer, ms, s, &least, &most);
        spread[s] = least > 0 && isfinite(most) ? most / least - 1 : 0;
    }
    return ERR_OK;
}

/* A stage's work is the mean over its ranks of forward and backward, a
 * micro-batch. */
enum err stages_of_timers(struct arena *a, const struct model *m,
                          const struct fit_run *run, struct stages *out,
                          struct err_msg *msg)
{
    const int pp = run->layout.pp;
    const double n_mb = (double)m->batch.n_microbatches;
    double *s = arena_alloc(a, 3 * (size_t)pp, sizeof *s);
    if (!s)
        return stages_no_memory(msg);
    double *backward = s + pp, *spread = s + 2 * pp;
    const struct fit_timer f = {m, run, RUNLOG_FORWARD};
    const struct fit_timer b = {m, run, RUNLOG_BACKWARD};
    enum err e = fit_stage_times(a, &f, s, msg);
    if (e == ERR_OK)
        e = fit_stage_times(a, &b, backward, msg);
    if (e == ERR_OK)
        e = stages_spreads(a, m, run, spread, msg);
    if (e != ERR_OK)
        return e;
    for (int r = 0; r < pp; r++) {
        s[r] = (s[r] + backward[r]) / n_mb;
        if (!isfinite(s[r]))
            return err_set(msg, ERR_PARSE,
                           "the timers list no rank of stage %d: one of every "
                           "stage is needed",
                           r);
    }
    *out = (struct stages){
        .source = STAGES_TIMERS, .n = pp, .work_s = s, .spread = spread};
    stages_compare(out, n_mb);
    return ERR_OK;
}

/* Without a layout: ranks alone, whichever stage each has. */
enum err stages_of_ranks(struct arena *a, const struct runlog *log, int n_ranks,
                         struct stages *out, struct err_msg *msg)
{
    const size_t n = (size_t)n_ranks;
    double *ms = arena_alloc(a, 3 * n + 1, sizeof *ms);
    if (!ms)
        return stages_no_memory(msg);
    *out = (struct stages){.source = STAGES_NONE};
    if (n_ranks < 2 ||
        !runlog_timer_mean(log, RUNLOG_FORWARD, ms, ms + 2 * n, n_ranks) ||
        !runlog_timer_mean(log, RUNLOG_BACKWARD, ms + n, ms + 2 * n, n_ranks))
        return ERR_OK;
    // a rank that is not listed may be the slowest: then nothing is said
    for (size_t r = 0; r < n; r++) {
        ms[r] = (ms[r] + ms[n + r]) * 1e-3;
        if (!isfinite(ms[r]))
            return ERR_OK;
    }
    *out = (struct stages){.source = STAGES_RANKS, .n = n_ranks, .work_s = ms};
    stages_compare(out, 1);
    return ERR_OK;
}

/* The last resort, where no rank was timed. */
enum err stages_of_costs(struct arena *a, const struct plan_context *ctx,
                         const struct fit_run *run, struct stages *out,
                         struct err_msg *msg)
{
    const struct layout *l = &run->layout;
    double *s = arena_alloc(a, (size_t)l->pp, sizeof *s);
    if (!s)
        return stages_no_memory(msg);
    // a rank works for all of its chunks
    for (int i = 0; i < l->n_stages; i++) {
        const struct cost_times t = cost_stage(ctx->cost, ctx->model, l, i);
        s[i % l->pp] += t.fwd_s + t.bwd_s;
    }
    *out = (struct stages){.source = STAGES_COSTS, .n = l->pp, .work_s = s};
    stages_compare(out, (double)ctx->model->batch.n_microbatches);
    return ERR_OK;
}
