/*
 * provenance: what a run's figures depend on beyond its words and this
 * machine: the GPUs with driver, clocks and power cap, Megatron's commit and
 * version, the container's digest, the job, when and at what price. The host
 * is named by its hash only. What cannot be found is left out.
 */
#ifndef PROVENANCE_H
#define PROVENANCE_H

#include "arena.h"
#include "err.h"
#include "json.h"
#include "launch.h"
#include "manifest.h"
#include "results.h"

struct provenance {
    const struct manifest *manifest;
    const struct launch *launch;
    const struct run_record *run; // ended, with its log in its folder
};

/* As JSON, format moe-bench/provenance/1; NULL when out of memory. A run that
 * was a child asks nvidia-smi or rocm-smi here; one that was a job has told in
 * its log. */
cJSON *provenance_json(struct arena *a, const struct provenance *p);

#endif
