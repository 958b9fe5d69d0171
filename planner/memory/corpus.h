/*
 * corpus: predictions against a folder of measured cases (DIR/cases/
 * *.json: flags, derived sizes, and for every platform the allocated and the
 * largest allocated bytes of a rank of the last stage). Errors, the fit of the
 * constants that no source gives, and how they carry over from one family of
 * cases to another. Sized for some thousand rows.
 */
#ifndef MEMORY_CORPUS_H
#define MEMORY_CORPUS_H

#include "base/arena.h"
#include "base/err.h"
#include "workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* One (case, platform). Errors are relative: predicted / measured - 1. */
struct corpus_row {
    const char *name, *platform, *family;
    bool moe, muon;
    bool primary;       // a current image: dev_dgx_a100, _h100 or _gb200
    const char *reason; // why not supported; NULL: supported
    int64_t pred_allocated_bytes, meas_allocated_bytes;
    int64_t pred_peak_bytes, meas_peak_bytes; // meas_peak_bytes 0: not stated
};

struct corpus {
    struct corpus_row *rows; // by case, then as in the file
    size_t n_rows;
    int n_cases[2], n_supported[2]; // dense, MoE
};

/* Owned by the arena. ERR_PARSE names the file that is wrong or a folder
 * without cases. */
enum err corpus_read(struct arena *a, const char *dir, struct corpus *out,
                     struct err_msg *msg);

double corpus_allocated_error(const struct corpus_row *r);
double corpus_peak_error(const struct corpus_row *r);

/* What rows a figure is about; a family is compared when it is not NULL. */
struct corpus_filter {
    bool moe, dense, primary_only, peak;
    const char *family;
};

/* Median and 90th percentile (linear between ranks) of the absolute errors of
 * the supported rows that pass, of peaks or of allocated bytes. */
struct corpus_errors {
    int n;
    double median, p90;
};
enum err corpus_errors(struct arena *a, const struct corpus *c,
                       const struct corpus_filter *f, struct corpus_errors *out,
                       struct err_msg *msg);

/* The fitted constants from the supported primary rows outside `without`
 * (NULL: from all): medians of what the other terms leave, with how many cases
 * are behind each. One without any is 0. */
struct corpus_fit {
    struct memory_constants constants;
    int n_small_cases, n_muon_cases;
};
enum err corpus_fit(struct arena *a, const struct corpus *c,
                    const char *without, struct corpus_fit *out,
                    struct err_msg *msg);

/* The row's allocated error as it would be with other constants. */
double corpus_error_with(const struct corpus_row *r,
                         const struct memory_constants *k);

/* Quantile `q` over the supported primary rows of how much more than predicted
 * a peak was, relative to the prediction (0 where it was less). */
enum err corpus_underestimate(struct arena *a, const struct corpus *c, double q,
                              double *out, struct err_msg *msg);

#endif
