/*
 * How it works: one function writes a rank's list for each way of exchanging,
 * in the order of Megatron's own code, from the steps that maker.h offers.
 * Where an exchange is overlapped, what was posted must be waited for before
 * it is used, and only what was posted: the two wait functions know from the
 * step beside which a message is received whether that was so.
 */
#include "maker.h"

/* ---- without exchanges ---- */

/* Operations alone: ideal and asynchronous transfers need no list of messages.
 */
static void make_work(struct maker *m)
{
    for (int k = 0; k < m->warm; k++)
        maker_forward(m, k);
    for (int k = 0; k < m->all - m->warm; k++)
        maker_steady(m, k);
    for (int k = m->all - m->warm; k < m->all; k++)
        maker_backward(m, k);
}

/* ---- 1F1B, blocking ---- */

typedef void add_fn(const struct maker *m, struct op *op, int k);

static void exchange(struct maker *m, add_fn *add, int k)
{
    struct op op = maker_op(OP_EXCHANGE);
    add(m, &op, k);
    maker_group(m, &op);
}

/* A send and a receive of one group: send_forward_recv_backward() and the like
 * of p2p_communication.py, which cannot deadlock. */
static void exchange_two(struct maker *m, struct op op, add_fn *add, int k)
{
    op.kind = OP_EXCHANGE;
    add(m, &op, k);
    maker_group(m, &op);
}

/* forward_backward_pipelining_without_interleaving() of schedules.py. */
static void make_1f1b(struct maker *m)
{
    const int steady = m->all - m->warm;
    for (int k = 0; k < m->warm; k++) {
        exchange(m, maker_input_forward, k);
        maker_forward(m, k);
        exchange(m, maker_send_forward, k);
    }
    if (steady > 0)
        exchange(m, maker_input_forward, m->warm);
    for (int k = 0; k < steady; k++) {
        struct op sent = maker_op(OP_EXCHANGE), back = sent;
        maker_forward(m, m->warm + k);
        maker_send_forward(m, &sent, m->warm + k);
        exchange_two(m, sent, maker_input_backward, k);
        maker_backward(m, k);
        maker_send_backward(m, &back, k);
        if (k + 1 < steady)
            maker_input_forward(m, &back, m->warm + k + 1);
        maker_group(m, &back);
    }
    for (int k = steady; k < m->all; k++) {
        exchange(m, maker_input_backward, k);
        maker_backward(m, k);
        exchange(m, maker_send_backward, k);
    }
}

/* ---- interleaved: what is waited for before work ---- */

/* The wait before forward k, unless a blocking exchange brought its input. */
static void wait_input(struct maker *m, int k)
{
    struct op op = maker_op(OP_WAIT);
    maker_input_forward(m, &op, k);
    if (op.mbs[RECV_FORWARD] == NO_MB)
        return;
    int blocking = m->mode == P2P_OVERLAP ? m->warm : 0;
    if (maker_step_of_input(m, k) >= blocking)
        maker_group(m, &op);
}

/* The wait before backward k; blocking ones come last, or first when the
 * warm-up was all. */
static void wait_gradient(struct maker *m, int k)
{
    struct op op = maker_op(OP_WAIT);
    maker_input_backward(m, &op, k);
    if (op.mbs[RECV_BACKWARD] == NO_MB)
        return;
    const int steady = m->all - m->warm, step = maker_step_of_gradient(m, k);
    bool blocking = m->mode == P2P_BLOCKING ||
                    (m->mode == P2P_OVERLAP && step >= steady) ||
                    (step < 0 && steady == 0);
    if (!blocking)
        maker_group(m, &op);
}

/* ---- interleaved, blocking ---- */

static void blocking_backwards(struct maker *m)
{
    for (int k = m->all - m->warm; k < m->all; k++) {
        struct op op = maker_op(OP_EXCHANGE);
        wait_gradient(m, k); // posted in the steady part
        maker_backward(m, k);
        maker_send_backward(m, &op, k);
        maker_recv_backward(m, &op, k);
        maker_group(m, &op);
    }
}

/* Every rank but the first waits for its first input before anything else. */
static void first_input(struct maker *m)
{
    if (m->rank > 0)
        exchange(m, maker_input_forward, 0);
}

/* Warm-up; when a backward follows and `with_gradient`, the last exchange
 * brings its gradient too. */
static void blocking_forwards(struct maker *m, bool with_gradient)
{
    for (int k = 0; k < m->warm; k++) {
        struct op op = maker_op(OP_EXCHANGE);
        maker_forward(m, k);
        maker_send_forward(m, &op, k);
        maker_recv_forward(m, &op, k);
        if (with_gradient && k == m->warm - 1 && m->warm < m->all)
            maker_input_backward(m, &op, 0);
        maker_group(m, &op);
    }
}

