/*
 * expand: words as written to words as bash passes them on: braces, tilde,
 * parameters, commands, arithmetic, quotes, splitting. File name patterns are
 * left as they are.
 */
#ifndef SHELL_EXPAND_H
#define SHELL_EXPAND_H

#include "script/field.h"
#include "script/parse.h"

enum bash_expand_mode {
    BASH_X_WORD,    // a word of a command
    BASH_X_QUOTED,  // as within double quotes
    BASH_X_OPERAND, // within ${} that is quoted itself: quotes are dropped
    BASH_X_HEREDOC, // quotes stand for themselves
    BASH_X_VALUE    // behind NAME=
};

/* Adds the text's expansion. */
void bash_expand(struct bash *sh, const char *text, enum bash_expand_mode mode,
                 struct bash_field_text *to);

/* One text, not split. */
const char *bash_expand_text(struct bash *sh, struct bash_raw w,
                             enum bash_expand_mode mode);

/* One text that is a pattern: quoted characters have a backslash. */
const char *bash_expand_pattern(struct bash *sh, struct bash_raw w);

/* Adds the words that a raw word makes. */
void bash_expand_words(struct bash *sh, struct bash_raw w,
                       struct bash_words *to);

/* Text of $'...' between from and to. */
const char *bash_ansi(struct bash *sh, const char *from, const char *to);

/* ---- param.c ---- */

struct bash_param_use {
    const char *p;   // behind the '$'; moved behind the parameter
    bool quoted;     // within double quotes
    bool empty_list; // "$@" without elements: is set then
};

/* Expands the parameter at use->p, which is one (bash_is_param()). */
void bash_param(struct bash *sh, struct bash_param_use *use,
                struct bash_field_text *to);
bool bash_is_param(const char *p);

/* Is the variable set? Unknown where a file that is not there may set it. */
enum bash_known bash_is_set(struct bash *sh, const char *name);

/* Text of a plain variable, with a mark where it is not set. */
const char *bash_param_text(struct bash *sh, const char *name);

/* Is the text certainly not empty, certainly empty, or neither? */
enum bash_known bash_is_empty(struct bash *sh, const char *text);

#endif
