/*
 * step: the meaning of one line that tells of an iteration, of memory or
 * of an argument, in the dialects of Megatron-LM and its relatives. One line
 * in, plain data out; what belongs together over lines is logscan's matter.
 */
#ifndef LOG_STEP_H
#define LOG_STEP_H

#include "line.h"

#include <stdbool.h>
#include <stdint.h>

struct log_iteration {
    int64_t iteration;
    double step_ms;      // NAN where the line gives none
    double loss;         // NAN where the line gives none
    double reference_ms; // NAN where not measured (moe-train only)
    bool skipped, nan;
    bool usable;         // false: warm-up artefact, skipped, NaN, cut
    int section;         // 0-based: which run of the file
    const char *dropped; // why not usable, a constant text; NULL when usable
};

struct log_memory { // last line of each rank
    int rank;
    int64_t allocated_bytes, max_allocated_bytes;
};

/* Larger rank numbers are taken for damage. */
enum { LOG_MAX_RANKS = 1 << 17 };

struct log_row { // of a timer: one rank's time
    int rank;
    double ms;
};

enum log_dialect {
    LOG_UNKNOWN,
    LOG_MOE_TRAIN,
    LOG_MEGATRON_UNDATED,
    LOG_MEGATRON,
    LOG_CORE_016, // dates with microseconds
    LOG_DEEPSPEED,
    LOG_PRIMUS,
    LOG_BRIDGE,
    LOG_NEMO,
    LOG_SWIFT
};

/* "megatron-core-0.16", "ms-swift", ... */
const char *log_dialect_name(enum log_dialect d);

struct log_step {
    struct log_iteration it; // without section and warm-up
    int64_t total;           // last iteration of the run, 0: not told
    enum log_dialect dialect;
    bool whole;      // the line has all that its dialect prints
    bool cumulative; // step_ms is a mean since the start
};

/* Takes the next iteration off `rest`: several may stand on one line when
 * writers collide. `cut` says that the text ends in the middle of a line:
 * then the last field is not believed. False when there is no more. */
bool logstep_next(struct log_text *rest, bool cut, struct log_step *out);

/* "[Rank 3] (after 2 iterations) memory (MB) | ...": true when `line` has
 * both figures. MB there are MiB; GB are 1e9 bytes. */
bool logstep_memory(struct log_text line, bool cut, struct log_memory *out);

/* "  num_layers ............ 16" of the arguments dump. */
bool logstep_argument(struct log_text line, struct log_field *out);

#endif
