/*
 * How it works: one pass over the word as written. Each character goes to the
 * result with what its quotes were; substitutions put their text there in the
 * same way, and splitting happens at the end, on what was not quoted.
 */
#include "expand.h"

#include "arith.h"
#include "eval.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct expansion {
    struct bash *sh;
    const char *start, *p;
    enum bash_expand_mode mode;
    struct bash_field_text *to;
    bool empty_list;
};

static bool x_quoted(const struct expansion *x)
{
    return x->mode != BASH_X_WORD && x->mode != BASH_X_VALUE;
}

static enum bash_quote x_quote(const struct expansion *x)
{
    return x_quoted(x) ? BASH_Q_QUOTED : BASH_Q_LITERAL;
}

/* ---- $'...' ---- */

/* A code point as UTF-8; marks' own characters cannot be told from marks. */
static void put_code(struct bash *sh, struct bash_text *t, unsigned long c)
{
    if (c < 0x80) {
        bash_putc(sh, t, c == 1 || c == 2 ? '?' : (char)c);
    } else if (c < 0x800) {
        bash_putc(sh, t, (char)(0xc0 | c >> 6));
        bash_putc(sh, t, (char)(0x80 | (c & 63)));
    } else {
        bash_putc(sh, t, (char)(0xe0 | (c >> 12 & 15)));
        bash_putc(sh, t, (char)(0x80 | (c >> 6 & 63)));
        bash_putc(sh, t, (char)(0x80 | (c & 63)));
    }
}

/* Digits of the base behind p, at most `most`; *p moves. */
static unsigned long take_digits(const char **p, int base, int most)
{
    char text[12] = "";
    int n = 0;
    while (n < most && isxdigit((unsigned char)(*p)[n]) &&
           (base == 16 || ((*p)[n] >= '0' && (*p)[n] < '8'))) {
        text[n] = (*p)[n];
        n++;
    }
    *p += n;
    return strtoul(text, NULL, base);
}

/* The letters of bash(1), "QUOTING"; others keep their backslash. */
static void put_escape(struct bash *sh, struct bash_text *t, const char **p)
{
    static const char from[] = "abefnrtv\\'\"?E";
    static const char into[] = "\a\b\033\f\n\r\t\v\\'\"?\033";
    char c = *(*p)++;
    const char *at = strchr(from, c);
    if (c && at) {
        bash_putc(sh, t, into[at - from]);
    } else if (c == 'x') {
        bash_putc(sh, t, (char)take_digits(p, 16, 2));
    } else if (c == 'u' || c == 'U') {
        put_code(sh, t, take_digits(p, 16, c == 'u' ? 4 : 8));
    } else if (c >= '0' && c < '8') {
        (*p)--;
        put_code(sh, t, take_digits(p, 8, 3) & 127);
    } else {
        bash_putc(sh, t, '\\');
        *p -= c == '\0';
        if (c)
            bash_putc(sh, t, c);
    }
}

/* $'...' in scripts, and the escapes of echo -e. */
const char *bash_ansi(struct bash *sh, const char *from, const char *to)
{
    struct bash_text t = {0};
    for (const char *p = from; p < to;) {
        if (*p == '\\' && p + 1 < to) {
            p++;
            put_escape(sh, &t, &p);
        } else {
            bash_putc(sh, &t, *p++);
        }
    }
    // a zero ends the text, as in bash
    return bash_text_of(&t);
}

/* An empty one is a word all the same, which the mark says. */
static void expand_ansi(struct expansion *x)
{
    const char *from = x->p + 2, *end = from;
    while (*end && *end != '\'')
        end += *end == '\\' && end[1] ? 2 : 1;
    bash_field_mark(x->sh, x->to, BASH_Q_NULL);
    bash_field_puts(x->sh, x->to, bash_ansi(x->sh, from, end), BASH_Q_QUOTED);
    x->p = *end ? end + 1 : end;
}

/* ---- substitutions ---- */

