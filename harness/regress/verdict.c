/*
 * How it works: rows of now take the figures of their rows in the baseline;
 * marks of both are made over the rows that have them, and each is judged by
 * itself. What is not known is looked for apart, row by row: a maximum passes
 * over a NAN without a word.
 */
#include "verdict.h"

#include "base/join.h"

#include <math.h>

/* Measured figures are written with all digits, so the same are equal. */
#define SAME_MS 1e-9

/* Only rows of the same measurement: after a new one, errors cannot be
 * compared. */
static void verdict_join(struct validate_rows *now,
                         const struct validate_rows *baseline)
{
    for (int i = 0; i < now->n; i++) {
        struct validate_row *r = &now->row[i];
        const struct validate_row *b = validate_find(baseline, r);
        if (!b || !(fabs(b->meas_ms - r->meas_ms) <= SAME_MS * r->meas_ms))
            continue;
        r->in_baseline = true;
        r->base_step_error_pct = b->step_error_pct;
        r->base_memory_over_pct = b->memory_over_pct;
        r->base_memory_under_pct = b->memory_under_pct;
        r->base_regret_pct = b->regret_pct;
        r->wants_replay |= isfinite(b->replay_error_pct);
        r->wants_memory |= isfinite(b->memory_error_pct);
    }
}

/* Rows of the baseline of now's experiment that are not in now. */
static int count_lost(const struct validate_rows *now,
                      const struct validate_rows *baseline)
{
    int n = 0;
    for (int i = 0; i < baseline->n; i++)
        n += validate_has(now, baseline->row[i].experiment) &&
             !validate_find(now, &baseline->row[i]);
    return n;
}

static int count_new(const struct validate_rows *now)
{
    int n = 0;
    for (int i = 0; i < now->n; i++)
        n += !now->row[i].in_baseline;
    return n;
}

/* What must be known and is not; "" when all is. A NAN would pass as a maximum
 * over other rows, and as nothing where it is the only one. */
static const char *find_unknown(const struct validate_rows *now)
{
    if (now->n == 0)
        return " no layouts";
    for (int i = 0; i < now->n; i++) {
        const struct validate_row *r = &now->row[i];
        if (!isfinite(r->step_error_pct))
            return " a step error is not known";
        if (r->wants_replay && !isfinite(r->replay_error_pct))
            return " a replay error is not known";
        if (r->wants_memory && !isfinite(r->memory_error_pct))
            return " a memory error is not known";
        if (isfinite(r->base_regret_pct) && !isfinite(r->regret_pct))
            return " the best layout is not known";
    }
    return "";
}

/* The means are over rows that both have, so that a new layout cannot hide
 * what became worse; a replay needs nothing to be compared with. */
static void add_up(const struct validate_rows *now, struct verdict *v)
{
    const struct marks all = marks_of(now, MARKS_ALL);
    v->n_new = count_new(now);
    v->now = v->n_new == now->n ? all : marks_of(now, MARKS_NOW);
    v->now.pct[MARK_REPLAY] = all.pct[MARK_REPLAY];
    v->then = marks_of(now, MARKS_THEN);
    for (int m = 0; m < N_MARKS; m++)
        v->state[m] = marks_judge((enum mark)m, v->now.pct[m], v->then.pct[m],
                                  v->bound->pct[m]);
}

/* Each reason in words: one number that got better does not excuse another. */
static void say_why(struct arena *a, bool lost, struct verdict *v)
{
    struct join why = join_begin(a);
    join_add(&why, "");
    for (int m = 0; m < N_MARKS; m++) {
        if (!marks_is_worse(v->state[m]))
            continue;
        const double both[2] = {v->now.pct[m], v->then.pct[m]};
        const char *text = marks_say(a, (enum mark)m, both, v->bound->pct[m]);
        join_add(&why, v->worse ? ", " : " ");
        join_add(&why, text ? text : "");
        v->worse = true;
    }
    if (lost)
        join_add(&why, " lost layouts");
    join_add(&why, v->unknown);
    v->worse = v->worse || lost || *v->unknown;
    v->why = join_end(&why);
}

/* Layouts that are gone count only where some are still there, or none at all:
 * a dataset that was measured anew has other layouts by right. */
enum err verdict_of(struct arena *a, struct validate_rows *now,
                    const struct verdict_against *against, struct verdict *out,
                    struct err_msg *msg)
{
    struct bounds *none = arena_alloc(a, 1, sizeof *none);
    if (!none)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    *none = bounds_default();
    const char *name = now->n > 0 ? now->row[0].experiment : "";
    struct verdict v = {
        .bound = bounds_of(against->bounds ? against->bounds : none, name)};
    verdict_join(now, against->baseline);
    add_up(now, &v);
    v.n_lost = count_lost(now, against->baseline);
    v.unknown = find_unknown(now);
    say_why(a, v.n_lost > 0 && (v.n_new < now->n || now->n == 0), &v);
    *out = v;
    return v.why ? ERR_OK : err_set(msg, ERR_NOMEM, "validate: out of memory");
}
