/*
 * How it works: libcsv calls back for each field and each row's end. Fields go
 * to one long array, row by row, the header first; the table is a view of it.
 * Lookups compare column names: tables have some dozen columns, and rows are
 * read once.
 */
#include "csv.h"

#include "text.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// operations of a long run of many stages: some 10 MB; more is a wrong file
enum { CSV_MAX_FILE_BYTES = 256 << 20 };

struct reader {
    struct arena *arena;
    const char **fields; // heap
    size_t n_fields, cap;
    size_t n_columns; // 0 until the header's end was seen
    size_t row, in_row;
    bool nomem, ragged;
};

/* An error cannot be returned through libcsv: it is noted, and reading goes on.
 * The array is the heap's, since it grows; its texts are the arena's. */
static void on_field(void *text, size_t len, void *data)
{
    struct reader *r = data;
    if (r->n_fields == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 1024;
        const char **bigger = realloc(r->fields, cap * sizeof *bigger);
        if (!bigger) {
            r->nomem = true;
            return;
        }
        r->fields = bigger;
        r->cap = cap;
    }
    char *copy = arena_strndup(r->arena, text ? text : "", text ? len : 0);
    r->nomem = r->nomem || !copy;
    r->fields[r->n_fields++] = copy;
    r->in_row++;
}

/* The header's row sets the number of columns; the first row that differs stops
 * the count, so that the message can name it. */
static void on_row_end(int terminator, void *data)
{
    (void)terminator;
    struct reader *r = data;
    if (r->row == 0)
        r->n_columns = r->in_row;
    if (r->in_row != r->n_columns)
        r->ragged = true;
    if (!r->ragged)
        r->row++;
    r->in_row = 0;
}

/* In the order of certainty: a failure to get memory also makes rows look
 * ragged. */
static enum err csv_check(const struct reader *r, const char *path, bool parsed,
                          struct err_msg *msg)
{
    if (r->nomem)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    if (r->ragged)
        return err_set(msg, ERR_PARSE,
                       "%s: row %zu: number of fields differs from the "
                       "header's %zu",
                       path, r->row + 1, r->n_columns);
    if (!parsed)
        return err_set(msg, ERR_PARSE, "%s: row %zu: quotes do not match", path,
                       r->row + 1);
    if (r->row == 0)
        return err_set(msg, ERR_PARSE, "%s: empty, want a header", path);
    return ERR_OK;
}

/* The heap's array is copied once its size is known; names are its first row.
 */
static enum err csv_keep(struct reader *r, const char *path, struct csv *out,
                         struct err_msg *msg)
{
    const char **all = arena_alloc(r->arena, r->n_fields, sizeof *all);
    char *where = arena_strdup(r->arena, path);
    if (!all || !where)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    memcpy(all, r->fields, r->n_fields * sizeof *all);
    *out = (struct csv){.where = where,
                        .n_columns = r->n_columns,
                        .n_rows = r->row - 1,
                        .names = all,
                        .fields = all + r->n_columns};
    return ERR_OK;
}

enum err csv_read_file(struct arena *a, const char *path, struct csv *out,
                       struct err_msg *msg)
{
    struct text_span text;
    enum err e = text_read_file(a, path, CSV_MAX_FILE_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    struct reader r = {.arena = a};
    // strict: a quote inside a field without quotes is an error, not text
    bool parsed = csv_parse(&parser, text.data, text.len, on_field, on_row_end,
                            &r) == text.len;
    parsed = parsed && csv_fini(&parser, on_field, on_row_end, &r) == 0;
    csv_free(&parser);
    e = csv_check(&r, path, parsed, msg);
    if (e == ERR_OK)
        e = csv_keep(&r, path, out, msg);
    free(r.fields);
    return e;
}

const char *csv_get(const struct csv *t, size_t row, const char *column)
{
    for (size_t c = 0; c < t->n_columns; c++)
        if (strcmp(t->names[c], column) == 0)
            return t->fields[row * t->n_columns + c];
    return NULL;
}

bool csv_get_double(const struct csv *t, size_t row, const char *column,
                    double *out)
{
    const char *field = csv_get(t, row, column);
    return field && text_to_double(field, out);
}

bool csv_write_row(FILE *out, const char *const *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        const char *f = fields[i] ? fields[i] : "";
        if (i && fputc(',', out) == EOF)
            return false;
        // libcsv drops blanks at the ends of a field without quotes
        bool quote = strpbrk(f, ",\"\r\n") || f[0] == ' ' || text_ends(f, " ");
        if (quote ? csv_fwrite(out, f, strlen(f)) != 0 : fputs(f, out) < 0)
            return false;
    }
    return fputc('\n', out) != EOF;
}

const char *csv_number(double value, char buf[CSV_NUMBER_BYTES])
{
    if (!isfinite(value))
        return NULL;
    // 17 digits give back the same double
    snprintf(buf, CSV_NUMBER_BYTES, "%.17g", value);
    return buf;
}
