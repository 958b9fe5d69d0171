/*
 * moe-bench report: pages and figures from CSV files alone. Folders come from
 * the line, or are those of the published datasets; each is drawn, then either
 * its own page is written or all tables of one file are filled. With --check
 * the same is made in a temporary folder and compared.
 */
#include "report/report.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd.h"
#include "published/tables.h"
#include "report/draw.h"
#include "report/fill.h"
#include "report/reference.h"
#include "report/reference_tables.h"
#include "report/stale.h"
#include "store/temporary.h"
#include "store/tidy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_ROOT "results/reference"

// REPORT.md has some 100 KB
enum { REPORT_MAX_BYTES = 16 << 20 };

struct request {
    const char *const *dirs;
    int n_dirs;
    const char *into, *figures; // NULL: beside each folder's CSV files
    const char *made; // figures are drawn here and compared; NULL: in place
};

static enum err report_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "report: out of memory");
}

/* ---- sources ---- */

/* The experiment is the folder's name. Links are to what --figures names, as
 * it was given, else to figures/ beside the page. */
static enum err take_dirs(struct arena *a, const struct request *r,
                          struct report_sources *out, struct err_msg *msg)
{
    *out = (struct report_sources){NULL, 0};
    enum err e = ERR_OK;
    for (int i = 0; i < r->n_dirs && e == ERR_OK; i++) {
        char *dir = arena_strdup(a, r->dirs[i]);
        size_t n = dir ? strlen(dir) : 0;
        if (!dir)
            return report_no_memory(msg);
        while (n > 1 && dir[n - 1] == '/')
            dir[--n] = '\0';
        const char *slash = strrchr(dir, '/');
        const struct report_source source = {
            slash ? slash + 1 : dir, dir, r->figures ? r->figures : "figures",
            r->into ? dir : NULL};
        e = report_add_source(a, source, out, msg);
    }
    return e;
}

/* The published datasets; behind them what all of them say together, and the
 * step times of others, which stand in files of their own. */
static enum err take_published(struct arena *a, const struct request *r,
                               struct report_sources *out, struct err_msg *msg)
{
    const struct report_find find = {REFERENCE_ROOT, r->figures};
    struct published_list list;
    enum err e = report_find_sources(a, &find, out, msg);
    if (e == ERR_OK && r->into)
        e = report_add_source(a,
                              (struct report_source){"reference",
                                                     REFERENCE_ROOT, r->figures,
                                                     REFERENCE_ROOT},
                              out, msg);
    if (e == ERR_OK)
        e = published_list(a, PUBLISHED_ROOT, &list, msg);
    if (e != ERR_OK || list.n == 0 || !r->into)
        return e;
    return report_add_source(a,
                             (struct report_source){"published", PUBLISHED_ROOT,
                                                    r->figures, PUBLISHED_ROOT},
                             out, msg);
}

/* ---- files ---- */

/* Written only where something changed: make and editors look at the time. */
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
    return text_write_changed(a, path, filled, msg);
}

/* The CSV files that are made of all datasets together, into folders below
 * `to`. */
static enum err write_tables(struct arena *a, const char *to,
                             struct err_msg *msg)
{
    const char *reference = arena_printf(a, "%s/" REFERENCE_ROOT, to);
    const char *published = arena_printf(a, "%s/" PUBLISHED_ROOT, to);
    const char *overview =
        reference ? arena_printf(a, "%s/overview.csv", reference) : NULL;
    const char *text = NULL;
    if (!overview || !published)
        return report_no_memory(msg);
    enum err e = file_make_folders(reference, msg);
    if (e == ERR_OK)
        e = file_make_folders(published, msg);
    if (e == ERR_OK)
        e = reference_tables_csv(a, REFERENCE_ROOT, &text, msg);
    if (e == ERR_OK)
        e = text_write_changed(a, overview, text, msg);
    return e == ERR_OK
               ? published_tables_write(a, PUBLISHED_ROOT, published, msg)
               : e;
}

/* The figures of one folder: to --figures, else beside its CSV files. */
static enum err draw_source(struct arena *a, const struct request *r,
                            const struct report_source *source,
                            struct err_msg *msg)
{
    const char *to = r->made ? r->made : r->figures;
    const struct drawing d = {
        .source = source,
        .plots = "plots",
        .out = to ? to : arena_printf(a, "%s/figures", source->dir),
        .log = r->made ? NULL : stdout};
    fprintf(stderr, "moe-bench report: %s from %s\n", source->experiment,
            source->dir);
    if (!d.out)
        return report_no_memory(msg);
    // one that was asked for may be a link; one among results may not
    enum err e = to ? ERR_OK : tidy_check_folder(d.out, msg);
    if (e == ERR_OK && reference_is(a, source->dir))
        e = reference_check(a, source->dir, msg);
    return e == ERR_OK ? draw_figures(a, &d, msg) : e;
}

/* Beside the CSV files it was made from. */
static enum err write_page(struct arena *a, const struct report_source *source,
                           struct err_msg *msg)
{
    const char *path = NULL;
    enum err e = report_write_page(a, source, &path, msg);
    if (e == ERR_OK)
        printf("%s\n", path);
    return e;
}

