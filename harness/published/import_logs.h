/*
 * import_logs: the step times that a log of another tool tells: an MLPerf log,
 * or golden values of Megatron-LM's functional tests. Seconds; medians of what
 * is left behind the warm-up. Sized for logs of some hundred MB.
 */
#ifndef PUBLISHED_IMPORT_LOGS_H
#define PUBLISHED_IMPORT_LOGS_H

#include "base/arena.h"
#include "base/err.h"

/* Step times that a log tells; seconds. */
struct import_times {
    double step_s, q25_s, q75_s; // median and quartiles of what is left
    double forward_s;            // median of validation steps, NAN: none
    double global_batch;         // as the log states it, 0: it does not
    int n, n_dropped;
    const char *what; // "logged steps" or "blocks"
};

/* ":::MLLOG {...}" lines, also behind a rank's prefix: train_step_timing or
 * train_step_time of tracked_stats, the first five dropped; where there is
 * none, block_stop less block_start over the steps of the block, the first one
 * dropped. ERR_PARSE when the log has neither. */
enum err import_mllog(struct arena *a, const char *path,
                      struct import_times *out, struct err_msg *msg);

/* {"iteration-time": {"values": {"1": "nan", "5": 3.47}}}, the first fifth of
 * the steps dropped; also the older form with "values" as a list. ERR_PARSE
 * when there is no time. */
enum err import_golden(struct arena *a, const char *path,
                       struct import_times *out, struct err_msg *msg);

/* Median and quartiles of `n` times in their order, the first `n_dropped` left
 * out, into *out; ERR_PARSE for none left. x is sorted. */
enum err import_times_of(double *x, int n, int n_dropped,
                         struct import_times *out, struct err_msg *msg);

#endif
