/*
 * throughput: what a training log tells beside the times of its steps: TFLOP/s
 * and tokens per second as printed, TFLOP/s from a FLOP count of our own where
 * the log has a dump of arguments, losses of MTP depths, samples and tokens.
 * Means are over the usable iterations of the run that counts, or over all that
 * are logged where none is usable.
 */
#ifndef CMD_THROUGHPUT_H
#define CMD_THROUGHPUT_H

#include "base/arena.h"
#include "log/facts.h"

#include <stdbool.h>
#include <stdint.h>

struct throughput {
    struct log_running step_ms, tflops, tokens_per_s, all_tokens_per_s;
    struct log_iteration last; // that had a step time
    bool any, usable;
};

/* Notes one iteration, in order of the log. */
void throughput_add(struct throughput *t, const struct log_iteration *it);

/* What the log's arguments add. */
struct throughput_model {
    double tflops;      // per GPU, of our own count; NAN where not known
    int64_t seq_tokens; // of a sample, 0: not known
    const char *why;    // a log with a dump has no tflops, or NULL
};

/* Three times the forward FLOPs of the model that `log` dumps (Megatron's
 * convention: no recomputation; causal attention counted half), of one global
 * batch, by the mean step and the world size. A dump that makes no model is no
 * error. `where` begins the reason; the arena owns it. */
void throughput_of_model(struct arena *a, const struct throughput *t,
                         const struct runlog *log,
                         struct throughput_model *out);

/* Prints lines of a summary: only what the log tells. */
void throughput_show(const struct throughput *t,
                     const struct throughput_model *m);

/* Tokens consumed so far, as told or from samples and the sequence length; 0
 * where neither is known. */
int64_t throughput_tokens(const struct log_iteration *it, int64_t seq_tokens);

#endif
