/*
 * stage: the units of one stage of the layout, and the activations of each of
 * its micro-batches in flight. Knows what enters and leaves the stage, not who
 * takes it there. A rank has one stage or, interleaved, several (see shard).
 *
 * Before the last decoder layer one hidden state (T,C) passes from stage to
 * stage; after it (behind the final norm, which sits with that layer) the main
 * one, and from the first m on, also those of the K MTP layers: ((1+K)*T,C).
 * Without MTP the norm is with the loss, as in Megatron (transformer_block.py),
 * and nothing but the loss lies behind it.
 */
#ifndef TRAIN_STAGE_H
#define TRAIN_STAGE_H

#include "base/arena.h"
#include "data.h"
#include "layout/layout.h"
#include "model/model.h"
#include "unit.h"

#include <stdbool.h>

/* Who uses the embedding: E, the m, and the loss where it is tied. Gradients of
 * the three are added in this order, for the same bits in every layout. A rank
 * has one table of gradients, which is that of the loss; look-ups have a few
 * rows of their own, those of the tokens that occur. */
enum embedding_use {
    USE_LOOKUP,
    USE_MTP,
    N_LOOKUPS,
    USE_HEAD = N_LOOKUPS,
    N_USES
};

/* What the stages of one rank share. */
struct shared {
    struct dims dims;
    struct ops ops;
    struct data data;
    real *embedding, *dembedding; // NULL without a copy here
    real *drows[N_LOOKUPS];       // (n_symbols,C), where there is a copy
    struct layer_work work;
    struct mtp_work mtp_work;
    // gradients by what left and by what entered a stage that is the rank's
    // only one: (T,C) before, ((1+K)*T,C) behind the norm; else NULL
    real *dx, *dz;
    int *window;      // (B,S) tokens
    double *loss_sum; // [1+K] sums over labels
    // auxiliary losses: what each micro-batch's counts in the loss, 0: none,
    // and sums over micro-batches by layer, the m last
    double balance_weight, *balance;
};

struct slot; // activations of one micro-batch

struct stage {
    struct shared *shared;
    int index;                              // of the stage in the layout
    int n_layers;                           // or halves, on this stage
    int n_mtp;                              // m on this stage: 0 or all
    bool has_embedding, has_loss, has_norm; // E, L, the final norm
    bool starts_behind, ends_behind; // in (out) lies behind the final norm
    int n_in, n_out;                 // hidden states that enter and leave
    struct layer *layers;
    struct mtp *mtp;
    struct norm norm;
    struct loss loss;
    struct slot *slots;
    int n_slots;
    bool keeps_gradients; // in slots: messages overlap the work of others
};

struct stage_options {
    const struct model *model;
    const struct layout *layout;
    int stage;
    int n_slots;       // micro-batches in flight at most
    double mtp_factor; // weight of the mean MTP loss
};

/* ---- making one: what shard calls, in this order ---- */

/* Decides from the layout what is here, `shared->dims` being known, and takes
 * the tables of units and slots. ERR_NOMEM. Owned by the arena. */
enum err stage_init(struct arena *a, const struct stage_options *opt,
                    struct shared *shared, struct stage *s);

/* The same calls carve weights and, with `grads`, their gradients. Embedding
 * copies belong to the rank and are not among them. */
void stage_carve_weights(struct stage *s, struct tensors *t, bool grads);
/* All slots. */
void stage_carve_acts(struct stage *s, struct tensors *t);
/* Joins the units to their places once all memory is there. */
void stage_bind(struct stage *s);

/* ---- work ---- */

/* Forward and backward of micro-batch `mb`, whose tokens are the sequences
 * from `sample` on. Input and output lie in the places below. */
void stage_forward(struct stage *s, int mb, int64_t sample);
void stage_backward(struct stage *s, int mb);

/* Places: hidden states that enter and leave with a micro-batch, gradients by
 * what left and by what entered; sizes in bytes. */
real *stage_in(struct stage *s, int mb);
real *stage_out(struct stage *s, int mb);
real *stage_dout(struct stage *s, int mb);
real *stage_din(struct stage *s, int mb);
int64_t stage_in_bytes(const struct stage *s);
int64_t stage_out_bytes(const struct stage *s);

#endif
