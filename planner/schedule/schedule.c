#include "schedule.h"

#include <stdbool.h>

enum { MAX_RANKS = 1024, MAX_MB = 65536, MAX_OPS = 1 << 24 };

struct builder {
    struct op *ops;
    int n;
};

static void add_work(struct builder *b, enum op_kind kind, int mb)
{
    b->ops[b->n++] = (struct op){
        .kind = kind, .mb = mb, .mbs = {NO_MB, NO_MB, NO_MB, NO_MB}};
}

/* An exchange of one or two messages; a message that does not exist on this
 * rank (`there` false) is left out, and so is an exchange without any. */
struct half {
    bool there;
    enum message message;
    int mb;
};

static void add_exchange(struct builder *b, struct half x, struct half y)
{
    struct op op = {
        .kind = OP_EXCHANGE, .mb = NO_MB, .mbs = {NO_MB, NO_MB, NO_MB, NO_MB}};
    if (x.there)
        op.mbs[x.message] = x.mb;
    if (y.there)
        op.mbs[y.message] = y.mb;
    if (x.there || y.there)
        b->ops[b->n++] = op;
}

static void build_rank(struct builder *b, int pp, int rank, int n_mb)
{
    const struct half none = {false, SEND_FORWARD, NO_MB};
    const bool prev = rank > 0, next = rank < pp - 1;
    const int warm = pp - 1 - rank < n_mb ? pp - 1 - rank : n_mb;
    const int steady = n_mb - warm;
    for (int i = 0; i < warm; i++) {
        add_exchange(b, (struct half){prev, RECV_FORWARD, i}, none);
        add_work(b, OP_FORWARD, i);
        add_exchange(b, (struct half){next, SEND_FORWARD, i}, none);
    }
    if (steady > 0)
        add_exchange(b, (struct half){prev, RECV_FORWARD, warm}, none);
    for (int i = 0; i < steady; i++) {
        const bool more = i + 1 < steady;
        add_work(b, OP_FORWARD, warm + i);
        add_exchange(b, (struct half){next, SEND_FORWARD, warm + i},
                     (struct half){next, RECV_BACKWARD, i});
        add_work(b, OP_BACKWARD, i);
        add_exchange(b, (struct half){prev, SEND_BACKWARD, i},
                     (struct half){prev && more, RECV_FORWARD, warm + i + 1});
    }
    for (int i = steady; i < n_mb; i++) {
        add_exchange(b, (struct half){next, RECV_BACKWARD, i}, none);
        add_work(b, OP_BACKWARD, i);
        add_exchange(b, (struct half){prev, SEND_BACKWARD, i}, none);
    }
}

enum err schedule_1f1b(struct arena *a, int pp, int n_mb, struct schedule *out,
                       struct err_msg *msg)
{
    if (pp < 1 || pp > MAX_RANKS)
        return err_set(msg, ERR_RANGE,
                       "schedule: pipeline size: got %d, want 1 to %d", pp,
                       MAX_RANKS);
    if (n_mb < 1 || n_mb > MAX_MB || (long)pp * n_mb > MAX_OPS)
        return err_set(msg, ERR_RANGE,
                       "schedule: micro-batches: got %d, want 1 to %d and "
                       "ranks x micro-batches up to %d",
                       n_mb, MAX_MB, MAX_OPS);
    struct rank_ops *ranks = arena_alloc(a, (size_t)pp, sizeof *ranks);
    for (int r = 0; ranks && r < pp; r++) {
        // two operations and at most four exchanges a micro-batch, one more
        size_t room = (size_t)n_mb * 6 + 1;
        struct builder b = {.ops = arena_alloc(a, room, sizeof *b.ops)};
        if (!b.ops)
            return err_set(msg, ERR_NOMEM, "schedule: out of memory");
        build_rank(&b, pp, r, n_mb);
        ranks[r] = (struct rank_ops){.ops = b.ops, .n_ops = b.n};
    }
    if (!ranks)
        return err_set(msg, ERR_NOMEM, "schedule: out of memory");
    *out = (struct schedule){.pp = pp, .vpp = 1, .n_mb = n_mb, .ranks = ranks};
    return ERR_OK;
}

int schedule_max_in_flight(const struct schedule *s, int rank)
{
    int now = 0, most = 0;
    for (int i = 0; i < s->ranks[rank].n_ops; i++) {
        enum op_kind kind = s->ranks[rank].ops[i].kind;
        now += (kind == OP_FORWARD) - (kind == OP_BACKWARD);
        most = now > most ? now : most;
    }
    return most;
}

int schedule_n_exchanges(const struct schedule *s, int rank)
{
    int n = 0;
    for (int i = 0; i < s->ranks[rank].n_ops; i++)
        n += s->ranks[rank].ops[i].kind == OP_EXCHANGE;
    return n;
}
