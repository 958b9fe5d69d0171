/*
 * How it works: a run's used iterations become arrays of step times, raw and
 * corrected; a layout's rounds become one array of the runs' medians. Replay
 * and stage times come from the runs' recorded operations (oplog).
 */
#include "figures.h"

#include "log/runlog.h"
#include "stats.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static enum err figures_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

bool figures_is_used(const struct log_iteration *it, int warmup)
{
    return it->usable && it->iteration > warmup && isfinite(it->step_ms);
}

double figures_corrected(const struct log_iteration *it, double reference_ms)
{
    double f = reference_ms / it->reference_ms;
    return isfinite(f) && f > 0 ? it->step_ms * f : it->step_ms;
}

double figures_reference(struct arena *a, const struct run_list *runs,
                         int warmup)
{
    size_t n = 0, k = 0;
    for (size_t r = 0; r < runs->n; r++)
        n += runs->run[r].log.n_iterations;
    double *x = arena_alloc(a, n + 1, sizeof *x);
    for (size_t r = 0; r < runs->n && x; r++) {
        const struct runlog *log = &runs->run[r].log;
        for (size_t i = 0; i < log->n_iterations; i++)
            if (runs->run[r].status == RUN_VALID &&
                figures_is_used(&log->iterations[i], warmup) &&
                log->iterations[i].reference_ms > 0)
                x[k++] = log->iterations[i].reference_ms;
    }
    return x ? stats_median(x, k) : (double)NAN;
}

/* Corrected steps of the used iterations into x; their number. */
static size_t corrected_steps(const struct run_record *run, int warmup,
                              double reference_ms, double *x)
{
    size_t k = 0;
    for (size_t i = 0; i < run->log.n_iterations; i++)
        if (figures_is_used(&run->log.iterations[i], warmup))
            x[k++] = figures_corrected(&run->log.iterations[i], reference_ms);
    return k;
}

enum err figures_run(struct arena *a, const struct run_record *run, int warmup,
                     double reference_ms, struct run_figures *out,
                     struct err_msg *msg)
{
    size_t n = run->log.n_iterations, n_raw = 0, n_bursts = 0;
    double *raw = arena_alloc(a, n + 1, sizeof *raw);
    double *corr = arena_alloc(a, n + 1, sizeof *corr);
    double *bursts = arena_alloc(a, n + 1, sizeof *bursts);
    if (!raw || !corr || !bursts)
        return figures_no_memory(msg);
    struct run_figures f = {0};
    for (size_t i = 0; i < n; i++) {
        const struct log_iteration *it = &run->log.iterations[i];
        f.n_warmup += it->iteration <= warmup;
        if (!figures_is_used(it, warmup))
            continue;
        raw[n_raw++] = it->step_ms;
        if (it->reference_ms > 0)
            bursts[n_bursts++] = it->reference_ms;
    }
    size_t n_corr = corrected_steps(run, warmup, reference_ms, corr);
    f.n_used = (int)n_raw;
    f.step_ms = stats_median(raw, n_raw);
    f.reference_ms = stats_median(bursts, n_bursts);
    f.corr_ms = stats_median(corr, n_corr);
    f.mad_ms = stats_mad(corr, n_corr);
    *out = f;
    return ERR_OK;
}

static bool figures_belongs(const struct figures_request *req,
                            const struct run_record *run)
{
    return run->status == RUN_VALID && strcmp(run->role, req->role) == 0 &&
           strcmp(run->layout, req->layout) == 0;
}

/* ---- replay ---- */

static enum err read_ops(struct arena *a, const struct figures_request *req,
                         const struct run_record *run, struct oplog *out,
                         bool *found, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/ops.csv", run->folder);
    if (!path)
        return figures_no_memory(msg);
    *found = access(path, R_OK) == 0;
    if (!*found)
        return ERR_OK;
    const struct oplog_shape shape = {req->parsed->n_stages, req->ctx->n_mb,
                                      req->ctx->model->par.dp};
    return oplog_read(a, path, shape, out, msg);
}

