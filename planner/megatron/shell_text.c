/*
 * How it works: one word at a time is read from the raw text. Plain and quoted
 * characters go into a buffer; an expansion is looked up and its value goes
 * the same way, cut at blanks when it stands outside quotes. Every byte that
 * an expansion yields counts against one limit, so that a script that doubles
 * a variable again and again is refused and not followed.
 */
#include "shell_text.h"

#include "shell_math.h"

#include <stdio.h>
#include <string.h>

// no script of a real model comes near; a variable counts, because finding one
// takes time, too
enum { SHELL_MAX_BYTES = 4 << 20, SHELL_VAR_BYTES = 256 };
enum { SHELL_MAX_DEPTH = 24, SHELL_MAX_NAME = 128 };

/* A word that grows; `open` when it exists although it may be empty. */
struct buffer {
    char *data;
    size_t n, cap;
    bool open;
};

static bool shell_text_fail(struct shell *s, bool nomem)
{
    s->failed = true;
    s->nomem = s->nomem || nomem;
    return false;
}

/* Bytes that expansions wrote, and a pointer for each word. */
static bool shell_text_spend(struct shell *s, size_t bytes)
{
    s->used += bytes;
    return s->used <= SHELL_MAX_BYTES || shell_text_fail(s, false);
}

static void shell_text_put(struct shell *s, struct buffer *b, char c)
{
    if (!shell_text_spend(s, 1))
        return;
    if (b->n + 2 > b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 32;
        char *data = arena_alloc(s->arena, cap, 1);
        if (!data) {
            shell_text_fail(s, true);
            return;
        }
        if (b->n)
            memcpy(data, b->data, b->n);
        b->data = data;
        b->cap = cap;
    }
    b->data[b->n++] = c;
    b->open = true;
}

static bool add_word(struct shell *s, struct shell_words *w, const char *text)
{
    if (!shell_text_spend(s, sizeof *w->word))
        return false;
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 8;
        const char **word = arena_alloc(s->arena, cap, sizeof *word);
        if (!word)
            return shell_text_fail(s, true);
        if (w->n)
            memcpy(word, w->word, w->n * sizeof *word);
        w->word = word;
        w->cap = cap;
    }
    w->word[w->n++] = text;
    return true;
}

/* Ends the word in the buffer, if there is one. */
static void shell_text_cut(struct shell *s, struct buffer *b,
                           struct shell_words *out)
{
    if (b->open)
        add_word(s, out, b->n ? b->data : "");
    *b = (struct buffer){0};
}

/* A value outside quotes is cut at blanks, as IFS has them; inside quotes an
 * empty value is still a word. */
static void shell_text_put_text(struct shell *s, struct buffer *b,
                                const char *text, bool quoted,
                                struct shell_words *out)
{
    b->open = b->open || quoted;
    for (; *text && !s->failed; text++) {
        if (!quoted && strchr(" \t\n", *text))
            shell_text_cut(s, b, out);
        else
            shell_text_put(s, b, *text);
    }
}

/* ---- variables ---- */

const struct shell_var *shell_get(const struct shell *s, const char *name,
                                  size_t len)
{
    for (const struct shell_var *v = s->vars; v; v = v->next)
        if (strlen(v->name) == len && memcmp(v->name, name, len) == 0)
            return v;
    return NULL;
}

bool shell_unknown(const char *text)
{
    return strchr(text, SHELL_UNKNOWN) != NULL;
}

/* The variable of that name, made where there is none. */
static struct shell_var *shell_text_variable(struct shell *s, const char *name,
                                             size_t len)
{
    for (struct shell_var *v = s->vars; v; v = v->next)
        if (strlen(v->name) == len && memcmp(v->name, name, len) == 0)
            return v;
    struct shell_var *v = arena_alloc(s->arena, 1, sizeof *v);
    char *copy = arena_strndup(s->arena, name, len);
    if (!v || !copy || !shell_text_spend(s, SHELL_VAR_BYTES)) {
        shell_text_fail(s, !v || !copy);
        return NULL;
    }
    *v = (struct shell_var){.name = copy, .next = s->vars};
    s->vars = v;
    return v;
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') ||
           p[n] == '_' || (n && p[n] >= '0' && p[n] <= '9'))
        n++;
    return n;
}

