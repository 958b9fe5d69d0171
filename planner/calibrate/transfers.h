/*
 * transfers: what a transfer between two pipeline stages takes, from the
 * timers of exchanges of level 2 (forward-recv, backward-send and the like).
 * Those hold the transfer and the wait for the partner; the simulator knows
 * the wait. Seconds. Sized for a handful of runs of up to some hundred ranks.
 */
#ifndef CALIBRATE_TRANSFERS_H
#define CALIBRATE_TRANSFERS_H

#include "overhead.h"

/* The costs whose transfers are fitted, and what there is to say of it. */
struct transfers {
    struct cost *cost;
    const char *note; // NULL: nothing
};

/* Fits cost->latency_s, and cost->between where the run has boundaries of both
 * kinds (ctx->gpus_per_node), so that the simulated time that ranks spend in
 * exchanges is nearest to what the timers say, by least squares over all ranks
 * of all runs. Bandwidths stay as `cost` states them: messages are of one size
 * (but behind standalone MTP), which tells no rate apart from a latency, so
 * without a bandwidth all of a transfer is latency.
 *
 * Only runs whose exchanges are waited for tell anything: one chunk a rank, or
 * blocking transfers, and no MTP on a stage of its own, which synchronises.
 * Costs of logs that state their link (moe-train) are left alone, and so are
 * costs without such runs; the note is then NULL, else it says what was found.
 * out->cost has the fitted units, and the jitter, which makes ranks wait longer
 * for each other. */
enum err transfers_fit(struct arena *a, const struct plan_context *ctx,
                       const struct overhead_runs *runs, struct transfers *out,
                       struct err_msg *msg);

#endif