static const struct log_iteration *find_iteration(const struct run_record *run,
                                                  int64_t iteration)
{
    for (size_t i = 0; i < run->log.n_iterations; i++)
        if (run->log.iterations[i].iteration == iteration)
            return &run->log.iterations[i];
    return NULL;
}

/* True when the step's iteration counts and no operation is missing. */
static bool is_whole(const struct figures_request *req,
                     const struct run_record *run, const struct oplog *ops,
                     const struct oplog_step *s)
{
    const struct log_iteration *it = find_iteration(run, s->iteration);
    if (!it || !figures_is_used(it, req->warmup) || s->span_s <= 0)
        return false;
    for (int i = 0; i < ops->n_stages * ops->n_mb; i++)
        if (!isfinite(s->fwd_s[i]) || !isfinite(s->bwd_s[i]))
            return false;
    return true;
}

/* Errors of one run's steps appended to x. The step's own time outside the
 * pipeline is left out on both sides: the recorded span ends with the last
 * operation, and the replay runs without overhead. */
static enum err replay_run(struct arena *a, const struct figures_request *req,
                           const struct run_record *run, double *x, size_t *n,
                           struct err_msg *msg)
{
    struct cost bare = *req->ctx->cost;
    struct plan_context ctx = *req->ctx;
    struct oplog ops;
    bool found = false;
    bare.overhead_s = bare.overhead_s_per_byte = 0;
    ctx.cost = &bare;
    enum err e = read_ops(a, req, run, &ops, &found, msg);
    if (e != ERR_OK || !found)
        return e;
    size_t room = run->log.n_iterations;
    for (int i = 0; i < ops.n_steps && room > 0; i++) {
        const struct oplog_step *s = &ops.steps[i];
        double step_s = 0;
        if (!is_whole(req, run, &ops, s))
            continue;
        e = plan_replay(a, &ctx,
                        &(struct plan_ops){req->parsed, s->fwd_s, s->bwd_s},
                        &step_s, msg);
        if (e != ERR_OK)
            return e;
        x[(*n)++] = 100 * (step_s - s->span_s) / s->span_s;
        room--;
    }
    return ERR_OK;
}

static enum err replay_error(struct arena *a, const struct figures_request *req,
                             double *out, struct err_msg *msg)
{
    size_t n = 0, room = 1;
    for (size_t i = 0; i < req->runs->n; i++)
        if (figures_belongs(req, &req->runs->run[i]))
            room += req->runs->run[i].log.n_iterations;
    double *x = arena_alloc(a, room, sizeof *x);
    if (!x)
        return figures_no_memory(msg);
    for (size_t i = 0; i < req->runs->n && req->ctx->cost; i++) {
        if (!figures_belongs(req, &req->runs->run[i]))
            continue;
        enum err e = replay_run(a, req, &req->runs->run[i], x, &n, msg);
        if (e != ERR_OK)
            return e;
    }
    *out = stats_median(x, n);
    return ERR_OK;
}

/* ---- jitter ---- */

#define MAD_TO_SIGMA 1.4826 // of a normal distribution

struct samples {
    double *x;
    size_t n, room;
};

/* Spread of one stage's operations over the micro-batches of one step. */
static void add_spread(const double *times_s, int n_mb, double *scratch,
                       struct samples *cv)
{
    size_t n = (size_t)n_mb;
    memcpy(scratch, times_s, n * sizeof *scratch);
    double mad = stats_mad(scratch, n);
    memcpy(scratch, times_s, n * sizeof *scratch);
    double ratio = MAD_TO_SIGMA * mad / stats_median(scratch, n);
    if (isfinite(ratio) && cv->n < cv->room)
        cv->x[cv->n++] = ratio;
}

