/*
 * place: where a published dataset may go, and how it gets there. It is made
 * in a new folder beside its place and takes the place in one step, so that a
 * reader sees the old dataset or the new one, and a kill at any moment loses
 * neither. Signals wait meanwhile (ending). Replaced is only what is a dataset
 * of ours: everything else at the place is somebody's, and stays.
 */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "base/arena.h"
#include "base/err.h"

#include "ending.h"

#include <stdbool.h>

#define PLACE_DATASET "dataset.json"
#define PLACE_FORMAT "moe-bench/dataset/1"

struct place {
    const char *dir; // as asked for, without a slash at its end
    const char *tmp; // the new folder beside it, to be filled
    struct ending ending;
};

/* True for a folder (not a link to one) that holds a dataset of ours. */
bool place_is_dataset(struct arena *a, const char *dir);

/* Checks that `dir` is free or a dataset without files of others, and neither
 * a link nor a folder that holds `source` or the working folder; then makes
 * the new folder beside it. ERR_RANGE says why not, with nothing changed. */
enum err place_begin(struct arena *a, const char *dir, const char *source,
                     struct place *out, struct err_msg *msg);

/* Puts the new folder, on the disk as a whole, in the place of the old one,
 * which is removed. */
enum err place_finish(const struct place *p, struct err_msg *msg);

/* Removes the new folder; the old one is as it was. */
void place_discard(const struct place *p);

#endif
