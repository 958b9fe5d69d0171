/*
 * jitter: operations do not take the same time for every micro-batch. The
 * makespan is a maximum over paths, so its expectation lies above the makespan
 * of the mean times; a layout with two equally slow stages suffers most.
 *
 * Method: every operation's time is multiplied by an independent log-normal
 * factor of mean 1 and coefficient of variation cv; the expectation and the
 * 95% interval of one step are those of JITTER_SAMPLES simulated steps (fewer
 * where a step has more than 16,384 operations, jitter_samples()). All
 * layouts see the same random numbers (a counter-based generator keyed by seed,
 * sample, stage and micro-batch), so that differences between layouts are not
 * sampling noise.
 */
#ifndef PLAN_JITTER_H
#define PLAN_JITTER_H

#include "cost/fit.h"
#include "plan.h"

#include <stddef.h>
#include <stdint.h>

enum { JITTER_SAMPLES = 256 };
#define JITTER_SEED UINT64_C(20260801)

struct jitter_step {
    double mean_s, lo_s, hi_s; // of the whole step, overhead included
    double se_s;               // standard error of mean_s (sampling)
};

/* Simulated steps of a layout: 1 without jitter, else 32 to JITTER_SAMPLES. */
int jitter_samples(const struct plan_context *ctx);

/* Expected step of a layout with the costs' jitter_cv; with cv 0 all three are
 * the deterministic step. ERR_MODEL when the layout cannot be simulated. */
enum err jitter_expect(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct jitter_step *out,
                       struct err_msg *msg);

/* The same from the stages' mean times themselves, seconds a micro-batch, in
 * place of the costs. */
struct jitter_times {
    const struct layout *layout;
    const double *fwd_s, *bwd_s; // [n_stages]
};
enum err jitter_expect_times(struct arena *a, const struct plan_context *ctx,
                             const struct jitter_times *times,
                             struct jitter_step *out, struct err_msg *msg);

/* Times of single operations of sample `index` under the costs' jitter_cv,
 * fwd_s and bwd_s [stage * n_mb + mb]: the numbers that the expectations above
 * are made of. */
void jitter_draw(const struct jitter_times *mean,
                 const struct plan_context *ctx, int index, double *fwd_s,
                 double *bwd_s);

/* Fills the expected step of each plan. */
enum err jitter_fill(struct arena *a, const struct plan_context *ctx,
                     struct plan *plans, int n, struct err_msg *msg);

/* Fills the expected step of each plan and sorts the list by it; plans within
 * 0.5% of each other are a tie, which fewer near-bottleneck stages win. */
enum err jitter_rerank(struct arena *a, const struct plan_context *ctx,
                       struct plan *plans, int n, struct err_msg *msg);

/* cv of single operations from their recorded times: for each row (one stage
 * and pass of one step) the spread over its n_mb micro-batches, pooled. NAN
 * where fewer than two times are there. times_s[row * n_mb + mb], NAN: not
 * recorded. */
double jitter_from_ops(const double *times_s, size_t n_rows, int n_mb);

/* cv of single operations from per-iteration timers, which are sums over the
 * micro-batches: the factor common to all ranks of an iteration is removed,
 * and cv^2 = n_mb x the variance of what is left, assuming independent
 * micro-batches. NAN where the log has fewer than two usable iterations with
 * timers. */
double jitter_from_timers(struct arena *a, const struct runlog *log,
                          int n_ranks, int n_mb);

#endif
