/*
 * How it works: forwards of all ranks have one order, backwards its mirror;
 * a place in it is turned into chunk and micro-batch by divisions. A rank is
 * the two woven together: forwards for the warm-up, then in turn (or as one
 * operation), then the backwards that are left.
 */
#include "order.h"

#include "model/model.h"

#include <stddef.h>
#include <stdio.h>

// of all ranks together: lists of some 2 GB; planning looks at a few thousand
enum { ORDER_MAX_OPS = 1 << 24 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Megatron's default for a group is the number of ranks
 * (model_parallel_config.py). One micro-batch beyond the cap stands for any
 * larger number: an int cannot hold them all. */
struct order order_of_model(const struct model *m)
{
    const int64_t n_mb = m->batch.n_microbatches;
    return (struct order){
        .pp = m->par.pp,
        .vpp = m->par.vpp,
        .n_mb = n_mb > ORDER_MAX_MB ? ORDER_MAX_MB + 1 : (int)n_mb,
        .group = m->memory.mb_group > 0 ? m->memory.mb_group : m->par.pp,
        .ep_overlap = m->overlap_moe_comm};
}

/* ---- what Megatron refuses ---- */

/* A last group that is smaller than P leaves a rank waiting for an input that
 * comes after it. */
static bool is_group(const struct order *o, int group)
{
    int rest = o->n_mb % group;
    return group >= o->pp && group <= o->n_mb && (!rest || rest >= o->pp);
}

/* The first few group sizes that would do, as words: "4, 8 or 16". */
static void order_groups(const struct order *o, char *out, size_t room)
{
    enum { SHOWN = 6 };
    int found[SHOWN], n = 0;
    for (int group = o->pp; group <= o->n_mb && n < SHOWN; group++)
        if (is_group(o, group))
            found[n++] = group;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n && used < room; i++) {
        const char *between = i == 0 ? "" : i == n - 1 ? " or " : ", ";
        used += (size_t)snprintf(out + used, room - used, "%s%d", between,
                                 found[i]);
    }
}

/* schedules.py, the checks at the head of the interleaved schedule; the group
 * rule is transformer_config's and get_schedule_table's. */
static enum err order_check_group(const struct order *o, struct err_msg *msg)
{
    char groups[96]; // six numbers of five digits with words between
    if (o->pp == 1)
        return err_set(msg, ERR_RANGE,
                       "interleaving needs P>1: got 1 rank with %d chunks, "
                       "want one chunk, or more ranks",
                       o->vpp);
    if (o->n_mb < o->pp)
        return err_set(msg, ERR_RANGE,
                       "group size must be in [P, M]: no group fits %d "
                       "micro-batches on %d ranks, want at least %d "
                       "micro-batches",
                       o->n_mb, o->pp, o->pp);
    order_groups(o, groups, sizeof groups);
    if (o->group < o->pp || o->group > o->n_mb)
        return err_set(msg, ERR_RANGE,
                       "group size must be in [P, M] = [%d, %d]: got %d, want "
                       "%s",
                       o->pp, o->n_mb, o->group, groups);
    if (!is_group(o, o->group))
        return err_set(msg, ERR_RANGE,
                       "last group smaller than P: groups of %d leave %d of "
                       "%d micro-batches for %d ranks, want groups of %s",
                       o->group, o->n_mb % o->group, o->n_mb, o->pp, groups);
    return ERR_OK;
}

/* Bounds of ours, not Megatron's. */
static enum err order_check_size(const char *what, int got, int most,
                                 struct err_msg *msg)
{
    if (got >= 1 && got <= most)
        return ERR_OK;
    return err_set(msg, ERR_RANGE, "%s: got %d, want 1 to %d", what, got, most);
}

enum err order_check(const struct order *o, struct err_msg *msg)
{
    enum err e = order_check_size("pipeline size", o->pp, ORDER_MAX_RANKS, msg);
    if (e == ERR_OK)
        e = order_check_size("chunks a rank", o->vpp, ORDER_MAX_CHUNKS, msg);
    if (e == ERR_OK)
        e = order_check_size("micro-batches", o->n_mb, ORDER_MAX_MB, msg);
    if (e != ERR_OK)
        return e;
    if ((long)o->pp * o->vpp * o->n_mb > ORDER_MAX_OPS)
        return err_set(msg, ERR_RANGE,
                       "ranks x chunks x micro-batches: got %d x %d x %d, want "
                       "at most %d",
                       o->pp, o->vpp, o->n_mb, ORDER_MAX_OPS);
    if (o->ep_overlap && o->pp > 1 && o->vpp == 1)
        return err_set(msg, ERR_RANGE,
                       "EP overlap with P>1 needs interleaving: got %d ranks "
                       "with one chunk each, want 2 or more chunks a rank",
                       o->pp);
    return o->vpp > 1 ? order_check_group(o, msg) : ERR_OK;
}

/* ---- the order ---- */

/* schedules.py, get_pp_rank_microbatches: the forwards that must have left
 * before the first backward can come back; one more with EP overlap, so that
 * a forward and a backward of one operation do not need each other. */
int order_warmup(const struct order *o, int rank)
{
    int after = o->pp - 1 - rank, all = o->n_mb * o->vpp;
    int forwards = o->vpp == 1 ? after : 2 * after + (o->vpp - 1) * o->group;
    return least(forwards + (o->ep_overlap ? 1 : 0), all);
}

int order_size(const struct order *o, int rank)
{
    int all = o->n_mb * o->vpp;
    return o->ep_overlap ? all + order_warmup(o, rank) : 2 * all;
}