/* Text of a substitution, which splits unless it is quoted. */
static void put_result(struct expansion *x, const char *text)
{
    bash_field_puts(x->sh, x->to, text,
                    x_quoted(x) ? BASH_Q_QUOTED : BASH_Q_SPLIT);
}

/* $((...)) or $[...]: p is at the '$', `from` behind the brackets. */
static void expand_math(struct expansion *x, const char *from, const char *end)
{
    const char *shown = bash_strndup(x->sh, x->p, (size_t)(end - x->p));
    const char *text = bash_strndup(x->sh, from, (size_t)(end - from));
    struct bash_field_text inner = {0};
    bash_expand(x->sh, text, BASH_X_OPERAND, &inner);
    struct bash_number v = bash_math(x->sh, bash_field_text(x->sh, &inner),
                                     bash_printf(x->sh, "%s))", shown));
    put_result(x, v.mark ? v.mark
                         : bash_printf(x->sh, "%lld", (long long)v.value));
}

/* `...`: backslashes before $, ` and \ are taken away. */
static const char *backtick_text(struct expansion *x, const char *end)
{
    struct bash_text t = {0};
    for (const char *p = x->p + 1; p < end - 1; p++) {
        if (*p == '\\' &&
            (strchr("$`\\", p[1]) || (p[1] == '"' && x->mode == BASH_X_QUOTED)))
            p++;
        bash_putc(x->sh, &t, *p);
    }
    return bash_text_of(&t);
}

/* What commands print is the value; they are read as any others. */
static void expand_command(struct expansion *x)
{
    struct bash *sh = x->sh;
    const char *end = bash_dollar_end(sh, x->p, x_quoted(x));
    if (!end) { // the script's parser took it, so it is within a text made
        put_result(x, bash_unknown(sh, bash_readable(sh, x->p),
                                   "its commands cannot be read"));
        x->p += strlen(x->p);
        return;
    }
    const char *shown = bash_strndup(sh, x->p, (size_t)(end - x->p));
    const char *text =
        *x->p == '`' ? backtick_text(x, end)
                     : bash_strndup(sh, x->p + 2, (size_t)(end - x->p) - 3);
    put_result(x, bash_capture(sh, text, shown));
    x->p = end;
}

/* "$@" of no words vanishes with its quotes, where "$1" would leave an empty
 * word. */
static void expand_param(struct expansion *x)
{
    struct bash_param_use use = {x->p + 1, x_quoted(x), false};
    bash_param(x->sh, &use, x->to);
    x->p = use.p;
    x->empty_list = x->empty_list || use.empty_list;
}

/* What a $ begins; one that begins nothing stands for itself. */
static void expand_dollar(struct expansion *x)
{
    const char *p = x->p, *end = NULL;
    if (p[1] == '(' && p[2] == '(' && (end = bash_math_end(p + 3))) {
        expand_math(x, p + 3, end);
        x->p = end + 2;
    } else if (p[1] == '[' && (end = strchr(p, ']'))) {
        expand_math(x, p + 2, end);
        x->p = end + 1;
    } else if (p[1] == '(') {
        expand_command(x);
    } else if (p[1] == '\'' && !x_quoted(x)) {
        expand_ansi(x);
    } else if (p[1] == '"' && !x_quoted(x)) {
        x->p++; // $"...": no translation
    } else if (bash_is_param(p + 1)) {
        expand_param(x);
    } else {
        bash_field_put(x->sh, x->to, "$", 1, x_quote(x));
        x->p++;
    }
}

