/*
 * moe-bench publish: finished results become a dataset. The experiment is
 * opened as 'run' does, so that the same command line names the same results,
 * and its runs are only read.
 */
#include "cmd.h"
#include "experiment/experiment.h"
#include "report/reference.h"

#include <stdio.h>

/* What a planned experiment's dataset is made of: no launcher, no runs. */
static enum err bench_publish_open_planned(struct arena *a,
                                           const struct experiment_options *opt,
                                           struct experiment *e,
                                           struct err_msg *msg)
{
    enum err err = workload_read(a, &e->manifest, &e->workload, msg);
    if (err == ERR_OK)
        err = machine_read(a, &e->machine, msg);
    e->dir =
        opt->out ? opt->out : arena_printf(a, "results/%s", e->manifest.name);
    return err != ERR_OK || e->dir
               ? err
               : err_set(msg, ERR_NOMEM, "publish: out of memory");
}

/* Costs of the profile runs that are left would give other layouts; changed
 * measured runs are found missing. */
static enum err bench_publish_check_runs(const struct experiment *e,
                                         struct err_msg *msg)
{
    const struct run_record *r = experiment_changed(e);
    return r && r->round == 0
               ? err_set(
                     msg, ERR_MODEL,
                     "%s: %s; restore the file, or 'moe-bench run %s' makes "
                     "the run again",
                     r->folder, r->changed, e->manifest.path)
               : ERR_OK;
}

/* Costs and roles are made again from the runs: what is published is what a
 * reader of the dataset can make, too. */
static enum err bench_publish_publish(struct arena *a,
                                      const struct experiment_options *opt,
                                      const char *to, struct err_msg *msg)
{
    struct experiment e = {.a = a};
    enum err err = manifest_read(a, opt->manifest, &e.manifest, msg);
    const bool planned = err == ERR_OK && manifest_plans_only(&e.manifest);
    if (planned)
        err = bench_publish_open_planned(a, opt, &e, msg);
    else if (err == ERR_OK)
        err = experiment_open(a, opt, &e, msg);
    if (err == ERR_OK && !planned)
        err = bench_publish_check_runs(&e, msg);
    if (err == ERR_OK && !planned)
        err = experiment_fit(&e, msg);
    if (err == ERR_OK && !planned)
        err = experiment_resolve(&e, N_ROLES, false, msg);
    const char *dir = to;
    if (err == ERR_OK && !dir)
        dir = arena_printf(a, "results/reference/%s", e.manifest.name);
    if (err == ERR_OK && !dir)
        err = err_set(msg, ERR_NOMEM, "publish: out of memory");
    if (err == ERR_OK)
        err = planned ? reference_publish_planned(&e, dir, msg)
                      : reference_publish(&e, dir, msg);
    if (err == ERR_OK)
        printf("%s\n", dir);
    return err;
}

static enum err bench_publish_run(struct cmd *c)
{
    struct experiment_options opt = {.only = N_ROLES,
                                     .out = cmd_text(c, OPT_OUT)};
    enum err e = cmd_operand(c, "manifest", &opt.manifest);
    if (e != ERR_OK)
        return e;
    return bench_publish_publish(&c->arena, &opt, cmd_text(c, OPT_TO), &c->msg);
}

static const int takes[] = {OPT_OUT, OPT_TO, OPT_HELP, N_OPTIONS};

const struct command CMD_PUBLISH = {
    .name = "publish",
    .run = bench_publish_run,
    .synopsis = "publish MANIFEST [--out DIR] [--to DIR]",
    .summary = "finished results become a reference dataset",
    .help =
        "Makes the results of a finished experiment a dataset that can be\n"
        "committed: CSV files, manifest, model, machine, date, and the raw "
        "logs\n"
        "(gzip) of the profile runs and of one measured run a layout, from "
        "which\n"
        "'moe-bench validate' makes the predictions again. All planned runs "
        "must\n"
        "be valid and made with the programs as they are now. What was at "
        "the\n"
        "place before is replaced.\n",
    .closing = "example: moe-bench run experiments/local-exact.json &&\n"
               "         moe-bench publish experiments/local-exact.json\n",
    .options = takes,
    .max_operands = 1};