/* One chunk a rank is a single group of all micro-batches. */
static int group_of(const struct order *o)
{
    return o->vpp == 1 ? o->n_mb : o->group;
}

/* Place k in the order of groups: micro-batch and how many chunks came before.
 * The last group may be smaller. */
static void order_place(const struct order *o, int k, int *turn, int *mb)
{
    int whole = group_of(o) * o->vpp, first = k / whole * group_of(o);
    int size = least(group_of(o), o->n_mb - first);
    *turn = k % whole / size;
    *mb = first + k % whole % size;
}

struct order_op order_forward(const struct order *o, int k)
{
    struct order_op op = {ORDER_FORWARD, 0, 0, -1, -1};
    order_place(o, k, &op.fwd_chunk, &op.fwd_mb);
    return op;
}

struct order_op order_backward(const struct order *o, int k)
{
    struct order_op op = {ORDER_BACKWARD, -1, -1, 0, 0};
    order_place(o, k, &op.bwd_chunk, &op.bwd_mb);
    op.bwd_chunk = o->vpp - 1 - op.bwd_chunk;
    return op;
}

/* The inverse: groups before, chunks before in the group, place in it. */
int order_forward_index(const struct order *o, int chunk, int mb)
{
    int first = mb / group_of(o) * group_of(o);
    int size = least(group_of(o), o->n_mb - first);
    return first * o->vpp + chunk * size + mb - first;
}

int order_backward_index(const struct order *o, int chunk, int mb)
{
    return order_forward_index(o, o->vpp - 1 - chunk, mb);
}

static struct order_op order_combined(const struct order *o, int k_fwd,
                                      int k_bwd)
{
    struct order_op op = order_forward(o, k_fwd), b = order_backward(o, k_bwd);
    op.kind = ORDER_COMBINED;
    op.bwd_chunk = b.bwd_chunk;
    op.bwd_mb = b.bwd_mb;
    return op;
}

struct order_op order_at(const struct order *o, int rank, int i)
{
    int warm = order_warmup(o, rank), all = o->n_mb * o->vpp;
    if (i < warm)
        return order_forward(o, i);
    if (o->ep_overlap)
        return i < all ? order_combined(o, i, i - warm)
                       : order_backward(o, i - warm);
    int steady = i - warm;
    if (steady >= 2 * (all - warm))
        return order_backward(o, i - all);
    return steady % 2 == 0 ? order_forward(o, warm + steady / 2)
                           : order_backward(o, steady / 2);
}

/* ---- in flight ---- */

int order_max_in_flight(const struct order *o, int rank)
{
    return least(order_warmup(o, rank) + 1, o->n_mb * o->vpp);
}

/* Which chunks are in flight repeats from group to group once the warm-up is
 * over, unless the last group is a smaller one. */
int order_walk_size(const struct order *o, int rank)
{
    int turn = o->vpp == 1 ? 1 : o->group * o->vpp, all = order_size(o, rank);
    if (o->vpp > 1 && o->n_mb % o->group)
        return all;
    return least(order_warmup(o, rank) + 2 * turn + 2, all);
}

double order_peak(const struct order *o, int rank, const double *weight)
{
    double now = 0, most = 0;
    int n = order_walk_size(o, rank);
    for (int i = 0; i < n; i++) {
        struct order_op op = order_at(o, rank, i);
        now += op.fwd_chunk >= 0 ? weight[op.fwd_chunk] : 0;
        most = now > most ? now : most;
        now -= op.bwd_chunk >= 0 ? weight[op.bwd_chunk] : 0;
    }
    return most;
}

void order_max_in_flight_chunks(const struct order *o, int rank, int *most)
{
    const int n = order_walk_size(o, rank);
    for (int v = 0; v < o->vpp; v++) {
        int now = 0;
        most[v] = 0;
        for (int i = 0; i < n; i++) {
            struct order_op op = order_at(o, rank, i);
            now += op.fwd_chunk == v;
            most[v] = now > most[v] ? now : most[v];
            now -= op.bwd_chunk == v;
        }
    }
}

/* Peak within a combined operation that begins with `now`: when the forward's
 * layer k joins, as many layers of the backward have left. */
static double peak_of_pairs(double now, const struct order_op *op,
                            const double *weight, const int *n_layers)
{
    const int n_fwd = n_layers[op->fwd_chunk], n_bwd = n_layers[op->bwd_chunk];
    const double fwd = weight[op->fwd_chunk], bwd = weight[op->bwd_chunk];
    double most = n_fwd ? now : now + fwd;
    for (int k = 0; k < n_fwd; k++) {
        double then = now + fwd * (k + 1) / n_fwd;
        if (n_bwd)
            then -= bwd * least(k, n_bwd) / n_bwd;
        most = then > most ? then : most;
    }
    return most;
}

double order_peak_layers(const struct order *o, int rank, const double *weight,
                         const int *n_layers)
{
    double now = 0, most = 0;
    const int n = order_walk_size(o, rank);
    for (int i = 0; i < n; i++) {
        struct order_op op = order_at(o, rank, i);
        const double inside = op.kind == ORDER_COMBINED
                                  ? peak_of_pairs(now, &op, weight, n_layers)
                                  : now;
        most = inside > most ? inside : most;
        now += op.fwd_chunk >= 0 ? weight[op.fwd_chunk] : 0;
        now -= op.bwd_chunk >= 0 ? weight[op.bwd_chunk] : 0;
        most = now > most ? now : most;
    }
    return most;
}
