/*
 * context: in which order the measured runs of an experiment work and how they
 * exchange, as predictions take it: from the manifest's split and batch, and
 * from the flags that the trainer is given.
 */
#ifndef EXPERIMENT_CONTEXT_H
#define EXPERIMENT_CONTEXT_H

#include "base/err.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "plan/plan.h"
#include "schedule/schedule.h"

/* Fills `schedule` and ctx's model, micro-batches, mode of transfers and
 * schedule. ERR_RANGE for what Megatron refuses. `w` and `schedule` must
 * outlive the context. */
enum err context_make(const struct manifest *mf, const struct workload *w,
                      struct schedule *schedule, struct plan_context *ctx,
                      struct err_msg *msg);

/* The same for profile runs, which have one chunk a rank and no EP overlap, so
 * that their timers can be told apart: `m`, `schedule` and `out` are copies of
 * what ctx has, changed so. */
enum err context_of_profile(const struct plan_context *ctx, struct model *m,
                            struct schedule *schedule, struct plan_context *out,
                            struct err_msg *msg);

#endif
