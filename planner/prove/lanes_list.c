/*
 * How it works: the next operation of the rank that can begin first joins the
 * list, again and again; its results' places are assigned when all are there.
 * Embedding and loss head are pinned to the first and the last stage, so which
 * combined operations have parts is known when the list is made; the parts
 * are further operations of it.
 */
#include "lanes_list.h"

/* ---- compiling: the order in which operations run ---- */

struct builder {
    const struct order *o;
    int n_stages;
    int *next, *size; // [pp] next operation of each rank, and how many
    int *last;        // [pp] number of the rank's previous operation
    int *fwd, *bwd;   // [n_stages * n_mb] number of the operation, 0: none
    double *free_at, *ended; // [pp], [n_ops + 1]
    int *pair_of;            // [n_stages * n_stages], -1: none yet
    struct order_op *op;     // [pp] the rank's next operation
};

static int lanes_stage(const struct builder *b, int chunk, int rank)
{
    return chunk * b->o->pp + rank;
}

/* Numbers of the inputs of an operation; false while one has not run. */
static bool lanes_inputs(const struct builder *b, int rank,
                         const struct order_op *op, int in[2])
{
    int n_mb = b->o->n_mb;
    in[0] = in[1] = LANE_NONE;
    if (op->fwd_chunk >= 0) {
        int s = lanes_stage(b, op->fwd_chunk, rank);
        in[0] = s == 0 ? LANE_NONE : b->fwd[(s - 1) * n_mb + op->fwd_mb];
        if (s > 0 && in[0] == LANE_NONE)
            return false;
    }
    if (op->bwd_chunk >= 0) {
        int s = lanes_stage(b, op->bwd_chunk, rank);
        int *from =
            s == b->n_stages - 1 ? b->fwd + s * n_mb : b->bwd + (s + 1) * n_mb;
        int *to = op->fwd_chunk >= 0 ? &in[1] : &in[0];
        *to = from[op->bwd_mb];
        return *to != LANE_NONE;
    }
    return true;
}

/* Number of a combination of chunks in one operation, new or known. */
static int lanes_pair(struct lanes *l, struct builder *b, int fwd, int bwd)
{
    int *at = &b->pair_of[fwd * b->n_stages + bwd];
    if (*at < 0) {
        *at = l->n_pairs;
        l->pairs[l->n_pairs++] = (struct lane_pair){fwd, bwd};
    }
    return *at;
}

/* Which of the chunk times the operation takes: forwards of all stages, then
 * backwards, parts, and combinations. */
static int lanes_time_of(struct lanes *l, struct builder *b, int rank,
                         const struct order_op *op)
{
    if (op->kind == ORDER_FORWARD)
        return lanes_stage(b, op->fwd_chunk, rank);
    if (op->kind == ORDER_BACKWARD)
        return b->n_stages + lanes_stage(b, op->bwd_chunk, rank);
    return 2 * b->n_stages + LANE_N_PARTS +
           lanes_pair(l, b, lanes_stage(b, op->fwd_chunk, rank),
                      lanes_stage(b, op->bwd_chunk, rank));
}

/* When the operation could begin with all forwards 1 long, backwards 2. */
static double lanes_start(const struct builder *b, int rank, const int in[2])
{
    double t = b->free_at[rank];
    for (int i = 0; i < 2; i++)
        t = b->ended[in[i]] > t ? b->ended[in[i]] : t;
    return t;
}

/* The rank whose next operation begins first; -1 when all are done. */
static int lanes_first_rank(const struct builder *b, int in[2])
{
    int best = -1;
    double best_start = 0;
    for (int r = 0; r < b->o->pp; r++) {
        int its[2];
        if (b->next[r] >= b->size[r])
            continue;
        if (!lanes_inputs(b, r, &b->op[r], its))
            continue;
        double start = lanes_start(b, r, its);
        if (best < 0 || start < best_start) {
            best = r;
            best_start = start;
            in[0] = its[0];
            in[1] = its[1];
        }
    }
    return best;
}

/* What an operation takes: the index of its time, and for the order of the list
 * a length, with all forwards 1 long and backwards 2. */
struct lane_work {
    int time;
    double length;
};

/* Adds an operation of a rank to the list; returns its number. */
static int lanes_add(struct lanes *l, struct builder *b, int rank,
                     const int in[2], struct lane_work work)
{
    double start = lanes_start(b, rank, in);
    int number = l->n_ops + 1;
    l->op[l->n_ops++] =
        (struct lane_op){b->last[rank], in[0], in[1], number, work.time};
    l->combined = l->combined || in[1] != LANE_NONE;
    b->last[rank] = number;
    b->ended[number] = b->free_at[rank] = start + work.length;
    return number;
}

/* Parts before the layers of both; what they wait for, the layers need not.
 * The loss head waits for the forward's input too: Megatron receives that
 * first. */
