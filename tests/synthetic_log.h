/* synthetic_log: a run log with the timers that given costs would produce, for
 * the tests of fit and overhead. Header of test code only. */
#ifndef SYNTHETIC_LOG_H
#define SYNTHETIC_LOG_H

#include "base/arena.h"
#include "cost/fit.h"
#include "log/runlog.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { SYNTHETIC_ITERATIONS = 4 };

/* One timer over all iterations: value of rank r is ms[r]. */
static inline void synthetic_timer(struct arena *a, struct runlog *log,
                                   const char *name, const double *ms,
                                   int n_ranks)
{
    struct log_timer *all =
        arena_alloc(a, log->n_timers + SYNTHETIC_ITERATIONS, sizeof *all);
    double *copy = arena_alloc(a, (size_t)n_ranks, sizeof *copy);
    if (log->n_timers)
        memcpy(all, log->timers, log->n_timers * sizeof *all);
    memcpy(copy, ms, (size_t)n_ranks * sizeof *copy);
    for (int i = 0; i < SYNTHETIC_ITERATIONS; i++)
        all[log->n_timers++] = (struct log_timer){.iteration = i + 1,
                                                  .name = name,
                                                  .per_rank = true,
                                                  .n_ranks = n_ranks,
                                                  .rank_ms = copy};
    log->timers = all;
}

/* A run of `text` under the costs, a rank's timers adding up its chunks;
 * `wiggle` is a relative error that changes its sign from rank to rank.
 * Iteration 1 is not usable. */
static inline struct fit_run synthetic_run(struct arena *a,
                                           const struct model *m,
                                           const struct cost *c,
                                           const char *text, double wiggle)
{
    struct fit_run run = {.layout_text = text, .log_sha256 = "", .speed = 1};
    struct runlog *log = arena_alloc(a, 1, sizeof *log);
    struct err_msg msg;
    double ms[2][16];
    cr_assert_eq(layout_read(a, text, m, &run.layout, &msg), ERR_OK, "%s",
                 msg.text);
    memset(ms, 0, sizeof ms);
    for (int s = 0; s < run.layout.n_stages; s++) {
        double scale = (double)m->batch.n_microbatches * 1e3;
        double up = s % m->par.pp % 2 ? wiggle : -wiggle;
        struct cost_times t = cost_stage(c, m, &run.layout, s);
        ms[0][s % m->par.pp] += (t.fwd_s + c->chunk_s) * scale * (1 + up);
        ms[1][s % m->par.pp] += (t.bwd_s + c->chunk_s) * scale * (1 - up);
    }
    log->clock = c->chunk_s > 0 ? NULL : "wall"; // Megatron or moe-train
    log->p2p_latency_s = log->p2p_bytes_per_s = (double)NAN;
    synthetic_timer(a, log, RUNLOG_FORWARD, ms[0], m->par.pp);
    synthetic_timer(a, log, RUNLOG_BACKWARD, ms[1], m->par.pp);
    struct log_iteration *it = arena_alloc(a, SYNTHETIC_ITERATIONS, sizeof *it);
    for (int i = 0; i < SYNTHETIC_ITERATIONS; i++)
        it[i] = (struct log_iteration){.iteration = i + 1,
                                       .step_ms = 1000,
                                       .loss = 1,
                                       .reference_ms = (double)NAN,
                                       .usable = i > 0};
    log->iterations = it;
    log->n_iterations = SYNTHETIC_ITERATIONS;
    run.log = log;
    return run;
}

/* Steps of `step_s` in all iterations of the run, whose log is replaced. */
static inline void synthetic_steps(struct arena *a, struct fit_run *run,
                                   double step_s)
{
    struct runlog *log = arena_alloc(a, 1, sizeof *log);
    struct log_iteration *it =
        arena_alloc(a, run->log->n_iterations, sizeof *it);
    *log = *run->log;
    memcpy(it, log->iterations, log->n_iterations * sizeof *it);
    for (size_t i = 0; i < log->n_iterations; i++)
        it[i].step_ms = step_s * 1e3;
    log->iterations = it;
    run->log = log;
}

/* The same log behind an earlier run in the same file, whose steps and timers
 * took `factor` times as long: what a restart with other settings leaves. */
static inline struct runlog *
synthetic_restart(struct arena *a, const struct runlog *log, double factor)
{
    const size_t n = log->n_iterations, n_timers = log->n_timers;
    struct runlog *both = arena_alloc(a, 1, sizeof *both);
    struct log_iteration *it = arena_alloc(a, 2 * n, sizeof *it);
    struct log_timer *t = arena_alloc(a, 2 * n_timers, sizeof *t);
    for (size_t i = 0; i < n; i++) {
        it[i] = it[n + i] = log->iterations[i];
        it[i].step_ms *= factor;
        it[n + i].section = 1;
    }
    for (size_t i = 0; i < n_timers; i++) {
        t[i] = t[n_timers + i] = log->timers[i];
        double *ms = arena_alloc(a, (size_t)t[i].n_ranks, sizeof *ms);
        for (int r = 0; r < t[i].n_ranks; r++)
            ms[r] = t[i].rank_ms[r] * factor * (1 + (double)((i + r) % 3));
        t[i].rank_ms = ms;
        t[n_timers + i].section = 1;
    }
    *both = *log;
    both->iterations = it;
    both->timers = t;
    both->n_iterations = 2 * n;
    both->n_timers = 2 * n_timers;
    both->n_sections = 2;
    both->used_section = 1;
    return both;
}

/* Costs in the study's proportions. */
static inline struct cost study_costs(void)
{
    struct cost c = {.rules = MEMORY_MOE_TRAIN};
    c.unit[KIND_E] = (struct unit_cost){true, 2e-5, 0, 3e-5, 0};
    c.unit[KIND_T] = (struct unit_cost){true, 1e-3, 0, 2.1e-3, 0};
    c.unit[KIND_M] = (struct unit_cost){true, 1.4e-3, 0, 2.9e-3, 0};
    c.unit[KIND_L] = (struct unit_cost){true, 3.8e-3, 0, 7.5e-3, 0};
    return c;
}

#endif
