/*
 * How it works: each table is a row of `tables`, with a function that prints
 * one CSV file (or what several tell) as Markdown. A page holds all of them;
 * a text is filled from its front, a pair of markers at a time.
 */
#include "report.h"

#include "base/csv.h"
#include "base/text.h"
#include "published_tables.h"
#include "recipes_tables.h"
#include "study_tables.h"
#include "summary.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// comments of Markdown: a page shows only what stands between them
#define BEGIN "<!-- begin:"
#define END "<!-- end:"
#define CLOSE " -->"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    REPORT_NAME_BYTES = 128
}; // of a marker: an experiment's name has 64 at most

static enum err report_no_memory(const char *where, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- sources ---- */

/* Has the folder one of the tables that make it a source? */
static enum err has_tables(struct arena *a, const char *dir, bool *out,
                           struct err_msg *msg)
{
    static const char *const files[] = {"layouts.csv", "recipes.csv",
                                        "studies.csv", "plans.csv"};
    *out = false;
    for (size_t i = 0; i < COUNT(files) && !*out; i++) {
        const char *path = arena_printf(a, "%s/%s", dir, files[i]);
        if (!path)
            return report_no_memory(dir, msg);
        *out = access(path, R_OK) == 0;
    }
    return ERR_OK;
}

/* A folder without any of them (models, raw data) is not an experiment. */
static enum err add_source(struct arena *a, const char *name,
                           const struct report_find *f,
                           struct report_sources *to, struct err_msg *msg)
{
    const char *dir = arena_printf(a, "%s/%s", f->from, name);
    const char *experiment = dir ? arena_strdup(a, name) : NULL;
    bool any = false;
    if (!experiment)
        return report_no_memory(f->from, msg);
    const enum err e = has_tables(a, dir, &any, msg);
    if (e != ERR_OK)
        return e;
    if (name[0] != '.' && any)
        to->source[to->n++] =
            (struct report_source){experiment, dir, f->figures};
    return ERR_OK;
}

enum err report_find_sources(struct arena *a, const struct report_find *f,
                             struct report_sources *out, struct err_msg *msg)
{
    struct dirent **entry = NULL;
    int n = scandir(f->from, &entry, NULL, alphasort);
    struct report_sources s = {NULL, 0};
    s.source = arena_alloc(a, n > 0 ? (size_t)n : 1, sizeof *s.source);
    enum err e = s.source ? ERR_OK : report_no_memory(f->from, msg);
    for (int i = 0; i < n; i++) {
        if (e == ERR_OK)
            e = add_source(a, entry[i]->d_name, f, &s, msg);
        free(entry[i]);
    }
    free(entry);
    if (e == ERR_OK && s.n == 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: no experiment with a layouts.csv; 'moe-bench publish "
                    "MANIFEST' makes one",
                    f->from);
    if (e == ERR_OK)
        *out = s;
    return e;
}

/* ---- tables ---- */

/* A number of a field, or "-" where there is none: an absent figure is not 0.
 */
static void report_print_number(FILE *out, const struct csv *t, size_t row,
                                const char *column, int digits)
{
    double x = NAN;
    if (csv_get_double(t, row, column, &x))
        fprintf(out, "%.*f", digits, x);
    else
        putc('-', out);
}

/* Text in a cell: a layout's bars would end the cell, its stars and underscores
 * begin emphasis. */
static void report_print_cell(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '|' || *text == '*' || *text == '_')
            putc('\\', out);
        putc(*text, out);
    }
}

static void print_interval(FILE *out, const struct csv *t, size_t row,
                           const char *lo, const char *hi)
{
    double x, y;
    if (csv_get_double(t, row, lo, &x) && csv_get_double(t, row, hi, &y))
        fprintf(out, " [%.1f, %.1f]", x, y);
}

