/*
 * bounds: how far each mark of a dataset may grow before it is worse, in
 * percentage points, from a CSV file (results/bounds.csv): format, dataset, a
 * column a mark (marks.h), note. The row of the dataset "*" stands for all
 * without a row; an empty field takes its value, and what "*" leaves empty, or
 * a file that is not there, takes the marks' own bounds.
 *
 * Designed for some dozen rows, written by hand: every row is checked.
 */
#ifndef REGRESS_BOUNDS_H
#define REGRESS_BOUNDS_H

#include "base/arena.h"
#include "base/err.h"
#include "marks.h"

#define BOUNDS_FORMAT "moe-bench/bounds/1"

/* The dataset that stands for all others. */
#define BOUNDS_ANY "*"

/* Percentage points, each at least 0. */
struct bound {
    const char *dataset;
    double pct[N_MARKS];
};

struct bounds {
    const char *path;
    struct bound *item;
    int n;
    struct bound any;
};

/* Bounds where no file says any. */
struct bounds bounds_default(void);

/* Reads the file. ERR_PARSE for what is no such file, a column that is not
 * known, a number that cannot be read, a dataset that is there twice; ERR_RANGE
 * for one that is negative or beyond BOUNDS_MOST. Owned by the arena. */
#define BOUNDS_MOST 1000.0
enum err bounds_read(struct arena *a, const char *path, struct bounds *out,
                     struct err_msg *msg);

/* The dataset's row, or the one for all. */
const struct bound *bounds_of(const struct bounds *b, const char *dataset);

/* ERR_PARSE names the first row whose dataset `is_known` does not know, with
 * the nearest of `names`: a bound of nothing would be believed to hold. */
struct bounds_known {
    bool (*is_known)(const void *data, const char *dataset);
    const void *data;
    const char *const *names;
    size_t n_names;
};
enum err bounds_check(const struct bounds *b, const struct bounds_known *known,
                      struct err_msg *msg);

#endif
