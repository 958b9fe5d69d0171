/*
 * How it works: pipeline_run() goes through the rank's list (see
 * schedule/schedule.h). A message has its place in the slot of its chunk and
 * micro-batch, so nothing is copied. OP_POST puts messages on a list of open
 * ones, OP_WAIT finds them there by what they are. Messages of one direction
 * between two ranks share a tag and arrive in the order in which they left.
 *
 * MPI has no communication stream. What Megatron leaves to it (`aside` in the
 * list: under EP overlap, waiting until an output has left) ends here before
 * the next message is posted there, so that the rank works on until then.
 */
#include "pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    PIPELINE_TAG_FORWARD = 1,
    PIPELINE_TAG_BACKWARD = 2,
    PIPELINE_TAG_SHAPE = 10,
    PIPELINE_SHAPE_DIMS = 3
};

struct pipeline_message {
    enum message which;
    int chunk, mb;
    bool aside; // its wait is over for the rank, see pipeline_run_wait()
    MPI_Request request;
};

/* Most messages that are open at the same time; one left aside stays open
 * until the next is. */
static int open_messages(const struct rank_ops *list)
{
    int now = 0, most = 0;
    for (int i = 0; i < list->n_ops; i++) {
        const struct op *op = &list->ops[i];
        for (int m = 0; m < N_MESSAGES; m++)
            if (op->mbs[m] != NO_MB)
                now += (op->kind == OP_POST) - (op->kind == OP_WAIT);
        most = now > most ? now : most;
    }
    return most;
}

enum err pipeline_new(struct arena *a, const struct comm *c, struct shard *s,
                      const struct schedule *schedule, struct pipeline *out)
{
    size_t n_ops = 2 * (size_t)schedule->n_mb * (size_t)schedule->vpp;
    *out = (struct pipeline){.comm = c, .shard = s, .schedule = schedule};
    out->n_room = open_messages(&schedule->ranks[s->rank]) + 1;
    out->open = arena_alloc(a, (size_t)out->n_room, sizeof *out->open);
    out->ops = arena_alloc(a, n_ops, sizeof *out->ops);
    return out->ops && out->open ? ERR_OK : ERR_NOMEM;
}

/* ---- messages ---- */

/* At a stage's entry its input comes and that input's gradient leaves; at its
 * exit the other two. */
static struct comm_message message_of(const struct pipeline *p,
                                      const struct op *op, enum message which)
{
    struct stage *s = &p->shard->chunks[op->chunks[which]];
    int mb = op->mbs[which];
    struct comm_message m = {
        .peer = schedule_peer(p->schedule, p->shard->rank, which),
        .tag = which == SEND_FORWARD || which == RECV_FORWARD
                   ? PIPELINE_TAG_FORWARD
                   : PIPELINE_TAG_BACKWARD,
        .send = which == SEND_FORWARD || which == SEND_BACKWARD};
    bool entry = which == RECV_FORWARD || which == SEND_BACKWARD;
    m.bytes = entry ? stage_in_bytes(s) : stage_out_bytes(s);
    if (m.tag == PIPELINE_TAG_FORWARD)
        m.data = entry ? stage_in(s, mb) : stage_out(s, mb);
    else
        m.data = entry ? stage_din(s, mb) : stage_dout(s, mb);
    return m;
}

static int messages_of(const struct pipeline *p, const struct op *op,
                       struct comm_message m[N_MESSAGES])
{
    int n = 0;
    for (int which = 0; which < N_MESSAGES; which++)
        if (op->mbs[which] != NO_MB)
            m[n++] = message_of(p, op, (enum message)which);
    return n;
}

/* ---- shapes ---- */

struct shape {
    int64_t
        dim[PIPELINE_SHAPE_DIMS]; // rows of all hidden states, sequences, width
};

static struct shape shape_of(const struct dims *d, int64_t bytes)
{
    int64_t width = d->hidden * (int64_t)sizeof(real);
    return (struct shape){{bytes / width / d->n_seq, d->n_seq, d->hidden}};
}

/* As Megatron's exchange would: with other sizes on the other side the data
 * would be read as something else. */
static void check_shape(const struct pipeline *p, struct shape got,
                        struct shape want)
{
    struct err_msg msg;
    for (int i = 0; i < PIPELINE_SHAPE_DIMS; i++) {
        if (got.dim[i] == want.dim[i])
            continue;
        err_set(&msg, ERR_CHILD,
                "shape exchange: dimension %d: got %" PRId64 ", want %" PRId64
                ", are all ranks started with the same flags?",
                i, got.dim[i], want.dim[i]);
        comm_fail(p->comm, ERR_CHILD, msg.text);
    }
}

/* With MTP on a stage of its own Megatron does not know what arrives: each
 * exchange, overlapped or not, is preceded by one of shapes with the same
 * pattern, which the rank waits for (p2p_communication.py,
 * _communicate_shapes). */
static void exchange_shapes(const struct pipeline *p,
                            const struct comm_message *m, int n)
{
    const struct dims *d = &p->shard->shared.dims;
    struct shape shape[N_MESSAGES];
    struct comm_message out[N_MESSAGES] = {{0}};
    if (!p->shard->standalone_mtp)
        return;
    for (int i = 0; i < n; i++) {
        shape[i] = m[i].send ? shape_of(d, m[i].bytes) : (struct shape){{0}};
        out[i] = m[i];
        out[i].data = &shape[i];
        out[i].bytes = sizeof shape[i];
        out[i].tag += PIPELINE_TAG_SHAPE;
    }
    comm_exchange(p->comm, out, n);
    for (int i = 0; i < n; i++)
        if (!m[i].send)
            check_shape(p, shape[i], shape_of(d, m[i].bytes));
}