/* ---- expansions ---- */

struct target {
    struct buffer *b;
    struct shell_words *out;
    bool quoted;
};

/* Puts what only running could tell: the mark and the source text. */
static void put_unknown(struct shell *s, const struct target *t,
                        const char *from, const char *to)
{
    shell_text_put(s, t->b, SHELL_UNKNOWN);
    for (; from < to && !s->failed; from++)
        // one word, whatever the source has: it stands where a value was
        shell_text_put(s, t->b, *from == ' ' || *from == '\n' ? '_' : *from);
}

/* How much of an array: the first word, each word apart, all as one text. */
enum extent { SHELL_FIRST, SHELL_EACH, SHELL_JOINED };

/* "${a[@]}" makes a word of each element, "${a[*]}" one of all; outside quotes
 * both are cut. */
static void put_var(struct shell *s, const struct shell_var *v,
                    enum extent extent, const struct target *t)
{
    size_t n = extent != SHELL_FIRST || v->value.n < 1 ? v->value.n : 1;
    for (size_t i = 0; i < n && !s->failed; i++) {
        if (i && t->quoted && extent == SHELL_EACH)
            shell_text_cut(s, t->b, t->out);
        else if (i)
            shell_text_put_text(s, t->b, " ", t->quoted, t->out);
        shell_text_put_text(s, t->b, v->value.word[i], t->quoted, t->out);
    }
}

/* The bracket that closes the one before `p`, or the end of the text. */
static const char *shell_text_closing(const char *p, char open, char close)
{
    int depth = 1;
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            continue;
        }
        depth += *p == open;
        depth -= *p == close;
        if (depth == 0)
            return p;
    }
    return p;
}

static const char *shell_text_expand(struct shell *s, const char *p,
                                     const struct target *t);

/* Raw text inside ${NAME:-...}: quotes drop, expansions happen. */
static void put_raw(struct shell *s, const char *p, const char *end,
                    const struct target *t)
{
    while (p < end && !s->failed) {
        if (*p == '$') {
            p = shell_text_expand(s, p, t);
        } else if (*p == '"' || *p == '\'') {
            t->b->open = true;
            p++;
        } else {
            char one[2] = {*p++, '\0'};
            shell_text_put_text(s, t->b, one, t->quoted, t->out);
        }
    }
}

/* ${...}; `p` behind the brace, `end` at the closing one. Of bash's operators
 * those that choose a value are followed: `-` and `=` (default), `+` (only if
 * set); with a colon an empty variable counts as not set. Others (`#`, `%`,
 * `/`, `^`) change the text: not known. */
static void shell_text_brace(struct shell *s, const char *p, const char *end,
                             const struct target *t)
{
    size_t len = name_length(p);
    const struct shell_var *v = len ? shell_get(s, p, len) : NULL;
    const char *rest = p + len;
    bool set = v && v->value.n > 0;
    enum extent all = strncmp(rest, "[@]", 3) == 0   ? SHELL_EACH
                      : strncmp(rest, "[*]", 3) == 0 ? SHELL_JOINED
                                                     : SHELL_FIRST;
    rest += all == SHELL_FIRST ? 0 : 3;
    bool colon = rest < end && *rest == ':';
    if (colon)
        set = set && *v->value.word[0];
    char op = rest + colon < end ? rest[colon] : '\0';
    // ${1:-default}: a script read here was given no arguments
    bool digits = len == 0 && *p >= '0' && *p <= '9';
    if (digits && (p[1] == '-' || p[1] == ':')) {
        rest = p + 1;
        colon = *rest == ':';
        op = rest[colon];
    }
    if (rest == end && set)
        put_var(s, v, all, t);
    // "${a[@]}" of an array that is not set is no word at all
    else if (rest == end && all != SHELL_FIRST)
        t->b->open = t->b->open && t->quoted;
    else if ((op == '-' || op == '=') && set)
        put_var(s, v, all, t);
    else if (op == '-' || op == '=')
        put_raw(s, rest + colon + 1, end, t);
    else if (op == '+' && set)
        put_raw(s, rest + colon + 1, end, t);
    else if (op != '+')
        put_unknown(s, t, p - 2, *end ? end + 1 : end);
}

