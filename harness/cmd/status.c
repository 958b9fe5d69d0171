/*
 * moe-bench status: every planned run and where it stands. Reads results and
 * starts nothing; the plan is made as 'run' makes it, so both agree on what is
 * missing.
 */
#include "cmd.h"
#include "experiment/experiment.h"

#include <stdio.h>

struct tally {
    int n_planned, n_valid, n_missing;
};

/* With the folder of its log: the next question is why it failed. */
static void print_run(const struct experiment *e,
                      const struct planned_run *which, struct tally *t)
{
    const struct run_record *r = experiment_find(e, which);
    t->n_planned++;
    t->n_missing += !r;
    t->n_valid += r && r->status == RUN_VALID;
    printf("%5d  %-16s %-26s %s", which->round, which->role,
           which->layout ? which->layout : "<pick after profile>",
           r ? run_status_name(r->status) : "missing");
    if (r && *r->reason)
        printf(": %s", r->reason);
    if (r)
        printf("  (%s)", r->folder);
    puts("");
}

/* Planned runs in their order, whether they exist or not: what is missing is
 * seen at its place. */
static enum err print_status(struct experiment *e, struct tally *t,
                             struct err_msg *msg)
{
    // before the profile is done there are no costs, and picks are still to
    // come
    if (experiment_fit(e, msg) != ERR_OK)
        e->ctx.cost = NULL;
    enum err err = experiment_resolve(e, N_ROLES, true, msg);
    if (err != ERR_OK)
        return err;
    printf("%5s  %-16s %-26s %s\n", "round", "role", "layout", "status");
    if (e->runs.stray)
        printf("%s: not a run's folder, left aside\n", e->runs.stray);
    const struct planned plan = experiment_planned(e);
    struct planned_walk walk = planned_all(&plan);
    struct planned_run which;
    while (planned_next(&walk, &which))
        print_run(e, &which, t);
    printf("%s: %d of %d runs valid, %d missing, %d not valid; results in %s\n",
           e->manifest.name, t->n_valid, t->n_planned, t->n_missing,
           t->n_planned - t->n_valid - t->n_missing, e->dir);
    return ERR_OK;
}

/* Exit 1 until all planned runs are valid, so that scripts can wait for it. */
static enum err bench_status_run(struct cmd *c)
{
    struct experiment_options opt = {.only = N_ROLES,
                                     .out = cmd_text(c, OPT_OUT)};
    struct experiment e;
    struct tally t = {0, 0, 0};
    enum err err = cmd_operand(c, "manifest", &opt.manifest);
    if (err == ERR_OK)
        err = experiment_open(&c->arena, &opt, &e, &c->msg);
    if (err == ERR_OK)
        err = print_status(&e, &t, &c->msg);
    c->status = t.n_valid == t.n_planned ? 0 : EXIT_ANSWER_NO;
    return err;
}

static const int takes[] = {OPT_OUT, OPT_HELP, N_OPTIONS};

const struct command CMD_STATUS = {
    .name = "status",
    .run = bench_status_run,
    .synopsis = "status MANIFEST [--out DIR]",
    .summary = "what is done, what is missing",
    .help =
        "Lists the runs that the experiment plans, each with where it stands:\n"
        "valid, invalid, failed, oom, nan, timeout (with the reason and the "
        "folder\n"
        "of its log) or missing. Only runs of the same manifest, model, "
        "binaries\n"
        "and machine count. Exit status 0 when all planned runs are valid, "
        "else 1.\n",
    .closing = "example: moe-bench status experiments/local.json\n",
    .options = takes,
    .max_operands = 1};
