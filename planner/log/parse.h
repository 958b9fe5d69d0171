/*
 * parse: reads training logs: iterations, timers, memory, failures. Lines
 * are Megatron-LM's (core 0.13 to 0.20 and older), those of its relatives, and
 * moe-train's. Prefixes of launchers, colours, CR, invalid UTF-8 and cut tails
 * are expected, never an error. One pass; lines of up to 1 MB.
 *
 * Two ways: logparse_read() keeps everything, logmeans averages timers in
 * constant memory. Both stand on logscan, which tells what a section is.
 * Where a file holds several runs, means are of the last section that has a
 * usable iteration; all sections are kept, told apart by `section`.
 */
#ifndef LOG_PARSE_H
#define LOG_PARSE_H

#include "base/arena.h"
#include "base/err.h"
#include "facts.h"

#include <stddef.h>

/* Reads a whole log. ERR_PARSE when the file cannot be read or holds nothing
 * that belongs to a training log; ERR_RANGE when its timers would take more
 * than 1 GB (logmeans reads such logs). Owned by the arena. */
enum err logparse_read(struct arena *a, const char *path, struct runlog *out,
                       struct err_msg *msg);

/* The same of `len` bytes in memory. */
enum err logparse_read_memory(struct arena *a, const void *data, size_t len,
                              struct runlog *out, struct err_msg *msg);

/* The iterations that count, one after the other: those that are usable, have
 * a step time and are of the section that counts (log->used_section). Start
 * with *at = 0; NULL at the end. Whoever averages steps takes them from here,
 * so that an earlier run in the same file is never mixed in. */
const struct log_iteration *runlog_next_used(const struct runlog *log,
                                             size_t *at);

/* The usable iteration of that number in the section that counts, or NULL.
 * Numbers start anew in each section, so the number alone tells nothing. */
const struct log_iteration *runlog_find_used(const struct runlog *log,
                                             int64_t iteration);

/* The blocks of one timer that belong to usable iterations of that section,
 * of any form, in order of the log. Start with *at = 0; NULL at the end. */
const struct log_timer *runlog_next_timer(const struct runlog *log,
                                          const char *name, size_t *at);

/* The same of any input, in pieces of the sizes that it states. */
enum err logparse_read_input(struct arena *a, const struct log_input *in,
                             struct runlog *out, struct err_msg *msg);

/* Mean over usable iterations of one timer, per rank: fills ms[0..n_ranks)
 * with NAN where a rank is never listed, and se_ms likewise with the standard
 * error of the mean. Returns the number of iterations used. */
size_t runlog_timer_mean(const struct runlog *log, const char *name, double *ms,
                         double *se_ms, int n_ranks);

/* Value of the arguments dump by name ("num_layers"), or NULL. */
const char *runlog_argument(const struct runlog *log, const char *name);

#endif
