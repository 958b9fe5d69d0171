/*
 * lines: output that comes in pieces of any size, handed on line by line:
 * how a run's progress is read from a pipe (supervise) or a growing log (job).
 */
#ifndef LAUNCH_LINES_H
#define LAUNCH_LINES_H

#include <stddef.h>

/* Log lines of trainers are some hundred bytes; of a longer line only the
 * beginning is handed on. */
enum { LINES_BYTES = 8192 };

struct lines {
    /* Called for each line, without its newline; may be NULL. */
    void (*on_line)(void *data, const char *line);
    void *data;
    char line[LINES_BYTES]; // the one that has not ended yet
    size_t len;
};

/* The next `n` bytes. */
void lines_feed(struct lines *l, const char *data, size_t n);

/* No more comes: hands on a last line that has no newline, as a program that
 * dies may leave one. */
void lines_end(struct lines *l);

#endif
