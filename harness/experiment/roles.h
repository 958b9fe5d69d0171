/*
 * roles: from what a manifest asks to measure ("pick", "default", ...) to
 * layouts with predictions. Roles that need measured costs cannot be resolved
 * before the profile runs.
 */
#ifndef EXPERIMENT_ROLES_H
#define EXPERIMENT_ROLES_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"
#include "plan/plan.h"

#include <stdbool.h>

/* One row to measure. */
struct target {
    enum role role;
    const char *layout; // shortest string; NULL: not known before profiling
    struct layout parsed;
    struct plan pred; // of mean times; pred_step_s is NAN without costs
    double step_s, lo_s, hi_s; // expected step (with jitter) and the interval
                               // that the costs' errors give it; NAN without
    int runs_of; // target whose runs serve this one: itself, or an earlier one
                 // with the same layout
};

struct targets {
    struct target *target;
    int n;
};

/* Resolves the roles of the manifest, all or those of `only` (N_ROLES: all).
 * ctx->cost NULL: without costs. A role that has no layout for this model, or
 * none without costs, is left out and reported through `warn`; any other
 * failure is an error. */
struct roles_request {
    const struct manifest *manifest;
    const struct plan_context *ctx;
    enum role only;
    bool keep_unknown; // targets without a layout, for want of costs
    void (*warn)(void *data, const char *line);
    void *data;
};
enum err roles_resolve(struct arena *a, const struct roles_request *req,
                       struct targets *out, struct err_msg *msg);

/* Targets of layouts that are known already (role and layout of each), with
 * predictions where ctx has costs. */
enum err roles_recorded(struct arena *a, const struct plan_context *ctx,
                        const struct words layouts[2], struct targets *out,
                        struct err_msg *msg);

/* Predicts every target again, with other costs. */
enum err roles_predict(struct arena *a, const struct plan_context *ctx,
                       struct targets *t, struct err_msg *msg);

#endif
