/*
 * sim: gives an order of work time: what a step takes, when ranks end, what
 * each does when. The modes of transfers (schedule/schedule.h) say what a
 * transfer of x seconds costs:
 *   ideal          x = 0
 *   async          an input exists x after its producer ends; nobody waits
 *   blocking       every exchange is one batched group that the rank waits
 *                  for; a message moves once both ends have posted it and
 *                  takes x; messages of a group move at the same time; the
 *                  group ends with its last message
 *   overlap(-flush)  messages move beside work; what is waited for, and when,
 *                  is the schedule's
 * With `shape_exchange` (standalone MTP) each group of messages is preceded by
 * one of the same pattern that is waited for, takes `shape_x_s` a message, and
 * by `sync_s`.
 *
 * Under it is plan/graph. With one chunk a rank the time of a step does not
 * grow with M: a short step is simulated until its rounds repeat, and what the
 * further rounds add is known exactly. Values keep the caller's unit of time.
 */
#ifndef SIM_H
#define SIM_H

#include "base/arena.h"
#include "base/err.h"
#include "schedule/schedule.h"

#include <stdbool.h>

/* What combined operations take (EP overlap), in seconds: the layers of both
 * by pair of chunks, [graph_pair(): pp*vpp*vpp], and, or NULL, the parts of a
 * stage's forward and backward before and after its layers, [pp*vpp]: all
 * four or none. plan/overlap.h works them out. */
struct sim_combined {
    const double *mid_s;
    const double *head_fwd_s, *tail_fwd_s, *head_bwd_s, *tail_bwd_s;
    const double *saved_s; // by pair, of the sum of its two, or NULL: nothing;
                           // for times of single operations
};

/* Times in seconds, one a stage (s = v*PP + r). When `op_fwd_s` is set the
 * times of single operations are taken from there, [stage * n_mb + mb], and a
 * combined operation takes the sum of its two less what is saved. */
struct sim_input {
    const struct schedule *schedule; // its order; its lists where they fit mode
    const double *fwd_s, *bwd_s;
    const double *op_fwd_s, *op_bwd_s; // or NULL
    const double *x_s;                 // [pp*vpp]: from stage s to s+1, either
                                       // way; the last is not used
    const struct sim_combined *combined; // EP overlap; NULL: forward + backward
    bool shape_exchange;
    double shape_x_s, sync_s;
    enum p2p_mode mode;
    bool want_events; // of sim_run()
};

/* One interval of a rank, for timelines: work, waiting (OP_EXCHANGE), or a
 * message on its way (OP_POST), which goes on beside the others. */
struct sim_event {
    enum op_kind kind;
    int rank, mb; // NO_MB: none
    int chunk, bwd_chunk, bwd_mb;
    enum message message; // of OP_POST
    double start_s, end_s;
};

struct sim_result {
    double step_s;                  // makespan
    const double *finish_s;         // [pp]
    const double *busy_s;           // [pp] sum of the times of its work
    const int *max_in_flight;       // [pp] chunks
    const struct sim_event *events; // only when asked for
    int n_events;
};

/* Simulates one step. ERR_MODEL when the schedule deadlocks (it names the
 * ranks that wait), ERR_RANGE for a mode that does not fit the order. The
 * result is owned by the arena. */
enum err sim_run(struct arena *a, const struct sim_input *in,
                 struct sim_result *out, struct err_msg *msg);

/* A simulator for many layouts of one order: graphs are compiled when first
 * needed, into the arena, and kept. NULL when out of memory. */
struct sim_engine;
struct sim_engine *sim_engine_new(struct arena *a,
                                  const struct schedule *schedule);

/* Step time of one input, and of `n` inputs side by side, which is faster the
 * longer the rows of inputs of one kind are (mode, shape exchange); inputs may
 * differ in everything but their order. Errors as sim_run(). */
enum err sim_engine_step(struct sim_engine *e, const struct sim_input *in,
                         double *step_s, struct err_msg *msg);
enum err sim_engine_steps(struct sim_engine *e, const struct sim_input *ins,
                          int n, double *steps_s, struct err_msg *msg);

#endif
