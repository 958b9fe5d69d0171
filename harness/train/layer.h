/*
 * layer: one decoder layer (pre-norm RMSNorm, causal attention with grouped
 * K/V heads, then routed experts with an optional shared one, or a dense
 * SwiGLU), its weights, and what a micro-batch leaves behind for its backward
 * pass. A layer has both halves, or is one of them: attention or MLP with the
 * norm before it, as one symbol of a hybrid pattern. Also the sizes of the
 * model as the trainer's kernels take them.
 */
#ifndef TRAIN_LAYER_H
#define TRAIN_LAYER_H

#include "attention.h"
#include "base/err.h"
#include "experts.h"
#include "model/model.h"
#include "ops.h"
#include "tensors.h"

#include <stdbool.h>

/* Sizes on one rank, for one micro-batch. */
struct dims {
    int n_seq, seq, n_tokens;    // B, S, T = B*S
    int hidden, n_layers, n_mtp; // a half is a layer of its own
    int n_blocks; // layers that tensors are named by, see layer_block()
    int n_halves; // that write to the residual stream
    int n_heads, n_groups, head_dim;
    int ffn, shared_ffn;          // dense layer; shared expert, 0: none
    int n_experts, topk, moe_ffn; // n_experts 0: every layer is dense
    int vocab;                    // rows of the embedding (padded)
    int n_symbols;                // rows of it that are ever looked up
    bool tied;
};

/* ERR_RANGE names the flag whose value the trainer cannot do. */
enum err dims_from_model(const struct model *m, struct dims *out,
                         struct err_msg *msg);

/* What of a decoder layer is here: both halves, or one. */
struct layer_shape {
    bool attention, mlp;
    bool moe; // the mlp half has experts
};

/* Of decoder layer `i`, and of an MTP layer: one symbol of a pattern, and the
 * one or two of an MTP part, see args.c for what those may be. */
struct layer_shape layer_shape_of(const struct model *m, int i);
struct layer_shape layer_shape_of_mtp(const struct model *m);

/* Number from 0 of the layer that names decoder layer `i`'s tensors: its own,
 * but an attention half and the MLP half right behind it are one, so that a
 * weight has the same first values whether or not the pattern is split. */
int layer_block(const struct model *m, int i);

/* Places of a layer's tensors within the ids of its unit; an MTP unit has
 * its own behind them. */
enum { LAYER_IDS_A_UNIT = 16, LAYER_IDS = 9 };

struct layer_weights { // or their gradients
    real *norm1, *qkv, *out, *norm2;
    struct experts_weights experts;
    real *gu, *down; // dense MLP or shared expert
};

/* What one micro-batch leaves for its backward pass: outputs of the norms with
 * 1/rms, of the products, the attention's probabilities; `mid` between the two
 * halves where both are here, else it is the layer's input or output. */
struct layer_acts {
    real *norm1, *inv1, *qkv, *probs, *attn, *mid, *norm2, *inv2, *gu, *act;
    struct experts_acts experts;
};

/* Scratch shared by all layers of a rank, rotary tables included. */
struct layer_work {
    real *cosine, *sine;
    real *dattn, *dqkv, *scores, *dnorm, *dact;
    struct experts_work experts;
};

struct layer {
    struct layer_shape shape;
    int unit; // index in the whole model (see unit.h)
    struct layer_weights w, dw;
    struct layer_acts acts; // of the micro-batch at work
    double *balance;        // sum of its auxiliary losses
};

/* What every pass takes: sizes, the work counter, scratch. */
struct pass {
    const struct dims *dims;
    struct ops *ops;
    struct layer_work *work;
    bool keep_choice;      // routing stays as it was (checks of gradients)
    double balance_weight; // of each auxiliary loss, 0: none
};

/* Name of the tensor at a place, 0 to LAYER_IDS - 1. */
const char *layer_tensor_name(int place);

/* Spec of a weight: its id decides its first values (see tensors.h). */
struct tensor weight_spec(const char *name, int64_t count, int id, double std);

/* Carves with the same calls for weights and for gradients; what belongs to a
 * half that is not here has no place. */
void layer_carve_weights(const struct dims *d, struct layer_shape shape,
                         int unit, struct tensors *t,
                         struct layer_weights *out);
void layer_carve_acts(const struct dims *d, struct layer_shape shape,
                      struct tensors *t, struct layer_acts *out);
void layer_carve_work(const struct dims *d, struct tensors *t,
                      struct layer_work *out);
void layer_init_work(const struct dims *d, struct layer_work *w);

/* x (T,C) -> y (T,C), which must not overlap. Backward turns the gradient by
 * y into that by x, in place, and adds to the weights' gradients. */
void layer_forward(struct layer *l, const struct pass *p, real *x, real *y);
void layer_backward(struct layer *l, const struct pass *p, real *x, real *d);

#endif
