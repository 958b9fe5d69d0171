/*
 * How it works: one function a kind of command. A condition that is not known
 * goes through branch, which reads each side, or the one that this way takes.
 */
#include "eval.h"

#include "arith.h"
#include "assign.h"
#include "builtin.h"
#include "cond.h"
#include "expand.h"
#include "follow.h"
#include "loop.h"
#include "redirect.h"
#include "script/branch.h"

#include <stdio.h>
#include <string.h>

/* ---- substitutions ---- */

static bool only_reads_file(const struct bash_node *n)
{
    return n && n->kind == BASH_SIMPLE && n->n_words == 0 &&
           n->n_redirects == 1 && n->redirect[0].kind == BASH_FROM_FILE;
}

/* $(< file) */
static void emit_file(struct bash *sh, struct bash_raw target)
{
    const char *path =
        bash_plain(sh, bash_expand_text(sh, target, BASH_X_VALUE), true);
    const char *text = bash_file_text(sh, path);
    if (text)
        bash_emit(sh, text);
    else
        bash_emit_unknown(sh, path);
}

/* $(< file) is a cat that bash does itself. */
static void capture_commands(struct bash *sh, const char *commands)
{
    struct bash_script *s =
        bash_text_script(sh, sh->at.file, commands, sh->at.line);
    struct bash_parser ps = bash_parser_of(sh, commands, sh->at.line);
    size_t blanks = strspn(commands, " \t\n");
    if (commands[blanks] == '<') {
        const struct bash_node *n = bash_parse_next(&ps);
        if (n && n->n_children == 1 && only_reads_file(n->child[0])) {
            emit_file(sh, n->child[0]->redirect[0].target);
            return;
        }
    }
    bash_eval_script(sh, s);
}

/* A subshell whose output is the value; line ends behind it go, as bash
 * takes them off. */
const char *bash_capture(struct bash *sh, const char *commands,
                         const char *shown)
{
    struct bash_text out = {0};
    struct bash_context at = sh->at;
    bash_enter(sh);
    bash_step(sh);
    struct bash_state *outer = bash_subshell_begin(sh);
    sh->at.out = &out;
    sh->at.subst = shown;
    sh->n_substitutions++;
    sh->at.subst_line = at.line;
    sh->at.loops = 0;
    // bash clears -e in $(...), unless it is in POSIX mode
    sh->st->options &= ~(unsigned)BASH_OPT_ERREXIT;
    capture_commands(sh, commands);
    bash_subshell_end(sh, outer);
    sh->at = at;
    while (out.n && out.s[out.n - 1] == '\n')
        out.s[--out.n] = '\0';
    return bash_text_of(&out);
}

/* ---- scripts ---- */

/* The next unit, parsed when it is reached for the first time. */
static const struct bash_node *next_unit(struct bash *sh, struct bash_script *s,
                                         size_t i, bool kept)
{
    if (i < s->n_units)
        return s->unit[i];
    if (s->whole)
        return NULL;
    if (!s->parser) {
        s->parser = kept ? bash_keep(sh, 1, sizeof *s->parser)
                         : bash_alloc(sh, 1, sizeof *s->parser);
        *s->parser = bash_parser_of(sh, s->text, s->line);
        s->parser->kept = kept;
    }
    const struct bash_node *n = bash_parse_next(s->parser);
    s->whole = !n;
    if (!n && s->parser->error) {
        s->error = bash_keep_text(sh, s->parser->error);
        s->error_line = s->parser->line;
    }
    if (!n || !kept)
        return n;
    if (s->n_units == s->cap_units) {
        size_t cap = 2 * s->cap_units + 32;
        const struct bash_node **unit = bash_keep(sh, cap, sizeof *unit);
        if (s->n_units)
            memcpy(unit, s->unit, s->n_units * sizeof *unit);
        s->unit = unit;
        s->cap_units = cap;
    }
    s->unit[s->n_units++] = n;
    return n;
}

/* Only files are read again in other ways and rounds: their trees are kept. */
static bool script_is_kept(const struct bash *sh, const struct bash_script *s)
{
    for (const struct bash_file *f = sh->files; f; f = f->next)
        if (&f->script == s)
            return true;
    return false;
}

