/*
 * How it works: both tables are one pass over the rows of the file, in its own
 * order. A line of the ratios gathers all rows of one way, EP overlap and m/t:
 * for some hundred rows looking through the file for each of them is quick.
 */
#include "recipes_tables.h"

#include "cells.h"

#include <math.h>
#include <stdbool.h>

static const double GIB = 1024.0 * 1024.0 * 1024.0;

enum { MAX_RATIOS = 16 }; // as manifest/planning.c takes

/* Whole numbers and ratios as the same program wrote them: equal is equal. */
static bool recipes_tables_is(const struct csv *t, size_t row,
                              const char *column, double x)
{
    return csv_double(t, row, column) == x;
}

/* Of no more than rounding it is none, not "-0.00". */
static double recipes_tables_pct(double x)
{
    return fabs(x) < 0.005 ? 0 : x;
}

/* How much slower than the planner's a layout is. Without a proof it lies
 * between the best that was found and the bound. */
static void recipes_tables_gap(FILE *out, const struct csv *t, size_t row)
{
    double hi = recipes_tables_pct(csv_double(t, row, "gap_pct"));
    double lo = 100 * (csv_double(t, row, "pred_step_ms") /
                           csv_double(t, row, "planner_step_ms") -
                       1);
    if (!csv_is(t, row, "proof", "gap"))
        fprintf(out, "%.2f", hi);
    else // the best layout found may be the optimum, or the bound may be
        fprintf(out, "%.2f to %.2f", recipes_tables_pct(fmax(lo, 0)), hi);
}

static void recipes_tables_way(FILE *out, const struct csv *t, size_t row)
{
    fprintf(out, "| PP%s VPP%s | %s | ", csv_text(t, row, "pp"),
            csv_text(t, row, "vpp"),
            recipes_tables_is(t, row, "ep_overlap", 1) ? "yes" : "no");
}

/* ---- by FLOPs ---- */

/* True for two layouts, not the planner's, of one case that are the same. */
static bool recipes_tables_same(const struct csv *t, size_t i, size_t j)
{
    static const char *const columns[] = {"way", "ep_overlap", "grid",
                                          "layout"};
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
        if (!csv_is(t, i, columns[k], csv_text(t, j, columns[k])))
            return false;
    return !csv_is(t, i, "who", "planner") && !csv_is(t, j, "who", "planner");
}

/* Everyone whose layout this is; false where an earlier row has said so. */
static bool recipes_tables_who(FILE *out, const struct csv *t, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (recipes_tables_same(t, i, row))
            return false;
    recipes_tables_way(out, t, row);
    fputs(csv_text(t, row, "who"), out);
    for (size_t i = row + 1; i < t->n_rows; i++)
        if (recipes_tables_same(t, i, row))
            fprintf(out, ", %s", csv_text(t, i, "who"));
    fputs(" | ", out);
    return true;
}

/* Refused layouts stay in the table, with the reason. */
static void recipes_tables_row(FILE *out, const struct csv *t, size_t row)
{
    if (*csv_text(t, row, "reason")) {
        recipes_tables_way(out, t, row);
        fputs("- | refused: ", out);
        cell_field(out, t, row, "reason");
        fputs(" | - | - | - |\n", out);
        return;
    }
    if (!recipes_tables_who(out, t, row))
        return;
    cell_field(out, t, row, "layout");
    fprintf(out, " | %.1f | ", csv_double(t, row, "pred_step_ms"));
    recipes_tables_gap(out, t, row);
    fprintf(out, " | %.1f |\n",
            csv_double(t, row, "worst_rank_mem_bytes") / GIB);
}

