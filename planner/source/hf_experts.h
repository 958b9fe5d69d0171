/*
 * hf_experts: the MLPs of a Hugging Face config as Megatron's flags: which
 * layers have experts, routed and shared experts, the router, MTP layers.
 */
#ifndef MEGATRON_HF_EXPERTS_H
#define MEGATRON_HF_EXPERTS_H

#include "hf_config.h"

/* Reads it all; errors are kept in the reader's document. */
void hf_experts_read(const struct hf *h);

#endif
