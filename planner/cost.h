/*
 * cost: what one unit of each kind costs, seconds forward and backward per
 * micro-batch, fitted from the timers of short profile runs or worked out from
 * FLOPs; and the costs file that carries it. Few numbers, many guards: a fit
 * that cannot tell two kinds apart must say so.
 */
#ifndef COST_H
#define COST_H

#include "arena.h"
#include "err.h"
#include "json.h"
#include "layout.h"
#include "logparse.h"
#include "model.h"

#include <stdbool.h>

struct unit_cost {
    bool known;
    double fwd_s, fwd_se, bwd_s, bwd_se; // seconds a micro-batch, std. errors
};

enum cost_source {
    COST_MEASURED,
    COST_EMULATED,
    COST_PUBLISHED,
    COST_ANALYTIC
};

struct cost {
    enum cost_source source;
    struct unit_cost unit[N_KINDS];
    bool joint_ml;     // only m+L together is known: stored in L, m is 0
    double chunk_s;    // added by timers to each chunk and pass; not in a step
    double overhead_s; // of a step, outside the pipeline
    double overhead_s_per_byte; // x parameter bytes of the heaviest stage
    double step_noise_rel; // relative std. error of a run's step time, 0: none
    double latency_s, bytes_per_s; // of one transfer; bytes_per_s 0: free
    double exchange_sync_s;        // standalone MTP: each exchange
    double jitter_cv;
    const struct model_fact *facts; // fingerprint, or NULL: fits any model
    int n_facts;
    const char *const *fitted_layout; // n_fitted layouts and log hashes
    const char *const *fitted_sha256;
    int n_fitted;
};

/* One profile run as the fit sees it. */
struct cost_run {
    const char *layout_text;
    struct layout layout;
    const struct runlog *log;
    const char *log_sha256;
    double speed; // times of this run are divided by it (1: none): correction
                  // for a machine that ran slower than in the other runs
};

/* What a fit tells besides the costs. */
struct cost_residual {
    int run, stage;
    double meas_fwd_s, pred_fwd_s, meas_bwd_s, pred_bwd_s;
};
struct cost_fit {
    struct cost cost;
    const struct cost_residual *residuals;
    int n_residuals;
    int rank, n_unknowns; // of the design matrix
    double condition;     // of the column-scaled design matrix
    int degrees_of_freedom;
    const char *note; // what was absorbed or left joint, or NULL
};

/* Weighted non-negative least squares on all runs' per-rank forward and
 * backward timers. ERR_MODEL (with the layout to add) when a kind cannot be
 * told apart, ERR_PARSE when a log lacks timers. Owned by the arena. */
enum err cost_fit(struct arena *a, const struct model *m,
                  const struct cost_run *runs, int n_runs, struct cost_fit *out,
                  struct err_msg *msg);

/* Costs in proportion to FLOPs: seconds = flops / flops_per_s. */
void cost_analytic(const struct model *m, double flops_per_s, struct cost *out);

/* Costs file, moe-layout/costs/1. `m` NULL writes no fingerprint. */
enum err cost_read_file(struct arena *a, const char *path, struct cost *out,
                        struct err_msg *msg);
cJSON *cost_to_json(const struct cost *c);

/* ERR_PARSE naming the first fact in which the costs' model differs. */
enum err cost_check_model(const struct cost *c, const struct model *m,
                          const char *where, struct err_msg *msg);

/* Seconds of one stage and micro-batch: forward and backward. */
void cost_stage(const struct cost *c, const struct model *m,
                const struct layout *l, int stage, double *fwd_s,
                double *bwd_s);

/* Bytes of one forward transfer from rank r to r+1 without standalone MTP:
 * 4 or 2 bytes (`value_bytes`) x tokens of a micro-batch x hidden. */
double cost_transfer_s(const struct cost *c, double bytes);

const char *cost_source_name(enum cost_source s);

#endif
