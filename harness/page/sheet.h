/*
 * sheet: the page while it is being filled. A row is printed as it is added, as
 * a row of the HTML table that works without a script; what it opens to, its
 * detail, goes to a JSON document, element by element in the order of the rows.
 * Every measured figure has a kind: measured, emulated, published or assumed.
 *
 * Sized for some thousand rows.
 */
#ifndef PAGE_SHEET_H
#define PAGE_SHEET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/writer.h"

#include <stdio.h>

/* Kinds as they are written; rows of another kind count as assumed. */
#define SHEET_MEASURED "measured"
#define SHEET_EMULATED "emulated"
#define SHEET_PUBLISHED "published"
#define SHEET_ASSUMED "assumed"

/* A row; NAN and "" where nothing is known. Times in milliseconds. */
struct sheet_row {
    const char *what;   // "layout", "run", "plan", "step time", "memory"
    const char *name;   // role, run or case
    const char *layout; // as it was written
    const char *kind;   // of its measured figures, or of what it rests on
    const char *status; // "valid", or the word for what was left out
    const char *reason; // of a status that is not "valid"
    double pred_ms, meas_ms, pred_bytes, meas_bytes;
};

/* A dataset, as the overview lists it. Texts, NULL where nothing. */
struct sheet_set {
    const char *name; // its path below results/
    const char *kind, *what, *origin;
    const char *url; // linked where it is https://
    int n_rows, n_compared;
    double sum_error_pct, worst_error_pct; // of absolute step errors, or of
                                           // memory where there is no step
};

struct sheet {
    struct arena *a;
    FILE *rows;                       // of the table
    FILE *sets;                       // of the overview
    FILE *tables;                     // CSV files as they are
    struct writer details, timelines; // lists of the JSON document
    int n_rows, n_timelines, n_sets;
    struct sheet_set set; // the one that rows are added to
};

/* Begins a dataset; texts must live as long as the sheet. */
void sheet_begin(struct sheet *s, const struct sheet_set *set);

/* Prints the dataset's line in the overview. */
void sheet_end(struct sheet *s);

/* Adds a row and returns its detail, an object to be filled at once. */
struct writer sheet_add(struct sheet *s, const struct sheet_row *row);

/* A line of a detail: `name` and its value, left out where that is NULL or "".
 * The first makes the list. */
struct sheet_facts {
    struct sheet *sheet;
    struct writer detail, list;
};
struct sheet_facts sheet_facts(struct sheet *s, struct writer detail);
void sheet_fact(struct sheet_facts *f, const char *name, const char *value);

/* A number for a detail, of six digits: more would say nothing and weigh half
 * of the page. Left out where it is not finite. */
void sheet_number(struct writer to, const char *key, double value);

/* "1.52 GiB", "158.9 MiB"; NULL where not finite. Owned by the arena. */
const char *sheet_bytes(struct arena *a, double bytes);

#endif
