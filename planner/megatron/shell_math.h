/*
 * shell_math: whole-number arithmetic of $(( ... )): + - * / % ( ) and
 * variables with or without a dollar.
 */
#ifndef MEGATRON_SHELL_MATH_H
#define MEGATRON_SHELL_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of a variable, or NULL. */
typedef const char *(*shell_lookup)(const void *data, const char *name,
                                    size_t len);

struct shell_math_text {
    const char *from, *to;
    shell_lookup lookup;
    const void *data; // for lookup
};

/* Value of the text; false when it is not such an expression, a variable is
 * not a number, or the result leaves 64 bits. */
bool shell_math(const struct shell_math_text *text, int64_t *out);

#endif
