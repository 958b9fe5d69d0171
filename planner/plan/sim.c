/*
 * How it works: every rank has a program counter and a clock. A rank runs on
 * until it needs something another rank has not produced yet (the end of an
 * operation, or the posting of a message's other end); then the next rank
 * runs. Each sweep over the ranks either moves one of them or proves a
 * deadlock. Times never depend on the order of the sweep.
 */
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const mode_names[N_P2P_MODES] = {
    [P2P_IDEAL] = "ideal",
    [P2P_ASYNC] = "async",
    [P2P_BLOCKING] = "blocking",
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
    if (strcmp(name, "overlap") == 0)
        return err_set(msg, ERR_PARSE,
                       "--p2p overlap: needs virtual stages, which this "
                       "version does not simulate; want ideal, async or "
                       "blocking");
    return err_set(msg, ERR_PARSE,
                   "--p2p: got '%s', want ideal, async or blocking", name);
}

/* An exchange has one phase, or two when a shape exchange goes ahead. */
enum { PAYLOAD, SHAPE, N_PHASES };

struct rank_state {
    int pc;       // next operation
    double now_s; // clock of the rank
    int phase;    // of the exchange at pc
    bool posted;  // this phase of it
    double busy_s;
};

struct sim_engine {
    const struct schedule *schedule;
    int pp, n_mb;
    struct rank_state *ranks;
    double *forward_end_s, *backward_end_s; // [rank * n_mb + mb], NAN: not yet
    double *posted_s; // [((rank * N_MESSAGES + message) * N_PHASES + phase)
                      //  * n_mb + mb], NAN: not yet
    struct sim_event *events; // or NULL
    int n_events;
};

struct sim_engine *sim_engine_new(struct arena *a,
                                  const struct schedule *schedule)
{
    struct sim_engine *e = arena_alloc(a, 1, sizeof *e);
    size_t n = (size_t)schedule->pp * (size_t)schedule->n_mb;
    if (!e)
        return NULL;
    e->schedule = schedule;
    e->pp = schedule->pp;
    e->n_mb = schedule->n_mb;
    e->ranks = arena_alloc(a, (size_t)e->pp, sizeof *e->ranks);
    e->forward_end_s = arena_alloc(a, n, sizeof *e->forward_end_s);
    e->backward_end_s = arena_alloc(a, n, sizeof *e->backward_end_s);
    e->posted_s =
        arena_alloc(a, n * N_MESSAGES * N_PHASES, sizeof *e->posted_s);
    bool ok = e->ranks && e->forward_end_s && e->backward_end_s && e->posted_s;
    return ok ? e : NULL;
}

static double *post_slot(struct sim_engine *e, int rank, enum message m,
                         int phase, int mb)
{
    size_t i = (size_t)rank * N_MESSAGES + (size_t)m;
    return &e->posted_s[(i * N_PHASES + (size_t)phase) * (size_t)e->n_mb +
                        (size_t)mb];
}

static size_t at(const struct sim_engine *e, int rank, int mb)
{
    return (size_t)rank * (size_t)e->n_mb + (size_t)mb;
}

static void record(struct sim_engine *e, struct sim_event event)
{
    if (e->events && event.end_s > event.start_s)
        e->events[e->n_events++] = event;
}

/* The other end of a message: whose rank, which message, which link. */
static const struct {
    int step; // partner = rank + step
    enum message other;
    int link; // x_s index = rank + link
} ends[N_MESSAGES] = {
    [SEND_FORWARD] = {+1, RECV_FORWARD, 0},
    [RECV_FORWARD] = {-1, SEND_FORWARD, -1},
    [SEND_BACKWARD] = {-1, RECV_BACKWARD, -1},
    [RECV_BACKWARD] = {+1, SEND_BACKWARD, 0},
};