static enum err add_run_spread(struct arena *a, const struct run_record *run,
                               const struct oplog *ops, int warmup,
                               struct samples *cv)
{
    double *scratch = arena_alloc(a, (size_t)ops->n_mb, sizeof *scratch);
    for (int i = 0; i < ops->n_steps && scratch; i++) {
        const struct oplog_step *s = &ops->steps[i];
        const struct log_iteration *it = find_iteration(run, s->iteration);
        if (!it || !figures_is_used(it, warmup))
            continue;
        for (int stage = 0; stage < ops->n_stages; stage++) {
            add_spread(s->fwd_s + stage * ops->n_mb, ops->n_mb, scratch, cv);
            add_spread(s->bwd_s + stage * ops->n_mb, ops->n_mb, scratch, cv);
        }
    }
    return scratch ? ERR_OK : ERR_NOMEM;
}

/* Median over rows of a robust spread: single bursts that the system
 * interrupted are outliers, and slow spells last over several operations;
 * counting both as independent noise would predict steps some percent long. */
enum err figures_jitter(struct arena *a, const struct run_list *runs,
                        const struct model *m, int warmup, double *cv,
                        struct err_msg *msg)
{
    const struct oplog_shape shape = {m->par.pp *
                                          (m->par.vpp > 0 ? m->par.vpp : 1),
                                      (int)m->batch.n_microbatches, m->par.dp};
    struct samples all = {.room = 1};
    for (size_t i = 0; i < runs->n; i++)
        all.room += 2 * runs->run[i].log.n_iterations * (size_t)shape.n_stages;
    all.x = arena_alloc(a, all.room, sizeof *all.x);
    for (size_t i = 0; i < runs->n; i++) {
        struct oplog ops;
        const struct run_record *run = &runs->run[i];
        const char *path = arena_printf(a, "%s/ops.csv", run->folder);
        if (!path || !all.x)
            return figures_no_memory(msg);
        if (run->round != 0 || run->status != RUN_VALID ||
            access(path, R_OK) != 0)
            continue;
        enum err e = oplog_read(a, path, shape, &ops, msg);
        if (e != ERR_OK)
            return e;
        if (add_run_spread(a, run, &ops, warmup, &all) != ERR_OK)
            return figures_no_memory(msg);
    }
    *cv = stats_median(all.x, all.n);
    return ERR_OK;
}

/* ---- a layout over its rounds ---- */

/* Largest peak of any rank of the run; NAN without memory lines. */
static double worst_memory(const struct run_record *run)
{
    double worst = NAN;
    for (size_t i = 0; i < run->log.n_memory; i++)
        worst = fmax(worst, (double)run->log.memory[i].max_allocated_bytes);
    return worst;
}

static enum err figures_interval(struct arena *a,
                                 const struct figures_request *req,
                                 const double *rounds, struct layout_figures *f,
                                 struct err_msg *msg)
{
    const double *x = rounds;
    size_t n = (size_t)f->n_rounds;
    for (size_t i = 0; i < req->runs->n && f->n_rounds == 1; i++) {
        const struct run_record *run = &req->runs->run[i];
        if (!figures_belongs(req, run))
            continue;
        double *steps = arena_alloc(a, run->log.n_iterations + 1, sizeof *x);
        if (!steps)
            return figures_no_memory(msg);
        n = corrected_steps(run, req->warmup, req->reference_ms, steps);
        x = steps;
    }
    double *scratch = arena_alloc(a, n + STATS_RESAMPLES, sizeof *scratch);
    if (!scratch)
        return figures_no_memory(msg);
    struct stats_interval ci = stats_bootstrap(x, n, FIGURES_SEED, scratch);
    f->lo_ms = ci.lo;
    f->hi_ms = ci.hi;
    return ERR_OK;
}

