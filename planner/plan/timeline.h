/*
 * timeline: one simulated step as a file: a trace for chrome://tracing or
 * Perfetto, or a drawing.
 */
#ifndef PLAN_TIMELINE_H
#define PLAN_TIMELINE_H

#include "base/err.h"
#include "base/json.h"
#include "sim.h"

/* Chrome's trace-event document of a simulation with events: one complete
 * event for each forward, backward and exchange; pid 0, tid the rank, times in
 * microseconds. Caller deletes the tree; NULL when out of memory. */
cJSON *timeline_trace(const struct sim_result *r, int n_ranks);

/* An SVG drawing, one row a rank: forward light, backward dark, exchanges
 * hatched by their outline only, micro-batch numbers where there is room.
 * `title` stands above. Owned by the arena, NULL when out of memory. */
char *timeline_svg(struct arena *a, const struct sim_result *r, int n_ranks,
                   const char *title);

#endif
