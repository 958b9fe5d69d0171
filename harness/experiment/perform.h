/*
 * perform: makes the runs of an experiment, from the profile to the last round.
 * What is finished is not done again, so the same call continues after an
 * interruption.
 */
#ifndef EXPERIMENT_PERFORM_H
#define EXPERIMENT_PERFORM_H

#include "base/err.h"
#include "experiment.h"

/* All of it: profile, fit, plan, rounds; writes DIR/costs.json, DIR/plan.json
 * and the CSV files. *n_bad counts planned runs that did not end valid.
 * ERR_MODEL when a budget or a limit of time allows no further run, ERR_CHILD
 * after an interruption or when a run cannot be started. */
enum err perform_experiment(struct experiment *e,
                            const struct experiment_options *opt, int *n_bad,
                            struct err_msg *msg);

#endif