/* Parsed line by line while reading, so that an exit hides what follows it. */
void bash_eval_script(struct bash *sh, struct bash_script *s)
{
    const char *file = sh->at.file;
    bool kept = script_is_kept(sh, s);
    const struct bash_node *n;
    sh->at.file = s->name;
    bash_enter(sh);
    bash_set_status(sh, 0);
    for (size_t i = 0; sh->flow == BASH_GO && (n = next_unit(sh, s, i, kept));
         i++)
        bash_eval(sh, n);
    if (sh->flow == BASH_GO && s->error) {
        sh->ended =
            bash_keep_text(sh, bash_printf(sh, "%s:%d: syntax error: %s",
                                           s->name, s->error_line, s->error));
        sh->ended_line = s->error_line;
        sh->flow = BASH_EXIT;
        bash_set_status(sh, 2);
    }
    bash_leave(sh);
    sh->at.file = file;
}

/* ---- simple commands ---- */

/* Positional parameters are local, as local hides any variable. */
static void call_function(struct bash *sh, const struct bash_var *f,
                          const struct bash_words *w)
{
    struct bash_context at = sh->at;
    struct bash_words args = {w->item + 1, w->n - 1, 0};
    const struct bash_saved *mark = bash_saved_mark(sh);
    if (at.functions + at.sourced >= BASH_MAX_DEPTH)
        bash_fail(sh, ERR_RANGE, "functions call each other %d deep",
                  BASH_MAX_DEPTH);
    bash_enter(sh);
    sh->at.functions++;
    sh->at.loops = 0;
    sh->at.function = w->item[0].text;
    sh->at.file = f->file;
    sh->at.turn = sh->at.turn * 31 + (uint32_t)at.line;
    bash_make_local(sh, BASH_POSITIONAL);
    bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &args));
    bash_eval(sh, f->body);
    bash_saved_undo(sh, mark);
    sh->at = at;
    if (sh->flow == BASH_RETURN)
        sh->flow = BASH_GO;
}

/* The order of bash: functions, builtins, programs; `command` skips the
 * first. */
void bash_command(struct bash *sh, const struct bash_words *w, bool plain)
{
    const char *program = bash_plain(sh, w->item[0].text, false);
    const struct bash_var *f =
        plain ? NULL
              : bash_get(
                    sh, bash_printf(sh, "%s%s", BASH_FUNCTION_PREFIX, program));
    if (f && f->body)
        call_function(sh, f, w);
    else if (!bash_builtin(sh, program, w))
        bash_external(sh, w);
}

/* NAME=value before a command hold for it alone. */
static void run_with(struct bash *sh, const struct bash_node *n, size_t n_set,
                     const struct bash_words *w)
{
    const struct bash_saved *mark = bash_saved_mark(sh);
    for (size_t i = 0; i < n_set; i++) {
        size_t len = strcspn(n->word[i].text, "=+[");
        const char *name = bash_strndup(sh, n->word[i].text, len);
        struct bash_raw value = n->word[i];
        const char *old = bash_get_text(sh, name);
        bash_make_local(sh, name);
        if (old)
            bash_set(sh, name, old);
        bash_assign(sh, value);
        bash_set_flags(sh, name, BASH_EXPORTED, 0);
    }
    sh->at.line = n->line;
    bash_command(sh, w, false);
    bash_saved_undo(sh, mark);
}

/* Assignments alone set variables of the shell; before a command they are
 * its environment. */
static void simple_words(struct bash *sh, const struct bash_node *n)
{
    size_t n_set = 0;
    struct bash_words w = {0};
    while (n_set < n->n_words && bash_is_assignment(n->word[n_set].text))
        n_set++;
    if (n_set < n->n_words && bash_declares(n->word[n_set].text)) {
        bash_declare(sh, n->word + n_set, n->n_words - n_set);
        return;
    }
    for (size_t i = n_set; i < n->n_words; i++)
        bash_expand_words(sh, n->word[i], &w);
    // a program's name that vanished: the next word is the program
    while (w.n && w.item[0].ghost) {
        bash_plain(sh, w.item[0].text, true);
        w.item++;
        w.n--;
    }
    if (w.n && sh->flow == BASH_GO) {
        run_with(sh, n, n_set, &w);
        return;
    }
    // $? in a value is that of the command before; the status is that of the
    // last $(...), where there was one
    const unsigned before = sh->n_substitutions;
    for (size_t i = 0; i < n_set; i++)
        bash_assign(sh, n->word[i]);
    if (sh->flow == BASH_GO && sh->n_substitutions == before)
        bash_set_status(sh, 0);
}

