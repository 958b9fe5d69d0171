/*
 * How it works: a table of names and functions; each gets the words with the
 * name first. Words that vanished because their variable is not set ("ghosts")
 * are dropped, except where they go on to a list.
 */
#include "builtin.h"

#include "arith.h"
#include "cond.h"
#include "eval.h"
#include "expand.h"
#include "follow.h"
#include "script/branch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef void builtin_fn(struct bash *sh, const struct bash_words *w);

const char *bash_arg(struct bash *sh, const struct bash_words *w, size_t i)
{
    return i < w->n ? bash_plain(sh, w->item[i].text, true) : "";
}

/* Terminal, jobs and history: nothing that a launch depends on. */
static void do_nothing(struct bash *sh, const struct bash_words *w)
{
    (void)w;
    bash_set_status(sh, 0);
}

static void do_false(struct bash *sh, const struct bash_words *w)
{
    (void)w;
    bash_set_status(sh, 1);
}

/* Their output and success depend on the machine. */
static void do_not_known(struct bash *sh, const struct bash_words *w)
{
    bash_emit_unknown(sh, w->item[0].text);
    bash_doubt_command(sh, w);
}

/* ---- flow ---- */

/* The number behind return, exit, shift, break; `other` without one. */
static struct bash_number number_arg(struct bash *sh,
                                     const struct bash_words *w, int64_t other)
{
    struct bash_number v = {other, NULL};
    if (w->n > 1)
        v = bash_math(sh, w->item[1].text, w->item[1].text);
    return v;
}

/* exit without a number keeps the status of the command before it. */
static void set_exit_status(struct bash *sh, const struct bash_words *w)
{
    struct bash_number v = number_arg(sh, w, 0);
    if (w->n > 1 && !v.mark)
        bash_set_status(sh, (int)(v.value & 255));
    else if (w->n > 1)
        bash_doubt_command(sh, w);
}

/* The line before often says why: 'usage: ...', 'set DATA_PATH first'. */
static void do_exit(struct bash *sh, const struct bash_words *w)
{
    set_exit_status(sh, w);
    const char *why =
        bash_printf(sh, "exit %s", w->n > 1 ? bash_arg(sh, w, 1) : "");
    // what the script says of its failure is the best there is
    int before = sh->at.line - sh->said_line;
    if (sh->said && before >= 0 && before < 3 && !bash_succeeded(sh))
        why = bash_printf(sh, "%s, after saying '%s'", why,
                          bash_strndup(sh, sh->said, strcspn(sh->said, "\n")));
    bash_end(sh, why);
}

/* At the top level bash complains and goes on. */
static void do_return(struct bash *sh, const struct bash_words *w)
{
    set_exit_status(sh, w);
    if (sh->at.functions + sh->at.sourced > 0)
        sh->flow = BASH_RETURN;
}

/* break 2 leaves two loops; more than there are leaves all. */
static void do_loop(struct bash *sh, const struct bash_words *w)
{
    struct bash_number v = number_arg(sh, w, 1);
    if (sh->at.loops == 0)
        return;
    bash_set_status(sh, 0);
    sh->flow = *w->item[0].text == 'b' ? BASH_BREAK : BASH_CONTINUE;
    sh->flow_n = v.mark || v.value < 1    ? 1
                 : v.value > sh->at.loops ? sh->at.loops
                                          : (int)v.value;
}

/* ---- commands in words ---- */

/* eval joins its words with blanks and reads them anew, at any depth that a
 * script may reach. */
