/*
 * core_check: whether the version of Megatron core that a manifest names
 * (trainer.core, 0.16 by default; of hybrid models any that has patterns) takes
 * the layouts of the experiment, and whether a hybrid model can have what is
 * asked for. Asked before anything runs: Megatron itself would say so on the
 * rented machine.
 */
#ifndef EXPERIMENT_CORE_CHECK_H
#define EXPERIMENT_CORE_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"
#include "plan/plan.h"

/* The layouts of the profile runs. */
struct core_profile {
    const struct layout *layout;
    int n;
};

/* ERR_RANGE, with the manifest's path, where a role or a profile run cannot do
 * with the context's version. */
enum err core_check(struct arena *a, const struct manifest *mf,
                    const struct plan_context *ctx,
                    const struct core_profile *profile, struct err_msg *msg);

/* The same of one layout, which `text` is. */
enum err core_check_layout(const struct plan_context *ctx, const char *text,
                           const struct layout *l, struct err_msg *msg);

#endif
