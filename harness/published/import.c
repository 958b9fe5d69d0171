/*
 * How it works: rows are kept over all known columns, by place; whatever they
 * come from, import_write() checks them and merges them with what is there.
 * Texts of rows belong to the file or the caller, and are not copied.
 */
#include "import.h"

#include "base/csv.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const PUBLISHED_COLUMNS[] = {"id",
                                         "source",
                                         "group",
                                         "compare",
                                         "model",
                                         "gpu",
                                         "gpus_per_node",
                                         "n_gpus",
                                         "n_layers",
                                         "hidden",
                                         "heads",
                                         "query_groups",
                                         "ffn",
                                         "experts",
                                         "topk",
                                         "moe_ffn",
                                         "mtp",
                                         "seq",
                                         "vocab",
                                         "tp",
                                         "cp",
                                         "ep",
                                         "dp",
                                         "pp",
                                         "vpp",
                                         "layout",
                                         "embed_loss_counted",
                                         "recompute",
                                         "overlap_ep",
                                         "schedule",
                                         "mbs",
                                         "gbs",
                                         "microbatches",
                                         "precision",
                                         "step_s",
                                         "step_stat",
                                         "n_steps",
                                         "spread",
                                         "memory_gib",
                                         "forward_s",
                                         "measured",
                                         "exclude",
                                         "use",
                                         "ref",
                                         "note"};
const size_t PUBLISHED_N_COLUMNS =
    sizeof PUBLISHED_COLUMNS / sizeof PUBLISHED_COLUMNS[0];

enum { IMPORT_MOST_COLUMNS = 64 };

enum err import_column(const char *name, size_t *out, struct err_msg *msg)
{
    for (size_t i = 0; i < PUBLISHED_N_COLUMNS; i++)
        if (strcmp(PUBLISHED_COLUMNS[i], name) == 0) {
            *out = i;
            return ERR_OK;
        }
    const char *near =
        text_nearest(name, PUBLISHED_COLUMNS, PUBLISHED_N_COLUMNS);
    return err_set(msg, ERR_PARSE, "unknown column '%s'%s%s%s", name,
                   near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

/* Place of a column that is in the table above. */
static size_t import_place(const char *name)
{
    size_t at = 0;
    import_column(name, &at, NULL);
    return at;
}

/* "" for an empty field. */
static const char *import_get(const struct import_rows *rows, size_t row,
                              const char *column)
{
    const char *text =
        rows->field[row * PUBLISHED_N_COLUMNS + import_place(column)];
    return text ? text : "";
}

static enum err import_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "import: out of memory");
}

/* ---- from CSV ---- */

/* Where each column of the file goes. `format` is of our own files. */
static enum err map_columns(const struct csv *t, size_t *place,
                            struct err_msg *msg)
{
    for (size_t i = 0; i < t->n_columns && i < IMPORT_MOST_COLUMNS; i++) {
        place[i] = PUBLISHED_N_COLUMNS;
        if (strcmp(t->names[i], "format") == 0)
            continue;
        const enum err e = import_column(t->names[i], &place[i], msg);
        if (e != ERR_OK)
            return err_prefix(msg, e, "%s", t->where);
    }
    return ERR_OK;
}

/* Rows with another ref are read over: the next one takes their place. */
enum err import_csv(struct arena *a, const struct import_csv *from,
                    struct import_rows *out, struct err_msg *msg)
{
    struct csv t;
    size_t place[IMPORT_MOST_COLUMNS];
    struct import_rows rows = {NULL, 0};
    enum err e = csv_read_file(a, from->path, &t, msg);
    if (e == ERR_OK && t.n_columns > IMPORT_MOST_COLUMNS)
        e = err_set(msg, ERR_PARSE, "%s: %zu columns, want at most %d",
                    from->path, t.n_columns, (int)IMPORT_MOST_COLUMNS);
    if (e == ERR_OK)
        e = map_columns(&t, place, msg);
    if (e != ERR_OK)
        return e;
    rows.field = arena_alloc(a, (t.n_rows + 1) * PUBLISHED_N_COLUMNS,
                             sizeof *rows.field);
    if (!rows.field)
        return import_no_memory(msg);
    for (size_t r = 0; r < t.n_rows; r++) {
        const char **to = rows.field + rows.n * PUBLISHED_N_COLUMNS;
        for (size_t i = 0; i < t.n_columns; i++)
            if (place[i] < PUBLISHED_N_COLUMNS)
                to[place[i]] = t.fields[r * t.n_columns + i];
        const char *ref = import_get(&rows, rows.n, "ref");
        to[import_place("source")] = from->source;
        rows.n += !from->ref || text_starts(ref, from->ref);
    }
    *out = rows;
    return rows.n ? ERR_OK
                  : err_set(msg, ERR_PARSE, "%s: no row to import%s%s",
                            from->path, from->ref ? " with a ref of " : "",
                            from->ref ? from->ref : "");
}

/* ---- from times ---- */

/* The first '=' parts name and value: layouts have none. */
static enum err take_given(struct arena *a, const struct import_row *from,
                           const char **to, struct err_msg *msg)
{
    for (int i = 0; i < from->n_given; i++) {
        const char *equals = strchr(from->given[i], '=');
        size_t at = 0;
        if (!equals)
            return err_set(msg, ERR_PARSE,
                           "--column: got '%s', want COLUMN=VALUE",
                           from->given[i]);
        const char *name =
            arena_strndup(a, from->given[i], (size_t)(equals - from->given[i]));
        if (!name)
            return import_no_memory(msg);
        const enum err e = import_column(name, &at, msg);
        if (e != ERR_OK)
            return err_prefix(msg, e, "--column");
        if (to[at])
            return err_set(msg, ERR_PARSE, "--column: %s is given twice", name);
        to[at] = equals + 1;
    }
    return ERR_OK;
}

