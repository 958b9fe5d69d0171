/*
 * How it works: overview and costs are one pass over the folders of the
 * datasets, each asked for its summary; those without a layouts.csv only
 * planned, and are passed over.
 */
#include "reference_tables.h"

#include "base/reader.h"
#include "base/stats.h"
#include "cells.h"
#include "summary.h"

#include <math.h>
#include <stdlib.h>

/* ---- all experiments that ran ---- */

typedef enum err (*dataset_fn)(struct arena *a,
                               const struct report_source *source, FILE *out,
                               struct err_msg *msg);

/* Studies and published rows lie in the same folder; they have no layouts. */
static enum err each_dataset(struct arena *a, const char *root, dataset_fn f,
                             FILE *out, struct err_msg *msg)
{
    struct report_sources from;
    const struct report_find find = {root, ""};
    enum err e = report_find_sources(a, &find, &from, msg);
    for (int i = 0; e == ERR_OK && i < from.n; i++)
        if (report_source_has(a, &from.source[i], "layouts.csv"))
            e = f(a, &from.source[i], out, msg);
    return e;
}

/* Shared rows stay: the file is by role. */
static enum err csv_rows(struct arena *a, const struct report_source *source,
                         FILE *out, struct err_msg *msg)
{
    struct csv layouts, runs;
    enum err e = report_source_read(
        a, source, &(struct source_file){"layouts.csv", "meas_step_ms"},
        &layouts, msg);
    if (e == ERR_OK)
        e = report_source_read(
            a, source, &(struct source_file){"runs.csv", "clock"}, &runs, msg);
    for (size_t i = 0; e == ERR_OK && i < layouts.n_rows; i++) {
        const char *fields[] = {REFERENCE_TABLES,
                                source->experiment,
                                csv_text(&layouts, i, "source"),
                                runs.n_rows > 0 ? csv_text(&runs, 0, "clock")
                                                : "",
                                csv_text(&layouts, i, "role"),
                                csv_text(&layouts, i, "layout"),
                                csv_text(&layouts, i, "n_rounds"),
                                csv_text(&layouts, i, "step_error_pct"),
                                csv_text(&layouts, i, "replay_error_pct")};
        csv_write_row(out, fields, sizeof fields / sizeof fields[0]);
    }
    return e;
}

/* The table behind the figure of all errors. */
enum err reference_tables_csv(struct arena *a, const char *root,
                              const char **out, struct err_msg *msg)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", root);
    fputs("format,experiment,source,clock,role,layout,n_rounds,step_error_pct,"
          "replay_error_pct\n",
          f);
    enum err e = each_dataset(a, root, csv_rows, f, msg);
    const bool ok = fclose(f) == 0;
    *out = ok && e == ERR_OK ? arena_strdup(a, text) : NULL;
    free(text);
    return e != ERR_OK || *out
               ? e
               : err_set(msg, ERR_NOMEM, "%s: out of memory", root);
}

/* ---- overview ---- */

/* Measured step of the count-based layout over the pick's. */
static double over_count_based(const struct csv *t)
{
    double pick = NAN, other = NAN;
    for (size_t i = 0; i < t->n_rows; i++) {
        const double x = csv_double(t, i, "meas_step_ms");
        if (csv_is(t, i, "role", "pick") && !isfinite(pick))
            pick = x;
        if (csv_is(t, i, "role", "count-based") && !isfinite(other))
            other = x;
    }
    return other / pick;
}

/* Only these are in the figures. */
static size_t n_valid(const struct csv *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n_rows; i++)
        n += csv_is(runs, i, "status", "valid");
    return n;
}

/* In the order of the header; a pick that is the fastest is behind by 0. */
static void overview_print(const struct summary *s, const struct csv *layouts,
                           FILE *out)
{
    const double figures[] = {s->mean_step_error_pct,
                              s->max_step_error_pct,
                              s->noise_pct,
                              s->max_replay_error_pct,
                              s->max_memory_error_pct,
                              s->pick_speedup,
                              over_count_based(layouts),
                              fmax(s->pick_over_best_pct, 0)};
    static const int digits[] = {2, 2, 2, 3, 3, 2, 2, 2};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        fputs(" | ", out);
        cell_number(out, figures[i], digits[i]);
    }
    fputs(" |\n", out);
}

