/*
 * compare: two sessions of the history beside one another, a row a dataset,
 * each mark held to the dataset's bound. Datasets that were measured anew are
 * shown and not judged; nothing to judge at all is no pass.
 */
#ifndef REGRESS_COMPARE_H
#define REGRESS_COMPARE_H

#include "bounds.h"
#include "history.h"

enum compare_kind {
    COMPARE_JUDGED,
    COMPARE_NEW,   // not there then
    COMPARE_OTHER, // other measurements then: shown, not judged
    COMPARE_FEWER, // fewer rows than then: worse
    COMPARE_GONE,  // there then: worse, where all datasets were looked at
};

struct compare_row {
    const char *dataset;
    const struct history_line *then, *now; // NULL: not there
    enum compare_kind kind;
    const struct bound *bound;
    enum mark_state state[N_MARKS];
    bool worse;
    const char *why; // "" or what is worse or not judged, for people
};

struct comparison {
    struct compare_row *row;
    int n, n_judged, n_worse;
    bool worse; // some row, or nothing was judged
};

/* What is compared, and how. `whole`: both hold all datasets, so that one which
 * is gone is worse. */
struct compare_by {
    const struct history_session *then, *now;
    const struct bounds *bounds;
    bool whole;
};

/* ERR_NOMEM. Owned by the arena; rows point into both sessions and bounds. */
enum err compare_sessions(struct arena *a, const struct compare_by *by,
                          struct comparison *out, struct err_msg *msg);

#endif
