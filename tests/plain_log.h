/*
 * plain_log: a slow reader of training logs, the oracle for planner/log in the
 * tests and under the fuzzer. It holds the whole text, looks at one line after
 * the other, reads every number with strtod() and decides what counts at the
 * end. It shares with the product what tells the meaning of one line (logline,
 * logstep, logfail), and none of what makes the product fast: pieces, a second
 * thread, rows taken by words of eight bytes, names expected in order.
 */
#ifndef PLAIN_LOG_H
#define PLAIN_LOG_H

#include "base/arena.h"
#include "base/err.h"
#include "log/facts.h"

/* Reads `len` bytes with lines cut at `max_line` bytes, as logparse_read() does
 * at 1 MB. ERR_PARSE when nothing is of a training log, ERR_NOMEM. */
enum err plain_log_read(struct arena *a, const char *data, size_t len,
                        size_t max_line, struct runlog *out);

/* NULL when both say the same to the last bit, else what they differ in. */
const char *plain_log_difference(const struct runlog *x,
                                 const struct runlog *y);

#endif
