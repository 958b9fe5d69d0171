/*
 * row: one row of a timer block as text: a name, the time of one rank, or the
 * least and the most over ranks; the old single line is a row of such.
 * Times are ms.
 */
#ifndef LOG_ROW_H
#define LOG_ROW_H

#include "line.h"

#include <stdbool.h>

enum log_rowkind {
    LOGROW_NAME,    // "  forward-compute:", the rows of ranks follow
    LOGROW_RANK,    // "     rank  0: 101.10"
    LOGROW_EXTREMES // "    forward-compute ......: (1.00, 2.00)"
};

struct log_rowtext {
    enum log_rowkind kind;
    bool sound; // its value was read to the end
    struct log_text name;
    int rank;
    double min_ms, max_ms; // of a rank and of a max block: min is NAN
};

/* Takes a row off `t`, which is trimmed; `per_rank` of a block that has rows of
 * ranks. False when it is none. After a row without a sound value `t` is empty;
 * else it is, or holds the next row of a log that lost its newlines. */
bool logrow_take(struct log_text *t, bool per_rank, struct log_rowtext *out);

/* True when `body` begins a row of extremes and its rest must be on the next
 * line, since a terminal has wrapped it. */
bool logrow_is_open(struct log_text body);

/* Takes the next "name: 1.2 |" of "time (ms) | name: 1.2 | ..." off `rest`. */
bool logrow_next_of_line(struct log_text *rest, struct log_rowtext *out);

#endif
