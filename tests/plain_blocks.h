/*
 * plain_blocks: the blocks of timers of the slow reader of training logs: which
 * lines are rows of the open one, also where several writers share a line or a
 * row is wrapped, and what is kept of it when it ends.
 */
#ifndef PLAIN_BLOCKS_H
#define PLAIN_BLOCKS_H

#include "plain_lines.h"

/* Begins a block of `form`; the one before it is closed. */
void plain_blocks_open(struct plain *p, enum log_block_form form,
                       uint64_t stream);

/* Takes rows that stand behind a header, and the timers of a block that is one
 * line; false where there is none. */
bool plain_blocks_rows(struct plain_block *b, struct log_text t);
void plain_blocks_single_line(struct plain_block *b, struct log_text body);

/* Is the line (or a piece of a wrapped one) of the open block, and of nothing
 * else? `cut` when its end is missing. */
bool plain_blocks_take(struct plain *p, struct log_text body, uint64_t stream,
                       bool cut);

/* A wrapped row that did not go on is a row as it stands. */
void plain_blocks_flush_row(struct plain *p);

/* Ends the open block, if any, and keeps its timers in `p->timers`; `at_end`
 * of the file a block that nothing followed counts as cut and is not kept. */
void plain_blocks_close(struct plain *p, bool at_end);

#endif