/* One experiment, from its own files. */
static enum err overview_row(struct arena *a,
                             const struct report_source *source, FILE *out,
                             struct err_msg *msg)
{
    struct csv layouts, runs;
    struct summary s;
    enum err e = report_source_read(
        a, source, &(struct source_file){"layouts.csv", "meas_step_ms"},
        &layouts, msg);
    if (e == ERR_OK)
        e = report_source_read(
            a, source, &(struct source_file){"runs.csv", "status"}, &runs, msg);
    if (e == ERR_OK)
        e = summary_read(a, source->dir, &s, msg);
    if (e != ERR_OK)
        return e;
    const bool any = runs.n_rows > 0;
    fputs("| ", out);
    cell_text(out, source->experiment);
    fprintf(out, " | %s, %s clock | %d | %zu of %zu",
            any ? csv_text(&runs, 0, "source") : "-",
            any ? csv_text(&runs, 0, "clock") : "-", s.n_layouts,
            n_valid(&runs), runs.n_rows);
    overview_print(&s, &layouts, out);
    return ERR_OK;
}

enum err reference_tables_overview(struct arena *a,
                                   const struct report_source *source,
                                   FILE *out, struct err_msg *msg)
{
    fputs("| experiment | kind | layouts | valid runs | mean step error % | "
          "worst % | noise % | worst replay % | worst memory % | pick over "
          "default, x | pick over count-based, x | pick behind the fastest % "
          "|\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
          out);
    return each_dataset(a, source->dir, overview_row, out, msg);
}

/* ---- costs ---- */

/* Days since some fixed one, of the Gregorian calendar. */
static int64_t day_number(int year, int month, int day)
{
    const int64_t y = month > 2 ? year : year - 1;
    const int64_t m = month > 2 ? month - 3 : month + 9;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
}

/* Of "2026-01-31T12:34:56Z"; NAN for anything else. */
static double utc_seconds(const char *text)
{
    int y, mo, d, h, mi, s;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &y, &mo, &d, &h, &mi, &s) != 6)
        return NAN;
    return (double)(day_number(y, mo, d) * 86400 + h * 3600 + mi * 60 + s);
}

/* From the first start to the last, of all runs. */
static double span_minutes(const struct csv *runs)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < runs->n_rows; i++) {
        const double t = utc_seconds(csv_text(runs, i, "started_utc"));
        if (isfinite(t)) {
            first = fmin(first, t);
            last = fmax(last, t);
        }
    }
    return last >= first ? (last - first) / 60 : (double)NAN;
}

/* Wall times of the runs whose folders are kept. */
struct seconds {
    double *x; // as many as there are runs
    size_t n;
};

/* A dataset keeps the folders of some of its runs only. */
static enum err kept_seconds(struct arena *a,
                             const struct report_source *source,
                             const struct csv *runs, struct seconds *out,
                             struct err_msg *msg)
{
    out->n = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        const char *name =
            arena_printf(a, "runs/%s/status.json", csv_text(runs, i, "run_id"));
        struct reader_doc doc;
        double wall = NAN;
        if (!name)
            return err_set(msg, ERR_NOMEM, "%s: out of memory", source->dir);
        if (!report_source_has(a, source, name))
            continue;
        struct reader top = reader_open_file(
            &doc, a, arena_printf(a, "%s/%s", source->dir, name), NULL, msg);
        reader_double(top, "wall_s", (struct json_range){0, 1e9}, &wall);
        const enum err e = reader_close(&doc);
        if (e != ERR_OK)
            return e;
        if (isfinite(wall))
            out->x[out->n++] = wall;
    }
    return ERR_OK;
}