static void post(struct sim_engine *e, int rank, const struct op *op)
{
    struct rank_state *r = &e->ranks[rank];
    for (int m = 0; m < N_MESSAGES; m++)
        if (op->mbs[m] != NO_MB)
            *post_slot(e, rank, (enum message)m, r->phase, op->mbs[m]) =
                r->now_s;
    r->posted = true;
}

/* End of the group's last message, or NAN while an end is not posted. */
static double group_end(struct sim_engine *e, const struct sim_input *in,
                        int rank, const struct op *op)
{
    const struct rank_state *r = &e->ranks[rank];
    double end = r->now_s;
    for (int m = 0; m < N_MESSAGES; m++) {
        int mb = op->mbs[m];
        if (mb == NO_MB)
            continue;
        double there =
            *post_slot(e, rank + ends[m].step, ends[m].other, r->phase, mb);
        if (isnan(there))
            return NAN;
        double x =
            r->phase == SHAPE ? in->shape_x_s : in->x_s[rank + ends[m].link];
        double moved = (there > r->now_s ? there : r->now_s) + x;
        end = moved > end ? moved : end;
    }
    return end;
}

/* Runs the exchange at the rank's pc; false when it has to wait. */
static bool run_exchange(struct sim_engine *e, const struct sim_input *in,
                         int rank, const struct op *op)
{
    struct rank_state *r = &e->ranks[rank];
    for (;;) {
        if (!r->posted)
            post(e, rank, op);
        double end = group_end(e, in, rank, op);
        if (isnan(end))
            return false;
        if (r->phase == SHAPE)
            end += in->sync_s;
        record(e, (struct sim_event){OP_EXCHANGE, rank, NO_MB, r->now_s, end});
        r->now_s = end;
        r->posted = false;
        if (r->phase == PAYLOAD)
            break;
        r->phase = PAYLOAD;
    }
    r->phase = in->shape_exchange ? SHAPE : PAYLOAD;
    return true;
}

/* When the operation's input is there, NAN when it does not exist yet. In
 * blocking mode exchanges have brought it. */
static double input_ready(const struct sim_engine *e,
                          const struct sim_input *in, int rank,
                          const struct op *op)
{
    if (in->mode == P2P_BLOCKING)
        return 0;
    bool forward = op->kind == OP_FORWARD;
    int from = forward ? rank - 1 : rank + 1;
    if (from < 0 || from >= e->pp)
        return 0;
    const double *end = forward ? e->forward_end_s : e->backward_end_s;
    double x = in->mode == P2P_IDEAL ? 0 : in->x_s[forward ? from : rank];
    return end[at(e, from, op->mb)] + x;
}

static bool run_work(struct sim_engine *e, const struct sim_input *in, int rank,
                     const struct op *op)
{
    struct rank_state *r = &e->ranks[rank];
    double ready = input_ready(e, in, rank, op);
    if (isnan(ready))
        return false;
    size_t i = at(e, rank, op->mb);
    bool forward = op->kind == OP_FORWARD;
    double cost = forward ? (in->op_fwd_s ? in->op_fwd_s[i] : in->fwd_s[rank])
                          : (in->op_bwd_s ? in->op_bwd_s[i] : in->bwd_s[rank]);
    double start = ready > r->now_s ? ready : r->now_s;
    r->now_s = start + cost;
    r->busy_s += cost;
    (forward ? e->forward_end_s : e->backward_end_s)[i] = r->now_s;
    record(e, (struct sim_event){op->kind, rank, op->mb, start, r->now_s});
    return true;
}

/* Runs the rank as far as it goes; true when it moved. */
static bool run_rank(struct sim_engine *e, const struct sim_input *in, int rank)
{
    struct rank_state *r = &e->ranks[rank];
    const struct rank_ops *ops = &e->schedule->ranks[rank];
    int pc = r->pc, phase = r->phase;
    bool posted = r->posted;
    while (r->pc < ops->n_ops) {
        const struct op *op = &ops->ops[r->pc];
        bool done = op->kind != OP_EXCHANGE ? run_work(e, in, rank, op)
                                            : in->mode != P2P_BLOCKING ||
                                                  run_exchange(e, in, rank, op);
        if (!done)
            break;
        r->pc++;
    }
    return r->pc != pc || r->phase != phase || r->posted != posted;
}

