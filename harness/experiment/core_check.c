#include "core_check.h"

#include "megatron/flags.h"

enum err core_check_layout(const struct plan_context *ctx, const char *text,
                           const struct layout *l, struct err_msg *msg)
{
    const char *refusal = plan_refusal(ctx, l);
    if (!refusal)
        return ERR_OK;
    return err_set(msg, ERR_RANGE, "trainer.core %s refuses layout '%s': %s",
                   ctx->core->name, text, refusal);
}

/* The role's layout is found after the profile runs; whether there can be one
 * is known before. */
static enum err core_check_standalone(const struct manifest *mf,
                                      const struct plan_context *ctx,
                                      struct err_msg *msg)
{
    if (!manifest_has_role(mf, ROLE_STANDALONE_MTP) || !ctx->model->n_mtp ||
        !ctx->core || core_version_parts_mtp(ctx->core))
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "role '%s': trainer.core %s takes no m on a stage without L",
                   role_name(ROLE_STANDALONE_MTP), ctx->core->name);
}

static bool asks_standalone(const struct manifest *mf)
{
    for (int i = 0; i < mf->n_measure; i++)
        if (mf->measure[i].standalone_mtp)
            return true;
    return manifest_has_role(mf, ROLE_STANDALONE_MTP);
}

/* What no pattern can say (hybrid_model.py, pretrain_hybrid.py), and a version
 * that was asked for and knows none. */
static enum err core_check_hybrid(const struct manifest *mf,
                                  const struct plan_context *ctx,
                                  struct err_msg *msg)
{
    const char *core = mf->overrides.text[OVERRIDE_CORE];
    if (!model_is_hybrid(ctx->model))
        return ERR_OK;
    if (asks_standalone(mf))
        return err_set(msg, ERR_RANGE,
                       "measure: got MTP on a stage of its own, a hybrid model "
                       "has it on the stage of the loss always");
    if (mf->ep_overlap)
        return err_set(msg, ERR_RANGE,
                       "parallel: ep_overlap: got true, Megatron has no such "
                       "schedule for hybrid models");
    if (core && ctx->core && !ctx->core->has_pattern)
        return err_set(msg, ERR_RANGE,
                       "trainer.core %s has no --%s, want 0.17 or later", core,
                       flag_name(FLAG_HYBRID_LAYER_PATTERN));
    return ERR_OK;
}

/* Before the first run: Megatron would refuse the layout at its start only. */
enum err core_check(struct arena *a, const struct manifest *mf,
                    const struct plan_context *ctx,
                    const struct core_profile *profile, struct err_msg *msg)
{
    enum err e = core_check_hybrid(mf, ctx, msg);
    if (e == ERR_OK)
        e = core_check_standalone(mf, ctx, msg);
    for (int i = 0; i < profile->n && e == ERR_OK; i++) {
        const char *text = layout_text(a, &profile->layout[i], ctx->model);
        e = text ? core_check_layout(ctx, text, &profile->layout[i], msg)
                 : err_set(msg, ERR_NOMEM, "out of memory");
        if (e != ERR_OK)
            err_prefix(msg, e, "profile");
    }
    return e == ERR_OK ? e : err_prefix(msg, e, "%s", mf->path);
}
