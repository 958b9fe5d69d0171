/*
 * provenance: what a run's figures depend on beyond its words and this
 * machine: the GPUs with driver, clocks and power cap, Megatron's commit and
 * version, the container's digest, the job, when and at what price. The host
 * is named by its hash only. What cannot be found is left out.
 */
#ifndef STORE_PROVENANCE_H
#define STORE_PROVENANCE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "launch/launch.h"
#include "manifest/manifest.h"
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
