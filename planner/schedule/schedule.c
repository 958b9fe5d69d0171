/*
 * A list is made twice by the same code, once to count its operations and once
 * to write them, so that it takes no more memory than it needs.
 */
#include "schedule.h"

#include "maker.h"

#include <string.h>

/* ---- modes ---- */

static const char *const mode_names[N_P2P_MODES] = {
    [P2P_IDEAL] = "ideal",
    [P2P_ASYNC] = "async",
    [P2P_BLOCKING] = "blocking",
    [P2P_OVERLAP] = "overlap",
    [P2P_OVERLAP_FLUSH] = "overlap-flush",
};

const char *p2p_mode_name(enum p2p_mode mode)
{
    return mode_names[mode];
}

enum err p2p_mode_from_name(const char *name, enum p2p_mode *out,
                            struct err_msg *msg)
{
    for (int i = 0; i < N_P2P_MODES; i++)
        if (strcmp(name, mode_names[i]) == 0) {
            *out = (enum p2p_mode)i;
            return ERR_OK;
        }
    return err_set(msg, ERR_PARSE,
                   "--p2p: got '%s', want ideal, async, blocking, overlap or "
                   "overlap-flush",
                   name);
}

/* arguments.py turns overlap_p2p_comm on with virtual stages. */
enum p2p_mode p2p_mode_default(int vpp)
{
    return vpp > 1 ? P2P_OVERLAP : P2P_BLOCKING;
}

/* ---- the lists ---- */

/* arguments.py: overlap_p2p_comm is set with virtual stages only, and without
 * it they need a pipeline of more than two ranks. */
static enum err check_mode(const struct order *o, enum p2p_mode mode,
                           struct err_msg *msg)
{
    if (o->vpp == 1 && (mode == P2P_OVERLAP || mode == P2P_OVERLAP_FLUSH))
        return err_set(msg, ERR_RANGE,
                       "%s transfers: one chunk a rank is never overlapped, "
                       "want blocking, or more chunks (--vpp)",
                       p2p_mode_name(mode));
    if (o->vpp > 1 && o->pp == 2 && mode == P2P_BLOCKING)
        return err_set(msg, ERR_RANGE,
                       "blocking transfers with %d chunks a rank need more "
                       "than 2 ranks, want overlap",
                       o->vpp);
    return ERR_OK;
}

enum err schedule_outline(const struct order *order, enum p2p_mode mode,
                          struct schedule *out, struct err_msg *msg)
{
    enum err e = order_check(order, msg);
    if (e == ERR_OK)
        e = check_mode(order, mode, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "schedule");
    *out = (struct schedule){.pp = order->pp,
                             .vpp = order->vpp,
                             .n_mb = order->n_mb,
                             .order = *order,
                             .mode = mode};
    return ERR_OK;
}

/* A simulation takes up to 1.3 KB an operation: with jitter, of which there is
 * a graph besides, 350 MB. */
static enum err schedule_check_size(const struct order *o, struct err_msg *msg)
{
    long n = (long)o->pp * o->vpp * o->n_mb;
    if (n <= SCHEDULE_MAX_OPS)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "schedule: ranks x chunks x micro-batches: got %d x %d x "
                   "%d, want at most %d of a simulation: fewer micro-batches "
                   "tell the same",
                   o->pp, o->vpp, o->n_mb, SCHEDULE_MAX_OPS);
}

/* The list's length depends on mode and rank in ways that only the code of the
 * lists knows, so it is made once to count. */
enum err schedule_build(struct arena *a, const struct order *order,
                        enum p2p_mode mode, struct schedule *out,
                        struct err_msg *msg)
{
    struct schedule s;
    enum err e = schedule_outline(order, mode, &s, msg);
    if (e == ERR_OK)
        e = schedule_check_size(order, msg);
    if (e != ERR_OK)
        return e;
    struct rank_ops *ranks = arena_alloc(a, (size_t)order->pp, sizeof *ranks);
    for (int r = 0; ranks && r < order->pp; r++) {
        struct maker m = {.order = order,
                          .mode = mode,
                          .rank = r,
                          .warm = order_warmup(order, r),
                          .all = order->n_mb * order->vpp};
        maker_list(&m);
        m.ops = arena_alloc(a, (size_t)m.n, sizeof *m.ops);
        if (!m.ops)
            return err_set(msg, ERR_NOMEM, "schedule: out of memory");
        maker_list(&m);
        ranks[r] = (struct rank_ops){.ops = m.ops, .n_ops = m.n};
    }
    if (!ranks)
        return err_set(msg, ERR_NOMEM, "schedule: out of memory");
    s.ranks = ranks;
    *out = s;
    return ERR_OK;
}

enum err schedule_1f1b(struct arena *a, int pp, int n_mb, struct schedule *out,
                       struct err_msg *msg)
{
    const struct order order = {
        .pp = pp, .vpp = 1, .n_mb = n_mb, .group = pp > 0 ? pp : 1};
    return schedule_build(a, &order, P2P_BLOCKING, out, msg);
}

/* ---- questions ---- */

/* Ranks stand in a ring: the last one's next is the first, a chunk later. */
int schedule_peer(const struct schedule *s, int rank, enum message m)
{
    bool next = m == SEND_FORWARD || m == RECV_BACKWARD;
    return (rank + (next ? 1 : s->pp - 1)) % s->pp;
}

/* Boundary i lies between stages i and i + 1: behind this stage for what goes
 * on or comes back from there, else before it. */
int schedule_boundary(const struct schedule *s, int rank, const struct op *op,
                      enum message m)
{
    int stage = op->chunks[m] * s->pp + rank;
    return m == SEND_FORWARD || m == RECV_BACKWARD ? stage : stage - 1;
}

int schedule_max_in_flight(const struct schedule *s, int rank)
{
    return order_max_in_flight(&s->order, rank);
}

int schedule_n_exchanges(const struct schedule *s, int rank)
{
    int n = 0;
    for (int i = 0; i < s->ranks[rank].n_ops; i++) {
        enum op_kind kind = s->ranks[rank].ops[i].kind;
        n += kind == OP_EXCHANGE || kind == OP_POST;
    }
    return n;
}
