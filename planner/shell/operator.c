/*
 * How it works: an operator on texts is applied to each element of the
 * parameter; what is not known stays a mark, what is not set stays its mark.
 */
#include "operator.h"

#include "arith.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- operators ---- */

static const char *param_pattern(struct bash_param_of *p, const char *text)
{
    struct bash_raw w = {text, p->sh->at.line};
    return bash_plain(p->sh, bash_expand_pattern(p->sh, w), false);
}

/* # ## % %%: the shortest or longest piece that the pattern matches. */
static const char *cut_piece(struct bash_param_of *p, const char *text,
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
static const char *replace_all(struct bash_param_of *p, const char *text,
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

/* // replaces all, /# and /% only at the beginning or end, / the first. */
static const char *op_replace(struct bash_param_of *p, const char *text)
{
    const char *from = p->op + 1;
    from += *from && strchr("/#%", *from) && from[1] ? 1 : 0;
    bool all = from > p->op + 1 && from[-1] == '/';
    size_t n = pattern_len(from, all);
    const char *pattern = param_pattern(p, bash_strndup(p->sh, from, n));
    struct bash_raw w = {from[n] ? from + n + 1 : "", p->sh->at.line};
    const char *with = bash_expand_text(p->sh, w, BASH_X_VALUE);
    if (from == p->op + 1) { // one: the kind is no sign of a pattern
        struct bash_param_of one = *p;
        one.op = "/ ";
        return replace_all(&one, text, pattern, with);
    }
    return replace_all(p, text, pattern, with);
}

/* ^ and , change the first character, ^^ and ,, all, where the pattern
 * matches it. */
static const char *op_case(struct bash_param_of *p, const char *text)
{
    bool all = p->op[1] == p->op[0];
    const char *pattern =
        p->op[1 + all] ? param_pattern(p, p->op + 1 + all) : "?";
    char *copy = bash_strndup(p->sh, text, strlen(text));
    for (size_t i = 0; copy[i] && (all || i == 0); i++)
        if (bash_match(p->sh, pattern, copy + i, 1))
            copy[i] = (char)(*p->op == '^' ? toupper((unsigned char)copy[i])
                                           : tolower((unsigned char)copy[i]));
    return copy;
}

/* @Q and others: only quoting and case are known. */
static const char *op_transform(struct bash_param_of *p, const char *text)
{
    struct bash_param_of up = *p;
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
const char *bash_op_text(struct bash_param_of *p, const char *text)
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

/* Bounds are arithmetic and may hold variables. */
static struct bash_number slice_number(struct bash_param_of *p,
                                       const char *from, size_t n)
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

/* Characters: bytes that continue one do not count. */
int64_t bash_utf8_len(const char *s)
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
static bool slice_bounds(struct bash_param_of *p, int64_t n, struct slice *s,
                         const char **mark)
{
    const char *text = p->op + 1, *colon = slice_colon(text);
    struct bash_number from =
        slice_number(p, text, colon ? (size_t)(colon - text) : strlen(text));
    struct bash_number len = {n, NULL};
    if (colon)
        len = slice_number(p, colon + 1, strlen(colon + 1));
    *mark = from.mark ? from.mark : len.mark;
    s->from = from.value < 0 ? from.value + n : from.value;
    if (s->from < 0 || s->from > n)
        s->from = n;
    s->to = len.value < 0             ? n + len.value
            : len.value > n - s->from ? n
                                      : s->from + len.value;
    s->to = s->to < s->from ? s->from : s->to;
    return !*mark;
}

/* By characters and not bytes, as in a UTF-8 locale. */
void bash_op_slice_text(struct bash_param_of *p, struct bash_words *out)
{
    const char *text = bash_plain(p->sh, p->value.item[0].text, false);
    const char *mark = bash_first_unknown(p->sh, text);
    struct slice s;
    if (!*text && *p->value.item[0].text) {
        *out = p->value;
    } else if (mark || !slice_bounds(p, bash_utf8_len(text), &s, &mark)) {
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
void bash_op_slice_list(struct bash_param_of *p, struct bash_words *out)
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
    // what stands behind a piece of unknown length has no place of its own
    mark = s.to > 0 ? bash_loose_mark(p->sh, v, s.to - 1) : NULL;
    if (mark) {
        bash_words_add(p->sh, out, mark, false, true);
        return;
    }
    for (size_t i = 0; i < all.n; i++)
        if (all.item[i].index >= s.from && all.item[i].index < s.to)
            bash_words_copy(p->sh, out, &all.item[i]);
}

/* ---- - = ? + ---- */

/* Does the operator take its word? */
static enum bash_known takes_word(struct bash_param_of *p, bool colon)
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

/* Quotes within the word count: ${x:-"a b"} is one word, ${x:-a b} two. */
static void put_word(struct bash_param_of *p, const char *text,
                     struct bash_field_text *to)
{
    struct bash_field_text f = {0};
    bash_expand(p->sh, text, p->quoted ? BASH_X_OPERAND : BASH_X_WORD, &f);
    for (size_t i = 0; i < f.n; i++)
        bash_field_put(p->sh, to, f.s + i, 1,
                       f.q[i] == BASH_Q_LITERAL ? BASH_Q_SPLIT
                                                : (enum bash_quote)f.q[i]);
}

/* ${x:=d}: assigns, and is its value. */
static void op_assign(struct bash_param_of *p, const char *word,
                      struct bash_param_use *use, struct bash_field_text *to)
{
    struct bash_raw w = {word, p->sh->at.line};
    const char *text =
        bash_expand_text(p->sh, w, p->quoted ? BASH_X_OPERAND : BASH_X_VALUE);
    struct bash_words one = {0};
    bash_words_add(p->sh, &one, text, false, false);
    if (p->index)
        bash_set_element(p->sh, p->name, bash_param_key(p),
                         strtol(bash_param_key(p), NULL, 10), text);
    else if (bash_is_name(p->name, strlen(p->name)))
        bash_set(p->sh, p->name, text);
    bash_param_emit(p, &one, use, to);
}

/* ${x:?}: what is not set ends the script. */
static void op_demand(struct bash_param_of *p, const char *word)
{
    struct bash *sh = p->sh;
    bash_note(sh, "%s is not set: bash ends the script here (%s)", p->shown,
              bash_readable(sh, word));
    if (sh->flow == BASH_GO)
        bash_end(sh, bash_printf(sh, "%s is not set", p->shown));
    bash_set_status(sh, 1);
}

/* True when the operator was one of these. */
bool bash_param_default(struct bash_param_of *p, struct bash_param_use *use,
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
            put_word(p, word, to);
        else if (takes == BASH_MAYBE)
            bash_param_emit(p, &p->value, use, to);
    } else if (takes != BASH_YES) {
        bash_param_emit(p, &p->value, use, to);
    } else if (op == '-') {
        put_word(p, word, to);
    } else if (op == '=') {
        op_assign(p, word, use, to);
    } else {
        op_demand(p, word);
    }
    return true;
}
