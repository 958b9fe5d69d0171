/*
 * experiment_rows: an experiment's folder as rows of the page: a row for each
 * layout (all rounds together) and for each run, valid or not. Reads
 * layouts.csv, runs.csv, stages.csv and iterations.csv, of which all but the
 * first may be missing.
 */
#ifndef PAGE_EXPERIMENT_ROWS_H
#define PAGE_EXPERIMENT_ROWS_H

#include "sheet.h"

/* Adds the rows of `dir`. ERR_PARSE for a table that cannot be read. */
enum err experiment_rows_add(struct sheet *s, const char *dir,
                             struct err_msg *msg);

#endif
