/*
 * options: the arguments of a command against a table of its options, with
 * the nearest name suggested for an unknown one. `--name value` and
 * `--name=value` are read; what does not begin with '-' is an operand.
 */
#ifndef HARNESS_CMD_OPTIONS_H
#define HARNESS_CMD_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>

struct option_row {
    const char *name;   // "--out"
    const char **value; // set to the value; or
    bool *flag;         // set to true
};

struct options {
    const struct option_row *rows;
    int n_rows;
    const char **operands; // room for max_operands
    int max_operands;
    int n_operands; // filled
};

/* ERR_PARSE names the option. `--help` must be in the table to be known. */
enum err options_read(struct options *o, int argc, char **argv,
                      struct err_msg *msg);

#endif
