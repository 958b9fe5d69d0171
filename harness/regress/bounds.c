/*
 * How it works: rows are read with NAN for empty fields, checked one by one,
 * and filled when all are there, since the row for all others may stand
 * anywhere.
 */
#include "bounds.h"

#include "base/csv.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

struct bounds bounds_default(void)
{
    struct bounds b = {.path = "no file", .any = {.dataset = BOUNDS_ANY}};
    for (int m = 0; m < N_MARKS; m++)
        b.any.pct[m] = mark_default_bound((enum mark)m);
    return b;
}

static bool is_column(const char *name)
{
    for (int m = 0; m < N_MARKS; m++)
        if (strcmp(name, mark_column((enum mark)m)) == 0)
            return true;
    return strcmp(name, "format") == 0 || strcmp(name, "dataset") == 0 ||
           strcmp(name, "note") == 0;
}

/* A bound under a misspelt name would bound nothing. */
static enum err check_columns(const struct csv *t, struct err_msg *msg)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (!is_column(t->names[i]))
            return err_set(msg, ERR_PARSE,
                           "%s: column '%s' is not known, want format, "
                           "dataset, the marks of results/README.md, note",
                           t->where, t->names[i]);
    return ERR_OK;
}

/* NAN for an empty field: another row's value is taken. */
static enum err read_field(const struct csv *t, size_t row, enum mark m,
                           double *out, struct err_msg *msg)
{
    const char *text = csv_get(t, row, mark_column(m));
    *out = (double)NAN;
    if (!text || !*text)
        return ERR_OK;
    if (!text_to_double(text, out))
        return err_set(msg, ERR_PARSE,
                       "%s: line %zu: %s: got '%s', want a number of "
                       "percentage points",
                       t->where, row + 2, mark_column(m), text);
    if (!(*out >= 0 && *out <= BOUNDS_MOST))
        return err_set(msg, ERR_RANGE,
                       "%s: line %zu: %s: got %s, want 0 to %g percentage "
                       "points",
                       t->where, row + 2, mark_column(m), text, BOUNDS_MOST);
    return ERR_OK;
}

/* The name is checked later, when it is known what datasets there are. */
static enum err read_row(const struct csv *t, size_t row, struct bound *out,
                         struct err_msg *msg)
{
    const char *format = csv_get(t, row, "format");
    struct bound b = {.dataset = csv_get(t, row, "dataset")};
    if (!format || strcmp(format, BOUNDS_FORMAT) != 0)
        return err_set(msg, ERR_PARSE,
                       "%s: line %zu: format: got '%s', want '" BOUNDS_FORMAT
                       "'",
                       t->where, row + 2, format ? format : "nothing");
    if (!b.dataset || !*b.dataset)
        return err_set(msg, ERR_PARSE,
                       "%s: line %zu: dataset: got nothing, want its name or "
                       "'" BOUNDS_ANY "' for all others",
                       t->where, row + 2);
    enum err e = ERR_OK;
    for (int m = 0; m < N_MARKS && e == ERR_OK; m++)
        e = read_field(t, row, (enum mark)m, &b.pct[m], msg);
    *out = b;
    return e;
}

/* Of two rows one would be believed to hold and does not. */
static enum err check_twice(const struct bounds *b, const struct csv *t,
                            struct err_msg *msg)
{
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(b->item[i].dataset, b->item[k].dataset) == 0)
                return err_set(msg, ERR_PARSE,
                               "%s: line %d: dataset '%s' has bounds in line "
                               "%d already; keep one",
                               t->where, i + 2, b->item[i].dataset, k + 2);
    return ERR_OK;
}

static void fill(struct bound *b, const struct bound *from)
{
    for (int m = 0; m < N_MARKS; m++)
        if (isnan(b->pct[m]))
            b->pct[m] = from->pct[m];
}

/* Empty fields: of "*" the marks' own, of others those of "*". */
static void fill_all(struct bounds *b)
{
    for (int i = 0; i < b->n; i++) {
        if (strcmp(b->item[i].dataset, BOUNDS_ANY) != 0)
            continue;
        fill(&b->item[i], &b->any);
        b->any = b->item[i];
    }
    for (int i = 0; i < b->n; i++)
        fill(&b->item[i], &b->any);
}

enum err bounds_read(struct arena *a, const char *path, struct bounds *out,
                     struct err_msg *msg)
{
    struct csv t;
    struct bounds b = bounds_default();
    enum err e = csv_read_file(a, path, &t, msg);
    if (e == ERR_OK)
        e = check_columns(&t, msg);
    if (e != ERR_OK)
        return e;
    b.path = path;
    b.item = arena_alloc(a, t.n_rows + 1, sizeof *b.item);
    if (!b.item)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    for (size_t i = 0; i < t.n_rows && e == ERR_OK; i++, b.n++)
        e = read_row(&t, i, &b.item[i], msg);
    if (e == ERR_OK)
        e = check_twice(&b, &t, msg);
    if (e != ERR_OK)
        return e;
    fill_all(&b);
    *out = b;
    return ERR_OK;
}

/* Some dozen rows: a search is as good as a table. */
const struct bound *bounds_of(const struct bounds *b, const char *dataset)
{
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->item[i].dataset, dataset) == 0)
            return &b->item[i];
    return &b->any;
}

/* Lines are counted as editors do: the header is the first. */
enum err bounds_check(const struct bounds *b, const struct bounds_known *known,
                      struct err_msg *msg)
{
    for (int i = 0; i < b->n; i++) {
        const char *name = b->item[i].dataset;
        if (strcmp(name, BOUNDS_ANY) == 0 || known->is_known(known->data, name))
            continue;
        const char *near = text_nearest(name, known->names, known->n_names);
        return err_set(msg, ERR_PARSE,
                       "%s: line %d: dataset '%s' is not known%s%s%s; remove "
                       "the line or name a dataset of the baseline",
                       b->path, i + 2, name, near ? ", nearest is '" : "",
                       near ? near : "", near ? "'" : "");
    }
    return ERR_OK;
}
