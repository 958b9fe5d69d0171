/*
 * How it works: echo and printf make the text that bash would. A value that is
 * not known goes into it as its mark, whatever the format would make of it, so
 * that a word of flags which was printed still tells what it hangs on.
 */
#include "assign.h"
#include "builtin.h"
#include "eval.h"
#include "expand.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINT_MAX_WIDTH = 4096 };

/* Text with the escapes of echo -e; true where \c ends the output. */
static bool put_escaped(struct bash *sh, struct bash_text *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '\\' && s[1] == 'c')
            return true;
        if (*s != '\\' || !s[1]) {
            bash_putc(sh, to, *s);
            continue;
        }
        size_t n = 2;
        if (s[1] == 'x' || s[1] == '0')
            while (n < 5 && isxdigit((unsigned char)s[n]))
                n++;
        bash_puts(sh, to, bash_ansi(sh, s, s + n));
        s += n - 1;
    }
    return false;
}

/* Is the word one or more of -n, -e, -E? */
static bool echo_options(const char *word, bool *line, bool *escapes)
{
    if (word[0] != '-' || !word[1] || word[1 + strspn(word + 1, "neE")])
        return false;
    for (const char *p = word + 1; *p; p++) {
        *line = *line && *p != 'n';
        *escapes = *p == 'e' || (*escapes && *p != 'E');
    }
    return true;
}

/* What was said last is kept: before an exit it is the script's own reason. */
void bash_echo(struct bash *sh, const struct bash_words *w)
{
    struct bash_text t = {0};
    bool line = true, escapes = false, ended = false;
    size_t i = 1;
    while (i < w->n && echo_options(w->item[i].text, &line, &escapes))
        i++;
    for (size_t from = i; i < w->n && !ended; i++) {
        if (i > from)
            bash_putc(sh, &t, ' ');
        if (escapes)
            ended = put_escaped(sh, &t, w->item[i].text);
        else
            bash_puts(sh, &t, w->item[i].text);
    }
    if (line && !ended)
        bash_putc(sh, &t, '\n');
    bash_emit(sh, bash_text_of(&t));
    sh->said = bash_text_of(&t);
    sh->said_line = sh->at.line;
    bash_set_status(sh, 0);
}

/* ---- printf ---- */

struct printing {
    struct bash *sh;
    const struct bash_words *w;
    size_t arg; // the next
    struct bash_text out;
    bool ended, used; // \c was there; a format took an argument
};

static const char *print_arg(struct printing *p)
{
    p->used = true;
    return p->arg < p->w->n
               ? bash_plain(p->sh, p->w->item[p->arg++].text, false)
               : "";
}

/* A width or precision, '*' from the arguments; -1: too large. */
static int print_width(struct printing *p, const char **f)
{
    long v = 0;
    if (**f == '*') {
        (*f)++;
        v = strtol(print_arg(p), NULL, 10);
    } else {
        for (; isdigit((unsigned char)**f); (*f)++)
            v = v > PRINT_MAX_WIDTH ? v : 10 * v + **f - '0';
    }
    if (v > PRINT_MAX_WIDTH || v < -PRINT_MAX_WIDTH)
        bash_fail(p->sh, ERR_RANGE, "printf: a width of more than %d",
                  PRINT_MAX_WIDTH);
    return (int)v;
}

/* A quote and a character are the character's number, as in printf(1); a number
 * may be hexadecimal or octal. */
static long long print_number(const char *text)
{
    if (*text == '\'' || *text == '"')
        return (unsigned char)text[1];
    return strtoll(text, NULL, 0);
}

struct print_format {
    char flags[8];
    int width, precision; // precision < 0: none
    char kind;
};

/* As %q: what a shell reads back as this word. */
static void print_quoted(struct printing *p, const char *text)
{
    if (!*text)
        bash_puts(p->sh, &p->out, "''");
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text) && !strchr("_-./:=%+,@", *text))
            bash_putc(p->sh, &p->out, '\\');
        bash_putc(p->sh, &p->out, *text);
    }
}

/* Bytes are counted, as printf of bash does in the C locale. */
static void print_string(struct printing *p, const struct print_format *f,
                         const char *text)
{
    size_t n = strlen(text), width = (size_t)abs(f->width);
    bool left = f->width < 0 || strchr(f->flags, '-');
    if (f->precision >= 0 && (size_t)f->precision < n && !bash_has_mark(text))
        n = (size_t)f->precision;
    for (size_t i = n; !left && i < width; i++)
        bash_putc(p->sh, &p->out, ' ');
    bash_put(p->sh, &p->out, text, n);
    for (size_t i = n; left && i < width; i++)
        bash_putc(p->sh, &p->out, ' ');
}

