/*
 * How it works: what is missing is an empty table, an empty text or NAN, so
 * that callers list columns without asking for each.
 */
#include "fields.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum err fields_read(struct arena *a, const char *dir, const char *name,
                     struct csv *out, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    *out = (struct csv){.where = path};
    if (!path)
        return err_set(msg, ERR_NOMEM, "page: out of memory");
    return access(path, F_OK) == 0 ? csv_read_file(a, path, out, msg) : ERR_OK;
}

const char *fields_text(const struct csv *t, size_t row, const char *column)
{
    const char *text = row < t->n_rows ? csv_get(t, row, column) : NULL;
    return text ? text : "";
}

double fields_number(const struct csv *t, size_t row, const char *column)
{
    double x = NAN;
    if (row < t->n_rows)
        csv_get_double(t, row, column, &x);
    return x;
}

void fields_facts(struct sheet_facts *f, const struct csv *t, size_t row,
                  const struct fields_fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = fields_number(t, row, facts[i].column);
        sheet_fact(f, facts[i].name,
                   facts[i].digits >= 0 && isfinite(x)
                       ? arena_printf(f->sheet->a, "%.*f", facts[i].digits, x)
                       : fields_text(t, row, facts[i].column));
    }
}
