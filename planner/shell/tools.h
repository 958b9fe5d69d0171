/*
 * tools: programs whose output is computed here, because scripts make values
 * with them: cat, seq, expr, basename, tr, cut, sort, bc and others. What an
 * option or a file makes uncertain is not known. Nothing is run.
 */
#ifndef SHELL_TOOLS_H
#define SHELL_TOOLS_H

#include "script/field.h"

/* Acts as the program, if it is one of these: puts its output, sets the
 * status. False: it is not, or this use of it is not known. */
bool bash_tool(struct bash *sh, const char *name, const struct bash_words *w);

/* A call of a program. */
struct bash_tool_use {
    struct bash *sh;
    const char **arg; // without the program
    size_t n;
    const char *in;   // standard input or files
    const char *file; // the name of its file; NULL: standard input
    struct bash_text out;
    int status;
};

/* Puts a line to the output. */
void bash_tool_line(struct bash_tool_use *t, const char *s, size_t n);

/* Length of the line at p; *next is where the one after it begins. */
size_t bash_tool_line_at(const char *p, const char **next);

/* Decimal digits, with a sign or not, that fit. */
bool bash_is_integer(const char *s);

/* seq, expr and bc (calc.c); false where the use is not understood. */
bool bash_tool_seq(struct bash_tool_use *t);
bool bash_tool_expr(struct bash_tool_use *t);
bool bash_tool_bc(struct bash_tool_use *t);

/* Programs that pass lines on (lines.c). */
bool bash_tool_wc(struct bash_tool_use *t);
bool bash_tool_head(struct bash_tool_use *t);
bool bash_tool_tail(struct bash_tool_use *t);
bool bash_tool_rev(struct bash_tool_use *t);
bool bash_tool_paste(struct bash_tool_use *t);
bool bash_tool_sort(struct bash_tool_use *t);
bool bash_tool_grep(struct bash_tool_use *t);

/* python -c and awk with a program of one line (snippet.c): whole numbers,
 * texts, lists. What is not surely the same there is not understood. */
bool bash_tool_python(struct bash_tool_use *t);
bool bash_tool_awk(struct bash_tool_use *t);

#endif
