/*
 * plan: a layout with everything predicted of it. Data and how it is printed;
 * search makes it, the harness compares it with measurements.
 */
#ifndef PLAN_H
#define PLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "cost/cost.h"
#include "layout/core_version.h"
#include "layout/layout.h"
#include "memory/memory.h"
#include "model/model.h"
#include "sim/overlap.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Predictions within 0.5% of each other are a tie. */
#define PLAN_TIE 1.005

struct plan_stage {
    const char *units;   // letters, e.g. "ttmL"; symbols of a hybrid model
    double fwd_s, bwd_s; // a micro-batch
    int64_t mem_bytes;   // peak predicted, of its rank with several a rank
    int in_flight;       // chunks of its rank, micro-batches for one a rank
};

struct plan {
    const char *layout; // as it is pasted: layout_text()
    struct layout parsed;
    double pred_step_s;          // of mean times
    double pred_lo_s, pred_hi_s; // its 95% interval; NAN: no cost has an error
    double exp_step_s, exp_lo_s, exp_hi_s; // with jitter: expected, and 95% of
                                           // single steps; NAN: not worked out
    double speedup_vs_default, speedup_vs_count_based; // NAN: no baseline
    int near_bottleneck; // stages within 2% of the slowest
    bool standalone_mtp, empty_stage, tight_memory;
    const struct plan_stage *stages; // n_stages
    int n_stages;
};

/* What a prediction depends on besides layout and costs. */
struct plan_context {
    const struct model *model;
    const struct cost *cost; // with the trainer's memory rules
    enum p2p_mode mode;
    int n_mb;
    double hbm_bytes;                // per-rank memory limit, 0: none
    double memory_margin;            // of predicted peaks, relative
    enum platform platform;          // whose library workspaces count
    const struct core_version *core; // what must take the layouts; NULL: any
    const struct schedule *schedule; // for the model's pp and vpp, and n_mb
    struct overlap_save save;        // of pairs of layers, with EP overlap
    double save_se_s;                // standard error of save.both_s
    int gpus_per_node;               // 0: all ranks are on one node
};

/* Puts costs into a context with what they say of EP overlap's savings: 0
 * where they do not know them. */
void plan_context_costs(struct plan_context *ctx, const struct cost *cost);

/* A memory limit needs a prediction of memory: ERR_MODEL where hbm_bytes is
 * above 0 and the model's memory under a trainer's rules is not predicted.
 * `where` begins the message: who asked for the limit, and how. */
enum err plan_context_check(const struct plan_context *ctx,
                            const struct memory_rules *rules, const char *where,
                            struct err_msg *msg);

/* Why the context's version of Megatron core refuses a valid layout, in plain
 * words; NULL: it takes it. */
const char *plan_refusal(const struct plan_context *ctx,
                         const struct layout *l);

/* Predicts one valid layout. Baseline speedups are left NAN. Owned by the
 * arena. ERR_RANGE for other stages than the schedule's, here and below;
 * ERR_MODEL where the costs do not part m from L and the layout does. */
enum err plan_predict(struct arena *a, const struct plan_context *ctx,
                      const struct layout *l, struct plan *out,
                      struct err_msg *msg);

/* Peak bytes of one rank, as the memory command has them. */
int64_t plan_rank_peak(const struct memory_terms *terms, const struct layout *l,
                       int rank);

/* The pipeline's makespan (without the overhead) with its timeline. */
enum err plan_simulate(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct sim_result *out,
                       struct err_msg *msg);

/* Times of single operations of a layout, [stage * n_mb + mb]. */
struct plan_ops {
    const struct layout *layout;
    const double *fwd_s, *bwd_s;
};

/* Step time of one layout whose operations take these times, with the
 * context's transfers and overhead: replay. */
enum err plan_replay(struct arena *a, const struct plan_context *ctx,
                     const struct plan_ops *ops, double *step_s,
                     struct err_msg *msg);

/* The pipeline's makespan, without the overhead, of the same. */
enum err plan_simulate_ops(struct arena *a, const struct plan_context *ctx,
                           const struct plan_ops *ops, struct sim_result *out,
                           struct err_msg *msg);

/* A reusable predictor: step times of many layouts. Owned by the arena, which
 * it takes memory from while it meets kinds of layouts that are new to it. */
struct plan_engine;
struct plan_engine *plan_engine_new(struct arena *a,
                                    const struct plan_context *ctx);

/* plan_predict() with a context's engine, which has compiled its schedule
 * already when it predicted others. */
enum err plan_engine_predict(struct plan_engine *e, const struct layout *l,
                             struct plan *out, struct err_msg *msg);
enum err plan_engine_step(struct plan_engine *e, const struct layout *l,
                          double *step_s);

/* What layouts are ranked by. Work of a rank: forward plus backward of all its
 * chunks for one micro-batch. */
struct plan_step {
    double step_s;
    int near_bottleneck; // ranks whose work is within 2% of the slowest one's
    double unevenness;   // sum of the squared works of the ranks
};

/* The same of many layouts, simulated side by side: several times faster than
 * one by one, the more so the more there are. */
enum err plan_engine_steps(struct plan_engine *e, const struct layout *layouts,
                           int n, struct plan_step *out);

/* Why the engine's last step failed. */
const char *plan_engine_error(const struct plan_engine *e);
enum err plan_engine_replay(struct plan_engine *e, const struct plan_ops *ops,
                            double *step_s);

/* The same of several, side by side. */
enum err plan_engine_replays(struct plan_engine *e, const struct plan_ops *ops,
                             int n, double *steps_s);

cJSON *plan_to_json(const struct plan *p);

#endif
