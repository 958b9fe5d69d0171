/*
 * How it works: one function writes a rank's list for each way of exchanging.
 * It runs twice: first only counting, then into memory of that size. What a
 * step k sends and receives is said by four small functions:
 *   a rank sends what it has just computed, unless it is the model's end;
 *   every rank but the first receives the input of its next forward; the first
 *   receives what the last rank computed P-1 steps ago, which may be used much
 *   later when groups are larger than P. Backwards are the mirror of that.
 * (schedules.py, recv_tensor_from_previous_stage.)
 */
#include "schedule/schedule.h"

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

enum p2p_mode p2p_mode_default(int vpp)
{
    return vpp > 1 ? P2P_OVERLAP : P2P_BLOCKING;
}

/* ---- a list being made ---- */

struct maker {
    const struct order *order;
    enum p2p_mode mode;
    int rank;
    int warm, all;  // forwards before the first backward, and in all
    struct op *ops; // NULL: only counted
    int n;
};

static struct op schedule_op(enum op_kind kind)
{
    return (struct op){.kind = kind,
                       .mb = NO_MB,
                       .bwd_mb = NO_MB,
                       .mbs = {NO_MB, NO_MB, NO_MB, NO_MB}};
}

static void schedule_put(struct maker *m, const struct op *op)
{
    if (m->ops)
        m->ops[m->n] = *op;
    m->n++;
}

/* A group of messages, unless it is empty. */
static void put_group(struct maker *m, const struct op *op)
{
    for (int i = 0; i < N_MESSAGES; i++)
        if (op->mbs[i] != NO_MB) {
            schedule_put(m, op);
            return;
        }
}

static void put_forward(struct maker *m, int k)
{
    struct order_op f = order_forward(m->order, k);
    struct op op = schedule_op(OP_FORWARD);
    op.chunk = f.fwd_chunk;
    op.mb = f.fwd_mb;
    schedule_put(m, &op);
}

static void put_backward(struct maker *m, int k)
{
    struct order_op b = order_backward(m->order, k);
    struct op op = schedule_op(OP_BACKWARD);
    op.chunk = b.bwd_chunk;
    op.mb = b.bwd_mb;
    schedule_put(m, &op);
}

/* One piece of steady step k as a combined operation. */
static void put_piece(struct maker *m, enum op_kind kind, int k)
{
    struct order_op f = order_forward(m->order, m->warm + k);
    struct order_op b = order_backward(m->order, k);
    struct op op = schedule_op(kind);
    op.chunk = f.fwd_chunk;
    op.mb = f.fwd_mb;
    op.bwd_chunk = b.bwd_chunk;
    op.bwd_mb = b.bwd_mb;
    schedule_put(m, &op);
}

/* The work of steady step k without exchanges between its parts. */
static void put_steady(struct maker *m, int k)
{
    if (!m->order->ep_overlap) {
        put_forward(m, m->warm + k);
        put_backward(m, k);
        return;
    }
    put_piece(m, OP_HEAD_FORWARD, k);
    put_piece(m, OP_HEAD_BACKWARD, k);
    put_piece(m, OP_COMBINED, k);
    put_piece(m, OP_TAILS, k);
}

/* ---- messages ---- */

static void put_message(struct op *op, enum message message, int chunk, int mb)
{
    op->chunks[message] = chunk;
    op->mbs[message] = mb;
}

static bool is_first_stage(const struct maker *m, int chunk)
{
    return m->rank == 0 && chunk == 0;
}

static bool is_last_stage(const struct maker *m, int chunk)
{
    return m->rank == m->order->pp - 1 && chunk == m->order->vpp - 1;
}

static void send_forward(const struct maker *m, struct op *op, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (!is_last_stage(m, f.fwd_chunk))
        put_message(op, SEND_FORWARD, f.fwd_chunk, f.fwd_mb);
}

static void send_backward(const struct maker *m, struct op *op, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (!is_first_stage(m, b.bwd_chunk))
        put_message(op, SEND_BACKWARD, b.bwd_chunk, b.bwd_mb);
}

