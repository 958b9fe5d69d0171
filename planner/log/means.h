/*
 * means: means of timers over the usable iterations of a log, in one pass
 * and constant memory, for logs of any size. Of a file with several runs, the
 * last one that has a usable iteration counts. At most 256 timers and 2^17
 * ranks; more are left out.
 */
#ifndef LOG_MEANS_H
#define LOG_MEANS_H

#include "base/arena.h"
#include "base/err.h"
#include "facts.h"

#include <stddef.h>

struct log_mean {
    const char *name;
    size_t n_iterations; // used
    int n_ranks;         // entries of ms and se_ms
    const double *ms;    // as runlog_timer_mean() gives them
    const double *se_ms;
};

/* A runlog without iterations and timers, and the mean of every timer that
 * ranks are listed for, in order of the log. */
struct logmeans {
    struct runlog log;
    const struct log_mean *means;
    size_t n_means;
};

/* Reads a log of any size; errors as logparse_read(). Owned by the arena. */
enum err logmeans_read(struct arena *a, const char *path, struct logmeans *out,
                       struct err_msg *msg);

/* The same of any input; `sink` (may be NULL) is told of everything, too. For
 * callers that want more than means of one pass. */
enum err logmeans_read_input(struct arena *a, const struct log_input *in,
                             const struct log_sink *sink, struct logmeans *out,
                             struct err_msg *msg);

/* Mean of that name, or NULL. */
const struct log_mean *logmeans_find(const struct logmeans *m,
                                     const char *name);

#endif
