/*
 * How it works: each table is one pass over the rows of its file.
 */
#include "study_tables.h"

#include "cells.h"

#include <math.h>
#include <string.h>

/* Numbers of studies.csv are counts, ratios or percents, or layouts. */
static void print_value(FILE *out, const struct csv *t, size_t row,
                        const char *column)
{
    double x = NAN;
    const char *text = csv_text(t, row, column);
    if (csv_get_double(t, row, column, &x))
        fprintf(out, "%.*f", x == floor(x) && fabs(x) > 1 ? 0 : 2, x);
    else
        cell_text(out, *text ? text : "-");
}

void study_tables_studies(FILE *out, const struct csv *t)
{
    fputs("| study | figure | kind | published | computed | measured | note "
          "|\n|---|---|---|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fprintf(out, "| %s | ", csv_text(t, i, "study"));
        cell_field(out, t, i, "what");
        fprintf(out, " | %s | ", csv_text(t, i, "kind"));
        print_value(out, t, i, "published");
        fputs(" | ", out);
        print_value(out, t, i, "computed");
        fputs(" | ", out);
        print_value(out, t, i, "measured");
        fputs(" | ", out);
        cell_field(out, t, i, "note");
        fputs(" |\n", out);
    }
}

/* What the rows could say of the constant. */
static const char *told_of(const struct csv *t, size_t row)
{
    if (csv_is(t, row, "told", "0"))
        return "not told apart";
    return csv_is(t, row, "at_least", "1") ? "at its least" : "fitted";
}

/* Seconds are shown in microseconds; others as the share of the peak, too. */
void study_tables_constants(FILE *out, const struct csv *t)
{
    fputs("| constant | value | +- (se) | share of the peak | of it | what "
          "|\n|---|--:|--:|--:|---|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *name = csv_text(t, i, "constant");
        const double scale = strstr(name, "_s") ? 1e6 : 1;
        const double x = csv_double(t, i, "fitted");
        const double se = csv_double(t, i, "se");
        fputs("| ", out);
        cell_text(out, name);
        fprintf(out, " | %.3g%s | %.2g | ", scale * x, scale > 1 ? " us" : "",
                scale * se);
        if (scale > 1 || !(x >= 1))
            putc('-', out);
        else
            fprintf(out, "%.0f%%", 100 / x);
        fprintf(out, " | %s | %s |\n", told_of(t, i), csv_text(t, i, "what"));
    }
}

void study_tables_errors(FILE *out, const struct csv *t)
{
    static const char *const columns[] = {"mean_pct", "median_pct", "worst_pct",
                                          "bias_pct"};
    fputs("| source | rows | n | mean % | median % | worst % | bias % |\n"
          "|---|---|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        cell_field(out, t, i, "source");
        fprintf(out, " | %s | %s |", csv_text(t, i, "use"),
                csv_text(t, i, "n"));
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
            putc(' ', out);
            cell_print(out, t, i, columns[k], 1);
            fputs(" |", out);
        }
        putc('\n', out);
    }
}

/* A layout is judged by three sorts of costs, of which a case may lack the
 * measured ones. */
void study_tables_plans(FILE *out, const struct csv *t)
{
    static const char *const columns[] = {"by_flops_pct", "by_roofline_pct",
                                          "by_measured_pct"};
    fputs("| experiment | card | split | layout of | layout | slower by FLOPs "
          "% | by the roofline % | by measured % | m/t | L/t |\n"
          "|---|---|---|---|---|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        cell_field(out, t, i, "experiment");
        fprintf(out, " | %s | PP%s VPP%s | %s | ", csv_text(t, i, "card"),
                csv_text(t, i, "pp"), csv_text(t, i, "vpp"),
                csv_text(t, i, "who"));
        cell_field(out, t, i, "layout");
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
            fputs(" | ", out);
            cell_print(out, t, i, columns[k], 2);
        }
        fputs(" | ", out);
        cell_print(out, t, i, "m_over_t", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "l_over_t", 2);
        fputs(" |\n", out);
    }
}
