/*
 * How it works: the parameter's value is looked up as a list of elements (one
 * of a plain variable), the operator is applied to each, and the result goes
 * out as the quotes want it. What is not known stays a mark through all
 * operators, unless an operator does not need it.
 */
#include "arith.h"
#include "expand.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The pieces of ${NAME[INDEX]OP} and what NAME holds. */
struct param {
    struct bash *sh;
    const char *name, *index; // index: NULL, "@", "*", or an expression
    const char *op;           // the operator and its words; "" for none
    const char *shown;
    bool quoted;
    bool list, star;
    enum bash_known set;
    struct bash_words value;
};

static const char *const why_running = "only running it could tell";

/* Variables that bash or the login sets: never empty, not known. */
static bool param_is_given(const char *name)
{
    static const char *const given[] = {
        "HOME",         "USER",      "LOGNAME",      "HOSTNAME", "RANDOM",
        "SECONDS",      "UID",       "EUID",         "PPID",     "OSTYPE",
        "SHELL",        "PATH",      "HOSTTYPE",     "MACHTYPE", "BASHPID",
        "BASH_VERSION", "GROUPS",    "EPOCHSECONDS", "TERM",     "SRANDOM",
        "BASH",         "PIPESTATUS", "EPOCHREALTIME", "OLDPWD", "SHLVL",
        "BASH_VERSINFO", "_",
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (strcmp(name, given[i]) == 0)
            return true;
    return false;
}

/* ---- values ---- */

static void param_add(struct param *p, const char *text)
{
    bash_words_add(p->sh, &p->value, text, false, false);
}

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

/* A name that was never set. */
static void param_unset(struct param *p)
{
    bool digit = isdigit((unsigned char)*p->name);
    p->set = BASH_NO;
    if (digit) {
        param_add(p, bash_unset(p->sh, bash_printf(p->sh, "$%s", p->name)));
        return;
    }
    p->set = p->sh->st->unread ? BASH_MAYBE : BASH_NO;
    param_add(p, param_unset_text(p->sh, p->name));
}

static void param_positional(struct param *p)
{
    const struct bash_var *v = bash_get(p->sh, BASH_POSITIONAL);
    const struct bash_item_of *e =
        bash_element(v, strtol(p->name, NULL, 10) - 1, NULL);
    if (e)
        bash_words_copy(p->sh, &p->value, e);
    else
        param_unset(p);
}

/* Elements of a list with their flags. */
static void param_elements(struct param *p, const struct bash_var *v)
{
    p->list = true;
    p->set = bash_count(v) ? BASH_YES : BASH_NO;
    for (size_t i = 0; v && i < v->n; i++)
        bash_words_copy(p->sh, &p->value, &v->item[i]);
}

static bool param_special(struct param *p)
{
    struct bash *sh = p->sh;
    const char *name = p->name;
    const struct bash_var *args = bash_get(sh, BASH_POSITIONAL);
    if (strcmp(name, "@") == 0 || strcmp(name, "*") == 0) {
        p->star = *name == '*';
        param_elements(p, args);
    } else if (strcmp(name, "#") == 0) {
        param_add(p, bash_printf(sh, "%zu", bash_count(args)));
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
        param_add(p, bash_unknown(sh, bash_printf(sh, "$%s", name),
                                  why_running));
    } else {
        return false;
    }
    return true;
}

/* BASH_SOURCE and FUNCNAME; others that are given. */
static bool param_dynamic(struct param *p)
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

static const char *param_key(struct param *p)
{
    struct bash_raw w = {p->index, p->sh->at.line};
    return bash_plain(p->sh, bash_expand_text(p->sh, w, BASH_X_VALUE), true);
}

static void param_element(struct param *p, const struct bash_var *v)
{
    bool map = v && v->flags & BASH_ASSOCIATIVE;
    struct bash *sh = p->sh;
    const char *key = map ? param_key(p) : NULL;
    struct bash_number i = {0, NULL};
    if (!map)
        i = bash_math(sh, param_key(p), p->index);
    const char *mark = map ? bash_first_unknown(sh, key) : i.mark;
    const struct bash_item_of *e = bash_element(v, i.value, key);
    if (mark)
        param_add(p, mark);
    else if (e)
        bash_words_copy(sh, &p->value, e);
    else if (!v)
        param_unset(p);
    else {
        p->set = BASH_NO;
        param_add(p, bash_unset(sh, p->shown));
    }
}

static void param_variable(struct param *p)
{
    const struct bash_var *v = bash_get(p->sh, p->name);
    bool all = p->index && (strcmp(p->index, "@") == 0 ||
                            strcmp(p->index, "*") == 0);
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

static void param_lookup(struct param *p)
{
    p->set = BASH_YES;
    if (!param_special(p))
        param_variable(p);
}

enum bash_known bash_is_set(struct bash *sh, const char *name)
{
    struct param p = {.sh = sh, .name = name, .op = "", .shown = name};
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
    struct param p = {.sh = sh, .name = name, .op = "", .shown = name};
    param_lookup(&p);
    return p.value.n ? p.value.item[0].text : "";
}

/* ---- emptiness ---- */

static bool never_empty(const struct bash_cause *c)
{
    return c->text[0] == '~' ||
           (c->text[0] == '$' &&
            (param_is_given(c->text + 1) || strchr("$?!", c->text[1])));
}

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

static void emit_star(struct bash *sh, const struct bash_words *w,
                      struct bash_field_text *to)
{
    const char *ifs = bash_get_text(sh, "IFS");
    bool first = true;
    for (size_t i = 0; i < w->n; i++) {
        if (!first && !w->item[i].ghost)
            bash_field_put(sh, to, ifs ? ifs : " ", ifs && !*ifs ? 0 : 1,
                           BASH_Q_QUOTED);
        first = first && w->item[i].ghost;
        emit_element(sh, &w->item[i], true, to);
    }
}

static void param_emit(struct param *p, const struct bash_words *w,
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

/* ---- operators ---- */

static const char *param_pattern(struct param *p, const char *text)
{
    struct bash_raw w = {text, p->sh->at.line};
    return bash_plain(p->sh, bash_expand_pattern(p->sh, w), false);
}

/* # ## % %%: the shortest or longest piece that the pattern matches. */
static const char *cut_piece(struct param *p, const char *text,
                             const char *pattern)
{
    bool front = *p->op == '#', longest = p->op[1] == p->op[0];
    size_t n = strlen(text);
    for (size_t i = 0; i <= n; i++) {
        size_t len = longest ? n - i : i;
        const char *from = front ? text : text + n - len;
        if (bash_match(p->sh, pattern, from, len))
            return front ? bash_strndup(p->sh, text + len, n - len)
                         : bash_strndup(p->sh, text, n - len);
    }
    return text;
}

/* Characters that a pattern matches which has no stars, sets or parentheses;
 * -1 of others. */
static long pattern_width(const char *p)
{
    long n = 0;
    for (; *p; p++, n++) {
        if (strchr("*([", *p))
            return -1;
        p += *p == '\\' && p[1];
    }
    return n;
}

/* Longest match at t, or -1. */
static long match_at(struct bash *sh, const char *pattern, const char *t)
{
    long width = pattern_width(pattern);
    if (width >= 0 && strnlen(t, (size_t)width) < (size_t)width)
        return -1;
    if (width >= 0)
        return bash_match(sh, pattern, t, (size_t)width) ? width : -1;
    for (size_t n = strlen(t) + 1; n-- > 0;)
        if (bash_match(sh, pattern, t, n))
            return (long)n;
    return -1;
}

/* The next replacement's place in `text` from i on. */
static const char *replace_all(struct param *p, const char *text,
                               const char *pattern, const char *with)
{
    struct bash_text t = {0};
    char kind = p->op[1];
    size_t n = strlen(text), i = 0;
    bool more = true;
    if (!*pattern && (kind == '#' || kind == '%'))
        return bash_printf(p->sh, "%s%s%s", kind == '#' ? with : "", text,
                           kind == '%' ? with : "");
    if (kind == '%') {
        for (; i < n && !bash_match(p->sh, pattern, text + i, n - i); i++)
            bash_putc(p->sh, &t, text[i]);
        if (i < n)
            bash_puts(p->sh, &t, with);
        return bash_text_of(&t);
    }
    while (i < n) {
        long len = more ? match_at(p->sh, pattern, text + i) : -1;
        if (len > 0) {
            bash_puts(p->sh, &t, with);
            i += (size_t)len;
            more = kind == '/';
        } else {
            bash_putc(p->sh, &t, text[i++]);
            more = more && kind != '#';
        }
    }
    return bash_text_of(&t);
}

/* The pattern of /P/W ends at the first '/' outside of quotes; that of //P/W
 * may begin with one. */
static size_t pattern_len(const char *p, bool all)
{
    size_t i = 0;
    int depth = 0;
    for (; p[i] && (p[i] != '/' || depth > 0 || (all && i == 0)); i++) {
        char c = p[i];
        if (c == '\\' && p[i + 1]) {
            i++;
        } else if (c == '\'' || c == '"') {
            const char *end = strchr(p + i + 1, c);
            i = end ? (size_t)(end - p) : i;
        } else {
            depth += (c == '{' && i && p[i - 1] == '$') - (c == '}' && depth);
        }
    }
    return i;
}

static const char *op_replace(struct param *p, const char *text)
{
    const char *from = p->op + 1;
    from += *from && strchr("/#%", *from) && from[1] ? 1 : 0;
    bool all = from > p->op + 1 && from[-1] == '/';
    size_t n = pattern_len(from, all);
    const char *pattern =
        param_pattern(p, bash_strndup(p->sh, from, n));
    struct bash_raw w = {from[n] ? from + n + 1 : "", p->sh->at.line};
    const char *with = bash_expand_text(p->sh, w, BASH_X_VALUE);
    if (from == p->op + 1) { // one: the kind is no sign of a pattern
        struct param one = *p;
        one.op = "/ ";
        return replace_all(&one, text, pattern, with);
    }
    return replace_all(p, text, pattern, with);
}

static const char *op_case(struct param *p, const char *text)
{
    bool all = p->op[1] == p->op[0];
    const char *pattern = p->op[1 + all] ? param_pattern(p, p->op + 1 + all)
                                         : "?";
    char *copy = bash_strndup(p->sh, text, strlen(text));
    for (size_t i = 0; copy[i] && (all || i == 0); i++)
        if (bash_match(p->sh, pattern, copy + i, 1))
            copy[i] = (char)(*p->op == '^' ? toupper((unsigned char)copy[i])
                                           : tolower((unsigned char)copy[i]));
    return copy;
}

/* @Q and others: only quoting and case are known. */
static const char *op_transform(struct param *p, const char *text)
{
    struct param up = *p;
    if (p->op[1] == 'U' || p->op[1] == 'u' || p->op[1] == 'L') {
        up.op = p->op[1] == 'U' ? "^^" : p->op[1] == 'u' ? "^" : ",,";
        return op_case(&up, text);
    }
    if (p->op[1] != 'Q')
        return text;
    struct bash_text t = {0};
    bash_putc(p->sh, &t, '\'');
    for (; *text; text++)
        if (*text == '\'')
            bash_puts(p->sh, &t, "'\\''");
        else
            bash_putc(p->sh, &t, *text);
    bash_putc(p->sh, &t, '\'');
    return bash_text_of(&t);
}

/* An operator on one element's text. */
static const char *op_text(struct param *p, const char *text)
{
    const char *plain = bash_plain(p->sh, text, false);
    const char *mark = bash_first_unknown(p->sh, plain);
    if (mark)
        return mark;
    if (!*plain && *text)
        return text; // the mark of what is not set goes on
    if (*p->op == '#' || *p->op == '%')
        return cut_piece(p, plain,
                         param_pattern(p, p->op + 1 + (p->op[1] == *p->op)));
    if (*p->op == '/')
        return op_replace(p, plain);
    if (*p->op == '@')
        return op_transform(p, plain);
    return op_case(p, plain);
}

/* ---- :offset:length ---- */

/* Place of the ':' that parts offset and length; a ? : pair is skipped. */
static const char *slice_colon(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        if (*p == ':' && depth == 0)
            return p;
        depth += (*p == '?' || *p == '(' || *p == '{') -
                 (*p == ':' || *p == ')' || *p == '}');
    }
    return NULL;
}

static struct bash_number slice_number(struct param *p, const char *from,
                                       size_t n)
{
    struct bash_raw w = {bash_strndup(p->sh, from, n), p->sh->at.line};
    return bash_math(p->sh, bash_expand_text(p->sh, w, BASH_X_OPERAND),
                     p->shown);
}

/* Characters of UTF-8 are counted, not bytes. */
static const char *utf8_at(const char *s, int64_t n)
{
    for (; n > 0 && *s; n--)
        for (s++; (*s & 0xc0) == 0x80; s++)
            ;
    return s;
}

static int64_t utf8_len(const char *s)
{
    int64_t n = 0;
    for (; *s; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}

struct slice {
    int64_t from, to;
};

/* The bounds within `n` things; false where they are not known. */
static bool slice_bounds(struct param *p, int64_t n, struct slice *s,
                         const char **mark)
{
    const char *text = p->op + 1, *colon = slice_colon(text);
    struct bash_number from = slice_number(
        p, text, colon ? (size_t)(colon - text) : strlen(text));
    struct bash_number len = {n, NULL};
    if (colon)
        len = slice_number(p, colon + 1, strlen(colon + 1));
    *mark = from.mark ? from.mark : len.mark;
    s->from = from.value < 0 ? from.value + n : from.value;
    if (s->from < 0 || s->from > n)
        s->from = n;
    s->to = len.value < 0 ? n + len.value
            : len.value > n - s->from ? n
                                      : s->from + len.value;
    s->to = s->to < s->from ? s->from : s->to;
    return !*mark;
}

static void op_slice_text(struct param *p, struct bash_words *out)
{
    const char *text = bash_plain(p->sh, p->value.item[0].text, false);
    const char *mark = bash_first_unknown(p->sh, text);
    struct slice s;
    if (!*text && *p->value.item[0].text) {
        *out = p->value;
    } else if (mark || !slice_bounds(p, utf8_len(text), &s, &mark)) {
        bash_words_add(p->sh, out, mark, false, false);
    } else {
        const char *from = utf8_at(text, s.from);
        const char *to = utf8_at(from, s.to - s.from);
        bash_words_add(p->sh, out,
                       bash_strndup(p->sh, from, (size_t)(to - from)), false,
                       false);
    }
}

/* ${@:2}: $0 is element 0 of the positional parameters. */
static void op_slice_list(struct param *p, struct bash_words *out)
{
    struct bash_words all = {0};
    struct slice s;
    const char *mark = NULL;
    if (strchr("@*", *p->name))
        bash_words_add(p->sh, &all, p->sh->at.script, false, false);
    for (size_t i = 0; i < p->value.n; i++)
        bash_words_copy(p->sh, &all, &p->value.item[i]);
    const struct bash_var *v = bash_list_of(p->sh, &all);
    if (!slice_bounds(p, (int64_t)bash_count(v), &s, &mark)) {
        bash_words_add(p->sh, out, mark, false, true);
        return;
    }
    for (size_t i = 0; i < all.n; i++)
        if (all.item[i].index >= s.from && all.item[i].index < s.to)
            bash_words_copy(p->sh, out, &all.item[i]);
}

/* ---- - = ? + ---- */

/* Does the operator take its word? */
static enum bash_known takes_word(struct param *p, bool colon)
{
    enum bash_known empty = p->set == BASH_NO ? BASH_YES : BASH_NO;
    if (p->set == BASH_MAYBE)
        empty = BASH_MAYBE;
    else if (colon && p->set == BASH_YES)
        empty = p->value.n == 0   ? BASH_YES
                : p->value.n == 1 ? bash_is_empty(p->sh, p->value.item[0].text)
                                  : BASH_NO;
    return empty;
}

static void put_word(struct param *p, const char *text,
                     struct bash_param_use *use, struct bash_field_text *to)
{
    struct bash_field_text f = {0};
    bash_expand(p->sh, text, p->quoted ? BASH_X_OPERAND : BASH_X_WORD, &f);
    for (size_t i = 0; i < f.n; i++)
        bash_field_put(p->sh, to, f.s + i, 1,
                       f.q[i] == BASH_Q_LITERAL ? BASH_Q_SPLIT
                                                : (enum bash_quote)f.q[i]);
    use->empty_list = use->empty_list || false;
}

static void op_assign(struct param *p, const char *word,
                      struct bash_param_use *use, struct bash_field_text *to)
{
    struct bash_raw w = {word, p->sh->at.line};
    const char *text = bash_expand_text(
        p->sh, w, p->quoted ? BASH_X_OPERAND : BASH_X_VALUE);
    struct bash_words one = {0};
    bash_words_add(p->sh, &one, text, false, false);
    if (p->index)
        bash_set_element(p->sh, p->name, param_key(p),
                         strtol(param_key(p), NULL, 10), text);
    else if (bash_is_name(p->name, strlen(p->name)))
        bash_set(p->sh, p->name, text);
    param_emit(p, &one, use, to);
}

/* ${x:?}: what is not set ends the script. */
static void op_demand(struct param *p, const char *word)
{
    struct bash *sh = p->sh;
    bash_note(sh, "%s is not set: bash ends the script here (%s)", p->shown,
              bash_readable(sh, word));
    if (sh->flow == BASH_GO) {
        sh->flow = BASH_EXIT;
        sh->ended = bash_keep_text(
            sh, bash_printf(sh, "%s is not set", p->shown));
        sh->ended_line = sh->at.line;
    }
    bash_set_status(sh, 1);
}

/* True when the operator was one of these. */
static bool param_default(struct param *p, struct bash_param_use *use,
                          struct bash_field_text *to)
{
    bool colon = *p->op == ':';
    char op = p->op[colon];
    const char *word = p->op + colon + 1;
    if (!op || !strchr("-=?+", op))
        return false;
    enum bash_known takes = takes_word(p, colon);
    if (op == '+') {
        if (takes == BASH_NO)
            put_word(p, word, use, to);
        else if (takes == BASH_MAYBE)
            param_emit(p, &p->value, use, to);
    } else if (takes != BASH_YES) {
        param_emit(p, &p->value, use, to);
    } else if (op == '-') {
        put_word(p, word, use, to);
    } else if (op == '=') {
        op_assign(p, word, use, to);
    } else {
        op_demand(p, word);
    }
    return true;
}

/* ---- the whole ---- */

static void param_length(struct param *p, struct bash_words *out)
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
        n = utf8_len(bash_plain(sh, p->value.item[0].text, true));
    bash_words_add(sh, out,
                   mark ? mark : bash_printf(sh, "%lld", (long long)n), false,
                   false);
}

static void param_apply(struct param *p, struct bash_param_use *use,
                        struct bash_field_text *to)
{
    struct bash_words out = {0};
    if (!*p->op) {
        param_emit(p, &p->value, use, to);
        return;
    }
    if (param_default(p, use, to))
        return;
    if (*p->op == ':' && p->list) {
        op_slice_list(p, &out);
    } else if (*p->op == ':') {
        op_slice_text(p, &out);
    } else {
        for (size_t i = 0; i < p->value.n; i++)
            bash_words_add(p->sh, &out, op_text(p, p->value.item[i].text),
                           p->value.item[i].ghost, p->value.item[i].loose);
    }
    param_emit(p, &out, use, to);
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
static void param_keys(struct param *p)
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
static void param_indirect(struct param *p)
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
    p->index = name[n] ? bash_strndup(sh, name + n + 1,
                                      strcspn(name + n + 1, "]"))
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
static void param_braced(struct bash *sh, const char *inner, struct param *p,
                         struct bash_param_use *use, struct bash_field_text *to)
{
    const char *at = inner;
    bool length = *at == '#' && at[1] && !strchr("}:-=?+#%/", at[1]);
    bool indirect = *at == '!' && at[1] && !strchr("}:-=?+#%/", at[1]);
    at += length || indirect;
    p->name = take_name(sh, &at, true);
    if (!p->name) {
        bash_field_puts(sh, to,
                        bash_unknown(sh, p->shown, "bash refuses it"),
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
        param_emit(p, &out, use, to);
        return;
    }
    param_apply(p, use, to);
}

void bash_param(struct bash *sh, struct bash_param_use *use,
                struct bash_field_text *to)
{
    struct param p = {.sh = sh, .op = "", .quoted = use->quoted};
    const char *from = use->p;
    bash_enter(sh);
    if (*from != '{') {
        p.name = take_name(sh, &use->p, false);
        p.shown = bash_printf(sh, "$%s", p.name);
        param_lookup(&p);
        param_emit(&p, &p.value, use, to);
    } else {
        const char *end = bash_dollar_end(sh, from - 1, use->quoted);
        size_t n = end ? (size_t)(end - from) : strlen(from);
        const char *inner =
            n > 2 ? bash_strndup(sh, from + 1, n - 2) : "";
        p.shown = bash_strndup(sh, from - 1, n + 1);
        use->p = from + n;
        param_braced(sh, inner, &p, use, to);
    }
    bash_leave(sh);
}
