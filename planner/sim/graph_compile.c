/*
 * How it works: every rank has a program counter, and a clock that is a node
 * of the graph instead of a number. In turn each rank executes one operation
 * of its list, which makes the nodes of its end, or finds that it needs the
 * node of something that no rank has reached yet (a producer's end, the
 * posting of a message's other end) and waits. So nodes come in a topological
 * order, all ranks advance like a wave, and few values are alive at a time. A
 * turn in which no rank moves proves a deadlock.
 *
 * What has more than two predecessors becomes a chain of nodes.
 */
#include "graph.h"
#include "graph_compiler.h"
#include "graph_slots.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ---- */

void compiler_join(struct join *j, int node, int weight)
{
    for (int i = 0; i < j->n; i++)
        if (j->node[i] == node && j->weight[i] == weight)
            return;
    j->node[j->n] = node;
    j->weight[j->n++] = weight;
}

static int add_instr(struct compiler *c, struct graph_instr in)
{
    c->g->instrs[c->g->n_instrs++] = in;
    return c->g->n_instrs; // instruction i makes node i + 1
}

/* The node of the latest predecessor; an old one when nothing is added. */
int compiler_node(struct compiler *c, const struct join *j)
{
    int node = j->node[0], weight = j->weight[0];
    if (j->n == 1)
        return weight == W_ZERO
                   ? node
                   : add_instr(c, (struct graph_instr){.a = node,
                                                       .b = node,
                                                       .wa = weight,
                                                       .wb = weight});
    for (int i = 1; i < j->n; i++) {
        node = add_instr(c, (struct graph_instr){.a = node,
                                                 .b = j->node[i],
                                                 .wa = weight,
                                                 .wb = j->weight[i]});
        weight = W_ZERO;
    }
    return node;
}

void compiler_mark(struct compiler *c, const struct graph_mark *mark)
{
    if (c->g->options.keep)
        c->g->marks[c->g->n_marks++] = *mark;
}

/* ---- work ---- */

/* Modes in which transfers take no part of a rank. */
static bool has_instant_inputs(const struct compiler *c)
{
    return c->g->options.mode == P2P_IDEAL || c->g->options.mode == P2P_ASYNC;
}

/* Work that is being put into the graph: what it starts after, and its weight
 * with and without a transfer before it. */
struct work {
    int rank;
    struct join join;
    struct weight_key alone, after_input;
};

static void work_start(struct compiler *c, struct work *w)
{
    compiler_join(&w->join, c->ranks[w->rank].clock,
                  weights_get(&c->weights, &w->alone));
}

/* Adds an input of a stage in the modes without exchanges; in the others they
 * have brought it. False while it does not exist. */
static bool work_input(struct compiler *c, struct work *w, int stage, int mb,
                       bool forward)
{
    const int from = forward ? stage - 1 : stage + 1;
    const int b = forward ? stage - 1 : stage;
    if (!has_instant_inputs(c) || from < 0 || from >= c->g->n_stages)
        return true;
    const int *ends = forward ? c->forward_end : c->backward_end;
    const int node = ends[from * c->g->n_mb + mb];
    if (node == GRAPH_NO_NODE)
        return false;
    w->after_input.index[GRAPH_TRANSFER] = b;
    compiler_join(&w->join, node,
                  weights_get(&c->weights, c->g->options.mode == P2P_IDEAL
                                               ? &w->alone
                                               : &w->after_input));
    return true;
}

/* The rank has done it; returns its node. */
static int work_end(struct compiler *c, struct work *w, const struct op *op)
{
    const int node = compiler_node(c, &w->join);
    struct graph_mark mark = {.event = {.kind = op->kind,
                                        .rank = w->rank,
                                        .chunk = op->chunk,
                                        .mb = op->mb,
                                        .bwd_chunk = op->bwd_chunk,
                                        .bwd_mb = op->bwd_mb},
                              .start = GRAPH_NO_NODE,
                              .end = node,
                              .weight = weights_get(&c->weights, &w->alone)};
    compiler_mark(c, &mark);
    c->ranks[w->rank].clock = node;
    return node;
}

