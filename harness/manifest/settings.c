/*
 * How it works: a manifest's GPU is a name of the user's for a machine, and
 * only some are platforms of the memory model: an unknown one is no error, but
 * it is said which platform stands in for it.
 */
#include "settings.h"

enum err manifest_settings(struct arena *a, const struct manifest *mf,
                           struct plan_settings *out, const char **note,
                           struct err_msg *msg)
{
    struct overrides o = mf->overrides;
    const char *gpu = o.text[OVERRIDE_PLATFORM];
    enum platform known;
    *note = NULL;
    if (gpu && !platform_from_name(gpu, &known))
        o.text[OVERRIDE_PLATFORM] = NULL;
    enum err e = plan_settings_read(&o, out, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s: %s", mf->path,
                          override_key(OVERRIDE_CORE));
    // nodes of a job are alike: Slurm and torchrun start as many on each
    if (mf->hardware.nodes > 1 && mf->hardware.count >= mf->hardware.nodes)
        out->gpus_per_node = (int)(mf->hardware.count / mf->hardware.nodes);
    if (!gpu || o.text[OVERRIDE_PLATFORM] ||
        mf->trainer.kind != TRAINER_MEGATRON)
        return ERR_OK;
    *note = arena_printf(
        a,
        "%s '%s': its library workspaces are not known, memory "
        "is predicted with those of %s",
        override_key(OVERRIDE_PLATFORM), gpu, platform_name(out->platform));
    return *note ? ERR_OK
                 : err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
}
