/*
 * depth: a layout that may be of another number of layers than the model, as
 * step times of a few layers tell the costs of many. Layers of a GPT model are
 * the model's own, the last one repeated, and so are the pairs of a hybrid
 * model that is given a GPT layout; a pattern says its layers itself.
 *
 * Sized as layouts are.
 */
#ifndef PATTERN_DEPTH_H
#define PATTERN_DEPTH_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "model/model.h"

/* Gives the model n_layers layers, its own and then the last one (the last two
 * of a hybrid model, whose number is even) again; with windows all are taken to
 * attend to everything. ERR_RANGE for no layer, for more than MODEL_MAX_LAYERS,
 * or where a hybrid model would lose a kind of layer; ERR_NOMEM. */
enum err depth_resize(struct arena *a, int n_layers, struct model *m,
                      struct err_msg *msg);

/* Reads the text as translate_read() does and makes *m the model of as many
 * layers. A pattern may have any symbols of the model, and must have all of
 * them: their costs are what its steps are to tell. */
enum err depth_read(struct arena *a, const char *text, struct model *m,
                    struct layout *out, struct err_msg *msg);

#endif