static struct weight_key with_kind(struct weight_key key, enum weight_kind kind)
{
    key.kind = kind;
    return key;
}

/* 1F1B: the rounds that graph_shift() compares end with the last that is
 * followed by a forward on every rank. */
static void keep_round(struct compiler *c, int rank, int mb, int before,
                       int node)
{
    struct graph *g = c->g;
    const int round = mb - order_warmup(&c->s->order, rank);
    const int first = g->n_mb - g->n_ranks - 1 - g->options.n_rounds;
    if (!g->rounds)
        return;
    int *at = g->rounds + (round - first) * 2 * g->n_ranks + 2 * rank;
    if (round >= first && round <= first + g->options.n_rounds)
        at[0] = node;
    if (round - 1 >= first && round - 1 <= first + g->options.n_rounds)
        at[1 - 2 * g->n_ranks] = before;
}

/* A forward or a backward by itself. */
static bool run_single(struct compiler *c, int rank, const struct op *op)
{
    const bool forward = op->kind == OP_FORWARD;
    const int stage = op->chunk * c->s->pp + rank, n_mb = c->g->n_mb;
    const int i = c->g->options.per_operation ? stage * n_mb + op->mb : stage;
    struct work w = {.rank = rank,
                     .alone = {.kind = forward ? W_FWD : W_BWD,
                               .i = i,
                               .index = {[GRAPH_FWD] = i, [GRAPH_BWD] = i}}};
    w.after_input = with_kind(w.alone, forward ? W_FWD_IN : W_BWD_IN);
    const int before = c->ranks[rank].clock;
    work_start(c, &w);
    if (!work_input(c, &w, stage, op->mb, forward))
        return false;
    const int node = work_end(c, &w, op);
    (forward ? c->forward_end : c->backward_end)[stage * n_mb + op->mb] = node;
    if (forward)
        keep_round(c, rank, op->mb, before, node);
    return true;
}

/* Layers of both, after both inputs unless heads have waited for them. */
static bool run_combined(struct compiler *c, int rank, const struct op *op)
{
    const bool ops = c->g->options.per_operation, parts = c->g->options.parts;
    const int n_mb = c->g->n_mb;
    const int fwd = op->chunk * c->s->pp + rank;
    const int bwd = op->bwd_chunk * c->s->pp + rank;
    const int pair = graph_pair(c->s, rank, op->chunk, op->bwd_chunk);
    const int i = ops ? fwd * n_mb + op->mb : pair;
    struct work w = {
        .rank = rank,
        .alone = {.kind = ops ? W_OPS : W_MID,
                  .i = i,
                  .index = {[GRAPH_MID] = pair,
                            [GRAPH_SAVED] = pair,
                            [GRAPH_FWD] = i,
                            [GRAPH_BWD] = bwd * n_mb + op->bwd_mb}}};
    w.after_input = with_kind(w.alone, ops ? W_OPS_IN : W_MID_IN);
    work_start(c, &w);
    w.after_input.i = 2 * i;
    if (!parts && !work_input(c, &w, fwd, op->mb, true))
        return false;
    w.after_input.i = 2 * i + 1;
    if (!parts && !work_input(c, &w, bwd, op->bwd_mb, false))
        return false;
    const int node = work_end(c, &w, op);
    c->forward_end[fwd * n_mb + op->mb] = node;
    c->backward_end[bwd * n_mb + op->bwd_mb] = node;
    return true;
}

/* The part of a combined operation before its layers, forward or backward. */
static bool run_head(struct compiler *c, int rank, const struct op *op)
{
    const bool forward = op->kind == OP_HEAD_FORWARD;
    const int chunk = forward ? op->chunk : op->bwd_chunk;
    const int stage = chunk * c->s->pp + rank;
    struct work w = {
        .rank = rank,
        .alone = {
            .kind = forward ? W_HEAD_FWD : W_HEAD_BWD,
            .i = stage,
            .index = {[GRAPH_HEAD_FWD] = stage, [GRAPH_HEAD_BWD] = stage}}};
    w.after_input = with_kind(w.alone, forward ? W_HEAD_FWD_IN : W_HEAD_BWD_IN);
    if (!c->g->options.parts)
        return true;
    work_start(c, &w);
    if (!work_input(c, &w, stage, forward ? op->mb : op->bwd_mb, forward))
        return false;
    work_end(c, &w, op);
    return true;
}

