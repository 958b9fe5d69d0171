/*
 * sim: gives a schedule time. An operation of a rank starts when the one
 * before it has ended and its input is there; the modes say what a transfer
 * of x seconds costs:
 *   ideal     x = 0
 *   async     the input exists x after its producer ends; nobody waits
 *   blocking  what Megatron does without overlapped transfers: every exchange
 *             is one batched group that the rank waits for; a message moves
 *             once both ends have posted it and takes x; messages of a group
 *             move at the same time; the group ends with its last message
 * With `shape_exchange` (standalone MTP) each group is preceded by a group of
 * the same pattern that takes `shape_x_s` a message, and by `sync_s`.
 *
 * A step of P ranks and M micro-batches costs O(P*M).
 */
#ifndef PLAN_SIM_H
#define PLAN_SIM_H

#include "base/arena.h"
#include "base/err.h"
#include "schedule/schedule.h"

#include <stdbool.h>

enum p2p_mode { P2P_IDEAL, P2P_ASYNC, P2P_BLOCKING, N_P2P_MODES };

const char *p2p_mode_name(enum p2p_mode mode);

/* ERR_PARSE names the known modes. "overlap" is refused as not built yet. */
enum err p2p_mode_from_name(const char *name, enum p2p_mode *out,
                            struct err_msg *msg);

/* Times in seconds, one a stage (s = v*PP + r). When `op_fwd_s` is set the
 * times of single operations are taken from there, [stage * n_mb + mb]. */
struct sim_input {
    const struct schedule *schedule;
    const double *fwd_s, *bwd_s;
    const double *op_fwd_s, *op_bwd_s; // or NULL
    const double *x_s; // [pp]: transfer between rank r and r+1, either way
    bool shape_exchange;
    double shape_x_s, sync_s;
    enum p2p_mode mode;
    bool want_events; // of sim_run()
};

/* One interval of work, for timelines: forward, backward or waiting in an
 * exchange. */
struct sim_event {
    enum op_kind kind;
    int rank, mb;
    double start_s, end_s;
};

struct sim_result {
    double step_s;                  // makespan
    const double *finish_s;         // [pp]
    const double *busy_s;           // [pp] sum of forward and backward times
    const int *max_in_flight;       // [pp]
    const struct sim_event *events; // only when asked for
    int n_events;
};

/* Simulates one step. ERR_MODEL when the schedule deadlocks (it names the
 * ranks that wait). The result is owned by the arena. */
enum err sim_run(struct arena *a, const struct sim_input *in,
                 struct sim_result *out, struct err_msg *msg);

/* A reusable simulator for many layouts of one (P, M): no allocation in
 * sim_step(). */
struct sim_engine;
struct sim_engine *sim_engine_new(struct arena *a,
                                  const struct schedule *schedule);
enum err sim_engine_step(struct sim_engine *e, const struct sim_input *in,
                         double *step_s);

#endif
