/*
 * How it works: a message's arrival is one node, made by whichever end looks
 * first, from the nodes at which both ends posted it. A group that is waited
 * for ends with the latest of its arrivals. Groups of a rank beside its
 * computing have a clock of their own, the communication stream's.
 */
#include "graph_compiler.h"

/* ---- messages ---- */

static bool is_forward(enum message m)
{
    return m == SEND_FORWARD || m == RECV_FORWARD;
}

static bool is_send(enum message m)
{
    return m == SEND_FORWARD || m == SEND_BACKWARD;
}

/* Both ends of a message count the same place: the boundary that it crosses,
 * its direction, its micro-batch, and whether it is a shape or a payload. */
static size_t message_at(const struct compiler *c, int rank,
                         const struct op *op, enum message m)
{
    const int b = schedule_boundary(c->s, rank, op, m);
    const int row = is_forward(m) ? b : c->g->n_stages + b;
    const int phase = c->ranks[rank].phase;
    return ((size_t)phase * 2 * (size_t)c->g->n_stages + (size_t)row) *
               (size_t)c->g->n_mb +
           (size_t)op->mbs[m];
}

static void post(struct compiler *c, int rank, const struct op *op, int node)
{
    for (int m = 0; m < N_MESSAGES; m++)
        if (op->mbs[m] != NO_MB) {
            size_t at = message_at(c, rank, op, (enum message)m);
            int end = is_send((enum message)m) ? GRAPH_SENDER : GRAPH_RECEIVER;
            c->posted[at * GRAPH_N_ENDS + (size_t)end] = node;
        }
    c->ranks[rank].posted = node;
}

static int transfer_weight(struct compiler *c, int rank, const struct op *op,
                           enum message m)
{
    if (c->ranks[rank].phase == GRAPH_PHASE_SHAPE)
        return weights_get(&c->weights, &(struct weight_key){.kind = W_SHAPE});
    const int b = schedule_boundary(c->s, rank, op, m);
    return weights_get(&c->weights,
                       &(struct weight_key){.kind = W_TRANSFER,
                                            .i = b,
                                            .index = {[GRAPH_TRANSFER] = b}});
}

/* Arrivals of one group: two messages between the same two ranks, posted by
 * the same nodes and crossing the same boundary, are one node. */
struct arrivals {
    int from[N_MESSAGES], to[N_MESSAGES], weight[N_MESSAGES], node[N_MESSAGES];
    int n;
};

/* A message has arrived one transfer after the later of its two ends posted it.
 */
static int arrival_node(struct compiler *c, struct arrivals *known, int x,
                        int y, int weight)
{
    const int from = x < y ? x : y, to = x < y ? y : x;
    for (int i = 0; i < known->n; i++)
        if (known->from[i] == from && known->to[i] == to &&
            known->weight[i] == weight)
            return known->node[i];
    struct join j = {.n = 0};
    compiler_join(&j, from, weight);
    compiler_join(&j, to, weight);
    const int i = known->n++;
    known->from[i] = from;
    known->to[i] = to;
    known->weight[i] = weight;
    return known->node[i] = compiler_node(c, &j);
}

static void mark_message(struct compiler *c, int rank, const struct op *op,
                         enum message m, const struct graph_mark *mark)
{
    struct graph_mark x = *mark;
    x.event = (struct graph_event){.kind = OP_POST,
                                   .rank = rank,
                                   .chunk = op->chunks[m],
                                   .mb = op->mbs[m],
                                   .bwd_mb = NO_MB,
                                   .message = m};
    x.start = GRAPH_NO_NODE;
    if (!is_send(m)) { // as its sender sees it
        const bool forward = is_forward(m);
        x.event.rank = schedule_peer(c->s, rank, m);
        x.event.message = forward ? SEND_FORWARD : SEND_BACKWARD;
        const int b = schedule_boundary(c->s, rank, op, m);
        x.event.chunk = (forward ? b : b + 1) / c->s->pp;
    }
    if (c->ranks[rank].phase == GRAPH_PHASE_PAYLOAD)
        compiler_mark(c, &x);
}

/* When message m has arrived, GRAPH_NO_NODE while an end has not posted it. */
static int arrival(struct compiler *c, int rank, const struct op *op,
                   enum message m, struct arrivals *known)
{
    const size_t at = message_at(c, rank, op, m);
    if (c->arrived[at] != GRAPH_NO_NODE)
        return c->arrived[at];
    const int x = c->posted[at * GRAPH_N_ENDS + GRAPH_SENDER];
    const int y = c->posted[at * GRAPH_N_ENDS + GRAPH_RECEIVER];
    if (x == GRAPH_NO_NODE || y == GRAPH_NO_NODE)
        return GRAPH_NO_NODE;
    const int weight = transfer_weight(c, rank, op, m);
    const int node = arrival_node(c, known, x, y, weight);
    mark_message(c, rank, op, m,
                 &(struct graph_mark){.end = node, .weight = weight});
    return c->arrived[at] = node;
}