/* What comes after the layers of both, when their outputs have left. */
static bool run_tails(struct compiler *c, int rank, const struct op *op)
{
    struct work w = {
        .rank = rank,
        .alone = {
            .kind = W_TAILS,
            .i = graph_pair(c->s, rank, op->chunk, op->bwd_chunk),
            .index = {[GRAPH_TAIL_FWD] = op->chunk * c->s->pp + rank,
                      [GRAPH_TAIL_BWD] = op->bwd_chunk * c->s->pp + rank}}};
    if (!c->g->options.parts)
        return true;
    work_start(c, &w);
    work_end(c, &w, op);
    return true;
}

/* ---- all ranks ---- */

/* One operation of a rank; false while it has to wait. */
static bool run_op(struct compiler *c, int rank, const struct op *op)
{
    switch (op->kind) {
    case OP_FORWARD:
    case OP_BACKWARD:
        return run_single(c, rank, op);
    case OP_COMBINED:
        return run_combined(c, rank, op);
    case OP_HEAD_FORWARD:
    case OP_HEAD_BACKWARD:
        return run_head(c, rank, op);
    case OP_TAILS:
        return run_tails(c, rank, op);
    case OP_EXCHANGE:
    case OP_POST:
        return has_instant_inputs(c) || compiler_group(c, rank, op);
    case OP_WAIT:
        return has_instant_inputs(c) || compiler_wait(c, rank, op);
    case N_OP_KINDS:
        break;
    }
    return true;
}

/* Where each rank stands: a deadlock is of all of them, and the one that is at
 * fault need not be the first. */
static enum err deadlock(const struct compiler *c, struct err_msg *msg)
{
    static const char *const names[N_OP_KINDS] = {
        [OP_FORWARD] = "forward",   [OP_BACKWARD] = "backward",
        [OP_COMBINED] = "combined", [OP_EXCHANGE] = "exchange",
        [OP_POST] = "post",         [OP_WAIT] = "wait",
        [OP_HEAD_FORWARD] = "head", [OP_HEAD_BACKWARD] = "head",
        [OP_TAILS] = "tail"};
    char where[512] = "";
    size_t used = 0;
    for (int r = 0; r < c->s->pp && used + 60 < sizeof where; r++) {
        const struct rank_ops *list = &c->s->ranks[r];
        const int pc = c->ranks[r].pc;
        if (pc < list->n_ops)
            used += (size_t)snprintf(where + used, sizeof where - used,
                                     " rank %d at operation %d (%s);", r, pc,
                                     names[list->ops[pc].kind]);
    }
    return err_set(msg, ERR_MODEL, "schedule deadlocks:%s", where);
}

/* Ranks in turn, each as far as it comes: an operation of which an input is not
 * there yet is tried again in the next round. A round in which none moved is a
 * deadlock. A position is more than its operation (phase, what is posted),
 * which is why all of it is compared. */
static enum err run_all(struct compiler *c, struct err_msg *msg)
{
    bool moved = true, left = true;
    while (moved && left) {
        moved = left = false;
        for (int r = 0; r < c->s->pp; r++) {
            const struct rank_ops *list = &c->s->ranks[r];
            struct rank_pos *at = &c->ranks[r];
            if (at->pc >= list->n_ops)
                continue;
            const struct rank_pos before = *at;
            at->pc += run_op(c, r, &list->ops[at->pc]);
            moved = moved || memcmp(&before, at, sizeof before) != 0;
            left = left || at->pc < list->n_ops;
        }
    }
    if (left)
        return deadlock(c, msg);
    for (int r = 0; r < c->s->pp; r++) {
        struct join j = {.n = 0};
        compiler_join(&j, c->ranks[r].clock, W_ZERO);
        if (c->ranks[r].aside != GRAPH_NO_NODE)
            compiler_join(&j, c->ranks[r].aside, W_ZERO);
        c->g->finish[r] = compiler_node(c, &j);
    }
    return ERR_OK;
}