/* ---- exchanges ---- */

static void pipeline_run_exchange(struct pipeline *p, const struct op *op)
{
    struct comm_message m[N_MESSAGES];
    int n = messages_of(p, op, m);
    exchange_shapes(p, m, n);
    comm_exchange(p->comm, m, n);
}

/* Waits for the open messages that `op` names, or those left aside. */
static void pipeline_end_messages(struct pipeline *p, const struct op *op)
{
    int kept = 0;
    for (int i = 0; i < p->n_open; i++) {
        struct pipeline_message *m = &p->open[i];
        bool ends =
            op ? op->mbs[m->which] == m->mb && op->chunks[m->which] == m->chunk
               : m->aside;
        if (ends)
            comm_wait(p->comm, &m->request);
        else
            p->open[kept++] = *m;
    }
    p->n_open = kept;
}

/* What is aside goes on while the rank computes, and is ended when the next of
 * its kind is posted. */
static void pipeline_run_wait(struct pipeline *p, const struct op *op)
{
    if (!op->aside) {
        pipeline_end_messages(p, op);
        return;
    }
    for (int i = 0; i < p->n_open; i++) {
        struct pipeline_message *m = &p->open[i];
        if (op->mbs[m->which] == m->mb && op->chunks[m->which] == m->chunk)
            m->aside = true;
    }
}

static void pipeline_run_post(struct pipeline *p, const struct op *op)
{
    struct comm_message m[N_MESSAGES];
    int n = messages_of(p, op, m), i = 0;
    if (op->aside)
        pipeline_end_messages(p, NULL);
    exchange_shapes(p, m, n);
    for (int which = 0; which < N_MESSAGES; which++) {
        if (op->mbs[which] == NO_MB)
            continue;
        assert(p->n_open < p->n_room);
        struct pipeline_message *open = &p->open[p->n_open++];
        *open = (struct pipeline_message){.which = (enum message)which,
                                          .chunk = op->chunks[which],
                                          .mb = op->mbs[which]};
        comm_start(p->comm, &m[i++], &open->request);
    }
}

static void run_messages(struct pipeline *p, const struct op *op)
{
    double start_s = comm_now(p->comm);
    if (op->kind == OP_EXCHANGE)
        pipeline_run_exchange(p, op);
    else if (op->kind == OP_POST)
        pipeline_run_post(p, op);
    else
        pipeline_run_wait(p, op);
    p->exchange_s += comm_now(p->comm) - start_s;
}

/* ---- work ---- */

static int64_t first_sample(const struct pipeline *p, int mb)
{
    const struct comm *c = p->comm;
    int64_t n_seq = p->shard->shared.dims.n_seq;
    return p->sample + ((int64_t)mb * c->dp + c->dp_rank) * n_seq;
}

/* Returns its seconds. */
static double pipeline_run_work(struct pipeline *p, bool forward, int chunk,
                                int mb)
{
    struct stage *s = &p->shard->chunks[chunk];
    double start_s = comm_now(p->comm);
    if (forward)
        stage_forward(s, mb, first_sample(p, mb));
    else
        stage_backward(s, mb);
    comm_work(p->comm, &p->shard->shared.ops);
    double end_s = comm_now(p->comm);
    p->ops[p->n_ops++] = (struct pipeline_op){
        forward, s->index, mb, start_s - p->step_s, end_s - p->step_s};
    return end_s - start_s;
}

/* Under EP overlap Megatron times both directions by the forward timer. */
static void run_op(struct pipeline *p, const struct op *op)
{
    double took_s;
    switch (op->kind) {
    case OP_FORWARD:
        p->fwd_s += pipeline_run_work(p, true, op->chunk, op->mb);
        break;
    case OP_BACKWARD:
        took_s = pipeline_run_work(p, false, op->chunk, op->mb);
        p->bwd_s += p->schedule->order.ep_overlap ? 0 : took_s;
        break;
    case OP_COMBINED:
        p->fwd_s += pipeline_run_work(p, true, op->chunk, op->mb);
        p->fwd_s += pipeline_run_work(p, false, op->bwd_chunk, op->bwd_mb);
        break;
    case OP_EXCHANGE:
    case OP_POST:
    case OP_WAIT:
        run_messages(p, op);
        break;
    case OP_HEAD_FORWARD:
    case OP_HEAD_BACKWARD:
    case OP_TAILS:
    case N_OP_KINDS: // parts of a combined operation, done there
        break;
    }
}

void pipeline_run(struct pipeline *p, double start_s, int64_t sample)
{
    const struct rank_ops *todo = &p->schedule->ranks[p->shard->rank];
    p->n_ops = 0;
    p->step_s = start_s;
    p->sample = sample;
    p->fwd_s = p->bwd_s = p->exchange_s = 0;
    for (int i = 0; i < todo->n_ops; i++)
        run_op(p, &todo->ops[i]);
    pipeline_end_messages(p, NULL);
    assert(p->n_open == 0);
}
