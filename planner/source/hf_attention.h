/*
 * hf_attention: the attention of a Hugging Face config as Megatron's flags:
 * heads or latents, norms and biases, gates, gated delta net, indexers, and
 * which layers attend to a window.
 */
#ifndef MEGATRON_HF_ATTENTION_H
#define MEGATRON_HF_ATTENTION_H

#include "hf_config.h"

/* Reads it all; errors are kept in the reader's document. */
void hf_attention_read(const struct hf *h);

#endif
