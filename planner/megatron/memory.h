/*
 * memory: Megatron's flags that decide memory, to struct
 * memory_options. What the memory model does not cover is a refusal with its
 * reason, not an error: layouts can be planned without it. Refused by name are
 * flags that would move memory or add to it in ways that no term follows
 * (PyTorch's FSDP2, hybrid sharding, paged stash, adapters, elastic widths,
 * graphs of whole layers, Transformer Engine's own offloading); a handful of
 * look-ups in the slots of flags.h, no more.
 */
#ifndef MEGATRON_MEMORY_H
#define MEGATRON_MEMORY_H

#include "flags.h"
#include "model/memory_options.h"

/* Changes what bf16 had decided: Megatron trains in fp32 where neither --bf16
 * nor --fp16 is given, and so must whoever knows that all flags were seen. */
void megatron_memory_fp32(struct memory_options *o);

/* Why the flags do not mean full training: adapters on a frozen base (LoRA), by
 * the flags of ms-swift, NeMo and Megatron-Bridge; NULL where they do. A static
 * text. */
const char *megatron_memory_adapter(const struct megatron_flags *f);

/* Fills *out from the slots, with Megatron's defaults where nothing was given.
 * Bytes are those of one parameter or value. Never fails; unknown words of
 * --recompute-modules become a refusal. */
void megatron_memory(const struct megatron_flags *f,
                     struct memory_options *out);

#endif
