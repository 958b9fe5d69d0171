/*
 * train_args: moe-train's command line. Megatron's own flags, a subset of
 * them, and three of ours; one table gives names, defaults, limits and help.
 */
#ifndef TRAIN_ARGS_H
#define TRAIN_ARGS_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "megatron/args.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct train_args {
    struct megatron_args *megatron;
    const char **text; // of each row of the table, NULL where not given
    struct model model;
    struct layout layout;
    const char *layout_text; // as given, or the default split's
    const char *clock;       // in use, for the dump; set by the caller
    bool help;
};

/* Reads argv[1..] for a job of `world` ranks. ERR_PARSE and ERR_RANGE tell
 * the flag, what was found and what is wanted. With --help only `help` is set.
 * Owned by the arena. */
enum err train_args_read(struct arena *a, int argc, char *const *argv,
                         int world, struct train_args *out,
                         struct err_msg *msg);

/* Value of a flag of the table (without dashes) or its default; NULL where it
 * has none. The numbers are checked when read. */
const char *train_args_text(const struct train_args *t, const char *name);
int64_t train_args_int(const struct train_args *t, const char *name);
double train_args_real(const struct train_args *t, const char *name);

void train_args_print_usage(FILE *out);
void train_args_print_help(FILE *out);

/* The arguments dump of the log. */
enum err train_args_dump(struct arena *a, const struct train_args *t,
                         FILE *out);

#endif
