/*
 * cond: test, [ ] and [[ ]] in three values: true, false, or a question where
 * an operand is not known. The same comparison of the same unknown is one
 * question, wherever it stands.
 */
#ifndef SHELL_COND_H
#define SHELL_COND_H

#include "script/field.h"
#include "script/parse.h"

/* [ ] and test: words behind the program, without the ']'. Sets the status. */
void bash_test(struct bash *sh, const struct bash_words *w);

/* [[ ]]: words as written. Sets the status. */
void bash_cond(struct bash *sh, const struct bash_node *n);

/* Does the extended regular expression match? BASH_MAYBE where it is one that
 * is not tried. `words`, if any, takes the groups. */
enum bash_known bash_regex(struct bash *sh, const char *pattern,
                           const char *text, struct bash_words *words);

#endif
