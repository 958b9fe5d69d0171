/*
 * execute: one run from its command to its finished folder: starts it, shows
 * progress, judges how it ended by exit status and log, records the rest.
 */
#ifndef EXPERIMENT_EXECUTE_H
#define EXPERIMENT_EXECUTE_H

#include "base/arena.h"
#include "base/err.h"
#include "launch/launch.h"
#include "manifest/machine.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "store/results.h"

#include <stdbool.h>

/* The line on stderr, at most one a second, over all runs of an experiment. */
struct progress {
    const char *name; // of the experiment
    int run, n_runs;  // this one (from 1) and all
    int n_iterations; // of one run
    int n_done;       // iterations of earlier runs that really ran
    double start_s;   // monotonic clock at the first of them
    double last_s;    // when the line was last shown
    bool quiet, terminal;
    double line_s;    // when the last iteration line of this run came, 0: none
    double longest_s; // longest wait between two of them
    double silent_s;  // what the supervisor allows, 0: not known yet
    double hang_steps, hang_s; // limits of the manifest
    int64_t batch; // that iteration lines of this run state, 0: none; what
                   // differs from it stands
    int64_t wanted_batch;
};

void progress_init(struct progress *p, const char *name, int n_runs,
                   int n_iterations, bool quiet);

/* A whole line that stays, e.g. how a run ended. */
void progress_say(struct progress *p, const char *text);

struct execute_request {
    const struct manifest *manifest;
    const struct workload *workload;
    const struct machine *machine;
    const struct results *results;
    const char *key, *role, *layout;
    int round; // 0: a profile run, with timers
};

/* Runs it. ERR_OK also for a run that failed by itself: see out->status.
 * ERR_CHILD when it could not be started or this process was interrupted,
 * ERR_IO when its folder cannot be written; then no folder is left. */
enum err execute_run(struct arena *a, const struct execute_request *req,
                     struct progress *p, struct run_record *out,
                     struct err_msg *msg);

#endif
