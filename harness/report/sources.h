/*
 * sources: the folders that a report is made from, and the CSV files in them.
 *
 * A folder of an experiment is named as it. Sized for some dozens.
 */
#ifndef REPORT_SOURCES_H
#define REPORT_SOURCES_H

#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"
#include "figure_list.h"

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

/* One more source behind the others; owned by the arena. */
enum err report_add_source(struct arena *a, struct report_source source,
                           struct report_sources *to, struct err_msg *msg);

/* NULL: none of that name. */
const struct report_source *report_source_of(const struct report_sources *from,
                                             const char *experiment);

/* True when the source's folder has the file. */
bool report_source_has(struct arena *a, const struct report_source *source,
                       const char *file);

/* Reads one of the source's files; ERR_PARSE when it has rows without the
 * column `needs`, which tells the right file. */
struct source_file {
    const char *name, *needs;
};
enum err report_source_read(struct arena *a, const struct report_source *source,
                            const struct source_file *file, struct csv *out,
                            struct err_msg *msg);

#endif
