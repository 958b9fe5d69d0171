/*
 * How it works: a run's used iterations become arrays of step times, raw and
 * corrected, whose medians are reported. Jitter is read from the recorded
 * operations of the profile runs, one run at a time.
 */
#include "figures.h"

#include "base/stats.h"
#include "log/runlog.h"
#include "store/oplog.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* All that can fail in a computation. */
static enum err figures_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

bool figures_is_used(const struct runlog *log, const struct log_iteration *it,
                     int warmup)
{
    return it->usable && it->section == log->used_section &&
           it->iteration > warmup && isfinite(it->step_ms) && it->step_ms > 0;
}

double figures_corrected(const struct log_iteration *it, double reference_ms)
{
    // above 1 where the machine was faster than at the reference
    double f = reference_ms / it->reference_ms;
    return isfinite(f) && f > 0 ? it->step_ms * f : it->step_ms;
}

/* Over all runs together: one reference for the whole experiment, so that its
 * runs can be compared. */
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
                figures_is_used(log, &log->iterations[i], warmup) &&
                log->iterations[i].reference_ms > 0)
                x[k++] = log->iterations[i].reference_ms;
    }
    return x ? stats_median(x, k) : (double)NAN;
}

size_t figures_corrected_steps(const struct run_record *run, int warmup,
                               double reference_ms, double *x)
{
    size_t k = 0;
    for (size_t i = 0; i < run->log.n_iterations; i++)
        if (figures_is_used(&run->log, &run->log.iterations[i], warmup))
            x[k++] = figures_corrected(&run->log.iterations[i], reference_ms);
    return k;
}

/* Raw and corrected medians side by side: how far they differ tells how
 * unsteady the machine was. */
enum err figures_run(struct arena *a, const struct run_record *run,
                     struct figures_rule rule, struct run_figures *out,
                     struct err_msg *msg)
{
    const int warmup = rule.warmup;
    size_t n = run->log.n_iterations, n_raw = 0, n_bursts = 0;
    double *raw = arena_alloc(a, n + 1, sizeof *raw);
    double *corr = arena_alloc(a, n + 1, sizeof *corr);
    double *bursts = arena_alloc(a, n + 1, sizeof *bursts);
    if (!raw || !corr || !bursts)
        return figures_no_memory(msg);
    struct run_figures f = {0};
    for (size_t i = 0; i < n; i++) {
        const struct log_iteration *it = &run->log.iterations[i];
        f.n_warmup +=
            it->section == run->log.used_section && it->iteration <= warmup;
        if (!figures_is_used(&run->log, it, warmup))
            continue;
        raw[n_raw++] = it->step_ms;
        if (it->reference_ms > 0)
            bursts[n_bursts++] = it->reference_ms;
    }
    size_t n_corr =
        figures_corrected_steps(run, warmup, rule.reference_ms, corr);
    f.n_used = (int)n_raw;
    f.step_ms = stats_median(raw, n_raw);
    f.reference_ms = stats_median(bursts, n_bursts);
    f.corr_ms = stats_median(corr, n_corr);
    f.mad_ms = stats_mad(corr, n_corr);
    *out = f;
    return ERR_OK;
}
/* ---- jitter ---- */

#define MAD_TO_SIGMA 1.4826 // of a normal distribution

struct samples {
    double *x;
    size_t n, room;
    struct oplog_shape shape; // of what is read
    int warmup;
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
                               struct samples *cv, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/ops.csv", run->folder);
    double *scratch = arena_alloc(a, (size_t)cv->shape.n_mb, sizeof *scratch);
    struct oplog ops;
    if (!path || !scratch)
        return figures_no_memory(msg);
    if (access(path, R_OK) != 0)
        return ERR_OK;
    enum err e = oplog_read(a, path, cv->shape, &ops, msg);
    for (int i = 0; e == ERR_OK && i < ops.n_steps; i++) {
        const struct oplog_step *s = &ops.steps[i];
        const struct log_iteration *it =
            runlog_find_used(&run->log, s->iteration);
        if (!it || !figures_is_used(&run->log, it, cv->warmup))
            continue;
        for (int stage = 0; stage < ops.n_stages; stage++) {
            add_spread(s->fwd_s + stage * ops.n_mb, ops.n_mb, scratch, cv);
            add_spread(s->bwd_s + stage * ops.n_mb, ops.n_mb, scratch, cv);
        }
    }
    return e;
}

/* Median over rows of a robust spread: single bursts that the system
 * interrupted are outliers, and slow spells last over several operations;
 * counting both as independent noise would predict steps some percent long. */
enum err figures_jitter(struct arena *a, const struct figures_source *from,
                        double *cv, struct err_msg *msg)
{
    const struct model *m = from->model;
    const struct run_list *runs = from->runs;
    const struct oplog_shape shape = {m->par.pp *
                                          (m->par.vpp > 0 ? m->par.vpp : 1),
                                      (int)m->batch.n_microbatches, m->par.dp};
    // forward and backward of each stage give a sample a step
    struct samples all = {.room = 1, .shape = shape, .warmup = from->warmup};
    for (size_t i = 0; i < runs->n; i++)
        all.room += 2 * runs->run[i].log.n_iterations * (size_t)shape.n_stages;
    all.x = arena_alloc(a, all.room, sizeof *all.x);
    if (!all.x)
        return figures_no_memory(msg);
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_record *run = &runs->run[i];
        struct arena scratch;
        arena_init(&scratch);
        enum err e = run->round == 0 && run->status == RUN_VALID
                         ? add_run_spread(&scratch, run, &all, msg)
                         : ERR_OK;
        arena_clear(&scratch);
        if (e != ERR_OK)
            return e;
    }
    *cv = stats_median(all.x, all.n);
    return ERR_OK;
}
