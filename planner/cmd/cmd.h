/*
 * cmd: what the commands of moe-layout share: one table of options, positional
 * arguments, the model they name. Only these files print results: to standard
 * output what was asked for, to standard error warnings and errors.
 *
 * A command is a constant struct command in a file of its own, listed in
 * moe_layout.c. Its function returns ERR_MODEL where the answer is no (exit 1);
 * messages stand in the command's err_msg, and main() prints them.
 */
#ifndef PLANNER_CMD_CMD_H
#define PLANNER_CMD_CMD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/writer.h"
#include "model/model.h"
#include "plan/plan.h"
#include "plan/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* identifier, name, value ("" for a switch), help with the default. One table
 * for all commands, so that an option means the same everywhere; those that
 * stand for a flag or a setting are named in megatron/overrides.h, too. */
#define CMD_OPTION_TABLE(X)                                                    \
    /* what is printed, and cases from a file */                               \
    X(OPT_JSON, "--json", "", "print one JSON document")                       \
    X(OPT_SHORTEST, "--shortest", "",                                          \
      "the layout in the fewest characters that parse to it")                  \
    X(OPT_BATCH, "--batch", "FILE",                                            \
      "one JSON object a line; /dev/stdin works")                              \
    /* sizes that win over the flags of the model */                           \
    X(OPT_TP, "--tp", "N", "tensor-parallel size (1)")                         \
    X(OPT_PP, "--pp", "N", "pipeline size (the model's, or 1)")                \
    X(OPT_VPP, "--vpp", "N", "virtual stages a rank (1)")                      \
    X(OPT_CP, "--cp", "N", "context-parallel size (1)")                        \
    X(OPT_EP, "--ep", "N", "expert-parallel size (1)")                         \
    X(OPT_ETP, "--etp", "N", "expert-tensor-parallel size (TP)")               \
    X(OPT_WORLD, "--world", "N", "ranks (the launcher's, or the fewest)")      \
    X(OPT_MBS, "--mbs", "N", "sequences a micro-batch (1)")                    \
    X(OPT_GBS, "--gbs", "N", "sequences a step, over all replicas")            \
    X(OPT_SEQ, "--seq", "N", "tokens a sequence")                              \
    X(OPT_CORE, "--core", "X.Y",                                               \
      "Megatron core version, or dev (0.16, for hybrid patterns 0.19)")        \
    /* which launch a source holds, where it is a script with several or with  \
     * variables that the environment gives */                                 \
    X(OPT_LAUNCH, "--launch", "K", "of several launches of a script the K-th") \
    X(OPT_SET, "--set", "NAME=VALUE",                                          \
      "a variable of the script's environment, or of a YAML file; may be "     \
      "repeated")                                                              \
    X(OPT_ARG, "--arg", "WORD",                                                \
      "a positional parameter of the script; may be repeated; --arg=--size "   \
      "for one that begins with --")                                           \
    X(OPT_IGNORE, "--ignore-unknown", "",                                      \
      "go on although a flag changes the model and is not understood")         \
    /* spaces of layouts, which need no model */                               \
    X(OPT_LAYERS, "--layers", "N", "decoder layers")                           \
    X(OPT_MTP, "--mtp", "K", "MTP layers (0)")                                 \
    X(OPT_EMPTY, "--empty-stages", "", "stages between the ends may be empty") \
    X(OPT_ANY, "--any", "", "all that Megatron's validator accepts")           \
    /* profile runs and the costs that are fitted to them */                   \
    X(OPT_RUNS, "--runs", "N", "how many profile runs (2)")                    \
    X(OPT_RUN, "--run", "LAYOUT=LOG",                                          \
      "a profile run; give two or more (LOG alone where its arguments tell)")  \
    X(OPT_STEP, "--step", "LAYOUT=MS",                                         \
      "a measured step in ms; give two or more of different layouts")          \
    X(OPT_STEP_PP, "--step-pp", "N",                                           \
      "pipeline size of a --step, one for each in order (the model's)")        \
    X(OPT_STEPS, "--steps", "FILE",                                            \
      "measured steps from a CSV: step_s, layout, pp, vpp, microbatches, dp")  \
    X(OPT_OUT, "-o", "FILE", "write the file there")                           \
    X(OPT_ANALYTIC, "--analytic", "", "costs from FLOPs, marked so")           \
    X(OPT_ROOFLINE, "--roofline", "GPU",                                       \
      "costs from FLOPs, bytes and kernels on this card, marked so")           \
    X(OPT_TFLOPS, "--tflops", "X", "assumed TFLOP/s of analytic costs (100)")  \
    X(OPT_COSTS, "--costs", "FILE", "costs file from fit or costs")            \
    /* memory: the limit, and what decides the prediction */                   \
    X(OPT_HBM, "--hbm-gb", "G", "memory of a rank, GiB (no limit)")            \
    X(OPT_PLATFORM, "--platform", "NAME",                                      \
      "GPU whose library workspaces count: h100, b200, gb200, gb300, a100, "   \
      "mi300x, mi355x (h100)")                                                 \
    X(OPT_TRAINER, "--trainer", "NAME", "megatron or moe-train (megatron)")    \
    X(OPT_CORPUS, "--corpus", "DIR",                                           \
      "compare with measured cases, DIR/cases/*.json")                         \
    X(OPT_MARGIN, "--memory-margin", "PCT",                                    \
      "kept free above predicted peaks (5.8, of measured under-estimates)")    \
    /* rates of a step, by a card's peak */                                    \
    X(OPT_GPU, "--gpu", "NAME",                                                \
      "card whose peak MFU is of: A100, H100, H200, GH200, B200, B300, "       \
      "GB200, GB300, MI300X, MI325X, MI355X (no MFU)")                         \
    X(OPT_PEAK, "--peak-tflops", "X",                                          \
      "peak of a GPU that MFU is of (the card's data sheet)")                  \
    /* the search: what it looks at and when it ends */                        \
    X(OPT_TOP, "--top", "K", "layouts to print (10)")                          \
    X(OPT_PROVE, "--prove", "",                                                \
      "search until it is proved, however long (60 s at most)")                \
    X(OPT_TIME_LIMIT, "--time-limit", "S",                                     \
      "end after S seconds with what is found, a plan with its gap (60)")      \
    X(OPT_PRINT, "--print", "WHAT",                                            \
      "print only the best layout: flag, layout or list")                      \
    X(OPT_RECOMPUTE, "--recompute", "WHAT",                                    \
      "none, full, selective, or modules with commas, as Megatron's flags "    \
      "say it (the model's)")                                                  \
    X(OPT_STANDALONE, "--standalone-mtp", "",                                  \
      "search layouts with m on a stage of its own, too")                      \
    X(OPT_HYBRID, "--hybrid", "",                                              \
      "take a GPT model as a hybrid one: stages may end inside its layers")    \
    X(OPT_IN, "--in", "DIR", "run the script there (an empty folder)")         \
    /* order of work and transfers */                                          \
    X(OPT_P2P, "--p2p", "MODE",                                                \
      "ideal, async, blocking, overlap or overlap-flush (overlap with "        \
      "virtual stages, else blocking)")                                        \
    X(OPT_GROUP, "--group", "N",                                               \
      "micro-batches a group of virtual stages (PP)")                          \
    X(OPT_EP_OVERLAP, "--ep-overlap", "",                                      \
      "forward and backward combined, as "                                     \
      "--overlap-moe-expert-parallel-comm")                                    \
    X(OPT_EP_SAVE, "--ep-save", "B,F,W",                                       \
      "ms that two layers save with it: both MoE, only the forward's, only "   \
      "the backward's (the costs')")                                           \
    X(OPT_NODE, "--gpus-per-node", "G",                                        \
      "ranks a node, for transfers between nodes (all on one)")                \
    X(OPT_OVERLAP_RUN, "--overlap-run", "LAYOUT=LOG",                          \
      "a run with EP overlap (or LOG): its step gives what the overlap saves") \
    X(OPT_LATENCY, "--p2p-latency-us", "X", "of one transfer (0)")             \
    X(OPT_BANDWIDTH, "--p2p-gbps", "Y",                                        \
      "Gbit/s of a transfer, 1e9 bits a second (no limit)")                    \
    X(OPT_BETWEEN_LATENCY, "--between-latency-us", "X",                        \
      "of a transfer between nodes (as inside)")                               \
    X(OPT_BETWEEN_BANDWIDTH, "--between-gbps", "Y",                            \
      "Gbit/s of a transfer between nodes (as inside)")                        \
    /* pictures of one step */                                                 \
    X(OPT_TRACE, "--trace", "FILE", "write the step as a Chrome trace")        \
    X(OPT_GANTT, "--gantt", "FILE", "draw the step as SVG")                    \
    X(OPT_WIDTH, "--width", "N", "columns of the timeline (100)")

