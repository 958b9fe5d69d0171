/*
 * report: from the CSV files of experiments to the marked tables of REPORT.md
 * and to figures drawn by gnuplot. Nothing else is read, so the same CSV gives
 * the same report.
 *
 * A table stands between <!-- begin:TABLE:EXPERIMENT --> and
 * <!-- end:TABLE:EXPERIMENT -->; TABLE is layouts, stages, jitter, runs,
 * summary (some sentences on what the layouts say together) or figures (links
 * to them).
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdio.h>

/* Folders with an experiment's CSV files. */
struct report_source {
    const char *experiment, *dir;
};

struct report_sources {
    const struct report_source *source;
    int n;
};

/* Folders directly below results/ that hold a layouts.csv, then those below
 * results/reference/ whose name is not among them. */
enum err report_find_sources(struct arena *a, const char *results,
                             struct report_sources *out, struct err_msg *msg);

/* The table as Markdown, owned by the arena. ERR_PARSE for an unknown table
 * (the nearest is named) or unreadable CSV. */
enum err report_table(struct arena *a, const char *table, const char *dir,
                      const char **out, struct err_msg *msg);

/* `text` with what stands between each pair of markers replaced by its table;
 * tables of experiments that are not among the sources stay as they are.
 * ERR_PARSE when a begin marker has no end marker. */
enum err report_fill(struct arena *a, const char *text,
                     const struct report_sources *from, const char **out,
                     struct err_msg *msg);

/* Draws all figures of one experiment to OUT/<experiment>-<figure>.svg and
 * .png with the scripts in `plots`. Prints the names to `log`. ERR_CHILD when
 * gnuplot is missing or fails. */
struct report_figures {
    const struct report_source *source;
    const char *plots, *out;
    FILE *log;
};
enum err report_draw(struct arena *a, const struct report_figures *f,
                     struct err_msg *msg);

#endif