/* Figures first: tables link to them. */
static enum err make_report(struct arena *a, const struct request *r,
                            struct err_msg *msg)
{
    struct report_sources from;
    const bool all = r->n_dirs == 0;
    enum err e =
        all ? take_published(a, r, &from, msg) : take_dirs(a, r, &from, msg);
    if (e == ERR_OK && all && r->into)
        e = write_tables(a, ".", msg);
    for (int i = 0; e == ERR_OK && i < from.n; i++) {
        e = draw_source(a, r, &from.source[i], msg);
        if (e == ERR_OK && !r->into)
            e = write_page(a, &from.source[i], msg);
    }
    if (e != ERR_OK || !r->into)
        return e;
    e = fill_file(a, r->into, &from, msg);
    if (e == ERR_OK)
        printf("%s\n", r->into);
    return e;
}

/* ---- check ---- */

/* The CSV files of write_tables(), one by one. */
static enum err compare_tables(struct arena *a, const char *made,
                               struct stale *s, struct err_msg *msg)
{
    static const char *const files[] = {
        REFERENCE_ROOT "/overview.csv", PUBLISHED_ROOT "/predicted.csv",
        PUBLISHED_ROOT "/errors.csv", PUBLISHED_ROOT "/terms.csv"};
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < sizeof files / sizeof *files; i++) {
        const struct stale_pair p = {files[i],
                                     arena_printf(a, "%s/%s", made, files[i])};
        e = p.made ? stale_file(a, &p, s, msg) : report_no_memory(msg);
    }
    return e;
}

/* As it is kept, with whatever was written around the tables. */
static enum err compare_text(struct arena *a, const struct request *r,
                             const struct report_sources *from, struct stale *s,
                             struct err_msg *msg)
{
    struct text_span text;
    enum err e = text_read_file(a, r->into, REPORT_MAX_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    const struct report_text of = {r->into, text.data};
    e = report_compare(a, &of, from, s, msg);
    return e == ERR_OK ? e : err_prefix(msg, e, "%s", r->into);
}

/* Everything is made below `made`, from the same CSV files. */
static enum err compare_all(struct arena *a, const struct request *r,
                            const char *made, struct stale *s,
                            struct err_msg *msg)
{
    struct report_sources from;
    const char *figures = arena_printf(a, "%s/figures", made);
    struct request into = *r;
    into.made = figures;
    if (!figures)
        return report_no_memory(msg);
    enum err e = take_published(a, r, &from, msg);
    if (e == ERR_OK)
        e = write_tables(a, made, msg);
    if (e == ERR_OK)
        e = compare_tables(a, made, s, msg);
    if (e == ERR_OK)
        e = compare_text(a, r, &from, s, msg);
    for (int i = 0; e == ERR_OK && i < from.n; i++)
        e = draw_source(a, &into, &from.source[i], msg);
    const struct stale_pair p = {r->figures, figures};
    return e == ERR_OK ? stale_figures(a, &p, s, msg) : e;
}

/* All is made anew in a folder of its own and compared; nothing that is kept is
 * touched. */
static enum err check_report(struct cmd *c, const struct request *r)
{
    struct temporary made;
    struct stale s = {stdout, 0};
    if (r->n_dirs > 0)
        return err_set(&c->msg, ERR_PARSE,
                       "--check: got %d folders, want none: it is about the "
                       "published report",
                       r->n_dirs);
    enum err e = temporary_make(&c->arena, "moe-report", &made, &c->msg);
    if (e != ERR_OK)
        return e;
    e = compare_all(&c->arena, r, made.path, &s, &c->msg);
    temporary_remove(&made);
    if (e == ERR_OK && s.n > 0)
        printf("%s: %d of its parts are stale; run 'make report', look at the "
               "changes and commit them\n",
               r->into, s.n);
    c->status = s.n > 0 ? EXIT_ANSWER_NO : 0;
    return e;
}

/* ---- command ---- */

/* Of folders that are named the report goes to standard output, unless it is
 * said where. */
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
    return cmd_given(c, OPT_CHECK) ? check_report(c, &r)
                                   : make_report(&c->arena, &r, &c->msg);
}

static void print_tables(FILE *out)
{
    fputs("\ntables (and the name of each figure):\n", out);
    report_print_tables(out);
}

static const int takes[] = {OPT_INTO, OPT_FIGURES, OPT_CHECK, OPT_HELP,
                            N_OPTIONS};

const struct command CMD_REPORT = {
    .name = "report",
    .run = bench_report_run,
    .synopsis = "report [DIR...] [--into FILE] [--figures DIR] [--check]",
    .summary = "tables and figures of results, from their CSV files alone",
    .help =
        "Of each DIR, a folder with an experiment's CSV files, named as the\n"
        "experiment: writes DIR/report.md and DIR/figures/ (SVG and PDF, by\n"
        "gnuplot).\n\n"
        "With --into, or without DIR: fills the tables of FILE between\n"
        "<!-- begin:TABLE:EXPERIMENT --> and <!-- end:... --> markers. "
        "EXPERIMENT\n"
        "is a folder's name, 'reference' of all datasets together, or "
        "'published' of\n"
        "others' step times. Without DIR the folders are those below\n"
        "results/reference/ and results/published/: that is the published "
        "report.\n"
        "Tables of experiments without a folder stay as they are.\n"
        "The same files give the same bytes, at any time and in any folder.\n",
    .print_more = print_tables,
    .closing = "Exit status: 0 made, or with --check nothing is stale; 1 "
               "--check found\n"
               "something; 2 bad input; 3 gnuplot is missing or the disk is "
               "full.\n"
               "example: moe-bench report results/local\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
