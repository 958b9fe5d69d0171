/*
 * roofline_fit: the constants of cost/roofline from public step times, and how
 * far the steps that they give are from those measured. Each row is one
 * configuration with its own model, layout and card; it is simulated in the
 * order that Megatron would run, with the reduction of gradients as traffic
 * that leaves a node.
 *
 * A step is the sum over a critical path of times that are linear in the
 * constants but where a product turns from FLOPs to bytes, so the fit is
 * repeated non-negative least squares on relative errors, about the constants
 * found before. Only rows marked `fit` have a say: others may change without
 * moving a bit. Sized for some hundred rows of up to 10^5 operations.
 */
#ifndef CALIBRATE_ROOFLINE_FIT_H
#define CALIBRATE_ROOFLINE_FIT_H

#include "base/arena.h"
#include "base/err.h"
#include "cost/roofline.h"
#include "layout/layout.h"
#include "model/model.h"

#include <stdbool.h>

/* A measured configuration. Times are seconds; NAN where not measured. */
struct roofline_row {
    const char *id, *source, *config; // rows of one config count once together
    struct model model;               // with split, batch and flags
    struct layout layout;
    const struct card *card;
    double meas_step_s,
        meas_forward_s; // a step; a forward of all micro-batches
    bool fit;           // may feed the constants
};

struct roofline_rows {
    struct roofline_row *row;
    int n;
};

struct roofline_fit {
    struct roofline constants;
    double se[N_ROOFLINE];     // standard errors; 0 at the least value
    bool told[N_ROOFLINE];     // the rows tell it apart from the others
    bool at_least[N_ROOFLINE]; // it ended at the least value that is possible
    int n_rows, n_configs;
};

/* What rows take by some constants. Owned by the arena; NULL in *out never. */
struct roofline_bench;
enum err roofline_bench_new(struct arena *a, const struct roofline_rows *rows,
                            struct roofline_bench **out, struct err_msg *msg);

/* The rows that it was made of. */
const struct roofline_rows *roofline_bench_rows(const struct roofline_bench *b);

/* Step of row i, and the forward of its micro-batches alone, seconds. */
enum err roofline_step(struct roofline_bench *b, int i,
                       const struct roofline *r, double *step_s,
                       struct err_msg *msg);
enum err roofline_forward(struct roofline_bench *b, int i,
                          const struct roofline *r, double *forward_s,
                          struct err_msg *msg);

/* ERR_MODEL when there are fewer configurations to fit than constants. */
enum err roofline_fit(struct arena *a, struct roofline_bench *b,
                      struct roofline_fit *out, struct err_msg *msg);

#endif