static void lanes_add_heads(struct lanes *l, struct builder *b, int rank,
                            const struct order_op *op, int in[2])
{
    int first = 2 * b->n_stages;
    if (lanes_stage(b, op->fwd_chunk, rank) == 0)
        lanes_add(l, b, rank, (int[2]){LANE_NONE, LANE_NONE},
                  (struct lane_work){first + LANE_HEAD_FWD, 0});
    if (lanes_stage(b, op->bwd_chunk, rank) == b->n_stages - 1) {
        lanes_add(l, b, rank, in, (struct lane_work){first + LANE_HEAD_BWD, 0});
        in[0] = in[1] = LANE_NONE;
    }
}

static void lanes_add_tails(struct lanes *l, struct builder *b, int rank,
                            const struct order_op *op)
{
    const int none[2] = {LANE_NONE, LANE_NONE};
    int first = 2 * b->n_stages;
    if (lanes_stage(b, op->fwd_chunk, rank) == b->n_stages - 1)
        lanes_add(l, b, rank, none,
                  (struct lane_work){first + LANE_TAIL_FWD, 0});
    if (lanes_stage(b, op->bwd_chunk, rank) == 0)
        lanes_add(l, b, rank, none,
                  (struct lane_work){first + LANE_TAIL_BWD, 0});
}

/* Adds the next operation of a rank to the list. */
static void lanes_append(struct lanes *l, struct builder *b, int rank,
                         int in[2])
{
    struct order_op op = b->op[rank];
    bool parts = l->has_parts && op.fwd_chunk >= 0 && op.bwd_chunk >= 0;
    if (++b->next[rank] < b->size[rank])
        b->op[rank] = order_at(b->o, rank, b->next[rank]);
    if (parts)
        lanes_add_heads(l, b, rank, &op, in);
    const struct lane_work work = {lanes_time_of(l, b, rank, &op),
                                   (op.fwd_chunk >= 0 ? 1 : 0) +
                                       (op.bwd_chunk >= 0 ? 2 : 0)};
    int number = lanes_add(l, b, rank, in, work);
    if (parts)
        lanes_add_tails(l, b, rank, &op);
    if (op.fwd_chunk >= 0)
        b->fwd[lanes_stage(b, op.fwd_chunk, rank) * b->o->n_mb + op.fwd_mb] =
            number;
    if (op.bwd_chunk >= 0)
        b->bwd[lanes_stage(b, op.bwd_chunk, rank) * b->o->n_mb + op.bwd_mb] =
            number;
}

/* ---- slots ---- */

/* How often each result is read. */
static void lanes_count_uses(const struct lanes *l, int *uses)
{
    for (int i = 0; i < l->n_ops; i++) {
        uses[l->op[i].before]++;
        uses[l->op[i].input]++;
        uses[l->op[i].input2]++;
    }
}

struct slots {
    int *uses, *slot_of, *spare;
    int n_spare, n_slots;
};

/* The slot of operation `number`, read once more. */
static int lanes_slot_read(const struct slots *s, int number)
{
    s->uses[number]--;
    return s->slot_of[number];
}

static void lanes_slot_release(struct slots *s, int number)
{
    if (number != LANE_NONE && s->uses[number] == 0) {
        s->uses[number] = -1; // an operation may be read twice at once
        s->spare[s->n_spare++] = s->slot_of[number];
    }
}

/* A result takes its slot before its inputs give theirs back, so that the
 * loops never read what they write. */
static void lanes_assign(struct lanes *l, struct slots *s)
{
    lanes_count_uses(l, s->uses);
    for (int i = 0; i < l->n_round; i++) { // read once more, after the end
        s->uses[l->before_round[i]]++;
        s->uses[l->last_round[i]]++;
    }
    s->n_slots = 1;
    for (int i = 0; i < l->n_ops; i++) {
        struct lane_op op = l->op[i];
        int out = s->n_spare ? s->spare[--s->n_spare] : s->n_slots++;
        s->slot_of[i + 1] = out;
        l->slotted[i] = (struct lane_op){
            lanes_slot_read(s, op.before), lanes_slot_read(s, op.input),
            lanes_slot_read(s, op.input2), out, op.time};
        lanes_slot_release(s, op.before);
        lanes_slot_release(s, op.input);
        lanes_slot_release(s, op.input2);
    }
    l->n_slots = s->n_slots;
    for (int i = 0; i < l->n_round; i++) {
        l->before_round[i] = s->slot_of[l->before_round[i]];
        l->last_round[i] = s->slot_of[l->last_round[i]];
    }
}

/* ---- the module's memory ---- */

