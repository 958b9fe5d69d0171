/*
 * How it works: every command is a row of data (cmd.h) whose options come from
 * one table; the line is read by base/options, the model by megatron's sources.
 * What several commands need of a line (the model, overrides, everything a
 * prediction depends on) is made here, once.
 */
#include "cmd.h"

#include "base/file.h"
#include "base/text.h"
#include "cost/halves.h"
#include "open.h"
#include "pattern/pattern.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// short names: -h alone; a long line in a script says what it does
static const struct option_row rows[N_OPTIONS] = {
#define CMD_ROW(id, name, value, help) {name, NULL, value, help},
    CMD_OPTION_TABLE(CMD_ROW) OPTIONS_HELP_ROW
#undef CMD_ROW
};

/* What the command takes, into `takes` (N_OPTIONS + 1 of them). Operands are
 * counted when the options are known: a file of cases takes their place. */
static struct option_spec cmd_spec(const struct command *command, int *takes)
{
    // what decides which model a source holds goes with every model
    static const enum cmd_option of_sources[] = {OPT_LAUNCH, OPT_SET, OPT_ARG,
                                                 OPT_IGNORE};
    int n = 0;
    for (const enum cmd_option *o = command->options; *o != N_OPTIONS; o++)
        takes[n++] = (int)*o;
    for (int i = 0; i < 4 && command->takes_model; i++)
        takes[n++] = (int)of_sources[i];
    takes[n] = N_OPTIONS;
    return (struct option_spec){
        .command = command->name,
        .program = "moe-layout",
        .synopsis = command->synopsis,
        .rows = rows,
        .n_rows = N_OPTIONS,
        .takes = takes,
        .max_operands = OPTIONS_ANY,
        // behind "--" stand Megatron's flags, which are
        // not ours to read
        .keeps_rest = command->takes_model || command->takes_script,
        .operand_ends = command->takes_script,
        // a pattern may begin with an MLP
        .is_operand = command->takes_layout ? pattern_is_word : NULL};
}

/* In the form of every program's help: usage, what it does, options, exit
 * codes. */
void cmd_print_help(const struct command *command, FILE *out)
{
    int takes[N_OPTIONS + 1];
    const struct option_spec spec = cmd_spec(command, takes);
    fprintf(out, "usage: moe-layout %s\n\n%s\n\noptions:\n", command->synopsis,
            command->help);
    options_print(&spec, out);
    if (command->takes_model)
        fprintf(
            out,
            "\nMODEL is a model file (moe-layout/model/1), a launch script "
            "(read, never run), a YAML\nfile (MODEL_ARGS, Primus, FlagScale, "
            "NeMo, NeMo-RL, ROLL, verl, Megatron-Bridge, GPT-NeoX,\nms-swift), "
            "a log with Megatron's arguments or a Hugging Face config.json. "
            "Options and\nMegatron's flags after '--' win; such flags alone "
            "stand for a MODEL.\n");
    fprintf(out, "exit: 0 ok, 1 the answer is no, 2 bad input, 3 "
                 "environment\n");
}

bool cmd_given(const struct cmd *c, enum cmd_option o)
{
    return c->option[o] != NULL;
}

/* A file of cases takes the place of the model and the layout. */
static enum err check_count(struct cmd *c)
{
    bool many = cmd_given(c, OPT_BATCH) || cmd_given(c, OPT_CORPUS);
    int most = many ? 0 : c->command->takes_model + c->command->takes_layout;
    if (c->n_args <= most || cmd_given(c, OPT_HELP))
        return ERR_OK;
    return options_operand_too_many(&c->spec, c->args[most], &c->msg);
}

/* Also of names that are not there yet. */
static bool is_same_name(const char *a, const char *b)
{
    return a && b && (strcmp(a, b) == 0 || file_is_same(a, b));
}

const char *cmd_log_path(const char *run)
{
    const char *equals = strchr(run, '=');
    return equals && access(run, F_OK) != 0 ? equals + 1 : run;
}

/* The log of a run where it is that file, or NULL. */
static const char *cmd_same_log(const char *to, const char *run)
{
    const char *log = run ? cmd_log_path(run) : NULL;
    return file_is_same(to, log) ? log : NULL;
}

/* A slip of the pen (-o MODEL) would replace what is read by what comes of it:
 * the file that `out` would take, or NULL. */
static const char *cmd_overwrites(const struct cmd *c, enum cmd_option out)
{
    static const enum cmd_option in[] = {OPT_COSTS, OPT_BATCH, OPT_CORPUS,
                                         OPT_STEPS};
    const char *to = c->option[out], *log = NULL;
    for (int i = 0; i < c->n_args; i++)
        if (file_is_same(to, c->args[i]))
            return c->args[i];
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++)
        if (file_is_same(to, c->option[in[i]]))
            return c->option[in[i]];
    for (int i = 0; i < c->n_runs && !log; i++)
        log = cmd_same_log(to, c->runs[i]);
    if (!log)
        log = cmd_same_log(to, c->option[OPT_OVERLAP_RUN]);
    if (log)
        return log;
    return out == OPT_GANTT && is_same_name(to, c->option[OPT_TRACE]) ? to
                                                                      : NULL;
}

