/*
 * options: the command lines of all programs. A command names the rows of its
 * program's table that it takes; reading, help and messages come from that
 * table, so that programs agree in them:
 *
 * - `--name value` and `--name=value`; a value that begins with "--" needs the
 *   second form, since it is a forgotten value more often than one,
 * - `--help` and every row's alias (such as `-h`) are known where listed,
 * - "--" ends the options; what follows are operands, or the caller's words;
 *   so does the first operand of a command that hands on another's line,
 * - an option given twice: the last one wins, options_each() has all of them,
 * - an unknown name is an error that suggests the nearest one known.
 *
 * Designed for tables of up to a hundred rows and lines of thousands of words.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A row of a program's table; its place in the table is the option's id. */
struct option_row {
    const char *name;  // "--quiet"
    const char *alias; // another spelling, "-q", or NULL
    const char *value; // what it takes, "DIR", for the help; "" for a switch
    const char *help;  // with the default, without a line break
};

#define OPTIONS_HELP_ROW                                                       \
    {                                                                          \
        "--help", "-h", "", "this text"                                        \
    }

/* What a command takes. */
struct option_spec {
    const char *program;  // "moe-bench", for messages
    const char *command;  // "run"; NULL where the program is one command
    const char *synopsis; // command, operands and options, for messages
    const struct option_row *rows;
    int n_rows;
    const int *takes;  // ids, ends with n_rows; NULL: all rows
    int max_operands;  // OPTIONS_ANY: no bound
    bool keeps_rest;   // words after "--" are not operands but `rest`
    bool operand_ends; // so are the first operand and all behind it
    // an unknown word with a dash in front that is an operand; NULL: none is
    bool (*is_operand)(const char *word);
};

enum { OPTIONS_ANY = -1 };

/* An option as it stands on the line. */
struct option_use {
    int id;
    const char *text; // its value; "" of a switch
};

/* A line that was read. Texts point into argv. */
struct options {
    const struct option_spec *spec;
    struct option_use *uses; // in the order given
    int n_uses;
    const char **operands;
    int n_operands;
    char *const *rest; // behind "--", where the spec keeps it
    int n_rest;
    bool has_rest; // "--" was there
};

/* Words of a command line and how far it was read; `at` is 0 at first. */
struct option_line {
    int argc;
    char *const *argv;
    int at; // of the next word
};

/* Reads a line that begins with the first word after the command. ERR_PARSE
 * names the unknown option, the missing value or the operand too many. Owned
 * by the arena; `spec` must live as long. */
enum err options_read(struct arena *a, const struct option_spec *spec,
                      struct option_line line, struct options *out,
                      struct err_msg *msg);

/* The option's value ("" of a switch), the last one when given twice; NULL
 * when it was not given. */
const char *options_text(const struct options *o, int id);
bool options_given(const struct options *o, int id);

/* All values of an option in the order given, into `out` when it is not NULL
 * (room for n_uses); returns how many. */
int options_each(const struct options *o, int id, const char **out);

/* Inclusive bounds of a value. */
struct options_whole {
    int64_t lo, hi;
};
struct options_number {
    double lo, hi;
};

/* Value of an integer (a number) option; *out stays when it was not given.
 * ERR_PARSE for what is none, ERR_RANGE outside the bounds; both name the
 * option. */
enum err options_int(const struct options *o, int id,
                     struct options_whole range, int64_t *out,
                     struct err_msg *msg);
enum err options_double(const struct options *o, int id,
                        struct options_number range, double *out,
                        struct err_msg *msg);

/* The list of the options that the command takes, as its help shows it: at
 * most 80 columns. */
void options_print(const struct option_spec *spec, FILE *out);

/* ---- pieces, for lines that hold more than options ---- */

/* Id of the option that `word` (up to a '=') names, or -1. */
int options_find(const struct option_spec *spec, const char *word);

/* Reads the option at line->at and its value, and moves on behind them.
 * Errors as options_read(). */
enum err options_take(const struct option_spec *spec, struct option_line *line,
                      struct option_use *out, struct err_msg *msg);

/* ERR_PARSE for an operand more than the command takes, with its usage. */
enum err options_operand_too_many(const struct option_spec *spec,
                                  const char *word, struct err_msg *msg);

/* ERR_PARSE for a word that is no command of `program`, with the nearest. */
enum err options_unknown_command(const char *program, const char *word,
                                 const char *const *names, size_t n_names,
                                 struct err_msg *msg);

#endif
