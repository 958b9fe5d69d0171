#include "cells.h"

#include <math.h>
#include <string.h>

const char *cell_field(const struct csv *t, size_t row, const char *column)
{
    const char *x = csv_get(t, row, column);
    return x ? x : "";
}

double cell_value(const struct csv *t, size_t row, const char *column)
{
    double x = NAN;
    return csv_get_double(t, row, column, &x) ? x : (double)NAN;
}

bool cell_is(const struct csv *t, size_t row, const char *column,
             const char *text)
{
    return strcmp(cell_field(t, row, column), text) == 0;
}

/* A layout's bars would end the cell, its stars and underscores begin
 * emphasis; a line break would end the row. */
void cell_text(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        if (strchr("|*_", *text))
            putc('\\', out);
        putc(strchr("\r\n", *text) ? ' ' : *text, out);
    }
}

void cell_number(FILE *out, double x, int digits)
{
    if (isfinite(x))
        fprintf(out, "%.*f", digits, x);
    else
        putc('-', out);
}

void cell_print(FILE *out, const struct csv *t, size_t row, const char *column,
                int digits)
{
    cell_number(out, cell_value(t, row, column), digits);
}
