/*
 * expand: the first half of reading a layout string: multiplications
 * unrolled as Megatron does it, over Unicode code points. For layout and
 * explain.
 */
#ifndef LAYOUT_EXPAND_H
#define LAYOUT_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string may expand to at most this many characters: no model has a thousand
 * layers, and t*99999999999 must not fill the memory. */
enum { LAYOUT_MAX_CHARS = 100000 };

struct layout_chars {
    uint32_t *c;    // code points; bytes that are not UTF-8 become surrogates
    uint32_t *from; // byte of the string that each came from
    size_t n;
};

/* Room for one expansion. */
struct layout_expansion {
    struct layout_chars out, other;
    uint32_t *room;
};

/* NULL when out of memory. */
struct layout_expansion *layout_expansion_new(void);
void layout_expansion_free(struct layout_expansion *x);

/* Expands the string into x->out. False when it expands beyond the cap; then
 * x->other holds what fitted, and the place of what did not in the entry of
 * `from` behind it (the last one when it is full). */
bool layout_expand(const char *text, struct layout_expansion *x);

#endif
