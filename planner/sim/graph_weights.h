/*
 * graph_weights: parameters of a graph and the sums of them that stand on its
 * edges. A weight is made when it is first asked for. For graph_compile.c.
 */
#ifndef GRAPH_WEIGHTS_H
#define GRAPH_WEIGHTS_H

#include "graph_store.h"

/* What an edge stands for; `_IN`: an input that took a transfer to come
 * (async) and then the work itself. */
enum weight_kind {
    W_FWD, // a forward of a stage, or of one operation
    W_FWD_IN,
    W_BWD,
    W_BWD_IN,
    W_MID, // the layers of a combined operation
    W_MID_IN,
    W_OPS, // a combined operation as the sum of its two
    W_OPS_IN,
    W_HEAD_FWD, // of a combined operation, before the layers
    W_HEAD_FWD_IN,
    W_HEAD_BWD,
    W_HEAD_BWD_IN,
    W_TAILS,    // after the layers, forward's and backward's
    W_TRANSFER, // a message
    W_SHAPE,    // a message that tells a shape
    W_SYNC,     // the synchronisation after those
    N_WEIGHT_KINDS
};

enum { W_ZERO = 0 }; // the weight of an edge that takes no time

/* A weight: its kind, `i` which tells it from others of the kind, and the
 * index of each parameter that it is a sum of. */
struct weight_key {
    enum weight_kind kind;
    int i;
    int index[N_GRAPH_KINDS];
};

/* Weights of a graph while it is being compiled. */
struct weights {
    struct graph *graph;
    int *of[N_WEIGHT_KINDS]; // [i]: weight, 0: not made yet
    int room;
};

/* Lays out the parameters of `s` in `g` and takes memory for its weights;
 * ERR_NOMEM. */
enum err weights_init(struct arena *a, const struct schedule *s,
                      struct graph *g, struct weights *out);

/* The weight of a key, made if it is new. */
int weights_get(struct weights *w, const struct weight_key *key);

#endif
