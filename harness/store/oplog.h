/*
 * oplog: the operations that moe-train records (--record-ops, format
 * moe-train/ops/1): when each forward and backward of each micro-batch began
 * and ended, seconds from the start of its step. Rows of the first
 * data-parallel replica are kept.
 */
#ifndef STORE_OPLOG_H
#define STORE_OPLOG_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

struct oplog_step {
    int64_t iteration;
    const double *fwd_s, *bwd_s; // [stage * n_mb + mb]; NAN where not recorded
    const double *fwd_start_s, *bwd_start_s; // the same for when they began
    double span_s;                           // end of the last operation
};

struct oplog {
    int n_stages, n_mb, n_steps;
    const struct oplog_step *steps;
};

struct oplog_shape {
    int n_stages, n_mb, dp;
};

/* ERR_PARSE for a file that does not fit the shape. Owned by the arena. */
enum err oplog_read(struct arena *a, const char *path, struct oplog_shape shape,
                    struct oplog *out, struct err_msg *msg);

#endif
