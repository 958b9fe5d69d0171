/*
 * How it works: each table is a row of `tables`, with a function that prints
 * one CSV file (or what several tell) as Markdown; a figure's name is a table,
 * too. A page holds all tables.
 */
#include "report.h"

#include "base/text.h"
#include "draw.h"
#include "experiment_tables.h"
#include "halves_tables.h"
#include "made.h"
#include "published_tables.h"
#include "recipes_tables.h"
#include "reference_tables.h"
#include "store/tidy.h"
#include "study_tables.h"
#include "summary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum err report_no_memory(const char *where, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* The sentences that a run prints at its end, too. */
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

/* In the order of a page of one experiment. */
static const struct table tables[] = {
    {"verdicts", "Verdict", "layouts.csv", NULL, NULL, made_verdicts},
    {"summary", "Summary", "layouts.csv", NULL, NULL, report_print_summary},
    {"runs", "Runs", "runs.csv", experiment_tables_runs, "status", NULL},
    {"dropped", "Runs left out", "runs.csv", experiment_tables_dropped,
     "status", NULL},
    {"layouts", "Layouts", "layouts.csv", experiment_tables_layouts,
     "meas_step_ms", NULL},
    {"recipes", "Recipes", "recipes.csv", recipes_tables_print, "gap_pct",
     NULL},
    {"ratios", "Other costs of MTP layer and head", "recipes.csv",
     recipes_tables_print_ratios, "gap_pct", NULL},
    {"figures", "Figures", NULL, NULL, NULL, figure_show_all},
    {"stages", "Stages", "stages.csv", experiment_tables_stages, "units", NULL},
    {"units", "Costs of the units", "units.csv", experiment_tables_units,
     "fwd_ms", NULL},
    {"jitter", "Jitter", "jitter.csv", experiment_tables_jitter,
     "near_bottleneck", NULL},
    {"studies", "Published and computed", "studies.csv", study_tables_studies,
     "computed", NULL},
    {"constants", "Constants", "constants.csv", study_tables_constants,
     "fitted", NULL},
    {"priced", "Errors by the roofline", "errors.csv", study_tables_errors,
     "bias_pct", NULL},
    {"plans", "Plans", "plans.csv", study_tables_plans, "by_flops_pct", NULL},
    {"errors", "Step times of others", "errors.csv", published_tables_errors,
     "mean_pct", NULL},
    {"terms", "Terms of a step", "terms.csv", published_tables_terms,
     "left_out_with_pct", NULL},
    {"overview", "All experiments", "overview.csv", NULL, NULL,
     reference_tables_overview},
    {"costs", "Cost of the runs", "overview.csv", NULL, NULL,
     reference_tables_costs},
    {"memory", "Memory of Megatron-LM", "memory.csv", NULL, NULL,
     reference_tables_memory},
    {"halves", "Cuts inside layers", "overview.csv", NULL, NULL,
     halves_tables_print},
    {"search", "Searches", "search.csv", reference_tables_search, "proof",
     NULL},
    {"commands", "Commands", "runs.csv", NULL, NULL, made_commands},
};

/* "summary, runs, ... or commands" for a message. */
static const char *table_names(struct arena *a)
{
    const char *text = tables[0].name;
    for (size_t i = 1; i < COUNT(tables) && text; i++)
        text =
            arena_printf(a, "%s%s%s", text,
                         i + 1 < COUNT(tables) ? ", " : " or ", tables[i].name);
    return text ? text : "another";
}

/* NULL: none of that name. */
static const struct table *table_named(const char *name)
{
    for (size_t i = 0; i < COUNT(tables); i++)
        if (strcmp(name, tables[i].name) == 0)
            return &tables[i];
    return NULL;
}

/* A name that is not known is told at once, with what is near it, and not after
 * all data are read. */
