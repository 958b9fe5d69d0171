#include "halves_tables.h"

#include "cells.h"

#include <math.h>
#include <string.h>

static bool halves_is_proved(const struct csv *t, size_t row)
{
    return !csv_is(t, row, "proof", "gap");
}

static void halves_proof(FILE *out, const struct csv *t, size_t row)
{
    if (halves_is_proved(t, row))
        fprintf(out, " | %s", csv_text(t, row, "proof"));
    else
        fprintf(out, " | gap %.1f%%", csv_double(t, row, "gap_pct"));
}

/* The fastest step of a search: its row's own may be a tie, up to half a
 * percent slower. */
static double halves_fastest_ms(const struct csv *t, size_t row)
{
    return csv_double(t, row,
                      halves_is_proved(t, row) ? "bound_ms" : "pred_step_ms");
}

/* Least and most that the gain can be, given what is proved of both. */
static void halves_gain(FILE *out, const struct csv *t, size_t planner,
                        size_t whole)
{
    const double with_ms = halves_fastest_ms(t, planner);
    const double without_ms = halves_fastest_ms(t, whole);
    const double low = halves_is_proved(t, whole)
                           ? without_ms
                           : csv_double(t, whole, "bound_ms");
    const double high = halves_is_proved(t, planner)
                            ? with_ms
                            : csv_double(t, planner, "bound_ms");
    const double least = 100 * (low / with_ms - 1);
    const double most = 100 * (without_ms / high - 1);
    if (halves_is_proved(t, planner) && halves_is_proved(t, whole))
        fprintf(out, " | %.2f |\n", fabs(least) < 0.005 ? 0 : least);
    else
        fprintf(out, " | %.2f to %.2f |\n", fmax(least, 0), most);
}

/* The names of these experiments begin with what they have in common, which the
 * table need not repeat. */
static void halves_row(FILE *out, const struct csv *t, size_t planner,
                       size_t whole)
{
    const char *name = csv_text(t, planner, "experiment");
    const char *dash = strchr(name, '-');
    fputs("| ", out);
    cell_text(out, dash ? dash + 1 : name);
    fprintf(out, " | PP%s VPP%s | %s | ", csv_text(t, planner, "pp"),
            csv_text(t, planner, "vpp"), csv_text(t, planner, "n_mb"));
    cell_number(out, halves_fastest_ms(t, planner), 1);
    halves_proof(out, t, planner);
    fputs(" | ", out);
    cell_number(out, halves_fastest_ms(t, whole), 1);
    halves_proof(out, t, whole);
    halves_gain(out, t, planner, whole);
}

/* The planner's row of a way stands before the others of it. */
static void halves_rows(FILE *out, const struct csv *t)
{
    size_t planner = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        if (csv_is(t, i, "who", "planner"))
            planner = i;
        if (csv_is(t, i, "who", "whole-layers"))
            halves_row(out, t, planner, i);
    }
}

/* Over all data sets that hold searches. */
enum err halves_tables_print(struct arena *a,
                             const struct report_source *source, FILE *out,
                             struct err_msg *msg)
{
    struct report_sources from;
    const struct report_find find = {source->dir, ""};
    fputs("| model | split | micro-batches | cuts inside layers: step ms | "
          "proof | between whole layers: step ms | proof | gain % "
          "|\n|---|---|--:|--:|---|--:|---|--:|\n",
          out);
    enum err e = report_find_sources(a, &find, &from, msg);
    for (int i = 0; e == ERR_OK && i < from.n; i++) {
        struct csv t;
        if (!report_source_has(a, &from.source[i], "recipes.csv"))
            continue;
        e = report_source_read(a, &from.source[i],
                               &(struct source_file){"recipes.csv", "gap_pct"},
                               &t, msg);
        if (e == ERR_OK)
            halves_rows(out, &t);
    }
    return e;
}