enum err figures_layout(struct arena *a, const struct figures_request *req,
                        struct layout_figures *out, struct err_msg *msg)
{
    struct layout_figures f = {0, NAN, NAN, NAN, NAN, NAN, NAN};
    double *rounds = arena_alloc(a, req->runs->n + 1, sizeof *rounds);
    double lo = INFINITY, hi = -INFINITY;
    if (!rounds)
        return figures_no_memory(msg);
    for (size_t i = 0; i < req->runs->n; i++) {
        struct run_figures r;
        if (!figures_belongs(req, &req->runs->run[i]))
            continue;
        enum err e = figures_run(a, &req->runs->run[i], req->warmup,
                                 req->reference_ms, &r, msg);
        if (e != ERR_OK)
            return e;
        rounds[f.n_rounds++] = r.corr_ms;
        lo = fmin(lo, r.corr_ms);
        hi = fmax(hi, r.corr_ms);
        f.worst_mem_bytes =
            fmax(f.worst_mem_bytes, worst_memory(&req->runs->run[i]));
    }
    enum err e = figures_interval(a, req, rounds, &f, msg);
    f.meas_ms = stats_median(rounds, (size_t)f.n_rounds);
    f.spread_pct = f.n_rounds > 1 ? 100 * (hi - lo) / f.meas_ms : (double)NAN;
    if (e == ERR_OK)
        e = replay_error(a, req, &f.replay_error_pct, msg);
    if (e == ERR_OK)
        *out = f;
    return e;
}

/* ---- stages ---- */

struct stage_samples { // [stage * room + i]
    double *fwd_ms, *bwd_ms;
    size_t room, n;
};

static void sample_step(const struct oplog *ops, const struct oplog_step *s,
                        double scale, struct stage_samples *x)
{
    for (int stage = 0; stage < ops->n_stages; stage++) {
        double fwd = 0, bwd = 0;
        for (int mb = 0; mb < ops->n_mb; mb++) {
            fwd += s->fwd_s[stage * ops->n_mb + mb];
            bwd += s->bwd_s[stage * ops->n_mb + mb];
        }
        size_t at = (size_t)stage * x->room + x->n;
        x->fwd_ms[at] = 1e3 * scale * fwd / ops->n_mb;
        x->bwd_ms[at] = 1e3 * scale * bwd / ops->n_mb;
    }
    x->n++;
}

static enum err sample_run(struct arena *a, const struct figures_request *req,
                           const struct run_record *run,
                           struct stage_samples *x, struct err_msg *msg)
{
    struct oplog ops;
    bool found = false;
    enum err e = read_ops(a, req, run, &ops, &found, msg);
    if (e != ERR_OK || !found)
        return e;
    for (int i = 0; i < ops.n_steps && x->n < x->room; i++) {
        const struct oplog_step *s = &ops.steps[i];
        if (!is_whole(req, run, &ops, s))
            continue;
        const struct log_iteration *it = find_iteration(run, s->iteration);
        double scale = figures_corrected(it, req->reference_ms) / it->step_ms;
        sample_step(&ops, s, scale, x);
    }
    return ERR_OK;
}

/* Level-2 timers of a profile run, per micro-batch; only where a rank holds
 * one stage, since a timer sums a rank's chunks. */
static enum err stages_from_timers(struct arena *a,
                                   const struct figures_request *req,
                                   const struct run_record *run,
                                   struct stage_figures *out,
                                   struct err_msg *msg)
{
    const struct parallel *par = &req->ctx->model->par;
    int n = par->world, per_stage = par->world / par->pp;
    double *ms = arena_alloc(a, (size_t)n * 3, sizeof *ms);
    if (!ms)
        return figures_no_memory(msg);
    if (req->parsed->n_stages != par->pp)
        return ERR_OK;
    double *bwd = ms + n, *se = bwd + n;
    runlog_timer_mean(&run->log, RUNLOG_FORWARD, ms, se, n);
    runlog_timer_mean(&run->log, RUNLOG_BACKWARD, bwd, se, n);
    for (int s = 0; s < par->pp; s++) {
        out[s].fwd_ms = ms[s * per_stage] / req->ctx->n_mb;
        out[s].bwd_ms = bwd[s * per_stage] / req->ctx->n_mb;
    }
    return ERR_OK;
}

