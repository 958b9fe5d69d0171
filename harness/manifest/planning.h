/*
 * planning: the section `plan` of a manifest that measures nothing: ways to
 * split one model's work, for each of which the planner's layout is held
 * against public recipes. No trainer runs; costs come from FLOPs.
 *
 * Plain data, owned by the document's arena. Sized for a few ways, recipes and
 * cost ratios.
 */
#ifndef MANIFEST_PLANNING_H
#define MANIFEST_PLANNING_H

#include "base/reader.h"

#include <stdbool.h>

enum { PLANNING_MAX_FLAGS = 64 }; // words

/* How the work is split. The number of micro-batches follows from the
 * manifest's batch and world. */
struct planning_way {
    int pp, vpp;
    int ep;              // 0: as `parallel` says
    bool standalone_mtp; // m may sit on a stage of its own
};

/* A layout that somebody published for one of the ways. */
struct planning_recipe {
    int pp, vpp;
    const char *layout, *source;
};

/* Numbers of a list. */
struct planning_ratios {
    const double *x;
    int n;
};

struct planning {
    const struct planning_way *way;
    int n_ways; // 0: the manifest has no such section
    const struct planning_recipe *recipe;
    int n_recipes;
    bool without_overlap, with_overlap; // EP overlap: which are planned
    double save_share; // of forward plus backward of an MoE layer, that a pair
                       // of MoE layers saves with EP overlap
    double tflops;     // speed that turns FLOPs into times
    struct planning_ratios m, l; // m/t and L/t to plan again with
    double time_limit_s;         // of one search with costs by FLOPs
    double ratio_limit_s;        // of one with ratios
    bool hybrid; // cuts inside layers, too, held against those between them
    const char *const *flags; // Megatron's, added to the model's
    int n_flags;
};

/* Reads it from a manifest's top object; errors stay in its document:
 * ERR_PARSE, ERR_RANGE. Without the section n_ways is 0. */
void planning_read(struct reader top, struct planning *out);

#endif
