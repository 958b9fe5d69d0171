/*
 * figure_list: which figures there are, what each is drawn from, and the link
 * and caption that stand for it in a text. A caption says what is shown, how
 * many (n), of what kind the figures are, and from which file.
 *
 * Sizes: a file of a figure has at most 100,000 rows (a recorded step).
 */
#ifndef REPORT_FIGURE_LIST_H
#define REPORT_FIGURE_LIST_H

#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

/* A folder with an experiment's CSV files, the one of its figures as the text
 * that shows them names it (NULL: none were drawn), and `dir` as captions name
 * it (NULL: files are named alone). */
struct report_source {
    const char *experiment, *dir, *figures;
    const char *shown;
};

struct figure {
    const char *name, *what, *script, *csv;
    const char *needs;   // without a number in this column there is nothing
                         // to draw
    const char *counted; // what a drawn row is, in the plural
    bool (*is_drawn)(const struct csv *t, size_t row); // NULL: every row
    const char *title; // NULL: the experiment, and of what kind its figures are
    const char *kind;  // NULL: as layouts.csv and runs.csv say
    size_t most_rows;
};

/* The figures in the order of a report; the one behind the last, and one of a
 * name that there is none of, is NULL. */
const struct figure *figure_at(size_t i);
const struct figure *figure_named(const char *name);

/* How many rows of the source's file the figure shows: 0 where there is no
 * such file (older experiments, those that only plan) or nothing in it.
 * ERR_PARSE for a file that cannot be read, ERR_RANGE for one too large to
 * draw. */
enum err figure_count(struct arena *a, const struct figure *g,
                      const struct report_source *source, size_t *out,
                      struct err_msg *msg);

/* Title of the drawing: "local (emulated)", of the arena; NULL when out of
 * memory. */
const char *figure_title(struct arena *a, const struct figure *g,
                         const struct report_source *source);

/* Link and caption (Markdown) of a figure, nothing where it has no data; of
 * all figures of the source. Errors as figure_count(). */
enum err figure_show(struct arena *a, const struct figure *g,
                     const struct report_source *source, FILE *out,
                     struct err_msg *msg);
enum err figure_show_all(struct arena *a, const struct report_source *source,
                         FILE *out, struct err_msg *msg);

#endif