/* The input of forward k, and of backward k. */
static void input_forward(const struct maker *m, struct op *op, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (!is_first_stage(m, f.fwd_chunk))
        put_message(op, RECV_FORWARD, f.fwd_chunk, f.fwd_mb);
}

static void input_backward(const struct maker *m, struct op *op, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (!is_last_stage(m, b.bwd_chunk))
        put_message(op, RECV_BACKWARD, b.bwd_chunk, b.bwd_mb);
}

/* What is received beside forward k: see the top of the file. */
static void recv_forward(const struct maker *m, struct op *op, int k)
{
    const int vpp = m->order->vpp, ago = k - (m->order->pp - 1);
    if (k + 1 >= m->all)
        return;
    if (m->rank > 0) {
        input_forward(m, op, k + 1);
        return;
    }
    if (ago < 0)
        return;
    struct order_op f = order_forward(m->order, ago);
    if (f.fwd_chunk < vpp - 1)
        put_message(op, RECV_FORWARD, f.fwd_chunk + 1, f.fwd_mb);
}

static void recv_backward(const struct maker *m, struct op *op, int k)
{
    const int ago = k - (m->order->pp - 1);
    if (k + 1 >= m->all)
        return;
    if (m->rank < m->order->pp - 1) {
        input_backward(m, op, k + 1);
        return;
    }
    if (ago < 0)
        return;
    struct order_op b = order_backward(m->order, ago);
    if (b.bwd_chunk > 0)
        put_message(op, RECV_BACKWARD, b.bwd_chunk - 1, b.bwd_mb);
}

/* Beside which step the input of forward k, and of backward k, is received;
 * -1: before the first. The inverse of the two above. */
static int step_of_input(const struct maker *m, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (m->rank > 0)
        return k - 1;
    return order_forward_index(m->order, f.fwd_chunk - 1, f.fwd_mb) +
           m->order->pp - 1;
}

static int step_of_gradient(const struct maker *m, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (m->rank < m->order->pp - 1)
        return k - 1;
    return order_backward_index(m->order, b.bwd_chunk + 1, b.bwd_mb) +
           m->order->pp - 1;
}

/* ---- without exchanges ---- */

static void make_work(struct maker *m)
{
    for (int k = 0; k < m->warm; k++)
        put_forward(m, k);
    for (int k = 0; k < m->all - m->warm; k++)
        put_steady(m, k);
    for (int k = m->all - m->warm; k < m->all; k++)
        put_backward(m, k);
}

/* ---- 1F1B, blocking ---- */

typedef void add_fn(const struct maker *m, struct op *op, int k);

static void exchange(struct maker *m, add_fn *add, int k)
{
    struct op op = schedule_op(OP_EXCHANGE);
    add(m, &op, k);
    put_group(m, &op);
}

static void exchange_two(struct maker *m, struct op op, add_fn *add, int k)
{
    op.kind = OP_EXCHANGE;
    add(m, &op, k);
    put_group(m, &op);
}

static void make_1f1b(struct maker *m)
{
    const int steady = m->all - m->warm;
    for (int k = 0; k < m->warm; k++) {
        exchange(m, input_forward, k);
        put_forward(m, k);
        exchange(m, send_forward, k);
    }
    if (steady > 0)
        exchange(m, input_forward, m->warm);
    for (int k = 0; k < steady; k++) {
        struct op sent = schedule_op(OP_EXCHANGE), back = sent;
        put_forward(m, m->warm + k);
        send_forward(m, &sent, m->warm + k);
        exchange_two(m, sent, input_backward, k);
        put_backward(m, k);
        send_backward(m, &back, k);
        if (k + 1 < steady)
            input_forward(m, &back, m->warm + k + 1);
        put_group(m, &back);
    }
    for (int k = steady; k < m->all; k++) {
        exchange(m, input_backward, k);
        put_backward(m, k);
        exchange(m, send_backward, k);
    }
}

/* ---- interleaved, blocking ---- */

