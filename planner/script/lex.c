/*
 * How it works: where a word ends is decided by what it holds: quotes, and
 * substitutions, whose commands are parsed to find their ')' (a case inside
 * has such of its own). The trees of that are dropped: words keep their text.
 */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn void bash_syntax(struct bash_parser *ps, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ps->error = bash_printf(ps->sh, "%s", text);
    longjmp(ps->stop, 1);
}

/* Trees of files outlive the way that parsed them, those of texts which the
 * script made do not. */
void *bash_parse_alloc(struct bash_parser *ps, size_t count, size_t size)
{
    return ps->kept ? bash_keep(ps->sh, count, size)
                    : bash_alloc(ps->sh, count, size);
}

struct bash_parser bash_parser_of(struct bash *sh, const char *text, int line)
{
    return (struct bash_parser){.sh = sh, .p = text, .line = line};
}

/* ---- blanks and lines ---- */

/* A comment begins only where a word could: a#b is a word. */
void bash_skip_blanks(struct bash_parser *ps)
{
    for (;;) {
        if (*ps->p == ' ' || *ps->p == '\t') {
            ps->p++;
        } else if (ps->p[0] == '\\' && ps->p[1] == '\n') {
            ps->p += 2;
            ps->line++;
        } else {
            break;
        }
    }
    if (*ps->p == '#')
        ps->p += strcspn(ps->p, "\n");
}

/* The delimiter without its quotes. */
static const char *heredoc_end(struct bash_parser *ps, struct bash_redirect *r)
{
    struct bash_text t = {0};
    for (const char *p = r->target.text; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '\'' || *p == '"' || *p == '\\')
            continue;
        bash_putc(ps->sh, &t, *p);
    }
    r->quoted = strpbrk(r->target.text, "'\"\\") != NULL;
    return bash_text_of(&t);
}

/* Reads the body that begins at p; "<<-" drops leading tabs. */
static void read_heredoc(struct bash_parser *ps, struct bash_redirect *r)
{
    bool tabs = r->fd < 0;
    const char *end = heredoc_end(ps, r);
    size_t n_end = strlen(end);
    struct bash_text body = {0};
    if (tabs)
        r->fd = 0;
    while (*ps->p) {
        const char *line = ps->p;
        size_t n = strcspn(line, "\n");
        ps->p += n + (line[n] == '\n');
        ps->line++;
        while (tabs && n && *line == '\t') {
            line++;
            n--;
        }
        if (n == n_end && strncmp(line, end, n) == 0)
            break;
        bash_put(ps->sh, &body, line, n);
        bash_putc(ps->sh, &body, '\n');
    }
    char *copy = bash_parse_alloc(ps, body.n + 1, 1);
    memcpy(copy, bash_text_of(&body), body.n);
    r->body = copy;
}

/* Bodies of here-documents begin behind the line that asks for them, in the
 * order of asking. */
void bash_take_newline(struct bash_parser *ps)
{
    ps->p++;
    ps->line++;
    for (int i = 0; i < ps->n_waiting; i++) {
        ps->waiting[i]->target.line = ps->line;
        read_heredoc(ps, ps->waiting[i]);
    }
    ps->n_waiting = 0;
}

void bash_skip_lines(struct bash_parser *ps)
{
    bash_skip_blanks(ps);
    while (*ps->p == '\n') {
        bash_take_newline(ps);
        bash_skip_blanks(ps);
    }
}

/* ---- quotes and substitutions ---- */

/* Lines are counted wherever text is passed over, or all places behind
 * would be off. */
static void lex_next(struct bash_parser *ps)
{
    ps->line += *ps->p == '\n';
    ps->p++;
}

/* Moves behind the next `c` that no backslash precedes (where they count). */
static void skip_to(struct bash_parser *ps, char c, bool backslash)
{
    int line = ps->line;
    while (*ps->p && *ps->p != c) {
        if (backslash && *ps->p == '\\' && ps->p[1])
            lex_next(ps);
        lex_next(ps);
    }
    if (!*ps->p) {
        ps->line = line;
        bash_syntax(ps, "a %c without its end", c);
    }
    ps->p++;
}

/* The parser nests by the text's own brackets: ((((... */
static void lex_enter(struct bash_parser *ps)
{
    if (++ps->depth > BASH_MAX_DEPTH) {
        ps->sh->at.line = ps->line;
        bash_fail(ps->sh, ERR_RANGE, "nested more than %d deep",
                  BASH_MAX_DEPTH);
    }
}

