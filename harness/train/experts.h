/*
 * experts: top-k routed SwiGLU experts without token dropping. Each token goes
 * to the k experts of its highest router scores (ties: the lower index) with
 * weights softmax(those k scores); an auxiliary loss keeps them alike in load.
 * Rows are grouped by expert, tokens in
 * order within one, so that every sum has one order.
 * Shapes: x (T,C), router (N,C), gu (N*2F,C), down (N*C,F).
 */
#ifndef TRAIN_EXPERTS_H
#define TRAIN_EXPERTS_H

#include "ops.h"
#include "tensors.h"

#include <stdbool.h>

struct experts {
    int n_tokens, hidden;     // T, C
    int n_experts, topk, ffn; // N, k, F
};

struct experts_weights { // or their gradients
    real *router, *gu, *down;
};

/* What the backward pass needs of the forward one. */
struct experts_acts {
    real *scores; // (T,N)
    int *chosen;  // (T,k) experts
    real *weight; // (T,k)
    int *row;     // (T,k) row of the grouped matrices
    int *first;   // (N+1) first row of each expert
    real *x;      // (T*k,C) grouped inputs
    real *gu;     // (T*k,2F)
    real *act;    // (T*k,F)
    real *y;      // (T*k,C) expert outputs, then their gradients
};

/* Scratch of a backward pass. */
struct experts_work {
    real *dact;    // (T*k,F)
    real *dx;      // (T*k,C)
    real *dscores; // (T,N)
};

void experts_carve_acts(const struct experts *e, struct tensors *t,
                        struct experts_acts *out);
void experts_carve_work(const struct experts *e, struct tensors *t,
                        struct experts_work *out);

struct experts_pass {
    struct ops *ops;
    const struct experts_weights *w, *dw; // dw: backward only
    struct experts_acts *acts;
    struct experts_work *work; // backward only
    bool keep_choice; // the experts chosen before stay (checks of gradients)
    // the auxiliary loss (Switch Transformer, equation 4): its weight in the
    // loss, 0: none, and where a backward pass adds its value, unweighted
    double balance_weight;
    double *balance;
};

/* y += experts(x). */
void experts_forward(const struct experts *e, const struct experts_pass *p,
                     struct mat x, struct mat y);

/* dx += gradient by x; weights' gradients are added to. */
void experts_backward(const struct experts *e, const struct experts_pass *p,
                      struct mat x, struct mat dy, struct mat dx);

#endif
