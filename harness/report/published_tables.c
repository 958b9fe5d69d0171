#include "published_tables.h"

#include "cells.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* "-" where there is no figure: nothing is to choose, nothing can be left out.
 */
static void published_tables_number(FILE *out, const struct csv *t, size_t row,
                                    const char *column)
{
    putc(' ', out);
    cell_print(out, t, row, column, 2);
    fputs(" |", out);
}

static void published_tables_name(FILE *out, const char *text)
{
    fputs("| ", out);
    cell_text(out, text);
    fputs(" |", out);
}

void published_tables_errors(FILE *out, const struct csv *t)
{
    static const char *const columns[] = {
        "mean_pct", "median_pct", "p90_pct", "worst_pct",
        "bias_pct", "regret_pct", "tau",     "left_out_pct"};
    fputs("| source | licence | fitted | to predict | covered | mean % | "
          "median % | 90th % | worst % | bias % | regret of the pick % | "
          "Kendall's tau | fitted rows, left out % |\n"
          "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        published_tables_name(out, csv_text(t, i, "source"));
        fprintf(out, " %s | %s | %s | %s |", csv_text(t, i, "licence"),
                csv_text(t, i, "n_fitted"), csv_text(t, i, "n"),
                csv_text(t, i, "n_covered"));
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
            published_tables_number(out, t, i, columns[k]);
        putc('\n', out);
    }
}

/* Does the term move a figure of the source? */
static bool published_tables_moves(const struct csv *t, size_t row)
{
    static const double LEAST = 0.005; // of what two digits show
    const double left = csv_double(t, row, "left_out_with_pct") -
                        csv_double(t, row, "left_out_without_pct");
    const double mean = csv_double(t, row, "mean_with_pct") -
                        csv_double(t, row, "mean_without_pct");
    return fabs(left) >= LEAST || fabs(mean) >= LEAST;
}

/* A source of which a term changes nothing has no row; the sum over all has one
 * always. */
void published_tables_terms(FILE *out, const struct csv *t)
{
    static const char *const columns[] = {"left_out_with_pct",
                                          "left_out_without_pct",
                                          "mean_with_pct", "mean_without_pct"};
    fputs("| term | default | source | fitted rows, left out: with % | without "
          "% | predicted rows: with % | without % |\n"
          "|---|---|---|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *source = csv_text(t, i, "source");
        const bool all = strcmp(source, "all") == 0;
        if (!all && !published_tables_moves(t, i))
            continue;
        fprintf(out, "| %s | %s ", csv_text(t, i, "term"),
                csv_double(t, i, "is_default") > 0 ? "yes" : "no");
        published_tables_name(out, source);
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
            published_tables_number(out, t, i, columns[k]);
        putc('\n', out);
    }
}
