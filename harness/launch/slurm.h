/*
 * slurm: Slurm. Outside an allocation every run is a batch job of its
 * own (sbatch, polled with scontrol, ended with scancel), or one job holds the
 * whole experiment (launcher.per); inside one, srun is a child of the harness.
 * Megatron gets one torchrun a node, moe-train one task a rank over PMIx.
 */
#ifndef LAUNCH_SLURM_H
#define LAUNCH_SLURM_H

#include "launcher.h"

extern const struct launcher launch_slurm;

/* What `scontrol show job --oneliner` says of a job. */
struct job_view launch_slurm_view(struct arena *a, const char *text);

#endif
