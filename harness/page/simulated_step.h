/*
 * simulated_step: the step of each layout of an experiment as it is predicted,
 * for the page's timelines: the simulator's, from the dataset's own manifest,
 * model and costs. It has mean times, without jitter and without what a step
 * takes outside of the pipeline.
 */
#ifndef PAGE_SIMULATED_STEP_H
#define PAGE_SIMULATED_STEP_H

#include "base/csv.h"
#include "sheet.h"

/* Adds the timelines of the rows of layouts.csv; timeline[row] is the place of
 * each in the page's list, -1 where there is none: the folder has no manifest
 * or costs, they do not fit, or the order has combined operations (EP overlap).
 * ERR_NOMEM is the only error. */
enum err simulated_step_add(struct sheet *s, const char *dir,
                            const struct csv *layouts, int *timeline,
                            struct err_msg *msg);

#endif
