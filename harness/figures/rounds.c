/*
 * How it works: the valid runs of a role and layout become one array of their
 * corrected medians, over which the interval is bootstrapped. Replay errors,
 * stages and the step to look at come from what each run has recorded.
 */
#include "rounds.h"

#include "base/stats.h"
#include "log/runlog.h"

#include <math.h>
#include <string.h>

static enum err rounds_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

/* Figures are of valid runs alone; of the rest only the number is reported. */
static bool rounds_belongs(const struct rounds_request *req,
                           const struct run_record *run)
{
    return run->status == RUN_VALID && strcmp(run->role, req->role) == 0 &&
           strcmp(run->layout, req->layout) == 0;
}

/* What the run has recorded, read now or kept from an earlier time. */
static enum err rounds_recorded(const struct rounds_request *req,
                                struct run_record *run,
                                const struct recorded **out,
                                struct err_msg *msg)
{
    const struct recorded_request of = {req->parsed, req->ctx, req->warmup};
    return recorded_of(req->keep, &of, run, out, msg);
}

/* ---- replay ---- */

/* The median over all steps of all runs. */
static enum err replay_error(struct arena *a, const struct rounds_request *req,
                             double *out, struct err_msg *msg)
{
    size_t n = 0, room = 1;
    for (size_t i = 0; i < req->runs->n; i++)
        if (rounds_belongs(req, &req->runs->run[i]))
            room += req->runs->run[i].log.n_iterations;
    double *x = arena_alloc(a, room, sizeof *x);
    if (!x)
        return rounds_no_memory(msg);
    for (size_t i = 0; i < req->runs->n && req->ctx->cost; i++) {
        const struct recorded *r = NULL;
        if (!rounds_belongs(req, &req->runs->run[i]))
            continue;
        enum err e = rounds_recorded(req, &req->runs->run[i], &r, msg);
        if (e != ERR_OK)
            return e;
        for (int k = 0; k < r->n_steps; k++)
            x[n++] = r->step[k].replay_error_pct;
    }
    *out = stats_median(x, n);
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

/* With one round the interval is over its iterations: between rounds nothing is
 * known, and the report says so. */
static enum err rounds_interval(struct arena *a,
                                const struct rounds_request *req,
                                const double *rounds, struct layout_figures *f,
                                struct err_msg *msg)
{
    const double *x = rounds;
    size_t n = (size_t)f->n_rounds;
    for (size_t i = 0; i < req->runs->n && f->n_rounds == 1; i++) {
        const struct run_record *run = &req->runs->run[i];
        if (!rounds_belongs(req, run))
            continue;
        double *steps = arena_alloc(a, run->log.n_iterations + 1, sizeof *x);
        if (!steps)
            return rounds_no_memory(msg);
        n = figures_corrected_steps(run, req->warmup, req->reference_ms, steps);
        x = steps;
    }
    double *scratch = arena_alloc(a, n + STATS_RESAMPLES, sizeof *scratch);
    if (!scratch)
        return rounds_no_memory(msg);
    struct stats_interval ci = stats_bootstrap(x, n, FIGURES_SEED, scratch);
    f->lo_ms = ci.lo;
    f->hi_ms = ci.hi;
    return ERR_OK;
}

/* Rounds are weighted alike, whatever the number of their iterations: what
 * changes between rounds is the machine. */
enum err rounds_layout(struct arena *a, const struct rounds_request *req,
                       struct layout_figures *out, struct err_msg *msg)
{
    struct layout_figures f = {0, NAN, NAN, NAN, NAN, NAN, NAN};
    double *rounds = arena_alloc(a, req->runs->n + 1, sizeof *rounds);
    const struct figures_rule rule = {req->warmup, req->reference_ms};
    double lo = INFINITY, hi = -INFINITY;
    if (!rounds)
        return rounds_no_memory(msg);
    for (size_t i = 0; i < req->runs->n; i++) {
        struct run_figures r;
        if (!rounds_belongs(req, &req->runs->run[i]))
            continue;
        enum err e = figures_run(a, &req->runs->run[i], rule, &r, msg);
        if (e != ERR_OK)
            return e;
        rounds[f.n_rounds++] = r.corr_ms;
        lo = fmin(lo, r.corr_ms);
        hi = fmax(hi, r.corr_ms);
        f.worst_mem_bytes =
            fmax(f.worst_mem_bytes, worst_memory(&req->runs->run[i]));
    }
    enum err e = rounds_interval(a, req, rounds, &f, msg);
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

/* Means of a micro-batch, at the speed of the reference burst. */
static void sample_step(const struct recorded *r,
                        const struct recorded_step *step, double reference_ms,
                        struct stage_samples *x)
{
    const struct log_iteration *it = step->iteration;
    double scale = figures_corrected(it, reference_ms) / it->step_ms;
    for (int stage = 0; stage < r->n_stages; stage++) {
        size_t at = (size_t)stage * x->room + x->n;
        x->fwd_ms[at] = 1e3 * scale * step->fwd_s[stage] / r->n_mb;
        x->bwd_ms[at] = 1e3 * scale * step->bwd_s[stage] / r->n_mb;
    }
    x->n++;
}

/* Every step of a run is a sample: stages vary more within a run than
 * between runs. */
static enum err sample_run(const struct rounds_request *req,
                           struct run_record *run, struct stage_samples *x,
                           struct err_msg *msg)
{
    const struct recorded *r = NULL;
    enum err e = rounds_recorded(req, run, &r, msg);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < r->n_steps && x->n < x->room; i++)
        sample_step(r, &r->step[i], req->reference_ms, x);
    return ERR_OK;
}

/* Level-2 timers of a profile run, per micro-batch; only where a rank holds
 * one stage, since a timer sums a rank's chunks. */
static enum err stages_from_timers(struct arena *a,
                                   const struct rounds_request *req,
                                   const struct run_record *run,
                                   struct stage_figures *out,
                                   struct err_msg *msg)
{
    const struct parallel *par = &req->ctx->model->par;
    int n = par->world, per_stage = par->world / par->pp;
    double *ms = arena_alloc(a, (size_t)n * 3, sizeof *ms);
    if (!ms)
        return rounds_no_memory(msg);
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

/* The largest peak over ranks and runs: memory must fit every time. A rank's
 * counts for each of its chunks, as predictions do. */
static void stage_memory(const struct rounds_request *req,
                         const struct run_record *run,
                         struct stage_figures *out)
{
    const struct parallel *par = &req->ctx->model->par;
    int per_stage = par->world / par->pp;
    for (size_t i = 0; i < run->log.n_memory; i++) {
        int rank = run->log.memory[i].rank / per_stage;
        double bytes = (double)run->log.memory[i].max_allocated_bytes;
        if (rank < 0 || rank >= par->pp)
            continue;
        for (int s = rank; s < req->parsed->n_stages; s += par->pp)
            out[s].mem_bytes = fmax(out[s].mem_bytes, bytes);
    }
}

/* Timers of level 2 split forward and backward; they slow a run down, so only
 * where nothing was recorded are they taken. */
static bool is_profile_of(const struct rounds_request *req,
                          const struct run_record *run)
{
    return run->status == RUN_VALID && run->timers >= 2 &&
           strcmp(run->layout, req->layout) == 0;
}

enum err rounds_stages(struct arena *a, const struct rounds_request *req,
                       struct stage_figures *out, struct err_msg *msg)
{
    size_t n_stages = (size_t)req->parsed->n_stages;
    struct stage_samples x = {.room = 1};
    for (size_t i = 0; i < req->runs->n; i++)
        x.room += req->runs->run[i].log.n_iterations;
    x.fwd_ms = arena_alloc(a, n_stages * x.room, sizeof *x.fwd_ms);
    x.bwd_ms = arena_alloc(a, n_stages * x.room, sizeof *x.bwd_ms);
    if (!x.fwd_ms || !x.bwd_ms)
        return rounds_no_memory(msg);
    for (size_t s = 0; s < n_stages; s++)
        out[s] = (struct stage_figures){NAN, NAN, NAN};
    enum err e = ERR_OK;
    for (size_t i = 0; i < req->runs->n && e == ERR_OK; i++) {
        struct run_record *run = &req->runs->run[i];
        if (is_profile_of(req, run))
            e = stages_from_timers(a, req, run, out, msg);
        if (e == ERR_OK && rounds_belongs(req, run)) {
            stage_memory(req, run, out);
            e = sample_run(req, run, &x, msg);
        }
    }
    for (size_t s = 0; s < n_stages && x.n > 0; s++) {
        out[s].fwd_ms = stats_median(x.fwd_ms + s * x.room, x.n);
        out[s].bwd_ms = stats_median(x.bwd_ms + s * x.room, x.n);
    }
    return e;
}

/* ---- timeline ---- */

/* The first run that recorded anything; its shown step is that nearest to the
 * median. */
enum err rounds_timeline(const struct rounds_request *req, struct timeline *out,
                         struct err_msg *msg)
{
    *out = (struct timeline){0};
    for (size_t i = 0; i < req->runs->n && out->n_stages == 0; i++) {
        struct run_record *run = &req->runs->run[i];
        const struct recorded *r = NULL;
        if (!rounds_belongs(req, run))
            continue;
        enum err e = rounds_recorded(req, run, &r, msg);
        if (e != ERR_OK)
            return e;
        if (r->n_steps > 0)
            *out = (struct timeline){r->n_stages, r->n_mb, r->shown};
    }
    return ERR_OK;
}