/* set -e: a command that fails ends the script, but not where its failure is
 * asked for (if, while, &&, ||, !), and not a group, whose commands were asked
 * one by one. One whose success is not known is taken to succeed. */
static void eval_failed(struct bash *sh, const struct bash_node *n)
{
    bool asked = n->kind == BASH_SIMPLE || n->kind == BASH_MATH ||
                 n->kind == BASH_COND || n->kind == BASH_SUBSHELL ||
                 (n->kind == BASH_PIPE && !n->negated);
    if (!asked || !(sh->st->options & BASH_OPT_ERREXIT) ||
        sh->flow != BASH_GO || sh->at.condition || sh->st->status.doubt ||
        !sh->st->status.value)
        return;
    sh->at.line = n->line;
    bash_end(sh, bash_printf(sh, "'%.80s' fails, and set -e is on",
                             bash_readable(sh, n->text)));
}

/* The place and turn are part of the key: the same command may fail the
 * second time. */
void bash_doubt_command(struct bash *sh, const struct bash_words *w)
{
    struct bash_text t = {0};
    for (size_t i = 0; i < w->n && t.n < 400; i++) {
        if (i)
            bash_putc(sh, &t, ' ');
        bash_puts(sh, &t, w->item[i].text);
    }
    const char *text = bash_text_of(&t);
    bash_doubt(sh,
               bash_printf(sh, "command %s:%d:%u %s", sh->at.file, sh->at.line,
                           (unsigned)sh->at.turn, text),
               bash_readable(sh, text));
}

/* ---- pipelines and lists ---- */

/* set -o pipefail: the last command that fails gives the status. One whose
 * success is not known may be that one. */
static struct bash_status pipe_status(struct bash *sh,
                                      struct bash_status before)
{
    struct bash_status last = sh->st->status;
    bool fine = !last.doubt && last.value == 0;
    return fine && sh->st->options & BASH_OPT_PIPEFAIL ? before : last;
}

/* Each command of a pipe runs in a subshell of its own, the last one, too:
 * `... | read x` sets nothing. */
static void eval_pipe(struct bash *sh, const struct bash_node *n)
{
    struct bash_status status = {0};
    struct bash_context at = sh->at;
    struct bash_stdin *in = sh->at.in;
    sh->at.condition += n->negated;
    for (size_t i = 0; i < n->n_children; i++) {
        bool last = i + 1 == n->n_children, alone = n->n_children == 1;
        struct bash_text *out = bash_alloc(sh, 1, sizeof *out);
        struct bash_state *outer = alone ? NULL : bash_subshell_begin(sh);
        sh->at.in = in;
        sh->at.out = last ? at.out : out;
        bash_eval(sh, n->child[i]);
        if (outer)
            bash_subshell_end(sh, outer);
        status = pipe_status(sh, status);
        in = bash_alloc(sh, 1, sizeof *in);
        in->text = bash_text_of(out);
    }
    sh->at = at;
    sh->st->status = status;
    if (n->negated) {
        struct bash_status *s = &sh->st->status;
        s->negated = !s->negated;
        s->value = !s->value;
    }
}

struct andor_at {
    const struct bash_node *n;
    size_t i;
};

static void andor_side(struct bash *sh, const void *arg, int side);

/* All but the last command of a list may fail under set -e. */
static void andor_from(struct bash *sh, const struct bash_node *n, size_t i)
{
    bool last = i + 1 == n->n_children;
    sh->at.condition += !last;
    bash_eval(sh, n->child[i]);
    sh->at.condition -= !last;
    struct andor_at at = {n, i};
    if (!last && sh->flow == BASH_GO)
        bash_on_status(sh, andor_side, &at);
}