/* ---- memory ---- */

/* Room for the instructions and marks of all lists: work joins a clock and two
 * inputs; each message of a phase makes an arrival and is joined, with a
 * start before and a clock. */
static int room_for(const struct compiler *c)
{
    int room = 2 * c->s->pp;
    for (int r = 0; r < c->s->pp; r++)
        for (int i = 0; i < c->s->ranks[r].n_ops; i++) {
            const struct op *op = &c->s->ranks[r].ops[i];
            int messages = 0;
            for (int m = 0; m < N_MESSAGES; m++)
                messages += op->mbs[m] != NO_MB;
            room += messages ? GRAPH_N_PHASES * (2 * messages + 2) : 2;
        }
    return room;
}

static int *filled(struct arena *a, size_t n, int value)
{
    int *x = arena_alloc(a, n, sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = value;
    return x;
}

/* Tables of what each work and message has come to, all unknown. */
static bool take_memory(struct compiler *c)
{
    struct graph *g = c->g;
    const int phases = g->options.shape_exchange ? GRAPH_N_PHASES : 1;
    const size_t n = (size_t)g->n_stages * (size_t)g->n_mb;
    const size_t messages = has_instant_inputs(c) ? 0 : n * 2 * (size_t)phases;
    const int room = room_for(c);
    c->forward_end = filled(c->a, n, GRAPH_NO_NODE);
    c->backward_end = filled(c->a, n, GRAPH_NO_NODE);
    c->posted = filled(c->a, messages * GRAPH_N_ENDS, GRAPH_NO_NODE);
    c->arrived = filled(c->a, messages, GRAPH_NO_NODE);
    c->ranks = arena_alloc(c->a, (size_t)g->n_ranks, sizeof *c->ranks);
    g->finish = arena_alloc(c->a, (size_t)g->n_ranks, sizeof *g->finish);
    g->instrs = arena_alloc(c->a, (size_t)room, sizeof *g->instrs);
    g->marks =
        arena_alloc(c->a, g->options.keep ? (size_t)room : 0, sizeof *g->marks);
    if (g->options.n_rounds)
        g->rounds = arena_alloc(
            c->a, 2 * (size_t)(g->options.n_rounds + 1) * (size_t)g->n_ranks,
            sizeof *g->rounds);
    for (int r = 0; c->ranks && r < g->n_ranks; r++)
        c->ranks[r] = (struct rank_pos){.clock = GRAPH_START,
                                        .aside = GRAPH_NO_NODE,
                                        .phase = g->options.shape_exchange
                                                     ? GRAPH_PHASE_SHAPE
                                                     : GRAPH_PHASE_PAYLOAD,
                                        .posted = GRAPH_NO_NODE};
    return c->forward_end && c->backward_end && c->posted && c->arrived &&
           c->ranks && g->finish && g->instrs && g->marks &&
           (g->rounds || !g->options.n_rounds);
}

enum err graph_compile(struct arena *a, const struct schedule *s,
                       const struct graph_options *options, struct graph **out,
                       struct err_msg *msg)
{
    struct graph *g = arena_alloc(a, 1, sizeof *g);
    if (!g)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    g->options = *options;
    g->n_ranks = s->pp;
    g->n_stages = s->pp * s->vpp;
    g->n_mb = s->n_mb;
    struct compiler c = {.a = a, .s = s, .g = g};
    if (weights_init(a, s, g, &c.weights) != ERR_OK || !take_memory(&c))
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    enum err e = run_all(&c, msg);
    if (e == ERR_OK)
        e = graph_assign_slots(a, g);
    if (e == ERR_NOMEM)
        return err_set(msg, e, "simulation: out of memory");
    if (e == ERR_OK)
        *out = g;
    return e;
}

int graph_pair(const struct schedule *s, int rank, int fwd_chunk, int bwd_chunk)
{
    return (rank * s->vpp + fwd_chunk) * s->vpp + bwd_chunk;
}

int graph_n_nodes(const struct graph *g)
{
    return g->n_instrs + 1;
}

int graph_n_slots(const struct graph *g)
{
    return g->n_slots;
}
