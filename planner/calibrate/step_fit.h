/*
 * step_fit: prices of units and of the terms outside the pipeline from step
 * times alone, seconds. A step is the largest of many sums of the prices, a
 * sum for each path through the schedule: linear as long as one path stays
 * the longest. So the slopes along it make a system of equations, solved by
 * non-negative least squares on relative errors, and again with the slopes
 * found there until nothing moves.
 *
 * Rows come from one cluster, whose network and rates they share. Those of one
 * group share unit costs: all units cost in proportion to their FLOPs, but for
 * those that are free. A free unit has one rate (seconds an operation) for all
 * groups. An unknown enters only where the rows tell it from those before it;
 * what does not enter is tied to the FLOPs (units) or left out (terms), and
 * the note says so. Tied units keep a prior's width, so that the intervals of
 * all others count what the tie may be wrong by. Sized for some hundred rows
 * and LSQ_MAX_COLS unknowns.
 */
#ifndef CALIBRATE_STEP_FIT_H
#define CALIBRATE_STEP_FIT_H

#include "step_prices.h"

/* ERR_MODEL when no row has a group's units to price, or there are more
 * unknowns than LSQ_MAX_COLS. Owned by the arena. */
enum err step_fit_make(struct arena *a, const struct step_rows *rows,
                       const struct step_fit_options *options,
                       struct step_fit *out, struct err_msg *msg);

#endif
