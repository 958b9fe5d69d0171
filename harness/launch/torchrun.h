/*
 * torchrun: Megatron-LM's usual launcher on the GPUs of this node, or
 * one node of several that meet at launcher.rendezvous. A child of the
 * harness; also the inner part of the command of slurm and hf-jobs.
 */
#ifndef LAUNCH_TORCHRUN_H
#define LAUNCH_TORCHRUN_H

#include "launcher.h"

extern const struct launcher launch_torchrun;

/* The words of torchrun, for one node: `rendezvous` is host:port where the
 * nodes meet, NULL with one node. */
void launch_torchrun_words(struct build *b, const struct launch_request *req,
                           const struct launch *l, const char *rendezvous);

#endif