/* Before anything is read: an output that took an input's place could not be
 * told from it afterwards. */
static enum err check_outputs(struct cmd *c)
{
    static const enum cmd_option outs[] = {OPT_OUT, OPT_TRACE, OPT_GANTT};
    for (size_t i = 0; i < sizeof outs / sizeof outs[0]; i++) {
        const char *lost = cmd_overwrites(c, outs[i]);
        if (lost)
            return err_set(&c->msg, ERR_PARSE,
                           "%s: '%s' is read or written by this command, too: "
                           "want another file",
                           rows[outs[i]].name, lost);
    }
    return ERR_OK;
}

/* The last of several values counts, but for --run, of which all do. */
enum err cmd_parse_line(struct cmd *c, int argc, char *const *argv)
{
    c->spec = cmd_spec(c->command, c->takes);
    const struct option_line words = {argc, argv, 0};
    enum err e = options_read(&c->arena, &c->spec, words, &c->line, &c->msg);
    if (e != ERR_OK)
        return err_prefix(&c->msg, e, "%s", c->command->name);
    for (int o = 0; o < N_OPTIONS; o++)
        c->option[o] = options_text(&c->line, o);
    c->args = c->line.operands;
    c->n_args = c->line.n_operands;
    c->flags = c->line.rest;
    c->n_flags = c->line.n_rest;
    c->has_flags = c->line.has_rest;
    c->runs = arena_alloc(&c->arena, (size_t)argc + 1, sizeof *c->runs);
    if (!c->runs)
        return err_set(&c->msg, ERR_NOMEM, "options: out of memory");
    c->n_runs = options_each(&c->line, OPT_RUN, c->runs);
    e = check_count(c);
    if (e == ERR_OK)
        e = check_outputs(c);
    return e == ERR_OK ? e : err_prefix(&c->msg, e, "%s", c->command->name);
}

enum err cmd_int(struct cmd *c, enum cmd_option o, int64_t lo, int64_t hi,
                 int64_t *out)
{
    return options_int(&c->line, (int)o, (struct options_whole){lo, hi}, out,
                       &c->msg);
}

enum err cmd_double(struct cmd *c, enum cmd_option o, double lo, double hi,
                    double *out)
{
    return options_double(&c->line, (int)o, (struct options_number){lo, hi},
                          out, &c->msg);
}

/* The same words as a manifest's, read by the same function: a command and an
 * experiment mean the same settings. */
enum err cmd_settings(struct cmd *c, struct plan_settings *out)
{
    struct overrides o;
    const struct cmd_split none = {0}; // sizes are read elsewhere
    enum err e = open_overrides(c, &none, &o);
    return e == ERR_OK ? plan_settings_read(&o, out, &c->msg) : e;
}

/* ---- batches ---- */

// some million lines of cases
enum { CMD_MAX_BATCH_BYTES = 1 << 28 };

/* Blank lines count in the numbers of lines and are passed over. The first
 * error ends the batch. */
enum err cmd_each_line(struct cmd *c, const char *path, cmd_line each)
{
    struct text_span text;
    enum err e =
        text_read_file(&c->arena, path, CMD_MAX_BATCH_BYTES, &text, &c->msg);
    if (e != ERR_OK)
        return e;
    int line = 0;
    for (char *p = text.data; *p && e == ERR_OK; line++) {
        char *end = strchr(p, '\n');
        if (end)
            *end = '\0';
        // a path and a line number; longer paths are cut in messages alone
        char where[512];
        snprintf(where, sizeof where, "%s:%d", path, line + 1);
        if (p[strspn(p, " \t\r")])
            e = each(c, p, where);
        p = end ? end + 1 : p + strlen(p);
    }
    return e;
}

/* ---- predictions ---- */

/* What a schedule depends on besides sizes: of the flags, or stated. */
void cmd_order(const struct cmd *c, struct model *m)
{
    m->overlap_moe_comm = m->overlap_moe_comm || cmd_given(c, OPT_EP_OVERLAP);
}

/* --ep-save B,F,W in milliseconds: what a combined operation of two layers
 * saves is a measurement of the user's, which no flag has. */
enum err cmd_ep_save(struct cmd *c, struct cost_ep_save *out)
{
    const char *text = c->option[OPT_EP_SAVE];
    double ms[3] = {0, 0, 0};
    int used = 0;
    if (!text)
        return ERR_OK;
    if (sscanf(text, "%lf,%lf,%lf%n", &ms[0], &ms[1], &ms[2], &used) != 3 ||
        text[used] || !(ms[0] >= 0 && ms[1] >= 0 && ms[2] >= 0))
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --ep-save: got '%s', want three times in ms from 0 "
                       "on, as in 1.2,0.4,0.5",
                       c->command->name, text);
    *out = (struct cost_ep_save){.known = true,
                                 .both_s = ms[0] * 1e-3,
                                 .forward_s = ms[1] * 1e-3,
                                 .backward_s = ms[2] * 1e-3};
    return ERR_OK;
}

