/*
 * report: from the CSV files of experiments to tables, or to a page of its own
 * for each. Nothing else is read, so the same CSV gives the same text.
 *
 * A table is named (summary, layouts, stages, ...: the list is in report.c); a
 * figure's name (figure_list) is a table that holds its link and caption.
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/arena.h"
#include "base/err.h"
#include "sources.h"

#include <stdio.h>

/* ERR_PARSE for a name that no table and no figure has; the nearest is named.
 */
enum err report_find_table(struct arena *a, const char *name,
                           struct err_msg *msg);

/* Prints the names of all tables, a line each with its title. */
void report_print_tables(FILE *out);

/* The table as Markdown, owned by the arena. ERR_PARSE for an unknown table
 * or unreadable CSV. */
enum err report_table(struct arena *a, const char *table,
                      const struct report_source *source, const char **out,
                      struct err_msg *msg);

/* All tables of one experiment as a page of their own; those whose files it
 * does not have are left out. */
enum err report_page(struct arena *a, const struct report_source *source,
                     const char **out, struct err_msg *msg);

/* The page into DIR/report.md, whose path is *out. */
enum err report_write_page(struct arena *a, const struct report_source *source,
                           const char **out, struct err_msg *msg);

/* The report of results that were just made: DIR/figures and DIR/report.md. The
 * page is without figures where gnuplot or the folder of scripts `plots` is not
 * there, or MOE_BENCH_FIGURES=no is set; a line on `warn` (NULL: nowhere) says
 * so, also where gnuplot fails. ERR_IO when the page cannot be written. */
struct report_own {
    const char *dir, *plots;
    FILE *warn;
};
enum err report_write_own(struct arena *a, const struct report_own *own,
                          const char **out, struct err_msg *msg);

#endif
