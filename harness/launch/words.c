/*
 * How it works: words are collected in a list that doubles; a word of NULL, as
 * arena_printf() gives it without memory, makes the whole list NULL, so that
 * callers ask once, in build_words().
 */
#include "words.h"

#include "base/reader.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// a usual command line of Megatron's; of a file of words
enum { WORDS_FIRST_ROOM = 64, WORDS_MAX_BYTES = 4 << 20 };

struct build build_new(struct arena *a)
{
    return (struct build){
        a, arena_alloc(a, WORDS_FIRST_ROOM, sizeof(const char *)), 0,
        WORDS_FIRST_ROOM};
}

/* A word that is no string is an error: a command line without it is another.
 */
enum err words_read(struct arena *a, const char *path, struct words *out,
                    struct err_msg *msg)
{
    struct reader_doc doc;
    struct text_span text;
    enum err e = text_read_file(a, path, WORDS_MAX_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    struct reader list = reader_open_value(&doc, a, text.data, path, msg);
    struct words w = {NULL, 0};
    const char **word =
        arena_alloc(a, (size_t)reader_count(list) + 1, sizeof *word);
    struct reader at = reader_first(list);
    for (; word && reader_is_there(at); at = reader_next(at)) {
        word[w.n] = "";
        reader_text_here(at, &word[w.n++]);
    }
    w.word = word;
    e = reader_close(&doc);
    if (e == ERR_OK && !word)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    if (e == ERR_OK)
        *out = w;
    return e;
}

/* Twice the room; the old list stays in the arena, all of them together are
 * smaller than the new one. */
static void build_grow(struct build *b)
{
    const char **bigger =
        arena_alloc(b->a, (size_t)b->room, 2 * sizeof *bigger);
    if (bigger)
        memcpy(bigger, b->word, (size_t)b->n * sizeof *bigger);
    b->word = bigger;
    b->room *= 2;
}

void build_add(struct build *b, const char *word)
{
    if (!word)
        b->word = NULL;
    if (b->word && b->n + 1 == b->room)
        build_grow(b);
    if (b->word)
        b->word[b->n++] = word;
}

void build_add_int(struct build *b, const char *flag, int64_t value)
{
    build_add(b, flag);
    build_add(b, arena_printf(b->a, "%lld", (long long)value));
}

void build_add_words(struct build *b, const struct words *w)
{
    for (int i = 0; i < w->n; i++)
        build_add(b, w->word[i]);
}

void build_add_equals(struct build *b, const char *flag, const char *value)
{
    if (value)
        build_add(b, arena_printf(b->a, "%s=%s", flag, value));
}

enum err build_words(const struct build *b, const char *where,
                     struct words *out, struct err_msg *msg)
{
    if (!b->word)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    *out = (struct words){b->word, b->n};
    return ERR_OK;
}

/* Single quotes keep everything but themselves (POSIX 2.2.2): a quote is
 * closed, escaped and opened again. */
static void print_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}

void launch_print_words(FILE *out, const struct words *w)
{
    for (int i = 0; i < w->n; i++) {
        if (i > 0)
            putc(' ', out);
        print_quoted(out, w->word[i]);
    }
}

void launch_print_assignments(FILE *out, const struct words *w)
{
    for (int i = 0; i < w->n; i++) {
        size_t n = strcspn(w->word[i], "=");
        if (i > 0)
            putc(' ', out);
        fprintf(out, "%.*s", (int)n, w->word[i]);
        if (w->word[i][n] == '=') {
            putc('=', out);
            if (w->word[i][n + 1])
                print_quoted(out, w->word[i] + n + 1);
        }
    }
}

void launch_print_comment(FILE *out, const char *text)
{
    for (; *text; text++)
        putc(iscntrl((unsigned char)*text) ? '?' : *text, out);
}

const char *launch_quote_words(struct arena *a, const struct words *w)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    launch_print_words(f, w);
    const char *copy = fclose(f) == 0 ? arena_strdup(a, text) : NULL;
    free(text);
    return copy;
}

/* As execvp() would, so that what is missing is told before a run starts. */
const char *launch_find_program(struct arena *a, const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; p;) {
        const char *colon = strchr(p, ':');
        int n = colon ? (int)(colon - p) : (int)strlen(p);
        const char *file = arena_printf(a, "%.*s/%s", n, p, name);
        if (file && access(file, X_OK) == 0)
            return file;
        p = colon ? colon + 1 : NULL;
    }
    return NULL;
}

/* exec() takes no const. */
char **launch_argv(struct arena *a, const struct words *w)
{
    char **argv = arena_alloc(a, (size_t)w->n + 1, sizeof *argv);
    for (int i = 0; i < w->n && argv; i++)
        if (!(argv[i] = arena_strdup(a, w->word[i])))
            return NULL;
    return argv;
}
