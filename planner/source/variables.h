/*
 * variables: a script that starts nothing and only fills variables with flags,
 * to be sourced by another. Such a script is read as if it ended with one
 * command that is given all variables that hold flags.
 */
#ifndef MEGATRON_VARIABLES_H
#define MEGATRON_VARIABLES_H

#include "base/arena.h"
#include "shell/bash.h"

/* The script's text with a line behind it that hands each variable which the
 * text assigns to a command of its own. NULL when out of memory. */
const char *variables_script(struct arena *a, const char *text);

/* Joins the words of those commands, on each way that the script may go, to one
 * call; ways without any have no calls. False when out of memory. */
bool variables_join(struct arena *a, struct bash_result *r);

#endif
