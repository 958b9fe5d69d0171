/*
 * explain: why Megatron refuses a layout, in its words, and where in
 * the string. What of a whole launch is refused is judge's.
 */
#ifndef LAYOUT_EXPLAIN_H
#define LAYOUT_EXPLAIN_H

#include "base/arena.h"
#include "layout.h"

#include <stdbool.h>
#include <stddef.h>

/* Megatron's own complaint for the error, as its assertion words it. */
const char *layout_megatron_words(enum layout_error e);

/* Byte of the string at which the error shows: the unit that is one too many,
 * in the wrong place, or behind which one is missing; LAYOUT_OK: the first m.
 * False when there is none (an empty string) or memory is out. */
bool layout_error_place(const struct layout_question *q, enum layout_error e,
                        size_t *byte);

/* Two lines, both indented: the string with unprintable characters replaced by
 * '?', and a caret under the byte. Owned by the arena, NULL when out of
 * memory. */
const char *layout_caret(struct arena *a, const char *text, size_t byte);

#endif
