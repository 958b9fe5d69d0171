/*
 * A step's operation comes from the order, its messages from where its stage
 * stands: nothing comes before the model's first stage or goes beyond its
 * last. Whoever adds a message names this rank's chunk, not the peer's.
 */
#include "maker.h"

/* ---- work ---- */

struct op maker_op(enum op_kind kind)
{
    return (struct op){.kind = kind,
                       .mb = NO_MB,
                       .bwd_mb = NO_MB,
                       .mbs = {NO_MB, NO_MB, NO_MB, NO_MB}};
}

/* Without an array the list is only counted. */
static void maker_put(struct maker *m, const struct op *op)
{
    if (m->ops)
        m->ops[m->n] = *op;
    m->n++;
}

/* A group of messages, unless it is empty. */
void maker_group(struct maker *m, const struct op *op)
{
    for (int i = 0; i < N_MESSAGES; i++)
        if (op->mbs[i] != NO_MB) {
            maker_put(m, op);
            return;
        }
}

void maker_forward(struct maker *m, int k)
{
    struct order_op f = order_forward(m->order, k);
    struct op op = maker_op(OP_FORWARD);
    op.chunk = f.fwd_chunk;
    op.mb = f.fwd_mb;
    maker_put(m, &op);
}

void maker_backward(struct maker *m, int k)
{
    struct order_op b = order_backward(m->order, k);
    struct op op = maker_op(OP_BACKWARD);
    op.chunk = b.bwd_chunk;
    op.mb = b.bwd_mb;
    maker_put(m, &op);
}

/* One piece of steady step k as a combined operation. */
void maker_piece(struct maker *m, enum op_kind kind, int k)
{
    struct order_op f = order_forward(m->order, m->warm + k);
    struct order_op b = order_backward(m->order, k);
    struct op op = maker_op(kind);
    op.chunk = f.fwd_chunk;
    op.mb = f.fwd_mb;
    op.bwd_chunk = b.bwd_chunk;
    op.bwd_mb = b.bwd_mb;
    maker_put(m, &op);
}

/* The work of steady step k without exchanges between its parts. */
void maker_steady(struct maker *m, int k)
{
    if (!m->order->ep_overlap) {
        maker_forward(m, m->warm + k);
        maker_backward(m, k);
        return;
    }
    maker_piece(m, OP_HEAD_FORWARD, k);
    maker_piece(m, OP_HEAD_BACKWARD, k);
    maker_piece(m, OP_COMBINED, k);
    maker_piece(m, OP_TAILS, k);
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

void maker_send_forward(const struct maker *m, struct op *op, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (!is_last_stage(m, f.fwd_chunk))
        put_message(op, SEND_FORWARD, f.fwd_chunk, f.fwd_mb);
}

void maker_send_backward(const struct maker *m, struct op *op, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (!is_first_stage(m, b.bwd_chunk))
        put_message(op, SEND_BACKWARD, b.bwd_chunk, b.bwd_mb);
}

/* The input of forward k, and of backward k: the output, or the gradient, of
 * a neighbouring stage. */
void maker_input_forward(const struct maker *m, struct op *op, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (!is_first_stage(m, f.fwd_chunk))
        put_message(op, RECV_FORWARD, f.fwd_chunk, f.fwd_mb);
}

void maker_input_backward(const struct maker *m, struct op *op, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (!is_last_stage(m, b.bwd_chunk))
        put_message(op, RECV_BACKWARD, b.bwd_chunk, b.bwd_mb);
}

/* What is received beside forward k: the input of the next forward; on the
 * first rank, what the last rank computed P - 1 steps ago, for the chunk behind
 * it. */
void maker_recv_forward(const struct maker *m, struct op *op, int k)
{
    const int vpp = m->order->vpp, ago = k - (m->order->pp - 1);
    if (k + 1 >= m->all)
        return;
    if (m->rank > 0) {
        maker_input_forward(m, op, k + 1);
        return;
    }
    if (ago < 0)
        return;
    struct order_op f = order_forward(m->order, ago);
    if (f.fwd_chunk < vpp - 1)
        put_message(op, RECV_FORWARD, f.fwd_chunk + 1, f.fwd_mb);
}

void maker_recv_backward(const struct maker *m, struct op *op, int k)
{
    const int ago = k - (m->order->pp - 1);
    if (k + 1 >= m->all)
        return;
    if (m->rank < m->order->pp - 1) {
        maker_input_backward(m, op, k + 1);
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
int maker_step_of_input(const struct maker *m, int k)
{
    struct order_op f = order_forward(m->order, k);
    if (m->rank > 0)
        return k - 1;
    return order_forward_index(m->order, f.fwd_chunk - 1, f.fwd_mb) +
           m->order->pp - 1;
}

int maker_step_of_gradient(const struct maker *m, int k)
{
    struct order_op b = order_backward(m->order, k);
    if (m->rank < m->order->pp - 1)
        return k - 1;
    return order_backward_index(m->order, b.bwd_chunk + 1, b.bwd_mb) +
           m->order->pp - 1;
}
