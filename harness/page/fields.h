/*
 * fields: CSV files as the page needs them: a file that is not there is as an
 * empty one, since older results lack some, and callers list columns without
 * asking for each.
 */
#ifndef PAGE_FIELDS_H
#define PAGE_FIELDS_H

#include "base/csv.h"
#include "sheet.h"

/* Reads DIR/NAME; a missing file has no rows. ERR_PARSE for one that is
 * damaged. Owned by the arena. */
enum err fields_read(struct arena *a, const char *dir, const char *name,
                     struct csv *out, struct err_msg *msg);

/* A line of a detail: its name, the column, and to how many digits behind the
 * point its number is rounded (FIELDS_AS_IT_IS: not at all). */
enum { FIELDS_AS_IT_IS = -1 };
struct fields_fact {
    const char *name, *column;
    int digits;
};

/* Adds those that the row has. */
void fields_facts(struct sheet_facts *f, const struct csv *t, size_t row,
                  const struct fields_fact *facts, size_t n);

#endif
