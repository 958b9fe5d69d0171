/*
 * draw: the figures of an experiment, drawn by gnuplot from its CSV files with
 * the scripts in plots/, each as SVG and as PDF. The same files give the same
 * bytes, whatever the time, the locale, the time zone and the folder; another
 * gnuplot may draw other bytes.
 */
#ifndef REPORT_DRAW_H
#define REPORT_DRAW_H

#include "base/arena.h"
#include "base/err.h"
#include "figure_list.h"

#include <stdio.h>

/* Draws all figures to OUT/<experiment>-<figure>.svg and .pdf with the scripts
 * in `plots`. Makes the folder; prints the names to `log` (NULL: nowhere).
 * ERR_CHILD when gnuplot is missing or fails. */
struct drawing {
    const struct report_source *source;
    const char *plots, *out;
    FILE *log;
};
enum err draw_figures(struct arena *a, const struct drawing *d,
                      struct err_msg *msg);

/* True when gnuplot is found in PATH. */
bool draw_is_possible(struct arena *a);

#endif
