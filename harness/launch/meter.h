/*
 * meter: how long a job has run, from which its limits and its price are
 * counted. It counts by the monotonic clock: a wall clock that is set forward
 * or back changes nothing. When a harness dies, the next one goes on from what
 * the job's record holds.
 *
 * Two answers, since a job may run unseen, between two questions or two
 * harnesses: what it has run for sure, by which a limit may end it, and what it
 * has run at most, which is what is paid for. Seconds throughout; never
 * negative.
 */
#ifndef LAUNCH_METER_H
#define LAUNCH_METER_H

#include "base/arena.h"
#include "base/reader.h"
#include "base/writer.h"

#include <stdbool.h>

struct meter {
    bool running;    // at the last sight
    double sight_s;  // of the monotonic clock, when the job was last seen
    double sure_s;   // it ran so long, up to that sight
    double unseen_s; // and perhaps so much longer
};

/* Before the job is handed over. */
void meter_start(struct meter *m, double now_s);

/* It waits: it has not run at all. */
void meter_see_waiting(struct meter *m, double now_s);

/* It runs. What it did since it was last seen to run is sure: a job runs
 * through. `told_s` is what the system says that it has run, 0 for nothing: it
 * counts as far as it is possible. */
void meter_see_running(struct meter *m, double now_s, double told_s);

/* What a job has run that has ended: what the system says, as far as it is
 * possible; without it all that it can have, but no more than `most_s`, when
 * the system itself ends it (0: not known). */
double meter_ran_s(const struct meter *m, double now_s, double told_s,
                   double most_s);

/* Into a job's record and out of it: keys running, ran_s, unseen_s, seen_s,
 * seen_utc_s and boot. Without them a job is taken as never seen. */
void meter_write(const struct meter *m, double now_s, struct arena *a,
                 struct writer o);
void meter_read(struct meter *m, double now_s, struct reader top);

#endif
