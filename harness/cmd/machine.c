/*
 * moe-bench machine: what is recorded of this machine. A reader can compare it
 * with the machine.json of published runs, and see whether a run here would
 * continue one: the key of a local run holds the hash.
 */
#include "manifest/machine.h"
#include "cmd.h"

#include <stdio.h>

/* GiB for people; the JSON has bytes, and all that the hash covers. */
static void print_text(const struct machine *m)
{
    printf("cpu        %s\ncores      %d\nmemory     %.1f GiB\nos         %s\n"
           "compiler   %s\nblas       %s\nblas core  %s\ncommit     %s\n"
           "sha256     %s\n",
           m->cpu_model, m->n_cores, (double)m->mem_bytes / 1073741824.0, m->os,
           m->compiler, m->blas,
           *m->blas_core ? m->blas_core : "the library's choice", m->commit,
           m->sha256);
}

static enum err bench_machine_run(struct cmd *c)
{
    struct machine m;
    enum err e = machine_read(&c->arena, &m, &c->msg);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return json_print_and_delete(machine_to_json(&m), true, stdout,
                                     &c->msg);
    print_text(&m);
    return ERR_OK;
}

static const int takes[] = {OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_MACHINE = {
    .name = "machine",
    .run = bench_machine_run,
    .synopsis = "machine [--json]",
    .summary = "this machine, as runs record it",
    .help = "Prints what the harness records of this machine with every run: "
            "processor,\ncores, memory (bytes), system, compiler, BLAS and its "
            "kernel set, the commit of\nthe source tree. Runs are used again "
            "only on a machine with the same sha256\n(of all but the "
            "commit).\n",
    .closing = "example: moe-bench machine --json\n",
    .options = takes};