/* Behind "\"": up to the end of the double quotes. */
static void skip_double(struct bash_parser *ps)
{
    int line = ps->line;
    lex_enter(ps);
    while (*ps->p && *ps->p != '"') {
        if (*ps->p == '\\' && ps->p[1]) {
            lex_next(ps);
            lex_next(ps);
        } else if (*ps->p == '$' || *ps->p == '`') {
            bash_skip_dollar(ps, true);
        } else {
            lex_next(ps);
        }
    }
    if (!*ps->p) {
        ps->line = line;
        bash_syntax(ps, "a \" without its end");
    }
    ps->p++;
    ps->depth--;
}

/* Single quotes know no backslash, double ones hold substitutions with
 * quotes of their own. */
void bash_skip_quote(struct bash_parser *ps)
{
    char c = *ps->p++;
    if (c == '"')
        skip_double(ps);
    else
        skip_to(ps, c, false);
}

/* Behind "${": up to its '}'. */
static void skip_braces(struct bash_parser *ps, bool quoted)
{
    int line = ps->line;
    lex_enter(ps);
    while (*ps->p && *ps->p != '}') {
        if (*ps->p == '\\' && ps->p[1]) {
            lex_next(ps);
            lex_next(ps);
        } else if (*ps->p == '"' || (*ps->p == '\'' && !quoted)) {
            bash_skip_quote(ps);
        } else if (*ps->p == '$' || *ps->p == '`') {
            bash_skip_dollar(ps, quoted);
        } else {
            lex_next(ps);
        }
    }
    if (!*ps->p) {
        ps->line = line;
        bash_syntax(ps, "a ${ without its }");
    }
    ps->p++;
    ps->depth--;
}

/* $((a) | b) is a subshell within $(...): the first ')' at depth 0 must
 * have its twin right behind. */
const char *bash_math_end(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '(')
            depth++;
        else if (*p == ')' && depth > 0)
            depth--;
        else if (*p == ')')
            return p[1] == ')' ? p : NULL;
    }
    return NULL;
}

/* Behind "((": behind "))", where it is arithmetic. */
static bool skip_math(struct bash_parser *ps)
{
    const char *end = bash_math_end(ps->p);
    bash_work(ps->sh, end ? (size_t)(end - ps->p) : strlen(ps->p));
    if (!end)
        return false;
    while (ps->p < end + 2)
        lex_next(ps);
    return true;
}

/* Behind "(": the commands up to the ')'. */
static void skip_commands(struct bash_parser *ps)
{
    bool kept = ps->kept, pattern = ps->pattern;
    ps->kept = ps->pattern = false;
    bash_parse_paren(ps);
    ps->kept = kept;
    ps->pattern = pattern;
}

/* Within double quotes, $'...' is a dollar and a quoted text. */
void bash_skip_dollar(struct bash_parser *ps, bool quoted)
{
    char c = *ps->p++;
    if (c == '`') {
        skip_to(ps, '`', true);
    } else if (ps->p[0] == '(' && ps->p[1] == '(') {
        ps->p += 2;
        if (!skip_math(ps)) {
            ps->p--;
            skip_commands(ps);
        }
    } else if (*ps->p == '(') {
        ps->p++;
        skip_commands(ps);
    } else if (*ps->p == '{') {
        ps->p++;
        skip_braces(ps, quoted);
    } else if (*ps->p == '\'' && !quoted) {
        ps->p++;
        skip_to(ps, '\'', true);
    }
}

/* The script's own text was parsed whole, so that only texts of eval and
 * the like fail here. */
const char *bash_dollar_end(struct bash *sh, const char *p, bool quoted)
{
    struct bash_parser ps = bash_parser_of(sh, p, sh->at.line);
    if (setjmp(ps.stop))
        return NULL;
    bash_skip_dollar(&ps, quoted);
    return ps.p;
}

