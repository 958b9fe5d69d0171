/*
 * wrap: a line that a terminal, a pager or a text editor has broken, put
 * together again: its pieces are joined without anything between them, since
 * breaks are within words and numbers too and names are compared without their
 * blanks. At most 8 KB and 64 pieces.
 */
#ifndef LOG_WRAP_H
#define LOG_WRAP_H

#include "line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a line that is joined of several; Megatron's longest, with all
 * losses of eight MTP layers, have some 1200. */
enum { LOG_MAX_WRAP = 8192 };

enum log_wrap_kind {
    WRAP_NONE,   // nothing is open
    WRAP_OPEN,   // it breaks before it says which iteration it is of
    WRAP_STEP,   // an iteration's
    WRAP_MEMORY, // a rank's memory
    WRAP_ROW     // a row of a timer block
};

struct log_wrap {
    enum log_wrap_kind kind;
    bool number;     // the last piece is nothing but the rest of a number
    size_t n_sure;   // bytes that were found to be of the line
    bool fresh;      // started; for the caller to take back
    uint64_t stream; // of its writer
    size_t n, n_pieces;
    char text[LOG_MAX_WRAP];
};

/* Starts with the first piece; a longer one than there is room for is none. */
void logwrap_start(struct log_wrap *w, enum log_wrap_kind kind,
                   struct log_text body, uint64_t stream);

/* Adds the next piece; false when nothing is open, when it is another writer's
 * (a piece without any prefix is anybody's), or when there is no more room:
 * then nothing is open any more. */
bool logwrap_add(struct log_wrap *w, struct log_text body, uint64_t stream);

/* Notes that all pieces so far are of the line. */
void logwrap_accept(struct log_wrap *w);

/* Drops what is before `at` in the text: the next line has started there. */
void logwrap_restart(struct log_wrap *w, const char *at);

/* All pieces as one line. */
struct log_text logwrap_text(const struct log_wrap *w);

#endif
