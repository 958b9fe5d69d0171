#include "cmd.h"

#include "base/text.h"
#include "megatron/args.h"
#include "megatron/source.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *value, *help;
} options[N_OPTIONS] = {
#define CMD_ROW(id, name, value, help) {name, value, help},
    CMD_OPTION_TABLE(CMD_ROW)
#undef CMD_ROW
};

void cmd_print_help(const struct command *command, FILE *out)
{
    fprintf(out, "usage: moe-layout %s\n\n%s\n\noptions:\n", command->synopsis,
            command->help);
    for (const enum cmd_option *o = command->options; *o != N_OPTIONS; o++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", options[*o].name,
                 options[*o].value);
        fprintf(out, "  %-20s %s\n", left, options[*o].help);
    }
    if (command->takes_model)
        fprintf(
            out,
            "\nMODEL is a model file (moe-layout/model/1), a launch script, "
            "a YAML file with\nMODEL_ARGS, a log with Megatron's arguments "
            "or a Hugging Face config.json. Megatron\nflags after '--' "
            "stand for it, or add to it and win.\n");
    fprintf(out, "exit: 0 ok, 1 the answer is no, 2 bad input, 3 "
                 "environment\n");
}

bool cmd_given(const struct cmd *c, enum cmd_option o)
{
    return c->option[o] != NULL;
}

static bool cmd_takes(const struct command *command, enum cmd_option option)
{
    for (const enum cmd_option *o = command->options; *o != N_OPTIONS; o++)
        if (*o == option)
            return true;
    return false;
}

static enum err unknown_option(struct cmd *c, const char *word)
{
    const char *names[N_OPTIONS];
    size_t n = 0;
    for (const enum cmd_option *o = c->command->options; *o != N_OPTIONS; o++)
        names[n++] = options[*o].name;
    const char *near = text_nearest(word, names, n);
    return err_set(&c->msg, ERR_PARSE,
                   "%s: unknown option '%s'%s%s%s; see moe-layout %s --help",
                   c->command->name, word, near ? ", did you mean '" : "",
                   near ? near : "", near ? "'?" : "", c->command->name);
}

/* The option whose name is word[0..len), or N_OPTIONS. */
static int find_option(const struct cmd *c, const char *word, size_t len)
{
    if (strcmp(word, "-h") == 0)
        return OPT_HELP;
    int o = 0;
    while (o < N_OPTIONS && (strlen(options[o].name) != len ||
                             memcmp(options[o].name, word, len) != 0 ||
                             !cmd_takes(c->command, (enum cmd_option)o)))
        o++;
    return o;
}

/* Reads the option at argv[*i] and its value, which may follow a '='. */
static enum err take_option(struct cmd *c, int argc, char *const *argv, int *i)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    int o =
        find_option(c, word, equals ? (size_t)(equals - word) : strlen(word));
    if (o == N_OPTIONS)
        return unknown_option(c, word);
    if (!*options[o].value && equals)
        return err_set(&c->msg, ERR_PARSE, "%s: %s: takes no value",
                       c->command->name, options[o].name);
    if (!*options[o].value) {
        c->option[o] = "";
        return ERR_OK;
    }
    if (!equals && *i + 1 >= argc)
        return err_set(&c->msg, ERR_PARSE, "%s: %s: value missing, want %s",
                       c->command->name, options[o].name, options[o].value);
    const char *value = equals ? equals + 1 : argv[++*i];
    if (o == OPT_RUN && c->n_runs == CMD_MAX_RUNS)
        return err_set(&c->msg, ERR_RANGE, "fit: more than %d runs",
                       CMD_MAX_RUNS);
    if (o == OPT_RUN)
        c->runs[c->n_runs++] = value;
    c->option[o] = value;
    return ERR_OK;
}

/* A file of cases takes the place of the model and the layout. */
static enum err check_count(struct cmd *c)
{
    bool many = cmd_given(c, OPT_BATCH) || cmd_given(c, OPT_CORPUS);
    int most = many ? 0 : c->command->takes_model + c->command->takes_layout;
    if (c->n_args <= most || cmd_given(c, OPT_HELP))
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "%s: '%s' is one too many; usage: "
                   "moe-layout %s",
                   c->command->name, c->args[most], c->command->synopsis);
}