/* Predicted and measured side by side, each with its interval. */
static void layouts_table(FILE *out, const struct csv *t)
{
    fputs("| role | layout | predicted ms | measured ms [95%] | error % | "
          "replay % | speedup predicted | speedup measured | rounds | source "
          "|\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        report_print_cell(out, csv_get(t, i, "role"));
        fputs(" | ", out);
        report_print_cell(out, csv_get(t, i, "layout"));
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_step_ms", 1);
        print_interval(out, t, i, "pred_lo_ms", "pred_hi_ms");
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_step_ms", 1);
        print_interval(out, t, i, "meas_lo_ms", "meas_hi_ms");
        fputs(" | ", out);
        report_print_number(out, t, i, "step_error_pct", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "replay_error_pct", 3);
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_speedup", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_speedup", 2);
        fprintf(out, " | %s | %s |\n", csv_get(t, i, "n_rounds"),
                csv_get(t, i, "source"));
    }
}

/* Times of one micro-batch; memory errors of the largest rank. */
static void stages_table(FILE *out, const struct csv *t)
{
    fputs("| role | stage | units | forward ms predicted | measured | backward "
          "ms predicted | measured | memory error % | in flight |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        report_print_cell(out, csv_get(t, i, "role"));
        fprintf(out, " | %s | %s | ", csv_get(t, i, "stage"),
                csv_get(t, i, "units"));
        report_print_number(out, t, i, "pred_fwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_fwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_bwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_bwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "mem_error_pct", 1);
        fputs(" | ", out);
        report_print_number(out, t, i, "in_flight", 0);
        fputs(" |\n", out);
    }
}

/* What the spread of single operations adds to a step. */
static void jitter_table(FILE *out, const struct csv *t)
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
        report_print_cell(out, csv_get(t, i, "role"));
        fputs(" | ", out);
        report_print_cell(out, csv_get(t, i, "layout"));
        fprintf(out, " | %s | ", csv_get(t, i, "near_bottleneck"));
        report_print_number(out, t, i, "mean_step_ms", 1);
        fputs(" | ", out);
        report_print_number(out, t, i, "expected_step_ms", 1);
        if (isfinite(expected / mean))
            fprintf(out, " | %.2f |\n", 100 * (expected / mean - 1));
        else
            fputs(" | - |\n", out);
    }
}

static size_t count_status(const struct csv *t, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *s = csv_get(t, i, "status");
        n += s && strcmp(s, status) == 0;
    }
    return n;
}

/* How many runs count, and where they were made. */
static void runs_table(FILE *out, const struct csv *t)
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
                csv_get(t, 0, "source"), csv_get(t, 0, "clock"),
                csv_get(t, 0, "launcher"), csv_get(t, 0, "hardware"),
                csv_get(t, 0, "commit"), csv_get(t, 0, "started_utc"));
    fputs(".\n", out);
}

/* ---- the tables ---- */

static enum err report_print_summary(struct arena *a,
                                     const struct report_source *source,
                                     FILE *out, struct err_msg *msg)
{
    struct summary s;
    enum err e = summary_read(a, source->dir, &s, msg);
    if (e == ERR_OK)
        summary_print(&s, out);
    return e;
}

struct table {
    const char *name, *title, *file;
    void (*print)(FILE *out, const struct csv *t);
    const char *needs; // a column that tells the file is the right one
    // in place of the above, for what several files tell
    enum err (*print_all)(struct arena *a, const struct report_source *source,
                          FILE *out, struct err_msg *msg);
};

