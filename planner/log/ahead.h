/*
 * ahead: a log in pieces of whole lines. Of a file from some MB on, a
 * second thread reads the pieces, and the rows of ranks in them, which are
 * most of such a log: the reader of the log then only places what was read.
 */
#ifndef LOG_AHEAD_H
#define LOG_AHEAD_H

#include "block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A piece of the log: `len` bytes that end with a newline unless it is the
 * last one, or so long without any that it was cut; zeros follow. */
struct log_piece {
    char *buf;
    size_t len;
    bool cut; // no newline within the longest line allowed
    bool last;
    long long bytes; // read so far, with it
    bool is_file;    // which has an end
    int error;       // errno of a read that failed, then it is the last one
    struct log_runs runs;
};

struct log_piece_sizes {
    size_t read_bytes;   // of one piece, about
    size_t max_line;     // longer lines are cut there
    size_t thread_bytes; // files from this size on are read by a thread; 0: all
                         // input is, SIZE_MAX: none is
};

struct logahead;

/* Starts reading; NULL when out of memory. The file is not to be touched until
 * logahead_stop(). Where a thread cannot be had the caller's reads. */
struct logahead *logahead_start(FILE *f, const struct log_piece_sizes *sizes);

/* The next piece; the one before is given back with this call. After a piece
 * with `last` there is none. */
struct log_piece *logahead_next(struct logahead *a);

/* Ends the thread, also in the middle of the file. NULL is legal. */
void logahead_stop(struct logahead *a);

#endif
