/*
 * errors: how far steps by some constants of the roofline are from those that
 * others measured: by source, apart for rows that fed the constants, rows that
 * did not, and forwards alone, which never do. Relative errors are predicted
 * over measured less one, in percent.
 */
#ifndef STUDY_ERRORS_H
#define STUDY_ERRORS_H

#include "base/arena.h"
#include "base/err.h"
#include "calibrate/roofline_fit.h"

/* What a group of rows was to the fit. */
enum errors_use { ERRORS_FIT, ERRORS_PREDICT, ERRORS_FORWARD, N_ERRORS_USES };

/* "fit", "predict", "forward". */
const char *errors_use_name(enum errors_use u);

struct errors_row {
    const char *source;
    enum errors_use use;
    int n;
    double mean_pct, median_pct, worst_pct; // of absolute values
    double bias_pct;
};

struct errors {
    struct errors_row *row;
    int n;
};

/* Groups in the order in which sources appear, uses in the order above; groups
 * without a row are left out. Owned by the arena. */
enum err errors_of(struct arena *a, struct roofline_bench *b,
                   const struct roofline *r, struct errors *out,
                   struct err_msg *msg);

/* DIR/constants.csv: the constants, fitted and in use; DIR/errors.csv. Folder
 * and files are made. ERR_IO, ERR_NOMEM. */
enum err errors_write(const struct roofline_fit *fit, const struct errors *e,
                      const char *dir, struct err_msg *msg);

#endif
