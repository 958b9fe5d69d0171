/*
 * log_files: what tests of the reader of training logs share: the files of a
 * folder in the order of their names, and an iteration or a timer of a log that
 * was read.
 */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include "base/arena.h"
#include "log/runlog.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_FILES_MAX = 256 };

struct names {
    char *name[LOG_FILES_MAX];
    size_t n;
};

static inline int by_name(const void *x, const void *y)
{
    char *const *a = x;
    char *const *b = y;
    return strcmp(*a, *b);
}

/* Files of `dir` that end in `tail`, without it, sorted. */
static inline void list_files(struct arena *a, const char *dir,
                              const char *tail, struct names *out)
{
    out->n = 0;
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) && out->n < LOG_FILES_MAX;) {
        size_t len = strlen(e->d_name), t = strlen(tail);
        if (len > t && strcmp(e->d_name + len - t, tail) == 0)
            out->name[out->n++] = arena_strndup(a, e->d_name, len - t);
    }
    closedir(d);
    qsort(out->name, out->n, sizeof *out->name, by_name);
}

static inline const struct log_iteration *
find_iteration(const struct runlog *log, int64_t n)
{
    for (size_t i = 0; i < log->n_iterations; i++) {
        if (log->iterations[i].iteration == n)
            return &log->iterations[i];
    }
    return NULL;
}

static inline const struct log_timer *find_timer(const struct runlog *log,
                                                 int64_t n, const char *name)
{
    for (size_t i = 0; i < log->n_timers; i++) {
        const struct log_timer *t = &log->timers[i];
        if (t->iteration == n && strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

#endif