/* Said once, however many splits of the work are planned. */
static void warn_of_savings(struct cmd *c, const struct cost *cost,
                            const struct schedule *s)
{
    if (!s->order.ep_overlap || cost->ep_save.known || c->savings_told)
        return;
    c->savings_told = true;
    fprintf(stderr,
            "moe-layout: note: %s: what EP overlap saves is not known, and "
            "taken as 0: give --ep-save, or costs from 'moe-layout fit "
            "--overlap-run'\n",
            c->command->name);
}

/* Megatron has no default either: costs and memory of some length would be
 * numbers of another run. */
enum err cmd_require_seq(struct cmd *c, const struct cmd_model *m)
{
    if (m->seq_given)
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "%s: --seq: missing: the tokens of a sequence decide work "
                   "and memory, and '%s' does not state them: give --seq N",
                   c->command->name, m->name);
}

/* A file of another kind is taken for one of costs now and then. */
static enum err read_costs(struct cmd *c, struct cost *cost)
{
    const char *path = c->option[OPT_COSTS];
    enum err e = cost_read_file(&c->arena, path, cost, &c->msg);
    struct err_msg why = c->msg;
    if (e != ERR_PARSE)
        return e;
    return err_set(&c->msg, e,
                   "%.800s; want the file that 'moe-layout fit' or "
                   "'moe-layout costs' wrote with -o",
                   why.text);
}

/* Costs of the model, or of the GPT model that it was made from, whose layers
 * are split then. */
static enum err fit_costs(struct cmd *c, const struct cmd_model *m,
                          struct cost *cost)
{
    const bool split = m->as_hybrid && !cost_has_symbols(cost);
    struct model fits = split ? m->gpt : m->model;
    // replicas change what lies outside the pipeline; FLOPs say nothing of it
    if (m->any_replicas || cost->source == COST_ANALYTIC)
        fits.par.dp = (int)cost_fact(cost, "data_parallel_size", fits.par.dp);
    enum err e = cost_check_model(cost, &fits, c->option[OPT_COSTS], &c->msg);
    if (e != ERR_OK || !split)
        return e;
    struct account *account = megatron_args_account(c->opened);
    account_add(account, &account->assumed,
                "costs of layers are split between attention and MLP or "
                "experts by their FLOPs (profile-layouts --hybrid tells how to "
                "measure them)");
    return cost_split_layers(cost, &m->gpt, &m->model, cost, &c->msg);
}

/* What Megatron has for GPT models alone (pretrain_hybrid.py builds no schedule
 * plan, hybrid_model.py puts MTP beside the loss). */
static enum err check_hybrid(struct cmd *c, const struct model *m)
{
    if (!model_is_hybrid(m))
        return ERR_OK;
    if (m->overlap_moe_comm)
        return err_set(&c->msg, ERR_RANGE,
                       "%s: EP overlap: Megatron has none for hybrid models: "
                       "leave --overlap-moe-expert-parallel-comm out",
                       c->command->name);
    if (cmd_given(c, OPT_STANDALONE))
        return err_set(&c->msg, ERR_RANGE,
                       "%s: --standalone-mtp: in hybrid models MTP always "
                       "stands with the loss: leave it out",
                       c->command->name);
    return ERR_OK;
}

/* Refusals come in the order of what a user types: batch, costs, sequence; then
 * what the files say. */
enum err cmd_context(struct cmd *c, struct cmd_model *m, struct cost *cost,
                     struct schedule *schedule, struct plan_context *out)
{
    if (!m->batch_given)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --gbs: missing: the number of micro-batches "
                       "decides the step time: give --gbs N, sequences a step",
                       c->command->name);
    if (!c->option[OPT_COSTS])
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --costs: missing: make one with 'moe-layout fit' "
                       "from runs, or without with 'moe-layout costs "
                       "--roofline GPU'",
                       c->command->name);
    struct plan_settings set;
    enum err e = cmd_require_seq(c, m);
    if (e == ERR_OK)
        e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = read_costs(c, cost);
    if (e == ERR_OK)
        e = fit_costs(c, m, cost);
    if (e == ERR_OK)
        e = check_hybrid(c, &m->model);
    if (e == ERR_OK)
        e = cmd_ep_save(c, &cost->ep_save);
    const struct order order = order_of_model(&m->model);
    if (e == ERR_OK)
        e = schedule_outline(&order, plan_settings_mode(&set, &m->model),
                             schedule, &c->msg);
    double hbm_gib = 0;
    if (e == ERR_OK)
        e = cmd_double(c, OPT_HBM, 1e-3, 1e6, &hbm_gib);
    if (e != ERR_OK)
        return e;
    plan_settings_apply(&set, &m->model, out);
    warn_of_savings(c, cost, schedule);
    plan_context_costs(out, cost);
    out->model = &m->model;
    out->n_mb = schedule->n_mb;
    out->schedule = schedule;
    out->hbm_bytes = hbm_gib * 1024 * 1024 * 1024;
    char where[64]; // a command's name and the option
    snprintf(where, sizeof where, "%s: --hbm-gb", c->command->name);
    return plan_context_check(out, &cost->rules, where, &c->msg);
}
