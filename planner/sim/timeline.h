/*
 * timeline: one simulated step as a file: a trace for Perfetto or
 * chrome://tracing, or a drawing. Chunks are told apart by colour; sized for a
 * few ten thousand events (P 16, V 2, M 64 has 15,000).
 */
#ifndef SIM_TIMELINE_H
#define SIM_TIMELINE_H

#include "base/err.h"
#include "base/json.h"
#include "schedule/schedule.h"
#include "sim.h"

/* Trace-event document of a simulation with events (the format of
 * chrome://tracing, which Perfetto opens): process 0 has a track a rank with
 * an event for every forward, backward, combined operation and wait, in the
 * order of their starts, whose name says chunk (A, B, ...) and micro-batch and
 * whose colour is the chunk's; process 1 has the messages while they are on
 * their way, by sending rank. Times in microseconds. Caller deletes the tree;
 * NULL when out of memory. */
cJSON *timeline_trace(const struct sim_result *r, const struct schedule *s);

/* An SVG drawing, one row a rank: a colour a chunk (grey for one chunk a
 * rank), forward light, backward dark, combined operations split, waiting as
 * an outline, messages as thin bars below; micro-batch numbers where there is
 * room. It grows wider with the number of operations. `title` stands above.
 * Owned by the arena, NULL when out of memory. */
char *timeline_svg(struct arena *a, const struct sim_result *r,
                   const struct schedule *s, const char *title);

#endif