static void blocking_backwards(struct maker *m)
{
    for (int k = m->all - m->warm; k < m->all; k++) {
        struct op op = schedule_op(OP_EXCHANGE);
        put_backward(m, k);
        send_backward(m, &op, k);
        recv_backward(m, &op, k);
        put_group(m, &op);
    }
}

static void first_input(struct maker *m)
{
    if (m->rank > 0)
        exchange(m, input_forward, 0);
}

/* Warm-up; when a backward follows and `with_gradient`, the last exchange
 * brings its gradient too. */
static void blocking_forwards(struct maker *m, bool with_gradient)
{
    for (int k = 0; k < m->warm; k++) {
        struct op op = schedule_op(OP_EXCHANGE);
        put_forward(m, k);
        send_forward(m, &op, k);
        recv_forward(m, &op, k);
        if (with_gradient && k == m->warm - 1 && m->warm < m->all)
            input_backward(m, &op, 0);
        put_group(m, &op);
    }
}

static void make_blocking(struct maker *m)
{
    const int steady = m->all - m->warm;
    first_input(m);
    blocking_forwards(m, true);
    for (int k = 0; k < steady; k++) {
        struct op op = schedule_op(OP_EXCHANGE);
        put_steady(m, k);
        send_forward(m, &op, m->warm + k);
        send_backward(m, &op, k);
        if (k < steady - 1)
            recv_forward(m, &op, m->warm + k);
        recv_backward(m, &op, k);
        put_group(m, &op);
    }
    if (steady == 0)
        exchange(m, input_backward, 0);
    blocking_backwards(m);
}

/* ---- interleaved, overlapped ---- */

/* The wait before forward k, unless a blocking exchange brought its input. */
static void wait_input(struct maker *m, int k)
{
    struct op op = schedule_op(OP_WAIT);
    input_forward(m, &op, k);
    if (op.mbs[RECV_FORWARD] == NO_MB)
        return;
    int blocking = m->mode == P2P_OVERLAP ? m->warm : 0;
    if (step_of_input(m, k) >= blocking)
        put_group(m, &op);
}

/* The wait before backward k; blocking ones come last, or first when the
 * warm-up was all. */
static void wait_gradient(struct maker *m, int k)
{
    struct op op = schedule_op(OP_WAIT);
    input_backward(m, &op, k);
    if (op.mbs[RECV_BACKWARD] == NO_MB)
        return;
    const int steady = m->all - m->warm, step = step_of_gradient(m, k);
    bool blocking =
        (m->mode == P2P_OVERLAP && step >= steady) || (step < 0 && steady == 0);
    if (!blocking)
        put_group(m, &op);
}

static void wait_sent(struct maker *m, add_fn *add, int k, bool aside)
{
    struct op op = schedule_op(OP_WAIT);
    op.aside = aside;
    add(m, &op, k);
    put_group(m, &op);
}

/* After forward k: its output leaves, the next input may come in, and the
 * output is waited for since its memory is freed. */
static void post_forward(struct maker *m, int k, bool receives, bool aside)
{
    struct op op = schedule_op(OP_POST);
    op.aside = aside;
    send_forward(m, &op, k);
    if (receives)
        recv_forward(m, &op, k);
    put_group(m, &op);
    wait_sent(m, send_forward, k, aside);
}

/* After backward k; `before` is the backward whose send is still to be waited
 * for, or -1. */
static void post_backward(struct maker *m, int k, bool receives, int before)
{
    struct op op = schedule_op(OP_POST);
    send_backward(m, &op, k);
    if (receives)
        recv_backward(m, &op, k);
    put_group(m, &op);
    if (before >= 0)
        wait_sent(m, send_backward, before, false);
}

static void overlap_steady(struct maker *m, int k)
{
    const bool receives = k < m->all - m->warm - 1;
    wait_input(m, m->warm + k);
    if (m->order->ep_overlap) {
        put_piece(m, OP_HEAD_FORWARD, k);
        wait_gradient(m, k);
        put_piece(m, OP_HEAD_BACKWARD, k);
        put_piece(m, OP_COMBINED, k);
        post_forward(m, m->warm + k, receives, true);
        post_backward(m, k, true, k - 1);
        put_piece(m, OP_TAILS, k);
        return;
    }
    put_forward(m, m->warm + k);
    post_forward(m, m->warm + k, receives, false);
    wait_gradient(m, k);
    put_backward(m, k);
    post_backward(m, k, true, k - 1);
}

