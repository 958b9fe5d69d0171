/*
 * as_hybrid: a GPT model written as a hybrid one, so that a stage may also end
 * between the attention of a layer and its MLP or experts. The symbols weigh,
 * together, what the layers weigh; nothing is computed otherwise.
 */
#ifndef MODEL_AS_HYBRID_H
#define MODEL_AS_HYBRID_H

#include "base/arena.h"
#include "base/err.h"
#include "model.h"

/* The same model with two symbols for each decoder layer, attention and MLP or
 * experts, in *out, whose new arrays are the arena's. ERR_RANGE where a layer
 * has no symbol (shared top-k) or the layers become too many, ERR_NOMEM. A
 * hybrid model is copied. */
enum err model_as_hybrid(struct arena *a, const struct model *m,
                         struct model *out, struct err_msg *msg);

#endif
