/*
 * workload: what an experiment trains, twice: as a struct model for the
 * planner and as Megatron's flags for the trainer's command line, both from
 * the manifest's `model`, `parallel` and `batch`, so that they cannot differ.
 */
#ifndef MANIFEST_WORKLOAD_H
#define MANIFEST_WORKLOAD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "manifest.h"
#include "model/model.h"

struct workload {
    struct model model;
    struct words flags;     // model, parallelism and batch; no layout, and
                            // no EP overlap, for measured runs only
    const char *model_path; // file that was read, or NULL: inline
    char sha256[TEXT_SHA256_HEX]; // of the model file or inline model
};

/* A model path is taken relative to the manifest's folder, then to the
 * working directory. Owned by the arena. */
enum err workload_read(struct arena *a, const struct manifest *mf,
                       struct workload *out, struct err_msg *msg);

/* The same, split as one way of the manifest's `plan` says. */
enum err workload_read_way(struct arena *a, const struct manifest *mf,
                           const struct planning_way *way, struct workload *out,
                           struct err_msg *msg);

#endif
