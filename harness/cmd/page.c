/*
 * moe-bench page: all results as one HTML file. Folders come from the line, or
 * are those of the datasets that are kept with the sources.
 */
#include "page/page.h"
#include "base/text.h"
#include "cmd.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PAGE_FILE "results/index.html"

static const char *const kept[] = {"results/reference", "results/published",
                                   "results/contributed"};

/* Without folders it is the page of what is kept here, at its own place; of
 * others it must be said where, or it would take that place. */
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
        e = text_write_changed(&c->arena, into, text, &c->msg);
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
    .closing = "Exit status: 0 written; 2 bad input; 3 FILE cannot be "
               "written.\n"
               "example: moe-bench page results --into all.html\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
