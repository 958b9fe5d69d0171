/*
 * graph_compiler: the state of a graph while it is being compiled, shared by
 * graph_compile.c (work, all ranks) and graph_exchange.c (messages).
 */
#ifndef GRAPH_COMPILER_H
#define GRAPH_COMPILER_H

#include "graph_store.h"
#include "graph_weights.h"

/* GRAPH_START is the node of time 0. */
enum { GRAPH_NO_NODE = -1, GRAPH_START = 0 };

/* A group of messages has one phase, or two when a shape exchange goes ahead;
 * a message has two ends and goes forward or backward. */
enum { GRAPH_PHASE_PAYLOAD, GRAPH_PHASE_SHAPE, GRAPH_N_PHASES };
enum { GRAPH_SENDER, GRAPH_RECEIVER, GRAPH_N_ENDS };

struct rank_pos {
    int pc;
    int clock;  // node of what the rank did last
    int aside;  // of its communication stream, GRAPH_NO_NODE: not used yet
    int phase;  // of the group at pc
    int posted; // node at which this phase of it was posted, or GRAPH_NO_NODE
};

struct compiler {
    struct arena *a;
    const struct schedule *s;
    struct graph *g;
    struct weights weights;
    struct rank_pos *ranks;
    int *forward_end, *backward_end; // [stage * n_mb + mb], or GRAPH_NO_NODE
    int *posted;  // [message_at() * GRAPH_N_ENDS + end]: node that posted it
    int *arrived; // [message_at()]: node of its arrival
};

/* Predecessors of a node to be made: a work's clock and two inputs at most, a
 * group's four messages and a clock. */
struct join {
    int node[N_MESSAGES + 1], weight[N_MESSAGES + 1];
    int n;
};

/* Adds a predecessor, unless it is there already. */
void compiler_join(struct join *j, int node, int weight);

/* The node of the latest predecessor: a new one, or an old one when there is a
 * single predecessor without weight. */
int compiler_node(struct compiler *c, const struct join *j);

/* Keeps an event, with the option `keep`. */
void compiler_mark(struct compiler *c, const struct graph_mark *mark);

/* Runs a post or an exchange, or a wait, of a rank; false while it needs what
 * another rank has not reached yet. */
bool compiler_group(struct compiler *c, int rank, const struct op *op);
bool compiler_wait(struct compiler *c, int rank, const struct op *op);

#endif
