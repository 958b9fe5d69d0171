/*
 * shortest: the fewest characters that parse to the same stages.
 */
#ifndef LAYOUT_SHORTEST_H
#define LAYOUT_SHORTEST_H

#include "base/arena.h"
#include "layout.h"

/* The shortest string of plain letters and bars, runs (t*12) and groups
 * ((t*4|)*6), which nest no deeper in Megatron's grammar; its accidents (a
 * star that meets digits of another run) are not used. Beyond 1,500
 * characters of plain text: layout_string(). Owned by the arena, NULL when out
 * of memory. */
const char *layout_shortest(struct arena *a, const struct layout *l);

#endif
