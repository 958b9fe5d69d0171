/*
 * validate_published: the public datasets as validate judges them. Every row
 * to be predicted is predicted from the rows for fitting with the code as it
 * is; replay and memory are not known of others' runs, and the regret is the
 * largest of sets of rows that a planner would choose between. In the baseline
 * such a dataset is the experiment "published/<source>", with the row's id as
 * role and its group as layout.
 */
#ifndef REPORT_VALIDATE_PUBLISHED_H
#define REPORT_VALIDATE_PUBLISHED_H

#include "published/score.h"
#include "validate.h"

/* A source of the datasets. */
struct validate_source {
    const char *experiment; // "published/<source>"
    struct published_score score;
    struct validate_rows rows; // covered ones
};

struct validate_sources {
    struct validate_source *source;
    int n;
    struct published all;
};

/* Predicts all datasets below `root`; none are there where it is missing.
 * Owned by the arena. */
enum err validate_published(struct arena *a, const char *root,
                            struct validate_sources *out, struct err_msg *msg);

#endif
