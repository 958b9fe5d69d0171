/*
 * logscan: one pass over a training log in constant memory. What it finds is
 * handed to a sink; logparse keeps it, averages it or prints it. A log of
 * 1 GB is read within 16 MB of memory.
 *
 * Order of the events of one iteration: iteration, then its timers. Both come
 * when the next line has shown that the timer block is whole. A block belongs
 * to an iteration when it holds forward-backward or forward-compute, follows
 * its line and is the first that does; others have iteration 0.
 *
 * A file may hold several runs: a section starts where the iteration counter
 * does not go up, and at the first iteration after a new arguments dump or a
 * new banner of moe-train. Warm-up counts anew in each section.
 */
#ifndef LOG_SCAN_H
#define LOG_SCAN_H

#include "base/err.h"
#include "fail.h"
#include "step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One timer of a block; everything in it dies with the call. */
struct log_timer_event {
    int64_t iteration; // 0: of no iteration
    int section;
    bool usable; // of its iteration
    const char *name;
    bool per_rank;
    const struct log_row *rows; // as listed, when per_rank
    size_t n_rows;
    double min_ms, max_ms; // otherwise; min NAN for a max block
};

/* Each may be NULL. */
struct log_sink {
    void *data;
    void (*iteration)(void *data, const struct log_iteration *it);
    void (*timer)(void *data, const struct log_timer_event *t);
    void (*memory)(void *data, int section, const struct log_memory *m);
    /* A new arguments dump starts: what came before is of an older run. */
    void (*arguments)(void *data);
    void (*argument)(void *data, const struct log_field *f);
};

struct log_summary {
    enum log_dialect dialect;
    char clock[16];                        // of moe-train, else ""
    double p2p_latency_s, p2p_bytes_per_s; // NAN where not stated
    enum log_failure failure;
    int failure_rank; // -1: not stated
    int n_sections;
    int64_t n_iterations; // logged in all sections
    int64_t total;        // iterations that the last run was to make, 0
    bool has_timers;      // any timer block, also one of no iteration
    bool ended;           // the program said so
};

/* Scans an open file, or `len` bytes. ERR_PARSE when it cannot be read or
 * holds nothing of a training log; `where` begins messages. */
enum err logscan_file(FILE *f, const char *where, const struct log_sink *sink,
                      struct log_summary *out, struct err_msg *msg);
enum err logscan_memory(const void *data, size_t len,
                        const struct log_sink *sink, struct log_summary *out,
                        struct err_msg *msg);

#endif
