/*
 * moe-bench: the harness. Finds the command and calls it; each command has its
 * own file, cmd_<name>.c.
 */
#include "base/err.h"
#include "base/text.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

struct command {
    const char *name, *synopsis, *help;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"run", "run MANIFEST [--dry-run] [--out DIR] [--only ROLE] [--max-usd X]",
     "profile, plan, measure; continues by itself", cmd_run},
    {"status", "status MANIFEST [--out DIR]", "what is done, what is missing",
     cmd_status},
    {"parse", "parse LOG [--json]", "read a training log", cmd_parse},
    {"validate", "validate [DIR...] [--update-baseline]",
     "predictions of the reference datasets against the baseline",
     cmd_validate},
    {"publish", "publish MANIFEST [--out DIR] [--to DIR]",
     "finished results become a reference dataset", cmd_publish},
    {"report", "report [DIR...]", "CSV to tables in REPORT.md and figures",
     cmd_report},
    {"machine", "machine [--json]", "this machine, as runs record it",
     cmd_machine},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void bench_moe_bench_usage(FILE *out)
{
    fputs("moe-bench " MOE_VERSION
          ": runs pipeline-layout experiments and compares predicted with "
          "measured\n\nusage:\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  moe-bench %s\n      %s\n", commands[i].synopsis,
                commands[i].help);
    fputs("\n'moe-bench COMMAND --help' tells the rest. Exit status: 0 ok, 1 "
          "the answer is no or\na check failed, 2 usage or bad input, 3 "
          "environment.\nexample: moe-bench run experiments/local.json\n",
          out);
}

int main(int argc, char **argv)
{
    const char *names[N_COMMANDS];
    if (argc < 2) {
        bench_moe_bench_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        bench_moe_bench_usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("moe-bench " MOE_VERSION);
        return 0;
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], names[i]) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    const char *near = text_nearest(argv[1], names, N_COMMANDS);
    fprintf(stderr, "moe-bench: unknown command '%s'%s%s%s, try --help\n",
            argv[1], near ? ", did you mean '" : "", near ? near : "",
            near ? "'" : "");
    return EXIT_BAD_INPUT;
}