/* Goes on behind child i, whose status is known now: to the next && (or ||). */
static void andor_side(struct bash *sh, const void *arg, int side)
{
    const struct andor_at *at = arg;
    size_t j = at->i + 1;
    if (sh->st->status.doubt)
        bash_set_status(sh, side);
    while (j < at->n->n_children && (at->n->join[j - 1] == 'a') != (side == 0))
        j++;
    if (j < at->n->n_children)
        andor_from(sh, at->n, j);
}

/* In the background all is a subshell that succeeds at once. */
static void eval_andor(struct bash *sh, const struct bash_node *n)
{
    if (!n->background) {
        andor_from(sh, n, 0);
        return;
    }
    struct bash_context at = sh->at;
    struct bash_state *outer = bash_subshell_begin(sh);
    andor_from(sh, n, 0);
    bash_subshell_end(sh, outer);
    sh->at = at;
    bash_set_status(sh, 0);
}

static void eval_sequence(struct bash *sh, const struct bash_node *n)
{
    for (size_t i = 0; i < n->n_children && sh->flow == BASH_GO; i++)
        bash_eval(sh, n->child[i]);
}

/* ---- if and case ---- */

/* Without an else, an if that is not taken succeeds. */
static void if_side(struct bash *sh, const void *arg, int side)
{
    const struct bash_node *n = arg;
    // $? in the else is what the condition left
    if (sh->st->status.doubt || side == 0 || !n->c)
        bash_set_status(sh, n->c ? side : 0);
    bash_eval(sh, side == 0 ? n->b : n->c);
}

/* -e does not end a script within a condition. */
static void eval_if(struct bash *sh, const struct bash_node *n)
{
    sh->at.condition++;
    bash_eval(sh, n->a);
    sh->at.condition--;
    if (sh->flow == BASH_GO)
        bash_on_status(sh, if_side, n);
}

/* Does one of the item's patterns match? */
static enum bash_known item_matches(struct bash *sh, const struct bash_item *it,
                                    const char *subject)
{
    enum bash_known known = BASH_NO;
    for (size_t i = 0; i < it->n_patterns; i++) {
        const char *pattern =
            bash_plain(sh, bash_expand_pattern(sh, it->pattern[i]), false);
        if (strcmp(pattern, "*") == 0)
            return BASH_YES;
        if (bash_has_unknown(sh, pattern) || bash_has_unknown(sh, subject))
            known = BASH_MAYBE;
        else if (bash_match(sh, pattern, subject, strlen(subject)))
            return known == BASH_MAYBE ? BASH_MAYBE : BASH_YES;
    }
    return known;
}

struct case_at {
    const struct bash_node *n;
    const char *subject;
    size_t first;       // items before it do not match
    const size_t *item; // of each side
    size_t n_sides;
};

static void case_from(struct bash *sh, const struct bash_node *n,
                      const char *subject, size_t i);

/* ';&' falls into the next body, ';;&' tests the patterns behind. */
static void case_body(struct bash *sh, const struct bash_node *n,
                      const char *subject, size_t i)
{
    bash_set_status(sh, 0);
    for (; i < n->n_items && sh->flow == BASH_GO; i++) {
        bash_eval(sh, n->item[i].body);
        if (n->item[i].end == '?' && sh->flow == BASH_GO)
            case_from(sh, n, subject, i + 1);
        if (n->item[i].end != '&')
            return;
    }
}

/* Behind the last item is the side on which none fits. */
static void case_side(struct bash *sh, const void *arg, int side)
{
    const struct case_at *at = arg;
    bash_set_status(sh, 0);
    if (at->item[side] < at->n->n_items)
        case_body(sh, at->n, at->subject, at->item[side]);
}

/* From item i on: the first that matches; where that is not known, all that
 * may be the first are sides. */
