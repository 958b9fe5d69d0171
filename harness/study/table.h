/*
 * table: writes one CSV file of a dataset: in memory first, so that a full disk
 * leaves the old file whole.
 */
#ifndef STUDY_TABLE_H
#define STUDY_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints the table of `data`; false when `out` cannot be written. */
typedef bool (*table_print)(FILE *out, const void *data);

/* DIR/NAME; the folder is made. ERR_IO, ERR_NOMEM. */
enum err table_write(const char *dir, const char *name, table_print print,
                     const void *data, struct err_msg *msg);

#endif