/* <(...): a name under which the output can be read again. */
static void expand_process(struct expansion *x)
{
    struct bash *sh = x->sh;
    bool reads = *x->p == '<';
    const char *shown = x->p;
    const char *end =
        bash_dollar_end(sh, bash_printf(sh, "$%s", x->p + 1), false);
    // the copy began with '$' instead of '<': lengths are equal
    size_t n = strlen(x->p), rest = end ? strlen(end) : 0;
    const char *text =
        n >= rest + 3 ? bash_strndup(sh, x->p + 2, n - rest - 3) : "";
    const char *name = bash_printf(sh, "/dev/fd/%d", 63 - sh->n_streams % 50);
    sh->n_streams++;
    if (reads)
        bash_set(sh, bash_printf(sh, "%s%s", BASH_FILE_PREFIX, name),
                 bash_printf(sh, "%s\n",
                             bash_capture(sh, text,
                                          bash_strndup(sh, shown, n - rest))));
    bash_field_puts(sh, x->to, name, BASH_Q_QUOTED);
    x->p += n - rest;
}

/* ---- quotes ---- */

/* "" is a word although it has no character, but "$@" without elements is
 * none. */
static void expand_double(struct expansion *x)
{
    struct expansion in = *x;
    size_t n = x->to->n;
    in.mode = BASH_X_QUOTED;
    in.empty_list = false;
    in.p++;
    while (*in.p && *in.p != '"') {
        if (*in.p == '\\' && in.p[1] && strchr("$`\"\\\n", in.p[1])) {
            if (in.p[1] != '\n')
                bash_field_put(x->sh, x->to, in.p + 1, 1, BASH_Q_QUOTED);
            in.p += 2;
        } else if (*in.p == '$') {
            expand_dollar(&in);
        } else if (*in.p == '`') {
            expand_command(&in);
        } else {
            bash_field_put(x->sh, x->to, in.p++, 1, BASH_Q_QUOTED);
        }
    }
    if (x->to->n == n && !in.empty_list)
        bash_field_mark(x->sh, x->to, BASH_Q_NULL);
    x->p = *in.p ? in.p + 1 : in.p;
}

/* Nothing is special within, not even a backslash. */
static void expand_single(struct expansion *x)
{
    const char *end = strchr(x->p + 1, '\'');
    size_t n = end ? (size_t)(end - x->p) - 1 : strlen(x->p + 1);
    bash_field_mark(x->sh, x->to, BASH_Q_NULL);
    bash_field_put(x->sh, x->to, x->p + 1, n, BASH_Q_QUOTED);
    x->p += n + 1 + (end != NULL);
}

/* Within double quotes a backslash before other characters stays. */
static void expand_backslash(struct expansion *x)
{
    const char *p = x->p;
    const char *special = x->mode == BASH_X_HEREDOC ? "$`\\\n" : "$`\"\\\n}";
    if (p[1] == '\n') {
        x->p += 2;
    } else if (p[1] && (!x_quoted(x) || strchr(special, p[1]))) {
        bash_field_put(x->sh, x->to, p + 1, 1, BASH_Q_QUOTED);
        x->p += 2;
    } else {
        bash_field_put(x->sh, x->to, p, 1, BASH_Q_QUOTED);
        x->p++;
    }
}

/* Of another user, or without HOME: that is of the machine. */
static void expand_tilde(struct expansion *x)
{
    size_t n = strcspn(x->p, "/: ");
    const char *home = n == 1 ? bash_get_text(x->sh, "HOME") : NULL;
    if (!home)
        home = bash_unknown(x->sh, bash_strndup(x->sh, x->p, n),
                            "it is the home folder of who runs the script");
    bash_field_puts(x->sh, x->to, home, BASH_Q_QUOTED);
    x->p += n;
}

/* Only at the beginning of a word, and behind the colons of a value:
 * PATH=~/a:~/b. */
static bool at_tilde(const struct expansion *x)
{
    bool first =
        x->p == x->start || (x->mode == BASH_X_VALUE && x->p[-1] == ':');
    return *x->p == '~' && !x_quoted(x) && first &&
           x->p[1 + strspn(x->p + 1,
                           "abcdefghijklmnopqrstuvwxyz0123456789_-")] != '~';
}

