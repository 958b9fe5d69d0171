/*
 * verdict: are the predictions of a dataset worse than they were? Its rows are
 * joined with those of the baseline, and each mark (marks.h) is held to its
 * bound. An experiment is worse when
 *   - a mark is above the baseline's by more than its bound (the computation is
 *     exact: any difference comes from the code), or
 *   - the replay error of any layout is above its limit, or
 *   - a layout of the baseline is not predicted any more, or
 *   - a figure is not known that must be: a step error of any layout, a replay
 *     or memory error where the dataset or the baseline has one, the regret
 *     where the baseline has it; or there is no layout at all. No comparison
 *     passes on what is not known.
 */
#ifndef REGRESS_VERDICT_H
#define REGRESS_VERDICT_H

#include "bounds.h"
#include "report/validate.h"

/* An experiment's rows together. */
struct verdict {
    struct marks now, then; // over rows that the baseline has, too; replay, and
                            // all of `now` where it has none, over all rows
    const struct bound *bound;
    enum mark_state state[N_MARKS];
    int n_new, n_lost;
    const char *unknown; // "" or what must be known and is not: also worse
    bool worse;
    const char *why; // "" or what is worse, each with a blank before it
};

/* What rows are judged by; `bounds` NULL: the marks' own. */
struct verdict_against {
    const struct validate_rows *baseline;
    const struct bounds *bounds;
};

/* Fills the base_ fields of `now` and judges one experiment. ERR_NOMEM. Owned
 * by the arena; `bound` points into `against`, which must live as long. */
enum err verdict_of(struct arena *a, struct validate_rows *now,
                    const struct verdict_against *against, struct verdict *out,
                    struct err_msg *msg);

#endif
