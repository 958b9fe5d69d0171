/*
 * row_check: whether the rows of a contributed folder are those that its model,
 * layouts and figures make. Every column that is not a figure follows from
 * model.json, manifest.json and the row's layout, so rows are made again and
 * compared, field by field: an edited size, count or name shows, and no free
 * text comes with a row.
 *
 * Sized for some hundred rows.
 */
#ifndef CONTRIBUTE_ROW_CHECK_H
#define CONTRIBUTE_ROW_CHECK_H

#include "contribution.h"

#include "base/csv.h"

/* Reads what a row says of its origin (`note`, `step_stat`) into the run, where
 * it is in a form that `contribute` writes. */
void row_check_origin(const char *note, const char *stat,
                      struct contribution_run *r);

/* Reads the log's hash of `ref`, "log sha256 <hash>", likewise. */
void row_check_ref(const char *ref, struct contribution_run *r);

/* ERR_MODEL for the first field that is another than the contribution makes,
 * with both; ERR_NOMEM. `rows` are of its runs, in order. */
enum err row_check(const struct contribution *c, const struct csv *rows,
                   struct err_msg *msg);

#endif
