/*
 * memory: Megatron's flags that decide memory, to struct
 * memory_options. What the memory model does not cover is a refusal with its
 * reason, not an error: layouts can be planned without it.
 */
#ifndef MEGATRON_MEMORY_H
#define MEGATRON_MEMORY_H

#include "flags.h"
#include "model/memory_options.h"

/* Changes what bf16 had decided: Megatron trains in fp32 where neither --bf16
 * nor --fp16 is given, and so must whoever knows that all flags were seen. */
void megatron_memory_fp32(struct memory_options *o);

/* Never fails; unknown words of --recompute-modules become a refusal. */
void megatron_memory(const struct megatron_flags *f,
                     struct memory_options *out);

#endif
