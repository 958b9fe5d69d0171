/*
 * recipes_csv: the file recipes.csv (format moe-bench/recipes/1), a row a
 * layout of a case. Columns are listed in the .c and in results/README.md; a
 * missing value is an empty field.
 */
#ifndef EXPERIMENT_RECIPES_CSV_H
#define EXPERIMENT_RECIPES_CSV_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"
#include "recipes.h"

#define RECIPES_CSV "recipes.csv"

/* Writes DIR/recipes.csv whole or not at all; ERR_IO. */
enum err recipes_csv_write(const struct manifest *mf,
                           const struct recipe_rows *rows, const char *dir,
                           struct err_msg *msg);

/* ERR_PARSE for another format, or a row without way, layout or prediction
 * that is not refused. Owned by the arena. */
enum err recipes_csv_read(struct arena *a, const char *path,
                          struct recipe_rows *out, struct err_msg *msg);

#endif
