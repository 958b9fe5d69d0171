/*
 * published_tables: what is predicted of others' step times, as Markdown: the
 * tables of errors by source and of what each term is worth, from
 * results/published/errors.csv and terms.csv (published/tables.h).
 */
#ifndef REPORT_PUBLISHED_TABLES_H
#define REPORT_PUBLISHED_TABLES_H

#include "base/csv.h"

#include <stdio.h>

/* A line a source, and one of all. Percent. */
void published_tables_errors(FILE *out, const struct csv *t);

/* A line a term and source that it changes, and one of all. Percent. */
void published_tables_terms(FILE *out, const struct csv *t);

#endif
