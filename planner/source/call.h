/*
 * call: one command that a script starts, as a launch of Megatron: whether it
 * is one, and its flags, each with the line it stands in.
 */
#ifndef SOURCE_CALL_H
#define SOURCE_CALL_H

#include "base/arena.h"
#include "base/err.h"
#include "megatron/args.h"
#include "shell/bash.h"

/* What a call was found in. */
struct call_source {
    struct arena *arena;
    const struct bash_result *result; // that holds the causes of its marks
    const char *path;                 // of the script, for messages
};

/* How sure it is that the call trains a model: 0 not at all; 1 some flag that
 * sizes depend on, as conversions and preprocessing have, too; 2 a flag of the
 * model's size, or the words of another launcher. */
int call_weight(const struct bash_call *call);

/* Does a flag or a setting stand where a program does? Then the line before it
 * lacks its backslash, and it starts nothing. */
bool call_is_stray(const struct bash_call *call);

/* The text as bash passes it on, marks taken out; NULL when out of memory. */
char *call_plain(struct arena *a, const char *text);

/* Gives `to` the flags of the call and its number of ranks; what is not known
 * is left so in its slot. ERR_PARSE for what no flag takes, with the line. */
enum err call_read(const struct call_source *from, const struct bash_call *call,
                   struct megatron_args *to, struct err_msg *msg);

#endif
