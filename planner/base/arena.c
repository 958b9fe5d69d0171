#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// most commands plan in less than this, so one call of calloc() serves them;
// larger requests get a block of their own
enum { ARENA_BLOCK_BYTES = 1 << 16 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    // a flexible array: it begins where any type may lie
    max_align_t data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

/* The arena itself can be used again. */
void arena_clear(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
}

/* calloc() and not malloc(): callers count on zeroed memory, and pages that the
 * system hands out are zero already. */
static struct arena_block *block_new(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *b = calloc(1, sizeof *b + size);
    if (b)
        b->size = size;
    return b;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
    const size_t align = sizeof(max_align_t);
    // room for the rounding up below is part of the check
    if (size && count > (SIZE_MAX - align) / size)
        return NULL;
    size_t bytes = (count * size + align - 1) / align * align;
    struct arena_block *b = a->head;
    // the rest of the old block is given up: blocks are not searched, so that
    // taking memory costs the same however much is taken
    if (!b || b->size - b->used < bytes) {
        b = block_new(bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES);
        if (!b)
            return NULL;
        b->next = a->head;
        a->head = b;
    }
    void *p = (char *)b->data + b->used;
    b->used += bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
    char *copy = arena_alloc(a, len + 1, 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    // the text is measured first, then written: a list can be read only once
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1, 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}