/* NAME=<your path>: bash refuses it, so the value is still to be given. */
static void expand_placeholder(struct expansion *x)
{
    size_t n = bash_placeholder(x->p);
    const char *text = bash_strndup(x->sh, x->p, n);
    bash_note(x->sh, "%s is to be filled in: bash refuses it as it stands",
              text);
    put_result(x, bash_unknown(x->sh, text, "it is to be filled in"));
    x->p += n;
}

/* Expansion never looks at its own results: a $ in a value stays one. */
void bash_expand(struct bash *sh, const char *text, enum bash_expand_mode mode,
                 struct bash_field_text *to)
{
    struct expansion x = {sh, text, text, mode, to, false};
    bash_enter(sh);
    while (*x.p) {
        if (*x.p == '\\')
            expand_backslash(&x);
        else if (*x.p == '$')
            expand_dollar(&x);
        else if (*x.p == '`')
            expand_command(&x);
        else if (*x.p == '"' && mode == BASH_X_OPERAND)
            x.p++;
        else if (*x.p == '"' && !x_quoted(&x))
            expand_double(&x);
        else if (*x.p == '\'' && !x_quoted(&x))
            expand_single(&x);
        else if ((*x.p == '<' || *x.p == '>') && x.p[1] == '(' && x.p == text &&
                 mode == BASH_X_WORD)
            expand_process(&x);
        else if (at_tilde(&x))
            expand_tilde(&x);
        else if (*x.p == '<' && !x_quoted(&x) && bash_placeholder(x.p))
            expand_placeholder(&x);
        else
            bash_field_put(sh, to, x.p++, 1, x_quote(&x));
    }
    bash_leave(sh);
}

/* ---- braces ---- */

struct brace {
    struct bash_raw w; // the word
    const char *open, *close;
    size_t commas;
};

/* Behind a quote, substitution or escaped character at p; p + 1 else. */
static const char *brace_skip(struct bash *sh, const char *p)
{
    const char *end = NULL;
    if (*p == '\\' && p[1])
        return p + 2;
    if (*p == '\'') {
        end = strchr(p + 1, '\'');
        return end ? end + 1 : p + strlen(p);
    }
    if (*p == '"') {
        for (p++; *p && *p != '"';)
            p = *p == '\'' ? p + 1 : brace_skip(sh, p);
        return *p ? p + 1 : p;
    }
    if ((*p == '$' && (p[1] == '{' || p[1] == '(')) || *p == '`')
        end = bash_dollar_end(sh, p, false);
    return end ? end : p + 1;
}

/* Is {...} a range, x..y or x..y..step? */
static bool brace_is_range(const struct brace *b)
{
    const char *p = b->open + 1;
    const char *dots = strstr(p, "..");
    if (!dots || dots >= b->close || dots == p)
        return false;
    for (; p < b->close; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '+' && *p != '.')
            return false;
    return isalnum((unsigned char)b->close[-1]);
}

/* {a} and {} are no braces to bash: a comma or a range must be within. */
static bool brace_close(struct bash *sh, struct brace *b)
{
    int depth = 1;
    b->commas = 0;
    for (const char *p = b->open + 1; *p;) {
        depth += (*p == '{') - (*p == '}');
        if (depth == 0) {
            b->close = p;
            return b->commas > 0 || brace_is_range(b);
        }
        b->commas += *p == ',' && depth == 1;
        p = brace_skip(sh, p);
    }
    // many that nothing closes are looked for to the end, each of them
    bash_work(sh, strlen(b->open));
    return false;
}

/* The first pair that is an expansion: {} and {a} are none, and stay. */
static bool brace_find(struct bash *sh, const char *text, struct brace *b)
{
    for (const char *p = text; *p; p = brace_skip(sh, p)) {
        bash_work(sh, 1);
        if (*p != '{')
            continue;
        b->open = p;
        if (brace_close(sh, b))
            return true;
        if (sh->flow != BASH_GO)
            return false;
    }
    return false;
}

