/*
 * rows: public step times as configurations that the roofline can price: a row
 * of a CSV file (columns of model sizes, split, batch, card and step; see
 * results/README.md) becomes a model, a layout and a card.
 *
 * What such rows do not state is assumed by the card's generation: on A100 the
 * kernels of 2021 and 2022 (attention and loss not fused), on later ones fused
 * kernels and sequence parallelism. Models known by name are read from
 * experiments/models; others are GPTs: tied embeddings, no gate. Sized for some
 * hundred rows a file.
 */
#ifndef STUDY_ROWS_H
#define STUDY_ROWS_H

#include "base/arena.h"
#include "base/err.h"
#include "calibrate/roofline_fit.h"

/* Rows that cannot be priced, and why the first of them cannot. */
struct rows_left {
    int n;
    const char *why; // NULL: none is left out
};

/* Reads the file's rows that are not marked `exclude` and are to be fitted or
 * predicted, or have a forward; appends them to `to`, whose rows are replaced
 * by a longer list. `models` is the folder of model files. Texts are owned by
 * the arena. ERR_PARSE for a file that lacks a column. */
struct rows_file {
    const char *path, *models;
};
enum err rows_read(struct arena *a, const struct rows_file *file,
                   struct roofline_rows *to, struct rows_left *left,
                   struct err_msg *msg);

#endif
