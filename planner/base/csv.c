/*
 * How it works: libcsv calls back for each field and each row's end. Fields go
 * to one long array, row by row, the header first; the table is a view of it.
 * Texts stand behind one another in a room as large as the file.
 * Lookups compare column names: tables have some dozen columns, and rows are
 * read once.
 */
#include "csv.h"

#include "file.h"
#include "text.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// operations of a long run of many stages: some 10 MB; more is a wrong file
enum { CSV_MAX_FILE_BYTES = 256 << 20 };

struct reader {
    const char **fields; // of the arena, as its texts
    char *text;          // of the next field
    size_t n_fields;
    size_t n_columns; // 0 until the header's end was seen
    size_t row, in_row;
    bool ragged;
};

/* Fields and their texts take no more than csv_room() made, whatever the file
 * holds. */
static void on_field(void *text, size_t len, void *data)
{
    struct reader *r = data;
    if (text)
        memcpy(r->text, text, len);
    r->fields[r->n_fields++] = r->text;
    r->text += (text ? len : 0) + 1;
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

/* The first that explains the others. */
static enum err csv_check(const struct reader *r, const char *path, bool parsed,
                          struct err_msg *msg)
{
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

/* Every field but the last ends with a comma or a line's end, and its text is
 * no longer than what stands in the file: both are bounds. */
static bool csv_room(struct arena *a, const struct text_span *text,
                     struct reader *out)
{
    size_t n = 1;
    for (size_t i = 0; i < text->len; i++) {
        const char c = text->data[i];
        n += c == ',' || c == '\n' || c == '\r';
    }
    out->fields = arena_alloc(a, n, sizeof *out->fields);
    out->text = arena_alloc(a, text->len + 1, 1);
    return out->fields && out->text;
}

/* libcsv makes its room for a field longer in steps: one that holds any field
 * of the file, since small ones are taken again and again. */
static enum err csv_parse_text(const struct text_span *text, struct reader *r,
                               const char *path, struct err_msg *msg)
{
    struct csv_parser parser;
    // strict: a quote inside a field without quotes is an error, not text
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    csv_set_blk_size(&parser, text->len + 1);
    bool parsed = csv_parse(&parser, text->data, text->len, on_field,
                            on_row_end, r) == text->len;
    parsed = parsed && csv_fini(&parser, on_field, on_row_end, r) == 0;
    bool nomem = csv_error(&parser) == CSV_ENOMEM;
    csv_free(&parser);
    return nomem ? err_set(msg, ERR_NOMEM, "%s: out of memory", path)
                 : csv_check(r, path, parsed, msg);
}

enum err csv_read_file(struct arena *a, const char *path, struct csv *out,
                       struct err_msg *msg)
{
    struct text_span text;
    enum err e = text_read_file(a, path, CSV_MAX_FILE_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    struct reader r = {0};
    char *where = arena_strdup(a, path);
    if (!csv_room(a, &text, &r) || !where)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    e = csv_parse_text(&text, &r, path, msg);
    if (e != ERR_OK)
        return e;
    // names are the first row
    *out = (struct csv){.where = where,
                        .n_columns = r.n_columns,
                        .n_rows = r.row - 1,
                        .names = r.fields,
                        .fields = r.fields + r.n_columns};
    return ERR_OK;
}

const char *csv_get(const struct csv *t, size_t row, const char *column)
{
    for (size_t c = 0; c < t->n_columns && row < t->n_rows; c++)
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

const char *csv_text(const struct csv *t, size_t row, const char *column)
{
    const char *field = csv_get(t, row, column);
    return field ? field : "";
}

double csv_double(const struct csv *t, size_t row, const char *column)
{
    double x = NAN;
    return csv_get_double(t, row, column, &x) ? x : (double)NAN;
}

bool csv_is(const struct csv *t, size_t row, const char *column,
            const char *text)
{
    return strcmp(csv_text(t, row, column), text) == 0;
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

enum err csv_replace_file(const char *path, const char *text, size_t len,
                          struct err_msg *msg)
{
    if (!file_is_ours(path, "format,"))
        return err_set(msg, ERR_RANGE,
                       "%s: is there and no table of this program (its first "
                       "column is not 'format'), so it is not replaced; want a "
                       "name that is free",
                       path);
    return text_write_file(path, text, len, msg);
}
