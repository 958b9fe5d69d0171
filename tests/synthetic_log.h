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

/* A run of `text` under the costs; `wiggle` is a relative error that changes
 * its sign from stage to stage. Iteration 1 is not usable. */
static inline struct fit_run synthetic_run(struct arena *a,
                                           const struct model *m,
                                           const struct cost *c,
                                           const char *text, double wiggle)
{
    struct fit_run run = {.layout_text = text, .log_sha256 = "", .speed = 1};
    struct runlog *log = arena_alloc(a, 1, sizeof *log);
    struct err_msg msg;
    double ms[2][16];
    cr_assert_eq(layout_read(a, text, m, m->par.pp, &run.layout, &msg), ERR_OK,
                 "%s", msg.text);
    for (int s = 0; s < m->par.pp; s++) {
        double f, b, scale = (double)m->batch.n_microbatches * 1e3;
        cost_stage(c, m, &run.layout, s, &f, &b);
        ms[0][s] = (f + c->chunk_s) * scale * (1 + (s % 2 ? wiggle : -wiggle));
        ms[1][s] = (b + c->chunk_s) * scale * (1 + (s % 2 ? -wiggle : wiggle));
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
