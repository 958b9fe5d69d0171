/*
 * report: from the CSV files of experiments to the marked tables of REPORT.md,
 * or to a page of its own for each. Nothing else is read, so the same CSV
 * gives the same report.
 *
 * A table stands between <!-- begin:TABLE:EXPERIMENT --> and
 * <!-- end:TABLE:EXPERIMENT -->; TABLE is layouts, stages, jitter, runs,
 * summary (some sentences on what the layouts say together), figures (links
 * to them), of an experiment that only plans recipes or ratios, and of what
 * others published studies, constants, errors or plans.
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/arena.h"
#include "base/err.h"
#include "draw.h"

struct report_sources {
    struct report_source *source;
    int n;
};

/* Folders directly below `from` that hold a layouts.csv, recipes.csv,
 * studies.csv or plans.csv, in the order of their names, which are the
 * experiments'; `figures` is the folder to link to. ERR_PARSE when there is
 * none. */
struct report_find {
    const char *from, *figures;
};
enum err report_find_sources(struct arena *a, const struct report_find *f,
                             struct report_sources *out, struct err_msg *msg);

/* The table as Markdown, owned by the arena. ERR_PARSE for an unknown table
 * (the nearest is named) or unreadable CSV. */
enum err report_table(struct arena *a, const char *table,
                      const struct report_source *source, const char **out,
                      struct err_msg *msg);

/* All tables of one experiment as a page of their own; those whose files it
 * does not have are left out. */
enum err report_page(struct arena *a, const struct report_source *source,
                     const char **out, struct err_msg *msg);

/* `text` with what stands between each pair of markers replaced by its table;
 * tables of experiments that are not among the sources stay as they are.
 * ERR_PARSE when a begin marker has no end marker. */
enum err report_fill(struct arena *a, const char *text,
                     const struct report_sources *from, const char **out,
                     struct err_msg *msg);

#endif
