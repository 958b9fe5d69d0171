/*
 * simulate: the form of the command that answers a file of cases, in a file of
 * its own (simulate_batch.c).
 */
#ifndef CMD_SIMULATE_H
#define CMD_SIMULATE_H

#include "base/err.h"
#include "cmd.h"

/* Answers one line of simulate --batch on standard output: steps in every mode
 * that Megatron has for it, chunks in flight and peaks of activations. A line
 * with `layers` and `save` is a case of EP overlap. ERR_PARSE for a line that
 * cannot be read; what Megatron refuses is an answer, not an error. */
enum err simulate_batch_line(struct cmd *c, const char *line,
                             const char *where);

#endif