/* Ids by the table above; a list of them ends with N_OPTIONS. */
enum cmd_option {
#define CMD_ENUM(id, name, value, help) id,
    CMD_OPTION_TABLE(CMD_ENUM)
#undef CMD_ENUM
        OPT_HELP,
    N_OPTIONS
};

struct command;
struct account;

/* A parsed command line. */
struct cmd {
    struct arena arena; // of everything the command plans with
    struct err_msg msg; // of the error that the command returns
    const struct command *command;
    struct option_spec spec;
    int takes[N_OPTIONS + 1]; // of the spec
    struct options line;
    const char **args; // positional
    int n_args;
    const char *option[N_OPTIONS]; // value, "" for a switch, NULL: not given
    const char **runs;             // every --run
    int n_runs;
    char *const *flags; // Megatron flags after "--"
    int n_flags;
    bool has_flags;
    struct megatron_args *source; // of MODEL, once it was read
    struct megatron_args *opened; // the copy that the last model is made of
    const char *source_name;
    bool savings_told;   // that those of EP overlap are not known
    const char *summary; // one line of what was read, for the end; or NULL
    int n_warnings;      // of sources, also those that were not printed
};

/* Warnings of a source that are printed; `read` lists all. */
enum { CMD_MAX_WARNINGS = 6 };

