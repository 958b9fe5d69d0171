#include "overhead.h"

#include "jitter.h"
#include "lsq.h"
#include "runlog.h"

#include <math.h>

static const double MODEL_ERROR = 0.15; // of the optimizer timers' slope
static const double LEAST_ERROR = 1e-6; // of a step time, relative

/* One run as two numbers: what its step took outside the pipeline, and the
 * parameter bytes of its heaviest stage. */
struct point {
    double outside_s, se_s, bytes;
};

static bool is_usable(const struct log_iteration *it)
{
    return it->usable && isfinite(it->step_ms);
}

static void step_mean(const struct fit_run *run, double *mean_s, double *se_s)
{
    const struct log_iteration *it = run->log->iterations;
    double sum = 0, squares = 0;
    int n = 0;
    for (size_t i = 0; i < run->log->n_iterations; i++)
        if (is_usable(&it[i])) {
            sum += it[i].step_ms * 1e-3 / run->speed;
            n++;
        }
    *mean_s = n ? sum / n : (double)NAN;
    for (size_t i = 0; i < run->log->n_iterations; i++)
        if (is_usable(&it[i])) {
            double d = it[i].step_ms * 1e-3 / run->speed - *mean_s;
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
static enum err makespan(struct arena *a, const struct plan_context *ctx,
                         const struct fit_run *run, double *out,
                         struct err_msg *msg)
{
    const int pp = run->layout.pp;
    double *s = arena_alloc(a, 2 * (size_t)pp, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    const struct fit_timer forward = {ctx->model, run, RUNLOG_FORWARD},
                           backward = {ctx->model, run, RUNLOG_BACKWARD};
    enum err e = fit_stage_times(a, &forward, s, msg);
    if (e == ERR_OK)
        e = fit_stage_times(a, &backward, s + pp, msg);
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

static enum err read_points(struct arena *a, const struct plan_context *ctx,
                            const struct fit_run *runs, int n_runs,
                            struct point *points, double *noise,
                            struct err_msg *msg)
{
    *noise = 0;
    for (int i = 0; i < n_runs; i++) {
        double step, se, pipeline = 0, most = 0;
        step_mean(&runs[i], &step, &se);
        if (!isfinite(step))
            return err_set(msg, ERR_PARSE,
                           "log of '%s': no usable iteration: run more than "
                           "the warm-up",
                           runs[i].layout_text);
        enum err e = makespan(a, ctx, &runs[i], &pipeline, msg);
        if (e != ERR_OK)
            return e;
        for (int s = 0; s < runs[i].layout.n_stages; s++)
            most = fmax(most, stage_bytes(ctx, &runs[i].layout, s));
        *noise += se / step / n_runs;
        se = fmax(se, LEAST_ERROR * step);
        points[i] = (struct point){step - pipeline, se, most};
    }
    return ERR_OK;
}

/* Slope of the optimizer timer over the stages' bytes, one intercept a run;
 * false where no run has the timer or all stages weigh the same. */
static bool optimizer_slope(struct arena *a, const struct plan_context *ctx,
                            const struct fit_run *runs, int n_runs,
                            double *slope)
{
    double xy = 0, xx = 0;
    for (int i = 0; i < n_runs; i++) {
        const int pp = runs[i].layout.pp;
        double *s = arena_alloc(a, (size_t)pp, sizeof *s);
        const struct fit_timer optimizer = {ctx->model, &runs[i],
                                            RUNLOG_OPTIMIZER};
        if (!s || fit_stage_times(a, &optimizer, s, NULL) != ERR_OK)
            return false;
        double mean_x = 0, mean_y = 0;
        for (int k = 0; k < pp; k++) {
            mean_x += stage_bytes(ctx, &runs[i].layout, k) / pp;
            mean_y += s[k] / pp;
        }
        for (int k = 0; k < pp; k++) {
            double x = stage_bytes(ctx, &runs[i].layout, k) - mean_x;
            xy += x * (s[k] - mean_y);
            xx += x * x;
        }
    }
    *slope = xy / xx;
    return xx > 0 && isfinite(*slope) && *slope > 0;
}

/* Rows: a run each (constant + slope x bytes), and the prior of the slope.
 * The slope's unknown is scaled by `bytes` to be in seconds. */
static enum err solve(struct arena *a, const struct point *points, int n,
                      double bytes, double prior, struct cost *cost,
                      struct err_msg *msg)
{
    double *rows = arena_alloc(a, (size_t)(n + 1) * 3, sizeof *rows);
    if (!rows)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    double *b = rows + (size_t)(n + 1) * 2;
    bool with_slope = prior > 0;
    int cols = with_slope ? 2 : 1;
    for (int i = 0; i < n; i++) {
        rows[i * cols] = 1 / points[i].se_s;
        if (with_slope)
            rows[i * cols + 1] = points[i].bytes / bytes / points[i].se_s;
        b[i] = points[i].outside_s / points[i].se_s;
    }
    if (with_slope) {
        rows[n * cols] = 0;
        rows[n * cols + 1] = 1 / (prior * bytes * MODEL_ERROR);
        b[n] = 1 / MODEL_ERROR;
    }
    struct lsq_problem p = {n + with_slope, cols, rows, b};
    struct lsq_solution s;
    enum err e = lsq_nnls(a, &p, &s, msg);
    if (e != ERR_OK)
        return e;
    cost->overhead_s = s.x[0];
    cost->overhead_s_per_byte = with_slope ? s.x[1] / bytes : 0;
    return ERR_OK;
}

/* Pooled over the runs, where nobody has measured it better. */
static void set_jitter(struct arena *a, const struct plan_context *ctx,
                       const struct fit_run *runs, int n_runs,
                       struct cost *cost)
{
    double squares = 0;
    int n = 0;
    for (int i = 0; i < n_runs; i++) {
        double cv = jitter_from_timers(a, runs[i].log, ctx->model->par.world,
                                       ctx->n_mb);
        if (isfinite(cv)) {
            squares += cv * cv;
            n++;
        }
    }
    if (n)
        cost->jitter_cv = sqrt(squares / n);
}

enum err overhead_fit(struct arena *a, const struct plan_context *ctx,
                      const struct fit_run *runs, int n_runs, struct cost *cost,
                      struct err_msg *msg)
{
    struct point *points = arena_alloc(a, (size_t)n_runs, sizeof *points);
    if (!points)
        return err_set(msg, ERR_NOMEM, "overhead: out of memory");
    double noise = 0, slope = 0, bytes = 0;
    if (cost->jitter_cv <= 0)
        set_jitter(a, ctx, runs, n_runs, cost);
    struct cost with_jitter = *ctx->cost;
    with_jitter.jitter_cv = cost->jitter_cv;
    struct plan_context jittered = *ctx;
    jittered.cost = &with_jitter;
    enum err e = read_points(a, &jittered, runs, n_runs, points, &noise, msg);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < n_runs; i++)
        bytes = fmax(bytes, points[i].bytes);
    bool has_slope = optimizer_slope(a, ctx, runs, n_runs, &slope);
    e = solve(a, points, n_runs, bytes, has_slope ? slope : 0, cost, msg);
    if (e == ERR_OK)
        cost->step_noise_rel = noise;
    return e;
}
