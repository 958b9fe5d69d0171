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

#endif
