/*
 * optim: what happens after the backward passes: gradients of replicas and of
 * the shared embedding are summed, clipped by their global norm, and weights
 * are updated by AdamW. Every sum has one order, whatever the layout.
 */
#ifndef TRAIN_OPTIM_H
#define TRAIN_OPTIM_H

#include "base/arena.h"
#include "base/err.h"
#include "comm.h"
#include "shard.h"

#include <stdbool.h>

struct optim {
    struct adamw adamw; // lr, betas, eps, decay; step counts updates
    double clip;        // largest global norm, 0: none
    double *squares;    // by tensor id
    int n_squares;
};

struct optim_result {
    double grad_norm;
    bool skipped; // the norm is not finite: weights stay
    double embedding_sync_s, grads_sync_s, optimizer_s;
};

/* ERR_NOMEM. Owned by the arena. */
enum err optim_new(struct arena *a, const struct shard *s,
                   const struct adamw *settings, double clip,
                   struct optim *out);

/* One update of the rank's weights; zeroes the gradients. Collective. */
void optim_step(struct optim *o, const struct comm *c, struct shard *s,
                struct optim_result *out);

#endif
