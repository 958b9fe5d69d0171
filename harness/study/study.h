/*
 * study: the article's figures of one machine beside what the simulator gives
 * from the article's own unit costs, and beside runs of the same experiments
 * where there are some. Three kinds of rows: an input is taken as stated (or,
 * where the article is silent, as said in its source); a fitted one was chosen
 * to bring the two speedups near; what follows was chosen by nobody. Agreement
 * says that the published figures are consistent, not that they are predicted.
 *
 * Published figures, computed ones and measured ones are kept apart in every
 * row. A study takes a second.
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "base/arena.h"
#include "base/err.h"
#include "bench.h"

enum study_kind { STUDY_INPUT, STUDY_FITTED, STUDY_FOLLOWS };

/* "input", "fitted", "follows". */
const char *study_kind_name(enum study_kind k);

/* A value: a number, or a text (a layout, a range); NAN and NULL: none. */
struct study_value {
    double number;
    const char *text;
};

struct study_row {
    const char *id;   // key of the manifests' `published`, or a name of ours
    const char *what; // in words, with its unit
    enum study_kind kind;
    struct study_value published, computed, measured;
    const char *source; // of the published figure, or of an input of ours
    const char *note;   // what a reader must know of the computed one; or ""
};

struct study {
    const char *name;
    struct study_bench bench;
    struct study_row *row;
    int n;
};

/* All studies of a list of manifests, in their order; manifests of one study
 * stand together. `results` is the folder with the folders of their runs
 * (results/<name>), which may have none. Errors as study_open(). */
struct studies {
    struct study *study;
    int n;
};
struct study_request {
    const struct manifest *manifest;
    int n;
    const char *results;
};
enum err studies_make(struct arena *a, const struct study_request *r,
                      struct studies *out, struct err_msg *msg);

/* DIR/studies.csv: published and computed, and measured where there are runs.
 */
enum err studies_write(const struct studies *s, const char *dir,
                       struct err_msg *msg);

#endif
