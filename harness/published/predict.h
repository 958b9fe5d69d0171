/*
 * predict: step times of others, predicted. Of each cluster (a source and a
 * GPU) prices are fitted to the rows for fitting, and the rows to be predicted
 * are simulated with them. Nothing of a predicted row has an influence on a
 * price; its measured time is only read by who scores. Seconds.
 */
#ifndef PUBLISHED_PREDICT_H
#define PUBLISHED_PREDICT_H

#include "calibrate/step_choose.h"
#include "calibrate/step_table.h"

/* A row with use predict that is not excluded. */
struct published_row {
    const struct step_entry *entry;
    bool covered;
    double pred_s; // NAN where not covered, as those below
    double pipeline_s, dp_s, constant_s; // of which: the rest is the optimiser
    const char *why;                     // why not, or ""
};

/* What was fitted of a cluster. */
struct published_fit {
    const char *source, *gpu;
    bool made;       // false: there are no rows to fit, or
    const char *why; // why they cannot be, or NULL
    struct step_choice choice;
    struct step_rows rows;
};

struct published {
    struct published_row *row; // to be predicted
    int n;
    struct published_row *fitted; // for fitting, predicted all the same: those
    int n_fitted;                 // that a planner would choose among, too
    struct published_fit *fit;
    int n_fits;
};

/* ERR_NOMEM, and what a fit says of rows that cannot be: a row that cannot be
 * predicted is not covered. Owned by the arena. */
enum err published_predict(struct arena *a, const struct step_table *table,
                           unsigned terms, struct published *out,
                           struct err_msg *msg);

#endif
