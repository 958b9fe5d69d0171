/*
 * fill: a text (REPORT.md) with its marked tables as the data give them.
 *
 * A table stands between <!-- begin:TABLE:EXPERIMENT --> and
 * <!-- end:TABLE:EXPERIMENT -->; TABLE is a name that report_table() knows.
 * What stands outside of markers is copied as it is. Texts of some 100 KB.
 */
#ifndef REPORT_FILL_H
#define REPORT_FILL_H

#include "base/arena.h"
#include "base/err.h"
#include "sources.h"
#include "stale.h"

/* `text` with what stands between each pair of markers replaced by its table;
 * tables of experiments that are not among the sources stay as they are.
 * ERR_PARSE when a begin marker has no end marker. */
enum err report_fill(struct arena *a, const char *text,
                     const struct report_sources *from, const char **out,
                     struct err_msg *msg);

/* Prints a line for each marked table of `text` (of the file `name`) that is
 * not as the data give it or has no data, and for each source that the text
 * does not show; Errors as report_fill(). */
struct report_text {
    const char *name, *text;
};
enum err report_compare(struct arena *a, const struct report_text *of,
                        const struct report_sources *from, struct stale *s,
                        struct err_msg *msg);

#endif
