/*
 * validate_rows: moe-bench validate on step times of others: files named with
 * --rows, and the datasets of results/published. Printing.
 */
#ifndef CMD_VALIDATE_ROWS_H
#define CMD_VALIDATE_ROWS_H

#include "cmd.h"
#include "report/validate_published.h"

/* validate --rows FILE...: predicts the rows of the files; a table, or with
 * --json {"rows": [{"id", "source", "pred_s", "meas_s", "covered",
 * "pipeline_s", "dp_s", "constant_s", "why"}], "fits": [...], "datasets":
 * [...]}. */
enum err validate_rows_run(struct cmd *c);

/* The table of the datasets' scores: its head, and a line. `before` is the
 * baseline's mean error in percent, NAN: none. */
void validate_rows_print_head(void);
void validate_rows_print_score(const struct published_score *s, double before);

#endif