void bash_eval_words(struct bash *sh, const struct bash_words *w, size_t from)
{
    struct bash_text t = {0};
    for (size_t i = from; i < w->n; i++) {
        if (i > from)
            bash_putc(sh, &t, ' ');
        bash_puts(sh, &t, w->item[i].text);
    }
    const char *text = bash_text_of(&t);
    // what vanishes before the first command would hide a keyword there
    while (bash_mark_len(text) &&
           bash_mark_cause(sh, text)->kind == BASH_UNSET) {
        text += bash_mark_len(text);
        text += strspn(text, " ");
    }
    // nothing but one mark; with words behind it, it is an unknown program
    const char *rest = text + bash_mark_len(text);
    if (rest[strspn(rest, " \n")] == '\0' && bash_unread_text(sh, text))
        return;
    bash_enter(sh);
    bash_eval_script(sh, bash_text_script(sh, sh->at.file, text, sh->at.line));
    bash_leave(sh);
}

static void do_eval(struct bash *sh, const struct bash_words *w)
{
    bash_eval_words(sh, w, 1);
}

static void do_source(struct bash *sh, const struct bash_words *w)
{
    bash_source(sh, w);
}

/* Nothing behind an exec with a program runs; one with redirections alone
 * goes on. */
static void do_exec(struct bash *sh, const struct bash_words *w)
{
    struct bash_words rest = {w->item + 1, w->n - 1, 0};
    bash_set_status(sh, 0);
    while (rest.n && *rest.item->text == '-') {
        size_t skip = strcmp(rest.item->text, "-a") == 0 && rest.n > 1 ? 2 : 1;
        rest.item += skip;
        rest.n -= skip;
    }
    if (!rest.n)
        return;
    bash_external(sh, &rest);
    bash_end(sh, "exec");
}

/* command, builtin: the words behind are a command. */
static void do_command(struct bash *sh, const struct bash_words *w)
{
    struct bash_words rest = {w->item + 1, w->n - 1, 0};
    bool asks = false;
    while (rest.n && *rest.item->text == '-') {
        asks = asks || strpbrk(rest.item->text, "vV");
        rest.item++;
        rest.n--;
    }
    if (asks || !rest.n)
        do_not_known(sh, w);
    else
        bash_command(sh, &rest, true);
}

/* The last expression gives the status, turned around: 0 fails. */
static void do_let(struct bash *sh, const struct bash_words *w)
{
    for (size_t i = 1; i < w->n; i++) {
        struct bash_number v = bash_math(sh, w->item[i].text, w->item[i].text);
        if (v.mark)
            bash_doubt_command(sh, w);
        else
            bash_set_status(sh, v.value == 0);
    }
}

/* [ without its ] is an error of bash with status 2, and so fails. */
static void do_test(struct bash *sh, const struct bash_words *w)
{
    struct bash_words rest = {w->item + 1, w->n - 1, 0};
    if (*w->item[0].text == '[') {
        if (!rest.n || strcmp(rest.item[rest.n - 1].text, "]") != 0) {
            bash_set_status(sh, 2);
            return;
        }
        rest.n--;
    }
    bash_test(sh, &rest);
}

/* ---- positional parameters and options ---- */

/* Words keep the places where they were written: a flag is told with the line
 * that has it. */
static void set_positional(struct bash *sh, const struct bash_words *w,
                           size_t from)
{
    struct bash_words rest = {0};
    for (size_t i = from; i < w->n; i++)
        bash_words_copy(sh, &rest, &w->item[i]);
    bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &rest));
}

/* Options that change what is read; others (-x, -v) only show. */
static const struct {
    char letter; // ' ': none
    const char *name;
    unsigned flag;
} set_options[] = {
    {'e', "errexit", BASH_OPT_ERREXIT},
    {'a', "allexport", BASH_OPT_ALLEXPORT},
    {'u', "nounset", BASH_OPT_NOUNSET},
    {' ', "pipefail", BASH_OPT_PIPEFAIL},
};

enum { SET_OPTIONS = sizeof set_options / sizeof set_options[0] };

static void set_flag(struct bash *sh, bool on, unsigned flag)
{
    sh->st->options = on ? sh->st->options | flag : sh->st->options & ~flag;
}

