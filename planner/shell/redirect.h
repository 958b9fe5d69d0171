/*
 * redirect: where a command's output goes and its input comes from. Output to a
 * file is kept under the file's name, for a later command that reads it.
 */
#ifndef SHELL_REDIRECT_H
#define SHELL_REDIRECT_H

#include "eval.h"

/* Output that the script would write to a file. */
struct bash_output {
    struct bash_text text;
    const char *path; // NULL: none
    bool append;
};

/* Does the command's redirections on the context, which the caller restores. */
void bash_redirect(struct bash *sh, const struct bash_node *n,
                   struct bash_output *out);

/* After the command: keeps what it wrote to a file. */
void bash_write_output(struct bash *sh, const struct bash_output *out);

#endif
