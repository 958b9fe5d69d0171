/*
 * join: one text from many parts, in time and memory that grow with the text
 * and not with its square. For lists that a user may make as long as he likes.
 *
 *     struct join all = join_begin(a);
 *     for (...) {
 *         join_add(&all, all.n ? ", " : "");
 *         join_add(&all, name);
 *     }
 *     return join_end(&all);
 */
#ifndef BASE_JOIN_H
#define BASE_JOIN_H

#include "arena.h"

#include <stddef.h>

struct join {
    struct arena *arena;
    char *text; // zero-terminated; NULL at first and when out of memory
    size_t n;   // bytes so far
    size_t cap;
};

/* An empty text. */
struct join join_begin(struct arena *a);

/* Adds a text (n bytes of one). After memory has run out it does nothing. */
void join_add(struct join *j, const char *text);
void join_add_n(struct join *j, const char *text, size_t n);

/* The text, owned by the arena; NULL when memory ran out. It may be added to
 * afterwards, but then the old text is not the whole. */
char *join_end(struct join *j);

#endif
