/*
 * How it works: all datasets are read into one table and predicted at once; a
 * source is a cluster of its own, so that they do not mix. terms.csv does that
 * again for every term, with it and without.
 */
#include "tables.h"

#include "base/csv.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* All datasets at once, since rows of one table can be compared. */
enum err published_predict_all(struct arena *a,
                               const struct published_list *list,
                               unsigned terms, struct published *out,
                               struct err_msg *msg)
{
    const struct step_table_options options = {.terms = terms};
    struct step_table table = {NULL, 0, 0};
    for (int i = 0; i < list->n; i++) {
        const char *path = published_rows_path(a, list->dir[i]);
        const enum err e =
            path ? step_table_read(a, path, &options, &table, msg)
                 : err_set(msg, ERR_NOMEM, "published: out of memory");
        if (e != ERR_OK)
            return e;
    }
    return published_predict(a, &table, terms, out, msg);
}

/* ---- a row of a table ---- */

enum { TABLES_MAX_FIELDS = 20 };

struct fields {
    struct arena *a;
    const char *field[TABLES_MAX_FIELDS];
    size_t n;
};

static struct fields fields_begin(struct arena *a)
{
    return (struct fields){a, {PUBLISHED_TABLES}, 1};
}

static void fields_text(struct fields *f, const char *text)
{
    f->field[f->n++] = text;
}

/* Not finite is an empty field. */
static void fields_number(struct fields *f, double x)
{
    char buf[CSV_NUMBER_BYTES];
    const char *text = csv_number(x, buf);
    fields_text(f, text ? arena_strdup(f->a, text) : NULL);
}

/* A file being made in memory. */
struct made {
    char *text;
    size_t len;
    FILE *out;
    bool ok;
};

static void made_row(struct made *m, const struct fields *f)
{
    m->ok = m->ok && csv_write_row(m->out, f->field, f->n);
}

/* In place: the stream keeps where text and length are. */
static void made_open(struct made *m, const char *const *columns, size_t n)
{
    *m = (struct made){NULL, 0, NULL, false};
    m->out = open_memstream(&m->text, &m->len);
    m->ok = m->out && csv_write_row(m->out, columns, n);
}