/* A command: its row of the table of commands. */
struct command {
    const char *name;
    enum err (*run)(struct cmd *c);
    const char *synopsis;           // one line, begins with the name
    const char *summary;            // what it does, a line of the usage
    const char *help;               // what it does, with an example
    const enum cmd_option *options; // ends with N_OPTIONS
    bool takes_model;
    bool takes_layout;   // one argument behind MODEL
    bool takes_script;   // the first operand and all behind it are `flags`
    bool sizes_only;     // how ranks share the model decides nothing
    bool lists_warnings; // in its answer, not on standard error
};

/* All commands; moe_layout.c says in which order they are listed. */
extern const struct command CMD_READ, CMD_SIZE, CMD_CHECK, CMD_COUNT,
    CMD_BASELINES, CMD_PROFILE_LAYOUTS, CMD_FIT, CMD_COSTS, CMD_PLAN,
    CMD_SIMULATE, CMD_MEMORY, CMD_DOCTOR, CMD_RECORD, CMD_TRANSLATE;

/* Reads argv (without the program and command names). ERR_PARSE for unknown
 * options, missing values and the wrong number of arguments. */
enum err cmd_parse_line(struct cmd *c, int argc, char *const *argv);

/* Usage of a command with its options. */
void cmd_print_help(const struct command *command, FILE *out);

/* Was the option on the line? Also of a switch. */
bool cmd_given(const struct cmd *c, enum cmd_option o);

