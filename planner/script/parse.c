/*
 * How it works: recursive descent on the characters; words are taken by lex.c.
 * A keyword is a word without quotes where a command begins. Lists grow in
 * arrays of doubled size.
 */
#include "parse.h"

#include <ctype.h>
#include <string.h>

static const struct bash_node *parse_list(struct bash_parser *ps);
static const struct bash_node *parse_andor(struct bash_parser *ps);

/* ---- growing lists ---- */

static void add_word(struct bash_parser *ps, struct bash_node *n,
                     struct bash_raw w)
{
    n->word = bash_parse_grow(ps, n->word, n->n_words, sizeof *n->word);
    n->word[n->n_words++] = w;
}

static void add_child(struct bash_parser *ps, struct bash_node *n,
                      const struct bash_node *child)
{
    n->child = bash_parse_grow(ps, n->child, n->n_children, sizeof *n->child);
    n->child[n->n_children++] = child;
}

/* The text pointer is set first and copied when the end of the node is
 * known (parse_set_text()). */
static struct bash_node *parse_new(struct bash_parser *ps,
                                   enum bash_node_kind kind)
{
    struct bash_node *n = bash_parse_alloc(ps, 1, sizeof *n);
    n->kind = kind;
    n->line = ps->line;
    n->text = ps->p;
    return n;
}

/* From where the node began up to here, without blanks at the end. */
static void parse_set_text(struct bash_parser *ps, struct bash_node *n)
{
    const char *from = n->text;
    size_t len = (size_t)(ps->p - from);
    while (len && strchr(" \t\n;", from[len - 1]))
        len--;
    len = len > 200 ? 200 : len;
    char *copy = bash_parse_alloc(ps, len + 1, 1);
    memcpy(copy, from, len);
    n->text = copy;
}

/* ---- keywords ---- */

/* A keyword must be followed by what ends a word: "done;" is one, "donee"
 * is not. */
static bool parse_at(const struct bash_parser *ps, const char *keyword)
{
    size_t n = strlen(keyword);
    return strncmp(ps->p, keyword, n) == 0 &&
           (ps->p[n] == '\0' || strchr(" \t\n;|&()<>", ps->p[n]));
}

static bool parse_take(struct bash_parser *ps, const char *keyword)
{
    if (!parse_at(ps, keyword))
        return false;
    ps->p += strlen(keyword);
    return true;
}

/* The message names where the construct began: that line is wrong more
 * often than the one where bash gives up. */
static void parse_want(struct bash_parser *ps, const char *keyword,
                       const struct bash_node *of)
{
    bash_skip_lines(ps);
    if (parse_take(ps, keyword))
        return;
    size_t n = strcspn(ps->p, "\n");
    bash_syntax(ps, "found '%.*s', want '%s' of what begins in line %d",
                (int)(n > 40 ? 40 : n), n ? ps->p : "the end", keyword,
                of->line);
}

/* Does what stands here end a list of commands? */
static bool parse_closes(const struct bash_parser *ps)
{
    static const char *const closing[] = {"then", "elif", "else", "fi",
                                          "do",   "done", "esac", "}"};
    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; i++)
        if (parse_at(ps, closing[i]))
            return true;
    return *ps->p == ')' || *ps->p == '\0' ||
           (ps->p[0] == ';' && (ps->p[1] == ';' || ps->p[1] == '&'));
}

/* ---- redirections ---- */

/* Takes a redirection, with the number or {name} before it. */
static bool parse_redirect(struct bash_parser *ps, struct bash_node *n)
{
    struct bash_redirect r = {0};
    const char *p = ps->p;
    int fd = 0;
    while (isdigit((unsigned char)*p) && p - ps->p < 4)
        fd = 10 * fd + *p++ - '0';
    bool number = p > ps->p;
    if (*p == '{') {
        p++;
        while (isalnum((unsigned char)*p) || *p == '_')
            p++;
        number = *p == '}';
        fd = 10;
        p += number;
    }
    size_t len = bash_redirect_operator(p, &r);
    if (!len || ((*p == '<' || *p == '>') && p[1] == '(') ||
        (*p == '&' && number))
        return false;
    if (number && r.kind != BASH_HEREDOC)
        r.fd = fd;
    ps->p = p + len;
    bash_skip_blanks(ps);
    r.target = bash_take_word(ps);
    if (!*r.target.text)
        bash_syntax(ps, "a redirection without its file");
    n->redirect = bash_parse_grow(ps, n->redirect, n->n_redirects, sizeof r);
    n->redirect[n->n_redirects++] = r;
    return true;
}