static const char *shell_text_lookup(const void *data, const char *name,
                                     size_t len)
{
    const struct shell_var *v = shell_get(data, name, len);
    return v && v->value.n ? v->value.word[0] : NULL;
}

static const char *shell_text_arithmetic(struct shell *s, const char *p,
                                         const struct target *t)
{
    const char *end = shell_text_closing(p, '(', ')');
    const struct shell_math_text math = {p, end, shell_text_lookup, s};
    int64_t value = 0;
    if (shell_math(&math, &value)) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)value);
        shell_text_put_text(s, t->b, text, t->quoted, t->out);
    } else {
        put_unknown(s, t, p - 3, end + strspn(end, ")"));
    }
    end += *end == ')';
    return end + (*end == ')');
}

/* $NAME and the special parameters; `p` behind the dollar. */
static const char *plain_name(struct shell *s, const char *p,
                              const struct target *t)
{
    size_t len = name_length(p);
    if (len) {
        const struct shell_var *v = shell_get(s, p, len);
        if (v)
            put_var(s, v, SHELL_FIRST, t);
        else
            put_unknown(s, t, p - 1, p + len);
        return p + len;
    }
    if (*p == '@' || *p == '*')
        return p + 1;
    if (*p && strchr("0123456789#?$!-", *p)) {
        put_unknown(s, t, p - 1, p + 1);
        return p + 1;
    }
    shell_text_put_text(s, t->b, "$", true, t->out);
    return p;
}

/* One expansion; `p` at the dollar. Returns what follows it. */
static const char *shell_text_expand(struct shell *s, const char *p,
                                     const struct target *t)
{
    const char *end;
    if (s->depth >= SHELL_MAX_DEPTH) {
        shell_text_fail(s, false);
        return p + strlen(p);
    }
    s->depth++;
    p++;
    if (*p == '{') {
        end = shell_text_closing(p + 1, '{', '}');
        shell_text_brace(s, p + 1, end, t);
        p = end + (*end == '}');
    } else if (p[0] == '(' && p[1] == '(') {
        p = shell_text_arithmetic(s, p + 2, t);
    } else if (*p == '(') {
        end = shell_text_closing(p + 1, '(', ')');
        put_unknown(s, t, p - 1, *end ? end + 1 : end);
        p = end + (*end == ')');
    } else {
        p = plain_name(s, p, t);
    }
    s->depth--;
    return p;
}

/* ---- words ---- */

/* POSIX 2.2.3: within double quotes a backslash escapes only $ ` " \ and
 * newline. */
static const char *double_quotes(struct shell *s, const char *p,
                                 struct buffer *b, struct shell_words *out)
{
    const struct target t = {b, out, true};
    b->open = true;
    while (*p && *p != '"' && !s->failed) {
        if (*p == '$') {
            p = shell_text_expand(s, p, &t);
        } else if (*p == '\\' && p[1] == '\n') {
            p += 2;
        } else {
            p += *p == '\\' && p[1] && strchr("$`\"\\", p[1]);
            shell_text_put(s, b, *p++);
        }
    }
    return p + (*p == '"');
}

static const char *single_quotes(struct shell *s, const char *p,
                                 struct buffer *b)
{
    b->open = true;
    while (*p && *p != '\'')
        shell_text_put(s, b, *p++);
    return p + (*p == '\'');
}

