/*
 * graph_slots: where the values of a graph's nodes stand in memory. A place is
 * used again once the last instruction that reads its value is done, so that
 * a wave of a few dozen values passes through the cache instead of all of
 * them. For graph_compile.c.
 */
#ifndef GRAPH_SLOTS_H
#define GRAPH_SLOTS_H

#include "graph_store.h"

/* Turns the nodes of instructions, ends, rounds and marks into places; keeps
 * the ends and rounds to the end, and every node with the option `keep`.
 * ERR_NOMEM. */
enum err graph_assign_slots(struct arena *a, struct graph *g);

#endif
