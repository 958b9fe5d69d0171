/*
 * shell_text: words of a shell script as a shell would see them, without
 * running anything: comments, quotes, continued lines, NAME=value,
 * NAME=( ... ), NAME+=..., ${NAME}, ${NAME[@]}, ${NAME:-default} and whole
 * number arithmetic $(( ... )). What only running could tell (command
 * substitution, positional parameters, variables never set) stands in a word
 * as SHELL_UNKNOWN followed by its source text.
 *
 * Sized for launch scripts: texts that expand beyond 4 MB are refused.
 */
#ifndef MEGATRON_SHELL_TEXT_H
#define MEGATRON_SHELL_TEXT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SHELL_UNKNOWN '\x01'

struct shell_words {
    const char **word;
    size_t n, cap;
};

struct shell_var {
    const char *name;
    struct shell_words value; // one word unless it is an array
    bool array;
    struct shell_var *next;
};

struct shell {
    struct arena *arena;
    struct shell_var *vars;
    size_t used; // bytes of all expansions
    bool failed; // beyond the limit, or out of memory
    bool nomem;
    int depth; // of nested expansions
};

/* What ended a word list. */
enum shell_end {
    SHELL_EOF,
    SHELL_SEPARATOR, // newline ; & |, or behind a keyword such as then
    SHELL_AND,       // &&
    SHELL_OR,        // ||
    SHELL_CASE_END,  // ;;
    SHELL_CLOSE      // )
};

/* Reads words from *p up to an operator and moves *p behind it. At the start
 * of a command, assignments are made on the way (when `act`) and leave no
 * word. Redirections are passed over. */
enum shell_end shell_command(struct shell *s, const char **p, bool act,
                             struct shell_words *out);

/* Variable of that name, or NULL. */
const struct shell_var *shell_get(const struct shell *s, const char *name,
                                  size_t len);

/* True when the text holds something that only running could tell. */
bool shell_unknown(const char *text);

/* ERR_OK, or why reading stopped. */
enum err shell_status(const struct shell *s, const char *where,
                      struct err_msg *msg);

#endif