/* Here-documents are read at the end of the line: into the node's own list,
 * which no longer grows then. */
static void parse_await(struct bash_parser *ps, const struct bash_node *n)
{
    for (size_t i = 0; i < n->n_redirects; i++) {
        if (n->redirect[i].kind != BASH_HEREDOC)
            continue;
        if (ps->n_waiting == 8)
            bash_syntax(ps, "more than 8 here-documents in a line");
        ps->waiting[ps->n_waiting++] = &n->redirect[i];
    }
}

/* ---- commands ---- */

/* Redirections may stand anywhere: >log cmd arg 2>&1. */
static struct bash_node *parse_simple(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_SIMPLE);
    for (;;) {
        bash_skip_blanks(ps);
        if (parse_redirect(ps, n))
            continue;
        struct bash_raw w = bash_take_word(ps);
        if (!*w.text)
            break;
        add_word(ps, n, w);
    }
    if (!n->n_words && !n->n_redirects)
        bash_syntax(ps, "found '%.*s', want a command", (int)(*ps->p ? 1 : 7),
                    *ps->p ? ps->p : "the end");
    return n;
}

/* bash takes braces for do and done, though its manual does not say so. */
static const struct bash_node *parse_do(struct bash_parser *ps,
                                        const struct bash_node *of)
{
    bash_skip_lines(ps);
    if (parse_take(ps, "{")) {
        const struct bash_node *b = parse_list(ps);
        parse_want(ps, "}", of);
        return b;
    }
    parse_want(ps, "do", of);
    const struct bash_node *body = parse_list(ps);
    parse_want(ps, "done", of);
    return body;
}

/* An elif is an if in the else branch, which shares the last fi. */
static struct bash_node *parse_if(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_IF);
    ps->p += strcspn(ps->p, " \t\n;|&()<>\\"); // if, elif
    n->a = parse_list(ps);
    parse_want(ps, "then", n);
    n->b = parse_list(ps);
    bash_skip_lines(ps);
    if (parse_at(ps, "elif")) {
        n->c = parse_if(ps);
        return n;
    }
    if (parse_take(ps, "else"))
        n->c = parse_list(ps);
    parse_want(ps, "fi", n);
    return n;
}

static struct bash_node *parse_while(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_WHILE);
    n->negated = *ps->p == 'u';
    ps->p += 5;
    n->a = parse_list(ps);
    n->b = parse_do(ps, n);
    return n;
}

/* for ((a; b; c)) */
static struct bash_node *parse_for_math(struct bash_parser *ps,
                                        struct bash_node *n)
{
    const char *end = bash_math_end(ps->p + 2);
    if (!end)
        bash_syntax(ps, "for (( without its ))");
    n->kind = BASH_FORMATH;
    const char *from = ps->p + 2;
    for (int i = 0; i < 3; i++) {
        const char *to = i < 2 ? memchr(from, ';', (size_t)(end - from)) : end;
        if (!to)
            bash_syntax(ps, "for (( )) without its two ;");
        size_t len = to ? (size_t)(to - from) : 0;
        char *copy = bash_parse_alloc(ps, len + 1, 1);
        memcpy(copy, from, len);
        add_word(ps, n, (struct bash_raw){copy, ps->line});
        from += len + 1;
    }
    ps->p = end + 2;
    bash_skip_blanks(ps);
    if (*ps->p == ';')
        ps->p++;
    n->b = parse_do(ps, n);
    return n;
}

