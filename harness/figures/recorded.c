/*
 * How it works: the whole log is read into an arena of its own, which is
 * cleared at the end; only sums, errors and one step are copied out.
 */
#include "recorded.h"

#include "figures.h"
#include "log/runlog.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static enum err recorded_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

/* One reading. */
struct reading {
    struct arena *keep, *scratch;
    const struct recorded_request *req;
    const struct run_record *run;
    struct oplog ops;
    struct plan_engine *replay; // NULL: no costs
    double median_ms, nearest_ms;
    struct recorded_step *step;
    double *sums; // 2 * n_stages a step
    struct recorded out;
};

/* The iteration of a step that counts and misses no operation, else NULL. */
static const struct log_iteration *whole_step(const struct reading *r,
                                              const struct oplog_step *s)
{
    const struct log_iteration *it =
        runlog_find_used(&r->run->log, s->iteration);
    if (!it || !figures_is_used(&r->run->log, it, r->req->warmup) ||
        s->span_s <= 0)
        return NULL;
    for (int i = 0; i < r->ops.n_stages * r->ops.n_mb; i++)
        if (!isfinite(s->fwd_s[i]) || !isfinite(s->bwd_s[i]))
            return NULL;
    return it;
}

/* The step's own time outside the pipeline is left out on both sides: the
 * recorded span ends with the last operation, and the replay runs without
 * overhead. */
static enum err replay_step(const struct reading *r, const struct oplog_step *s,
                            double *error_pct, struct err_msg *msg)
{
    double step_s = 0;
    *error_pct = NAN;
    if (!r->replay)
        return ERR_OK;
    const struct plan_ops ops = {r->req->layout, s->fwd_s, s->bwd_s};
    enum err e = plan_engine_replay(r->replay, &ops, &step_s);
    if (e != ERR_OK)
        return err_set(msg, e, "replay: the schedule cannot be simulated");
    *error_pct = 100 * (step_s - s->span_s) / s->span_s;
    return ERR_OK;
}

/* In the order of the micro-batches, so that sums are the same every time. */
static void sum_step(const struct reading *r, const struct oplog_step *s,
                     double *fwd_s, double *bwd_s)
{
    for (int stage = 0; stage < r->ops.n_stages; stage++)
        for (int mb = 0; mb < r->ops.n_mb; mb++) {
            fwd_s[stage] += s->fwd_s[stage * r->ops.n_mb + mb];
            bwd_s[stage] += s->bwd_s[stage * r->ops.n_mb + mb];
        }
}

/* Sums, replay error and distance from the median of one step. */
static enum err take_step(struct reading *r, const struct oplog_step *s,
                          const struct log_iteration *it, struct err_msg *msg)
{
    size_t n_stages = (size_t)r->ops.n_stages;
    double *fwd_s = r->sums + (size_t)r->out.n_steps * 2 * n_stages;
    double away = fabs(it->step_ms - r->median_ms);
    struct recorded_step *step = &r->step[r->out.n_steps++];
    *step = (struct recorded_step){it, NAN, fwd_s, fwd_s + n_stages};
    sum_step(r, s, fwd_s, fwd_s + n_stages);
    if (away < r->nearest_ms) {
        r->nearest_ms = away;
        r->out.shown = *s;
    }
    return replay_step(r, s, &step->replay_error_pct, msg);
}

/* The shown step's times lie in the scratch arena. */
static enum err keep_shown(struct reading *r, struct err_msg *msg)
{
    size_t n = (size_t)r->ops.n_stages * (size_t)r->ops.n_mb;
    struct oplog_step *s = &r->out.shown;
    const double **const parts[] = {&s->fwd_s, &s->bwd_s, &s->fwd_start_s,
                                    &s->bwd_start_s};
    if (r->out.n_steps == 0)
        return ERR_OK;
    double *x = arena_alloc(r->keep, 4 * n, sizeof *x);
    if (!x)
        return recorded_no_memory(msg);
    for (int i = 0; i < 4; i++, x += n) {
        memcpy(x, *parts[i], n * sizeof *x);
        *parts[i] = x;
    }
    return ERR_OK;
}

/* All steps that count; their number bounds what is kept. */
static enum err take_steps(struct reading *r, struct err_msg *msg)
{
    // no more than the log has iterations, whatever the file says
    int room = (int)r->run->log.n_iterations;
    room = r->ops.n_steps < room ? r->ops.n_steps : room;
    r->step = arena_alloc(r->keep, (size_t)room + 1, sizeof *r->step);
    r->sums =
        arena_alloc(r->keep, ((size_t)room + 1) * (size_t)r->ops.n_stages * 2,
                    sizeof *r->sums);
    if (!r->step || !r->sums)
        return recorded_no_memory(msg);
    r->out.step = r->step;
    r->out.n_stages = r->ops.n_stages;
    r->out.n_mb = r->ops.n_mb;
    for (int i = 0; i < r->ops.n_steps && r->out.n_steps < room; i++) {
        const struct oplog_step *s = &r->ops.steps[i];
        const struct log_iteration *it = whole_step(r, s);
        enum err e = it ? take_step(r, s, it, msg) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    return keep_shown(r, msg);
}

/* Without the step's overhead the engine's time is that of the pipeline alone,
 * which is what the trainer records. */
static enum err read_recorded(struct reading *r, struct err_msg *msg)
{
    const struct plan_context *ctx = r->req->ctx;
    const struct oplog_shape shape = {r->req->layout->n_stages, ctx->n_mb,
                                      ctx->model->par.dp};
    struct run_figures f;
    struct plan_context bare = *ctx;
    struct cost cost = {0};
    const char *path = arena_printf(r->scratch, "%s/ops.csv", r->run->folder);
    if (!path)
        return recorded_no_memory(msg);
    if (access(path, R_OK) != 0)
        return ERR_OK;
    const struct figures_rule rule = {r->req->warmup, NAN};
    enum err e = figures_run(r->scratch, r->run, rule, &f, msg);
    if (e == ERR_OK)
        e = oplog_read(r->scratch, path, shape, &r->ops, msg);
    if (e != ERR_OK)
        return e;
    r->median_ms = f.step_ms;
    if (ctx->cost) {
        cost = *ctx->cost;
        cost.overhead_s = cost.overhead_s_per_byte = 0;
        bare.cost = &cost;
        r->replay = plan_engine_new(r->scratch, &bare);
        if (!r->replay)
            return recorded_no_memory(msg);
    }
    return take_steps(r, msg);
}

enum err recorded_of(struct arena *keep, const struct recorded_request *req,
                     struct run_record *run, const struct recorded **out,
                     struct err_msg *msg)
{
    if (run->recorded && run->recorded->cost == req->ctx->cost) {
        *out = run->recorded;
        return ERR_OK;
    }
    struct arena scratch;
    struct reading r = {.keep = keep,
                        .scratch = &scratch,
                        .req = req,
                        .run = run,
                        .nearest_ms = INFINITY,
                        .out = {.cost = req->ctx->cost}};
    arena_init(&scratch);
    enum err e = read_recorded(&r, msg);
    arena_clear(&scratch);
    if (e != ERR_OK)
        return e;
    struct recorded *made = arena_alloc(keep, 1, sizeof *made);
    if (!made)
        return recorded_no_memory(msg);
    *made = r.out;
    run->recorded = *out = made;
    return ERR_OK;
}
