#include "pipeline.h"

#include <inttypes.h>
#include <stdio.h>

enum { TAG_FORWARD = 1, TAG_BACKWARD = 2, TAG_SHAPE = 10, SHAPE_DIMS = 3 };

enum err pipeline_new(struct arena *a, const struct comm *c, struct stage *s,
                      const struct schedule *schedule, struct pipeline *out)
{
    *out = (struct pipeline){.comm = c, .stage = s, .schedule = schedule};
    out->ops = arena_alloc(a, 2 * (size_t)schedule->n_mb, sizeof *out->ops);
    return out->ops ? ERR_OK : ERR_NOMEM;
}

/* Message `which` of an exchange, as this rank's stage sees it. */
static struct comm_message message_of(struct pipeline *p, enum message which,
                                      int mb)
{
    struct stage *s = p->stage;
    const struct comm_message all[N_MESSAGES] = {
        [SEND_FORWARD] = {stage_out(s, mb), stage_out_bytes(s), s->index + 1,
                          TAG_FORWARD, true},
        [RECV_FORWARD] = {stage_in(s, mb), stage_in_bytes(s), s->index - 1,
                          TAG_FORWARD, false},
        [SEND_BACKWARD] = {stage_din(s), stage_in_bytes(s), s->index - 1,
                           TAG_BACKWARD, true},
        [RECV_BACKWARD] = {stage_dout(s), stage_out_bytes(s), s->index + 1,
                           TAG_BACKWARD, false},
    };
    return all[which];
}

struct shape {
    int64_t dim[SHAPE_DIMS]; // rows of all hidden states, sequences, width
};

static struct shape shape_of(const struct stage *s, int64_t bytes)
{
    const struct dims *d = &s->dims;
    int64_t width = d->hidden * (int64_t)sizeof(real);
    return (struct shape){{bytes / width / d->n_seq, d->n_seq, d->hidden}};
}

static void check_shape(const struct pipeline *p, struct shape got,
                        struct shape want)
{
    struct err_msg msg;
    for (int i = 0; i < SHAPE_DIMS; i++) {
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
 * exchange is preceded by one of shapes with the same pattern. */
static void exchange_shapes(const struct pipeline *p,
                            const struct comm_message *m, int n)
{
    struct shape shape[N_MESSAGES];
    struct comm_message out[N_MESSAGES];
    for (int i = 0; i < n; i++) {
        shape[i] =
            m[i].send ? shape_of(p->stage, m[i].bytes) : (struct shape){{0}};
        out[i] = m[i];
        out[i].data = &shape[i];
        out[i].bytes = sizeof shape[i];
        out[i].tag += TAG_SHAPE;
    }
    comm_exchange(p->comm, out, n);
    for (int i = 0; i < n; i++)
        if (!m[i].send)
            check_shape(p, shape[i], shape_of(p->stage, m[i].bytes));
}

static void pipeline_run_exchange(struct pipeline *p, const struct op *op)
{
    struct comm_message m[N_MESSAGES];
    int n = 0;
    for (int which = 0; which < N_MESSAGES; which++)
        if (op->mbs[which] != NO_MB)
            m[n++] = message_of(p, (enum message)which, op->mbs[which]);
    double start_s = comm_now(p->comm);
    if (p->stage->standalone_mtp)
        exchange_shapes(p, m, n);
    comm_exchange(p->comm, m, n);
    p->exchange_s += comm_now(p->comm) - start_s;
}

static int64_t first_sample(const struct pipeline *p, int64_t step_sample,
                            int mb)
{
    const struct comm *c = p->comm;
    int64_t n_seq = p->stage->dims.n_seq;
    return step_sample + ((int64_t)mb * c->dp + c->dp_rank) * n_seq;
}

static void pipeline_run_work(struct pipeline *p, const struct op *op,
                              double step_s, int64_t sample)
{
    double start_s = comm_now(p->comm);
    if (op->kind == OP_FORWARD)
        stage_forward(p->stage, op->mb, first_sample(p, sample, op->mb));
    else
        stage_backward(p->stage, op->mb);
    comm_work(p->comm, &p->stage->ops);
    double end_s = comm_now(p->comm);
    *(op->kind == OP_FORWARD ? &p->fwd_s : &p->bwd_s) += end_s - start_s;
    p->ops[p->n_ops++] = (struct pipeline_op){op->kind, op->mb,
                                              start_s - step_s, end_s - step_s};
}

void pipeline_run(struct pipeline *p, double start_s, int64_t sample)
{
    const struct rank_ops *todo = &p->schedule->ranks[p->stage->index];
    p->n_ops = 0;
    p->fwd_s = p->bwd_s = p->exchange_s = 0;
    for (int i = 0; i < todo->n_ops; i++)
        if (todo->ops[i].kind == OP_EXCHANGE)
            pipeline_run_exchange(p, &todo->ops[i]);
        else
            pipeline_run_work(p, &todo->ops[i], start_s, sample);
}