static void brace_each(struct bash *sh, struct bash_raw w,
                       struct bash_words *to);

static void brace_one(struct bash *sh, const struct brace *b,
                      const char *middle, size_t n, struct bash_words *to);

/* {1..4}, {a..e}, {01..10}, {1..9..2} */
static void brace_range(struct bash *sh, const struct brace *b,
                        struct bash_words *to)
{
    const char *dots = strstr(b->open, ".."), *more = strstr(dots + 2, "..");
    const char *from = b->open + 1;
    bool letters = isalpha((unsigned char)*from);
    long lo = letters ? *from : strtol(from, NULL, 10);
    long hi = letters ? dots[2] : strtol(dots + 2, NULL, 10);
    long step = more && more < b->close ? strtol(more + 2, NULL, 10) : 1;
    step = step == 0 ? 1 : labs(step);
    bool padded = (*from == '0' && dots - from > 1) ||
                  (dots[2] == '0' && b->close - dots > 3);
    size_t width = padded ? (size_t)(dots - from) : 0;
    if (padded && (size_t)(b->close - dots) - 2 > width && !more)
        width = (size_t)(b->close - dots) - 2;
    for (long i = lo; lo <= hi ? i <= hi : i >= hi;
         i += lo <= hi ? step : -step) {
        const char *text =
            letters
                ? bash_printf(sh, "%c", (int)i)
                : bash_printf(sh, "%0*ld", (int)(width > 20 ? 20 : width), i);
        brace_one(sh, b, text, strlen(text), to);
    }
}

/* The rest may hold braces, too: each word goes through again. */
static void brace_one(struct bash *sh, const struct brace *b,
                      const char *middle, size_t n, struct bash_words *to)
{
    struct bash_text t = {0};
    bash_step(sh);
    bash_put(sh, &t, b->w.text, (size_t)(b->open - b->w.text));
    bash_put(sh, &t, middle, n);
    bash_puts(sh, &t, b->close + 1);
    brace_each(sh, (struct bash_raw){bash_text_of(&t), b->w.line}, to);
}

/* Braces come first, on the text as written: {1..$n} is no range. */
static void brace_each(struct bash *sh, struct bash_raw w,
                       struct bash_words *to)
{
    struct brace b = {.w = w};
    if (!strchr(w.text, '{') || !brace_find(sh, w.text, &b)) {
        struct bash_field_text f = {0};
        bash_expand(sh, w.text, BASH_X_WORD, &f);
        bash_split(sh, &f, to);
        return;
    }
    bash_enter(sh);
    if (!b.commas)
        brace_range(sh, &b, to);
    const char *from = b.open + 1;
    int depth = 0;
    for (const char *p = from; b.commas && p <= b.close;) {
        if (p == b.close || (*p == ',' && depth == 0)) {
            brace_one(sh, &b, from, (size_t)(p - from), to);
            from = p + 1;
        }
        depth += (*p == '{') - (*p == '}');
        p = p == b.close ? p + 1 : brace_skip(sh, p);
    }
    bash_leave(sh);
}

/* ---- words ---- */

/* Braces first: they make words before anything else is known of these. */
void bash_expand_words(struct bash *sh, struct bash_raw w,
                       struct bash_words *to)
{
    sh->at.line = w.line;
    bash_step(sh);
    brace_each(sh, w, to);
}

const char *bash_expand_text(struct bash *sh, struct bash_raw w,
                             enum bash_expand_mode mode)
{
    struct bash_field_text f = {0};
    sh->at.line = w.line;
    bash_expand(sh, w.text, mode, &f);
    return bash_field_text(sh, &f);
}

/* Quoted parts stand for themselves in a pattern. */
const char *bash_expand_pattern(struct bash *sh, struct bash_raw w)
{
    struct bash_field_text f = {0};
    sh->at.line = w.line;
    bash_expand(sh, w.text, BASH_X_VALUE, &f);
    return bash_field_pattern(sh, &f);
}
