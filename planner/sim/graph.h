/*
 * graph: a schedule with its way of transferring, compiled once into a
 * dependency graph that is then evaluated for many sets of times. A node is
 * the end of something; its value is the latest of its predecessors' values
 * plus the time between: value = max over predecessors (value + weight).
 * Weights are sums of at most four parameters; parameters are what layouts
 * differ in (times of stages, of transfers, of combined operations).
 *
 * Nodes stand in a topological order with two predecessors each, so that
 * evaluation is one loop over an array, for one set of times or for
 * GRAPH_LANES sets side by side. A node's memory is used again once nobody
 * needs it. Values are doubles in the caller's unit: whole nanoseconds below
 * 2^53 stay exact, as every sum and maximum of them is.
 *
 * Sizes: P*V*M up to 2^24; P 16, V 2, M 64 under ideal transfers is 4000 nodes
 * and takes a few microseconds a set of times.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "base/arena.h"
#include "base/err.h"
#include "schedule/schedule.h"

#include <stdbool.h>

enum { GRAPH_LANES = 16 }; // doubles side by side; see graph_eval.c

/* What a compiled graph is for. Transfers x: ideal none; async: an input
 * exists x after its producer ends; the others as in schedule.h, a message
 * moving once both ends have posted it and taking x. */
struct graph_options {
    enum p2p_mode mode;  // ideal and async ignore the lists' exchanges
    bool shape_exchange; // standalone MTP: see GRAPH_SHAPE
    bool per_operation;  // times of single operations instead of stages
    bool parts;          // combined operations have heads and tails
    bool keep;           // keep every node's value, for graph_event_at()
    int n_rounds;        // 1F1B: rounds to keep for graph_shift()
};

/* Parameters by kind, each with an index:
 *   FWD, BWD        stage, or with per_operation stage*n_mb + mb
 *   TRANSFER        boundary b between stages b and b+1, either direction
 *   MID             layers of a combined operation, pair (below)
 *   HEAD_FWD ...    of a combined operation, stage: before and after the
 *                   layers of its forward, and of its backward
 *   SHAPE, SYNC     index 0: what a message that tells a shape takes, and the
 *                   synchronisation after it; both before every group of
 *                   messages with `shape_exchange`
 *   SAVED           pair, with per_operation: what a combined operation takes
 *                   beyond its forward plus its backward, 0 or less */
enum graph_kind {
    GRAPH_NONE,
    GRAPH_FWD,
    GRAPH_BWD,
    GRAPH_TRANSFER,
    GRAPH_MID,
    GRAPH_SAVED,
    GRAPH_HEAD_FWD,
    GRAPH_TAIL_FWD,
    GRAPH_HEAD_BWD,
    GRAPH_TAIL_BWD,
    GRAPH_SHAPE,
    GRAPH_SYNC,
    N_GRAPH_KINDS
};

struct graph;

/* Compiles; owned by the arena. ERR_MODEL when the schedule deadlocks: the
 * message names the ranks and what each waits at. */
enum err graph_compile(struct arena *a, const struct schedule *s,
                       const struct graph_options *options, struct graph **out,
                       struct err_msg *msg);

/* Where parameter (kind, i) stands in a set of parameters, and how many there
 * are. */
int graph_param(const struct graph *g, enum graph_kind kind, int i);
int graph_n_params(const struct graph *g);

/* Index of a pair of chunks of one rank, for GRAPH_MID: below pp*vpp*vpp. */
int graph_pair(const struct schedule *s, int rank, int fwd_chunk,
               int bwd_chunk);

/* Nodes, and memory places that their values take. */
int graph_n_nodes(const struct graph *g);
int graph_n_slots(const struct graph *g);

/* Memory of an evaluation, owned by the arena, reused from one to the next:
 * for one set (`lanes` 1), or for GRAPH_LANES and for one. NULL when out of
 * memory. */
struct graph_values;
struct graph_values *graph_values_new(struct arena *a, const struct graph *g,
                                      int lanes);

/* Evaluates one set of parameters, [graph_n_params()]. */
void graph_eval(const struct graph *g, const double *params,
                struct graph_values *v);

/* Evaluates GRAPH_LANES sets, params[i * GRAPH_LANES + lane]. */
void graph_eval_lanes(const struct graph *g, const double *params,
                      struct graph_values *v);

/* After graph_eval(): when rank's list ends, and the latest of them. The lane
 * is 0, or one of graph_eval_lanes(). */
double graph_finish(const struct graph *g, const struct graph_values *v,
                    int rank, int lane);
double graph_makespan(const struct graph *g, const struct graph_values *v,
                      int lane);

/* 1F1B only, compiled with n_rounds >= period: by how much the last steady
 * round that all ranks have whole is later than the round `period` before it,
 * the least and the most over all values that later rounds depend on. Since
 * rounds are maxima of sums, `period` more rounds add at least `lo` and at
 * most `hi` to everything after them. Needs n_mb > 2*pp and
 * n_rounds < n_mb - pp. */
struct graph_shift {
    double lo, hi;
};
struct graph_shift graph_shift(const struct graph *g,
                               const struct graph_values *v, int period,
                               int lane);

/* One interval of a rank's time, of a graph compiled with `keep`: the kinds
 * of schedule.h, of which OP_EXCHANGE and OP_WAIT are the rank waiting, and
 * OP_POST is a message on its way, at its sender. */
struct graph_event {
    enum op_kind kind;
    int rank;
    int chunk, mb, bwd_chunk, bwd_mb; // mb NO_MB: none
    enum message message;             // of OP_POST
    double start, end;
};

int graph_n_events(const struct graph *g);
struct graph_event graph_event_at(const struct graph *g,
                                  const struct graph_values *v, int i);

#endif
