/*
 * moe-bench: the harness. Finds the command and calls it; each command has its
 * own file, <name>.c.
 */
#include "cmd.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &CMD_RUN,     &CMD_STATUS,    &CMD_PARSE,      &CMD_VALIDATE,
    &CMD_PUBLISH, &CMD_IMPORT,    &CMD_CONTRIBUTE, &CMD_REPORT,
    &CMD_MACHINE, &CMD_REPRODUCE, &CMD_ROOFLINE,   &CMD_PAGE,
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void bench_moe_bench_usage(FILE *out)
{
    fputs("moe-bench " MOE_VERSION
          ": runs pipeline-layout experiments and compares predicted with "
          "measured\n\nusage:\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  moe-bench %s\n      %s\n", commands[i]->synopsis,
                commands[i]->summary);
    fputs("\n'moe-bench COMMAND --help' tells the rest. Exit status: 0 ok, 1 "
          "the answer is no or\na check failed, 2 usage or bad input, 3 "
          "environment.\nexample: moe-bench run experiments/local.json\n",
          out);
}

static int bench_moe_bench_fail(enum err e, const struct err_msg *msg)
{
    fprintf(stderr, "moe-bench: %s\n", msg->text);
    return err_exit_code(e);
}

/* A text that was asked for and could not be written is no success. */
static int bench_moe_bench_end_text(void)
{
    struct err_msg msg;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return bench_moe_bench_fail(
        err_set(&msg, ERR_IO, "standard output: %s", strerror(errno)), &msg);
}

/* The commands tell the rest of the line themselves: only they know their
 * options. */
static int bench_moe_bench_main(int argc, char **argv)
{
    const char *names[N_COMMANDS];
    struct err_msg msg;
    process_one_thread(argv);
    enum err e = process_prepare(&msg);
    if (e != ERR_OK)
        return bench_moe_bench_fail(e, &msg);
    if (argc < 2) {
        bench_moe_bench_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        bench_moe_bench_usage(stdout);
        return bench_moe_bench_end_text();
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("moe-bench " MOE_VERSION);
        return bench_moe_bench_end_text();
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (strcmp(argv[1], names[i]) == 0)
            return cmd_main(commands[i], argc - 2, argv + 2);
    }
    e = options_unknown_command("moe-bench", argv[1], names, N_COMMANDS, &msg);
    return bench_moe_bench_fail(e, &msg);
}

int main(int argc, char **argv)
{
    process_end(bench_moe_bench_main(argc, argv));
}
