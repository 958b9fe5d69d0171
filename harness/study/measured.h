/*
 * measured: figures of our own runs that stand beside the published ones: from
 * the tables of an experiment's folder (layouts.csv, stages.csv, runs.csv), of
 * rows whose source is a wall clock on real hardware only; emulated runs are
 * not a measurement of a GPU.
 */
#ifndef STUDY_MEASURED_H
#define STUDY_MEASURED_H

#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"

/* Tables of one experiment; those that are missing have no rows. */
struct measured {
    struct csv layouts, stages, runs;
};

/* Reads DIR's tables; a missing folder has none. ERR_PARSE for a damaged one.
 */
enum err measured_read(struct arena *a, const char *dir, struct measured *out,
                       struct err_msg *msg);

/* A number (a text) of the first row of a role that was measured; NAN (NULL)
 * where there is none. */
double measured_number(const struct measured *m, const char *role,
                       const char *column);
const char *measured_text(const struct measured *m, const char *role,
                          const char *column);

/* Step of `over` by that of `under`; NAN where one was not measured. */
double measured_ratio(const struct measured *m, const char *over,
                      const char *under);

/* Mean absolute error of the stages' memory, percent; sum of the runs' cost, US
 * dollars; the pick over the fastest layout measured, percent. */
double measured_memory_pct(const struct measured *m);
double measured_cost_usd(const struct measured *m);
double measured_gap_pct(const struct measured *m);

/* Largest absolute step error of layouts with one slowest stage that are not
 * the pick: neighbours, default, count-based; percent. */
double measured_others_pct(const struct measured *m);

#endif
