#include "join.h"

#include <stdint.h>
#include <string.h>

// a line of text; a longer one is taken from the arena twice as large
enum { JOIN_FIRST_BYTES = 128 };

struct join join_begin(struct arena *a)
{
    char *text = arena_alloc(a, JOIN_FIRST_BYTES, 1);
    return (struct join){a, text, 0, text ? JOIN_FIRST_BYTES : 0};
}

/* An arena takes nothing back; with doubling the pieces given up are together
 * no larger than the last. */
static void join_grow(struct join *j, size_t n)
{
    size_t cap = j->cap;
    while (cap <= j->n + n && cap <= SIZE_MAX / 4)
        cap *= 2;
    char *bigger = n < SIZE_MAX / 4 ? arena_alloc(j->arena, cap, 1) : NULL;
    if (bigger)
        memcpy(bigger, j->text, j->n);
    j->text = bigger;
    j->cap = cap;
}

void join_add_n(struct join *j, const char *text, size_t n)
{
    if (j->text && j->cap - j->n <= n)
        join_grow(j, n);
    if (!j->text)
        return;
    memcpy(j->text + j->n, text, n);
    j->n += n;
    j->text[j->n] = '\0';
}

void join_add(struct join *j, const char *text)
{
    join_add_n(j, text, strlen(text));
}

char *join_end(struct join *j)
{
    return j->text;
}
