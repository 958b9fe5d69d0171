/*
 * commands: the entry points of moe-bench's commands, as the table in
 * moe_bench.c calls them. argv[0] is the command's own name ("run"), the rest
 * are its arguments. Each prints its one error line itself and returns the
 * exit code: 0 ok, 1 the answer is no, 2 usage or bad input, 3 environment.
 */
#ifndef HARNESS_CMD_COMMANDS_H
#define HARNESS_CMD_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_parse(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_publish(int argc, char **argv);
int cmd_machine(int argc, char **argv);

#endif
