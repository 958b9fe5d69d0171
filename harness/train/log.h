/*
 * train_log: what moe-train prints and records. All ranks call it; the last
 * one gathers and prints, in Megatron's shapes (see runlog). Gathering happens
 * outside the step time.
 */
#ifndef TRAIN_LOG_H
#define TRAIN_LOG_H

#include "base/arena.h"
#include "base/err.h"
#include "comm.h"
#include "optim.h"
#include "pipeline.h"
#include "shard.h"

#include <stdint.h>
#include <stdio.h>

struct train_log {
    const struct comm *comm;
    const struct shard *shard;
    const struct pipeline *pipeline;
    const struct optim *optim;
    FILE *out;         // last rank only
    FILE *ops, *norms; // CSV files, last rank only, or NULL
    bool record;       // operations are recorded
    int timing_level;  // 1, 2: a block of timers after each line
    double *mine;      // one rank's values
    double *all;       // of all ranks
    int64_t n_iterations, global_batch;
    double learning_rate;
    int n_routers; // layers with experts, MTP included
};

/* One step as it ended on this rank. */
struct train_step {
    int64_t iteration;
    double step_s, forward_backward_s;
    double reference_ms;
    struct optim_result optim;
};

/* Files to be written, NULL: not wanted. */
struct train_log_files {
    const char *ops;   // of operations
    const char *norms; // of each tensor's gradient, before it is clipped; a
                       // tensor without a gradient has no row
};

/* Takes buffers and opens the files on the rank that writes them. ERR_NOMEM;
 * ERR_IO when one cannot be written. Each rank may fail alone: nothing is
 * exchanged here, and the caller asks the others. */
enum err train_log_new(struct arena *a, struct train_log *log,
                       const struct train_log_files *files,
                       struct err_msg *msg);
/* ERR_IO when a file could not be written whole, on the rank that wrote. */
enum err train_log_close(struct train_log *log, struct err_msg *msg);

/* Losses, iteration line, memory (after the first two), timers and recorded
 * operations of one step. Collective. When they cannot be written the job is
 * ended with one line and exit code 3. */
void train_log_step(struct train_log *log, const struct train_step *step);

#endif
