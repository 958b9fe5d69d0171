#include "overhead.h"

#include "cost/lsq.h"
#include "log/runlog.h"
#include "plan/jitter.h"

#include <math.h>

static const double MODEL_ERROR = 0.15; // of the optimizer timers' slope
static const double LEAST_ERROR = 0.02; // of what a constant and a slope can
                                        // say of a step's outside part
static const double ROUNDING = 1e-9;    // of a step time, relative

/* One run as two numbers: what its step took outside the pipeline, and the
 * parameter bytes of its heaviest stage. */
struct point {
    double outside_s, se_s, bytes;
};

/* What the fit works on. */
struct work {
    struct arena *arena;
    const struct plan_context *ctx; // with the jitter
    const struct fit_run *runs;
    int n_runs;
    struct point *points; // [n_runs]
    double noise;         // mean relative standard error of the runs' steps
    double bytes;         // of the heaviest stage of all runs
    double slope;         // of the optimizer timers, seconds a byte; 0: none
};

/* Mean of the steps that the timers' means are over, and its standard error;
 * NAN and 0 where there is none. */
static void overhead_step_mean(const struct fit_run *run, double *mean_s,
                               double *se_s)
{
    const double scale = 1e-3 / run->speed;
    const struct log_iteration *it;
    double sum = 0, squares = 0;
    int n = 0;
    for (size_t at = 0; (it = runlog_next_used(run->log, &at)) != NULL; n++)
        sum += it->step_ms * scale;
    *mean_s = n ? sum / n : (double)NAN;
    for (size_t at = 0; (it = runlog_next_used(run->log, &at)) != NULL;) {
        double d = it->step_ms * scale - *mean_s;
        squares += d * d;
    }
    *se_s = n > 1 ? sqrt(squares / (n - 1) / n) : 0;
}

static double stage_bytes(const struct plan_context *ctx,
                          const struct layout *l, int stage)
{
    return (double)memory_stage_params(ctx->model, l, stage) *
           ctx->cost->rules.param_bytes;
}

/* Expected makespan of the run's own mean times under the costs' jitter. */
static enum err overhead_makespan(const struct work *w,
                                  const struct fit_run *run, double *out,
                                  struct err_msg *msg)
{
    struct arena *a = w->arena;
    const struct plan_context *ctx = w->ctx;
    const int pp = run->layout.pp;
    double *s = arena_alloc(a, 2 * (size_t)pp, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    struct fit_timer timer = {ctx->model, run, RUNLOG_FORWARD};
    enum err e = fit_stage_times(a, &timer, s, msg);
    timer.name = RUNLOG_BACKWARD;
    if (e == ERR_OK)
        e = fit_stage_times(a, &timer, s + pp, msg);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < 2 * pp; i++)
        s[i] = isfinite(s[i]) ? s[i] / ctx->n_mb : 0;
    struct cost transfers_only = *ctx->cost;
    transfers_only.overhead_s = transfers_only.overhead_s_per_byte = 0;
    struct plan_context with = *ctx;
    with.cost = &transfers_only;
    struct jitter_step step;
    const struct jitter_times times = {&run->layout, s, s + pp};
    e = jitter_expect_times(a, &with, &times, &step, msg);
    if (e == ERR_OK)
        *out = step.mean_s;
    return e;
}

static enum err read_points(struct work *w, struct err_msg *msg)
{
    for (int i = 0; i < w->n_runs; i++) {
        const struct fit_run *run = &w->runs[i];
        double step, se, pipeline = 0, most = 0;
        overhead_step_mean(run, &step, &se);
        if (!isfinite(step))
            return err_set(msg, ERR_PARSE,
                           "log of '%s': no usable iteration: run more than "
                           "the warm-up",
                           run->layout_text);
        enum err e = overhead_makespan(w, run, &pipeline, msg);
        if (e != ERR_OK)
            return e;
        for (int s = 0; s < run->layout.n_stages; s++)
            most = fmax(most, stage_bytes(w->ctx, &run->layout, s));
        w->noise += se / step / w->n_runs;
        w->bytes = fmax(w->bytes, most);
        double outside = step - pipeline;
        se = fmax(se, LEAST_ERROR * fabs(outside) + ROUNDING * step);
        w->points[i] = (struct point){outside, se, most};
    }
    return ERR_OK;
}

/* Slope of the optimizer timer over the stages' bytes, one intercept a run;
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
            mean_x += stage_bytes(w->ctx, l, k) / l->pp;
            mean_y += s[k] / l->pp;
        }
        for (int k = 0; k < l->pp; k++) {
            double x = stage_bytes(w->ctx, l, k) - mean_x;
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

/* Pooled over the runs, where nobody has measured it better. */
static void set_jitter(const struct work *w, struct cost *cost)
{
    double squares = 0;
    int n = 0;
    for (int i = 0; i < w->n_runs; i++) {
        double cv = jitter_from_timers(w->arena, w->runs[i].log,
                                       w->ctx->model->par.world, w->ctx->n_mb);
        if (isfinite(cv)) {
            squares += cv * cv;
            n++;
        }
    }
    if (n)
        cost->jitter_cv = sqrt(squares / n);
}

enum err overhead_fit(struct arena *a, const struct plan_context *ctx,
                      const struct overhead_runs *runs, struct cost *cost,
                      struct err_msg *msg)
{
    struct work w = {
        .arena = a, .ctx = ctx, .runs = runs->runs, .n_runs = runs->n};
    w.points = arena_alloc(a, (size_t)runs->n, sizeof *w.points);
    if (!w.points)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    if (cost->jitter_cv <= 0)
        set_jitter(&w, cost);
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
