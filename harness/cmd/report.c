#include "report/report.h"
#include "base/text.h"
#include "commands.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DIRS = 64, MAX_REPORT_BYTES = 16 << 20 };

static const char help[] =
    "usage: moe-bench report [DIR...] [--into FILE] [--figures DIR]\n\n"
    "Fills the tables of REPORT.md (between <!-- begin:TABLE:EXPERIMENT -->\n"
    "and <!-- end:... --> markers; TABLE is summary, figures, layouts, "
    "stages,\n"
    "jitter or runs) and draws the figures (SVG and PNG, by gnuplot), all from "
    "the\n"
    "CSV files alone. DIR is a folder with an experiment's CSV files, named\n"
    "as the experiment;\n"
    "default: all below results/, and those below results/reference/ that\n"
    "results/ has no own ones of. Tables of experiments without a folder stay\n"
    "as they are.\n\n"
    "  --into FILE    default REPORT.md\n"
    "  --figures DIR  default plots/out\n\n"
    "example: moe-bench report results/local\n";

struct request {
    const char *dirs[MAX_DIRS];
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

int cmd_report(int argc, char **argv)
{
    bool want_help = false;
    struct request r = {.into = "REPORT.md", .figures = "plots/out"};
    const struct option_row rows[] = {{"--help", NULL, &want_help},
                                      {"--into", &r.into, NULL},
                                      {"--figures", &r.figures, NULL}};
    struct options o = {.rows = rows,
                        .n_rows = 3,
                        .operands = r.dirs,
                        .max_operands = MAX_DIRS};
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    enum err e = options_read(&o, argc, argv, &msg);
    if (e == ERR_OK && want_help) {
        fputs(help, stdout);
        return 0;
    }
    r.n_dirs = o.n_operands;
    if (e == ERR_OK)
        e = make_report(&a, &r, &msg);
    if (e != ERR_OK)
        fprintf(stderr, "moe-bench report: %s\n", msg.text);
    arena_clear(&a);
    return err_exit_code(e);
}
