/*
 * graph_store: what a compiled graph is made of; for graph_compile.c, which
 * makes it, and graph_eval.c, which evaluates it, and nobody else. Everything
 * is owned by the arena it was compiled into.
 */
#ifndef GRAPH_STORE_H
#define GRAPH_STORE_H

#include "graph.h"

/* dst = max(a + weight wa, b + weight wb); before memory places are given out
 * a and b are nodes, afterwards all three are places. Node 0 is the start of
 * the step and holds 0; instruction i makes node i + 1. */
struct graph_instr {
    int dst, a, b;
    int wa, wb;
};

/* A sum of parameters; parameter 0 is always 0 and pads it. */
struct graph_weight {
    int param[4];
};

/* An event as nodes: it starts at node `start`, or `weight` before its end
 * when start is -1. */
struct graph_mark {
    struct graph_event event;
    int start, end, weight;
};

/* The whole: parameters by kind, instructions in a topological order, sums of
 * parameters, and where results are read off. */
struct graph {
    struct graph_options options;
    int n_ranks, n_stages, n_mb;
    int param_base[N_GRAPH_KINDS], n_params; // a kind's first parameter
    struct graph_instr *instrs;
    int n_instrs;
    struct graph_weight *weights; // the zeroth is 0
    int n_weights, n_slots;       // slots: places of values, the zeroth is 0
    int *finish;                  // [rank]: place of the end of its list
    int *rounds; // [(round * n_ranks + rank) * 2 + which]: places, NULL: none
    struct graph_mark *marks; // with the option `keep`
    int n_marks;
};

#endif
