/*
 * stage: the units of one rank, with their weights, gradients and optimiser
 * state, and the activations of each micro-batch in flight. Knows what enters
 * and leaves the stage, not who takes it there.
 *
 * Before the last decoder layer one hidden state (T,C) passes from stage to
 * stage; after it (behind the final norm, which sits with that layer) the main
 * one, and from the first m on, also those of the K MTP layers: ((1+K)*T,C).
 */
#ifndef TRAIN_STAGE_H
#define TRAIN_STAGE_H

#include "base/arena.h"
#include "comm.h"
#include "data.h"
#include "layout/layout.h"
#include "model/model.h"
#include "unit.h"

#include <stdbool.h>

/* Who holds the embedding: three uses with a gradient each, added in this
 * order. The loss uses it where it is tied. */
enum embedding_use { USE_LOOKUP, USE_MTP, USE_HEAD, N_USES };

struct stage_options {
    const struct model *model;
    const struct layout *layout;
    int stage;
    int n_slots;       // micro-batches in flight at most
    double mtp_factor; // weight of the mean MTP loss
    uint64_t seed;
};

struct slot; // activations of one micro-batch

struct stage {
    struct dims dims;
    int index;                                 // of the stage
    int n_layers;                              // on this stage
    int n_mtp;                                 // m on this stage: 0 or all
    bool has_embedding, has_loss, ends_layers; // E, L, last t
    bool starts_behind, ends_behind; // in (out) lies behind the final norm
    int n_in, n_out;                 // hidden states that enter and leave
    bool standalone_mtp;             // of the whole layout
    int use_stage[N_USES];           // -1: the model has no such use
    struct tensors weights, grads, adam, acts;
    int n_weights; // items of weights; items of grads up to it correspond
    real *embedding, *dembedding[N_USES]; // dembedding[u]: NULL when not here
    struct layer *layers;
    struct mtp *mtp;
    struct norm norm;
    struct loss loss;
    struct slot *slots;
    int n_slots;
    struct layer_work work;
    struct mtp_work mtp_work;
    real *dx, *dz; // gradients: (T,C) before, ((1+K)*T,C) behind the norm
    int *window;   // (B,S) tokens
    struct data data;
    struct ops ops;
    real *chunk;      // COMM_CHUNK elements for comm
    double *loss_sum; // [1+K] sums over tokens
};

/* Takes all memory and fills the weights. ERR_RANGE for what the trainer
 * cannot do, ERR_NOMEM. Memory of tensors is freed by stage_free(). */
enum err stage_new(struct arena *a, const struct stage_options *opt,
                   struct stage **out, struct err_msg *msg);
void stage_free(struct stage *s);

/* Zeroes the sums of losses; gradients are zeroed by who uses them. */
void stage_reset_losses(struct stage *s);

/* Forward and backward of micro-batch `mb`, whose tokens are the sequences
 * from `sample` on. Input and output lie in the places below. */
void stage_forward(struct stage *s, int mb, int64_t sample);
void stage_backward(struct stage *s, int mb);

/* Places: hidden states that enter and leave with a micro-batch, gradients by
 * what left and by what entered; sizes in bytes. */
real *stage_in(struct stage *s, int mb);
real *stage_out(struct stage *s, int mb);
real *stage_dout(struct stage *s);
real *stage_din(struct stage *s);
int64_t stage_in_bytes(const struct stage *s);
int64_t stage_out_bytes(const struct stage *s);

/* Bytes of all four kinds. */
int64_t stage_allocated_bytes(const struct stage *s);

#endif
