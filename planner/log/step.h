/*
 * step: the meaning of one line that tells of an iteration or of an
 * argument, in the dialects of Megatron-LM and its relatives. One line
 * in, plain data out; what belongs together over lines is logscan's matter.
 */
#ifndef LOG_STEP_H
#define LOG_STEP_H

#include "line.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_MAX_MTP = 8 };

struct log_iteration {
    int64_t iteration;
    double step_ms;               // NAN where the line gives none
    double loss;                  // NAN where the line gives none
    double reference_ms;          // NAN where not measured (moe-train only)
    double mtp_loss[LOG_MAX_MTP]; // of MTP depths 1 to n_mtp, NAN: not given
    int n_mtp;
    double tflops;           // TFLOP/s per GPU as printed, NAN
    double tokens_per_s;     // of one GPU as printed, NAN
    double all_tokens_per_s; // of all GPUs as printed, NAN
    int64_t samples, tokens; // consumed up to here, 0: not told
    int64_t global_batch;    // samples, 0: not told
    bool skipped, nan;       // of an interval: some of its iterations
    bool unread;             // a value that decides it is not understood
    bool usable;             // false: warm-up artefact, skipped, NaN, cut
    int section;             // 0-based: which run of the file
    const char *dropped; // why not usable, a constant text; NULL when usable
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
    LOG_SWIFT,
    LOG_NEOX,
    LOG_DEEPSPEED_ENGINE, // lines of DeepSpeed's own pipeline engine
    LOG_MINDFORMERS,
    LOG_JSON // a dict or a JSON object a line
};

/* "megatron-core-0.16", "ms-swift", ... */
const char *log_dialect_name(enum log_dialect d);

struct log_step {
    struct log_iteration it; // without section and warm-up
    int64_t total;           // last iteration of the run, 0: not told
    enum log_dialect dialect;
    bool whole;          // the line has all that its dialect prints
    bool cumulative;     // step_ms is a mean since the start
    bool nan_told;       // the line would have a loss if it were a number
    bool closed;         // no more of it can follow
    int n_known;         // fields that we know
    int n_bad;           // of them, those with values that are not understood
    bool bad_end;        // the last of them ends the line, and may go on
    struct log_text bad; // the first of them, "name: value", or empty
};

/* No iteration: every number that may be missing is. */
void logstep_init(struct log_step *out);

/* Where the first iteration with a number and a total begins in `t`, with its
 * date; NULL when there is none. Two writers may share a line: what belongs to
 * an iteration ends where the next one begins, and the caller cuts it there. */
const char *logstep_find(struct log_text t);
const char *logstep_find_next(struct log_text t); // the second one

/* Takes the next iteration off `rest`. `cut` says that the text ends in the
 * middle of a line: then the last field is not believed. False when there is no
 * more. */
bool logstep_next(struct log_text *rest, bool cut, struct log_step *out);

/* True when `line` ends before it has said which iteration it is of: the rest
 * is on the next line of a log that a terminal has wrapped. */
bool logstep_is_open(struct log_text line);

/* "  num_layers ............ 16" of the arguments dump. */
bool logstep_argument(struct log_text line, struct log_field *out);

#endif