/* What the log says itself does not stand where the caller said it. */
static void take_times(struct arena *a, const struct import_times *t,
                       const char **to)
{
    to[import_place("step_s")] = arena_printf(a, "%.6g", t->step_s);
    to[import_place("step_stat")] = arena_printf(
        a, "median of %d %s, first %d dropped", t->n, t->what, t->n_dropped);
    to[import_place("n_steps")] = arena_printf(a, "%d", t->n);
    to[import_place("spread")] =
        arena_printf(a, "q25 %.5g q75 %.5g", t->q25_s, t->q75_s);
    if (isfinite(t->forward_s))
        to[import_place("forward_s")] = arena_printf(a, "%.4g", t->forward_s);
    if (t->global_batch > 0 && !to[import_place("gbs")])
        to[import_place("gbs")] = arena_printf(a, "%.0f", t->global_batch);
}

/* A row's own source, ref and origin are set last, so that no --column says
 * otherwise. */
enum err import_row_of(struct arena *a, const struct import_row *from,
                       const struct import_times *times,
                       struct import_rows *out, struct err_msg *msg)
{
    const char **to = arena_alloc(a, PUBLISHED_N_COLUMNS, sizeof *to);
    if (!to)
        return import_no_memory(msg);
    const enum err e = take_given(a, from, to, msg);
    if (e != ERR_OK)
        return e;
    take_times(a, times, to);
    to[import_place("source")] = from->source;
    to[import_place("ref")] = from->ref;
    to[import_place("measured")] = "1";
    if (!to[import_place("exclude")])
        to[import_place("exclude")] = "0";
    *out = (struct import_rows){to, 1};
    return *import_get(out, 0, "id") ? ERR_OK
                                     : err_set(msg, ERR_PARSE,
                                               "--column: id is missing: want "
                                               "--column id=NAME");
}

/* ---- into the dataset ---- */

/* What a reader needs to look a figure up. */
static enum err check_rows(const struct import_rows *rows, struct err_msg *msg)
{
    static const char *const needed[] = {"id", "ref"};
    for (size_t r = 0; r < rows->n; r++) {
        double step = 0;
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
            if (!*import_get(rows, r, needed[i]))
                return err_set(msg, ERR_PARSE,
                               "row %zu: no %s: want where each figure is from",
                               r + 1, needed[i]);
        // a run that gave no time (out of memory) may be a row all the same
        if (*import_get(rows, r, "step_s") &&
            (!text_to_double(import_get(rows, r, "step_s"), &step) ||
             step <= 0))
            return err_set(
                msg, ERR_PARSE, "row '%s': step_s: got '%s', want seconds",
                import_get(rows, r, "id"), import_get(rows, r, "step_s"));
    }
    return ERR_OK;
}

static bool has_id(const struct import_rows *rows, const char *id)
{
    for (size_t r = 0; r < rows->n; r++)
        if (strcmp(import_get(rows, r, "id"), id) == 0)
            return true;
    return false;
}

/* The format stands before the columns. */
static bool import_row_out(FILE *out, const struct import_rows *rows, size_t r)
{
    const char *field[IMPORT_MOST_COLUMNS + 1] = {PUBLISHED_FORMAT};
    memcpy(field + 1, rows->field + r * PUBLISHED_N_COLUMNS,
           PUBLISHED_N_COLUMNS * sizeof *field);
    return csv_write_row(out, field, PUBLISHED_N_COLUMNS + 1);
}

/* Old rows first, in their order, but for those that come again. */
static enum err write_rows(const char *path, const struct import_rows *old,
                           const struct import_rows *rows, struct err_msg *msg)
{
    const char *header[IMPORT_MOST_COLUMNS + 1] = {"format"};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return import_no_memory(msg);
    for (size_t i = 0; i < PUBLISHED_N_COLUMNS; i++)
        header[i + 1] = PUBLISHED_COLUMNS[i];
    bool ok = csv_write_row(out, header, PUBLISHED_N_COLUMNS + 1);
    for (size_t r = 0; r < old->n && ok; r++)
        if (!has_id(rows, import_get(old, r, "id")))
            ok = import_row_out(out, old, r);
    for (size_t r = 0; r < rows->n && ok; r++)
        ok = import_row_out(out, rows, r);
    ok = fclose(out) == 0 && ok;
    const enum err e =
        ok ? text_write_file(path, text, len, msg) : import_no_memory(msg);
    free(text);
    return e;
}

/* All rows are checked before a file is touched. Rows of an id that is there
 * already are replaced, so that an import can be done again. */
enum err import_write(struct arena *a, const char *dir,
                      const struct published_dataset *d,
                      const struct import_rows *rows, struct err_msg *msg)
{
    const char *path = published_rows_path(a, dir);
    const struct import_csv again = {path, d->source, NULL};
    struct import_rows old = {NULL, 0};
    if (!path)
        return import_no_memory(msg);
    enum err e = check_rows(rows, msg);
    if (e == ERR_OK && access(path, F_OK) == 0)
        e = import_csv(a, &again, &old, msg);
    if (e == ERR_OK)
        e = published_dataset_write(a, dir, d, msg);
    return e == ERR_OK ? write_rows(path, &old, rows, msg) : e;
}
