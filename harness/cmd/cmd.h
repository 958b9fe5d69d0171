/*
 * cmd: what the commands of moe-bench share: one table of options, and a
 * command line that was read against it. A command gives an error or a status;
 * cmd_main() prints the one line of an error and makes the exit code of it.
 *
 * A command is a constant struct command in a file of its own, listed in
 * moe_bench.c. Results go to standard output, progress and warnings to
 * standard error.
 *
 * Sized for lines of some hundred words.
 */
#ifndef HARNESS_CMD_CMD_H
#define HARNESS_CMD_CMD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"

#include <stdbool.h>
#include <stdio.h>

/* identifier, name, alias, value ("" for a switch), help with the default. One
 * table for all commands, so that an option means the same everywhere. */
#define CMD_OPTION_TABLE(X)                                                    \
    X(OPT_DRY_RUN, "--dry-run", NULL, "",                                      \
      "print what would be done (run: the commands, their number and the "     \
      "bound on time and cost); start and write nothing")                      \
    X(OPT_OUT, "--out", NULL, "DIR", "of the results (results/<name>)")        \
    X(OPT_ONLY, "--only", NULL, "ROLE",                                        \
      "measure the layouts of one role (profile runs stay)")                   \
    X(OPT_MAX_USD, "--max-usd", NULL, "X",                                     \
      "stop before a run that could exceed X US dollars in all "               \
      "(limits.budget_usd of the manifest)")                                   \
    X(OPT_QUIET, "--quiet", "-q", "", "no progress on stderr")                 \
    X(OPT_JSON, "--json", NULL, "", "print one JSON document")                 \
    X(OPT_BASELINE, "--baseline", NULL, "FILE",                                \
      "errors to compare with (results/baseline.csv)")                         \
    X(OPT_UPDATE, "--update-baseline", NULL, "",                               \
      "write the errors as they are now into the baseline and, as --record, "  \
      "into the history")                                                      \
    X(OPT_RECORD, "--record", NULL, "",                                        \
      "leave a line a dataset in the history, whatever the answer")            \
    X(OPT_REASON, "--reason", NULL, "TEXT",                                    \
      "one line, why: what --record and --update-baseline want")               \
    X(OPT_AGAINST, "--against", NULL, "REV",                                   \
      "compare with the session of the history that a commit, tag, line "      \
      "number or 'last' names; THEN..NOW compares two of them")                \
    X(OPT_BOUNDS, "--bounds", NULL, "FILE",                                    \
      "how far errors may grow (bounds.csv beside the baseline)")              \
    X(OPT_HISTORY, "--history", NULL, "FILE",                                  \
      "lines of earlier sessions (history.csv beside the baseline)")           \
    X(OPT_JUNIT, "--junit", NULL, "FILE",                                      \
      "write a JUnit testcase a dataset and bound")                            \
    X(OPT_TO, "--to", NULL, "DIR",                                             \
      "the dataset (results/reference/<name>; import: "                        \
      "results/published/<source>; contribute: below results/contributed)")    \
    X(OPT_INTO, "--into", NULL, "FILE",                                        \
      "fill this file (without DIR: REPORT.md; page: results/index.html)")     \
    X(OPT_FIGURES, "--figures", NULL, "DIR",                                   \
      "of the figures (with --into: plots/out)")                               \
    X(OPT_CHECK, "--check", NULL, "",                                          \
      "write nothing; say what is not as the data give it")                    \
    X(OPT_ROWS, "--rows", NULL, "FILE",                                        \
      "predict the rows of this CSV file, and of those named behind it")       \
    X(OPT_TERMS, "--terms", NULL, "LIST",                                      \
      "of --rows: what a step has beside its units, of dp, constant, output, " \
      "recompute, free-output, optimizer, start (the first five)")             \
    X(OPT_SOURCE, "--source", NULL, "NAME", "of the dataset: its folder")      \
    X(OPT_LICENCE, "--licence", NULL, "SPDX", "of what is imported")           \
    X(OPT_REPOSITORY, "--repository", NULL, "NAME", "where the figures are")   \
    X(OPT_COMMIT, "--commit", NULL, "ID",                                      \
      "of the repository (each row's ref, where not given)")                   \
    X(OPT_TITLE, "--title", NULL, "TEXT", "what was measured, in a line")      \
    X(OPT_URL, "--url", NULL, "URL", "where a reader finds it")                \
    X(OPT_NOTE, "--note", NULL, "TEXT", "what to know of the figures")         \
    X(OPT_REF, "--ref", NULL, "TEXT",                                          \
      "csv: only rows whose ref begins so; else: the row's ref")               \
    X(OPT_COLUMN, "--column", NULL, "COLUMN=VALUE",                            \
      "of the row of a log; may be repeated")                                  \
    X(OPT_CONFIG, "--config", NULL, "FILE",                                    \
      "of the model: launch script, YAML, model file or a log (each log's "    \
      "own list of arguments)")                                                \
    X(OPT_LAUNCH, "--launch", NULL, "N", "of a script with several, from 1")   \
    X(OPT_GPU, "--gpu", NULL, "NAME", "the card that ran, such as H100")       \
    X(OPT_PER_NODE, "--gpus-per-node", NULL, "N",                              \
      "cards of a machine (8; of an experiment, its manifest's)")              \
    X(OPT_CORE, "--core", NULL, "V", "version of Megatron core (0.16)")        \
    X(OPT_STEP, "--step", NULL, "LAYOUT=MS",                                   \
      "a step time typed in, milliseconds; may be repeated")                   \
    X(OPT_STEPS, "--steps", NULL, "FILE",                                      \
      "typed times as a CSV file: columns layout, step_s, and pp, gbs where "  \
      "they differ")                                                           \
    X(OPT_SERIES, "--series", NULL, "N",                                       \
      "how many runs were made in all, also those that look bad")              \
    X(OPT_NO_LOGS, "--no-logs", NULL, "", "give step times, and no log")       \
    X(OPT_CONSENT, "--consent", NULL, "",                                      \
      "say yes to the sentence on the licence (asked on a terminal)")          \
    X(OPT_EXAMPLE, "--example", NULL, "",                                      \
      "mark it as an example, not a GPU's")                                    \
    X(OPT_HELP, "--help", "-h", "", "this text")

