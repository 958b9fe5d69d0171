/*
 * hold: what is known of a log and not yet told: the iteration whose timer
 * block may still come, the block that may not be whole, Bridge's line of a
 * step whose number may follow; and where one run ends and the next begins.
 * logstate finds what lines tell and gives it here; the sink hears of it when
 * it is settled. Internal to logstate.
 */
#ifndef LOG_HOLD_H
#define LOG_HOLD_H

#include "block.h"
#include "fail.h"
#include "state.h"
#include "step.h"
#include "told.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_QUOTE = 160 }; // bytes of a line that a message quotes

struct loghold {
    const struct log_sink *sink;
    struct log_summary sum;
    struct logfail fail;
    struct log_told told;
    struct log_block block;
    size_t last_block_lines; // rows of the last block of a step

    struct log_step held;     // the iteration whose block may still come
    char held_bad[LOG_QUOTE]; // of it: what is not understood, or ""
    bool has_held, emitted, has_block, cut;
    int section;  // -1 before the first iteration
    int n_logged; // iterations of this section
    bool seen_loss, seen_time, is_bridge, has_memory;

    struct log_step pending;    // Bridge's line, whose iteration may still come
    bool has_pending, numbered; // some line had an iteration's number
    int64_t n_step_times;

    bool tail_cut; // the file ends within a line that matters
};

/* Of zeroed storage; `sink` must outlive it. The block is the caller's to
 * clear. */
void loghold_init(struct loghold *s, const struct log_sink *sink);

/* A line as printable text of at most LOG_QUOTE - 1 bytes. */
void loghold_quote(char *out, struct log_text line);

/* Tells the sink of something that is not understood. */
void loghold_note(struct loghold *s, const char *text);

/* An iteration that a line has the number of; the one before it is settled.
 * `cut` as for logstep_next(). */
void loghold_numbered(struct loghold *s, struct log_step *step, bool cut);

/* Bridge's line of a step; the one before it, if it is still without a number,
 * is given the next one. loghold_flush() does that alone. */
void loghold_step_time(struct loghold *s, const struct log_step *step);
void loghold_flush(struct loghold *s);

/* More pieces of its line were read: the iteration that is held, anew. */
void loghold_replace(struct loghold *s, const struct log_step *step, bool cut);

/* Settles the block that is open, if any; `at_end` of the log a block that
 * nothing followed may lack rows. */
void loghold_close_block(struct loghold *s, bool at_end);

/* Settles everything and judges how the run ended. */
void loghold_end(struct loghold *s);

#endif
