/*
 * eval: walks trees of commands as bash would. Functions leave the status in
 * the state and how to go on in sh->flow: nobody goes on while that is not
 * BASH_GO.
 */
#ifndef SHELL_EVAL_H
#define SHELL_EVAL_H

#include "files.h"
#include "script/field.h"
#include "script/parse.h"

/* Reads a command; NULL is an empty one, with status 0. */
void bash_eval(struct bash *sh, const struct bash_node *n);

/* Reads the commands of a script one after the other, up to its end or a
 * syntax error, which ends the script (sh->ended). */
void bash_eval_script(struct bash *sh, struct bash_script *s);

/* The output of commands without line ends behind it, with marks for what is
 * not known; `shown` is how the script writes them. */
const char *bash_capture(struct bash *sh, const char *commands,
                         const char *shown);

/* Runs expanded words as a command: a function (unless `plain`), a builtin, or
 * a program. */
void bash_command(struct bash *sh, const struct bash_words *w, bool plain);

/* Puts text to where output goes; what is not known. */
void bash_emit(struct bash *sh, const char *text);
void bash_emit_unknown(struct bash *sh, const char *command);

/* The question whether a command at this place succeeds. */
void bash_doubt_command(struct bash *sh, const struct bash_words *w);

#endif
