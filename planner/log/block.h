/*
 * block: one block of timers while it is read: `times across ranks (ms):`
 * with its rows, the (min, max) and max blocks, and the old single line. At
 * most 128 timers and 2^18 rows; more are left out.
 */
#ifndef LOG_BLOCK_H
#define LOG_BLOCK_H

#include "prefix.h"
#include "step.h"

enum log_block_form { BLOCK_NONE, BLOCK_ALL, BLOCK_MINMAX, BLOCK_MAX };

enum {
    BLOCK_MAX_TIMERS = 128,
    BLOCK_MAX_ROWS = 1 << 18,
    BLOCK_NAME = 64,
    BLOCK_LINE = 128
};

struct log_block_timer {
    char name[BLOCK_NAME];
    char line[BLOCK_LINE]; // its whole line, n_line bytes: the next block is
    size_t n_line;         // likely to have it again; 0: not kept
    size_t first_row, n_rows;
    double min_ms, max_ms;
};

/* Rows of ranks that another thread read before their block is known: they
 * start and end at line borders, and each starts with the same n_head bytes. */
struct log_run {
    const char *start, *end;
    size_t first_row, n_rows;
    size_t n_head;
};

struct log_runs {
    struct log_run *run; // heap
    size_t n, cap, next; // runs before `next` are behind
    const struct log_row *rows;
};

struct log_block {
    struct log_runs *ahead;   // of the text being taken, or NULL
    enum log_block_form form; // BLOCK_NONE: no block is open
    uint64_t stream;          // of the writer
    bool followed;            // another line came after the last row
    bool has_timer;           // rows belong to timers[n_timers - 1]
    struct log_block_timer timers[BLOCK_MAX_TIMERS];
    size_t n_timers;
    struct log_row *rows; // heap
    size_t n_rows, cap_rows;
    size_t n_lines; // rows of any form
    char head[64];  // bytes that rows start with, of length n_head
    size_t n_head;
    uint64_t head_first, head_last; // its first and last eight bytes
    bool has_head;
    bool out_of_memory;
};

void logblock_clear(struct log_block *b);

/* Form of the header in `body`, BLOCK_NONE when there is none. */
enum log_block_form logblock_header(struct log_text body);

/* Opens an empty block; rows are kept for reuse. */
void logblock_open(struct log_block *b, enum log_block_form form,
                   uint64_t stream);

/* Takes a name or a row of the open block; false when the line is neither. */
bool logblock_take(struct log_block *b, struct log_text line,
                   struct log_text body, const struct log_prefix *prefix);

/* True when `body` begins a row of the open block and the rest of it must be on
 * the next line: a terminal has wrapped it. */
bool logblock_is_open_row(const struct log_block *b, struct log_text body);

/* Takes "time (ms) | name: 1.2 | ..." into an opened block. */
void logblock_take_single_line(struct log_block *b, struct log_text body);

/* Takes whole lines of names and rows of ranks from [p, end) as long as they
 * follow one another, the bulk of a log, and returns where it stopped. The
 * bytes from `end` on must be zero for at least LOGBLOCK_SLACK bytes. */
enum { LOGBLOCK_SLACK = 80 };
const char *logblock_take_rows(struct log_block *b, const char *p,
                               const char *end);

/* Reads the rows of ranks in whole lines [p, end) (slack as above) into `out`
 * with nothing but `b` to know their form; `b` holds the rows and what rows
 * look like from call to call, and must outlive `out`. */
void logblock_look_ahead(struct log_block *b, const char *p, const char *end,
                         struct log_runs *out);
void logblock_runs_clear(struct log_runs *r);

/* True when it holds the timers of a training step. */
bool logblock_is_of_step(const struct log_block *b);

#endif
