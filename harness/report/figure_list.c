/*
 * How it works: a table lists the figures, each with its script, the file that
 * it is drawn from and a column without which there is nothing to draw; links,
 * captions and drawings come from it.
 */
#include "figure_list.h"

#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* gnuplot's time grows with the square of a histogram's bars (4000 of them:
 * 16 s) and with that of a file's columns; nobody could tell so many apart. Of
 * a recorded step all operations are drawn: 64 stages with 256 micro-batches.
 */
enum {
    DRAW_MOST_BARS = 1000,
    DRAW_MOST_STAGES = 20000,
    DRAW_MOST_OPERATIONS = 100000,
    DRAW_MOST_COLUMNS = 1000
};

/* Roles that are compared stage by stage, as plots/style.gp has them. */
static bool is_compared_role(const struct csv *t, size_t row)
{
    return csv_is(t, row, "role", "default") ||
           csv_is(t, row, "role", "count-based") ||
           csv_is(t, row, "role", "pick");
}

static bool is_compared_recipe(const struct csv *t, size_t row)
{
    return csv_is(t, row, "grid", "0") && csv_is(t, row, "compared", "1");
}

static bool is_current_case(const struct csv *t, size_t row)
{
    return csv_is(t, row, "primary", "1") && csv_is(t, row, "supported", "1");
}

static const struct figure figures[] = {
    {"errors-by-experiment", "error of every predicted step time",
     "overview.gp", "overview.csv", "step_error_pct", "roles and layouts", NULL,
     "All experiments", "as each line says", DRAW_MOST_STAGES},
    {"step-time", "predicted and measured step time", "step_time.gp",
     "layouts.csv", "meas_step_ms", "roles and layouts", NULL, NULL, NULL,
     DRAW_MOST_BARS},
    {"speedup", "speedup over the default layout", "speedup.gp", "layouts.csv",
     "meas_speedup", "roles and layouts", NULL, NULL, NULL, DRAW_MOST_BARS},
    {"stage-work", "work of each stage", "stage_work.gp", "stages.csv",
     "pred_fwd_ms",
     "stages of the default, the count-based layout and the pick",
     is_compared_role, NULL, NULL, DRAW_MOST_STAGES},
    {"stage-memory", "peak memory of each stage", "stage_memory.gp",
     "stages.csv", "meas_mem_bytes",
     "stages of the default, the count-based layout and the pick",
     is_compared_role, NULL, NULL, DRAW_MOST_STAGES},
    {"timeline", "one recorded step of the default and of the pick",
     "timeline.gp", "timeline.csv", "end_ms", "operations", NULL, NULL, NULL,
     DRAW_MOST_OPERATIONS},
    {"unit-cost", "cost of the units by FLOPs and fitted", "unit_cost.gp",
     "units.csv", "fwd_ms", "kinds of units", NULL, NULL, NULL, DRAW_MOST_BARS},
    {"recipes-gap", "gap of public recipes to the optimum", "recipes.gp",
     "recipes.csv", "gap_pct",
     "layouts, each of a split with or without EP overlap", is_compared_recipe,
     NULL, "planned by analytic costs, nothing ran", DRAW_MOST_STAGES},
    {"memory-ci", "predicted against measured memory of Megatron's CI",
     "memory_ci.gp", "memory.csv", "peak_error_pct", "cases, current images",
     is_current_case, "Megatron-LM CI",
     "predicted by us, measured and published by others", DRAW_MOST_STAGES},
    {"step-errors", "predicted against measured step times of others",
     "step_errors.gp", "predicted.csv", "error_pct", "rows to be predicted",
     NULL, "Public sources",
     "predicted by us, measured and published by others", DRAW_MOST_STAGES},
};

const struct figure *figure_at(size_t i)
{
    return i < COUNT(figures) ? &figures[i] : NULL;
}

const struct figure *figure_named(const char *name)
{
    for (size_t i = 0; i < COUNT(figures); i++)
        if (strcmp(figures[i].name, name) == 0)
            return &figures[i];
    return NULL;
}

static enum err figure_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

