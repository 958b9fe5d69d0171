/* small_model: a model for the planner's tests: 8 layers with experts, one MTP
 * layer, 4 stages. Header of test data only. */
#ifndef SMALL_MODEL_H
#define SMALL_MODEL_H

#include "model/model.h"

static inline struct model small_model(void)
{
    static const uint8_t moe[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    return (struct model){.n_layers = 8,
                          .n_mtp = 1,
                          .hidden = 64,
                          .ffn = 128,
                          .n_heads = 4,
                          .n_kv_heads = 2,
                          .head_dim = 16,
                          .vocab = 512,
                          .padded_vocab = 512,
                          .n_experts = 4,
                          .moe_ffn = 128,
                          .topk = 2,
                          .gated = true,
                          .tied = true,
                          .layer_moe = moe,
                          .par = {1, 4, 1, 1, 1, 1, 4, 1},
                          .batch = {1, 6, 6, 32}};
}

#endif