static void reset(struct sim_engine *e, const struct sim_input *in)
{
    size_t n = (size_t)e->pp * (size_t)e->n_mb;
    for (size_t i = 0; i < n; i++)
        e->forward_end_s[i] = e->backward_end_s[i] = NAN;
    for (size_t i = 0; i < n * N_MESSAGES * N_PHASES; i++)
        e->posted_s[i] = NAN;
    for (int r = 0; r < e->pp; r++)
        e->ranks[r] =
            (struct rank_state){.phase = in->shape_exchange ? SHAPE : PAYLOAD};
    e->n_events = 0;
}

static enum err deadlock(const struct sim_engine *e, struct err_msg *msg)
{
    char where[256] = "";
    size_t used = 0;
    for (int r = 0; r < e->pp && used + 40 < sizeof where; r++)
        if (e->ranks[r].pc < e->schedule->ranks[r].n_ops)
            used += (size_t)snprintf(where + used, sizeof where - used,
                                     " rank %d at operation %d;", r,
                                     e->ranks[r].pc);
    return err_set(msg, ERR_MODEL, "schedule deadlocks:%s", where);
}

static enum err run(struct sim_engine *e, const struct sim_input *in,
                    double *step_s, struct err_msg *msg)
{
    reset(e, in);
    bool moved = true, left = true;
    while (moved && left) {
        moved = left = false;
        for (int r = 0; r < e->pp; r++) {
            moved = run_rank(e, in, r) || moved;
            left = left || e->ranks[r].pc < e->schedule->ranks[r].n_ops;
        }
    }
    if (left)
        return deadlock(e, msg);
    double step = 0;
    for (int r = 0; r < e->pp; r++)
        step = e->ranks[r].now_s > step ? e->ranks[r].now_s : step;
    *step_s = step;
    return ERR_OK;
}

enum err sim_engine_step(struct sim_engine *e, const struct sim_input *in,
                         double *step_s)
{
    return run(e, in, step_s, NULL);
}

static enum err copy_result(struct arena *a, struct sim_engine *e,
                            struct sim_result *out, struct err_msg *msg)
{
    double *finish = arena_alloc(a, (size_t)e->pp, sizeof *finish);
    double *busy = arena_alloc(a, (size_t)e->pp, sizeof *busy);
    int *in_flight = arena_alloc(a, (size_t)e->pp, sizeof *in_flight);
    if (!finish || !busy || !in_flight)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    for (int r = 0; r < e->pp; r++) {
        finish[r] = e->ranks[r].now_s;
        busy[r] = e->ranks[r].busy_s;
        in_flight[r] = schedule_max_in_flight(e->schedule, r);
    }
    out->finish_s = finish;
    out->busy_s = busy;
    out->max_in_flight = in_flight;
    out->events = e->events;
    out->n_events = e->n_events;
    return ERR_OK;
}

enum err sim_run(struct arena *a, const struct sim_input *in,
                 struct sim_result *out, struct err_msg *msg)
{
    struct sim_engine *e = sim_engine_new(a, in->schedule);
    size_t n_ops = 0;
    for (int r = 0; r < in->schedule->pp; r++)
        n_ops += (size_t)in->schedule->ranks[r].n_ops;
    if (e && in->want_events)
        e->events = arena_alloc(a, n_ops * N_PHASES, sizeof *e->events);
    if (!e || (in->want_events && !e->events))
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    struct sim_result result = {0};
    enum err err = run(e, in, &result.step_s, msg);
    if (err == ERR_OK)
        err = copy_result(a, e, &result, msg);
    if (err == ERR_OK)
        *out = result;
    return err;
}
