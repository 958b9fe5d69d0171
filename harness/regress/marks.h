/*
 * marks: the figures that a dataset's predictions are judged by. All are
 * percent; NAN where not known. Errors are of the measured figure, and signed
 * errors are split by direction, each as an amount of at least 0: a stage said
 * to need less memory than it does ends a run, and a best layout that is missed
 * loses time in every step, while a step said too long costs nobody anything.
 * So each direction has a bound of its own (bounds.h).
 *
 * Designed for datasets of some to some hundred rows.
 */
#ifndef REGRESS_MARKS_H
#define REGRESS_MARKS_H

#include "base/arena.h"
#include "report/validate.h"

/* id, column of the files, words, and the bound where no file says one: by how
 * many percentage points it may be above what it was. Figures are recomputed
 * exactly, so the small bounds leave room for ties and compilers only. */
#define MARK_TABLE(X)                                                          \
    X(MARK_MEAN, "mean_pct", "step error", 0.05)                               \
    X(MARK_OVER, "over_pct", "over-predicted step", 0.5)                       \
    X(MARK_UNDER, "under_pct", "under-predicted step", 0.25)                   \
    X(MARK_MEMORY_OVER, "memory_over_pct", "over-predicted memory", 0.05)      \
    X(MARK_MEMORY_UNDER, "memory_under_pct", "under-predicted memory", 0)      \
    X(MARK_REGRET, "regret_pct", "missed best layout", 0)                      \
    X(MARK_REPLAY, "replay_pct", "replay error", 0.5)

/* MEAN is of absolute step errors, the next four are the largest of any row
 * (memory: of any stage). REGRET: by how much the layout with the shortest
 * predicted step was measured slower than the fastest one. REPLAY is the
 * largest absolute error, and its bound is a limit of its own whatever it was:
 * it tests the schedule, not the costs. */
enum mark {
#define MARK_ENUM(id, column, words, bound) id,
    MARK_TABLE(MARK_ENUM)
#undef MARK_ENUM
        N_MARKS
};

struct marks {
    int n; // rows they are of
    double pct[N_MARKS];
};

/* Columns of the files, in the order of the table; words for people. */
const char *mark_column(enum mark m);
const char *mark_words(enum mark m);
double mark_default_bound(enum mark m);

/* Which rows count, and which of their figures. */
enum marks_which {
    MARKS_ALL,  // as they are now, of all rows
    MARKS_NOW,  // as they are now, of rows that the baseline has, too
    MARKS_THEN, // as the baseline has them
};
struct marks marks_of(const struct validate_rows *rows, enum marks_which which);

/* What became of one mark. */
enum mark_state {
    MARK_NONE,  // neither known now nor then
    MARK_NEW,   // not known then: nothing to compare with
    MARK_KEPT,  // within the bound
    MARK_WORSE, // above it
    MARK_GONE,  // known then and not now: counts as worse
};
enum mark_state marks_judge(enum mark m, double now, double then, double bound);
bool marks_is_worse(enum mark_state s);

/* "step error 1.060% (was 1.000%, may grow by 0.050)"; owned by the arena, NULL
 * when out of memory. */
const char *marks_say(struct arena *a, enum mark m, const double now_then[2],
                      double bound);

#endif
