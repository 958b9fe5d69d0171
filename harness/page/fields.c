#include "fields.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* `where` is set also of a file that is not there: messages name it. */
enum err fields_read(struct arena *a, const char *dir, const char *name,
                     struct csv *out, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    *out = (struct csv){.where = path};
    if (!path)
        return err_set(msg, ERR_NOMEM, "page: out of memory");
    return access(path, F_OK) == 0 ? csv_read_file(a, path, out, msg) : ERR_OK;
}

/* A text that is no number is shown as it is, whatever its digits. */
void fields_facts(struct sheet_facts *f, const struct csv *t, size_t row,
                  const struct fields_fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = csv_double(t, row, facts[i].column);
        sheet_fact(f, facts[i].name,
                   facts[i].digits >= 0 && isfinite(x)
                       ? arena_printf(f->sheet->a, "%.*f", facts[i].digits, x)
                       : csv_text(t, row, facts[i].column));
    }
}
