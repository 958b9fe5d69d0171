/*
 * proof: what the parts of the exact search share, and the parts.
 *
 * The question is always the same: does the graph of live chunks hold a layout
 * of at most `limit` nanoseconds? A path through the operations is a linear
 * function of the chunks and never longer than the step; so is a mix of paths.
 * Parts that answer "no" do so by dynamic programmes over the graph in 64-bit
 * integers. A layout that is found goes into `best`, which lowers the limit.
 */
#ifndef PROVE_PROOF_H
#define PROVE_PROOF_H

#include "best.h"
#include "lanes.h"
#include "live.h"
#include "simplex.h"

/* The largest number that the dynamic programmes meet stays below this: sums of
 * three of them cannot overflow. */
#define PROOF_INFINITE (INT64_MAX / 4)

struct proof {
    struct arena *arena;
    const struct space *sp;
    struct lanes *lanes;
    struct best best;
    int64_t target;         // layouts above this are of no interest
    double began, deadline; // seconds of the monotonic clock; 0: none
    double last_word;       // when progress was last told
    int64_t proved_ns;      // nothing faster: told as progress
    bool stopped;           // work or time is up, or the caller interrupted
    bool interrupted;       // by the caller
    long work_limit;        // 0: none; see proof_work()

    struct simplex *lp;
    int32_t *row;             // [PROOF_ROWS][SPACE_N_SUMS][n_stages]
    double *at, *slope;       // [SPACE_N_SUMS][n_stages + 1] sums as lines in x
    double x_unit, step_unit; // one of x, one of theta, in ns

    int64_t *weight, *ahead, *behind; // dynamic programme, [n_stages+1][n_pos]
    struct relax *relax;
    struct dive *dive;
    /* [PROOF_DEPTH + 1] graphs: for probes, for each level of branching, and
     * for an attempt as a whole */
    struct live *spare;
    long n_nodes, n_leaves;
};

enum { PROOF_ROWS = 512, PROOF_DEPTH = 64 };

/* Allocates all of it for a space; ERR_NOMEM. */
enum err proof_init(struct arena *a, const struct space *sp, struct lanes *l,
                    struct proof *out, struct err_msg *msg);

/* What a layout must not exceed to matter now. */
int64_t proof_limit(const struct proof *p);

/* Work done, the same on every machine: about 10 us each. */
long proof_work(const struct proof *p);

/* Whether to stop; asks the clock, the work limit and the caller. */
bool proof_stop(struct proof *p);

/* Offers a complete layout: memory, exact step time, best list. Returns its
 * step time, INT64_MAX when it does not fit. */
int64_t proof_leaf(struct proof *p, const int *pos);

/* ---- proof_prune.c: exact dynamic programmes ---- */

/* A non-negative mix of paths, count[which * n_stages + s], `total` of them,
 * and of bounds of ranks' loads, which are worth `extra` at most: no layout
 * within the limit has more than total * limit + extra. */
struct proof_mix {
    int64_t *count;
    int64_t total, extra;
};

/* Drops every chunk through which each layout is longer than the limit; number
 * of arcs dropped, -1 when no layout is left. */
int proof_prune(struct proof *p, struct live *l, const struct proof_mix *mix);

/* The least value of the mix over all layouts of the graph, less `extra`. */
int64_t proof_least(struct proof *p, const struct live *l,
                    const struct proof_mix *mix);

/* ---- proof_memory.c: what cannot fit; both false when no layout is left ---- */

/* Drops chunks that do not fit with the lightest others of their rank. */
bool proof_prune_memory(const struct proof *p, struct live *l);

/* That, and chunks through which no path of the graph fits in one rank, or in
 * all ranks together: slower, for once a branch. */
bool proof_prune_bytes(struct proof *p, struct live *l);

/* ---- proof_relax.c: which mix ---- */

enum proof_end { PROOF_REFUTED, PROOF_OPEN };

/* Fits the programme to the space's chunk times. Once, before the rest. */
enum err proof_relax_init(struct proof *p, struct err_msg *msg);

/* Solves the relaxation on the graph and prunes with its dual mix.
 * PROOF_REFUTED: no layout within the limit is left. */
enum proof_end proof_relax(struct proof *p, struct live *l);

/* A certified lower bound over the graph's layouts, in ns. */
int64_t proof_relax_bound(struct proof *p, const struct live *l);

/* Adds a path to the programme. */
void proof_relax_add(struct proof *p, const int32_t *count);

/* ---- proof_probe.c: is either end of a stage's range possible? ---- */

/* One pass over all stages (halves, quarters, single positions from both
 * ends); passes repeat while they drop more than a tenth of the arcs and
 * `passes` are left. PROOF_REFUTED as above. */
enum proof_end proof_probe(struct proof *p, struct live *l, int passes);

/* ---- proof_loads.c: the same for what all chunks of a rank take together ----
 *
 * A relaxation may share time evenly between ranks, whole layers cannot: which
 * loads are possible is known exactly, and each end of them is probed. */
enum proof_end proof_probe_loads(struct proof *p, struct live *l);

/* ---- proof_dive.c: depth first over all that is left ---- */

enum err proof_dive_init(struct proof *p, struct err_msg *msg);

/* Visits every layout of the graph that the paths cannot exclude, at most
 * `budget` nodes. True: done; false: budget or time ran out. */
bool proof_dive(struct proof *p, const struct live *l, long budget);

/* ---- proof_branch.c ---- */

/* All of the above on the graph; true when it is settled that no layout within
 * the limit remains unseen, false when time ran out. Destroys `l`. */
bool proof_settle(struct proof *p, struct live *l);

#endif