/* Longer operators stand first. */
size_t bash_redirect_operator(const char *p, struct bash_redirect *r)
{
    static const struct {
        const char *text;
        enum bash_redirect_kind kind;
        int fd; // where no number stands before it
    } table[] = {
        {"<<<", BASH_HERESTRING, 0}, {"<<-", BASH_HEREDOC, -1},
        {"<<", BASH_HEREDOC, 0},     {"<&", BASH_DUPLICATE, 0},
        {"<>", BASH_DUPLICATE, 0},   {"<", BASH_FROM_FILE, 0},
        {"&>>", BASH_APPEND, -1},    {"&>", BASH_TO_FILE, -1},
        {">>", BASH_APPEND, 1},      {">&", BASH_DUPLICATE, 1},
        {">|", BASH_TO_FILE, 1},     {">", BASH_TO_FILE, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t n = strlen(table[i].text);
        if (strncmp(p, table[i].text, n) == 0) {
            r->kind = table[i].kind;
            r->fd = table[i].fd;
            return n;
        }
    }
    return 0;
}

/* ---- words ---- */

/* Metacharacters of bash(1), and the end of the text. */
static bool lex_ends_word(char c)
{
    return c == '\0' || strchr(" \t\n|&;()<>", c) != NULL;
}

/* NAME= or NAME+= or NAME[...]= between `from` and `to`. */
static bool lex_assigns(const char *from, const char *to)
{
    const char *p = from;
    if (to - from < 2 || to[-1] != '=' || (*p >= '0' && *p <= '9'))
        return false;
    while (p < to && (*p == '_' || (*p >= '0' && *p <= '9') ||
                      (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')))
        p++;
    if (p == from)
        return false;
    if (*p == '[')
        return to[-2] == ']' || (to[-2] == '+' && to[-3] == ']');
    return p == to - 1 || (p == to - 2 && *p == '+');
}

/* Behind "(" of NAME=( or ?(: up to its ')', words and line ends between. */
static void skip_list(struct bash_parser *ps, bool pattern)
{
    lex_enter(ps);
    for (;;) {
        if (!pattern)
            bash_skip_lines(ps);
        if (*ps->p == ')')
            break;
        if (!*ps->p)
            bash_syntax(ps, "a ( without its )");
        if (pattern && (*ps->p == '|' || *ps->p == ' '))
            ps->p++;
        else if (!bash_skip_word(ps))
            bash_syntax(ps, "'%c' inside of ( ): in a value it wants quotes",
                        *ps->p);
    }
    ps->p++;
    ps->depth--;
}

/* NAME[ at the word's start, closed before = or +=: behind its ']'. */
static const char *lex_index_end(const char *from, const char *p)
{
    int depth = 0;
    if (p == from || *p != '[' || (*from >= '0' && *from <= '9'))
        return NULL;
    for (const char *q = from; q < p; q++)
        if (*q != '_' && !(*q >= '0' && *q <= '9') &&
            !(*q >= 'a' && *q <= 'z') && !(*q >= 'A' && *q <= 'Z'))
            return NULL;
    for (; *p && *p != '\n' && !strchr("$`\"'", *p); p++) {
        depth += (*p == '[') - (*p == ']');
        if (depth == 0)
            return p[1] == '=' || (p[1] == '+' && p[2] == '=') ? p + 1 : NULL;
    }
    return NULL;
}

/* Only where patterns stand: elsewhere a '(' behind a word is an error or a
 * function. */
static bool lex_pattern_opens(const struct bash_parser *ps)
{
    return ps->pattern && ps->p[0] && strchr("?*+@!", ps->p[0]) &&
           ps->p[1] == '(';
}

/* Public scripts hold DATA=<path>, to be filled in; bash reads it as
 * redirections and fails with a message of syntax that helps nobody. */
size_t bash_placeholder(const char *p)
{
    if (p[0] != '<' ||
        !((p[1] >= 'a' && p[1] <= 'z') || (p[1] >= 'A' && p[1] <= 'Z')))
        return 0;
    size_t n = 1 + strcspn(p + 1, "<>|&;()$`\"'\\\n");
    if (p[n] != '>' || (p[n + 1] && !strchr(" \t\n/", p[n + 1])))
        return 0;
    // what follows in bash's eyes is a redirection without its file
    size_t rest = n + 1 + strspn(p + n + 1, " \t");
    return p[n + 1] == '/' || !p[rest] || p[rest] == '\n' || p[rest] == '#'
               ? n + 1
               : 0;
}

/* One piece of a word; false at its end. */
static bool skip_piece(struct bash_parser *ps, const char *from)
{
    char c = *ps->p;
    const char *index = c == '[' ? lex_index_end(from, ps->p) : NULL;
    if (index) {
        ps->p = index;
    } else if (c == '<' && ps->p > from && ps->p[-1] == '=' &&
               bash_placeholder(ps->p)) {
        ps->p += bash_placeholder(ps->p);
    } else if (c == '\\' && ps->p[1]) {
        lex_next(ps);
        lex_next(ps);
    } else if (c == '\'' || c == '"') {
        bash_skip_quote(ps);
    } else if (c == '$' || c == '`') {
        bash_skip_dollar(ps, false);
    } else if ((c == '<' || c == '>') && ps->p[1] == '(' && from == ps->p) {
        ps->p += 2;
        skip_commands(ps);
    } else if (lex_pattern_opens(ps)) {
        ps->p += 2;
        skip_list(ps, true);
    } else if (c == '(' && lex_assigns(from, ps->p)) {
        ps->p++;
        bool pattern = ps->pattern;
        ps->pattern = false;
        skip_list(ps, false);
        ps->pattern = pattern;
    } else if (lex_ends_word(c)) {
        return false;
    } else {
        ps->p++;
    }
    return true;
}

bool bash_skip_word(struct bash_parser *ps)
{
    const char *from = ps->p;
    bash_step(ps->sh);
    while (skip_piece(ps, from))
        ;
    bash_work(ps->sh, (size_t)(ps->p - from));
    return ps->p > from;
}

struct bash_raw bash_take_word(struct bash_parser *ps)
{
    const char *from = ps->p;
    struct bash_raw w = {"", ps->line};
    if (!bash_skip_word(ps))
        return w;
    char *copy = bash_parse_alloc(ps, (size_t)(ps->p - from) + 1, 1);
    memcpy(copy, from, (size_t)(ps->p - from));
    w.text = copy;
    return w;
}

void *bash_parse_grow(struct bash_parser *ps, void *old, size_t n, size_t size)
{
    // full at 0 and at powers of two from 4
    if (n && (n < 4 || (n & (n - 1))))
        return old;
    void *grown = bash_parse_alloc(ps, n ? 2 * n : 4, size);
    if (n)
        memcpy(grown, old, n * size);
    return grown;
}

/* Behind =~ bash takes a bar and parentheses as parts of the expression. */
struct bash_raw bash_take_cond_word(struct bash_parser *ps, bool regex)
{
    const char *from = ps->p;
    struct bash_raw w = {"", ps->line};
    int depth = 0;
    if (!regex)
        return bash_take_word(ps);
    while (*ps->p && *ps->p != '\n' && (depth > 0 || !strchr(" \t", *ps->p))) {
        depth += (*ps->p == '(') - (*ps->p == ')');
        if (depth < 0)
            break;
        if (*ps->p == '\'' || *ps->p == '"')
            bash_skip_quote(ps);
        else if (*ps->p == '$' && ps->p[1] && strchr("({", ps->p[1]))
            bash_skip_dollar(ps, false);
        else
            ps->p += *ps->p == '\\' && ps->p[1] ? 2 : 1;
    }
    char *copy = bash_parse_alloc(ps, (size_t)(ps->p - from) + 1, 1);
    memcpy(copy, from, (size_t)(ps->p - from));
    w.text = copy;
    return w;
}

/* ---- words of an array ---- */

/* Twice over the same text, first to count: a word is taken the same way both
 * times. */
static size_t count_words(struct bash_parser *ps, struct bash_raw *to)
{
    size_t n = 0;
    for (;;) {
        bash_skip_lines(ps);
        if (!*ps->p)
            return n;
        struct bash_raw w = bash_take_word(ps);
        if (!*w.text)
            bash_syntax(ps, "'%c' inside of ( ): in a value it wants quotes",
                        *ps->p);
        if (to)
            to[n] = w;
        n++;
    }
}

/* Line ends between the words of NAME=( ) are blanks, comments go. */
struct bash_raw *bash_words_of(struct bash *sh, const char *text, int line,
                               size_t *n)
{
    struct bash_parser ps = bash_parser_of(sh, text, line);
    *n = 0;
    if (setjmp(ps.stop))
        return NULL;
    size_t count = count_words(&ps, NULL);
    struct bash_raw *words = bash_alloc(sh, count + 1, sizeof *words);
    ps.p = text;
    ps.line = line;
    count_words(&ps, words);
    *n = count;
    return words;
}