static bool lanes_builder_init(struct arena *a, struct builder *b,
                               const struct order *o, int n_ops)
{
    size_t pp = (size_t)o->pp, stages = pp * (size_t)o->vpp;
    size_t cells = stages * (size_t)o->n_mb;
    *b = (struct builder){.o = o, .n_stages = o->pp * o->vpp};
    b->next = arena_alloc(a, pp, sizeof(int));
    b->size = arena_alloc(a, pp, sizeof(int));
    b->last = arena_alloc(a, pp, sizeof(int));
    b->fwd = arena_alloc(a, cells, sizeof(int));
    b->bwd = arena_alloc(a, cells, sizeof(int));
    b->free_at = arena_alloc(a, pp, sizeof(double));
    b->ended = arena_alloc(a, (size_t)n_ops + 1, sizeof(double));
    b->pair_of = arena_alloc(a, stages * stages, sizeof(int));
    b->op = arena_alloc(a, pp, sizeof *b->op);
    if (!b->op || !b->next || !b->size || !b->last || !b->fwd || !b->bwd ||
        !b->free_at || !b->ended || !b->pair_of)
        return false;
    for (int r = 0; r < o->pp; r++) {
        b->size[r] = order_size(o, r);
        b->op[r] = order_at(o, r, 0);
    }
    for (size_t i = 0; i < stages * stages; i++)
        b->pair_of[i] = -1;
    return true;
}

static bool lanes_slots_init(struct arena *a, struct slots *s, int n_ops)
{
    size_t n = (size_t)n_ops + 1;
    s->uses = arena_alloc(a, n, sizeof(int));
    s->slot_of = arena_alloc(a, n, sizeof(int));
    s->spare = arena_alloc(a, n, sizeof(int));
    return s->uses && s->slot_of && s->spare;
}

/* At most so many: an operation has a part before and one after its layers,
 * as the first and the last stage are of different ranks. */
static int lanes_n_ops(const struct order *o, bool parts)
{
    int n = 0;
    for (int r = 0; r < o->pp; r++)
        n += order_size(o, r) * (parts && (r == 0 || r == o->pp - 1) ? 3 : 1);
    return n;
}

/* Round i of rank r is its i-th steady forward and backward, F(r, w + i) and
 * B(r, i). The last round that all ranks have whole is M - P. */
static void lanes_mark_rounds(struct lanes *l, const struct builder *b)
{
    const struct order *o = b->o;
    int round = o->n_mb - o->pp;
    for (int r = 0; r < o->pp && l->n_round; r++) {
        int fwd = r * o->n_mb + order_warmup(o, r) + round;
        int bwd = r * o->n_mb + round;
        l->last_round[2 * r] = b->fwd[fwd];
        l->last_round[2 * r + 1] = b->bwd[bwd];
        l->before_round[2 * r] = b->fwd[fwd - 1];
        l->before_round[2 * r + 1] = b->bwd[bwd - 1];
    }
}

static enum err lanes_compile(struct arena *scratch, const struct order *o,
                              struct lanes *l, int n_ops)
{
    struct builder b;
    struct slots s = {0};
    if (!lanes_builder_init(scratch, &b, o, n_ops) ||
        !lanes_slots_init(scratch, &s, n_ops))
        return ERR_NOMEM;
    int in[2], rank;
    while ((rank = lanes_first_rank(&b, in)) >= 0)
        lanes_append(l, &b, rank, in);
    lanes_mark_rounds(l, &b);
    lanes_assign(l, &s);
    return ERR_OK;
}

static bool lanes_alloc(struct arena *a, struct lanes *l, const struct order *o,
                        int n_ops)
{
    size_t n = (size_t)n_ops, stages = (size_t)(o->pp * o->vpp);
    l->n_stages = o->pp * o->vpp;
    l->op = arena_alloc(a, n, sizeof *l->op);
    l->slotted = arena_alloc(a, n, sizeof *l->slotted);
    l->pairs = arena_alloc(a, stages * stages, sizeof *l->pairs);
    l->end = arena_alloc(a, n + 1, sizeof *l->end);
    l->before_round = arena_alloc(a, 2 * stages, sizeof(int));
    l->last_round = arena_alloc(a, 2 * stages, sizeof(int));
    return l->op && l->slotted && l->pairs && l->end && l->before_round &&
           l->last_round;
}

struct lanes *lanes_list(struct arena *a, const struct order *o, int n_round)
{
    bool parts = o->ep_overlap && o->pp > 1;
    int n_ops = lanes_n_ops(o, parts);
    struct lanes *l = arena_alloc(a, 1, sizeof *l);
    if (!l || !lanes_alloc(a, l, o, n_ops))
        return NULL;
    l->has_parts = parts;
    l->n_round = n_round;
    struct arena scratch;
    arena_init(&scratch);
    enum err e = lanes_compile(&scratch, o, l, n_ops);
    arena_clear(&scratch);
    l->n_times = 2 * l->n_stages + LANE_N_PARTS + l->n_pairs;
    l->value = arena_alloc(a, (size_t)l->n_slots * LANES_WIDE, sizeof(int64_t));
    l->time = arena_alloc(a, (size_t)l->n_times * LANES_WIDE, sizeof(int64_t));
    return e == ERR_OK && l->value && l->time ? l : NULL;
}