/* What was paid is known only where the manifest has a price. */
static void costs_print(const struct csv *runs, struct seconds *wall, FILE *out)
{
    double usd = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        const double c = csv_double(runs, i, "cost_usd");
        usd += isfinite(c) ? c : 0;
    }
    fprintf(out, " | %zu | %s | %s | ", runs->n_rows,
            runs->n_rows ? csv_text(runs, 0, "n_ranks") : "-",
            runs->n_rows ? csv_text(runs, 0, "hardware") : "-");
    cell_number(out, span_minutes(runs), 1);
    fputs(" | ", out);
    cell_number(out, stats_median(wall->x, wall->n), 1);
    fputs(" | ", out);
    double most = NAN;
    for (size_t i = 0; i < wall->n; i++)
        most = fmax(most, wall->x[i]);
    cell_number(out, most, 1);
    if (usd > 0)
        fprintf(out, " | $%.2f |\n", usd);
    else
        fputs(" | - |\n", out);
}

/* Launches are all that were made; seconds are of those whose folder was kept.
 */
static enum err costs_row(struct arena *a, const struct report_source *source,
                          FILE *out, struct err_msg *msg)
{
    struct csv runs;
    enum err e = report_source_read(
        a, source, &(struct source_file){"runs.csv", "started_utc"}, &runs,
        msg);
    struct seconds wall = {NULL, 0};
    if (e == ERR_OK)
        wall.x = arena_alloc(a, runs.n_rows + 1, sizeof *wall.x);
    if (e == ERR_OK && !wall.x)
        e = err_set(msg, ERR_NOMEM, "%s: out of memory", source->dir);
    if (e == ERR_OK)
        e = kept_seconds(a, source, &runs, &wall, msg);
    if (e != ERR_OK)
        return e;
    fputs("| ", out);
    cell_text(out, source->experiment);
    costs_print(&runs, &wall, out);
    return ERR_OK;
}

enum err reference_tables_costs(struct arena *a,
                                const struct report_source *source, FILE *out,
                                struct err_msg *msg)
{
    fputs("| experiment | launches | ranks | on | first to last start, min | a "
          "launch, median s | longest s | paid |\n"
          "|---|--:|--:|---|--:|--:|--:|--:|\n",
          out);
    return each_dataset(a, source->dir, costs_row, out, msg);
}

/* ---- memory ---- */

/* One line of the table: which rows it is about. */
struct memory_line {
    const char *title, *moe;
    bool current; // images of today only
};

/* Absolute errors of one column, sorted by the statistics; their number. */
static size_t collect(const struct csv *t, const struct memory_line *line,
                      const char *column, double *x)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const double e = fabs(csv_double(t, i, column));
        if (csv_is(t, i, "moe", line->moe) && isfinite(e) &&
            csv_is(t, i, "supported", "1") &&
            (!line->current || csv_is(t, i, "primary", "1")))
            x[n++] = e;
    }
    return n;
}

/* Cases, of all and supported; a case has a row a platform and image. */
static void count_cases(const struct csv *t, const char *moe, size_t *all,
                        size_t *supported)
{
    *all = *supported = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        bool is_new = csv_is(t, i, "moe", moe), has = false;
        for (size_t j = 0; j < t->n_rows && is_new; j++) {
            const bool same = csv_is(t, j, "case", csv_text(t, i, "case")) &&
                              csv_is(t, j, "moe", moe);
            is_new = !(same && j < i);
            has |= same && csv_is(t, j, "supported", "1");
        }
        *all += is_new;
        *supported += is_new && has;
    }
}

/* Median, 90th percentile and largest of each kind of bytes. */
static void memory_print(FILE *out, const struct csv *t,
                         const struct memory_line *line, double *x)
{
    static const char *const columns[] = {"allocated_error_pct",
                                          "peak_error_pct"};
    static const double q[] = {0.5, 0.9, 1};
    fprintf(out, "| %s | %zu |", line->title, collect(t, line, columns[0], x));
    for (size_t c = 0; c < 2; c++) {
        const size_t n = collect(t, line, columns[c], x);
        for (size_t i = 0; i < 3; i++) {
            putc(' ', out);
            cell_number(out, stats_quantile(x, n, q[i]), 2);
            fputs(" |", out);
        }
    }
    putc('\n', out);
}

/* Images of now and all ages apart: a model of memory is of a version of its
 * trainer. */
