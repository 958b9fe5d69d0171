/*
 * How it works: bytes are collected up to a newline; what is beyond the room of
 * a line is dropped, which the log itself does not lose.
 */
#include "lines.h"

static void lines_hand_on(struct lines *l)
{
    l->line[l->len] = '\0';
    l->len = 0;
    if (l->on_line)
        l->on_line(l->data, l->line);
}

void lines_feed(struct lines *l, const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (data[i] == '\n')
            lines_hand_on(l);
        else if (l->len < LINES_BYTES - 1) // room for the end of the string
            l->line[l->len++] = data[i];
}

void lines_end(struct lines *l)
{
    // empty: the last byte was a newline, and no line is begun
    if (l->len > 0)
        lines_hand_on(l);
}
