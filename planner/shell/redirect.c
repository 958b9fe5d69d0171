/*
 * How it works: an output is collected where somebody may read it (a
 * substitution, a pipe, a file of the script) and is dropped where a terminal
 * would have it. Input is a text that is known, or nothing: a program that
 * reads what is not known answers what is not known.
 */
#include "redirect.h"

#include "expand.h"

#include <string.h>

/* ---- output ---- */

void bash_emit(struct bash *sh, const char *text)
{
    if (sh->at.out)
        bash_puts(sh, sh->at.out, text);
}

/* Named by the whole substitution that the user sees in the script, with its
 * line, and not by a program within it. */
void bash_emit_unknown(struct bash *sh, const char *command)
{
    if (!sh->at.out)
        return;
    int line = sh->at.line;
    const char *shown = sh->at.subst ? sh->at.subst : command;
    sh->at.line = sh->at.subst ? sh->at.subst_line : line;
    bash_puts(sh, sh->at.out,
              bash_unknown(sh, bash_readable(sh, shown),
                           "only running it could tell"));
    sh->at.line = line;
}

/* ---- redirections ---- */

/* The last redirection of standard input wins. */
static void redirect_in(struct bash *sh, const struct bash_redirect *r)
{
    struct bash_stdin *in = bash_alloc(sh, 1, sizeof *in);
    struct bash_raw body = {r->body, r->target.line};
    if (r->kind == BASH_HEREDOC)
        in->text = r->quoted || !r->body
                       ? r->body
                       : bash_expand_text(sh, body, BASH_X_HEREDOC);
    else if (r->kind == BASH_HERESTRING)
        in->text = bash_printf(sh, "%s\n",
                               bash_expand_text(sh, r->target, BASH_X_VALUE));
    else if (r->kind == BASH_FROM_FILE) {
        struct bash_words w = {0};
        bash_expand_words(sh, r->target, &w);
        in->text =
            w.n == 1 ? bash_file_text(sh, bash_plain(sh, w.item[0].text, true))
                     : NULL;
    }
    sh->at.in = in->text ? in : NULL;
}

/* Errors go nowhere; 2>&1 changes nothing that is read. */
static void redirect_out(struct bash *sh, const struct bash_redirect *r,
                         struct bash_output *out)
{
    const char *to =
        bash_plain(sh, bash_expand_text(sh, r->target, BASH_X_VALUE), false);
    if (r->fd != 1 && r->fd != -1)
        return;
    if (r->kind == BASH_DUPLICATE) {
        if (strcmp(to, "1") != 0)
            sh->at.out = NULL;
        return;
    }
    if (strcmp(to, "/dev/stdout") == 0)
        return;
    sh->at.out = NULL;
    if (strncmp(to, "/dev/", 5) == 0)
        return;
    out->path = to;
    out->append = r->kind == BASH_APPEND;
    sh->at.out = &out->text;
}

/* From left to right, the last one of each stream wins. Errors are of no
 * interest. */
void bash_redirect(struct bash *sh, const struct bash_node *n,
                   struct bash_output *out)
{
    for (size_t i = 0; i < n->n_redirects; i++) {
        const struct bash_redirect *r = &n->redirect[i];
        bool reads = r->kind == BASH_FROM_FILE || r->kind == BASH_HEREDOC ||
                     r->kind == BASH_HERESTRING;
        if (reads && r->fd == 0)
            redirect_in(sh, r);
        else if (!reads && !(r->kind == BASH_DUPLICATE && r->fd == 0))
            redirect_out(sh, r, out);
    }
}

void bash_write_output(struct bash *sh, const struct bash_output *out)
{
    if (out->path && *out->path)
        bash_file_write(sh, out->path, bash_text_of(&out->text), out->append);
}