enum err cmd_parse_line(struct cmd *c, int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && c->command->takes_model) {
            c->has_flags = true;
            c->flags = argv + i + 1;
            c->n_flags = argc - i - 1;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            enum err e = take_option(c, argc, argv, &i);
            if (e != ERR_OK)
                return e;
            continue;
        }
        if (c->n_args == CMD_MAX_ARGS)
            return err_set(&c->msg, ERR_PARSE, "%s: '%s' is one too many",
                           c->command->name, argv[i]);
        c->args[c->n_args++] = argv[i];
    }
    return check_count(c);
}

enum err cmd_int(struct cmd *c, enum cmd_option o, int64_t lo, int64_t hi,
                 int64_t *out)
{
    if (!c->option[o])
        return ERR_OK;
    int64_t v;
    if (!text_to_int64(c->option[o], &v))
        return err_set(&c->msg, ERR_PARSE, "%s: got '%s', want an integer",
                       options[o].name, c->option[o]);
    if (v < lo || v > hi)
        return err_set(&c->msg, ERR_RANGE, "%s: got %lld, want %lld to %lld",
                       options[o].name, (long long)v, (long long)lo,
                       (long long)hi);
    *out = v;
    return ERR_OK;
}

enum err cmd_double(struct cmd *c, enum cmd_option o, double lo, double hi,
                    double *out)
{
    if (!c->option[o])
        return ERR_OK;
    double v;
    if (!text_to_double(c->option[o], &v))
        return err_set(&c->msg, ERR_PARSE, "%s: got '%s', want a number",
                       options[o].name, c->option[o]);
    if (v < lo || v > hi)
        return err_set(&c->msg, ERR_RANGE, "%s: got %g, want %g to %g",
                       options[o].name, v, lo, hi);
    *out = v;
    return ERR_OK;
}

/* ---- the model ---- */

static void cmd_warn(void *data, const char *line)
{
    (void)data;
    struct err_msg one; // without control characters
    err_set(&one, ERR_OK, "%s", line);
    fprintf(stderr, "moe-layout: warning: %s\n", one.text);
}

static enum err read_overrides(struct cmd *c, struct model_overrides *o)
{
    const int64_t most = 1 << 24;
    struct {
        enum cmd_option option;
        int64_t value;
    } all[] = {{OPT_TP, 0},  {OPT_PP, 0},   {OPT_VPP, 0}, {OPT_CP, 0},
               {OPT_EP, 0},  {OPT_ETP, 0},  {OPT_MBS, 0}, {OPT_GBS, 0},
               {OPT_SEQ, 0}, {OPT_WORLD, 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        enum err e = cmd_int(c, all[i].option, 1, most, &all[i].value);
        if (e != ERR_OK)
            return e;
    }
    *o = (struct model_overrides){.tp = (int)all[0].value,
                                  .pp = (int)all[1].value,
                                  .vpp = (int)all[2].value,
                                  .cp = (int)all[3].value,
                                  .ep = (int)all[4].value,
                                  .etp = (int)all[5].value,
                                  .micro_batch = all[6].value,
                                  .global_batch = all[7].value,
                                  .seq_tokens = all[8].value,
                                  .world = (int)all[9].value};
    return ERR_OK;
}

/* MODEL, the flags after "--", or both. */
static enum err cmd_read_source(struct cmd *c, struct megatron_args *args,
                                const char **name)
{
    const struct megatron_args_options opt = {.strict = false};
    bool file = !c->has_flags || c->n_args > c->command->takes_layout;
    megatron_args_on_warning(args, cmd_warn, NULL);
    *name = "flags";
    if (file && c->n_args == 0)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: model missing: name a model file, or give "
                       "Megatron flags after '--'",
                       c->command->name);
    if (file) {
        *name = c->args[0];
        c->n_args--;
        memmove(c->args, c->args + 1, (size_t)c->n_args * sizeof c->args[0]);
        enum err e = model_source_read(&c->arena, *name, args, &c->msg);
        if (e != ERR_OK)
            return e;
    }
    return megatron_args_read(args, c->flags, c->n_flags, &opt, &c->msg);
}

enum err cmd_model(struct cmd *c, struct cmd_model *out)
{
    struct model_overrides o;
    struct megatron_args *args = megatron_args_new(&c->arena);
    if (!args)
        return err_set(&c->msg, ERR_NOMEM, "model: out of memory");
    enum err e = cmd_read_source(c, args, &out->name);
    if (e == ERR_OK)
        e = read_overrides(c, &o);
    if (e != ERR_OK)
        return e;
    megatron_args_override(args, &o);
    out->batch_given = megatron_args_given(args, "global-batch-size");
    out->seq_given = megatron_args_given(args, "seq-length");
    return megatron_args_model(&c->arena, args, &out->model, &c->msg);
}