/* The old file stays where the new one is not whole. */
static enum err made_close(struct arena *a, struct made *m, const char *root,
                           const char *name, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", root, name);
    const bool ok = m->out && fclose(m->out) == 0 && m->ok && path;
    const enum err e = ok ? csv_replace_file(path, m->text, m->len, msg)
                          : err_set(msg, ERR_NOMEM, "published: out of memory");
    free(m->text);
    return e;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- predicted.csv ---- */

/* Rows that are not covered are there, with the reason. */
static enum err write_predicted(struct arena *a, const char *root,
                                const struct published *p, struct err_msg *msg)
{
    static const char *const columns[] = {
        "format", "source",      "id",          "group",     "compare", "gpu",
        "n_gpus", "meas_step_s", "pred_step_s", "error_pct", "why"};
    struct made m;
    made_open(&m, columns, COUNT(columns));
    for (int i = 0; i < p->n; i++) {
        const struct published_row *r = &p->row[i];
        struct fields f = fields_begin(a);
        fields_text(&f, r->entry->source);
        fields_text(&f, r->entry->id);
        fields_text(&f, r->entry->group);
        fields_text(&f, r->entry->compare);
        fields_text(&f, r->entry->gpu);
        fields_number(&f, r->entry->n_gpus);
        fields_number(&f, r->entry->meas_s);
        fields_number(&f, r->pred_s);
        fields_number(&f, 100 * (r->pred_s / r->entry->meas_s - 1));
        fields_text(&f, r->why);
        made_row(&m, &f);
    }
    return made_close(a, &m, root, "predicted.csv", msg);
}

/* ---- errors.csv ---- */

/* Errors as percent, tau as it is. */
static void add_score(struct arena *a, struct made *m,
                      const struct published_score *s, const char *licence)
{
    const double percent[] = {s->mean,  s->median, s->p90,
                              s->worst, s->bias,   s->regret};
    struct fields f = fields_begin(a);
    fields_text(&f, s->source ? s->source : "all");
    fields_text(&f, licence);
    fields_number(&f, s->n_fitted);
    fields_number(&f, s->n);
    fields_number(&f, s->n_covered);
    for (size_t i = 0; i < COUNT(percent); i++)
        fields_number(&f, 100 * percent[i]);
    fields_number(&f, s->tau);
    fields_number(&f, s->n_choices);
    fields_number(&f, 100 * s->left_out);
    made_row(m, &f);
}

/* The licence of a source, from the dataset of its name. */
static const char *licence_of(struct arena *a, const struct published_list *l,
                              const char *source)
{
    for (int i = 0; i < l->n; i++) {
        struct published_dataset d;
        if (published_dataset_read(a, l->dir[i], &d, NULL) == ERR_OK &&
            strcmp(d.source, source) == 0)
            return d.licence;
    }
    return "";
}

/* A row a source, and one over all of them. */
static enum err write_errors(struct arena *a, const char *root,
                             const struct published_list *list,
                             const struct published *p, struct err_msg *msg)
{
    static const char *const columns[] = {
        "format",    "source",     "licence",    "n_fitted",  "n",
        "n_covered", "mean_pct",   "median_pct", "p90_pct",   "worst_pct",
        "bias_pct",  "regret_pct", "tau",        "n_choices", "left_out_pct"};
    const char *source[PUBLISHED_MAX_SOURCES + 1] = {NULL};
    const int n = published_sources(p, source, PUBLISHED_MAX_SOURCES);
    struct made m;
    made_open(&m, columns, COUNT(columns));
    enum err e = ERR_OK;
    // the last one is all of them: no name
    source[n] = NULL;
    for (int i = 0; i <= n && e == ERR_OK; i++) {
        struct published_score s;
        e = published_score(a, p, source[i], &s, msg);
        if (e == ERR_OK)
            add_score(a, &m, &s,
                      source[i] ? licence_of(a, list, source[i]) : "");
    }
    const enum err closed = made_close(a, &m, root, "errors.csv", msg);
    return e == ERR_OK ? closed : e;
}

/* ---- terms.csv ---- */

/* One term in and out, by source. */
static enum err add_term(struct arena *a, struct made *m, enum observed_term t,
                         const struct published *with,
                         const struct published *without)
{
    const char *source[PUBLISHED_MAX_SOURCES + 1] = {NULL};
    const int n = published_sources(with, source, PUBLISHED_MAX_SOURCES);
    source[n] = NULL;
    for (int i = 0; i <= n; i++) {
        struct published_score x, y;
        enum err e = published_score(a, with, source[i], &x, NULL);
        if (e == ERR_OK)
            e = published_score(a, without, source[i], &y, NULL);
        if (e != ERR_OK)
            return e;
        struct fields f = fields_begin(a);
        fields_text(&f, observed_term_name(t));
        fields_number(&f, observed_default_terms() >> t & 1U);
        fields_text(&f, source[i] ? source[i] : "all");
        fields_number(&f, 100 * x.left_out);
        fields_number(&f, 100 * y.left_out);
        fields_number(&f, 100 * x.mean);
        fields_number(&f, 100 * y.mean);
        fields_text(&f, observed_term_help(t));
        made_row(m, &f);
    }
    return ERR_OK;
}

/* A term of the default is taken out, another one is put in. */
static enum err write_terms(struct arena *a, const char *root,
                            const struct published_list *list,
                            const struct published *p, struct err_msg *msg)
{
    static const char *const columns[] = {"format",
                                          "term",
                                          "is_default",
                                          "source",
                                          "left_out_with_pct",
                                          "left_out_without_pct",
                                          "mean_with_pct",
                                          "mean_without_pct",
                                          "help"};
    struct made m;
    made_open(&m, columns, COUNT(columns));
    enum err e = ERR_OK;
    for (int t = 0; t < N_OBSERVED_TERMS && e == ERR_OK; t++) {
        const unsigned all = observed_default_terms(), bit = 1U << t;
        struct published other;
        e = published_predict_all(a, list, all ^ bit, &other, msg);
        if (e == ERR_OK)
            e = add_term(a, &m, (enum observed_term)t, all & bit ? p : &other,
                         all & bit ? &other : p);
    }
    const enum err closed = made_close(a, &m, root, "terms.csv", msg);
    return e == ERR_OK ? closed : e;
}

/* Predictions of the default terms are made once and used by all three. */
enum err published_tables_write(struct arena *a, const char *root,
                                const char *to, struct err_msg *msg)
{
    struct published_list list;
    struct published p;
    enum err e = published_list(a, root, &list, msg);
    if (e == ERR_OK)
        e = published_predict_all(a, &list, observed_default_terms(), &p, msg);
    if (e == ERR_OK)
        e = write_predicted(a, to, &p, msg);
    if (e == ERR_OK)
        e = write_errors(a, to, &list, &p, msg);
    return e == ERR_OK ? write_terms(a, to, &list, &p, msg) : e;
}
