#include "overhead.h"

#include "cost/lsq.h"
#include "log/runlog.h"
#include "plan/jitter.h"
#include "run_view.h"

#include <math.h>

static const double MODEL_ERROR = 0.15; // of the optimizer timers' slope
static const double LEAST_ERROR = 0.02; // of what a constant and a slope can
                                        // say of a step's outside part
static const double ROUNDING = 1e-9;    // of a step time, relative

/* One run as two numbers: what its step took outside the pipeline, and the
 * parameter bytes of its heaviest rank. */
struct point {
    double outside_s, se_s, bytes;
};

/* What the fit works on. */
struct work {
    struct arena *arena;
    const struct plan_context *ctx; // with the jitter
    const struct cost *units;       // the fitted ones
    const struct fit_run *runs;
    int n_runs;
    struct point *points; // [n_runs]
    double noise;         // mean relative standard error of the runs' steps
    double bytes;         // of the heaviest rank of all runs
    double slope;         // of the optimizer timers, seconds a byte; 0: none
};

static double overhead_bytes(const struct plan_context *ctx,
                             const struct layout *l, int rank)
{
    return (double)memory_rank_params(ctx->model, l, rank) *
           ctx->cost->rules.param_bytes;
}

/* Expected makespan of the run's own mean times under the costs' jitter; with
 * several chunks a rank those are shared out by the costs of `units`. */
static enum err overhead_makespan(const struct work *w,
                                  const struct fit_run *run, double *out,
                                  struct err_msg *msg)
{
    struct arena *a = w->arena;
    const int n = run->layout.n_stages;
    struct run_view view;
    double *s = arena_alloc(a, 2 * (size_t)n, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    enum err e = run_view_make(w->ctx, run, false, &view, msg);
    if (e == ERR_OK)
        e = run_view_times(a, &view, w->units, s, msg);
    if (e != ERR_OK)
        return e;
    struct cost transfers_only = *view.ctx.cost;
    transfers_only.overhead_s = transfers_only.overhead_s_per_byte = 0;
    view.ctx.cost = &transfers_only;
    struct jitter_step step;
    const struct jitter_times times = {&run->layout, s, s + n};
    e = jitter_expect_times(a, &view.ctx, &times, &step, msg);
    if (e == ERR_OK)
        *out = step.mean_s;
    return e;
}

/* Of each run what its step has beyond the simulated pipeline. Its error is
 * never taken for less than a share of it and of the step, or one run of little
 * scatter would decide alone. */
static enum err read_points(struct work *w, struct err_msg *msg)
{
    for (int i = 0; i < w->n_runs; i++) {
        const struct fit_run *run = &w->runs[i];
        struct run_step step;
        double pipeline = 0, most = 0;
        enum err e = run_view_step(run, &step, msg);
        if (e == ERR_OK)
            e = overhead_makespan(w, run, &pipeline, msg);
        if (e != ERR_OK)
            return e;
        for (int r = 0; r < run->layout.pp; r++)
            most = fmax(most, overhead_bytes(w->ctx, &run->layout, r));
        w->noise += step.se_s / step.mean_s / w->n_runs;
        w->bytes = fmax(w->bytes, most);
        double outside = step.mean_s - pipeline;
        double se = fmax(step.se_s,
                         LEAST_ERROR * fabs(outside) + ROUNDING * step.mean_s);
        w->points[i] = (struct point){outside, se, most};
    }
    return ERR_OK;
}

/* Slope of the optimizer timer over the ranks' bytes, one intercept a run;
 * stays 0 where a run has no such timer or all stages weigh the same. */
static void read_slope(struct work *w)
{
    double xy = 0, xx = 0;
    for (int i = 0; i < w->n_runs; i++) {
        const struct layout *l = &w->runs[i].layout;
        double *s = arena_alloc(w->arena, (size_t)l->pp, sizeof *s);
        const struct fit_timer timer = {w->ctx->model, &w->runs[i],
                                        RUNLOG_OPTIMIZER};
        if (!s || fit_stage_times(w->arena, &timer, s, NULL) != ERR_OK)
            return;
        double mean_x = 0, mean_y = 0;
        for (int k = 0; k < l->pp; k++) {
            mean_x += overhead_bytes(w->ctx, l, k) / l->pp;
            mean_y += s[k] / l->pp;
        }
        for (int k = 0; k < l->pp; k++) {
            double x = overhead_bytes(w->ctx, l, k) - mean_x;
            xy += x * (s[k] - mean_y);
            xx += x * x;
        }
    }
    if (xx > 0 && isfinite(xy / xx) && xy > 0)
        w->slope = xy / xx;
}

/* Rows: a run each (constant + slope x bytes), and the prior of the slope.
 * The slope's unknown is scaled by the largest bytes to be in seconds. */
static enum err overhead_solve(const struct work *w, struct cost *cost,
                               struct err_msg *msg)
{
    const int n = w->n_runs;
    const bool with_slope = w->slope > 0;
    const int cols = with_slope ? 2 : 1;
    double *rows = arena_alloc(w->arena, (size_t)(n + 1) * 3, sizeof *rows);
    if (!rows)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    double *b = rows + (size_t)(n + 1) * 2;
    for (int i = 0; i < n; i++) {
        const struct point *p = &w->points[i];
        rows[i * cols] = 1 / p->se_s;
        if (with_slope)
            rows[i * cols + 1] = p->bytes / w->bytes / p->se_s;
        b[i] = p->outside_s / p->se_s;
    }
    if (with_slope) {
        rows[n * cols] = 0;
        rows[n * cols + 1] = 1 / (w->slope * w->bytes * MODEL_ERROR);
        b[n] = 1 / MODEL_ERROR;
    }
    struct lsq_problem p = {n + with_slope, cols, rows, b};
    struct lsq_solution s;
    enum err e = lsq_nnls(w->arena, &p, &s, msg);
    if (e != ERR_OK)
        return e;
    cost->overhead_s = s.x[0];
    cost->overhead_s_per_byte = with_slope ? s.x[1] / w->bytes : 0;
    cost->step_noise_rel = w->noise;
    return ERR_OK;
}

/* Pooled over the runs. */
void overhead_jitter(struct arena *a, const struct plan_context *ctx,
                     const struct overhead_runs *runs, struct cost *cost)
{
    double squares = 0;
    int n = 0;
    for (int i = 0; i < runs->n && cost->jitter_cv <= 0; i++) {
        double cv = jitter_from_timers(a, runs->runs[i].log,
                                       ctx->model->par.world, ctx->n_mb);
        if (isfinite(cv)) {
            squares += cv * cv;
            n++;
        }
    }
    if (n)
        cost->jitter_cv = sqrt(squares / n);
}

/* Jitter before overhead: it lengthens the pipeline, and what is left of the
 * step is less. */
enum err overhead_fit(struct arena *a, const struct plan_context *ctx,
                      const struct overhead_runs *runs, struct cost *cost,
                      struct err_msg *msg)
{
    struct work w = {.arena = a,
                     .ctx = ctx,
                     .runs = runs->runs,
                     .n_runs = runs->n,
                     .units = cost};
    w.points = arena_alloc(a, (size_t)runs->n, sizeof *w.points);
    if (!w.points)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    overhead_jitter(a, ctx, runs, cost);
    struct cost with_jitter = *ctx->cost;
    with_jitter.jitter_cv = cost->jitter_cv;
    struct plan_context jittered = *ctx;
    jittered.cost = &with_jitter;
    w.ctx = &jittered;
    enum err e = read_points(&w, msg);
    if (e != ERR_OK)
        return e;
    read_slope(&w);
    return overhead_solve(&w, cost, msg);
}
