/*
 * ep_save: what two layers save under EP overlap, from the step time of one
 * run with it. Such a run has no usable timers: Megatron's forward-compute
 * spans a combined operation and backward-compute is absent
 * (combined_1f1b.py), so that its step is all there is. Seconds.
 */
#ifndef CALIBRATE_EP_SAVE_H
#define CALIBRATE_EP_SAVE_H

#include "cost/fit.h"
#include "plan/plan.h"

/* Fits cost->ep_save so that the predicted step of the run equals the measured
 * one. One step tells one number: a pair of two MoE layers hides all four
 * all-to-alls, a pair with one MoE layer those of one direction, and both
 * directions move the same bytes, so forward-only and backward-only save half
 * of `both` each. The standard error is what the noise of this step and of the
 * profile runs' (step_noise_rel) moves it by; errors of unit costs are not in
 * it. Where the run is no faster than predicted without savings they are 0.
 * ctx->cost has all that the prediction needs; `run` has several chunks a rank
 * or one stage. ERR_MODEL for a run faster than hiding one of two layers whole
 * would make it, and for a model without experts. */
enum err ep_save_fit(const struct plan_context *ctx, const struct fit_run *run,
                     struct cost *cost, struct err_msg *msg);

#endif
