#include "cells.h"

#include <math.h>
#include <string.h>

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

void cell_field(FILE *out, const struct csv *t, size_t row, const char *column)
{
    cell_text(out, csv_text(t, row, column));
}

/* A dash for what is not known: an empty cell looks like a slip. */
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
    cell_number(out, csv_double(t, row, column), digits);
}
