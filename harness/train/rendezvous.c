/*
 * How it works: every rank has a place in its list and counts of the messages
 * it has posted. The i-th message of a kind meets the i-th of the opposite
 * kind at the peer, so a message has moved when the peer's count is above its
 * own place. Ranks run on in turn as far as they get; when none gets further
 * all have ended, or none ever will.
 */
#include "rendezvous.h"

enum phase { PHASE_SHAPES, PHASE_STATES, N_PHASES };

/* How far a rank is with the group of messages at its place in the list. */
enum progress { GROUP_NEW, GROUP_SHAPES, GROUP_READY, GROUP_POSTED };

struct end {
    int at; // operation of its list
    enum progress progress;
    int posted[N_PHASES][N_MESSAGES];
    int *nth; // [message][chunk][mb]: place among those of its kind
};

struct meeting {
    const struct schedule *schedule;
    struct end *ends; // of all ranks
    bool shapes;
};

static int *place_of(const struct meeting *t, const struct end *e,
                     const struct op *op, int m)
{
    int n_mb = t->schedule->n_mb, vpp = t->schedule->vpp;
    return &e->nth[(m * vpp + op->chunks[m]) * n_mb + op->mbs[m]];
}

static bool has_moved(const struct meeting *t, int rank, int m,
                      enum phase phase, int nth)
{
    static const enum message other[N_MESSAGES] = {
        [SEND_FORWARD] = RECV_FORWARD,
        [RECV_FORWARD] = SEND_FORWARD,
        [SEND_BACKWARD] = RECV_BACKWARD,
        [RECV_BACKWARD] = SEND_BACKWARD};
    int peer = schedule_peer(t->schedule, rank, (enum message)m);
    return t->ends[peer].posted[phase][other[m]] > nth;
}

static void rendezvous_post(const struct meeting *t, struct end *e,
                            const struct op *op, enum phase phase)
{
    for (int m = 0; m < N_MESSAGES; m++) {
        if (op->mbs[m] == NO_MB)
            continue;
        if (phase == PHASE_STATES)
            *place_of(t, e, op, m) = e->posted[phase][m];
        e->posted[phase][m]++;
    }
}

/* All messages of the operation at hand. Shapes are those posted last. */
static bool all_moved(const struct meeting *t, int rank, const struct op *op,
                      enum phase phase)
{
    const struct end *e = &t->ends[rank];
    for (int m = 0; m < N_MESSAGES; m++) {
        if (op->mbs[m] == NO_MB)
            continue;
        int nth = phase == PHASE_SHAPES ? e->posted[phase][m] - 1
                                        : *place_of(t, e, op, m);
        if (!has_moved(t, rank, m, phase, nth))
            return false;
    }
    return true;
}

static void rendezvous_next(struct end *e)
{
    e->at++;
    e->progress = GROUP_NEW;
}

/* One step of a rank; false when it has to wait. */
static bool group_step(const struct meeting *t, int rank, const struct op *op)
{
    struct end *e = &t->ends[rank];
    switch (e->progress) {
    case GROUP_NEW:
        if (t->shapes)
            rendezvous_post(t, e, op, PHASE_SHAPES);
        e->progress = t->shapes ? GROUP_SHAPES : GROUP_READY;
        return true;
    case GROUP_SHAPES:
        if (!all_moved(t, rank, op, PHASE_SHAPES))
            return false;
        e->progress = GROUP_READY;
        return true;
    case GROUP_READY:
        rendezvous_post(t, e, op, PHASE_STATES);
        e->progress = GROUP_POSTED;
        return true;
    case GROUP_POSTED:
        if (op->kind == OP_EXCHANGE && !all_moved(t, rank, op, PHASE_STATES))
            return false;
        rendezvous_next(e);
        return true;
    }
    return false;
}

static bool rendezvous_step(const struct meeting *t, int rank)
{
    const struct rank_ops *list = &t->schedule->ranks[rank];
    struct end *e = &t->ends[rank];
    if (e->at == list->n_ops)
        return false;
    const struct op *op = &list->ops[e->at];
    if (op->kind == OP_EXCHANGE || op->kind == OP_POST)
        return group_step(t, rank, op);
    if (op->kind == OP_WAIT && !all_moved(t, rank, op, PHASE_STATES))
        return false;
    rendezvous_next(e);
    return true;
}

static bool all_ended(const struct meeting *t)
{
    for (int r = 0; r < t->schedule->pp; r++)
        if (t->ends[r].at < t->schedule->ranks[r].n_ops)
            return false;
    return true;
}

/* Ranks step as far as they come, round after round, as the simulator's do:
 * where none can, they would hang. */
enum err rendezvous_check(struct arena *a, const struct schedule *s,
                          bool shapes, struct err_msg *msg)
{
    size_t n_places = (size_t)N_MESSAGES * (size_t)s->vpp * (size_t)s->n_mb;
    struct meeting t = {.schedule = s, .shapes = shapes};
    t.ends = arena_alloc(a, (size_t)s->pp, sizeof *t.ends);
    for (int r = 0; t.ends && r < s->pp; r++) {
        t.ends[r].nth = arena_alloc(a, n_places, sizeof *t.ends[r].nth);
        if (!t.ends[r].nth)
            return err_set(msg, ERR_NOMEM, "schedule: out of memory");
    }
    if (!t.ends)
        return err_set(msg, ERR_NOMEM, "schedule: out of memory");
    for (bool moved = true; moved;) {
        moved = false;
        for (int r = 0; r < s->pp; r++)
            while (rendezvous_step(&t, r))
                moved = true;
    }
    return all_ended(&t)
               ? ERR_OK
               : err_set(msg, ERR_RANGE,
                         "ranks would wait for each other for ever: with MTP "
                         "on a stage of its own shapes are exchanged before "
                         "every transfer, want overlapped transfers or more "
                         "micro-batches than a group has");
}
