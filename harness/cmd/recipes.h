/*
 * recipes: 'run' of a manifest that plans only: every way is searched and held
 * against public recipes; nothing is started.
 */
#ifndef HARNESS_CMD_RECIPES_H
#define HARNESS_CMD_RECIPES_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"

#include <stdbool.h>

/* What the command line asks for. Relative paths are of the working directory;
 * nothing is owned. `out` NULL: results/<name>. */
struct recipes_request {
    const struct manifest *manifest;
    const char *out;
    bool dry; // lists the ways, searches and writes nothing
    bool quiet;
};

/* Writes OUT/recipes.csv and OUT/manifest.json and prints a table of what costs
 * by FLOPs give. Errors as experiment/recipes.h, ERR_IO. */
enum err recipes_command(struct arena *a, const struct recipes_request *r,
                         struct err_msg *msg);

#endif