static void case_from(struct bash *sh, const struct bash_node *n,
                      const char *subject, size_t i)
{
    size_t *item = bash_alloc(sh, n->n_items + 1, sizeof *item), sides = 0;
    struct case_at at = {n, subject, i, item, 0};
    enum bash_known known = BASH_NO;
    const char *key = bash_printf(sh, "case %s", subject);
    for (; i < n->n_items && known != BASH_YES; i++) {
        known = item_matches(sh, &n->item[i], subject);
        if (known != BASH_NO) {
            item[sides++] = i;
            key = bash_printf(sh, "%s|%s", key, n->item[i].pattern[0].text);
        }
    }
    if (known != BASH_YES)
        item[sides++] = n->n_items;
    bash_set_status(sh, 0);
    if (sides == 1) {
        case_side(sh, &at, 0);
        return;
    }
    struct bash_question *q = bash_ask(
        sh, key, bash_readable(sh, bash_printf(sh, "case %s in", subject)),
        (int)sides);
    bash_branch(sh, q, case_side, &at);
}

static void eval_case(struct bash *sh, const struct bash_node *n)
{
    const char *subject =
        bash_plain(sh, bash_expand_text(sh, n->word[0], BASH_X_VALUE), true);
    case_from(sh, n, subject, 0);
}

/* ---- the rest ---- */

/* What is set within is gone behind it; launches and notes stay. */
static void eval_subshell(struct bash *sh, const struct bash_node *n)
{
    struct bash_context at = sh->at;
    struct bash_state *outer = bash_subshell_begin(sh);
    sh->at.loops = 0;
    bash_eval(sh, n->b);
    bash_subshell_end(sh, outer);
    sh->at = at;
}

/* (( 0 )) fails: under set -e, (( i++ )) from 0 ends a script. */
static void eval_math(struct bash *sh, const struct bash_node *n)
{
    struct bash_number v = bash_eval_number(sh, n->word[0]);
    if (v.mark)
        bash_doubt(sh,
                   bash_printf(sh, "math %s:%d:%u %s", sh->at.file, n->line,
                               (unsigned)sh->at.turn, v.mark),
                   bash_printf(sh, "((%s))", n->word[0].text));
    else
        bash_set_status(sh, v.value == 0);
}

/* A definition is an assignment: the last one before the call counts. */
static void eval_function(struct bash *sh, const struct bash_node *n)
{
    struct bash_var *f = bash_alloc(sh, 1, sizeof *f);
    f->body = n->b;
    f->file = sh->at.file;
    bash_put_var(
        sh, bash_printf(sh, "%s%s", BASH_FUNCTION_PREFIX, n->word[0].text), f);
    bash_set_status(sh, 0);
}

/* A group has nothing of its own but its redirections, which its caller has
 * made. */
static void eval_kind(struct bash *sh, const struct bash_node *n)
{
    static void (*const table[])(struct bash *, const struct bash_node *) = {
        [BASH_SIMPLE] = simple_words,
        [BASH_PIPE] = eval_pipe,
        [BASH_ANDOR] = eval_andor,
        [BASH_SEQUENCE] = eval_sequence,
        [BASH_IF] = eval_if,
        [BASH_WHILE] = bash_eval_while,
        [BASH_FOR] = bash_eval_for,
        [BASH_FORMATH] = bash_eval_for_math,
        [BASH_CASE] = eval_case,
        [BASH_SELECT] = bash_eval_for,
        [BASH_SUBSHELL] = eval_subshell,
        [BASH_FUNCTION] = eval_function,
        [BASH_MATH] = eval_math,
        [BASH_COND] = bash_cond,
    };
    if (n->kind == BASH_GROUP)
        bash_eval(sh, n->b);
    else
        table[n->kind](sh, n);
    eval_failed(sh, n);
}

/* Redirections hold for the whole command and are gone behind it. */
void bash_eval(struct bash *sh, const struct bash_node *n)
{
    if (!n) {
        bash_set_status(sh, 0);
        return;
    }
    bash_enter(sh);
    bash_step(sh);
    sh->at.line = n->line;
    if (n->n_redirects) {
        struct bash_context at = sh->at;
        struct bash_output out = {0};
        bash_redirect(sh, n, &out);
        eval_kind(sh, n);
        sh->at = at;
        bash_write_output(sh, &out);
    } else {
        eval_kind(sh, n);
    }
    bash_leave(sh);
}
