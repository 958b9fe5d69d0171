/*
 * arith: whole-number expressions of $(( )), (( )), let, indices and -eq: all
 * operators of C, assignments, 64 bits that wrap around as in bash. Operands
 * that are not known make the result unknown; a variable that is not set is 0
 * and noted.
 */
#ifndef SHELL_ARITH_H
#define SHELL_ARITH_H

#include "script/core.h"

struct bash_number {
    int64_t value;
    const char *mark; // NULL: known
};

/* The value of a text that was expanded; `shown` is the script's for messages.
 * What bash would refuse is unknown, with bash's complaint as cause. */
struct bash_number bash_math(struct bash *sh, const char *text,
                             const char *shown);

#endif
