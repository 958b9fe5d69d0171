/*
 * hf_hybrid: the layers of a hybrid model's config (nemotron_h,
 * granitemoehybrid) as a pattern of symbols, and what its Mamba layers have.
 * Keys are those of transformers' NemotronHConfig and of the older code that
 * checkpoints bring along: layers_block_type, a list of words, or
 * hybrid_override_pattern, a text; of GraniteMoeHybridConfig layer_types, whose
 * layers each have an MLP, too.
 */
#ifndef MEGATRON_HF_HYBRID_H
#define MEGATRON_HF_HYBRID_H

#include "hf_config.h"

/* Reads the pattern of the decoder into h->symbols and h->n_layers and gives it
 * to --hybrid-layer-pattern, MTP depths included. */
void hf_hybrid_read_pattern(struct hf *h);

/* Widths of Mamba layers, the activation, positions; h->symbols are known. */
void hf_hybrid_read_parts(const struct hf *h);

#endif
