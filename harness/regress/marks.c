/*
 * How it works: every mark is a row of one table and a place of one array, so
 * that files, verdicts, comparisons and JUnit cases go over the same list and
 * none can be left out in one of them.
 */
#include "marks.h"

#include <math.h>

static const struct {
    const char *column, *words;
    double bound;
} table[N_MARKS] = {
#define MARK_ROW(id, column, words, bound) {column, words, bound},
    MARK_TABLE(MARK_ROW)
#undef MARK_ROW
};

const char *mark_column(enum mark m)
{
    return table[m].column;
}

const char *mark_words(enum mark m)
{
    return table[m].words;
}

double mark_default_bound(enum mark m)
{
    return table[m].bound;
}

/* What is not known of single rows does not hide the others here: who judges
 * asks for it by itself (verdict.c). */
static void larger(double *most, double x)
{
    *most = fmax(*most, x);
}

/* A replay has no earlier figure: it is held to a limit of its own. */
static void add_row(struct marks *m, const struct validate_row *r, bool then)
{
    const double step = then ? r->base_step_error_pct : r->step_error_pct;
    m->n++;
    m->pct[MARK_MEAN] += fabs(step);
    larger(&m->pct[MARK_OVER], fmax(step, 0));
    larger(&m->pct[MARK_UNDER], fmax(-step, 0));
    larger(&m->pct[MARK_MEMORY_OVER],
           then ? r->base_memory_over_pct : r->memory_over_pct);
    larger(&m->pct[MARK_MEMORY_UNDER],
           then ? r->base_memory_under_pct : r->memory_under_pct);
    larger(&m->pct[MARK_REGRET], then ? r->base_regret_pct : r->regret_pct);
    larger(&m->pct[MARK_REPLAY],
           then ? (double)NAN : fabs(r->replay_error_pct));
}

struct marks marks_of(const struct validate_rows *rows, enum marks_which which)
{
    struct marks m = {.n = 0};
    for (int k = 0; k < N_MARKS; k++)
        m.pct[k] = k == MARK_MEAN ? 0 : (double)NAN;
    for (int i = 0; i < rows->n; i++)
        if (which == MARKS_ALL || rows->row[i].in_baseline)
            add_row(&m, &rows->row[i], which == MARKS_THEN);
    // NAN for no row: not 0, which would be the best of all errors
    m.pct[MARK_MEAN] /= m.n;
    // fmax() made 0 of a step error that is not known
    if (!isfinite(m.pct[MARK_MEAN]))
        m.pct[MARK_OVER] = m.pct[MARK_UNDER] = (double)NAN;
    return m;
}

/* Percentage points that the order of sums may make. */
static const double MARKS_ROUNDING = 1e-6;

/* Written so that a NAN, which compares as false, never comes out as kept. */
enum mark_state marks_judge(enum mark m, double now, double then, double bound)
{
    if (!isfinite(now))
        return isfinite(then) ? MARK_GONE : MARK_NONE;
    if (m == MARK_REPLAY)
        return now <= bound ? MARK_KEPT : MARK_WORSE;
    if (!isfinite(then))
        return MARK_NEW;
    return now <= then + bound + MARKS_ROUNDING ? MARK_KEPT : MARK_WORSE;
}

bool marks_is_worse(enum mark_state s)
{
    return s == MARK_WORSE || s == MARK_GONE;
}

/* Both numbers and the bound, so that a reader need not look into the files. */
const char *marks_say(struct arena *a, enum mark m, const double now_then[2],
                      double bound)
{
    const double now = now_then[0], then = now_then[1];
    if (!isfinite(now))
        return isfinite(then)
                   ? arena_printf(a, "%s is not known (was %.3f%%)",
                                  table[m].words, then)
                   : arena_printf(a, "%s is not known", table[m].words);
    if (m == MARK_REPLAY)
        return arena_printf(a, "%s %.3f%% (may be %g)", table[m].words, now,
                            bound);
    if (!isfinite(then))
        return arena_printf(a, "%s %.3f%%, nothing to compare with",
                            table[m].words, now);
    return arena_printf(a, "%s %.3f%% (was %.3f%%, may grow by %g)",
                        table[m].words, now, then, bound);
}
