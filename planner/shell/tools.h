/*
 * tools: programs whose output is computed here, because scripts make values
 * with them: cat, seq, expr, basename, tr, cut, sort, bc and others. What an
 * option or a file makes uncertain is not known. Nothing is run.
 */
#ifndef SHELL_TOOLS_H
#define SHELL_TOOLS_H

#include "field.h"

/* Acts as the program, if it is one of these: puts its output, sets the
 * status. False: it is not, or this use of it is not known. */
bool bash_tool(struct bash *sh, const char *name, const struct bash_words *w);

#endif
