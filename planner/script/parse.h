/*
 * parse: a script's text to trees of commands, one complete command at a time,
 * as bash does it: what stands behind an `exit` is never looked at. Words are
 * kept as written; expand interprets them. lex.c finds where words end.
 *
 * Trees live in the arena of what is kept (files) or of this way (texts that
 * the script makes). Nesting is at most BASH_MAX_DEPTH deep.
 */
#ifndef SCRIPT_PARSE_H
#define SCRIPT_PARSE_H

#include "core.h"

enum bash_node_kind {
    BASH_SIMPLE,   // word, redirect
    BASH_PIPE,     // child; negated
    BASH_ANDOR,    // child, join
    BASH_SEQUENCE, // child
    BASH_IF,       // a, b, else c
    BASH_WHILE,    // a, b; negated: until
    BASH_FOR,      // word[0] is the name, others the list; b
    BASH_FORMATH,  // word: three expressions; b
    BASH_CASE,     // word[0]; item
    BASH_SELECT,   // as BASH_FOR
    BASH_GROUP,    // b
    BASH_SUBSHELL, // b
    BASH_FUNCTION, // word[0]; b
    BASH_MATH,     // word[0]
    BASH_COND      // word: of [[ ]]
};

struct bash_raw {
    const char *text;
    int line;
};

enum bash_redirect_kind {
    BASH_TO_FILE,   // > >| &>
    BASH_APPEND,    // >> &>>
    BASH_FROM_FILE, // <
    BASH_HEREDOC,
    BASH_HERESTRING,
    BASH_DUPLICATE // >& <& <>
};

struct bash_redirect {
    enum bash_redirect_kind kind;
    int fd; // -1: both outputs
    struct bash_raw target;
    const char *body; // of a here-document
    bool quoted;      // its body is taken as it stands
};

struct bash_node;

struct bash_item {
    struct bash_raw *pattern;
    size_t n_patterns;
    const struct bash_node *body; // NULL: empty
    char end;                     // ';', '&' falls through, '?' tests on
};

struct bash_node {
    enum bash_node_kind kind;
    int line;
    const char *text; // as written, for messages
    bool negated, background, has_list;
    struct bash_raw *word;
    size_t n_words;
    struct bash_redirect *redirect;
    size_t n_redirects;
    const struct bash_node *a, *b, *c;
    const struct bash_node **child;
    const char *join; // behind child i: 'a' for &&, 'o' for ||
    size_t n_children;
    struct bash_item *item;
    size_t n_items;
};

/* A place in a text being parsed. */
struct bash_parser {
    struct bash *sh;
    const char *p;
    int line;
    bool kept; // trees are of the arena that is kept
    int depth;
    bool pattern;                     // ?( *( and their like belong to the word
    struct bash_redirect *waiting[8]; // here-documents of this line
    int n_waiting;
    jmp_buf stop;      // where syntax errors go
    const char *error; // what was found, of this way
};

/* The next complete command; NULL at the end of the text or on a syntax error,
 * which sets ps->error. The parser begins with text, line and `kept`. */
const struct bash_node *bash_parse_next(struct bash_parser *ps);

/* ---- lex: pieces of text; they leave on a syntax error ---- */

_Noreturn void bash_syntax(struct bash_parser *ps, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void *bash_parse_alloc(struct bash_parser *ps, size_t count, size_t size);

/* Room for one more behind n elements, which may move. */
void *bash_parse_grow(struct bash_parser *ps, void *old, size_t n, size_t size);

/* Skips blanks, comments and joined lines (and line ends with their
 * here-documents). */
void bash_skip_blanks(struct bash_parser *ps);
void bash_skip_lines(struct bash_parser *ps);

/* Takes the end of a line and reads its here-documents. */
void bash_take_newline(struct bash_parser *ps);

/* Moves behind the word that begins here; false where none does. */
bool bash_skip_word(struct bash_parser *ps);

/* Moves behind $(...), ${...}, $((...)), '...' and the like at p, which stands
 * at the '$' or the quote; inside of double quotes `quoted` is true. */
void bash_skip_dollar(struct bash_parser *ps, bool quoted);
void bash_skip_quote(struct bash_parser *ps);

/* The operator of a redirection at p: its length, and kind and descriptor into
 * r; 0 where there is none. */
size_t bash_redirect_operator(const char *p, struct bash_redirect *r);

/* End of the arithmetic that begins behind "((": the first of "))"; NULL
 * where it is none. */
const char *bash_math_end(const char *p);

/* Bytes of a placeholder that the user was to fill in, NAME=<your path>, which
 * bash refuses; 0 where none begins. */
size_t bash_placeholder(const char *p);

/* The word that begins here as a raw word; text is empty where none does. */
struct bash_raw bash_take_word(struct bash_parser *ps);

/* A word of [[ ]]; behind =~ parentheses and bars belong to it. */
struct bash_raw bash_take_cond_word(struct bash_parser *ps, bool regex);

/* Parses a list up to an unquoted ')' and moves behind it. */
const struct bash_node *bash_parse_paren(struct bash_parser *ps);

/* A parser of a text of this way. */
struct bash_parser bash_parser_of(struct bash *sh, const char *text, int line);

/* End of the $(...), ${...}, `...` at `p` (within double quotes or not); the
 * text was parsed before. NULL on a syntax error. */
const char *bash_dollar_end(struct bash *sh, const char *p, bool quoted);

/* The words of a text, as in an array's parentheses; n is written. Fails with
 * 0 words on a syntax error. */
struct bash_raw *bash_words_of(struct bash *sh, const char *text, int line,
                               size_t *n);

#endif
