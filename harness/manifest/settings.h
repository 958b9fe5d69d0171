/*
 * settings: of a manifest, what its plans depend on besides the model:
 * trainer.core, hardware.gpu, and defaults for what a manifest cannot say
 * (transfers, memory margin), as plan/settings.h reads them.
 */
#ifndef MANIFEST_SETTINGS_H
#define MANIFEST_SETTINGS_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest.h"
#include "plan/settings.h"

/* hardware.gpu may be any name: for one whose library workspaces are not known
 * those of the default are taken, and *note (NULL otherwise; owned by the
 * arena) says so where they matter: moe-train has none. ERR_RANGE for an
 * unknown version. */
enum err manifest_settings(struct arena *a, const struct manifest *mf,
                           struct plan_settings *out, const char **note,
                           struct err_msg *msg);

#endif