/* In the order of a report of one experiment. */
static const struct table tables[] = {
    {"summary", "Summary", "layouts.csv", NULL, NULL, report_print_summary},
    {"runs", "Runs", "runs.csv", runs_table, "status", NULL},
    {"layouts", "Layouts", "layouts.csv", layouts_table, "meas_step_ms", NULL},
    {"recipes", "Recipes", "recipes.csv", recipes_tables_print, "gap_pct",
     NULL},
    {"ratios", "Other costs of MTP layer and head", "recipes.csv",
     recipes_tables_print_ratios, "gap_pct", NULL},
    {"figures", "Figures", NULL, NULL, NULL, draw_links},
    {"stages", "Stages", "stages.csv", stages_table, "units", NULL},
    {"jitter", "Jitter", "jitter.csv", jitter_table, "near_bottleneck", NULL},
    {"studies", "Published and computed", "studies.csv", study_tables_studies,
     "computed", NULL},
    {"constants", "Constants", "constants.csv", study_tables_constants,
     "fitted", NULL},
    {"priced", "Errors by the roofline", "errors.csv", study_tables_errors,
     "mean_pct", NULL},
    {"plans", "Plans", "plans.csv", study_tables_plans, "by_flops_pct", NULL},
    {"errors", "Step times of others", "errors.csv", published_tables_errors,
     "mean_pct", NULL},
    {"terms", "Terms of a step", "terms.csv", published_tables_terms,
     "left_out_with_pct", NULL},
};

/* The names in the message are those of the table above. */
static enum err find_table(const char *name, const struct table **out,
                           struct err_msg *msg)
{
    const char *names[COUNT(tables)];
    for (size_t i = 0; i < COUNT(tables); i++) {
        names[i] = tables[i].name;
        if (strcmp(name, names[i]) == 0) {
            *out = &tables[i];
            return ERR_OK;
        }
    }
    const char *near = text_nearest(name, names, COUNT(tables));
    return err_set(msg, ERR_PARSE,
                   "unknown table '%s', want summary, figures, layouts, "
                   "stages, jitter, runs, recipes, ratios, studies, "
                   "constants, priced, plans, errors or terms%s%s%s",
                   name, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

/* An empty file has no columns to be asked for, and prints an empty table. */
static enum err report_print_table(struct arena *a, const struct table *t,
                                   const struct report_source *source,
                                   FILE *out, struct err_msg *msg)
{
    struct csv csv;
    if (t->print_all)
        return t->print_all(a, source, out, msg);
    const char *path = arena_printf(a, "%s/%s", source->dir, t->file);
    enum err e = path ? csv_read_file(a, path, &csv, msg)
                      : report_no_memory(source->dir, msg);
    if (e == ERR_OK && csv.n_rows > 0 && !csv_get(&csv, 0, t->needs))
        e = err_set(msg, ERR_PARSE, "%s: no column '%s'", path, t->needs);
    if (e == ERR_OK)
        t->print(out, &csv);
    return e;
}

/* To memory first: half a table must not reach a file when its data is damaged.
 */
enum err report_table(struct arena *a, const char *table,
                      const struct report_source *source, const char **out,
                      struct err_msg *msg)
{
    const struct table *t = NULL;
    char *text = NULL;
    size_t len = 0;
    enum err e = find_table(table, &t, msg);
    if (e != ERR_OK)
        return e;
    FILE *f = open_memstream(&text, &len);
    if (f)
        e = report_print_table(a, t, source, f, msg);
    bool ok = f && fclose(f) == 0;
    *out = ok && e == ERR_OK ? arena_strdup(a, text) : NULL;
    free(text);
    return e != ERR_OK || *out ? e : report_no_memory(source->dir, msg);
}

/* A table whose file older results do not have. */
static bool is_missing(struct arena *a, const struct table *t,
                       const struct report_source *source)
{
    const char *path =
        t->file ? arena_printf(a, "%s/%s", source->dir, t->file) : NULL;
    return path && access(path, F_OK) != 0;
}

/* One experiment by itself, for the folder of its results. */
enum err report_page(struct arena *a, const struct report_source *source,
                     const char **out, struct err_msg *msg)
{
    const char *text = arena_printf(
        a,
        "# %s\n\nMade by `moe-bench report` from the CSV files beside it; what "
        "the columns are is in\n`results/README.md`.\n",
        source->experiment);
    for (size_t i = 0; i < COUNT(tables) && text; i++) {
        const char *body = NULL;
        if (is_missing(a, &tables[i], source))
            continue;
        enum err e = report_table(a, tables[i].name, source, &body, msg);
        if (e != ERR_OK)
            return e;
        text = arena_printf(a, "%s\n## %s\n\n%s", text, tables[i].title, body);
    }
    *out = text;
    return text ? ERR_OK : report_no_memory(source->dir, msg);
}

/* ---- markers ---- */

/* The next pair of markers at or behind `from`. */
struct marked {
    char name[REPORT_NAME_BYTES];
    const char *body, *end; // text between the markers' lines
};

/* A begin without its end is an error: all behind it would be replaced. */
static enum err next_marked(const char *from, struct marked *out, bool *found,
                            struct err_msg *msg)
{
    const char *begin = strstr(from, BEGIN);
    const char *close = begin ? strstr(begin, CLOSE) : NULL;
    char end[REPORT_NAME_BYTES + 16];
    *found = close != NULL;
    if (!close)
        return ERR_OK;
    const char *name = begin + strlen(BEGIN);
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - name), name);
    snprintf(end, sizeof end, END "%s" CLOSE, out->name);
    out->body = close + strlen(CLOSE);
    out->end = strstr(out->body, end);
    if (!out->end)
        return err_set(msg, ERR_PARSE,
                       "marker '" BEGIN "%s" CLOSE "' has no '%s'", out->name,
                       end);
    return ERR_OK;
}