static void stage_memory(const struct figures_request *req,
                         const struct run_record *run,
                         struct stage_figures *out)
{
    const struct parallel *par = &req->ctx->model->par;
    int per_stage = par->world / par->pp;
    for (size_t i = 0; i < run->log.n_memory; i++) {
        int stage = run->log.memory[i].rank / per_stage;
        double bytes = (double)run->log.memory[i].max_allocated_bytes;
        if (stage >= 0 && stage < par->pp && stage < req->parsed->n_stages)
            out[stage].mem_bytes = fmax(out[stage].mem_bytes, bytes);
    }
}

static bool is_profile_of(const struct figures_request *req,
                          const struct run_record *run)
{
    return run->status == RUN_VALID && run->timers >= 2 &&
           strcmp(run->layout, req->layout) == 0;
}

enum err figures_stages(struct arena *a, const struct figures_request *req,
                        struct stage_figures *out, struct err_msg *msg)
{
    size_t n_stages = (size_t)req->parsed->n_stages;
    struct stage_samples x = {.room = 1};
    for (size_t i = 0; i < req->runs->n; i++)
        x.room += req->runs->run[i].log.n_iterations;
    x.fwd_ms = arena_alloc(a, n_stages * x.room, sizeof *x.fwd_ms);
    x.bwd_ms = arena_alloc(a, n_stages * x.room, sizeof *x.bwd_ms);
    if (!x.fwd_ms || !x.bwd_ms)
        return figures_no_memory(msg);
    for (size_t s = 0; s < n_stages; s++)
        out[s] = (struct stage_figures){NAN, NAN, NAN};
    enum err e = ERR_OK;
    for (size_t i = 0; i < req->runs->n && e == ERR_OK; i++) {
        const struct run_record *run = &req->runs->run[i];
        if (is_profile_of(req, run))
            e = stages_from_timers(a, req, run, out, msg);
        if (e == ERR_OK && figures_belongs(req, run)) {
            stage_memory(req, run, out);
            e = sample_run(a, req, run, &x, msg);
        }
    }
    for (size_t s = 0; s < n_stages && x.n > 0; s++) {
        out[s].fwd_ms = stats_median(x.fwd_ms + s * x.room, x.n);
        out[s].bwd_ms = stats_median(x.bwd_ms + s * x.room, x.n);
    }
    return e;
}

/* ---- timeline ---- */

static void nearest_step(const struct figures_request *req,
                         const struct run_record *run, const struct oplog *ops,
                         double median_ms, struct timeline *out)
{
    double best = INFINITY;
    for (int i = 0; i < ops->n_steps; i++) {
        if (!is_whole(req, run, ops, &ops->steps[i]))
            continue;
        const struct log_iteration *it =
            find_iteration(run, ops->steps[i].iteration);
        double away = fabs(it->step_ms - median_ms);
        if (away < best) {
            best = away;
            *out = (struct timeline){ops->n_stages, ops->n_mb, ops->steps[i]};
        }
    }
}

enum err figures_timeline(struct arena *a, const struct figures_request *req,
                          struct timeline *out, struct err_msg *msg)
{
    *out = (struct timeline){0};
    for (size_t i = 0; i < req->runs->n && out->n_stages == 0; i++) {
        const struct run_record *run = &req->runs->run[i];
        struct oplog ops;
        struct run_figures f;
        bool found = false;
        if (!figures_belongs(req, run))
            continue;
        enum err e = figures_run(a, run, req->warmup, NAN, &f, msg);
        if (e == ERR_OK)
            e = read_ops(a, req, run, &ops, &found, msg);
        if (e != ERR_OK)
            return e;
        if (found)
            nearest_step(req, run, &ops, f.step_ms, out);
    }
    return ERR_OK;
}
