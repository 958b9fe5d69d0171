#include "manifest/machine.h"
#include "commands.h"
#include "options.h"

#include <stdio.h>

static const char help[] =
    "usage: moe-bench machine [--json]\n\n"
    "Prints what the harness records of this machine with every run: "
    "processor,\ncores, memory (bytes), system, compiler, BLAS and its kernel "
    "set, the commit of\nthe source tree. Runs are used again only on a "
    "machine with the same sha256\n(of all but the commit).\n\n"
    "example: moe-bench machine --json\n";

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

int cmd_machine(int argc, char **argv)
{
    bool want_help = false, json = false;
    const struct option_row rows[] = {{"--help", NULL, &want_help},
                                      {"--json", NULL, &json}};
    struct options o = {.rows = rows, .n_rows = 2};
    struct arena a;
    struct err_msg msg;
    struct machine m;
    arena_init(&a);
    enum err e = options_read(&o, argc, argv, &msg);
    if (e == ERR_OK && want_help) {
        fputs(help, stdout);
        return 0;
    }
    if (e == ERR_OK)
        e = machine_read(&a, &m, &msg);
    if (e == ERR_OK && json)
        e = json_print_and_delete(machine_to_json(&m), true, stdout, &msg);
    else if (e == ERR_OK)
        print_text(&m);
    if (e != ERR_OK)
        fprintf(stderr, "moe-bench machine: %s\n", msg.text);
    arena_clear(&a);
    return err_exit_code(e);
}
