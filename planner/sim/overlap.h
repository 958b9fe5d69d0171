/*
 * overlap: what a combined operation takes under EP overlap
 * (--overlap-moe-expert-parallel-comm): layers of a forward and a backward go
 * in pairs, and a pair with an MoE layer saves what of its all-to-alls hides
 * under the other's computation (combined_1f1b.py, model_chunk_schedule_plan:
 * the forward's layer k goes with the backward's layer L-1-k, what is left
 * over goes alone).
 */
#ifndef SIM_OVERLAP_H
#define SIM_OVERLAP_H

#include "base/arena.h"
#include "cost/cost.h"
#include "layout/layout.h"
#include "model/model.h"
#include "schedule/schedule.h"
#include "sim.h"

/* Seconds that a pair saves, by which of its layers are MoE: all four
 * all-to-alls are hidden, or one direction's, or none. To be measured: kernels
 * that run together slow each other down. */
struct overlap_save {
    double both_s, forward_s, backward_s;
};

/* What the pairs of two chunks save. A letter a layer in forward order, 'd'
 * dense, any other one MoE; MTP layers stand last. Empty chunks are fine. */
double overlap_saving(const char *fwd_layers, const char *bwd_layers,
                      const struct overlap_save *save);

/* Times of all stages (s = v*PP + r) alone, with their parts where `parts`
 * has them (its mid_s is not read), and their layers' letters. */
struct overlap_stages {
    const double *fwd_s, *bwd_s;
    const struct sim_combined *parts; // or NULL
    const char *const *layers;
    struct overlap_save save;
};

/* Fills mid_s[graph_pair()] with the time of the layers of every pair of
 * chunks of a rank: what is between the parts, less the savings, not below
 * 0; and saved_s with those savings, unless it is NULL. Both have pp*vpp*vpp
 * places. */
void overlap_mid(const struct schedule *s, const struct overlap_stages *in,
                 double *mid_s, double *saved_s);

/* Combined operations of one layout of `m` after another: memory for `s`,
 * which must outlive it, owned by the arena. NULL when out of memory. */
struct overlap_times;
struct overlap_times *overlap_times_new(struct arena *a,
                                        const struct schedule *s,
                                        const struct model *m);

/* Of a layout: embedding and loss head are the parts before and after the
 * layers; fwd_s and bwd_s are its stages' times, [pp*vpp]. */
struct overlap_layout {
    const struct cost *cost;
    const struct model *model;
    const struct layout *layout;
    const double *fwd_s, *bwd_s;
    struct overlap_save save;
};

/* Whether combined operations have parts before and after their layers: those
 * of Megatron do, those of moe-train do not. */
bool overlap_has_parts(const struct cost *c);

/* The result is valid until the next call. */
const struct sim_combined *overlap_times_set(struct overlap_times *t,
                                             const struct overlap_layout *of);

#endif
