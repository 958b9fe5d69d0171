/*
 * How it works. lanes_new() lists the operations of all ranks in an order in
 * which each comes after what it waits for: repeatedly the rank whose next
 * operation can begin first, with chunks of equal time, so that few results
 * are alive at any moment. The list is kept twice: with slots for batches
 * (values of dead operations are overwritten, all of it stays in the first
 * cache level), and with plain operation numbers for the critical path, which
 * needs every value. For 1F1B a third list has fewer micro-batches.
 */
#include "lanes.h"

#include "wide.h"

#include <string.h>

/* Rounds after which most layouts of 1F1B repeat themselves. */
enum { LANES_STEADY_ROUNDS = 40 };

enum { LANES_NONE = 0 }; // operation 0 and slot 0: ended at time 0

/* Operation numbers or slots of what it waits for, and what it takes. */
struct lane_op {
    int32_t before, input, input2, out, time;
};

struct lane_pair {
    int fwd, bwd; // chunks of a combined operation
};

struct lanes {
    int n_stages, n_ops, n_pairs, n_slots, n_times;
    struct lane_op *op, *slotted; // [n_ops], operation i has number i + 1
    struct lane_pair *pairs;      // time n_stages * 2 + i
    bool combined;
    int64_t *value; // [n_slots][LANES_WIDE]
    int64_t *time;  // [n_times][LANES_WIDE]
    int64_t *end;   // [n_ops + 1] of one evaluation
    /* 1F1B with many micro-batches: the same with fewer, and how many fewer;
     * there, slots of the last two steady rounds, [2 * pp] each */
    struct lanes *brief;
    int n_skipped, n_round;
    int *before_round, *last_round;
};

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
    in[0] = in[1] = LANES_NONE;
    if (op->fwd_chunk >= 0) {
        int s = lanes_stage(b, op->fwd_chunk, rank);
        in[0] = s == 0 ? LANES_NONE : b->fwd[(s - 1) * n_mb + op->fwd_mb];
        if (s > 0 && in[0] == LANES_NONE)
            return false;
    }
    if (op->bwd_chunk >= 0) {
        int s = lanes_stage(b, op->bwd_chunk, rank);
        int *from =
            s == b->n_stages - 1 ? b->fwd + s * n_mb : b->bwd + (s + 1) * n_mb;
        int *to = op->fwd_chunk >= 0 ? &in[1] : &in[0];
        *to = from[op->bwd_mb];
        return *to != LANES_NONE;
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
 * backwards, then combinations. */
static int lanes_time_of(struct lanes *l, struct builder *b, int rank,
                         const struct order_op *op)
{
    if (op->kind == ORDER_FORWARD)
        return lanes_stage(b, op->fwd_chunk, rank);
    if (op->kind == ORDER_BACKWARD)
        return b->n_stages + lanes_stage(b, op->bwd_chunk, rank);
    return 2 * b->n_stages + lanes_pair(l, b,
                                        lanes_stage(b, op->fwd_chunk, rank),
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

/* Adds the next operation of a rank to the list. */
static void lanes_append(struct lanes *l, struct builder *b, int rank,
                         const int in[2])
{
    struct order_op op = b->op[rank];
    if (++b->next[rank] < b->size[rank])
        b->op[rank] = order_at(b->o, rank, b->next[rank]);
    double start = lanes_start(b, rank, in);
    int number = l->n_ops + 1;
    l->op[l->n_ops++] = (struct lane_op){b->last[rank], in[0], in[1], number,
                                         lanes_time_of(l, b, rank, &op)};
    l->combined = l->combined || in[1] != LANES_NONE;
    b->last[rank] = number;
    b->ended[number] =
        start + (op.fwd_chunk >= 0 ? 1 : 0) + (op.bwd_chunk >= 0 ? 2 : 0);
    b->free_at[rank] = b->ended[number];
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
    if (number != LANES_NONE && s->uses[number] == 0) {
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

static int lanes_n_ops(const struct order *o)
{
    int n = 0;
    for (int r = 0; r < o->pp; r++)
        n += order_size(o, r);
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

/* `n_round`: values of a steady round to keep, 0: none. NULL: out of memory. */
static struct lanes *lanes_build(struct arena *a, const struct order *o,
                                 int n_round)
{
    int n_ops = lanes_n_ops(o);
    struct lanes *l = arena_alloc(a, 1, sizeof *l);
    if (!l || !lanes_alloc(a, l, o, n_ops))
        return NULL;
    l->n_round = n_round;
    struct arena scratch;
    arena_init(&scratch);
    enum err e = lanes_compile(&scratch, o, l, n_ops);
    arena_clear(&scratch);
    l->n_times = 2 * l->n_stages + l->n_pairs;
    l->value = arena_alloc(a, (size_t)l->n_slots * LANES_WIDE, sizeof(int64_t));
    l->time = arena_alloc(a, (size_t)l->n_times * LANES_WIDE, sizeof(int64_t));
    return e == ERR_OK && l->value && l->time ? l : NULL;
}

enum err lanes_new(struct arena *a, const struct space *sp, struct lanes **out,
                   struct err_msg *msg)
{
    struct order brief = sp->problem->order;
    struct lanes *l = lanes_build(a, &brief, 0);
    bool ok = l;
    if (ok && brief.vpp == 1 && !brief.ep_overlap &&
        brief.n_mb > brief.pp + LANES_STEADY_ROUNDS) {
        l->n_skipped = brief.n_mb - brief.pp - LANES_STEADY_ROUNDS;
        brief.n_mb -= l->n_skipped;
        l->brief = lanes_build(a, &brief, 2 * brief.pp);
        ok = l->brief;
    }
    if (!ok)
        return err_set(msg, ERR_NOMEM, "compiled order: out of memory");
    *out = l;
    return ERR_OK;
}

/* ---- batches ---- */

/* Operations of one input each. */
WIDE static void lanes_run(const struct lane_op *op, int n_ops, int64_t *value,
                           const int64_t *time)
{
    for (int i = 0; i < n_ops; i++) {
        const int64_t *before = value + op[i].before * LANES_WIDE;
        const int64_t *input = value + op[i].input * LANES_WIDE;
        const int64_t *t = time + op[i].time * LANES_WIDE;
        int64_t *restrict out = value + op[i].out * LANES_WIDE;
        for (int k = 0; k < LANES_WIDE; k++)
            out[k] = (before[k] > input[k] ? before[k] : input[k]) + t[k];
    }
}

/* With combined operations: two inputs. */
WIDE static void lanes_run2(const struct lane_op *op, int n_ops, int64_t *value,
                            const int64_t *time)
{
    for (int i = 0; i < n_ops; i++) {
        const int64_t *before = value + op[i].before * LANES_WIDE;
        const int64_t *input = value + op[i].input * LANES_WIDE;
        const int64_t *input2 = value + op[i].input2 * LANES_WIDE;
        const int64_t *t = time + op[i].time * LANES_WIDE;
        int64_t *restrict out = value + op[i].out * LANES_WIDE;
        for (int k = 0; k < LANES_WIDE; k++) {
            int64_t m = before[k] > input[k] ? before[k] : input[k];
            out[k] = (m > input2[k] ? m : input2[k]) + t[k];
        }
    }
}

/* Chunk times of one layout, from prefix sums. */
static void lanes_fill(struct lanes *l, const struct space *sp, const int *pos,
                       int lane)
{
    const int64_t *fwd = sp->sum[SPACE_FWD], *bwd = sp->sum[SPACE_BWD];
    int64_t *t = l->time + lane;
    for (int s = 0; s < l->n_stages; s++) {
        t[s * LANES_WIDE] = fwd[pos[s + 1]] - fwd[pos[s]];
        t[(l->n_stages + s) * LANES_WIDE] = bwd[pos[s + 1]] - bwd[pos[s]];
    }
    t += 2 * l->n_stages * LANES_WIDE;
    for (int i = 0; i < l->n_pairs; i++) {
        struct lane_pair p = l->pairs[i];
        t[i * LANES_WIDE] = fwd[pos[p.fwd + 1]] - fwd[pos[p.fwd]] +
                            bwd[pos[p.bwd + 1]] - bwd[pos[p.bwd]] -
                            space_saving(sp, pos + p.fwd, pos + p.bwd);
    }
}

/* The step ends when rank 0 has done its last operation, as that is the last
 * backward of the first chunk; with one rank and nothing else the same. */
static void lanes_eval_all(struct lanes *l, const struct space *sp,
                           const int *pos, int n, int64_t *step_ns)
{
    for (int lane = 0; lane < n; lane++)
        lanes_fill(l, sp, pos + lane * (l->n_stages + 1), lane);
    if (l->combined)
        lanes_run2(l->slotted, l->n_ops, l->value, l->time);
    else
        lanes_run(l->slotted, l->n_ops, l->value, l->time);
    const int64_t *end = l->value + l->slotted[l->n_ops - 1].out * LANES_WIDE;
    memcpy(step_ns, end, (size_t)n * sizeof *step_ns);
}

/* By how much all values of the last steady round are later than those of the
 * round before, -1 where they differ in that. */
static int64_t lanes_shift(const struct lanes *brief, int lane)
{
    int64_t shift = -1;
    for (int i = 0; i < brief->n_round; i++) {
        int64_t by = brief->value[brief->last_round[i] * LANES_WIDE + lane] -
                     brief->value[brief->before_round[i] * LANES_WIDE + lane];
        if (i > 0 && by != shift)
            return -1;
        shift = by;
    }
    return shift;
}

/* A round depends on nothing but the round before it, by maxima of sums: once
 * a round is the last one shifted as a whole, so are all that follow, and so
 * is the end. */
void lanes_eval(struct lanes *l, const struct space *sp, const int *pos, int n,
                int64_t *step_ns)
{
    if (!l->brief) {
        lanes_eval_all(l, sp, pos, n, step_ns);
        return;
    }
    lanes_eval_all(l->brief, sp, pos, n, step_ns);
    bool steady = true;
    for (int lane = 0; lane < n; lane++) {
        int64_t shift = lanes_shift(l->brief, lane);
        steady = steady && shift >= 0;
        step_ns[lane] += shift * l->n_skipped;
    }
    if (!steady) // some layout takes longer to settle: rare
        lanes_eval_all(l, sp, pos, n, step_ns);
}

/* ---- the critical path ---- */

/* As lanes_fill(), but savings as the lesser of the two linear bounds. */
static int64_t lanes_op_time(const struct lanes *l, const struct lanes_times *t,
                             int time)
{
    int s = l->n_stages;
    if (time < s)
        return t->value[SPACE_FWD][time];
    if (time < 2 * s)
        return t->value[SPACE_BWD][time - s];
    struct lane_pair p = l->pairs[time - 2 * s];
    int64_t f = t->value[SPACE_SAVE_FWD][p.fwd];
    int64_t b = t->value[SPACE_SAVE_BWD][p.bwd];
    return t->value[SPACE_FWD][p.fwd] + t->value[SPACE_BWD][p.bwd] +
           (f > b ? f : b);
}

/* The operation lies on the path: the chunks it is worth. */
static void lanes_count_op(const struct lanes *l, const struct lanes_times *t,
                           int time, int32_t *count)
{
    int s = l->n_stages;
    if (time < 2 * s) { // forwards, then backwards: as in `count`
        count[time]++;
        return;
    }
    struct lane_pair p = l->pairs[time - 2 * s];
    bool fwd =
        t->value[SPACE_SAVE_FWD][p.fwd] > t->value[SPACE_SAVE_BWD][p.bwd];
    count[SPACE_FWD * s + p.fwd]++;
    count[SPACE_BWD * s + p.bwd]++;
    count[fwd ? SPACE_SAVE_FWD * s + p.fwd : SPACE_SAVE_BWD * s + p.bwd]++;
}

/* The one of the three that ended last; ties as the caller wants them, since
 * different paths exclude different layouts. */
static int lanes_binding(const int64_t *end, const struct lane_op *op,
                         bool late_input)
{
    int at = op->before;
    int64_t bar = end[at] + (late_input ? 0 : 1);
    if (op->input != LANES_NONE && end[op->input] >= bar) {
        at = op->input;
        bar = end[at] + (late_input ? 0 : 1);
    }
    return op->input2 != LANES_NONE && end[op->input2] >= bar ? op->input2 : at;
}

static int64_t lanes_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t lanes_path(struct lanes *l, const struct lanes_times *t,
                   bool late_input, int32_t *count)
{
    int64_t *end = l->end;
    end[LANES_NONE] = 0;
    /* times of chunks are read once into the first lane */
    for (int i = 0; i < l->n_times; i++)
        l->time[i] = lanes_op_time(l, t, i);
    for (int i = 0; i < l->n_ops; i++) {
        const struct lane_op *op = &l->op[i];
        end[i + 1] = lanes_later(lanes_later(end[op->before], end[op->input]),
                                 end[op->input2]) +
                     l->time[op->time];
    }
    memset(count, 0, sizeof *count * (size_t)(SPACE_N_SUMS * l->n_stages));
    for (int at = l->n_ops; at != LANES_NONE;) {
        const struct lane_op *op = &l->op[at - 1];
        lanes_count_op(l, t, op->time, count);
        at = lanes_binding(end, op, late_input);
    }
    return end[l->n_ops];
}
