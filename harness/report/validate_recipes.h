/*
 * validate_recipes: are the predictions of a dataset that was only planned
 * (recipes.csv) what this code predicts? Every layout is predicted again with
 * the dataset's manifest and model; nothing is searched, so bounds are taken
 * as they are written, and only checked for not being above a layout's step.
 */
#ifndef REPORT_VALIDATE_RECIPES_H
#define REPORT_VALIDATE_RECIPES_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* Steps agree within this share: the computation is exact up to the order of
 * sums. Bytes agree exactly. */
#define VALIDATE_RECIPES_SHARE 1e-6

struct validate_recipes {
    const char *experiment;
    int n, n_refused;  // layouts, and ways that Megatron refuses
    int n_changed;     // of the layouts
    int n_below;       // layouts whose step is below the bound of their case
    const char *first; // what is wrong with the first of them, "" for none
};

/* True for a folder with a recipes.csv. */
bool validate_recipes_is(struct arena *a, const char *dir);

/* Recomputes the dataset in `dir`. ERR_PARSE for one that is damaged. Owned by
 * the arena. */
enum err validate_recipes(struct arena *a, const char *dir,
                          struct validate_recipes *out, struct err_msg *msg);

#endif
