/*
 * symbols: a layout of a hybrid model as Megatron takes it, inside
 * --hybrid-layer-pattern: a letter for each layer, '|' between stages, "/" and
 * the letters of a depth for each MTP depth. Embedding and loss are not
 * written: they belong to the first stage and the last, with all MTP depths
 * (models/hybrid/hybrid_layer_allocation.py, hybrid_model.py).
 *
 * Only layouts of a model whose symbols are known are read here; whether
 * Megatron takes a pattern at all is judged elsewhere. Sized as layouts are.
 */
#ifndef LAYOUT_SYMBOLS_H
#define LAYOUT_SYMBOLS_H

#include "layout.h"

/* Reads `text` as a layout of the hybrid model `m` on its m->par.pp ranks.
 * ERR_RANGE where its symbols are not the model's, or its stages no multiple
 * of the ranks, with the place of the first difference; ERR_NOMEM. */
enum err symbols_read(struct arena *a, const char *text, const struct model *m,
                      struct layout *out, struct err_msg *msg);

/* The pattern of a layout, without quotes; NULL when out of memory. The layout
 * has the model's layers, E in its first stage, m and L in its last. */
const char *symbols_string(struct arena *a, const struct layout *l,
                           const struct model *m);

/* One stage of it: its letters, with the MTP depths behind the last one. Empty
 * for a stage of the embedding or the loss alone. NULL when out of memory. */
const char *symbols_stage(struct arena *a, const struct layout *l,
                          const struct model *m, int stage);

/* Does the cut before decoder layer `layer` part an MLP or experts from the
 * layer that stands before them: one half of what a GPT model calls a layer
 * from the other? No cut at the ends does, and none of a GPT model. */
bool symbols_parts_layer(const struct model *m, int layer);

/* Does no stage of the layout begin with such a cut? */
bool symbols_keeps_layers(const struct model *m, const struct layout *l);

#endif
