/*
 * input: opens what a user named, for reading or writing, without ever waiting
 * for ever. Files, pipes, terminals and devices are all taken; what differs is
 * how long silence is borne:
 *
 * - what the process was given (/dev/stdin, /dev/stdout, /dev/fd/N, terminals)
 *   may be silent as long as it likes: a program at the other end is at work,
 * - a named pipe or a device must show a byte (take one) every INPUT_WAIT_S
 *   seconds: a pipe that nobody writes to would hang a reader until it is
 *   killed.
 *
 * Designed for files of bytes to gigabytes, read in blocks of some KB.
 *
 * Logs are often kept packed: readers of them see the text of a gzip file.
 */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum { INPUT_WAIT_S = 5 };

/* An open file; callers close `fd` with input_close(). */
struct input {
    int fd;
    const char *path; // the caller's
    long long bytes;  // of a plain file when it was opened, else -1
    bool is_pipe;
    bool is_patient; // silence is borne
    bool has_begun;  // a byte came
};

/* Opens for reading. ERR_PARSE: the user named a wrong file. */
enum err input_open(const char *path, struct input *out, struct err_msg *msg);

/* Up to n bytes; 0 at the end, -1 on an error: input_why() tells it. */
ssize_t input_read(struct input *in, void *data, size_t n);

/* A plain file that gzip packed is from here on read as what it holds, of which
 * a temporary copy is made (at most 1 GB); others stay as they are. ERR_PARSE
 * of one that is cut or damaged, ERR_IO without room for the copy: `in` stays
 * open. */
enum err input_unpack(struct input *in, struct err_msg *msg);

/* Opens for writing in place what is no plain file, or makes it. ERR_IO, also
 * of a named pipe that nobody reads. */
enum err input_open_output(const char *path, struct input *out,
                           struct err_msg *msg);

/* Writes all n bytes; false on an error. */
bool input_write(struct input *to, const void *data, size_t n);

/* Why the last call failed: text for a message, from errno. */
const char *input_why(void);

/* False when a file that was written could not be closed. */
bool input_close(struct input *in);

/* A stream for readers of logs, unpacked, once its first byte is there; the
 * caller closes it. A named pipe that falls silent later is an error of the
 * stream (ETIMEDOUT, input_why()). NULL with ERR_PARSE in `msg` for what cannot
 * be opened or unpacked, stays silent, or is a device without an end: a log has
 * one. */
FILE *input_stream(const char *path, struct err_msg *msg);

/* Makes *f a stream that can be read again: a pipe, of at most 1 GB, is copied
 * to a temporary file. ERR_PARSE or ERR_IO: *f is closed. */
enum err input_seekable(FILE **f, const char *path, struct err_msg *msg);

#endif
