/*
 * launch: the Megatron flags of a shell script that launches a run. The script
 * is read, never run (shell/bash); of what it would start, the commands with
 * Megatron's flags are launches. Where something is not known the script may go
 * several ways: a flag that has the same value on each is known, another one is
 * not, and what decides it is named. A script that only fills variables with
 * flags, to be sourced by another, counts as a whole.
 */
#ifndef MEGATRON_LAUNCH_H
#define MEGATRON_LAUNCH_H

#include "base/arena.h"
#include "base/err.h"
#include "megatron/args.h"
#include "source.h"

/* Gives `args` the flags of the launch with their places, the number of ranks
 * from the launcher, and the account: launch, launches, assumptions, files that
 * are not there. ERR_PARSE when nothing that is started has Megatron's flags;
 * ERR_RANGE when --launch asks for one that is not there. */
enum err launch_read(struct arena *a, const char *text,
                     const struct source_request *req,
                     struct megatron_args *args, struct err_msg *msg);

#endif
