/*
 * unit: the placeable pieces of the model other than decoder layers, forward
 * and backward: E embedding, m MTP layer, L loss with the output layer, and
 * the final norm that follows the last decoder layer.
 *
 * An m is RMSNorm of the hidden state and of the embedding of the token k
 * ahead in the sequence, their concatenation, a 2h x h projection, one decoder
 * layer and a norm of its own (DeepSeek-V3, section 2.2). L makes 1+K output
 * passes.
 */
#ifndef TRAIN_UNIT_H
#define TRAIN_UNIT_H

#include "layer.h"

/* Index of a unit in the whole model, a layer's by its block (see layer.h);
 * times LAYER_IDS_A_UNIT it gives the ids
 * of its tensors, so that first values and the order of sums are the layout's
 * no more. `i` is the block's or MTP layer's number from 0. */
int unit_embedding(const struct dims *d);
int unit_layer(const struct dims *d, int i);
int unit_final_norm(const struct dims *d);
int unit_mtp(const struct dims *d, int i);
int unit_output(const struct dims *d);
int unit_count(const struct dims *d);

/* What the tensor of an id is: its name, and into `unit` that of its unit: E,
 * t1, t2, ..., norm, m1, ..., L. */
enum { UNIT_NAME_BYTES = 16 };
const char *unit_tensor_name(const struct dims *d, int id,
                             char unit[UNIT_NAME_BYTES]);

/* E, and the look-ups of m: table (V,C). Backward: `drows` (n_symbols,C) holds
 * gradients of the rows that are ever looked up, and `symbols` says which of
 * them each token is. */
void embedding_forward(const struct pass *p, real *table, const int *tokens,
                       real *x);
void embedding_backward(const struct pass *p, real *drows, const int *symbols,
                        real *dx);

/* Behind the last decoder layer; x (T,C) -> y (T,C). */
struct norm {
    real *w, *dw;
    real *inv; // of the micro-batch at work
};
void norm_forward(const struct norm *n, const struct pass *p, real *x, real *y);
/* dx = gradient by x. */
void norm_backward(const struct norm *n, const struct pass *p, real *x,
                   real *dy, real *dx);

/* m: the weights of its layer, of three norms and of the projection. */
struct mtp_weights { // or their gradients
    struct layer_weights layer;
    real *norm_e, *norm_h, *proj, *norm_out;
};
struct mtp_acts {
    struct layer_acts layer;
    real *emb, *inv_e, *inv_h, *cat, *x, *y, *inv_out;
};
struct mtp_work { // scratch shared by all m of a rank
    real *d, *dcat, *demb;
};
struct mtp {
    struct layer layer; // bound to the parts `layer` below
    struct mtp_weights w, dw;
    struct mtp_acts acts;
    struct mtp_work *work;
    real *table, *drows; // embedding, and gradients of look-ups by m
};
void mtp_carve_weights(const struct dims *d, struct layer_shape shape, int unit,
                       struct tensors *t, struct mtp_weights *out);
void mtp_carve_acts(const struct dims *d, struct layer_shape shape,
                    struct tensors *t, struct mtp_acts *out);
void mtp_carve_work(const struct dims *d, struct tensors *t,
                    struct mtp_work *out);

/* hidden (T,C) and the tokens k ahead -> out (T,C). Backward: the gradient by
 * hidden is added to dhidden. */
void mtp_forward(struct mtp *m, const struct pass *p, const int *tokens,
                 real *hidden, real *out);
struct mtp_back {
    const int *symbols; // of those tokens
    real *hidden, *dout, *dhidden;
};
void mtp_backward(struct mtp *m, const struct pass *p,
                  const struct mtp_back *b);

/* L: hidden ((1+K)*T,C), head k with the labels k+1 ahead. */
struct loss {
    real *w, *dw;      // (V,C): the output layer or the embedding
    real *dlogits;     // ((1+K)*T,V) of the micro-batch at work
    double n_passes;   // micro-batches of a step, over all replicas
    double mtp_factor; // weight of the mean of the K MTP losses
};

/* Labels of head `k` in a micro-batch: those within the sequence. */
int64_t loss_n_labels(const struct dims *d, int k);

/* Sum of the losses over the labels of head `k`, and the gradients of its
 * logits, kept for loss_backward(). Labels below 0 are masked. */
double loss_forward(const struct loss *l, const struct pass *p,
                    const int *labels, real *hidden, int k);
/* dhidden ((1+K)*T,C) of all heads. */
void loss_backward(const struct loss *l, const struct pass *p, real *hidden,
                   real *dhidden);

#endif