/* Ids by the table above; a list of them ends with N_OPTIONS. */
enum cmd_option {
#define CMD_ENUM(id, name, alias, value, help) id,
    CMD_OPTION_TABLE(CMD_ENUM)
#undef CMD_ENUM
        N_OPTIONS
};

struct command;

/* A parsed command line. */
struct cmd {
    struct arena arena; // of everything the command makes
    struct err_msg msg; // of the error that the command returns
    const struct command *command;
    struct option_spec spec; // the rows that the command takes
    struct options line;     // operands and options
    int status; // exit code where there is no error: 0, or answer no
};

/* A command: its row of the table of commands. */
struct command {
    const char *name;
    enum err (*run)(struct cmd *c);
    const char *synopsis;          // "status MANIFEST [--out DIR]"
    const char *summary;           // one line of the program's usage
    const char *help;              // what it does
    void (*print_more)(FILE *out); // behind the options, or NULL
    const char *closing;           // exit status and an example
    const int *options;            // ends with N_OPTIONS
    int max_operands;
    bool keeps_rest; // words behind "--" are Megatron's flags
    // an unknown word with a dash in front that is an operand; NULL: none is
    bool (*is_operand)(const char *word);
};

/* All commands, each in its own file. */
extern const struct command CMD_RUN, CMD_STATUS, CMD_PARSE, CMD_VALIDATE,
    CMD_PUBLISH, CMD_IMPORT, CMD_CONTRIBUTE, CMD_REPORT, CMD_MACHINE,
    CMD_REPRODUCE, CMD_ROOFLINE, CMD_PAGE;

/* Value of an option, NULL when it was not given; "" of a switch. */
const char *cmd_text(const struct cmd *c, enum cmd_option o);

/* Was the option on the line? Also of a switch. */
bool cmd_given(const struct cmd *c, enum cmd_option o);

/* The first operand into *out; ERR_PARSE names `what` is missing. */
enum err cmd_operand(struct cmd *c, const char *what, const char **out);

/* Prints a blank and a number of a table, "-" where it is not known (NAN). */
void cmd_print_number(int width, int digits, double x);

/* Reads the line and runs the command; argv begins behind its name. Prints its
 * help or its error and returns the exit code: 0 ok, 1 the answer is no, 2
 * usage or bad input, 3 environment. */
int cmd_main(const struct command *command, int argc, char *const *argv);

#endif
