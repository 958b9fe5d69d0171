/*
 * words: command lines as lists of words: collecting them, printing
 * them so that a shell reads the same words again, finding programs.
 */
#ifndef LAUNCH_WORDS_H
#define LAUNCH_WORDS_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"

#include <stdint.h>
#include <stdio.h>

/* Words being collected, as many as there are; .word is NULL after a failed
 * allocation. */
struct build {
    struct arena *a;
    const char **word;
    int n, room;
};

struct build build_new(struct arena *a);

/* Adds a word; NULL fails the build. */
void build_add(struct build *b, const char *word);
void build_add_int(struct build *b, const char *flag, int64_t value);
void build_add_words(struct build *b, const struct words *w);

/* "--flag=value" as one word; nothing when the value is NULL. */
void build_add_equals(struct build *b, const char *flag, const char *value);

/* What was collected. ERR_NOMEM names `where`. */
enum err build_words(const struct build *b, const char *where,
                     struct words *out, struct err_msg *msg);

/* Reads a list of strings, as a run keeps its words (argv.json, env.json), into
 * the arena. ERR_PARSE for another form, ERR_NOMEM. */
enum err words_read(struct arena *a, const char *path, struct words *out,
                    struct err_msg *msg);

/* Prints words so that a shell reads the same words again. */
void launch_print_words(FILE *out, const struct words *w);

/* NAME=value words as a shell takes them for assignments: only values are
 * quoted. */
void launch_print_assignments(FILE *out, const struct words *w);

/* A text within a comment of a script: whatever it holds stays on the line. */
void launch_print_comment(FILE *out, const char *text);

/* The same as launch_print_words() into a text of the arena; NULL when out of
 * memory. */
const char *launch_quote_words(struct arena *a, const struct words *w);

/* The program's path when it can be executed: as it stands when it has a
 * slash, else along PATH; NULL when there is none. */
const char *launch_find_program(struct arena *a, const char *name);

/* Words as posix_spawn wants them, NULL-terminated copies; NULL when out of
 * memory. */
char **launch_argv(struct arena *a, const struct words *w);

#endif