static const char *shell_text_backquotes(struct shell *s, const char *p,
                                         struct buffer *b,
                                         struct shell_words *out)
{
    const struct target t = {b, out, true};
    const char *end = strchr(p + 1, '`');
    end = end ? end + 1 : p + strlen(p);
    put_unknown(s, &t, p, end);
    return end;
}

/* One raw word from `p`, expanded into zero or more words of `out`. */
static const char *read_word(struct shell *s, const char *p,
                             struct shell_words *out)
{
    struct buffer b = {0};
    const struct target t = {&b, out, false};
    while (*p && !strchr(" \t\r\n;&|()<>", *p) && !s->failed) {
        if (*p == '"')
            p = double_quotes(s, p + 1, &b, out);
        else if (*p == '\'')
            p = single_quotes(s, p + 1, &b);
        else if (*p == '`')
            p = shell_text_backquotes(s, p, &b, out);
        else if (*p == '$')
            p = shell_text_expand(s, p, &t);
        else if (*p == '\\' && p[1] == '\n')
            p += 2;
        else {
            // a backslash outside quotes keeps any next character
            p += *p == '\\' && p[1];
            shell_text_put(s, &b, *p++);
        }
    }
    shell_text_cut(s, &b, out);
    return s->failed ? p + strlen(p) : p;
}

/* Also comments: where a word may begin, so may a '#'. */
static const char *skip_blanks(const char *p, bool lines)
{
    for (;;) {
        size_t n = strspn(p, lines ? " \t\r\n" : " \t\r");
        if (p[n] == '\\' && p[n + 1] == '\n')
            p += n + 2;
        else if (p[n] == '\\' && p[n + 1] == '\r' && p[n + 2] == '\n')
            p += n + 3;
        else if (p[n] == '#')
            p += n + strcspn(p + n, "\n");
        else if (n)
            p += n;
        else
            return p;
    }
}

/* ---- assignments ---- */

/* Length of `NAME`, when `p` holds NAME= or NAME+=; else 0. */
static size_t assigned_name(const char *p)
{
    size_t n = name_length(p);
    bool is = n && n < SHELL_MAX_NAME &&
              (p[n] == '=' || (p[n] == '+' && p[n + 1] == '='));
    return is ? n : 0;
}

static const char *read_array(struct shell *s, const char *p,
                              struct shell_words *out)
{
    p = skip_blanks(p, true);
    while (*p && *p != ')' && !s->failed) {
        const char *next = read_word(s, p, out);
        // an operator has no place here: pass over it
        p = skip_blanks(next > p ? next : p + 1, true);
    }
    return p + (*p == ')');
}

/* NAME+=text appends to the text; of an array, to its first element. */
static void shell_text_join(struct shell *s, struct shell_words *old,
                            const char *more)
{
    char *both =
        arena_printf(s->arena, "%s%s", old->n ? old->word[0] : "", more);
    if (!both) {
        shell_text_fail(s, true);
        return;
    }
    *old = (struct shell_words){0};
    if (shell_text_spend(s, strlen(both)))
        add_word(s, old, both);
}

static const char *shell_text_assign(struct shell *s, const char *p, size_t len,
                                     bool act)
{
    bool append = p[len] == '+';
    const char *name = p;
    struct shell_words value = {0};
    p += len + 1 + append;
    bool array = *p == '(';
    p = array ? read_array(s, p + 1, &value) : read_word(s, p, &value);
    struct shell_var *v =
        act && !s->failed ? shell_text_variable(s, name, len) : NULL;
    if (!v)
        return p;
    if (!append) {
        v->value = (struct shell_words){0};
        v->array = array;
    }
    if (!array) {
        // values outside quotes are not cut at blanks: join what was cut
        const char *text = value.n ? value.word[0] : "";
        for (size_t i = 1; i < value.n && text; i++)
            text = arena_printf(s->arena, "%s %s", text, value.word[i]);
        if (text)
            shell_text_join(s, &v->value, text);
    }
    for (size_t i = 0; array && i < value.n; i++)
        add_word(s, &v->value, value.word[i]);
    return p;
}

