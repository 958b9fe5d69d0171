/*
 * shard: all that one rank holds: its stages (one, or several chunks when
 * interleaved: stage v*pp + rank is chunk v), copies of the embedding that
 * they share, weights, gradients, optimiser state and activations in one
 * allocation each, and the sums of losses.
 */
#ifndef TRAIN_SHARD_H
#define TRAIN_SHARD_H

#include "base/arena.h"
#include "schedule/order.h"
#include "stage.h"

#include <stdbool.h>

struct shard_options {
    const struct model *model;
    const struct layout *layout;
    const struct order *order; // says how many micro-batches are in flight
    int rank;                  // in the pipeline
    double mtp_factor;         // weight of the mean MTP loss
    double balance_factor;     // weight of the auxiliary losses, 0: none
    uint64_t seed;
};

struct shard {
    struct shared shared;
    int rank, n_chunks;
    struct stage *chunks;
    bool standalone_mtp;  // of the whole layout
    int use_rank[N_USES]; // who holds the copy; -1: the model has no such use
    struct tensors weights, grads, adam, acts;
    int n_weights; // items of weights; items of grads up to it correspond
    real *scratch; // COMM_CHUNK elements for comm
};

/* Takes all memory and fills the weights. ERR_RANGE for what the trainer
 * cannot do, ERR_NOMEM. Memory of tensors is freed by shard_free(). */
enum err shard_new(struct arena *a, const struct shard_options *opt,
                   struct shard **out, struct err_msg *msg);
void shard_free(struct shard *s);

/* Zeroes the sums of all losses; gradients are zeroed by who uses them. */
void shard_reset_losses(struct shard *s);

/* Bytes of all four kinds. */
int64_t shard_allocated_bytes(const struct shard *s);

#endif
