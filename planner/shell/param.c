/*
 * How it works: the parameter's value is looked up as a list of elements (one
 * of a plain variable), the operator is applied to each, and the result goes
 * out as the quotes want it. What is not known stays a mark through all
 * operators, unless an operator does not need it.
 */
#include "arith.h"
#include "operator.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const why_running = "only running it could tell";

/* Variables that bash or the login sets: never empty, not known. */
static bool param_is_given(const char *name)
{
    static const char *const given[] = {
        "HOME",          "USER",       "LOGNAME",       "HOSTNAME", "RANDOM",
        "SECONDS",       "UID",        "EUID",          "PPID",     "OSTYPE",
        "SHELL",         "PATH",       "HOSTTYPE",      "MACHTYPE", "BASHPID",
        "BASH_VERSION",  "GROUPS",     "EPOCHSECONDS",  "TERM",     "SRANDOM",
        "BASH",          "PIPESTATUS", "EPOCHREALTIME", "OLDPWD",   "SHLVL",
        "BASH_VERSINFO", "_",
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (strcmp(name, given[i]) == 0)
            return true;
    return false;
}

/* ---- values ---- */

static void param_add(struct bash_param_of *p, const char *text)
{
    bash_words_add(p->sh, &p->value, text, false, false);
}

/* With a file unread, a name that is not set here may yet be set. */
static const char *param_unset_text(struct bash *sh, const char *name)
{
    const char *shown = bash_printf(sh, "$%s", name);
    if (!sh->st->unread)
        return bash_unset(sh, shown);
    return bash_unknown(sh, shown,
                        bash_printf(sh,
                                    "it is not set here, but %s may set it, "
                                    "which cannot be read",
                                    sh->st->unread));
}

/* Do ${x-}, ${x:=} and their like stand for what is not set? */
static bool param_has_default(const struct bash_param_of *p)
{
    char op = p->op[*p->op == ':'];
    return op && strchr("-=?+", op);
}

/* A name that was never set. Under set -u bash ends the script here, so that
 * whoever runs it gives the value: it is not known rather than empty. */
static void param_unset(struct bash_param_of *p)
{
    bool digit = isdigit((unsigned char)*p->name);
    p->set = BASH_NO;
    bool elsewhere = p->sh->st->unread && !digit; // a file may set it
    if (p->sh->st->options & BASH_OPT_NOUNSET && !elsewhere &&
        !param_has_default(p)) {
        param_add(p, bash_unknown(p->sh, bash_printf(p->sh, "$%s", p->name),
                                  "never set, and set -u is on"));
        return;
    }
    if (digit) {
        param_add(p, bash_unset(p->sh, bash_printf(p->sh, "$%s", p->name)));
        return;
    }
    p->set = p->sh->st->unread ? BASH_MAYBE : BASH_NO;
    param_add(p, param_unset_text(p->sh, p->name));
}

/* An element that a list of unknown length has or has not. */
static void param_loose(struct bash_param_of *p, const char *mark)
{
    p->set = BASH_MAYBE;
    param_add(p, mark);
}

/* ${11} is the eleventh, $11 the first and a 1. */
static void param_positional(struct bash_param_of *p)
{
    const struct bash_var *v = bash_get(p->sh, BASH_POSITIONAL);
    long index = strtol(p->name, NULL, 10) - 1;
    const struct bash_item_of *e = bash_element(v, index, NULL);
    const char *mark = bash_loose_mark(p->sh, v, index);
    if (mark)
        param_loose(p, mark);
    else if (e)
        bash_words_copy(p->sh, &p->value, e);
    else
        param_unset(p);
}

/* Elements of a list with their flags. */
static void param_elements(struct bash_param_of *p, const struct bash_var *v)
{
    p->list = true;
    p->set = bash_count(v) ? BASH_YES : BASH_NO;
    for (size_t i = 0; v && i < v->n; i++)
        bash_words_copy(p->sh, &p->value, &v->item[i]);
}

/* Parameters that are no variables. */
static bool param_special(struct bash_param_of *p)
{
    struct bash *sh = p->sh;
    const char *name = p->name;
    const struct bash_var *args = bash_get(sh, BASH_POSITIONAL);
    if (strcmp(name, "@") == 0 || strcmp(name, "*") == 0) {
        p->star = *name == '*';
        param_elements(p, args);
    } else if (strcmp(name, "#") == 0) {
        const char *mark = bash_loose_mark(sh, args, INT64_MAX);
        param_add(p, mark ? mark : bash_printf(sh, "%zu", bash_count(args)));
    } else if (strcmp(name, "0") == 0) {
        param_add(p, sh->at.script);
    } else if (isdigit((unsigned char)*name)) {
        param_positional(p);
    } else if (strcmp(name, "?") == 0 && !sh->st->status.doubt) {
        param_add(p, bash_printf(sh, "%d", sh->st->status.value));
    } else if (strcmp(name, "LINENO") == 0) {
        param_add(p, bash_printf(sh, "%d", sh->at.line));
    } else if (strcmp(name, "-") == 0) {
        param_add(p, "hB");
    } else if (strchr("?$!", *name) && name[1] == '\0') {
        param_add(p,
                  bash_unknown(sh, bash_printf(sh, "$%s", name), why_running));
    } else {
        return false;
    }
    return true;
}

/* BASH_SOURCE and FUNCNAME; others that are given. */
static bool param_dynamic(struct bash_param_of *p)
{
    struct bash *sh = p->sh;
    const char *text = NULL;
    if (strcmp(p->name, "BASH_SOURCE") == 0)
        text = sh->at.source;
    else if (strcmp(p->name, "FUNCNAME") == 0)
        text = sh->at.function;
    else if (strcmp(p->name, "PWD") == 0)
        text = bash_get_text(sh, BASH_FOLDER);
    else if (param_is_given(p->name))
        text = bash_unknown(sh, bash_printf(sh, "$%s", p->name), why_running);
    if (text)
        param_add(p, text);
    return text != NULL;
}

/* Quotes and substitutions of the index are expanded; arithmetic comes
 * later. */
const char *bash_param_key(struct bash_param_of *p)
{
    struct bash_raw w = {p->index, p->sh->at.line};
    return bash_plain(p->sh, bash_expand_text(p->sh, w, BASH_X_VALUE), true);
}

/* x[i]: the index is arithmetic, of an associative array a key. */
static void param_element(struct bash_param_of *p, const struct bash_var *v)
{
    bool map = v && v->flags & BASH_ASSOCIATIVE;
    struct bash *sh = p->sh;
    const char *key = map ? bash_param_key(p) : NULL;
    struct bash_number i = {0, NULL};
    if (!map)
        i = bash_math(sh, bash_param_key(p), p->index);
    const char *mark = map ? bash_first_unknown(sh, key) : i.mark;
    const struct bash_item_of *e = bash_element(v, i.value, key);
    if (!mark)
        mark = bash_loose_mark(sh, v, i.value);
    if (mark)
        param_loose(p, mark);
    else if (e)
        bash_words_copy(sh, &p->value, e);
    else if (!v)
        param_unset(p);
    else if (sh->st->options & BASH_OPT_NOUNSET && !param_has_default(p))
        param_unset(p);
    else {
        p->set = BASH_NO;
        param_add(p, bash_unset(sh, p->shown));
    }
}

/* A variable, through a reference (declare -n) if it is one. */
static void param_variable(struct bash_param_of *p)
{
    const struct bash_var *v = bash_get(p->sh, p->name);
    bool all =
        p->index && (strcmp(p->index, "@") == 0 || strcmp(p->index, "*") == 0);
    if (v && v->flags & BASH_REFERENCE && v->n) {
        p->name = bash_plain(p->sh, v->item[0].text, false);
        v = bash_get(p->sh, p->name);
    }
    if (!v && param_dynamic(p)) {
        p->list = all;
    } else if (all && !v && p->sh->st->unread) {
        param_unset(p);
    } else if (all) {
        p->star = *p->index == '*';
        param_elements(p, v);
    } else if (p->index) {
        param_element(p, v);
    } else {
        bool map = v && v->flags & BASH_ASSOCIATIVE;
        const struct bash_item_of *e = bash_element(v, 0, map ? "0" : NULL);
        if (e)
            bash_words_copy(p->sh, &p->value, e);
        else
            param_unset(p);
    }
}

static void param_lookup(struct bash_param_of *p)
{
    p->set = BASH_YES;
    if (!param_special(p))
        param_variable(p);
}

enum bash_known bash_is_set(struct bash *sh, const char *name)
{
    // as ${NAME-}: asking is allowed under set -u
    struct bash_param_of p = {.sh = sh, .name = name, .op = "-", .shown = name};
    size_t n = strcspn(name, "[");
    if (name[n]) {
        p.name = bash_strndup(sh, name, n);
        p.index = bash_strndup(sh, name + n + 1, strcspn(name + n + 1, "]"));
    }
    param_lookup(&p);
    return p.set;
}

const char *bash_param_text(struct bash *sh, const char *name)
{
    struct bash_param_of p = {.sh = sh, .name = name, .op = "", .shown = name};
    param_lookup(&p);
    return p.value.n ? p.value.item[0].text : "";
}

/* ---- emptiness ---- */

/* What bash, the login or a job always sets, a home folder. */
static bool never_empty(const struct bash_cause *c)
{
    return c->text[0] == '~' || strncmp(c->text, "$SLURM", 6) == 0 ||
           (c->text[0] == '$' &&
            (param_is_given(c->text + 1) || strchr("$?!", c->text[1])));
}

/* One known character is enough for no. */
enum bash_known bash_is_empty(struct bash *sh, const char *text)
{
    const char *plain = bash_plain(sh, text, false);
    if (!*plain)
        return BASH_YES;
    for (const char *p = plain; *p;) {
        size_t n = bash_mark_len(p);
        if (!n || never_empty(bash_mark_cause(sh, p)))
            return BASH_NO;
        p += n;
    }
    return BASH_MAYBE;
}

/* ---- output ---- */

/* Within quotes a mark of what stood without them stays loose: "${ARGS[@]}"
 * of ARGS=($X). */
static void emit_element(struct bash *sh, const struct bash_item_of *e,
                         bool quoted, struct bash_field_text *to)
{
    size_t from = to->n;
    for (const char *p = e->text; *p;) {
        size_t mark = bash_mark_len(p), n = mark ? mark : strcspn(p, "\x01");
        bool loose = mark && (e->ghost || e->loose);
        bash_field_put(sh, to, p, n,
                       !quoted ? BASH_Q_SPLIT
                       : loose ? BASH_Q_LOOSE
                               : BASH_Q_QUOTED);
        p += n;
    }
    if (to->n > from)
        bash_field_origin(sh, to, from, e);
}

/* "$*" joins with the first character of IFS. */
static void emit_star(struct bash *sh, const struct bash_words *w,
                      struct bash_field_text *to)
{
    const char *ifs = bash_ifs(sh);
    bool first = true;
    for (size_t i = 0; i < w->n; i++) {
        if (!first && !w->item[i].ghost)
            bash_field_put(sh, to, ifs, *ifs != '\0', BASH_Q_QUOTED);
        first = first && w->item[i].ghost;
        emit_element(sh, &w->item[i], true, to);
    }
}

/* "$@" makes a word of each element, "$*" one of all; without quotes both
 * are split. */
void bash_param_emit(struct bash_param_of *p, const struct bash_words *w,
                     struct bash_param_use *use, struct bash_field_text *to)
{
    if (p->star && p->quoted) {
        emit_star(p->sh, w, to);
        return;
    }
    for (size_t i = 0; i < w->n; i++) {
        if (i)
            bash_field_mark(p->sh, to, BASH_Q_BREAK);
        emit_element(p->sh, &w->item[i], p->quoted, to);
        if (p->list && p->quoted && !w->item[i].ghost)
            bash_field_mark(p->sh, to, BASH_Q_NULL);
    }
    use->empty_list = use->empty_list || (p->list && w->n == 0);
}

/* ---- the whole ---- */

/* ${#A[@]} counts elements, ${#A} characters. */
static void param_length(struct bash_param_of *p, struct bash_words *out)
{
    struct bash *sh = p->sh;
    const char *mark = NULL;
    int64_t n = 0;
    for (size_t i = 0; i < p->value.n; i++) {
        const struct bash_item_of *e = &p->value.item[i];
        n += !e->ghost;
        if (e->loose || !p->list)
            mark = mark ? mark : bash_first_unknown(sh, e->text);
    }
    if (!p->list && !mark)
        n = bash_utf8_len(bash_plain(sh, p->value.item[0].text, true));
    bash_words_add(sh, out, mark ? mark : bash_printf(sh, "%lld", (long long)n),
                   false, false);
}

/* The operators that look at whether the name is set come before those on
 * its text. */
static void param_apply(struct bash_param_of *p, struct bash_param_use *use,
                        struct bash_field_text *to)
{
    struct bash_words out = {0};
    if (!*p->op) {
        bash_param_emit(p, &p->value, use, to);
        return;
    }
    if (bash_param_default(p, use, to))
        return;
    if (*p->op == ':' && p->list) {
        bash_op_slice_list(p, &out);
    } else if (*p->op == ':') {
        bash_op_slice_text(p, &out);
    } else {
        for (size_t i = 0; i < p->value.n; i++)
            bash_words_add(p->sh, &out, bash_op_text(p, p->value.item[i].text),
                           p->value.item[i].ghost, p->value.item[i].loose);
    }
    bash_param_emit(p, &out, use, to);
}

bool bash_is_param(const char *p)
{
    return isalnum((unsigned char)*p) || (*p && strchr("_@*#?$!-{", *p));
}

/* Takes NAME, a digit or a special sign; NULL where there is none. */
static const char *take_name(struct bash *sh, const char **p, bool braced)
{
    const char *from = *p;
    size_t n = 0;
    if (isdigit((unsigned char)*from))
        n = braced ? strspn(from, "0123456789") : 1;
    else if (*from && strchr("@*#?$!-", *from))
        n = 1;
    else
        while (isalnum((unsigned char)from[n]) || from[n] == '_')
            n++;
    *p += n;
    return n ? bash_strndup(sh, from, n) : NULL;
}

/* Names of set variables that begin with a prefix: ${!prefix@}. */
struct name_list {
    const char *prefix;
    struct bash_words *to;
};

/* ${!PREFIX*} lists names of variables, not those of files and functions that
 * the state has, too. */
static void add_name(struct bash *sh, const char *name,
                     const struct bash_var *v, void *data)
{
    struct name_list *l = data;
    (void)v;
    if ((isalpha((unsigned char)*name) || *name == '_') &&
        strncmp(name, l->prefix, strlen(l->prefix)) == 0)
        bash_words_add(sh, l->to, name, false, false);
}

/* Indices or keys: ${!x[@]}. */
static void param_keys(struct bash_param_of *p)
{
    const struct bash_var *v = bash_get(p->sh, p->name);
    p->list = true;
    p->star = *p->index == '*';
    for (size_t i = 0; v && i < v->n; i++)
        if (!v->item[i].ghost)
            param_add(p, v->item[i].key
                             ? v->item[i].key
                             : bash_printf(p->sh, "%lld",
                                           (long long)v->item[i].index));
}

/* ${!x}: the name is the value of x. */
static void param_indirect(struct bash_param_of *p)
{
    struct bash *sh = p->sh;
    const char *text = bash_param_text(sh, p->name);
    const char *name = bash_plain(sh, text, true);
    const char *mark = bash_first_unknown(sh, name);
    if (p->index && strchr("@*", *p->index) && !*p->op) {
        param_keys(p);
        return;
    }
    if ((strcmp(p->op, "@") == 0 || strcmp(p->op, "*") == 0)) {
        struct name_list l = {p->name, &p->value};
        p->list = true;
        p->op = "";
        bash_each(sh, add_name, &l);
        return;
    }
    if (mark || !*name) {
        p->set = mark ? BASH_YES : BASH_NO;
        param_add(p, mark ? mark : text);
        return;
    }
    size_t n = strcspn(name, "[");
    p->name = bash_strndup(sh, name, n);
    p->index = name[n]
                   ? bash_strndup(sh, name + n + 1, strcspn(name + n + 1, "]"))
                   : NULL;
    param_lookup(p);
}

/* [index] behind a name, up to its ']'. */
static const char *take_index(struct bash *sh, const char **p)
{
    int depth = 0;
    const char *from = *p + 1;
    if (**p != '[')
        return NULL;
    for (const char *q = *p; *q; q++) {
        depth += (*q == '[') - (*q == ']');
        if (depth == 0) {
            *p = q + 1;
            return bash_strndup(sh, from, (size_t)(q - from));
        }
    }
    return NULL;
}

/* What stands between the braces. */
static void param_braced(struct bash *sh, const char *inner,
                         struct bash_param_of *p, struct bash_param_use *use,
                         struct bash_field_text *to)
{
    const char *at = inner;
    bool length = *at == '#' && at[1] && !strchr("}:-=?+#%/", at[1]);
    bool indirect = *at == '!' && at[1] && !strchr("}:-=?+#%/", at[1]);
    at += length || indirect;
    p->name = take_name(sh, &at, true);
    if (!p->name) {
        bash_field_puts(sh, to, bash_unknown(sh, p->shown, "bash refuses it"),
                        BASH_Q_QUOTED);
        return;
    }
    p->index = take_index(sh, &at);
    p->op = at;
    if (indirect)
        param_indirect(p);
    else
        param_lookup(p);
    if (length) {
        struct bash_words out = {0};
        param_length(p, &out);
        p->list = p->star = false;
        bash_param_emit(p, &out, use, to);
        return;
    }
    param_apply(p, use, to);
}

/* $NAME and ${...}: the first has no operators, and ends where the name does.
 */
void bash_param(struct bash *sh, struct bash_param_use *use,
                struct bash_field_text *to)
{
    struct bash_param_of p = {.sh = sh, .op = "", .quoted = use->quoted};
    const char *from = use->p;
    bash_enter(sh);
    if (*from != '{') {
        p.name = take_name(sh, &use->p, false);
        p.shown = bash_printf(sh, "$%s", p.name);
        param_lookup(&p);
        bash_param_emit(&p, &p.value, use, to);
    } else {
        const char *end = bash_dollar_end(sh, from - 1, use->quoted);
        size_t n = end ? (size_t)(end - from) : strlen(from);
        const char *inner = n > 2 ? bash_strndup(sh, from + 1, n - 2) : "";
        p.shown = bash_strndup(sh, from - 1, n + 1);
        use->p = from + n;
        param_braced(sh, inner, &p, use, to);
    }
    bash_leave(sh);
}
