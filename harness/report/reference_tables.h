/*
 * reference_tables: what all datasets say together: errors and picks of every
 * experiment that ran, what their runs cost, and the memory model beside
 * Megatron-LM's own measurements.
 *
 * In: the folder of all datasets (results/reference). Milliseconds, minutes
 * and percent. Sized for some dozens of datasets of some hundred rows.
 */
#ifndef REPORT_REFERENCE_TABLES_H
#define REPORT_REFERENCE_TABLES_H

#include "sources.h"

#include <stdio.h>

#define REFERENCE_TABLES "moe-bench/overview/1"

/* The text of overview.csv: a row a layout of every experiment that ran. Owned
 * by the arena. */
enum err reference_tables_csv(struct arena *a, const char *root,
                              const char **out, struct err_msg *msg);

/* A row an experiment: errors, noise, how the pick stands. */
enum err reference_tables_overview(struct arena *a,
                                   const struct report_source *source,
                                   FILE *out, struct err_msg *msg);

/* A row an experiment: how many launches, how long, on what. */
enum err reference_tables_costs(struct arena *a,
                                const struct report_source *source, FILE *out,
                                struct err_msg *msg);

/* memory.csv: absolute errors by kind of model and age of the image. */
enum err reference_tables_memory(struct arena *a,
                                 const struct report_source *source, FILE *out,
                                 struct err_msg *msg);

/* search.csv: how long a proof took, a row a case; all with disturbed costs are
 * one. */
void reference_tables_search(FILE *out, const struct csv *t);

#endif