enum err reference_tables_memory(struct arena *a,
                                 const struct report_source *source, FILE *out,
                                 struct err_msg *msg)
{
    static const struct memory_line lines[] = {
        {"MoE, current images", "1", true},
        {"dense, current images", "0", true},
        {"MoE, all images", "1", false},
        {"dense, all images", "0", false}};
    struct csv t;
    enum err e = report_source_read(
        a, source, &(struct source_file){"memory.csv", "peak_error_pct"}, &t,
        msg);
    double *x = e == ERR_OK ? arena_alloc(a, t.n_rows + 1, sizeof *x) : NULL;
    if (e != ERR_OK || !x)
        return e != ERR_OK
                   ? e
                   : err_set(msg, ERR_NOMEM, "%s: out of memory", source->dir);
    fputs("| rows | n | allocated: median % | 90th % | worst % | peak: median "
          "% | 90th % | worst % |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
        memory_print(out, &t, &lines[k], x);
    size_t all[2], supported[2];
    count_cases(&t, "1", &all[0], &supported[0]);
    count_cases(&t, "0", &all[1], &supported[1]);
    fprintf(out,
            "\nSupported: %zu of %zu cases with experts, %zu of %zu dense "
            "ones.\n",
            supported[0], all[0], supported[1], all[1]);
    return ERR_OK;
}

/* ---- search ---- */

/* "optimal", or by how much the best may be above the optimum. */
static void search_proof(FILE *out, const struct csv *t, size_t i)
{
    const double best = csv_double(t, i, "best"),
                 bound = csv_double(t, i, "bound");
    if (!csv_is(t, i, "proof", "gap"))
        fputs(csv_text(t, i, "proof"), out);
    else if (isfinite(best) && bound > 0)
        fprintf(out, "gap of %.2f%%", 100 * (best / bound - 1));
    else
        fputs("gap", out);
}

/* Its optimum means nothing to a reader, only that it was proved. */
static bool is_disturbed(const struct csv *t, size_t row)
{
    return csv_is(t, row, "kind", "disturbed costs");
}

/* Size and result of one search. */
static void search_row(FILE *out, const struct csv *t, size_t i)
{
    const char *kind = csv_text(t, i, "kind");
    const double space = csv_double(t, i, "space");
    fprintf(out, "| PP%s VPP%s, %s layers, %s micro-batches%s%s | ",
            csv_text(t, i, "pp"), csv_text(t, i, "vpp"),
            csv_text(t, i, "n_layers"), csv_text(t, i, "n_mb"),
            *kind ? ", " : "", kind);
    fprintf(out, space < 1e6 ? "%.0f | " : "%.2g | ", space);
    if (isfinite(csv_double(t, i, "best")))
        cell_print(out, t, i, "best", 0);
    else
        fputs("none fits", out);
    fputs(" | ", out);
    search_proof(out, t, i);
    fputs(" | ", out);
    cell_print(out, t, i, "wall_s", 2);
    fputs(" | ", out);
    cell_print(out, t, i, "cpu_s", 2);
    fputs(" |\n", out);
}

/* All of them in one line: how many were proved, and the slowest. */
static void search_disturbed(FILE *out, const struct csv *t)
{
    size_t n = 0, proved = 0;
    double wall = NAN, cpu = NAN;
    for (size_t i = 0; i < t->n_rows; i++) {
        if (!is_disturbed(t, i))
            continue;
        n++;
        proved += !csv_is(t, i, "proof", "gap");
        wall = fmax(wall, csv_double(t, i, "wall_s"));
        cpu = fmax(cpu, csv_double(t, i, "cpu_s"));
    }
    if (n == 0)
        return;
    fprintf(out,
            "| %zu cost sets disturbed by 10%%: the slowest | - | - | %zu of "
            "%zu proved | ",
            n, proved, n);
    cell_number(out, wall, 2);
    fputs(" | ", out);
    cell_number(out, cpu, 2);
    fputs(" |\n", out);
}

/* Searches with disturbed costs are many of one kind, and get one row together.
 */
void reference_tables_search(FILE *out, const struct csv *t)
{
    fputs("| case | layouts | best found | proof | wall s | CPU s |\n"
          "|---|--:|--:|---|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++)
        if (!is_disturbed(t, i))
            search_row(out, t, i);
    search_disturbed(out, t);
}
