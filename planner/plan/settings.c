#include "settings.h"

#include "base/text.h"

static enum err settings_platform(const char *name, enum platform *out,
                                  struct err_msg *msg)
{
    if (!name || platform_from_name(name, out))
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "--platform: got '%s', want %s", name,
                   platform_names());
}

/* Given in percent. */
static enum err settings_margin(const char *text, double *out,
                                struct err_msg *msg)
{
    double percent = 0;
    if (!text)
        return ERR_OK;
    if (!text_to_double(text, &percent))
        return err_set(msg, ERR_PARSE,
                       "--memory-margin: got '%s', want a number", text);
    if (percent < 0 || percent > 1000)
        return err_set(msg, ERR_RANGE,
                       "--memory-margin: got %g, want 0 to 1000", percent);
    *out = percent / 100;
    return ERR_OK;
}

/* The upper bound only catches slips: no node has as many. */
static enum err settings_node(const char *text, int *out, struct err_msg *msg)
{
    int64_t n = 0;
    if (!text)
        return ERR_OK;
    if (!text_to_int64(text, &n))
        return err_set(msg, ERR_PARSE,
                       "--gpus-per-node: got '%s', want a whole number", text);
    if (n < 1 || n > 100000)
        return err_set(msg, ERR_RANGE,
                       "--gpus-per-node: got %lld, want 1 to 100000",
                       (long long)n);
    *out = (int)n;
    return ERR_OK;
}

enum err plan_settings_read(const struct overrides *o,
                            struct plan_settings *out, struct err_msg *msg)
{
    struct plan_settings s = {.platform = PLATFORM_HOPPER,
                              .mode_given = o->text[OVERRIDE_P2P] != NULL,
                              .memory_margin = MEMORY_MARGIN};
    const char *mode = o->text[OVERRIDE_P2P];
    enum err e = core_version_find(o->text[OVERRIDE_CORE], &s.core, msg);
    if (e == ERR_OK)
        e = settings_platform(o->text[OVERRIDE_PLATFORM], &s.platform, msg);
    if (e == ERR_OK && mode)
        e = p2p_mode_from_name(mode, &s.mode, msg);
    if (e == ERR_OK)
        e = settings_margin(o->text[OVERRIDE_MARGIN], &s.memory_margin, msg);
    if (e == ERR_OK)
        e = settings_node(o->text[OVERRIDE_NODE], &s.gpus_per_node, msg);
    if (e == ERR_OK)
        *out = s;
    return e;
}

/* Megatron refuses the flush with one chunk a rank, as the schedule does. */
enum p2p_mode plan_settings_mode(const struct plan_settings *s,
                                 const struct model *m)
{
    if (s->mode_given)
        return s->mode;
    if (m->overlap_p2p_flush)
        return P2P_OVERLAP_FLUSH;
    return m->no_overlap_p2p ? P2P_BLOCKING : p2p_mode_default(m->par.vpp);
}

void plan_settings_apply(const struct plan_settings *s, const struct model *m,
                         struct plan_context *ctx)
{
    ctx->core = s->core;
    ctx->platform = s->platform;
    ctx->mode = plan_settings_mode(s, m);
    ctx->memory_margin = s->memory_margin;
    ctx->gpus_per_node = s->gpus_per_node;
}
