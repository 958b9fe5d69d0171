/*
 * assign: NAME=value, NAME+=value, NAME[i]=value, NAME=(...), and the builtins
 * that take such words: declare, local, export, readonly, typeset.
 */
#ifndef SHELL_ASSIGN_H
#define SHELL_ASSIGN_H

#include "expand.h"

/* Is the word as written an assignment? */
bool bash_is_assignment(const char *raw);

/* Sets NAME, or the element of NAME[index], to the text as it stands. */
void bash_assign_text(struct bash *sh, const char *target, const char *text);

/* Does it; `name` of the variable is returned. */
const char *bash_assign(struct bash *sh, struct bash_raw w);

/* Is the program one of the builtins above? */
bool bash_declares(const char *program);

/* The builtin with its words as written, the first being its name. */
void bash_declare(struct bash *sh, const struct bash_raw *w, size_t n);

#endif