enum err report_find_table(struct arena *a, const char *name,
                           struct err_msg *msg)
{
    const char *names[COUNT(tables)];
    if (table_named(name) || figure_named(name))
        return ERR_OK;
    for (size_t i = 0; i < COUNT(tables); i++)
        names[i] = tables[i].name;
    const char *near = text_nearest(name, names, COUNT(tables));
    return err_set(msg, ERR_PARSE,
                   "unknown table '%s', want %s, or a figure's name%s%s%s",
                   name, table_names(a), near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

void report_print_tables(FILE *out)
{
    for (size_t i = 0; i < COUNT(tables); i++)
        fprintf(out, "  %-16s %s\n", tables[i].name, tables[i].title);
}

/* An empty file has no columns to be asked for, and prints an empty table. */
static enum err report_print_table(struct arena *a, const struct table *t,
                                   const struct report_source *source,
                                   FILE *out, struct err_msg *msg)
{
    struct csv csv;
    if (t->print_all)
        return t->print_all(a, source, out, msg);
    enum err e = report_source_read(
        a, source, &(struct source_file){t->file, t->needs}, &csv, msg);
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
    const struct table *t = table_named(table);
    char *text = NULL;
    size_t len = 0;
    enum err e = report_find_table(a, table, msg);
    if (e != ERR_OK)
        return e;
    FILE *f = open_memstream(&text, &len);
    if (f)
        e = t ? report_print_table(a, t, source, f, msg)
              : figure_show(a, figure_named(table), source, f, msg);
    bool ok = f && fclose(f) == 0;
    *out = ok && e == ERR_OK ? arena_strdup(a, text) : NULL;
    free(text);
    return e != ERR_OK || *out ? e : report_no_memory(source->dir, msg);
}

/* One experiment by itself, for the folder of its results. Of a table that has
 * nothing to say, and of one whose file older results do not have, there is no
 * section. */
enum err report_page(struct arena *a, const struct report_source *source,
                     const char **out, struct err_msg *msg)
{
    const char *question = NULL;
    enum err e = made_question(a, source, &question, msg);
    if (e != ERR_OK)
        return e;
    const char *text = arena_printf(
        a,
        "# %s\n\n%s%sMade by `moe-bench report` from the CSV files beside it; "
        "what the columns are is in\n`results/README.md`.\n",
        source->experiment, question, *question ? "\n\n" : "");
    for (size_t i = 0; i < COUNT(tables) && text; i++) {
        const char *body = NULL;
        if (tables[i].file && !report_source_has(a, source, tables[i].file))
            continue;
        e = report_table(a, tables[i].name, source, &body, msg);
        if (e != ERR_OK)
            return e;
        if (*body)
            text =
                arena_printf(a, "%s\n## %s\n\n%s", text, tables[i].title, body);
    }
    *out = text;
    return text ? ERR_OK : report_no_memory(source->dir, msg);
}

/* Written beside and renamed: a reader sees the old page or the new one. */
enum err report_write_page(struct arena *a, const struct report_source *source,
                           const char **out, struct err_msg *msg)
{
    const char *text = NULL;
    const char *path = arena_printf(a, "%s/report.md", source->dir);
    if (!path)
        return report_no_memory(source->dir, msg);
    enum err e = report_page(a, source, &text, msg);
    if (e == ERR_OK)
        e = text_write_own(path, text, strlen(text), msg);
    if (e == ERR_OK)
        *out = path;
    return e;
}

/* Why no figure can be drawn, or NULL. */
static const char *no_figures(struct arena *a, const struct report_own *own)
{
    const char *wish = getenv("MOE_BENCH_FIGURES");
    const char *style = arena_printf(a, "%s/style.gp", own->plots);
    if (wish && strcmp(wish, "no") == 0)
        return "MOE_BENCH_FIGURES is 'no'";
    if (!style || access(style, R_OK) != 0)
        return "the folder plots/ is not here";
    return draw_is_possible(a) ? NULL : "gnuplot is not in PATH";
}

/* True when they are drawn; what went wrong is no reason to lose the page. */
static bool draw_own(struct arena *a, const struct report_own *own,
                     const struct report_source *source)
{
    struct err_msg msg = {""};
    const char *why = no_figures(a, own);
    const struct drawing d = {.source = source,
                              .plots = own->plots,
                              .out = arena_printf(a, "%s/figures", own->dir)};
    if (!why && (!d.out || tidy_check_folder(d.out, &msg) != ERR_OK ||
                 draw_figures(a, &d, &msg) != ERR_OK))
        why = msg.text;
    if (why && own->warn)
        fprintf(own->warn,
                "moe-bench: no figures in %s: %s; 'moe-bench report %s' "
                "draws them where the repository's plots/ is\n",
                own->dir, why, own->dir);
    return !why;
}

/* The experiment is the folder's name, as of `moe-bench report DIR`. */
enum err report_write_own(struct arena *a, const struct report_own *own,
                          const char **out, struct err_msg *msg)
{
    const char *slash = strrchr(own->dir, '/');
    struct report_source source = {slash && slash[1] ? slash + 1 : own->dir,
                                   own->dir, "figures", NULL};
    if (!draw_own(a, own, &source))
        source.figures = NULL;
    return report_write_page(a, &source, out, msg);
}
