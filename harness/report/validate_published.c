#include "validate_published.h"

#include "published/tables.h"

#include <string.h>

/* A row stands where a layout's does: its id for the role, its group for the
 * layout. */
static struct validate_row row_of(const char *experiment,
                                  const struct published_row *r)
{
    struct validate_row row =
        validate_row_of_step(r->pred_s * 1e3, r->entry->meas_s * 1e3);
    row.experiment = experiment;
    row.role = r->entry->id;
    row.layout = r->entry->group;
    row.step_error_pct = 100 * (r->pred_s / r->entry->meas_s - 1);
    return row;
}

/* The regret is the source's, over all its choices: each row carries it, as a
 * data set's rows do. */
static enum err make_source(struct arena *a, const struct published *p,
                            const char *source, struct validate_source *out,
                            struct err_msg *msg)
{
    struct validate_source s = {.experiment =
                                    arena_printf(a, "published/%s", source)};
    s.rows.row = arena_alloc(a, (size_t)p->n + 1, sizeof *s.rows.row);
    if (!s.experiment || !s.rows.row)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    for (int i = 0; i < p->n; i++)
        if (p->row[i].covered && strcmp(p->row[i].entry->source, source) == 0)
            s.rows.row[s.rows.n++] = row_of(s.experiment, &p->row[i]);
    const enum err e = published_score(a, p, source, &s.score, msg);
    for (int i = 0; i < s.rows.n && e == ERR_OK; i++)
        s.rows.row[i].regret_pct = 100 * s.score.regret;
    *out = s;
    return e;
}

/* Predicted once, all sources together; each is then judged by itself. */
enum err validate_published(struct arena *a, const char *root,
                            struct validate_sources *out, struct err_msg *msg)
{
    struct published_list list;
    const char *names[PUBLISHED_MAX_SOURCES];
    struct validate_sources v = {.n = 0};
    enum err e = published_list(a, root, &list, msg);
    if (e == ERR_OK && list.n > 0)
        e = published_predict_all(a, &list, observed_default_terms(), &v.all,
                                  msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", root);
    const int n = published_sources(&v.all, names, PUBLISHED_MAX_SOURCES);
    v.source = arena_alloc(a, (size_t)n + 1, sizeof *v.source);
    if (!v.source)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    for (; v.n < n && e == ERR_OK; v.n++)
        e = make_source(a, &v.all, names[v.n], &v.source[v.n], msg);
    *out = v;
    return e;
}
