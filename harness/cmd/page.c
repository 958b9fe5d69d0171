/*
 * moe-bench page: all results as one HTML file. Folders come from the line, or
 * are those of the datasets that are kept with the sources.
 */
#include "page/page.h"
#include "base/text.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PAGE_FILE "results/index.html"

static const char *const kept[] = {"results/reference", "results/published",
                                   "results/contributed"};

/* A file that has not changed keeps its date. */
static enum err write_changed(struct cmd *c, const char *path, const char *text)
{
    struct text_span old;
    const size_t n = strlen(text);
    if (text_read_bytes(&c->arena, path, n + 1, &old, NULL) == ERR_OK &&
        old.len == n && memcmp(old.data, text, n) == 0)
        return ERR_OK;
    return text_write_file(path, text, n, &c->msg);
}

static enum err bench_page_run(struct cmd *c)
{
    const char *into = cmd_text(c, OPT_INTO);
    const char *text = NULL;
    struct page_sources from = {c->line.operands, c->line.n_operands};
    if (from.n_dirs > 0 && !into)
        return err_set(&c->msg, ERR_PARSE,
                       "page: of folders that are named, want --into FILE");
    if (from.n_dirs == 0)
        from = (struct page_sources){kept, (int)COUNT(kept)};
    if (!into)
        into = PAGE_FILE;
    enum err e = page_make(&c->arena, &from, &text, &c->msg);
    if (e == ERR_OK)
        e = write_changed(c, into, text);
    if (e == ERR_OK)
        printf("%s\n", into);
    return e;
}

static const int takes[] = {OPT_INTO, OPT_HELP, N_OPTIONS};

const struct command CMD_PAGE = {
    .name = "page",
    .run = bench_page_run,
    .synopsis = "page [DIR... --into FILE]",
    .summary =
        "all runs and datasets as one HTML file: sort, filter, timelines",
    .help =
        "Writes a page that needs no network and nothing beside it: a row for\n"
        "each layout, run, plan and step time of others, which sorts by every\n"
        "column and filters, predicted beside measured, and behind each row "
        "its\n"
        "stages, intervals, and a step as recorded and as predicted.\n\n"
        "Of each DIR, a dataset's folder or one with such folders in it; "
        "without\n"
        "DIR those kept with the sources (results/reference, published and\n"
        "contributed), to results/index.html.\n",
    .closing = "example: moe-bench page results --into all.html\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
