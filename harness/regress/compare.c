/*
 * How it works: a row is made of each dataset of either session. Whether its
 * two lines may be compared comes first (the same measurements, as many
 * layouts), then each mark is held to its bound.
 */
#include "compare.h"

#include "base/join.h"

#include <string.h>

static const struct history_line *line_of(const struct history_session *s,
                                          const char *dataset)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->line[i].dataset, dataset) == 0)
            return &s->line[i];
    return NULL;
}

/* Fewer layouts come first: what is left out would otherwise pass as measured
 * anew. */
static enum compare_kind kind_of(const struct history_line *then,
                                 const struct history_line *now)
{
    if (!then)
        return COMPARE_NEW;
    if (!now)
        return COMPARE_GONE;
    if (now->marks.n < then->marks.n)
        return COMPARE_FEWER;
    return strcmp(then->measured, now->measured) == 0 ? COMPARE_JUDGED
                                                      : COMPARE_OTHER;
}

/* Marks that are worse, in words; NULL when out of memory. */
static const char *judge_marks(struct arena *a, struct compare_row *r)
{
    struct join why = join_begin(a);
    join_add(&why, "");
    for (int m = 0; m < N_MARKS; m++) {
        const double both[2] = {r->now->marks.pct[m], r->then->marks.pct[m]};
        r->state[m] =
            marks_judge((enum mark)m, both[0], both[1], r->bound->pct[m]);
        if (!marks_is_worse(r->state[m]))
            continue;
        const char *text = marks_say(a, (enum mark)m, both, r->bound->pct[m]);
        join_add(&why, r->worse ? ", " : "");
        join_add(&why, text ? text : "");
        r->worse = true;
    }
    return join_end(&why);
}

/* A dataset that nobody looked at now, since only some were named, is not gone.
 */
static const char *judge_row(struct arena *a, struct compare_row *r, bool whole)
{
    r->worse = r->kind == COMPARE_FEWER || (r->kind == COMPARE_GONE && whole);
    switch (r->kind) {
    case COMPARE_JUDGED:
        return judge_marks(a, r);
    case COMPARE_NEW:
        return "not there then";
    case COMPARE_OTHER:
        return "other measurements then, not judged";
    case COMPARE_FEWER:
        return arena_printf(a, "%d layouts, were %d", r->now->marks.n,
                            r->then->marks.n);
    case COMPARE_GONE:
        return whole ? "there is no such dataset now" : "not looked at now";
    }
    return "";
}

/* Rows that are shown and not judged have a state of nothing, and no mark. */
static bool add_row(struct arena *a, const char *dataset,
                    const struct history_line *const both[2],
                    const struct compare_by *by, struct comparison *c)
{
    struct compare_row r = {.dataset = dataset,
                            .then = both[0],
                            .now = both[1],
                            .kind = kind_of(both[0], both[1]),
                            .bound = bounds_of(by->bounds, dataset)};
    r.why = judge_row(a, &r, by->whole);
    c->n_judged += r.kind == COMPARE_JUDGED;
    c->n_worse += r.worse;
    c->row[c->n++] = r;
    return r.why != NULL;
}

/* Datasets of now in their order, then those that are there no more: a reader
 * sees first what he has. */
enum err compare_sessions(struct arena *a, const struct compare_by *by,
                          struct comparison *out, struct err_msg *msg)
{
    const struct history_session *then = by->then, *now = by->now;
    struct comparison c = {
        .row = arena_alloc(a, (size_t)then->n + (size_t)now->n + 1,
                           sizeof *c.row)};
    bool ok = c.row != NULL;
    for (int i = 0; i < now->n && ok; i++) {
        const struct history_line *l = &now->line[i];
        const struct history_line *both[2] = {line_of(then, l->dataset), l};
        ok = add_row(a, l->dataset, both, by, &c);
    }
    for (int i = 0; i < then->n && ok; i++) {
        const struct history_line *both[2] = {&then->line[i], NULL};
        if (!line_of(now, both[0]->dataset))
            ok = add_row(a, both[0]->dataset, both, by, &c);
    }
    if (!ok)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    // rows that were not judged do not add up to a pass
    c.worse = c.n_worse > 0 || c.n_judged == 0;
    *out = c;
    return ERR_OK;
}