/* for NAME [in WORDS] and select: they are parsed alike. */
static struct bash_node *parse_for(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, *ps->p == 's' ? BASH_SELECT : BASH_FOR);
    ps->p += *ps->p == 's' ? 6 : 3;
    bash_skip_blanks(ps);
    if (ps->p[0] == '(' && ps->p[1] == '(')
        return parse_for_math(ps, n);
    add_word(ps, n, bash_take_word(ps));
    bash_skip_lines(ps);
    if (parse_take(ps, "in")) {
        n->has_list = true;
        for (bash_skip_blanks(ps); *ps->p && *ps->p != ';' && *ps->p != '\n';
             bash_skip_blanks(ps)) {
            struct bash_raw w = bash_take_word(ps);
            if (!*w.text)
                bash_syntax(ps, "'%c' in the list of a for", *ps->p);
            add_word(ps, n, w);
        }
    }
    bash_skip_blanks(ps);
    if (*ps->p == ';')
        ps->p++;
    n->b = parse_do(ps, n);
    return n;
}

/* ';;' ends the case, ';&' goes on with the next body, ';;&' tests on. */
static void parse_item(struct bash_parser *ps, struct bash_node *n)
{
    struct bash_item it = {.end = ';'};
    if (*ps->p == '(')
        ps->p++;
    ps->pattern = true;
    do {
        bash_skip_blanks(ps);
        struct bash_raw w = bash_take_word(ps);
        if (!*w.text)
            bash_syntax(ps, "'%c' in a pattern of a case", *ps->p);
        it.pattern = bash_parse_grow(ps, it.pattern, it.n_patterns, sizeof w);
        it.pattern[it.n_patterns++] = w;
        bash_skip_blanks(ps);
    } while (*ps->p == '|' && ps->p++);
    ps->pattern = false;
    if (*ps->p != ')')
        bash_syntax(ps, "a pattern of a case without its )");
    ps->p++;
    it.body = parse_list(ps);
    bash_skip_lines(ps);
    if (ps->p[0] == ';' && (ps->p[1] == ';' || ps->p[1] == '&')) {
        it.end = ps->p[1] == '&' ? '&' : ps->p[2] == '&' ? '?' : ';';
        ps->p += it.end == '?' ? 3 : 2;
    }
    n->item = bash_parse_grow(ps, n->item, n->n_items, sizeof it);
    n->item[n->n_items++] = it;
}

/* The text of a case is its head alone: that is what a question about it
 * shows. */
static struct bash_node *parse_case(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_CASE);
    ps->p += 4;
    bash_skip_blanks(ps);
    add_word(ps, n, bash_take_word(ps));
    parse_set_text(ps, n);
    parse_want(ps, "in", n);
    for (bash_skip_lines(ps); *ps->p && !parse_at(ps, "esac");
         bash_skip_lines(ps))
        parse_item(ps, n);
    parse_want(ps, "esac", n);
    return n;
}

/* Words and operators of [[ ]] one by one; cond reads them when it runs. */
static struct bash_node *parse_cond(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_COND);
    ps->p += 2;
    ps->pattern = true;
    for (;;) {
        bash_skip_lines(ps);
        if (parse_take(ps, "]]"))
            break;
        size_t len = ps->p[0] == '&' && ps->p[1] == '&'   ? 2
                     : ps->p[0] == '|' && ps->p[1] == '|' ? 2
                     : *ps->p && strchr("()<>", *ps->p)   ? 1
                                                          : 0;
        bool regex =
            n->n_words && strcmp(n->word[n->n_words - 1].text, "=~") == 0;
        struct bash_raw w = {"", ps->line};
        if (len && !regex) {
            char *copy = bash_parse_alloc(ps, len + 1, 1);
            memcpy(copy, ps->p, len);
            w.text = copy;
            ps->p += len;
        } else {
            w = bash_take_cond_word(ps, regex);
        }
        if (!*w.text)
            bash_syntax(ps, "[[ without its ]]");
        add_word(ps, n, w);
    }
    ps->pattern = false;
    return n;
}

