/*
 * plain_lines: what one line tells the slow reader of training logs. plain_log
 * cuts the text into lines, gives them in order, and judges at the end.
 */
#ifndef PLAIN_LINES_H
#define PLAIN_LINES_H

#include "base/arena.h"
#include "log/block.h"
#include "log/facts.h"
#include "log/runlog.h"
#include "log/told.h"
#include "log/wrap.h"

enum { PLAIN_QUOTE = 160 }; // bytes of a line in a note, as in state.c

/* A timer of the open block; its rows, one a rank, are on the heap. */
struct plain_timer {
    char name[BLOCK_NAME];
    struct log_list rows; // struct log_row
    double min_ms, max_ms;
};

/* The open block, as wide as the product keeps one. */
struct plain_block {
    enum log_block_form form; // none: no block is open
    uint64_t stream;
    bool followed, named; // a line came behind it; rows have a timer
    struct plain_timer timer[BLOCK_MAX_TIMERS];
    size_t n_timers, n_rows, n_lines;
};

/* An iteration line, and what decides later whether it is usable. */
struct plain_iteration {
    struct log_step step;
    char bad[PLAIN_QUOTE];
    int nth;      // of its section, from 1
    bool nth_set; // it was read before, of fewer pieces
    bool cut;     // the file ends in it or in its block
    bool closed;  // it has its block
    int dump;     // the dump before it, from 1; 0: none
};

/* Of every dump and section; which counts is told at the end. */
struct plain_argument {
    struct log_argument arg;
    int dump;
};
struct plain_rank_memory {
    struct log_memory memory;
    int section;
};

/* All that was read so far. The lists are on the heap and freed by who made
 * this; what their items point to is in `arena`. `section` is -1 before the
 * first iteration; a section is a run in the file, and there may be several. */
struct plain {
    struct arena *arena;
    size_t max_line;
    struct log_list iterations, timers, memory, arguments;
    struct log_told told;
    struct log_wrap wrap;
    struct log_step pending; // Bridge's line of a step
    int64_t n_step_times;
    bool has_pending, numbered, has_memory;
    const char *unread_name;
    char unread_line[PLAIN_QUOTE], step_line[PLAIN_QUOTE];
    struct plain_block block;
    size_t last_block_lines;
    struct logfail fail;
    enum log_dialect dialect;
    int64_t total;
    int section, n_logged, memory_section, dump;
    size_t n_arguments; // of this dump
    bool seen_loss, seen_time, ended, tail_cut;
    bool is_bridge, has_timers;
};

/* A new item of the list; aborts without memory, as only tests may. */
void *plain_lines_add(struct log_list *l, size_t size);

/* The iteration that was read last, NULL before the first. */
struct plain_iteration *plain_lines_current(struct plain *p);

/* At the end of the text: Bridge's last line, a row that did not go on. */
void plain_lines_flush(struct plain *p);

/* Adds to `p` all that a line, or a part of it between CRs, tells. `line` is
 * without colours and line end; `cut` when its end is missing. */
void plain_lines_take(struct plain *p, struct log_text line, bool cut);

#endif