/* Before gnuplot is given what would keep it busy for minutes. */
static enum err check_size(const struct figure *g, const struct csv *t,
                           struct err_msg *msg)
{
    if (t->n_rows <= g->most_rows && t->n_columns <= DRAW_MOST_COLUMNS)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "%s: got %zu rows of %zu columns, want at most %zu rows of "
                   "%d columns for the figure '%s'",
                   t->where, t->n_rows, t->n_columns, g->most_rows,
                   DRAW_MOST_COLUMNS, g->what);
}

/* Rows that have the number which the figure draws. Without such rows there is
 * no figure, and no caption of one. */
enum err figure_count(struct arena *a, const struct figure *g,
                      const struct report_source *source, size_t *out,
                      struct err_msg *msg)
{
    struct csv csv;
    const char *path = arena_printf(a, "%s/%s", source->dir, g->csv);
    double x;
    *out = 0;
    if (!path)
        return figure_no_memory(msg);
    if (access(path, F_OK) != 0)
        return ERR_OK;
    enum err e = csv_read_file(a, path, &csv, msg);
    if (e == ERR_OK)
        e = check_size(g, &csv, msg);
    for (size_t i = 0; e == ERR_OK && i < csv.n_rows; i++)
        *out += csv_get_double(&csv, i, g->needs, &x) &&
                (!g->is_drawn || g->is_drawn(&csv, i));
    return e;
}

/* First row's field of one of the source's files; "" where there is none. */
static const char *first_field(struct arena *a,
                               const struct report_source *source,
                               const char *file, const char *column)
{
    struct csv t;
    const char *path = arena_printf(a, "%s/%s", source->dir, file);
    return path && access(path, R_OK) == 0 &&
                   csv_read_file(a, path, &t, NULL) == ERR_OK
               ? csv_text(&t, 0, column)
               : "";
}

/* With the kind of its times, so that a figure says by itself whether it was
 * measured. */
const char *figure_title(struct arena *a, const struct figure *g,
                         const struct report_source *source)
{
    if (g->title)
        return g->title;
    const char *what = first_field(a, source, "layouts.csv", "source");
    return *what ? arena_printf(a, "%s (%s)", source->experiment, what)
                 : source->experiment;
}

/* "emulated, cpu clock, 2x CPU": what the figure's numbers are. */
static const char *figure_kind(struct arena *a, const struct figure *g,
                               const struct report_source *source)
{
    if (g->kind)
        return g->kind;
    const char *what = first_field(a, source, "layouts.csv", "source");
    const char *clock = first_field(a, source, "runs.csv", "clock");
    const char *hardware = first_field(a, source, "runs.csv", "hardware");
    return arena_printf(
        a, "%s, %s clock, %s", *what ? what : "of no known kind",
        *clock ? clock : "unknown", *hardware ? hardware : "unknown hardware");
}

/* A link that a page shows, and below it the words in italics. */
enum err figure_show(struct arena *a, const struct figure *g,
                     const struct report_source *source, FILE *out,
                     struct err_msg *msg)
{
    size_t n = 0;
    enum err e = figure_count(a, g, source, &n, msg);
    if (e != ERR_OK || n == 0)
        return e;
    const char *kind = figure_kind(a, g, source);
    if (!kind)
        return figure_no_memory(msg);
    fprintf(out, "![%s](%s/%s-%s.svg)\n\n", g->what, source->figures,
            source->experiment, g->name);
    fprintf(out,
            "*%s: %s; n = %zu %s; %s; from `%s%s%s` ([PDF](%s/%s-%s.pdf)).*\n",
            g->title ? g->title : source->experiment, g->what, n, g->counted,
            kind, source->shown ? source->shown : "", source->shown ? "/" : "",
            g->csv, source->figures, source->experiment, g->name);
    return ERR_OK;
}

/* In the order of the list, whatever the data set has. */
enum err figure_show_all(struct arena *a, const struct report_source *source,
                         FILE *out, struct err_msg *msg)
{
    const char *gap = ""; // between two figures
    for (size_t i = 0; source->figures && i < COUNT(figures); i++) {
        size_t n = 0;
        enum err e = figure_count(a, &figures[i], source, &n, msg);
        if (e == ERR_OK && n > 0) {
            fputs(gap, out);
            gap = "\n";
            e = figure_show(a, &figures[i], source, out, msg);
        }
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
