/*
 * experiment_tables: the CSV files of one experiment as Markdown: its layouts
 * predicted and measured, its stages, jitter, units, which runs count and which
 * were left out. Milliseconds and percent, as in the files' columns.
 *
 * Every function prints the whole table of a file that was read; what is
 * missing is a "-".
 */
#ifndef REPORT_EXPERIMENT_TABLES_H
#define REPORT_EXPERIMENT_TABLES_H

#include "base/csv.h"

#include <stdio.h>

/* layouts.csv: a row a role and layout, with intervals. */
void experiment_tables_layouts(FILE *out, const struct csv *t);

/* stages.csv: times of one micro-batch; memory errors of the largest rank. */
void experiment_tables_stages(FILE *out, const struct csv *t);

/* jitter.csv: what the spread of single operations adds to a step. */
void experiment_tables_jitter(FILE *out, const struct csv *t);

/* runs.csv: one sentence on how many runs count and where they were made. */
void experiment_tables_runs(FILE *out, const struct csv *t);

/* runs.csv: each run that does not count, with its reason. */
void experiment_tables_dropped(FILE *out, const struct csv *t);

/* units.csv: fitted costs with standard errors, also in decoder layers. */
void experiment_tables_units(FILE *out, const struct csv *t);

#endif
