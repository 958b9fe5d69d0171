/*
 * How it works. lanes_list() has put the operations into an order in which
 * each comes after what it waits for; a batch runs through it in one loop, a
 * critical path once forwards and once back. For 1F1B with many micro-batches
 * a second list has fewer of them.
 */
#include "lanes_list.h"

#include "wide.h"

#include <string.h>

/* Rounds after which most layouts of 1F1B repeat themselves. */
enum { LANES_STEADY_ROUNDS = 40 };

enum err lanes_new(struct arena *a, const struct space *sp, struct lanes **out,
                   struct err_msg *msg)
{
    struct order brief = sp->problem->order;
    struct lanes *l = lanes_list(a, &brief, 0);
    bool ok = l;
    if (ok && brief.vpp == 1 && !brief.ep_overlap &&
        brief.n_mb > brief.pp + LANES_STEADY_ROUNDS) {
        l->n_skipped = brief.n_mb - brief.pp - LANES_STEADY_ROUNDS;
        brief.n_mb -= l->n_skipped;
        l->brief = lanes_list(a, &brief, 2 * brief.pp);
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

/* What a chunk, of the positions from pos[0] to pos[1], has of a sum. */
static int64_t lanes_chunk(const struct space *sp, enum space_sum which,
                           const int *pos)
{
    return sp->sum[which][pos[1]] - sp->sum[which][pos[0]];
}

/* A combined operation without the parts that are operations of their own. As
 * in the simulator its layers never take less than 0, whatever savings are
 * claimed. */
static int64_t lanes_pair_time(const struct lanes *l, const struct space *sp,
                               const int *fwd, const int *bwd)
{
    int64_t parts = lanes_chunk(sp, SPACE_PART_FWD, fwd) +
                    lanes_chunk(sp, SPACE_PART_BWD, bwd);
    int64_t layers = lanes_chunk(sp, SPACE_FWD, fwd) +
                     lanes_chunk(sp, SPACE_BWD, bwd) - parts -
                     space_saving(sp, fwd, bwd);
    layers = layers > 0 ? layers : 0;
    return l->has_parts ? layers : parts + layers;
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
    for (enum lane_part i = 0; i < LANE_N_PARTS; i++)
        t[i * LANES_WIDE] =
            lanes_chunk(sp, lanes_part_sum(i), pos + lanes_part_stage(l, i));
    t += LANE_N_PARTS * LANES_WIDE;
    for (int i = 0; i < l->n_pairs; i++)
        t[i * LANES_WIDE] = lanes_pair_time(l, sp, pos + l->pairs[i].fwd,
                                            pos + l->pairs[i].bwd);
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
    time -= 2 * s;
    if (time < LANE_N_PARTS) {
        enum lane_part part = (enum lane_part)time;
        return t->value[lanes_part_sum(part)][lanes_part_stage(l, part)];
    }
    struct lane_pair p = l->pairs[time - LANE_N_PARTS];
    int64_t f = t->value[SPACE_SAVE_FWD][p.fwd];
    int64_t b = t->value[SPACE_SAVE_BWD][p.bwd];
    int64_t parts =
        t->value[SPACE_PART_FWD][p.fwd] + t->value[SPACE_PART_BWD][p.bwd];
    return t->value[SPACE_FWD][p.fwd] + t->value[SPACE_BWD][p.bwd] -
           (l->has_parts ? parts : 0) + (f > b ? f : b);
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
    time -= 2 * s;
    if (time < LANE_N_PARTS) {
        enum lane_part part = (enum lane_part)time;
        count[(int)lanes_part_sum(part) * s + lanes_part_stage(l, part)]++;
        return;
    }
    struct lane_pair p = l->pairs[time - LANE_N_PARTS];
    bool fwd =
        t->value[SPACE_SAVE_FWD][p.fwd] > t->value[SPACE_SAVE_BWD][p.bwd];
    count[SPACE_FWD * s + p.fwd]++;
    count[SPACE_BWD * s + p.bwd]++;
    count[SPACE_PART_FWD * s + p.fwd] -= l->has_parts;
    count[SPACE_PART_BWD * s + p.bwd] -= l->has_parts;
    count[fwd ? SPACE_SAVE_FWD * s + p.fwd : SPACE_SAVE_BWD * s + p.bwd]++;
}

/* The one of the three that ended last; ties as the caller wants them, since
 * different paths exclude different layouts. */
static int lanes_binding(const int64_t *end, const struct lane_op *op,
                         bool late_input)
{
    int at = op->before;
    int64_t bar = end[at] + (late_input ? 0 : 1);
    if (op->input != LANE_NONE && end[op->input] >= bar) {
        at = op->input;
        bar = end[at] + (late_input ? 0 : 1);
    }
    return op->input2 != LANE_NONE && end[op->input2] >= bar ? op->input2 : at;
}

static int64_t lanes_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t lanes_path(struct lanes *l, const struct lanes_times *t,
                   bool late_input, int32_t *count)
{
    int64_t *end = l->end;
    end[LANE_NONE] = 0;
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
    for (int at = l->n_ops; at != LANE_NONE;) {
        const struct lane_op *op = &l->op[at - 1];
        lanes_count_op(l, t, op->time, count);
        at = lanes_binding(end, op, late_input);
    }
    return end[l->n_ops];
}
