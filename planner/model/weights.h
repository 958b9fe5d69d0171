/*
 * weights: what a unit weighs, in one table: shape, number and role of each of
 * its weights, for the whole unit or for one rank of those that share it. All
 * that depends on weights is derived from these rows: parameters, active
 * parameters, FLOPs, gradients, optimiser state, FP8 copies, and the bytes of
 * moe-train's tensors. An idea such as "Muon's" is a property of the role, so
 * a new kind of unit needs its rows here and nothing elsewhere.
 *
 * Shapes as in megatron/core/transformer (attention.py,
 * multi_latent_attention.py, mlp.py, moe/router.py, moe/experts.py,
 * moe/moe_layer.py, moe/shared_experts.py, multi_token_prediction.py,
 * experimental_attention_variant/dsa.py), core/ssm/gated_delta_net and
 * models/gpt/gpt_model.py. Tables are built on the stack, some thousand a
 * second in a search.
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "base/err.h"
#include "model.h"

#include <stdbool.h>
#include <stdint.h>

/* What a weight is for. */
enum weight_role {
    WEIGHT_LINEAR, // of a linear layer
    WEIGHT_ROUTER, // a matrix product, but no linear layer
    WEIGHT_GATE,   // of the shared expert: one row, a parameter of its own
    WEIGHT_TABLE,  // rows that are looked up: tokens, learned positions
    WEIGHT_OUTPUT, // output layer, where it is not the token table
    WEIGHT_NORM,
    WEIGHT_CONV,   // of a convolution along the tokens, channel by channel
    WEIGHT_BIAS,   // and the learned offsets of the softmax
    WEIGHT_BUFFER, // the router's correction bias: counted, never trained
    N_WEIGHT_ROLES
};

/* What is done with weights of a role. */
struct weight_use {
    bool product; // a factor of a matrix product for each token: FLOPs
    bool muon;    // the matrices that Muon takes; the rest is Adam's
    bool fp8;     // cast to FP8; the output layer stays in bf16
    bool fused;   // its gradient is accumulated by the GEMM, with a dummy
    bool trained; // has a gradient and optimiser state
};
extern const struct weight_use WEIGHT_USE[N_WEIGHT_ROLES];

struct weight {
    int64_t rows, cols; // cols 1: a vector
    int64_t count;      // how many of it: the experts of a rank, else 1
    enum weight_role role;
    bool expert; // divided over expert ranks
};

/* How many ranks share a unit: tensor, expert, expert-tensor parallelism. */
struct weight_shares {
    int64_t tp, ep, etp;
};
extern const struct weight_shares WEIGHTS_WHOLE; // one rank holds all

/* The ranks of the model. */
struct weight_shares weights_shares(const struct model *m);

/* The most rows a unit can have: an MTP layer with experts that has everything
 * Megatron offers at once. A test builds it and finds no row to spare. An MTP
 * depth of a hybrid model may have as many layers as find room: weights_check()
 * refuses longer ones. */
enum {
    // LayerNorm: weight and bias
    WEIGHTS_NORM = 2,
    // two matrices and their biases
    WEIGHTS_MLP = 4,
    // latent attention: five matrices, two norms, bias, softmax offsets; its
    // indexer: three matrices and a LayerNorm. Gated delta net has fewer
    WEIGHTS_ATTENTION = 5 + 2 * WEIGHTS_NORM + 1 + 1 + 3 + 2,
    // router with bias and buffer, ways to and from the latent with biases, all
    // experts, the shared one (it has no biases) and its gate
    WEIGHTS_EXPERTS = 3 + 4 + WEIGHTS_MLP + 2 + 1,
    // norms before and behind attention and MLP
    WEIGHTS_LAYER = 4 * WEIGHTS_NORM + WEIGHTS_ATTENTION + WEIGHTS_EXPERTS,
    // MTP: three norms and the projection more
    WEIGHTS_MTP = 3 * WEIGHTS_NORM + 1 + WEIGHTS_LAYER,
    WEIGHTS_MAX = 2 * WEIGHTS_MTP
};

struct weights {
    struct weight row[WEIGHTS_MAX];
    int n;
    int n_lost; // rows that found no room
};

/* Adds a row. Without room nothing is written: the row is counted in n_lost,
 * which weights_check() makes an error. */
void weights_add(struct weights *t, struct weight w);

/* Heads of a Mamba layer times their width: what its projections work on. */
int64_t weights_mamba_width(const struct model *m);

/* The weights of one unit of the kind, as one of the ranks that share it holds
 * them. L is the final norm and, unless tied, the output layer; copies of the
 * token table that stages keep are theirs, see weights_token_table(). The
 * buffer is a row only where the model counts it (count_bias). */
void weights_of_unit(const struct model *m, enum unit_kind kind,
                     const struct weight_shares *shares, struct weights *out);

/* The token table: E, tied output layers and copies for m hold one each. */
struct weight weights_token_table(const struct model *m,
                                  const struct weight_shares *shares);

/* Elements of all `count`. */
int64_t weight_params(const struct weight *w);

/* May the model be counted in 64-bit integers? ERR_RANGE when it has 1e17
 * parameters or more, or a unit more weights than a table takes; what was found
 * and wanted is in `msg`. Every model that is read passes here, so that none
 * of the above can fail later. */
enum err weights_check(const struct model *m, struct err_msg *msg);

#endif
