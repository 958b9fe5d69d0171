/*
 * How it works: every rank has a program counter, and a clock that is a node
 * of the graph instead of a number. In turn each rank executes one operation
 * of its list, which makes the nodes of its end, or finds that it needs the
 * node of something that no rank has reached yet (a producer's end, the
 * posting of a message's other end) and waits. So nodes come in a topological
 * order, all ranks advance like a wave, and few values are alive at a time. A
 * turn in which no rank moves proves a deadlock.
 *
 * What has more than two predecessors becomes a chain of nodes. When the list
 * is done, places in memory are given out: a node takes a free one, and its
 * operands' are free again after the last instruction that reads them.
 */
#include "plan/graph.h"

#include "plan/graph_store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- weights ---- */

/* Weights by what they stand for; `_IN`: after an input that took a transfer
 * to come (async). */
enum weight_kind {
    W_FWD,
    W_FWD_IN,
    W_BWD,
    W_BWD_IN,
    W_MID,
    W_MID_IN_FWD,
    W_MID_IN_BWD,
    W_HEAD_FWD,
    W_HEAD_FWD_IN,
    W_HEAD_BWD,
    W_HEAD_BWD_IN,
    W_TAILS,
    W_TRANSFER,
    W_SHAPE,
    W_SYNC,
    N_WEIGHT_KINDS
};

enum { W_ZERO = 0, NO_NODE = -1, START = 0 };

/* A group of messages has one phase, or two when a shape exchange goes ahead.
 */
enum { PAYLOAD, SHAPE, N_PHASES };

struct rank_pos {
    int pc;
    int clock; // node of what the rank did last
    int aside; // of its communication stream, NO_NODE: not used yet
    int phase; // of the group at pc
    bool posted;
    int posted_at; // clock or communication stream when it was
};

struct compiler {
    struct arena *a;
    const struct schedule *s;
    struct graph *g;
    struct rank_pos *ranks;
    int *forward_end, *backward_end; // [stage * n_mb + mb], or NO_NODE
    int *posted; // [message_at()]: node when an end posted it
    int *done;   // [message_at() of the sender's end]: when it has arrived
    int *weight_of[N_WEIGHT_KINDS]; // by index, 0: not made yet
    int weight_room, instr_room, mark_room;
};

static int params_of(struct compiler *c, int kind, int i)
{
    return graph_param(c->g, (enum graph_kind)kind, i);
}

/* The stage whose boundary an input of this index crosses is found by the
 * caller; `in` is that boundary. */
struct weight_key {
    enum weight_kind kind;
    int i;        // index among its kind
    int fwd, bwd; // stages or operations
    int in;       // boundary
};

static struct graph_weight weight_sum(struct compiler *c,
                                      const struct weight_key *k)
{
    const bool ops = c->g->options.per_operation;
    const int x = params_of(c, GRAPH_TRANSFER, k->in >= 0 ? k->in : 0);
    const int fwd = params_of(c, GRAPH_FWD, k->fwd >= 0 ? k->fwd : 0);
    const int bwd = params_of(c, GRAPH_BWD, k->bwd >= 0 ? k->bwd : 0);
    const int mid = ops ? fwd : params_of(c, GRAPH_MID, k->i);
    const int more = ops ? bwd : 0;
    switch (k->kind) {
    case W_FWD:
        return (struct graph_weight){{fwd}};
    case W_FWD_IN:
        return (struct graph_weight){{fwd, x}};
    case W_BWD:
        return (struct graph_weight){{bwd}};
    case W_BWD_IN:
        return (struct graph_weight){{bwd, x}};
    case W_MID:
        return (struct graph_weight){{mid, more}};
    case W_MID_IN_FWD:
    case W_MID_IN_BWD:
        return (struct graph_weight){{mid, more, x}};
    case W_HEAD_FWD:
        return (struct graph_weight){{params_of(c, GRAPH_HEAD_FWD, k->i)}};
    case W_HEAD_FWD_IN:
        return (struct graph_weight){{params_of(c, GRAPH_HEAD_FWD, k->i), x}};
    case W_HEAD_BWD:
        return (struct graph_weight){{params_of(c, GRAPH_HEAD_BWD, k->i)}};
    case W_HEAD_BWD_IN:
        return (struct graph_weight){{params_of(c, GRAPH_HEAD_BWD, k->i), x}};
    case W_TAILS:
        return (struct graph_weight){{params_of(c, GRAPH_TAIL_FWD, k->fwd),
                                      params_of(c, GRAPH_TAIL_BWD, k->bwd)}};
    case W_TRANSFER:
        return (struct graph_weight){{x}};
    case W_SHAPE:
        return (struct graph_weight){{params_of(c, GRAPH_SHAPE, 0)}};
    case W_SYNC:
        return (struct graph_weight){{params_of(c, GRAPH_SYNC, 0)}};
    case N_WEIGHT_KINDS:
        break;
    }
    return (struct graph_weight){{0}};
}
