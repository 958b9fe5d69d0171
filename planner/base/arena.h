/*
 * arena: memory of one command. Everything planning needs is taken from one
 * arena and freed at once; blocks are zeroed. Designed for a few MB in pieces
 * of bytes to megabytes.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head;
};

/* An empty arena; takes no memory yet. */
void arena_init(struct arena *a);

/* Frees everything taken from the arena; it may be used again. */
void arena_clear(struct arena *a);

/* Zeroed memory for `count` objects of `size` bytes, aligned for any type and
 * owned by the arena. NULL when out of memory or count*size overflows; a
 * request of 0 bytes gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t count, size_t size);

/* A copy of `text` (up to `len` bytes for the second), owned by the arena;
 * NULL when out of memory. */
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t len);

/* Formats into memory owned by the arena; NULL when out of memory. */
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
