/*
 * ranks: how many processes a launch starts, from its launcher's own words:
 * torchrun, python -m torch.distributed.run, srun, mpirun, deepspeed,
 * accelerate, and what a Slurm job was given. Where the number comes from the
 * environment it is not known, and what would tell it is named.
 */
#ifndef MEGATRON_RANKS_H
#define MEGATRON_RANKS_H

#include "base/arena.h"
#include "shell/bash.h"

#include <stdbool.h>
#include <stdint.h>

/* A number of processes, or why there is none. */
struct ranks {
    int64_t n;         // 0: not known
    const char *why;   // where n is 0: "$SLURM_NNODES is never set"
    const char *where; // "run.sh:7"
};

/* A call's own program behind all that only starts it (nohup, srun, env): its
 * place among the words, call->n where there is none. */
size_t ranks_program(const struct bash_call *call);

/* First word behind launcher and program: the first one that is the training
 * program's own; call->n where there is none. */
size_t ranks_first_argument(const struct bash_call *call);

/* Processes that the call starts; texts are owned by the arena or by the
 * reading. ERR_NOMEM leaves why NULL. */
struct ranks ranks_of_call(struct arena *a, const struct bash_result *r,
                           const struct bash_call *call);

#endif
