/*
 * cost: what one unit of each kind costs, seconds forward and backward per
 * micro-batch; the costs file that carries it; costs in proportion to FLOPs.
 * fit makes measured ones.
 */
#ifndef COST_H
#define COST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "layout/layout.h"
#include "model/model.h"

#include <stdbool.h>

struct unit_cost {
    bool known;
    double fwd_s, fwd_se, bwd_s, bwd_se; // seconds a micro-batch, std. errors
};

/* The reduction of gradients over replicas: seconds a byte that leaves a node
 * of so many cards (outside.h). 0: not known, or part of the overhead. */
struct cost_dp {
    double s_per_byte, se;
    int gpus_per_node;
};

enum cost_source {
    COST_MEASURED,
    COST_EMULATED,
    COST_PUBLISHED,
    COST_ANALYTIC
};

/* One transfer takes latency + bytes / bandwidth; bytes_per_s 0: free. */
struct cost_link {
    double latency_s, bytes_per_s;
};

/* Seconds that two layers of a combined operation (EP overlap) save, by which
 * of them are MoE: both, only the forward's, only the backward's. */
struct cost_ep_save {
    bool known;
    double both_s, forward_s, backward_s, se_s; // se_s: of both_s
};

struct cost {
    enum cost_source source;
    struct unit_cost unit[N_KINDS];
    bool joint_ml;     // only m+L together is known: stored in L, m is 0
    double chunk_s;    // added by timers to each chunk and pass; not in a step
    double overhead_s; // of a step, outside the pipeline
    double overhead_s_per_byte; // x parameter bytes of the heaviest rank
    struct cost_dp dp;          // of a step, outside the pipeline
    double step_noise_rel; // relative std. error of a run's step time, 0: none
    double latency_s, bytes_per_s; // of one transfer inside a node, as below
    struct cost_link between;      // of one between nodes, where `parted`
    bool parted;                   // the two kinds are known apart
    double exchange_sync_s;        // standalone MTP: each exchange
    struct cost_ep_save ep_save;
    double jitter_cv;
    struct memory_rules rules;      // of the trainer that was profiled
    const struct model_fact *facts; // fingerprint, or NULL: fits any model
    int n_facts;
    const char *const *fitted_layout; // n_fitted layouts and log hashes
    const char *const *fitted_sha256;
    int n_fitted;
};

/* Costs in proportion to FLOPs: seconds = flops / flops_per_s, backward twice
 * forward, and three times where full uniform recompute runs the forward once
 * more. */
void cost_analytic(const struct model *m, double flops_per_s, struct cost *out);

/* Costs file, moe-layout/costs/1. `m` NULL writes no fingerprint. */
enum err cost_read_file(struct arena *a, const char *path, struct cost *out,
                        struct err_msg *msg);
/* Caller frees; NULL when memory ran out. */
cJSON *cost_to_json(const struct cost *c);

/* A fact of the fingerprint, `other` where it has none of that key. */
int64_t cost_fact(const struct cost *c, const char *key, int64_t other);

/* ERR_PARSE naming the first fact in which the costs' model differs, or a unit
 * without a cost. Only facts that the file states are compared, so that files
 * of versions that knew fewer are still taken. */
enum err cost_check_model(const struct cost *c, const struct model *m,
                          const char *where, struct err_msg *msg);

/* Seconds that one stage takes for one micro-batch: the sum of its units. */
struct cost_times {
    double fwd_s, bwd_s;
};
struct cost_times cost_stage(const struct cost *c, const struct model *m,
                             const struct layout *l, int stage);

/* Seconds of one message of `bytes` between neighbour stages, on different
 * nodes or on one: latency + bytes / bandwidth, and the latency alone where
 * bytes_per_s is 0. Costs that do not part the two kinds have one link for
 * both. What a message holds, and which stages lie on different nodes, says
 * sim/transfer.h. */
double cost_transfer_s(const struct cost *c, double bytes, bool between_nodes);

const char *cost_source_name(enum cost_source s);

#endif