/* NULL: the text of an experiment that is not here stays as it is. */
static const struct report_source *
report_source_of(const struct report_sources *from, const char *experiment)
{
    for (int i = 0; i < from->n; i++)
        if (strcmp(from->source[i].experiment, experiment) == 0)
            return &from->source[i];
    return NULL;
}

/* The new text between one pair of markers; NULL: leave what is there. */
static enum err new_body(struct arena *a, const char *name,
                         const struct report_sources *from, const char **out,
                         struct err_msg *msg)
{
    char table[REPORT_NAME_BYTES];
    const char *colon = strchr(name, ':');
    *out = NULL;
    if (!colon)
        return err_set(msg, ERR_PARSE,
                       "marker '%s': want TABLE:EXPERIMENT, e.g. layouts:local",
                       name);
    snprintf(table, sizeof table, "%.*s", (int)(colon - name), name);
    const struct table *t = NULL;
    const struct report_source *source = report_source_of(from, colon + 1);
    const char *body = NULL;
    enum err e = find_table(table, &t, msg);
    if (e != ERR_OK || !source)
        return e;
    e = report_table(a, table, source, &body, msg);
    if (e != ERR_OK)
        return e;
    *out = arena_printf(a, "\n%s", body);
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "report: out of memory");
}

/* Copies what stands outside of markers as it is. */
static enum err report_do_fill(struct arena *a, const char *text,
                               const struct report_sources *from, FILE *out,
                               struct err_msg *msg)
{
    for (const char *at = text;;) {
        struct marked m;
        bool found = false;
        const char *body = NULL;
        enum err e = next_marked(at, &m, &found, msg);
        if (e == ERR_OK && found)
            e = new_body(a, m.name, from, &body, msg);
        if (e != ERR_OK)
            return e;
        if (!found) {
            fputs(at, out);
            return ERR_OK;
        }
        // without a new body the old one is copied, too
        fwrite(at, 1, (size_t)((body ? m.body : m.end) - at), out);
        if (body)
            fputs(body, out);
        at = m.end;
    }
}

enum err report_fill(struct arena *a, const char *text,
                     const struct report_sources *from, const char **out,
                     struct err_msg *msg)
{
    char *filled = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&filled, &len);
    if (!f)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    enum err e = report_do_fill(a, text, from, f, msg);
    bool ok = fclose(f) == 0;
    const char *copy = ok ? arena_strdup(a, filled) : NULL;
    free(filled);
    if (e == ERR_OK && !copy)
        e = err_set(msg, ERR_NOMEM, "report: out of memory");
    if (e == ERR_OK)
        *out = copy;
    return e;
}
