/*
 * moe-bench report: pages and figures from CSV files alone. Folders come from
 * the line, or are those of the published datasets; each is drawn, then either
 * its own page is written or all tables of one file are filled.
 */
#include "report/report.h"
#include "base/text.h"
#include "cmd.h"
#include "published/tables.h"
#include "report/reference.h"
#include "store/tidy.h"

#include <stdio.h>
#include <string.h>

// REPORT.md has some 50 KB
enum { REPORT_MAX_BYTES = 16 << 20 };

struct request {
    const char *const *dirs;
    int n_dirs;
    const char *into, *figures; // NULL: beside each folder's CSV files
};

/* The experiment is the folder's name. Links are to what --figures names, as
 * it was given, else to figures/ beside the page. */
static enum err take_dirs(struct arena *a, const struct request *r,
                          struct report_sources *out, struct err_msg *msg)
{
    struct report_source *s = arena_alloc(a, (size_t)r->n_dirs, sizeof *s);
    for (int i = 0; i < r->n_dirs && s; i++) {
        char *dir = arena_strdup(a, r->dirs[i]);
        size_t n = dir ? strlen(dir) : 0;
        while (n > 1 && dir[n - 1] == '/')
            dir[--n] = '\0';
        const char *slash = dir ? strrchr(dir, '/') : NULL;
        s[i] = (struct report_source){slash ? slash + 1 : dir, dir,
                                      r->figures ? r->figures : "figures"};
        if (!dir)
            s = NULL;
    }
    if (!s)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    *out = (struct report_sources){s, r->n_dirs};
    return ERR_OK;
}

/* A file whose tables have not changed is not written: its date stays, and a
 * checkout clean. */
static enum err fill_file(struct arena *a, const char *path,
                          const struct report_sources *from,
                          struct err_msg *msg)
{
    struct text_span text;
    const char *filled = NULL;
    enum err e = text_read_file(a, path, REPORT_MAX_BYTES, &text, msg);
    if (e == ERR_OK)
        e = report_fill(a, text.data, from, &filled, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    if (strcmp(filled, text.data) == 0)
        return ERR_OK;
    return text_write_file(path, filled, strlen(filled), msg);
}

/* The figures of one folder: to --figures, else beside its CSV files. */
static enum err draw_source(struct arena *a, const struct request *r,
                            const struct report_source *source,
                            struct err_msg *msg)
{
    const struct drawing d = {
        .source = source,
        .plots = "plots",
        .out = r->figures ? r->figures
                          : arena_printf(a, "%s/figures", source->dir),
        .log = stdout};
    fprintf(stderr, "moe-bench report: %s from %s\n", source->experiment,
            source->dir);
    if (!d.out)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    // one that was asked for may be a link; one among results may not
    enum err e = r->figures ? ERR_OK : tidy_check_folder(d.out, msg);
    if (e == ERR_OK && reference_is(a, source->dir))
        e = reference_check(a, source->dir, msg);
    return e == ERR_OK ? draw_figures(a, &d, msg) : e;
}

/* Beside the CSV files it was made from. */
static enum err write_page(struct arena *a, const struct report_source *source,
                           struct err_msg *msg)
{
    const char *text = NULL;
    const char *path = arena_printf(a, "%s/report.md", source->dir);
    if (!path)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    enum err e = report_page(a, source, &text, msg);
    if (e == ERR_OK)
        e = text_write_own(path, text, strlen(text), msg);
    if (e == ERR_OK)
        printf("%s\n", path);
    return e;
}

/* Others' step times are predicted again, and stand beside the experiments in
 * the report, without figures of an experiment's kind. */
static enum err add_published(struct arena *a, struct report_sources *from,
                              struct err_msg *msg)
{
    struct published_list list;
    enum err e = published_list(a, PUBLISHED_ROOT, &list, msg);
    if (e != ERR_OK || list.n == 0)
        return e;
    struct report_source *s = arena_alloc(a, (size_t)from->n + 1, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    memcpy(s, from->source, (size_t)from->n * sizeof *s);
    s[from->n] = (struct report_source){"published", PUBLISHED_ROOT, "figures"};
    *from = (struct report_sources){s, from->n + 1};
    return published_tables_write(a, PUBLISHED_ROOT, msg);
}

/* Figures first: tables link to them. */
static enum err make_report(struct arena *a, const struct request *r,
                            struct err_msg *msg)
{
    struct report_sources from;
    const struct report_find published = {"results/reference", r->figures};
    enum err e = r->n_dirs > 0 ? take_dirs(a, r, &from, msg)
                               : report_find_sources(a, &published, &from, msg);
    for (int i = 0; i < from.n && e == ERR_OK; i++) {
        e = draw_source(a, r, &from.source[i], msg);
        if (e == ERR_OK && !r->into)
            e = write_page(a, &from.source[i], msg);
    }
    if (e == ERR_OK && r->into && r->n_dirs == 0)
        e = add_published(a, &from, msg);
    if (e != ERR_OK || !r->into)
        return e;
    e = fill_file(a, r->into, &from, msg);
    if (e == ERR_OK)
        printf("%s\n", r->into);
    return e;
}

static enum err bench_report_run(struct cmd *c)
{
    struct request r = {.dirs = c->line.operands,
                        .n_dirs = c->line.n_operands,
                        .into = cmd_text(c, OPT_INTO),
                        .figures = cmd_text(c, OPT_FIGURES)};
    // without folders it is the published report
    if (!r.into && r.n_dirs == 0)
        r.into = "REPORT.md";
    if (!r.figures && r.into)
        r.figures = "plots/out";
    return make_report(&c->arena, &r, &c->msg);
}

static const int takes[] = {OPT_INTO, OPT_FIGURES, OPT_HELP, N_OPTIONS};

const struct command CMD_REPORT = {
    .name = "report",
    .run = bench_report_run,
    .synopsis = "report [DIR...] [--into FILE] [--figures DIR]",
    .summary = "tables and figures of results, from their CSV files alone",
    .help =
        "Of each DIR, a folder with an experiment's CSV files, named as the\n"
        "experiment: writes DIR/report.md and DIR/figures/ (SVG and PNG, by\n"
        "gnuplot).\n\n"
        "With --into, or without DIR: fills the tables of FILE (between\n"
        "<!-- begin:TABLE:EXPERIMENT --> and <!-- end:... --> markers; TABLE "
        "is\n"
        "summary, figures, layouts, stages, jitter or runs; of an experiment "
        "that\n"
        "only plans recipes, ratios or figures; of what others published\n"
        "studies, constants, errors or plans). Without DIR they are\n"
        "those below results/reference/: that is the published report. Tables "
        "of\n"
        "experiments without a folder stay as they are.\n",
    .closing = "example: moe-bench report results/local\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