/* ---- commands ---- */

/* Body of a here-document is no command: pass over it. */
static const char *skip_here(struct shell *s, const char *p)
{
    struct shell_words end = {0};
    p += *p == '-';
    p = read_word(s, skip_blanks(p, false), &end);
    const char *line = strchr(p, '\n');
    while (line && end.n) {
        const char *text = line + 1 + strspn(line + 1, "\t");
        size_t n = strlen(end.word[0]);
        line = strchr(line + 1, '\n');
        if (n && strncmp(text, end.word[0], n) == 0 &&
            (text[n] == '\n' || text[n] == '\0'))
            return text + n;
    }
    return end.n && end.word[0][0] ? p + strlen(p) : p;
}

static const char *shell_text_redirection(struct shell *s, const char *p)
{
    struct shell_words file = {0};
    if (p[0] == '<' && p[1] == '<' && p[2] != '<')
        return skip_here(s, p + 2);
    p += strspn(p, "<>&|");
    return read_word(s, skip_blanks(p, false), &file);
}

/* Reads the operator at `p`. */
static enum shell_end operator_at(const char **p)
{
    const char *q = *p;
    char c = *q;
    bool twice = c && q[1] == c;
    *p += c == '\0' ? 0 : twice && strchr("&|;", c) ? 2 : 1;
    if (c == '\0')
        return SHELL_EOF;
    if (twice && c == '&')
        return SHELL_AND;
    if (twice && c == '|')
        return SHELL_OR;
    if (twice && c == ';')
        return SHELL_CASE_END;
    return c == ')' ? SHELL_CLOSE : SHELL_SEPARATOR;
}

static bool shell_text_declares(const struct shell_words *w)
{
    static const char *const words[] = {"export", "local", "declare",
                                        "readonly", "typeset"};
    for (size_t i = 0; w->n > 0 && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(w->word[0], words[i]) == 0)
            return true;
    return false;
}

/* Keywords after which a command of its own begins. */
static bool is_keyword(const struct shell_words *w)
{
    static const char *const words[] = {"then", "do", "else", "{", "}"};
    for (size_t i = 0; w->n == 1 && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(w->word[0], words[i]) == 0)
            return true;
    return false;
}

enum shell_end shell_command(struct shell *s, const char **p, bool act,
                             struct shell_words *out)
{
    while (!s->failed) {
        const char *q = skip_blanks(*p, false);
        size_t name =
            out->n == 0 || shell_text_declares(out) ? assigned_name(q) : 0;
        // 2>&1: digits before an operator are its file descriptor
        const char *was = q, *fd = q + strspn(q, "0123456789");
        if (fd > q && (*fd == '<' || *fd == '>'))
            q = shell_text_redirection(s, fd);
        else if (name)
            q = shell_text_assign(s, q, name, act);
        else if (*q == '<' || *q == '>' || (*q == '&' && q[1] == '>'))
            q = shell_text_redirection(s, q);
        else
            q = read_word(s, q, out);
        *p = q;
        if (is_keyword(out))
            return SHELL_SEPARATOR;
        if (q == was && *q != '(')
            return operator_at(p);
        if (q == was)
            ++*p;
    }
    *p += strlen(*p);
    return SHELL_EOF;
}

enum err shell_status(const struct shell *s, const char *where,
                      struct err_msg *msg)
{
    if (!s->failed)
        return ERR_OK;
    if (s->nomem)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return err_set(msg, ERR_RANGE,
                   "%s: variables expand to more than %d MB or nest deeper "
                   "than %d",
                   where, SHELL_MAX_BYTES >> 20, SHELL_MAX_DEPTH);
}