/* ---- batches ---- */

enum { MAX_BATCH_BYTES = 1 << 28 };

enum err cmd_each_line(struct cmd *c, const char *path, cmd_line each)
{
    struct text_span text;
    enum err e =
        text_read_file(&c->arena, path, MAX_BATCH_BYTES, &text, &c->msg);
    if (e != ERR_OK)
        return e;
    int line = 0;
    for (char *p = text.data; *p && e == ERR_OK; line++) {
        char *end = strchr(p, '\n');
        if (end)
            *end = '\0';
        char where[512];
        snprintf(where, sizeof where, "%s:%d", path, line + 1);
        if (p[strspn(p, " \t\r")])
            e = each(p, where, &c->msg);
        p = end ? end + 1 : p + strlen(p);
    }
    return e;
}

/* ---- predictions ---- */

enum err cmd_p2p(struct cmd *c, enum p2p_mode *out)
{
    *out = P2P_BLOCKING;
    if (!c->option[OPT_P2P])
        return ERR_OK;
    return p2p_mode_from_name(c->option[OPT_P2P], out, &c->msg);
}

enum err cmd_margin(struct cmd *c, double *out)
{
    double percent = 100 * MEMORY_MARGIN;
    enum err e = cmd_double(c, OPT_MARGIN, 0, 1000, &percent);
    *out = percent / 100;
    return e;
}

enum err cmd_require_seq(struct cmd *c, const struct cmd_model *m)
{
    if (m->seq_given)
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "%s: --seq: missing: the tokens of a sequence decide work "
                   "and memory, and '%s' does not state them",
                   c->command->name, m->name);
}

enum err cmd_refuse_vpp(struct cmd *c, const struct model *m)
{
    if (m->par.vpp == 1)
        return ERR_OK;
    return err_set(
        &c->msg, ERR_RANGE,
        "%s: --vpp %d: this version plans and simulates one chunk a "
        "rank only ('check' and 'count' take any): --vpp 1 leaves the "
        "virtual stages out",
        c->command->name, m->par.vpp);
}

enum err cmd_context(struct cmd *c, struct cmd_model *m, struct cost *cost,
                     struct schedule *schedule, struct plan_context *out)
{
    enum err e = cmd_refuse_vpp(c, &m->model);
    if (e != ERR_OK)
        return e;
    if (!m->batch_given)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --gbs: missing: the number of micro-batches "
                       "decides the step time",
                       c->command->name);
    if (!c->option[OPT_COSTS])
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --costs: missing: make one with 'moe-layout fit' "
                       "or 'moe-layout costs --analytic'",
                       c->command->name);
    e = cmd_require_seq(c, m);
    if (e == ERR_OK)
        e = cost_read_file(&c->arena, c->option[OPT_COSTS], cost, &c->msg);
    if (e == ERR_OK)
        e = cost_check_model(cost, &m->model, c->option[OPT_COSTS], &c->msg);
    if (e == ERR_OK)
        e = cmd_p2p(c, &out->mode);
    if (e == ERR_OK)
        e = schedule_1f1b(&c->arena, m->model.par.pp,
                          (int)m->model.batch.n_microbatches, schedule,
                          &c->msg);
    double hbm_gib = 0;
    if (e == ERR_OK)
        e = cmd_double(c, OPT_HBM, 1e-3, 1e6, &hbm_gib);
    if (e == ERR_OK)
        e = cmd_margin(c, &out->memory_margin);
    if (e == ERR_OK && hbm_gib > 0 && memory_refusal(&m->model) &&
        cost->rules.value_bytes == MEMORY_MEGATRON.value_bytes)
        e = err_set(&c->msg, ERR_MODEL,
                    "%s: --hbm-gb: memory is not predicted: %s: measure it "
                    "with one run, or plan without a limit",
                    c->command->name, memory_refusal(&m->model));
    if (e != ERR_OK)
        return e;
    out->model = &m->model;
    out->cost = cost;
    out->n_mb = schedule->n_mb;
    out->schedule = schedule;
    out->hbm_bytes = hbm_gib * 1024 * 1024 * 1024;
    return ERR_OK;
}
