/*
 * How it works: each table is one pass over the rows of its file, in their own
 * order. Predicted and measured stand side by side, never in one column.
 */
#include "experiment_tables.h"

#include "cells.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Nothing where there is no interval: a single round, an old file. */
static void print_interval(FILE *out, const struct csv *t, size_t row,
                           const char *lo, const char *hi)
{
    double x, y;
    if (csv_get_double(t, row, lo, &x) && csv_get_double(t, row, hi, &y))
        fprintf(out, " [%.1f, %.1f]", x, y);
}

/* Predicted and measured side by side, each with its interval. */
void experiment_tables_layouts(FILE *out, const struct csv *t)
{
    fputs("| role | layout | predicted ms | measured ms [95%] | error % | "
          "replay % | speedup predicted | speedup measured | rounds | source "
          "|\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        cell_field(out, t, i, "role");
        fputs(" | ", out);
        cell_field(out, t, i, "layout");
        fputs(" | ", out);
        cell_print(out, t, i, "pred_step_ms", 1);
        print_interval(out, t, i, "pred_lo_ms", "pred_hi_ms");
        fputs(" | ", out);
        cell_print(out, t, i, "meas_step_ms", 1);
        print_interval(out, t, i, "meas_lo_ms", "meas_hi_ms");
        fputs(" | ", out);
        cell_print(out, t, i, "step_error_pct", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "replay_error_pct", 3);
        fputs(" | ", out);
        cell_print(out, t, i, "pred_speedup", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "meas_speedup", 2);
        fputs(" | ", out);
        cell_field(out, t, i, "n_rounds");
        fputs(" | ", out);
        cell_field(out, t, i, "source");
        fputs(" |\n", out);
    }
}

/* Times of one micro-batch; memory errors of the largest rank. */
void experiment_tables_stages(FILE *out, const struct csv *t)
{
    fputs("| role | stage | units | forward ms predicted | measured | backward "
          "ms predicted | measured | memory error % | in flight |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        cell_field(out, t, i, "role");
        fputs(" | ", out);
        cell_field(out, t, i, "stage");
        fputs(" | ", out);
        cell_field(out, t, i, "units");
        fputs(" | ", out);
        cell_print(out, t, i, "pred_fwd_ms", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "meas_fwd_ms", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "pred_bwd_ms", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "meas_bwd_ms", 2);
        fputs(" | ", out);
        cell_print(out, t, i, "mem_error_pct", 1);
        fputs(" | ", out);
        cell_print(out, t, i, "in_flight", 0);
        fputs(" |\n", out);
    }
}

/* What the spread of single operations adds to a step. */
void experiment_tables_jitter(FILE *out, const struct csv *t)
{
    fputs("| role | layout | stages within 2% of the slowest | step of mean "
          "times, ms | expected step, ms | more % |\n"
          "|---|---|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        double mean = NAN, expected = NAN;
        csv_get_double(t, i, "mean_step_ms", &mean);
        csv_get_double(t, i, "expected_step_ms", &expected);
        fputs("| ", out);
        cell_field(out, t, i, "role");
        fputs(" | ", out);
        cell_field(out, t, i, "layout");
        fputs(" | ", out);
        cell_field(out, t, i, "near_bottleneck");
        fputs(" | ", out);
        cell_print(out, t, i, "mean_step_ms", 1);
        fputs(" | ", out);
        cell_print(out, t, i, "expected_step_ms", 1);
        if (isfinite(expected / mean))
            fprintf(out, " | %.2f |\n", 100 * (expected / mean - 1));
        else
            fputs(" | - |\n", out);
    }
}

/* Runs of one status. */
static size_t count_status(const struct csv *t, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++)
        n += csv_is(t, i, "status", status);
    return n;
}

/* How many runs count, and where they were made. */
void experiment_tables_runs(FILE *out, const struct csv *t)
{
    // each with its number: what was left out belongs to a result
    static const char *const bad[] = {"invalid", "failed", "oom", "nan",
                                      "timeout"};
    fprintf(out, "%zu runs, %zu valid", t->n_rows, count_status(t, "valid"));
    for (size_t i = 0; i < COUNT(bad); i++)
        if (count_status(t, bad[i]) > 0)
            fprintf(out, ", %zu %s (left out)", count_status(t, bad[i]),
                    bad[i]);
    if (t->n_rows > 0)
        fprintf(out, "; %s, %s clock, launcher %s, on %s; commit %.12s, %.10s",
                csv_text(t, 0, "source"), csv_text(t, 0, "clock"),
                csv_text(t, 0, "launcher"), csv_text(t, 0, "hardware"),
                csv_text(t, 0, "commit"), csv_text(t, 0, "started_utc"));
    fputs(".\n", out);
}

/* Which runs are not in the figures, and why: nobody need look for them. */
void experiment_tables_dropped(FILE *out, const struct csv *t)
{
    if (count_status(t, "valid") == t->n_rows) {
        fprintf(out, "None of %zu.\n", t->n_rows);
        return;
    }
    fputs("| run | round | role | layout | status | reason |\n"
          "|---|--:|---|---|---|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        if (csv_is(t, i, "status", "valid"))
            continue;
        static const char *const columns[] = {"run_id", "round",  "role",
                                              "layout", "status", "reason"};
        for (size_t k = 0; k < COUNT(columns); k++) {
            fputs("| ", out);
            cell_field(out, t, i, columns[k]);
            putc(' ', out);
        }
        fputs("|\n", out);
    }
}

/* Fitted seconds with their standard errors beside what FLOPs say. */
void experiment_tables_units(FILE *out, const struct csv *t)
{
    double layer = NAN; // forward and backward of a decoder layer
    for (size_t i = 0; i < t->n_rows && !isfinite(layer); i++)
        if (csv_is(t, i, "kind", "t"))
            layer = csv_double(t, i, "fwd_ms") + csv_double(t, i, "bwd_ms");
    fputs("| kind | forward ms | +- (se) | backward ms | +- (se) | in decoder "
          "layers | by FLOPs |\n|---|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        static const char *const columns[] = {"fwd_ms", "fwd_se_ms", "bwd_ms",
                                              "bwd_se_ms"};
        fputs("| ", out);
        cell_field(out, t, i, "kind");
        for (size_t k = 0; k < COUNT(columns); k++) {
            fputs(" | ", out);
            cell_print(out, t, i, columns[k], 3);
        }
        fputs(" | ", out);
        cell_number(out,
                    (csv_double(t, i, "fwd_ms") + csv_double(t, i, "bwd_ms")) /
                        layer,
                    2);
        fputs(" | ", out);
        cell_number(out,
                    (csv_double(t, i, "flops_fwd_ms") +
                     csv_double(t, i, "flops_bwd_ms")) /
                        layer,
                    2);
        fputs(" |\n", out);
    }
}
