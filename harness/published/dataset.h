/*
 * dataset: step times that others published, as a folder of the repository:
 *
 *   results/published/<source>/  dataset.json  where from, under what licence
 *                                rows.csv      as calibrate/step_table has it
 *
 * rows.csv begins with the column `format` (PUBLISHED_FORMAT); its `ref` names
 * file and line of each row. dataset.json has format, source, title,
 * repository, commit (as the source has it, or "" where each row names its
 * own), licence (an SPDX name), url, and note. Facts and figures only.
 */
#ifndef PUBLISHED_DATASET_H
#define PUBLISHED_DATASET_H

#include "base/arena.h"
#include "base/err.h"

#define PUBLISHED_ROOT "results/published"
#define PUBLISHED_FORMAT "moe-bench/published/1"

/* What dataset.json says; texts, "" where nothing. */
struct published_dataset {
    const char *source, *title, *repository, *commit, *licence, *url, *note;
};

/* ERR_PARSE for one that is damaged, or that names no licence. Owned by the
 * arena. */
enum err published_dataset_read(struct arena *a, const char *dir,
                                struct published_dataset *out,
                                struct err_msg *msg);

/* Writes dataset.json, and the folder where it is missing. ERR_RANGE for a
 * source that is no plain name (letters, digits, - _ .) or a licence that
 * forbids what is done here or is missing: it must be one of
 * published_licences(). */
enum err published_dataset_write(struct arena *a, const char *dir,
                                 const struct published_dataset *d,
                                 struct err_msg *msg);

/* SPDX names that are taken, in one text parted by commas. */
const char *published_licences(struct arena *a);

/* Folders below `root` that hold a dataset, by name; a root that is not there
 * has none. ERR_NOMEM. */
struct published_list {
    const char **dir;
    int n;
};
enum err published_list(struct arena *a, const char *root,
                        struct published_list *out, struct err_msg *msg);

/* A folder's rows.csv; NULL when out of memory. */
const char *published_rows_path(struct arena *a, const char *dir);

#endif