/* Value of an integer (a number) option within [lo, hi]; *out stays when it is
 * not given. ERR_RANGE or ERR_PARSE names the option. */
enum err cmd_int(struct cmd *c, enum cmd_option o, int64_t lo, int64_t hi,
                 int64_t *out);
enum err cmd_double(struct cmd *c, enum cmd_option o, double lo, double hi,
                    double *out);

/* The model of the command line: argument 0, the flags after "--" (which win),
 * or both, with the options that win over all. Warnings about unknown flags go
 * to stderr. Positional arguments are shifted so that args[0] is the first one
 * after MODEL. */
struct cmd_model {
    struct model model;
    bool batch_given;  // the global batch size was stated
    bool seq_given;    // and the length of a sequence
    bool any_replicas; // costs of another data-parallel size fit, too
    const char *name;  // for messages
    bool as_hybrid;    // --hybrid made `model` of this one
    struct model gpt;
};
enum err cmd_model(struct cmd *c, struct cmd_model *out);

/* The flags' slots of the command line, options applied, and nothing demanded
 * or judged: for commands that answer for a source of which not all is known.
 * Positional arguments are shifted as above. */
enum err cmd_source(struct cmd *c, struct megatron_args **out);

/* Members "warnings" and "assumed" of a JSON answer: what reading the source
 * found. A list of them that the answer has already goes on. */
void cmd_write_account(const struct cmd *c, struct writer top);

/* The same of an account of one's own. */
void cmd_write_lines(const struct account *from, struct writer top);

/* The same for one of several ways to split the work: sizes of 0 are the
 * source's own. Virtual stages and a layout of the source hold for its own
 * pipeline size only. Replicas follow from the number of ranks, so costs of
 * another number of them fit. */
struct cmd_split {
    int pp, vpp, group;
    bool several; // pipeline sizes are compared: the ranks must be stated
};
enum err cmd_model_split(struct cmd *c, const struct cmd_split *split,
                         struct cmd_model *out);

/* A layout that a command or a launch names, for the model: of a hybrid one its
 * pattern, or a GPT layout that has one, which is noted as assumed. ERR_RANGE,
 * ERR_NOMEM. */
enum err cmd_layout(struct cmd *c, const struct model *m, const char *text,
                    struct layout *out);

/* The note alone, of a layout that was read otherwise. ERR_NOMEM. */
enum err cmd_note_layout(struct cmd *c, const struct model *m, const char *text,
                         const struct layout *l);

/* The log of a run on the command line: what stands behind the first '=' of
 * "LAYOUT=LOG", or all of it where it has none or is the name of a file. */
const char *cmd_log_path(const char *run);

/* Calls `each` for every line of the file that is not blank, with "FILE:LINE"
 * for messages, which stand in c->msg; the first error ends it. */
typedef enum err (*cmd_line)(struct cmd *c, const char *line,
                             const char *where);
enum err cmd_each_line(struct cmd *c, const char *path, cmd_line each);

/* Puts --ep-overlap into the model, where it wins over its flags. */
void cmd_order(const struct cmd *c, struct model *m);

/* Version of core, GPU, transfers and memory margin, as the options say or by
 * default. */
enum err cmd_settings(struct cmd *c, struct plan_settings *out);

/* What --ep-save B,F,W says, in milliseconds; *out stays where it is not given.
 */
enum err cmd_ep_save(struct cmd *c, struct cost_ep_save *out);

/* Everything a prediction needs: reads --costs, checks it against the model,
 * outlines the schedule of the model's virtual stages, group and EP overlap.
 * Refuses a missing batch and what Megatron refuses. */
enum err cmd_context(struct cmd *c, struct cmd_model *m, struct cost *cost,
                     struct schedule *schedule, struct plan_context *out);

/* ERR_PARSE when the length of a sequence was not stated. */
enum err cmd_require_seq(struct cmd *c, const struct cmd_model *m);

#endif
