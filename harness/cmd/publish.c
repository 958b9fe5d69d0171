#include "commands.h"
#include "experiment/experiment.h"
#include "options.h"
#include "report/reference.h"

#include <stdio.h>

static const char help[] =
    "usage: moe-bench publish MANIFEST [--out DIR] [--to DIR]\n\n"
    "Makes the results of a finished experiment a dataset that can be\n"
    "committed: CSV files, manifest, model, machine, date, and the raw logs\n"
    "(gzip) of the profile runs and of one measured run a layout, from which\n"
    "'moe-bench validate' makes the predictions again. All planned runs must\n"
    "be valid and made with the programs as they are now. What was at the\n"
    "place before is replaced.\n\n"
    "  --out DIR   where the results are, default results/<name>\n"
    "  --to DIR    default results/reference/<name>\n\n"
    "example: moe-bench run experiments/local-exact.json &&\n"
    "         moe-bench publish experiments/local-exact.json\n";

static enum err bench_publish_publish(struct arena *a,
                                      const struct experiment_options *opt,
                                      const char *to, struct err_msg *msg)
{
    struct experiment e;
    enum err err = experiment_open(a, opt, &e, msg);
    if (err == ERR_OK)
        err = experiment_fit(&e, msg);
    if (err == ERR_OK)
        err = experiment_resolve(&e, N_ROLES, false, msg);
    const char *dir = to;
    if (err == ERR_OK && !dir)
        dir = arena_printf(a, "results/reference/%s", e.manifest.name);
    if (err == ERR_OK && !dir)
        err = err_set(msg, ERR_NOMEM, "publish: out of memory");
    if (err == ERR_OK)
        err = reference_publish(&e, dir, msg);
    if (err == ERR_OK)
        printf("%s\n", dir);
    return err;
}

int cmd_publish(int argc, char **argv)
{
    bool want_help = false;
    const char *to = NULL;
    struct experiment_options opt = {.only = N_ROLES};
    const struct option_row rows[] = {{"--help", NULL, &want_help},
                                      {"--out", &opt.out, NULL},
                                      {"--to", &to, NULL}};
    struct options o = {.rows = rows,
                        .n_rows = 3,
                        .operands = &opt.manifest,
                        .max_operands = 1};
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    enum err e = options_read(&o, argc, argv, &msg);
    if (e == ERR_OK && want_help) {
        fputs(help, stdout);
        return 0;
    }
    if (e == ERR_OK && !opt.manifest)
        e = err_set(&msg, ERR_PARSE, "manifest missing, try --help");
    if (e == ERR_OK)
        e = bench_publish_publish(&a, &opt, to, &msg);
    if (e != ERR_OK)
        fprintf(stderr, "moe-bench publish: %s\n", msg.text);
    arena_clear(&a);
    return err_exit_code(e);
}
