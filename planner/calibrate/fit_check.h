/*
 * fit_check: whether the log of a profile run is what the fit takes it for.
 * Refuses what would mislead: a run of another model or layout, warm-up only,
 * timers that are missing or do not tell the ranks apart. Each refusal names
 * the flag or option that mends it.
 */
#ifndef CALIBRATE_FIT_CHECK_H
#define CALIBRATE_FIT_CHECK_H

#include "cost/fit.h"

/* ERR_PARSE with where, found, wanted and the next step. `runs` are in one
 * list because they must also agree with one another. */
enum err fit_check(struct arena *a, const struct model *m,
                   const struct fit_run *runs, int n_runs, struct err_msg *msg);

/* Only whether the log is of this model, batch and layout, as far as its dump
 * of arguments says: true of a log without one. ERR_PARSE says what differs. */
enum err fit_check_same(struct arena *a, const struct model *m,
                        const struct fit_run *run, struct err_msg *msg);

/* Was the run made with EP overlap, so that its timers cannot be used?
 * forward-compute then spans combined operations, and backward-compute is
 * absent (schedules.py stops the one timer behind both). The dump says so, or,
 * where there is none, a forward timer without a backward one. moe-train, whose
 * logs name a clock, times both, and its timers can be used. */
bool fit_check_is_overlapped(const struct fit_run *run);

/* Is the log of this model and layout, with an iteration that counts? Timers
 * are not looked at. ERR_PARSE as fit_check(). */
enum err fit_check_step_run(struct arena *a, const struct model *m,
                            const struct fit_run *run, struct err_msg *msg);

/* fit_check() of a run with EP overlap, whose step alone is used: timers are
 * not looked at. Refused when its dump says that there was no overlap. `like`
 * is a profile run that it must agree with. */
enum err fit_check_overlap_run(struct arena *a, const struct model *m,
                               const struct fit_run *run,
                               const struct fit_run *like, struct err_msg *msg);

#endif
