/*
 * cells: what a cell of a Markdown table holds, from a field of a CSV file.
 * An absent figure is "-", never 0; text keeps the bars, stars and underscores
 * of layouts and names. Inputs are CSV tables read by base/csv.
 */
#ifndef REPORT_CELLS_H
#define REPORT_CELLS_H

#include "base/csv.h"

#include <stdio.h>

/* Prints a text so that it ends no cell and begins no emphasis. */
void cell_text(FILE *out, const char *text);

/* The same of a field; nothing where the row or column is missing. */
void cell_field(FILE *out, const struct csv *t, size_t row, const char *column);

/* Prints a number with so many digits, "-" where it is not finite. */
void cell_number(FILE *out, double x, int digits);

/* The same of a field. */
void cell_print(FILE *out, const struct csv *t, size_t row, const char *column,
                int digits);

#endif