/* (( )); NULL where the parentheses are two subshells. */
static struct bash_node *parse_math(struct bash_parser *ps)
{
    const char *end = bash_math_end(ps->p + 2);
    bash_work(ps->sh, end ? (size_t)(end - ps->p) : strlen(ps->p));
    if (!end)
        return NULL;
    struct bash_node *n = parse_new(ps, BASH_MATH);
    size_t len = (size_t)(end - ps->p) - 2;
    char *copy = bash_parse_alloc(ps, len + 1, 1);
    memcpy(copy, ps->p + 2, len);
    add_word(ps, n, (struct bash_raw){copy, ps->line});
    for (; ps->p < end + 2; ps->p++)
        ps->line += *ps->p == '\n';
    return n;
}

/* The closing word is a keyword for {, a character for (. */
static struct bash_node *parse_body(struct bash_parser *ps,
                                    enum bash_node_kind kind, const char *open,
                                    const char *close)
{
    struct bash_node *n = parse_new(ps, kind);
    ps->p += strlen(open);
    n->b = parse_list(ps);
    bash_skip_lines(ps);
    if (*close == ')' && *ps->p == ')')
        ps->p++;
    else
        parse_want(ps, close, n);
    return n;
}

static const struct bash_node *parse_command(struct bash_parser *ps);

/* NAME () body, with or without the word function; NULL where it is none. */
static struct bash_node *parse_function(struct bash_parser *ps)
{
    const char *p = ps->p;
    bool word = parse_at(ps, "function");
    if (word)
        p += 8 + strspn(p + 8, " \t");
    size_t n = strcspn(p, " \t\n;|&()<>$\"'`\\=");
    const char *behind = p + n + strspn(p + n, " \t");
    bool paren =
        n && behind[0] == '(' && behind[1 + strspn(behind + 1, " \t")] == ')';
    if (!n || (!word && !paren))
        return NULL;
    struct bash_node *f = parse_new(ps, BASH_FUNCTION);
    char *name = bash_parse_alloc(ps, n + 1, 1);
    memcpy(name, p, n);
    add_word(ps, f, (struct bash_raw){name, ps->line});
    ps->p = paren ? strchr(behind, ')') + 1 : p + n;
    bash_skip_lines(ps);
    f->b = parse_command(ps);
    return f;
}

/* "((" may also be two subshells, which only the end of it tells. */
static struct bash_node *parse_compound(struct bash_parser *ps)
{
    if (parse_at(ps, "if"))
        return parse_if(ps);
    if (parse_at(ps, "while") || parse_at(ps, "until"))
        return parse_while(ps);
    if (parse_at(ps, "for") || parse_at(ps, "select") ||
        (strncmp(ps->p, "for((", 5) == 0))
        return parse_for(ps);
    if (parse_at(ps, "case"))
        return parse_case(ps);
    if (parse_at(ps, "[["))
        return parse_cond(ps);
    if (parse_at(ps, "{"))
        return parse_body(ps, BASH_GROUP, "{", "}");
    if (ps->p[0] == '(' && ps->p[1] == '(') {
        struct bash_node *n = parse_math(ps);
        if (n)
            return n;
    }
    if (*ps->p == '(')
        return parse_body(ps, BASH_SUBSHELL, "(", ")");
    return NULL;
}

/* Limited in depth, since it calls itself: a script of brackets alone must not
 * exhaust the stack. Of coproc no answer could be followed. */
static const struct bash_node *parse_command(struct bash_parser *ps)
{
    if (++ps->depth > BASH_MAX_DEPTH) {
        ps->sh->at.line = ps->line;
        bash_fail(ps->sh, ERR_RANGE, "nested more than %d deep",
                  BASH_MAX_DEPTH);
    }
    if (parse_at(ps, "coproc")) {
        ps->sh->at.line = ps->line;
        bash_fail(ps->sh, ERR_PARSE,
                  "coproc: what such a command answers is not read");
    }
    struct bash_node *n = parse_function(ps);
    if (!n)
        n = parse_compound(ps);
    if (!n) {
        n = parse_simple(ps);
    } else {
        for (bash_skip_blanks(ps); parse_redirect(ps, n);)
            bash_skip_blanks(ps);
    }
    parse_await(ps, n);
    if (n->kind != BASH_CASE)
        parse_set_text(ps, n);
    ps->depth--;
    return n;
}

/* ---- lists ---- */

