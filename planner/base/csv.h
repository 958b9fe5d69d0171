/*
 * csv: tables with named columns on top of libcsv. Files are read whole and
 * looked up by column name, so that a new column never breaks an old reader.
 * The first column of every file of ours is `format`.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct csv {
    const char *where; // file name, for messages
    size_t n_columns;
    size_t n_rows;             // without the header
    const char *const *names;  // n_columns column names
    const char *const *fields; // n_rows x n_columns, row by row
};

/* Reads a table of at most 256 MB. A missing file or a row whose number of
 * fields differs from the header's is ERR_PARSE. Owned by the arena. */
enum err csv_read_file(struct arena *a, const char *path, struct csv *out,
                       struct err_msg *msg);

/* Field of `row` in the column of that name; NULL when there is no such row or
 * column, "" when the field is empty. */
const char *csv_get(const struct csv *t, size_t row, const char *column);

/* True when the field holds a finite number; *out is written only then. */
bool csv_get_double(const struct csv *t, size_t row, const char *column,
                    double *out);

/* The same for readers to whom a missing row or column, as of older files, is
 * as an empty field: "" and NAN. */
const char *csv_text(const struct csv *t, size_t row, const char *column);
double csv_double(const struct csv *t, size_t row, const char *column);

/* True when the field has this text. */
bool csv_is(const struct csv *t, size_t row, const char *column,
            const char *text);

/* Writes one row: fields quoted where needed (RFC 4180), NULL as empty, a
 * newline at the end. False when `out` cannot be written. */
bool csv_write_row(FILE *out, const char *const *fields, size_t n_fields);

/* Text of a number for a field: "%.17g", or NULL (an empty field) for a value
 * that is not finite. `buf` holds the text. */
enum { CSV_NUMBER_BYTES = 32 };
const char *csv_number(double value, char buf[CSV_NUMBER_BYTES]);

/* Writes a table of ours, whose first column is `format`, as text_write_file()
 * does; a file of another kind that is there is somebody's, and stays:
 * ERR_RANGE. */
enum err csv_replace_file(const char *path, const char *text, size_t len,
                          struct err_msg *msg);

#endif
