/*
 * default_split: the layout that Megatron-LM makes of its flags when none is
 * given, or its reason to refuse. Rules of core 0.20
 * (transformer_config.py, transformer_block.py get_num_layers_to_build(),
 * training/arguments.py); older versions lose layers or leave stages empty
 * where this one refuses.
 *
 * - Without flags the layers are dealt out evenly over PP x VPP stages.
 * - --account-for-embedding/loss-in-pipeline-split: one layer more each in what
 *   must divide, and one less in the first or the last stage.
 * - --decoder-first/last-pipeline-num-layers: these ranks have as many, the
 *   ranks between share the others evenly; no rank left needs no layer left,
 *   and a rank left needs one. With virtual stages every rank's number must
 *   divide by them, and the chunks of a rank are alike.
 * - A pattern of a hybrid model without bars has the first and the third of
 *   these rules, and no virtual stages (hybrid_layer_allocation.py): what they
 *   refuse bars can say.
 * - E stands in the first stage, all m and L in the last, and count for
 * nothing.
 */
#ifndef LAYOUT_DEFAULT_SPLIT_H
#define LAYOUT_DEFAULT_SPLIT_H

#include "base/arena.h"
#include "base/err.h"
#include "layout.h"
#include "model/model.h"

/* Decoder layers of each stage v * pp + r: pp times m->par.vpp numbers. Reads
 * m->n_layers, m->split and m->par.vpp. ERR_MODEL with what Megatron refuses
 * and the numbers next to it that it would take; n_layers is then undefined. */
enum err default_split_layers(const struct model *m, int pp, int *n_layers,
                              struct err_msg *msg);

/* The same as a layout, owned by the arena. */
enum err default_split_layout(struct arena *a, const struct model *m, int pp,
                              struct layout *out, struct err_msg *msg);

/* ERR_MODEL when the flags of m->split do not go with
 * --pipeline-model-parallel-layout: Megatron takes none of them beside it. */
enum err default_split_excludes(const struct model *m, struct err_msg *msg);

#endif
