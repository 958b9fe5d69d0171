/*
 * replay: what was recorded, as a script of the launches alone, which any
 * command reads again; or as JSON. Each line is NAME=value settings that say
 * how many ranks there are, the launchers in front, the program and its words,
 * quoted for a shell; #SBATCH lines say the job where all launches agree.
 */
#ifndef RECORD_REPLAY_H
#define RECORD_REPLAY_H

#include "base/arena.h"
#include "base/err.h"
#include "lines.h"

#include <stdbool.h>
#include <stdio.h>

/* Does the call look like the launch of a training: a word that is a --flag or
 * a dotted key=value, and here? */
bool replay_is_launch(const struct record_call *call);

/* The word as a shell reads it, with quotes where it needs them; owned by the
 * arena, NULL when out of memory. */
const char *replay_quote(struct arena *a, const char *word);

/* Prints the script of the launches; the same line is printed once. ERR_NOMEM,
 * ERR_IO. */
enum err replay_print(struct arena *a, const struct record_calls *calls,
                      FILE *out, struct err_msg *msg);

/* Prints all calls as one JSON document, moe-layout/record/1, with how the
 * script ended. ERR_NOMEM, ERR_IO. */
enum err replay_print_json(const struct record_calls *calls, const char *ended,
                           bool complete, FILE *out, struct err_msg *msg);

#endif