/* forward_backward_pipelining_with_interleaving() without overlap: a step's
 * messages, in all directions, are one group behind its work. */
static void make_blocking(struct maker *m)
{
    const int steady = m->all - m->warm;
    first_input(m);
    blocking_forwards(m, true);
    for (int k = 0; k < steady; k++) {
        struct op op = maker_op(OP_EXCHANGE);
        maker_steady(m, k);
        maker_send_forward(m, &op, m->warm + k);
        maker_send_backward(m, &op, k);
        if (k < steady - 1)
            maker_recv_forward(m, &op, m->warm + k);
        maker_recv_backward(m, &op, k);
        maker_group(m, &op);
    }
    if (steady == 0)
        exchange(m, maker_input_backward, 0);
    blocking_backwards(m);
}

/* ---- interleaved, overlapped ---- */

static void wait_sent(struct maker *m, add_fn *add, int k, bool aside)
{
    struct op op = maker_op(OP_WAIT);
    op.aside = aside;
    add(m, &op, k);
    maker_group(m, &op);
}

/* After forward k: its output leaves, the next input may come in, and the
 * output is waited for since its memory is freed. */
static void post_forward(struct maker *m, int k, bool receives, bool aside)
{
    struct op op = maker_op(OP_POST);
    op.aside = aside;
    maker_send_forward(m, &op, k);
    if (receives)
        maker_recv_forward(m, &op, k);
    maker_group(m, &op);
    wait_sent(m, maker_send_forward, k, aside);
}

/* After backward k; `before` is the backward whose send is still to be waited
 * for, or -1. */
static void post_backward(struct maker *m, int k, bool receives, int before)
{
    struct op op = maker_op(OP_POST);
    maker_send_backward(m, &op, k);
    if (receives)
        maker_recv_backward(m, &op, k);
    maker_group(m, &op);
    if (before >= 0)
        wait_sent(m, maker_send_backward, before, false);
}

/* With EP overlap a forward and a backward are one operation in pieces, with
 * the messages between them; without it each is followed by its own. */
static void overlap_steady(struct maker *m, int k)
{
    const bool receives = k < m->all - m->warm - 1;
    wait_input(m, m->warm + k);
    if (m->order->ep_overlap) {
        maker_piece(m, OP_HEAD_FORWARD, k);
        wait_gradient(m, k);
        maker_piece(m, OP_HEAD_BACKWARD, k);
        maker_piece(m, OP_COMBINED, k);
        post_forward(m, m->warm + k, receives, true);
        post_backward(m, k, true, k - 1);
        maker_piece(m, OP_TAILS, k);
        return;
    }
    maker_forward(m, m->warm + k);
    post_forward(m, m->warm + k, receives, false);
    wait_gradient(m, k);
    maker_backward(m, k);
    post_backward(m, k, true, k - 1);
}

/* With the warm-up flush receives are posted before the work that goes on
 * beside them; the first rank, whose input comes late, posts it afterwards. */
static void flush_forwards(struct maker *m)
{
    for (int k = 0; k < m->warm; k++) {
        struct op ahead = maker_op(OP_POST);
        if (k > 0)
            wait_input(m, k);
        if (m->rank > 0) {
            maker_recv_forward(m, &ahead, k);
            maker_group(m, &ahead);
        }
        maker_forward(m, k);
        post_forward(m, k, m->rank == 0, false);
    }
}

static void flush_backwards(struct maker *m)
{
    const bool last = m->rank == m->order->pp - 1;
    for (int k = m->all - m->warm; k < m->all; k++) {
        struct op ahead = maker_op(OP_POST);
        wait_gradient(m, k);
        if (!last) {
            maker_recv_backward(m, &ahead, k);
            maker_group(m, &ahead);
        }
        maker_backward(m, k);
        post_backward(m, k, last, k - 1);
    }
    wait_sent(m, maker_send_backward, m->all - 1, false);
}

/* The same schedule with overlap: messages are posted and waited for apart from
 * each other. Warm-up and cool-down are blocking unless flushed. */
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
        struct op op = maker_op(OP_POST);
        maker_input_backward(m, &op, 0);
        maker_group(m, &op);
    } else {
        exchange(m, maker_input_backward, 0);
    }
    for (int k = 0; k < steady; k++)
        overlap_steady(m, k);
    if (flush)
        flush_backwards(m);
    else
        blocking_backwards(m);
    if (!flush && steady > 0)
        wait_sent(m, maker_send_backward, steady - 1, false);
}

/* ---- which ---- */

void maker_list(struct maker *m)
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
