/*
 * logparse: reads training logs: iterations, timers, memory, failures. Lines
 * are Megatron-LM's (core 0.13 to 0.20 and older), those of its relatives, and
 * moe-train's. Prefixes of launchers, colours, CR, invalid UTF-8 and cut tails
 * are expected, never an error. One pass; lines of up to 1 MB.
 */
#ifndef LOGPARSE_H
#define LOGPARSE_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_iteration {
    int64_t iteration;
    double step_ms;      // NAN where the line gives none
    double loss;         // NAN where the line gives none
    double reference_ms; // NAN where not measured (moe-train only)
    bool skipped, nan;
    bool usable; // false: warm-up artefact, skipped, NaN, cut
};

/* One timer of one iteration: per rank, or the extremes over ranks. */
struct log_timer {
    int64_t iteration; // 0: of no iteration (start-up, checkpoint)
    const char *name;
    bool per_rank;
    int n_ranks;           // entries of rank_ms
    const double *rank_ms; // NAN where the rank was not listed
    double min_ms, max_ms; // of a minmax block (max block: min is NAN)
};

struct log_memory { // last line of each rank
    int rank;
    int64_t allocated_bytes, max_allocated_bytes;
};

enum log_failure {
    LOG_OK,
    LOG_OOM,
    LOG_HANG,
    LOG_NAN,
    LOG_ASSERT,
    LOG_KILLED,
    LOG_TRUNCATED
};

struct log_argument { // of the arguments dump
    const char *name, *value;
};

struct runlog {
    const char *dialect; // "moe-train", "megatron-core-0.16", ...
    const char *clock;   // moe-train: "wall", "cpu", "flops"; else NULL
    const struct log_iteration *iterations;
    size_t n_iterations;
    const struct log_timer *timers; // in order of the log
    size_t n_timers;
    const struct log_memory *memory;
    size_t n_memory;
    const struct log_argument *arguments;
    size_t n_arguments;
    double p2p_latency_s, p2p_bytes_per_s; // NAN where not stated
    enum log_failure failure;
    int failure_rank; // -1: not stated
};

/* Reads a whole log. ERR_PARSE when the file cannot be read or holds nothing
 * that belongs to a training log. Owned by the arena. */
enum err logparse_read(struct arena *a, const char *path, struct runlog *out,
                       struct err_msg *msg);

/* "oom", "hang", ... as `parse --json` prints them; NULL for LOG_OK. */
const char *log_failure_name(enum log_failure f);

/* Mean over usable iterations of one timer, per rank: fills ms[0..n_ranks)
 * with NAN where a rank is never listed, and se_ms likewise with the standard
 * error of the mean. Returns the number of iterations used. */
size_t runlog_timer_mean(const struct runlog *log, const char *name, double *ms,
                         double *se_ms, int n_ranks);

/* Value of the arguments dump by name ("num_layers"), or NULL. */
const char *runlog_argument(const struct runlog *log, const char *name);

#endif
