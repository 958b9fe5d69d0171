/*
 * How it works: cmd_main() is the frame of every command: one arena, one line
 * read against the command's rows, one place that prints help or an error and
 * makes the exit code.
 */
#include "cmd.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct option_row rows[N_OPTIONS] = {
#define CMD_ROW(id, name, alias, value, help) {name, alias, value, help},
    CMD_OPTION_TABLE(CMD_ROW)
#undef CMD_ROW
};

/* In the order in which help is read: how to call it, what it does, the
 * options, an example. */
static void bench_cmd_print_help(const struct cmd *c, FILE *out)
{
    const struct command *k = c->command;
    fprintf(out, "usage: moe-bench %s\n\n%s\noptions:\n", k->synopsis, k->help);
    options_print(&c->spec, out);
    if (k->print_more)
        k->print_more(out);
    fprintf(out, "\n%s", k->closing);
}

const char *cmd_text(const struct cmd *c, enum cmd_option o)
{
    return options_text(&c->line, (int)o);
}

bool cmd_given(const struct cmd *c, enum cmd_option o)
{
    return options_given(&c->line, (int)o);
}

/* For commands that want one operand: more are refused when the line is read.
 */
enum err cmd_operand(struct cmd *c, const char *what, const char **out)
{
    if (c->line.n_operands == 0)
        return err_set(&c->msg, ERR_PARSE, "%s missing; usage: moe-bench %s",
                       what, c->command->synopsis);
    *out = c->line.operands[0];
    return ERR_OK;
}

void cmd_print_number(int width, int digits, double x)
{
    if (isfinite(x))
        printf(" %*.*f", width, digits, x);
    else
        printf(" %*s", width, "-");
}

/* c.status is an answer, as of a check that found something; an error's own
 * code goes before it. */
int cmd_main(const struct command *command, int argc, char *const *argv)
{
    struct cmd c = {.command = command,
                    .spec = {.program = "moe-bench",
                             .command = command->name,
                             .synopsis = command->synopsis,
                             .rows = rows,
                             .n_rows = N_OPTIONS,
                             .takes = command->options,
                             .max_operands = command->max_operands,
                             .keeps_rest = command->keeps_rest,
                             .is_operand = command->is_operand}};
    arena_init(&c.arena);
    const struct option_line words = {argc, argv, 0};
    enum err e = options_read(&c.arena, &c.spec, words, &c.line, &c.msg);
    if (e == ERR_OK && cmd_given(&c, OPT_HELP))
        bench_cmd_print_help(&c, stdout);
    else if (e == ERR_OK)
        e = command->run(&c);
    // a full disk behind a redirected output is an error, not silence
    if (e == ERR_OK && (fflush(stdout) != 0 || ferror(stdout)))
        e = err_set(&c.msg, ERR_IO, "standard output: %s", strerror(errno));
    if (e != ERR_OK)
        fprintf(stderr, "moe-bench %s: %s\n", command->name, c.msg.text);
    arena_clear(&c.arena);
    return e != ERR_OK ? err_exit_code(e) : c.status;
}