/* "time" is a keyword of a pipe and changes nothing that is read. */
static const struct bash_node *parse_pipe(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_PIPE);
    bash_skip_blanks(ps);
    for (;;) {
        if (parse_take(ps, "!"))
            n->negated = !n->negated;
        else if (parse_take(ps, "time"))
            bash_skip_blanks(ps), parse_take(ps, "-p");
        else
            break;
        bash_skip_blanks(ps);
    }
    for (;;) {
        add_child(ps, n, parse_command(ps));
        bash_skip_blanks(ps);
        if (*ps->p != '|' || ps->p[1] == '|')
            break;
        ps->p += ps->p[1] == '&' ? 2 : 1;
        bash_skip_lines(ps);
    }
    parse_set_text(ps, n);
    return n->n_children == 1 && !n->negated ? n->child[0] : n;
}

/* && and || bind alike, from left to right: no tree is needed. */
static const struct bash_node *parse_andor(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_ANDOR);
    char *join = NULL;
    for (;;) {
        add_child(ps, n, parse_pipe(ps));
        join = bash_parse_grow(ps, join, n->n_children - 1, 1);
        bash_skip_blanks(ps);
        bool both = ps->p[0] == '&' && ps->p[1] == '&';
        if (!both && !(ps->p[0] == '|' && ps->p[1] == '|'))
            break;
        join[n->n_children - 1] = both ? 'a' : 'o';
        ps->p += 2;
        bash_skip_lines(ps);
    }
    n->join = join;
    parse_set_text(ps, n);
    if (ps->p[0] == '&' && ps->p[1] != '&' && ps->p[1] != '>') {
        n->background = true;
        ps->p++;
        return n;
    }
    return n->n_children == 1 ? n->child[0] : n;
}

/* Commands up to a keyword that closes, or the end; NULL where there is none.
 */
static const struct bash_node *parse_list(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_SEQUENCE);
    for (;;) {
        bash_skip_lines(ps);
        if (parse_closes(ps))
            break;
        add_child(ps, n, parse_andor(ps));
        bash_skip_blanks(ps);
        if (ps->p[0] == ';' && ps->p[1] != ';' && ps->p[1] != '&')
            ps->p++;
    }
    return n->n_children == 0 ? NULL : n->n_children == 1 ? n->child[0] : n;
}

const struct bash_node *bash_parse_paren(struct bash_parser *ps)
{
    int line = ps->line;
    int waiting = ps->n_waiting;
    struct bash_redirect *saved[8];
    memcpy(saved, ps->waiting, sizeof saved);
    ps->n_waiting = 0; // those of the outer line are read at its end
    const struct bash_node *n = parse_list(ps);
    if (*ps->p != ')') {
        ps->line = line;
        bash_syntax(ps, "a ( without its )");
    }
    ps->p++;
    memcpy(ps->waiting, saved, sizeof saved);
    ps->n_waiting = waiting;
    return n;
}

/* One line of commands. */
static const struct bash_node *parse_line(struct bash_parser *ps)
{
    struct bash_node *n = parse_new(ps, BASH_SEQUENCE);
    bash_skip_lines(ps);
    if (!*ps->p)
        return NULL;
    if (parse_closes(ps))
        bash_syntax(ps, "found '%.*s', want a command",
                    (int)strcspn(ps->p, " \t\n"), ps->p);
    do {
        add_child(ps, n, parse_andor(ps));
        bash_skip_blanks(ps);
        if (ps->p[0] == ';' && ps->p[1] != ';')
            ps->p++;
        bash_skip_blanks(ps);
    } while (*ps->p && *ps->p != '\n' && !parse_closes(ps));
    if (*ps->p == '\n')
        bash_take_newline(ps);
    else if (*ps->p)
        bash_syntax(ps, "found '%.*s', want a command",
                    (int)strcspn(ps->p, " \t\n"), ps->p);
    return n;
}

/* One line at a time, as bash does: what stands behind an exit may be
 * anything, a binary even. */
const struct bash_node *bash_parse_next(struct bash_parser *ps)
{
    ps->error = NULL;
    if (setjmp(ps->stop))
        return NULL;
    ps->depth = 0;
    ps->pattern = false;
    return parse_line(ps);
}
