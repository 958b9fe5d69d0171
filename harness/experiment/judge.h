/*
 * judge: what became of a run, from its log and its exit status: valid, or why
 * not. The log is asked first: a program may end with 0 after it failed, and
 * print figures that are not those of the run that was asked for.
 */
#ifndef EXPERIMENT_JUDGE_H
#define EXPERIMENT_JUDGE_H

#include "base/arena.h"
#include "store/results.h"

#include <stdbool.h>
#include <stdint.h>

/* How a run ended, from its log and exit status; sets status and reason. */
struct run_ending {
    bool timed_out, flooded; // over limits.run_s; printed without end
    double limit_s;
    double silent_s;   // above 0: ended because the log was silent so long
    const char *lost;  // what the job system says of a job that vanished, or
                       // NULL
    int64_t exit_code; // -1: killed by a signal
    int wanted_iterations;
    int warmup;
    const char *other; // of another run: what its log says, or NULL
};
void judge_run(struct arena *a, const struct run_ending *end,
               struct run_record *run);

#endif
