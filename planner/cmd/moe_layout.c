/* moe-layout: the planner. Pure computation on files; only `record` starts a
 * process, and under the name of a launcher this is one of its stand-ins. */
#include "cmd.h"
#include "megatron/args.h"
#include "record/stand_in.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// in the order in which a user needs them
static const struct command *const commands[] = {
    &CMD_READ,     &CMD_SIZE,      &CMD_CHECK,
    &CMD_COUNT,    &CMD_BASELINES, &CMD_PROFILE_LAYOUTS,
    &CMD_FIT,      &CMD_COSTS,     &CMD_PLAN,
    &CMD_SIMULATE, &CMD_MEMORY,    &CMD_DOCTOR,
    &CMD_RECORD,   &CMD_TRANSLATE,
};
enum { MOE_LAYOUT_N_COMMANDS = sizeof commands / sizeof commands[0] };

/* Synopses are the commands' own, so that usage and help cannot differ. */
static void print_usage(FILE *out)
{
    fprintf(out, "moe-layout " MOE_VERSION
                 ": pipeline layouts for Mixture-of-Experts models in "
                 "Megatron-LM\n\nusage: moe-layout COMMAND [options]\n\n");
    for (int i = 0; i < MOE_LAYOUT_N_COMMANDS; i++)
        fprintf(out, "  %s\n      %s\n", commands[i]->synopsis,
                commands[i]->summary);
    fprintf(out, "\nMODEL is a model file, a launch script, a YAML file, a log "
                 "or a Hugging Face config.\nmoe-layout COMMAND --help tells "
                 "more. Example:\n  moe-layout baselines "
                 "experiments/models/7b-a1b.json --pp 4\n");
}

static const struct command *cmd_moe_layout_find(const char *name)
{
    for (int i = 0; i < MOE_LAYOUT_N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* One line, whatever the input that is quoted in it holds. */
static void moe_layout_put(const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? '?' : *text, stderr);
    fputc('\n', stderr);
}

static void moe_layout_tell(const char *text)
{
    fputs("moe-layout: ", stderr);
    moe_layout_put(text);
}

/* Output is flushed before the exit code is known: a full disk must not look
 * like success. */
static int cmd_moe_layout_finish(const char *text, enum err e)
{
    struct err_msg msg;
    if (e == ERR_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        e = err_set(&msg, ERR_IO, "standard output: %s", strerror(errno));
        text = msg.text;
    }
    if (e != ERR_OK && *text)
        moe_layout_tell(text);
    return err_exit_code(e);
}

/* What was taken for granted, as `read` says it: an answer's reader must not
 * have to ask. */
static void tell_assumed(const struct cmd *c)
{
    if (!c->opened || c->command->lists_warnings || c->command->sizes_only)
        return;
    const struct account_list *list =
        &megatron_args_account(c->opened)->assumed;
    int left = CMD_MAX_WARNINGS;
    for (const struct account_line *l = list->first; l && left; l = l->next) {
        fputs("moe-layout: assumed: ", stderr);
        moe_layout_put(l->text);
        left--;
    }
    if (list->n > CMD_MAX_WARNINGS)
        fprintf(stderr,
                "moe-layout: %d more assumptions: 'moe-layout read' lists "
                "them\n",
                list->n - CMD_MAX_WARNINGS);
}

/* What was read, in one line; a command may have assumed more on its way. */
static void tell_summary(struct cmd *c)
{
    const int n = c->opened ? megatron_args_account(c->opened)->assumed.n : 0;
    const char *line = arena_printf(&c->arena, "%s, %d assumption%s",
                                    c->summary, n, n == 1 ? "" : "s");
    tell_assumed(c);
    moe_layout_tell(line ? line : c->summary);
}

/* The one line of an error is the last of standard error; sums and assumptions
 * are of answers alone. */
static int cmd_moe_layout_run(const struct command *command, int argc,
                              char *const *argv)
{
    struct cmd c = {.command = command};
    arena_init(&c.arena);
    enum err e = cmd_parse_line(&c, argc, argv);
    if (e == ERR_OK && cmd_given(&c, OPT_HELP))
        cmd_print_help(command, stdout);
    else if (e == ERR_OK)
        e = command->run(&c);
    if (c.n_warnings > CMD_MAX_WARNINGS)
        fprintf(stderr,
                "moe-layout: %d more warnings: 'moe-layout read' lists them\n",
                c.n_warnings - CMD_MAX_WARNINGS);
    // behind an answer; an error is one line of its own
    bool answered = e == ERR_OK || (e == ERR_MODEL && !*c.msg.text);
    if (c.summary && answered && fflush(stdout) == 0)
        tell_summary(&c);
    int code = cmd_moe_layout_finish(c.msg.text, e);
    arena_clear(&c.arena);
    return code;
}

/* With the nearest name, as for options. */
static enum err moe_layout_unknown(const char *word, struct err_msg *msg)
{
    const char *names[MOE_LAYOUT_N_COMMANDS];
    for (int i = 0; i < MOE_LAYOUT_N_COMMANDS; i++)
        names[i] = commands[i]->name;
    return options_unknown_command("moe-layout", word, names,
                                   MOE_LAYOUT_N_COMMANDS, msg);
}

/* Any of the three words that people try first. */
static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "help") == 0;
}

/* The name decides first: under a launcher's the program is a stand-in of
 * `record`, whatever its words. */
static int moe_layout_main(int argc, char **argv)
{
    struct err_msg msg;
    process_one_thread(argv);
    enum err ready = process_prepare(&msg);
    if (ready != ERR_OK)
        return cmd_moe_layout_finish(msg.text, ready);
    if (argc > 0 && stand_in_is_called(argv[0]))
        return stand_in_main(argc, argv);
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (is_help(argv[1]) && argc > 2 && cmd_moe_layout_find(argv[2])) {
        cmd_print_help(cmd_moe_layout_find(argv[2]), stdout);
        return cmd_moe_layout_finish("", ERR_OK);
    }
    if (is_help(argv[1])) {
        print_usage(stdout);
        return cmd_moe_layout_finish("", ERR_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("moe-layout " MOE_VERSION "\n");
        return cmd_moe_layout_finish("", ERR_OK);
    }
    const struct command *command = cmd_moe_layout_find(argv[1]);
    if (!command) {
        enum err e = moe_layout_unknown(argv[1], &msg);
        return cmd_moe_layout_finish(msg.text, e);
    }
    return cmd_moe_layout_run(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    process_end(moe_layout_main(argc, argv));
}