/* -eu, +x: one sign for all letters. */
static void set_option(struct bash *sh, const char *text)
{
    for (size_t i = 0; i < SET_OPTIONS; i++)
        if (strchr(text, set_options[i].letter))
            set_flag(sh, *text == '-', set_options[i].flag);
}

static void set_long_option(struct bash *sh, const char *sign, const char *name)
{
    for (size_t i = 0; i < SET_OPTIONS; i++)
        if (strcmp(name, set_options[i].name) == 0)
            set_flag(sh, *sign == '-', set_options[i].flag);
}

/* Without an option first, all words become the positional parameters: set
 * $line. */
static void do_set(struct bash *sh, const struct bash_words *w)
{
    size_t i = 1;
    bash_set_status(sh, 0);
    for (; i < w->n; i++) {
        const char *text = w->item[i].text;
        if (w->item[i].ghost || (*text != '-' && *text != '+') || !text[1])
            break;
        if (strcmp(text, "--") == 0) {
            set_positional(sh, w, i + 1);
            return;
        }
        if (text[1] == 'o' && i + 1 < w->n)
            set_long_option(sh, text, w->item[++i].text);
        else
            set_option(sh, text);
        if (text[1] != 'o' && strchr(text, 'o') && i + 1 < w->n)
            set_long_option(sh, text, w->item[++i].text); // -eo pipefail
    }
    if (i < w->n)
        set_positional(sh, w, i);
}

/* More than there are is refused by bash, and nothing moves. */
static void do_shift(struct bash *sh, const struct bash_words *w)
{
    const struct bash_var *old = bash_get(sh, BASH_POSITIONAL);
    struct bash_number v = number_arg(sh, w, 1);
    struct bash_words all = {0};
    const char *loose =
        v.value > 0 ? bash_loose_mark(sh, old, v.value - 1) : v.mark;
    if (loose) { // how many words go is not known, so neither are the others
        bash_blur_elements(sh, BASH_POSITIONAL, loose);
        bash_doubt_command(sh, w);
        return;
    }
    if (v.mark || v.value < 0 || v.value > (int64_t)bash_count(old)) {
        bash_set_status(sh, 1);
        return;
    }
    for (size_t i = 0; old && i < old->n; i++)
        if (old->item[i].index >= v.value)
            bash_words_copy(sh, &all, &old->item[i]);
    bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &all));
    bash_set_status(sh, 0);
}

/* Only extglob changes how a script is read. */
static void do_shopt(struct bash *sh, const struct bash_words *w)
{
    bool on = true;
    bash_set_status(sh, 0);
    for (size_t i = 1; i < w->n; i++) {
        const char *text = w->item[i].text;
        if (*text == '-')
            on = !strchr(text, 'u');
        else if (strcmp(text, "extglob") == 0 && on)
            sh->st->options |= BASH_OPT_EXTGLOB;
        else if (strcmp(text, "extglob") == 0)
            sh->st->options &= ~(unsigned)BASH_OPT_EXTGLOB;
    }
}

/* unset A removes a variable, A[i] one element, -f a function. */
static void do_unset(struct bash *sh, const struct bash_words *w)
{
    bool function = false;
    for (size_t i = 1; i < w->n; i++) {
        const char *text = bash_arg(sh, w, i);
        size_t n = strcspn(text, "[");
        if (*text == '-') {
            function = strcmp(text, "-f") == 0;
        } else if (function) {
            bash_unset_var(sh,
                           bash_printf(sh, "%s%s", BASH_FUNCTION_PREFIX, text));
        } else if (text[n]) {
            const char *key =
                bash_strndup(sh, text + n + 1, strcspn(text + n + 1, "]"));
            const char *name = bash_strndup(sh, text, n);
            const struct bash_var *v = bash_get(sh, name);
            bool map = v && v->flags & BASH_ASSOCIATIVE;
            bash_unset_element(sh, name, map ? key : NULL,
                               strtoll(key, NULL, 10));
        } else {
            bash_unset_var(sh, text);
        }
    }
    bash_set_status(sh, 0);
}