/* Numbers go through the C library, as in bash. */
static void print_formatted(struct printing *p, const struct print_format *f)
{
    char spec[32], text[PRINT_MAX_WIDTH * 2];
    const char *arg = print_arg(p);
    const char *mark = bash_first_unknown(p->sh, arg);
    bool real = strchr("eEfFgG", f->kind) != NULL;
    if (mark) {
        bash_puts(p->sh, &p->out, mark);
        return;
    }
    snprintf(spec, sizeof spec, "%%%s*%s%s%c", f->flags,
             f->precision >= 0 ? ".*" : "", real ? "" : "ll", f->kind);
    int precision = f->precision > 500 ? 500 : f->precision;
    int width = f->width;
    // the format is one of those listed, with its own arguments
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (real && precision >= 0)
        snprintf(text, sizeof text, spec, width, precision, strtod(arg, NULL));
    else if (real)
        snprintf(text, sizeof text, spec, width, strtod(arg, NULL));
    else if (precision >= 0)
        snprintf(text, sizeof text, spec, width, precision, print_number(arg));
    else
        snprintf(text, sizeof text, spec, width, print_number(arg));
#pragma GCC diagnostic pop
    bash_puts(p->sh, &p->out, text);
}

/* One %... at f (behind the sign); f moves behind it. */
static void print_directive(struct printing *p, const char **f)
{
    struct print_format d = {.precision = -1};
    size_t n = strspn(*f, "-+ #0");
    memcpy(d.flags, *f, n < 7 ? n : 7);
    *f += n;
    d.width = print_width(p, f);
    if (**f == '.') {
        (*f)++;
        d.precision = print_width(p, f);
    }
    while (**f == 'l' || **f == 'h' || **f == 'j')
        (*f)++;
    d.kind = **f;
    *f += d.kind != '\0';
    if (d.kind == '%') {
        bash_putc(p->sh, &p->out, '%');
    } else if (d.kind == 's') {
        print_string(p, &d, print_arg(p));
    } else if (d.kind == 'q') {
        print_quoted(p, print_arg(p));
    } else if (d.kind == 'b') {
        p->ended = put_escaped(p->sh, &p->out, print_arg(p));
    } else if (d.kind == 'c') {
        const char *text = print_arg(p);
        bash_put(p->sh, &p->out, text, *text ? 1 : 0);
    } else if (d.kind && strchr("diouxXeEfFgG", d.kind)) {
        print_formatted(p, &d);
    } else {
        bash_puts(p->sh, &p->out,
                  bash_unknown(p->sh, "printf", "its format is not known"));
    }
}

/* The format is used again while arguments are left: printf '%s\n' a b c. */
static void print_format(struct printing *p, const char *f)
{
    while (*f && !p->ended) {
        if (*f == '%') {
            f++;
            print_directive(p, &f);
        } else if (*f == '\\' && f[1]) {
            size_t n = 2;
            while (n < 4 && f[1] >= '0' && f[1] < '8' && f[n] >= '0' &&
                   f[n] < '8')
                n++;
            while (f[1] == 'x' && n < 4 && isxdigit((unsigned char)f[n]))
                n++;
            bash_puts(p->sh, &p->out, bash_ansi(p->sh, f, f + n));
            f += n;
        } else {
            bash_putc(p->sh, &p->out, *f++);
        }
    }
}

/* The format is used again while arguments are left, as bash does; one that
 * takes none would go on for ever. */
void bash_printf_builtin(struct bash *sh, const struct bash_words *w)
{
    struct printing p = {.sh = sh, .w = w, .arg = 1};
    const char *into = NULL;
    if (w->n > 2 && strcmp(w->item[1].text, "-v") == 0) {
        into = bash_plain(sh, w->item[2].text, false);
        p.arg = 3;
    }
    if (p.arg < w->n && strcmp(w->item[p.arg].text, "--") == 0)
        p.arg++;
    const char *format =
        p.arg < w->n ? bash_plain(sh, w->item[p.arg++].text, false) : "";
    do { // again while there are arguments
        bash_step(sh);
        p.used = false;
        print_format(&p, format);
    } while (p.arg < w->n && p.used && !p.ended);
    if (into) // NAME or NAME[index]
        bash_assign_text(sh, into, bash_text_of(&p.out));
    else
        bash_emit(sh, bash_text_of(&p.out));
    bash_set_status(sh, 0);
}
