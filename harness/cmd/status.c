#include "commands.h"
#include "experiment/experiment.h"
#include "options.h"

#include <stdio.h>

static const char help[] =
    "usage: moe-bench status MANIFEST [--out DIR]\n\n"
    "Lists the runs that the experiment plans, each with where it stands:\n"
    "valid, invalid, failed, oom, nan, timeout (with the reason and the "
    "folder\n"
    "of its log) or missing. Only runs of the same manifest, model, binaries\n"
    "and machine count. Exit status 0 when all planned runs are valid, else "
    "1.\n"
    "\n"
    "  --out DIR      default results/<name>\n\n"
    "example: moe-bench status experiments/local.json\n";

struct tally {
    int n_planned, n_valid, n_missing;
};

static void print_run(const struct experiment *e,
                      const struct planned_run *which, struct tally *t)
{
    const struct run_record *r =
        which->layout ? experiment_find(e, which) : NULL;
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

static enum err print_status(struct experiment *e, struct tally *t,
                             struct err_msg *msg)
{
    if (experiment_fit(e, msg) != ERR_OK)
        e->ctx.cost = NULL;
    enum err err = experiment_resolve(e, N_ROLES, true, msg);
    if (err != ERR_OK)
        return err;
    printf("%5s  %-16s %-26s %s\n", "round", "role", "layout", "status");
    for (int i = 0; i < e->n_profile; i++) {
        const struct planned_run which = experiment_profile_run(e, i);
        print_run(e, &which, t);
    }
    for (int round = 1; round <= e->manifest.rounds; round++)
        for (int i = 0; i < e->targets.n; i++) {
            const struct target *x = &e->targets.target[i];
            const struct planned_run which = {round, role_name(x->role),
                                              x->layout, 0};
            if (x->runs_of == i)
                print_run(e, &which, t);
        }
    printf("%s: %d of %d runs valid, %d missing, %d not valid; results in %s\n",
           e->manifest.name, t->n_valid, t->n_planned, t->n_missing,
           t->n_planned - t->n_valid - t->n_missing, e->dir);
    return ERR_OK;
}

int cmd_status(int argc, char **argv)
{
    bool want_help = false;
    struct experiment_options opt = {.only = N_ROLES};
    const struct option_row rows[] = {{"--help", NULL, &want_help},
                                      {"--out", &opt.out, NULL}};
    struct options o = {.rows = rows,
                        .n_rows = 2,
                        .operands = &opt.manifest,
                        .max_operands = 1};
    struct err_msg msg;
    struct arena a;
    struct experiment e;
    struct tally t = {0, 0, 0};
    arena_init(&a);
    enum err err = options_read(&o, argc, argv, &msg);
    if (err == ERR_OK && want_help) {
        fputs(help, stdout);
        return 0;
    }
    if (err == ERR_OK && !opt.manifest)
        err = err_set(&msg, ERR_PARSE, "manifest missing, try --help");
    if (err == ERR_OK)
        err = experiment_open(&a, &opt, &e, &msg);
    if (err == ERR_OK)
        err = print_status(&e, &t, &msg);
    if (err != ERR_OK)
        fprintf(stderr, "moe-bench status: %s\n", msg.text);
    arena_clear(&a);
    return err != ERR_OK              ? err_exit_code(err)
           : t.n_valid == t.n_planned ? 0
                                      : EXIT_ANSWER_NO;
}