/* ---- the folder ---- */

/* That the folder exists is taken for granted: it need not be on this
 * machine. */
static void do_cd(struct bash *sh, const struct bash_words *w)
{
    size_t i = 1;
    while (i < w->n && *w->item[i].text == '-' && w->item[i].text[1])
        i++;
    const char *to = bash_arg(sh, w, i);
    const char *mark = bash_first_unknown(sh, to);
    if (i >= w->n || strcmp(to, "-") == 0)
        mark = bash_unknown(sh, i < w->n ? "cd -" : "cd",
                            "the folder is not known");
    if (mark)
        bash_set(sh, BASH_FOLDER, *to == '/' || !*to ? mark : to);
    else if (*to)
        bash_set(sh, BASH_FOLDER, bash_path(sh, to));
    bash_set_status(sh, 0);
}

/* By the names that cd was given: links are not followed. */
static void do_pwd(struct bash *sh, const struct bash_words *w)
{
    const char *cwd = bash_get_text(sh, BASH_FOLDER);
    (void)w;
    bash_emit(sh, bash_printf(sh, "%s\n", cwd ? cwd : ""));
    bash_set_status(sh, 0);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    builtin_fn *fn;
    bool ghosts; // words that vanished go on
} builtins[] = {
    {":", do_nothing, true},
    {"true", do_nothing, true},
    {"false", do_false, true},
    {"echo", bash_echo, false},
    {"printf", bash_printf_builtin, false},
    {"test", do_test, true},
    {"[", do_test, true},
    {"exit", do_exit, false},
    {"return", do_return, false},
    {"break", do_loop, false},
    {"continue", do_loop, false},
    {"eval", do_eval, true},
    {"source", do_source, true},
    {".", do_source, true},
    {"exec", do_exec, true},
    {"command", do_command, true},
    {"builtin", do_command, true},
    {"let", do_let, false},
    {"set", do_set, true},
    {"shift", do_shift, false},
    {"shopt", do_shopt, false},
    {"unset", do_unset, false},
    {"cd", do_cd, false},
    {"pushd", do_cd, false},
    {"pwd", do_pwd, false},
    {"read", bash_read, false},
    {"mapfile", bash_mapfile, false},
    {"readarray", bash_mapfile, false},
    {"getopts", bash_getopts, false},
    {"type", do_not_known, false},
    {"hash", do_nothing, false},
    {"trap", do_nothing, false},
    {"alias", do_nothing, false},
    {"unalias", do_nothing, false},
    {"wait", do_nothing, false},
    {"umask", do_nothing, false},
    {"ulimit", do_nothing, false},
    {"jobs", do_nothing, false},
    {"bg", do_nothing, false},
    {"fg", do_nothing, false},
    {"disown", do_nothing, false},
    {"popd", do_nothing, false},
    {"dirs", do_nothing, false},
    {"times", do_nothing, false},
    {"enable", do_nothing, false},
    {"history", do_nothing, false},
    {"caller", do_not_known, false},
    {"kill", do_not_known, false},
};

/* Ghosts are words that bash would not see; only a few programs have to know of
 * them. */
static const struct bash_words *without_ghosts(struct bash *sh,
                                               const struct bash_words *w)
{
    struct bash_words *out = bash_alloc(sh, 1, sizeof *out);
    for (size_t i = 0; i < w->n; i++)
        if (!w->item[i].ghost)
            bash_words_add(sh, out, w->item[i].text, false, w->item[i].loose);
    return out;
}

/* False for a program that is none of bash's own. */
bool bash_builtin(struct bash *sh, const char *name, const struct bash_words *w)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (strcmp(builtins[i].name, name) != 0)
            continue;
        builtins[i].fn(sh, builtins[i].ghosts ? w : without_ghosts(sh, w));
        return true;
    }
    return false;
}