/* With the warm-up flush receives are posted before the work that goes on
 * beside them; the first rank, whose input comes late, posts it afterwards. */
static void flush_forwards(struct maker *m)
{
    for (int k = 0; k < m->warm; k++) {
        struct op ahead = schedule_op(OP_POST);
        if (k > 0)
            wait_input(m, k);
        if (m->rank > 0) {
            recv_forward(m, &ahead, k);
            put_group(m, &ahead);
        }
        put_forward(m, k);
        post_forward(m, k, m->rank == 0, false);
    }
}

static void flush_backwards(struct maker *m)
{
    const bool last = m->rank == m->order->pp - 1;
    for (int k = m->all - m->warm; k < m->all; k++) {
        struct op ahead = schedule_op(OP_POST);
        wait_gradient(m, k);
        if (!last) {
            recv_backward(m, &ahead, k);
            put_group(m, &ahead);
        }
        put_backward(m, k);
        post_backward(m, k, last, k - 1);
    }
    wait_sent(m, send_backward, m->all - 1, false);
}

static void make_overlap(struct maker *m)
{
    const int steady = m->all - m->warm;
    const bool flush = m->mode == P2P_OVERLAP_FLUSH;
    first_input(m);
    if (flush)
        flush_forwards(m);
    else
        blocking_forwards(m, false);
    if (steady > 0) {
        struct op op = schedule_op(OP_POST);
        input_backward(m, &op, 0);
        put_group(m, &op);
    } else {
        exchange(m, input_backward, 0);
    }
    for (int k = 0; k < steady; k++)
        overlap_steady(m, k);
    if (flush)
        flush_backwards(m);
    else
        blocking_backwards(m);
    if (!flush && steady > 0)
        wait_sent(m, send_backward, steady - 1, false);
}

/* ---- the lists ---- */

static void schedule_make(struct maker *m)
{
    m->n = 0;
    if (m->order->pp == 1 || m->mode == P2P_IDEAL || m->mode == P2P_ASYNC)
        make_work(m);
    else if (m->order->vpp == 1)
        make_1f1b(m);
    else if (m->mode == P2P_BLOCKING)
        make_blocking(m);
    else
        make_overlap(m);
}

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

enum err schedule_build(struct arena *a, const struct order *order,
                        enum p2p_mode mode, struct schedule *out,
                        struct err_msg *msg)
{
    enum err e = order_check(order, msg);
    if (e == ERR_OK)
        e = check_mode(order, mode, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "schedule");
    struct rank_ops *ranks = arena_alloc(a, (size_t)order->pp, sizeof *ranks);
    for (int r = 0; ranks && r < order->pp; r++) {
        struct maker m = {.order = order,
                          .mode = mode,
                          .rank = r,
                          .warm = order_warmup(order, r),
                          .all = order->n_mb * order->vpp};
        schedule_make(&m);
        m.ops = arena_alloc(a, (size_t)m.n, sizeof *m.ops);
        if (!m.ops)
            return err_set(msg, ERR_NOMEM, "schedule: out of memory");
        schedule_make(&m);
        ranks[r] = (struct rank_ops){.ops = m.ops, .n_ops = m.n};
    }
    if (!ranks)
        return err_set(msg, ERR_NOMEM, "schedule: out of memory");
    *out = (struct schedule){.pp = order->pp,
                             .vpp = order->vpp,
                             .n_mb = order->n_mb,
                             .order = *order,
                             .mode = mode,
                             .ranks = ranks};
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

int schedule_peer(const struct schedule *s, int rank, enum message m)
{
    bool next = m == SEND_FORWARD || m == RECV_BACKWARD;
    return (rank + (next ? 1 : s->pp - 1)) % s->pp;
}

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