/* Adds the arrival of every message of the group; false while one is open. */
static bool join_arrivals(struct compiler *c, int rank, const struct op *op,
                          int weight, struct join *j)
{
    struct arrivals known = {.n = 0};
    for (int m = 0; m < N_MESSAGES; m++) {
        if (op->mbs[m] == NO_MB)
            continue;
        int node = arrival(c, rank, op, (enum message)m, &known);
        if (node == GRAPH_NO_NODE)
            return false;
        compiler_join(j, node, weight);
    }
    return true;
}

/* ---- groups of messages ---- */

/* Where a group starts: the rank's clock, or its communication stream once
 * that has caught up with the clock. */
static int group_start(struct compiler *c, int rank, const struct op *op)
{
    const struct rank_pos *r = &c->ranks[rank];
    struct join j = {.n = 0};
    if (!op->aside || r->aside == GRAPH_NO_NODE)
        return r->clock;
    compiler_join(&j, r->aside, W_ZERO);
    compiler_join(&j, r->clock, W_ZERO);
    return compiler_node(c, &j);
}

static void mark_wait(struct compiler *c, int rank, const struct op *op,
                      int start, int end)
{
    if (op->aside)
        return; // computing goes on
    compiler_mark(c, &(struct graph_mark){.event = {.kind = OP_EXCHANGE,
                                                    .rank = rank,
                                                    .mb = NO_MB,
                                                    .bwd_mb = NO_MB},
                                          .start = start,
                                          .end = end});
}

/* The stream of a group has come to `node`. After a shape exchange the device
 * is synchronised, so that both streams have. */
static void arrive_at(struct compiler *c, int rank, const struct op *op,
                      int node)
{
    struct rank_pos *r = &c->ranks[rank];
    const bool both =
        r->phase == GRAPH_PHASE_SHAPE && r->aside != GRAPH_NO_NODE;
    if (op->aside || both)
        r->aside = node;
    if (!op->aside || r->phase == GRAPH_PHASE_SHAPE)
        r->clock = node;
}

/* Posts this phase of a group and waits for it; false while it is open. */
static bool run_phase(struct compiler *c, int rank, const struct op *op)
{
    struct rank_pos *r = &c->ranks[rank];
    const int sync =
        r->phase == GRAPH_PHASE_SHAPE
            ? weights_get(&c->weights, &(struct weight_key){.kind = W_SYNC})
            : W_ZERO;
    struct join j = {.n = 0};
    if (r->posted == GRAPH_NO_NODE)
        post(c, rank, op, group_start(c, rank, op));
    if (!join_arrivals(c, rank, op, sync, &j))
        return false;
    const int end = compiler_node(c, &j);
    mark_wait(c, rank, op, r->posted, end);
    arrive_at(c, rank, op, end);
    r->posted = GRAPH_NO_NODE;
    return true;
}

/* Two phases where shapes are exchanged first. A posted payload is not waited
 * for: compiler_wait() does. */
bool compiler_group(struct compiler *c, int rank, const struct op *op)
{
    struct rank_pos *r = &c->ranks[rank];
    if (r->phase == GRAPH_PHASE_SHAPE) {
        if (!run_phase(c, rank, op))
            return false;
        r->phase = GRAPH_PHASE_PAYLOAD;
    }
    if (op->kind == OP_POST) {
        const int start = group_start(c, rank, op);
        post(c, rank, op, start);
        arrive_at(c, rank, op, start);
        r->posted = GRAPH_NO_NODE;
    } else if (!run_phase(c, rank, op)) {
        return false;
    }
    r->phase =
        c->g->options.shape_exchange ? GRAPH_PHASE_SHAPE : GRAPH_PHASE_PAYLOAD;
    return true;
}

bool compiler_wait(struct compiler *c, int rank, const struct op *op)
{
    struct rank_pos *r = &c->ranks[rank];
    struct join j = {.n = 0};
    const int start = op->aside ? r->aside : r->clock, phase = r->phase;
    r->phase = GRAPH_PHASE_PAYLOAD;
    compiler_join(&j, start, W_ZERO);
    const bool done = join_arrivals(c, rank, op, W_ZERO, &j);
    if (done) {
        const int end = compiler_node(c, &j);
        mark_wait(c, rank, op, start, end);
        arrive_at(c, rank, op, end);
    }
    r->phase = phase;
    return done;
}