/* The layouts themselves; those of a grid of ratios have the table below. */
void recipes_tables_print(FILE *out, const struct csv *t)
{
    fputs("| split | EP overlap | layout of | layout | step ms | gap % | "
          "fullest rank GiB |\n|---|---|---|---|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++)
        if (recipes_tables_is(t, i, "grid", 0))
            recipes_tables_row(out, t, i);
}

/* ---- ratios ---- */

/* The L/t of the file, in the order of their first rows. */
static int recipes_tables_ratios(const struct csv *t, double x[MAX_RATIOS])
{
    int n = 0;
    for (size_t i = 0; i < t->n_rows && n < MAX_RATIOS; i++) {
        double l = csv_double(t, i, "l_over_t");
        bool is_new = recipes_tables_is(t, i, "grid", 1) && isfinite(l);
        for (int k = 0; k < n; k++)
            is_new = is_new && x[k] != l;
        if (is_new)
            x[n++] = l;
    }
    return n;
}

/* True for rows of one line of the table: way, EP overlap and m/t. */
static bool recipes_tables_alike(const struct csv *t, size_t i, size_t j)
{
    static const char *const columns[] = {"way", "ep_overlap", "grid",
                                          "m_over_t"};
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
        if (!csv_is(t, i, columns[k], csv_text(t, j, columns[k])))
            return false;
    return true;
}

/* Range of the fullest rank's memory over the rows like `row` that are
 * compared, or the planner's. */
static void recipes_tables_memory(FILE *out, const struct csv *t, size_t row,
                                  bool compared)
{
    double lo = INFINITY, hi = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        double x = csv_double(t, i, "worst_rank_mem_bytes") / GIB;
        bool planner = csv_is(t, i, "who", "planner");
        if (!recipes_tables_alike(t, i, row) ||
            (compared ? !recipes_tables_is(t, i, "compared", 1) : !planner))
            continue;
        lo = fmin(lo, x);
        hi = fmax(hi, x);
    }
    // one number where both would be printed alike
    if (hi - lo < 0.05)
        fprintf(out, "%.1f |", hi);
    else
        fprintf(out, "%.1f to %.1f |", lo, hi);
}

/* A row a way, EP overlap and m/t, with the gap at each ratio of L; where a
 * ratio was not searched the cell is empty. */
static void recipes_tables_line(FILE *out, const struct csv *t, size_t row,
                                const double *l, int n)
{
    double m = csv_double(t, row, "m_over_t");
    recipes_tables_way(out, t, row);
    fprintf(out, "%s | ", csv_text(t, row, "who"));
    // a model without MTP has no such ratio
    if (isfinite(m))
        fprintf(out, "%g |", m);
    else
        fputs("- |", out);
    for (int k = 0; k < n; k++) {
        putc(' ', out);
        for (size_t i = row; i < t->n_rows; i++)
            if (recipes_tables_alike(t, i, row) &&
                recipes_tables_is(t, i, "compared", 1) &&
                recipes_tables_is(t, i, "l_over_t", l[k]))
                recipes_tables_gap(out, t, i);
        fputs(" |", out);
    }
    putc(' ', out);
    recipes_tables_memory(out, t, row, true);
    putc(' ', out);
    recipes_tables_memory(out, t, row, false);
    putc('\n', out);
}

/* A line begins with its first compared row. */
static bool recipes_tables_begins(const struct csv *t, size_t row)
{
    if (!recipes_tables_is(t, row, "grid", 1) ||
        !recipes_tables_is(t, row, "compared", 1))
        return false;
    for (size_t i = 0; i < row; i++)
        if (recipes_tables_alike(t, i, row) &&
            recipes_tables_is(t, i, "compared", 1))
            return false;
    return true;
}

/* The ratios are columns, and which there are is told by the rows. */
void recipes_tables_print_ratios(FILE *out, const struct csv *t)
{
    double l[MAX_RATIOS];
    const int n = recipes_tables_ratios(t, l);
    fputs("| split | EP overlap | layout of | m/t |", out);
    for (int k = 0; k < n; k++)
        fprintf(out, " gap %% at L/t %g |", l[k]);
    fputs(" its fullest rank GiB | the planner's |\n|---|---|---|--:|", out);
    for (int k = 0; k < n + 2; k++)
        fputs("--:|", out);
    putc('\n', out);
    for (size_t i = 0; i < t->n_rows; i++)
        if (recipes_tables_begins(t, i))
            recipes_tables_line(out, t, i, l, n);
}
