/*
 * scan: one pass over a training log in constant memory: the text is cut
 * into lines, and logstate makes events of them for a sink; logparse keeps
 * them, logmeans averages them, `moe-bench parse` prints them. A log of 1 GB is
 * read within 16 MB of memory.
 */
#ifndef LOG_SCAN_H
#define LOG_SCAN_H

#include "ahead.h"
#include "base/err.h"
#include "state.h"

#include <stddef.h>
#include <stdio.h>

/* What to read: an open file or, where `file` is NULL, `len` bytes. */
struct log_input {
    FILE *file;
    const void *data;
    size_t len;
    const char *where;                   // begins messages
    const struct log_piece_sizes *sizes; // NULL: the usual ones; for tests
};

/* Reads all of `in` and hands what it finds to the sink. ERR_PARSE when it
 * cannot be read or holds nothing of a training log, ERR_NOMEM. The events come
 * in the caller's thread, also where a second one reads ahead. */
enum err logscan(const struct log_input *in, const struct log_sink *sink,
                 struct log_summary *out, struct err_msg *msg);

#endif
