/*
 * script: the Megatron flags of a shell script that launches a run.
 * The script is read, never run: variables, arrays, arithmetic and conditions
 * on known texts are followed (shell_text), everything else is passed over.
 * Of several commands the one with most known flags counts; a script that only
 * fills arrays of flags, to be sourced by another, counts as a whole.
 */
#ifndef MEGATRON_SCRIPT_H
#define MEGATRON_SCRIPT_H

#include "args.h"
#include "base/arena.h"
#include "base/err.h"

/* Gives `args` the flags of the script and, from torchrun's options, the
 * number of ranks. `where` is the file's name. ERR_PARSE when no command has
 * Megatron's flags, or when a flag that decides sizes has a value that only
 * running could tell. */
enum err source_script_read(struct arena *a, const char *text,
                            const char *where, struct megatron_args *args,
                            struct err_msg *msg);

#endif
