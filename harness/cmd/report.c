#include "report/report.h"
#include "base/text.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REPORT_BYTES = 16 << 20 };

struct request {
    const char *const *dirs;
    int n_dirs;
    const char *into, *figures;
};

/* The experiment is the folder's name. */
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
        s[i] = (struct report_source){slash ? slash + 1 : dir, dir};
        if (!dir)
            s = NULL;
    }
    if (!s)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    *out = (struct report_sources){s, r->n_dirs};
    return ERR_OK;
}

static enum err fill_file(struct arena *a, const char *path,
                          const struct report_sources *from,
                          struct err_msg *msg)
{
    struct text_span text;
    const char *filled = NULL;
    enum err e = text_read_file(a, path, MAX_REPORT_BYTES, &text, msg);
    if (e == ERR_OK)
        e = report_fill(a, text.data, from, &filled, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    if (strcmp(filled, text.data) == 0)
        return ERR_OK;
    return text_write_file(path, filled, strlen(filled), msg);
}

static enum err make_report(struct arena *a, const struct request *r,
                            struct err_msg *msg)
{
    struct report_sources from;
    enum err e = r->n_dirs > 0 ? take_dirs(a, r, &from, msg)
                               : report_find_sources(a, "results", &from, msg);
    for (int i = 0; i < from.n && e == ERR_OK; i++) {
        const struct report_figures f = {.source = &from.source[i],
                                         .plots = "plots",
                                         .out = r->figures,
                                         .log = stdout};
        fprintf(stderr, "moe-bench report: %s from %s\n",
                from.source[i].experiment, from.source[i].dir);
        e = report_draw(a, &f, msg);
    }
    if (e == ERR_OK)
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
    if (!r.into)
        r.into = "REPORT.md";
    if (!r.figures)
        r.figures = "plots/out";
    return make_report(&c->arena, &r, &c->msg);
}

static const int takes[] = {OPT_INTO, OPT_FIGURES, OPT_HELP, N_OPTIONS};

const struct command CMD_REPORT = {
    .name = "report",
    .run = bench_report_run,
    .synopsis = "report [DIR...] [--into FILE] [--figures DIR]",
    .summary = "CSV to tables in REPORT.md and figures",
    .help =
        "Fills the tables of REPORT.md (between <!-- begin:TABLE:EXPERIMENT "
        "-->\n"
        "and <!-- end:... --> markers; TABLE is summary, figures, layouts, "
        "stages,\n"
        "jitter or runs) and draws the figures (SVG and PNG, by gnuplot), all "
        "from the\n"
        "CSV files alone. DIR is a folder with an experiment's CSV files, "
        "named\n"
        "as the experiment;\n"
        "default: all below results/, and those below results/reference/ "
        "that\n"
        "results/ has no own ones of. Tables of experiments without a folder "
        "stay\n"
        "as they are.\n",
    .closing = "example: moe-bench report results/local\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
