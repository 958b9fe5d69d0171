/*
 * recorded_step: one step of a run as it was recorded (ops.csv, or ops.csv.gz
 * in a dataset), for the page's timeline: the step whose time is nearest to the
 * median of the run's used ones. Others are left out: a page with all of them
 * would be some ten times as large.
 */
#ifndef PAGE_RECORDED_STEP_H
#define PAGE_RECORDED_STEP_H

#include "base/csv.h"
#include "sheet.h"

/* A run by its row of runs.csv, and the iterations of all runs. */
struct recorded_step_of {
    const char *dir; // of the experiment
    const struct csv *runs, *iterations;
    size_t row;
};

/* Adds its timeline to the page. *out is its place in the list, -1 where the
 * run recorded nothing or was left out. ERR_PARSE for a file that does not fit
 * the run. */
enum err recorded_step_add(struct sheet *s, const struct recorded_step_of *of,
                           int *out, struct err_msg *msg);

/* The times of a run's used steps in one text, "381.2, 380.9", at most the
 * first 20; NULL where it has none. Owned by the arena. */
const char *recorded_step_times(struct arena *a,
                                const struct recorded_step_of *of);

#endif
