/*
 * settings: what a plan depends on that neither the model nor a flag says: the
 * version of Megatron core that has to take the layouts, the GPU whose
 * libraries take memory, how transfers are made, which of them leave a node,
 * and the memory to keep free.
 * Options of moe-layout and keys of a manifest (megatron/overrides.h) are read
 * here, so that check, plan, fit, memory and the harness mean the same.
 */
#ifndef PLAN_SETTINGS_H
#define PLAN_SETTINGS_H

#include "base/err.h"
#include "layout/core_version.h"
#include "megatron/overrides.h"
#include "memory/workspace.h"
#include "plan.h"

struct plan_settings {
    const struct core_version *core;
    enum platform platform;
    bool mode_given;
    enum p2p_mode mode;   // where it was given
    double memory_margin; // of predicted peaks, relative
    int gpus_per_node;    // 0: all ranks are on one node
};

/* Defaults where nothing was given: core 0.16, h100, the transfers that
 * Megatron makes, one node, MEMORY_MARGIN. ERR_PARSE or ERR_RANGE names the
 * option, what was found and what is wanted. */
enum err plan_settings_read(const struct overrides *o,
                            struct plan_settings *out, struct err_msg *msg);

/* Transfers of a model with its chunks a rank: as given, else what its flags
 * say (no overlap; overlap of warm-up and flush, too), else as Megatron makes
 * them. */
enum p2p_mode plan_settings_mode(const struct plan_settings *s,
                                 const struct model *m);

/* Puts them into a context for this model. */
void plan_settings_apply(const struct plan_settings *s, const struct model *m,
                         struct plan_context *ctx);

#endif
