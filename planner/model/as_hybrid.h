/*
 * as_hybrid: a GPT model written as a hybrid one, so that a stage may also end
 * between the attention of a layer and its MLP or experts. The symbols weigh,
 * together, what the layers weigh; nothing is computed otherwise. Megatron's
 * own stack of hybrid layers has no norms on the latents of + and D
 * (models/hybrid/hybrid_layer_specs.py, August 2026); here they stay, a few
 * thousand parameters a layer.
 */
#ifndef MODEL_AS_HYBRID_H
#define MODEL_AS_HYBRID_H

#include "base/arena.h"
#include "base/err.h"
#include "model.h"

/* What the halves of a decoder layer of a GPT model are called as symbols:
 * out[0] its attention, out[1] its MLP or experts. A layer that shares the
 * top-k of another has no symbol in a pattern: its attention is called latent,
 * which it is but for the keys that it meets. */
void model_layer_halves(const struct model *m, enum unit_kind layer,
                        enum unit_kind out[2]);

/* The same model with two symbols for each decoder layer, attention and MLP or
 * experts (twice as many in the ranks at the ends, where flags fix them), in
 * *out, whose new arrays are the arena's. ERR_RANGE where a layer
 * has no symbol (shared top-k) or the layers become too many, ERR_NOMEM. A
 * hybrid model is copied. */
enum err model_as_hybrid(struct arena *a, const struct model *m,
                         struct model *out, struct err_msg *msg);

#endif
