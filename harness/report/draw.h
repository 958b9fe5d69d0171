/*
 * draw: the figures of an experiment, drawn by gnuplot from its CSV files with
 * the scripts in plots/, and the links to them.
 */
#ifndef REPORT_DRAW_H
#define REPORT_DRAW_H

#include "base/arena.h"
#include "base/err.h"

#include <stdio.h>

/* A folder with an experiment's CSV files, and the one of its figures as the
 * text that shows them names it. */
struct report_source {
    const char *experiment, *dir, *figures;
};

/* Links (Markdown) to the figures that draw_figures() makes of the source: to
 * those alone that have data. ERR_PARSE for unreadable CSV. */
enum err draw_links(struct arena *a, const struct report_source *source,
                    FILE *out, struct err_msg *msg);

/* Draws all figures to OUT/<experiment>-<figure>.svg and .png with the scripts
 * in `plots`. Makes the folder; prints the names to `log` (NULL: nowhere).
 * ERR_CHILD when gnuplot is missing or fails. */
struct drawing {
    const struct report_source *source;
    const char *plots, *out;
    FILE *log;
};
enum err draw_figures(struct arena *a, const struct drawing *d,
                      struct err_msg *msg);

#endif
