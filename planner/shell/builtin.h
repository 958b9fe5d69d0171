/*
 * builtin: the commands of bash itself, but for those that take assignments
 * (assign) and [[ ]] (cond). What only concerns the terminal or jobs does
 * nothing.
 */
#ifndef SHELL_BUILTIN_H
#define SHELL_BUILTIN_H

#include "script/field.h"

/* Runs the builtin of that name; false where there is none. */
bool bash_builtin(struct bash *sh, const char *name,
                  const struct bash_words *w);

/* echo and printf (print.c). */
void bash_echo(struct bash *sh, const struct bash_words *w);
void bash_printf_builtin(struct bash *sh, const struct bash_words *w);

/* read, mapfile and getopts (input.c). */
void bash_read(struct bash *sh, const struct bash_words *w);
void bash_mapfile(struct bash *sh, const struct bash_words *w);
void bash_getopts(struct bash *sh, const struct bash_words *w);

/* Word i as bash sees it, "" behind the last. */
const char *bash_arg(struct bash *sh, const struct bash_words *w, size_t i);

/* Reads words as commands: eval, bash -c. */
void bash_eval_words(struct bash *sh, const struct bash_words *w, size_t from);

#endif
