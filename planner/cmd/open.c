/*
 * How it works: the source is read once, into slots; every model is made from
 * a copy, to which the options of the line are applied. What is wrong is told
 * when all that may mend it has been read.
 */
#include "open.h"

#include "megatron/foreign.h"
#include "megatron/hybrid.h"
#include "model/as_hybrid.h"
#include "pattern/translate.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// where flags behind -- come from, as is told of each value
static const char open_typed[] = "-- flag";

/* To standard error: results on standard output stay what a program can read.
 * A script of another framework has some hundred flags that nobody here knows:
 * the first ones tell enough, and `read` lists all. */
static void cmd_warn(void *data, const char *line)
{
    struct cmd *c = data;
    struct err_msg one; // without control characters
    if (c->command->lists_warnings || c->n_warnings++ >= CMD_MAX_WARNINGS)
        return;
    err_set(&one, ERR_OK, "%s", line);
    fprintf(stderr, "moe-layout: warning: %s\n", one.text);
}

/* The option that the row of the overrides' table names; every row has one. */
static enum cmd_option override_to_option(const struct cmd *c,
                                          enum override_id id)
{
    int o = 0;
    while (o < N_OPTIONS &&
           strcmp(c->spec.rows[o].name, override_option(id)) != 0)
        o++;
    return (enum cmd_option)o;
}

/* Options that a split of the work takes the place of. */
static bool split_has(const struct cmd_split *split, enum override_id id)
{
    return split &&
           (id == OVERRIDE_PP || id == OVERRIDE_VPP || id == OVERRIDE_GROUP);
}

/* Bounds are those of the flag that the option stands for. */
enum err open_overrides(struct cmd *c, const struct cmd_split *split,
                        struct overrides *out)
{
    *out = (struct overrides){.size = {0}};
    for (int i = 0; i < N_OVERRIDES; i++) {
        enum cmd_option o = override_to_option(c, (enum override_id)i);
        enum flag_id flag = override_flag((enum override_id)i);
        out->text[i] = c->option[o];
        if (flag == FLAG_NONE || split_has(split, (enum override_id)i))
            continue;
        struct flag_range range = flag_range(flag);
        enum err e = cmd_int(c, o, range.lo, range.hi, &out->size[i]);
        if (e != ERR_OK)
            return e;
    }
    if (split) {
        out->size[OVERRIDE_PP] = split->pp;
        out->size[OVERRIDE_VPP] = split->vpp > 1 ? split->vpp : 0;
        out->size[OVERRIDE_GROUP] = split->group;
    }
    return ERR_OK;
}

/* The file that MODEL names, with what the line says of it. */
static enum err open_file(struct cmd *c, struct megatron_args *args)
{
    const char **set =
        arena_alloc(&c->arena, (size_t)c->line.n_uses + 1, 2 * sizeof *set);
    int64_t launch = 0;
    if (!set)
        return err_set(&c->msg, ERR_NOMEM, "model: out of memory");
    const char **words = set + c->line.n_uses + 1;
    struct source_request req = {
        .path = c->args[0], .set = set, .words = words};
    req.n_set = options_each(&c->line, OPT_SET, set);
    req.n_words = options_each(&c->line, OPT_ARG, words);
    enum err e = cmd_int(c, OPT_LAUNCH, 1, 1 << 12, &launch);
    if (e != ERR_OK)
        return e;
    req.launch = (int)launch;
    c->source_name = c->args[0];
    c->n_args--;
    memmove(c->args, c->args + 1, (size_t)c->n_args * sizeof c->args[0]);
    return model_source_read(&c->arena, &req, args, &c->msg);
}

/* A layout is no name of a file. */
static bool open_is_file(const char *word)
{
    struct stat st;
    return stat(word, &st) == 0;
}

/* MODEL, the flags after "--", or both: flags are read last, so they win. */
static enum err cmd_read_source(struct cmd *c, struct megatron_args *args)
{
    const struct megatron_args_options opt = {.strict = false};
    // with flags the first operand is a file if there is one to spare, or none
    // of a layout
    bool file = !c->has_flags || c->n_args > c->command->takes_layout ||
                (c->n_args && open_is_file(c->args[0]));
    megatron_args_on_warning(args, cmd_warn, c);
    c->source_name = "flags";
    if (file && c->n_args == 0)
        return err_set(
            &c->msg, ERR_PARSE,
            "%s: model missing: name a launch script, a model file or "
            "a config, or give Megatron's flags after '--'; see "
            "moe-layout %s --help",
            c->command->name, c->command->name);
    if (file) {
        enum err e = open_file(c, args);
        if (e != ERR_OK)
            return e;
    }
    megatron_args_flags(args)->from = open_typed;
    return megatron_args_read(args, c->flags, c->n_flags, &opt, &c->msg);
}

/* The source is read once; every model is made from a copy of its flags. */
static enum err cmd_open_source(struct cmd *c, struct megatron_args **out)
{
    if (!c->source) {
        struct megatron_args *args = megatron_args_new(&c->arena);
        if (!args)
            return err_set(&c->msg, ERR_NOMEM, "model: out of memory");
        c->source = args; // also what a failed reading leaves
        enum err e = cmd_read_source(c, args);
        if (e != ERR_OK)
            return e;
    }
    *out = megatron_args_copy(&c->arena, c->source);
    return *out ? ERR_OK : err_set(&c->msg, ERR_NOMEM, "model: out of memory");
}

/* A misspelt module would be recomputed nowhere, and its memory missing. */
static bool cmd_is_module(const char *word, size_t len)
{
    static const char *const names[N_RECOMPUTE] = {
#define CMD_MODULE_NAME(name, id) name,
        RECOMPUTE_TABLE(CMD_MODULE_NAME)
#undef CMD_MODULE_NAME
    };
    for (int i = 0; i < N_RECOMPUTE; i++)
        if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0)
            return true;
    return false;
}

/* Commas on the command line, blanks in Megatron's flag. */
static enum err cmd_set_modules(struct cmd *c, const char *text,
                                struct megatron_flags *f)
{
    char *modules = arena_strdup(&c->arena, text);
    if (!modules)
        return err_set(&c->msg, ERR_NOMEM, "model: out of memory");
    for (char *p = modules; p;) {
        size_t len = strcspn(p, ",");
        if (!cmd_is_module(p, len))
            return err_set(&c->msg, ERR_PARSE,
                           "%s: --recompute: got '%s', want none, full, "
                           "selective, or names of --recompute-modules with "
                           "commas",
                           c->command->name, text);
        if (!p[len])
            break;
        p[len] = ' ';
        p += len + 1;
    }
    return flags_set(f, FLAG_RECOMPUTE_MODULES, modules, &c->msg);
}

/* --recompute as Megatron's flags. */
static enum err cmd_set_recompute(struct cmd *c, struct megatron_args *args)
{
    const char *text = c->option[OPT_RECOMPUTE];
    struct megatron_flags *f = megatron_args_flags(args);
    if (!text)
        return ERR_OK;
    flags_clear(f, FLAG_RECOMPUTE_GRANULARITY);
    flags_clear(f, FLAG_RECOMPUTE_METHOD);
    flags_clear(f, FLAG_RECOMPUTE_NUM_LAYERS);
    flags_clear(f, FLAG_RECOMPUTE_MODULES);
    flags_clear(f, FLAG_RECOMPUTE_ACTIVATIONS);
    if (strcmp(text, "none") == 0)
        return ERR_OK;
    if (strcmp(text, "full") == 0) {
        flags_set_int(f, FLAG_RECOMPUTE_NUM_LAYERS, 1);
        enum err e = flags_set(f, FLAG_RECOMPUTE_METHOD, "uniform", &c->msg);
        return e == ERR_OK
                   ? flags_set(f, FLAG_RECOMPUTE_GRANULARITY, "full", &c->msg)
                   : e;
    }
    enum err e = flags_set(f, FLAG_RECOMPUTE_GRANULARITY, "selective", &c->msg);
    return e != ERR_OK || strcmp(text, "selective") == 0
               ? e
               : cmd_set_modules(c, text, f);
}

/* A split of its own leaves no word of the source's. */
static enum err cmd_apply_split(struct cmd *c, const struct cmd_split *split,
                                struct megatron_flags *f)
{
    if (!split)
        return ERR_OK;
    if (split->several && !flags_given(f, FLAG_WORLD_SIZE) &&
        !c->option[OPT_WORLD])
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --world: missing: pipeline sizes are compared on "
                       "the same number of ranks",
                       c->command->name);
    bool own = split->pp && split->pp != flags_int(f, FLAG_PP, 1);
    if (!split->vpp && !own)
        return ERR_OK;
    flags_clear(f, FLAG_LAYOUT);
    flags_clear(f, FLAG_VPP);
    flags_clear(f, FLAG_LAYERS_PER_VPP);
    hybrid_drop_bars(f);
    return ERR_OK;
}

/* Stages that stand on the same command line as the options; NULL: none. */
static const char *open_typed_stages(const struct megatron_flags *f)
{
    const enum flag_id pattern = hybrid_flag(f);
    const char *from =
        f->slot[pattern == FLAG_NONE ? FLAG_LAYOUT : pattern].from;
    return from && strcmp(from, open_typed) == 0 ? hybrid_stages_text(f) : NULL;
}

/* A file's stages go without a word where an option asks for others; of two
 * words on one line the one that does not count is named. */
static void open_apply(const struct overrides *o, struct megatron_args *args)
{
    char line[320];
    struct megatron_flags *f = megatron_args_flags(args);
    const char *typed = open_typed_stages(f);
    overrides_apply(o, f);
    if (!typed || hybrid_stages_text(f))
        return;
    snprintf(line, sizeof line,
             "'%.200s' is not used: --pp and --vpp ask for another number of "
             "stages",
             typed);
    megatron_args_warn(args, typed, line);
}

/* Options of moe-layout win over everything that Megatron's flags say; with a
 * split of its own a command compares several models of one source. */
static enum err open_flags(struct cmd *c, const struct cmd_split *split,
                           struct megatron_args **out)
{
    struct overrides o;
    enum err e = cmd_open_source(c, out);
    if (e == ERR_OK)
        e = open_overrides(c, split, &o);
    if (e == ERR_OK)
        e = cmd_apply_split(c, split, megatron_args_flags(*out));
    if (e == ERR_OK)
        e = cmd_set_recompute(c, *out);
    if (e != ERR_OK)
        return e;
    open_apply(&o, *out);
    e = hybrid_of_ratios(megatron_args_flags(*out), megatron_args_account(*out),
                         &c->msg);
    if (e != ERR_OK)
        return e;
    open_note_refused(*out);
    foreign_settle(megatron_args_account(*out), megatron_args_flags(*out));
    account_say_defaults(megatron_args_account(*out),
                         megatron_args_flags(*out));
    c->opened = *out;
    return ERR_OK;
}

enum err cmd_source(struct cmd *c, struct megatron_args **out)
{
    return open_flags(c, NULL, out);
}

/* What is not understood comes first, then what is not known: a value can be
 * given, a flag can only be passed over. */
static enum err open_judge(struct cmd *c, struct megatron_args *args)
{
    struct value v[N_VALUES];
    struct open_unknowns unknowns;
    const struct megatron_flags *f = megatron_args_flags(args);
    const char *where = c->source_name;
    enum err e =
        account_ask_launch(megatron_args_account(args), where, &c->msg);
    if (e == ERR_OK && !cmd_given(c, OPT_IGNORE))
        e = account_refuse_changes(megatron_args_account(args), where, &c->msg);
    if (e == ERR_OK)
        e = values_read(&c->arena, f, v, &c->msg);
    if (e == ERR_OK)
        e = open_list_unknowns(&c->arena, f, v, &unknowns, &c->msg);
    if (e == ERR_OK)
        e = open_demand(&c->arena, &unknowns, where, c->command->sizes_only,
                        &c->msg);
    if (e != ERR_OK)
        return e;
    open_assume_unknowns(args);
    return ERR_OK;
}

/* Megatron's launcher knows its ranks; whoever plans without them is told which
 * number stands for them. */
static void open_assume_world(struct megatron_args *args, const struct model *m)
{
    struct account *account = megatron_args_account(args);
    char line[200];
    if (flags_given(megatron_args_flags(args), FLAG_WORLD_SIZE))
        return;
    snprintf(line, sizeof line,
             "the world size is not stated: %d rank%s, the fewest that TP x "
             "CP x PP and ETP x EP x PP divide (--world gives it)",
             m->par.world, m->par.world == 1 ? "" : "s");
    account_add(account, &account->assumed, line);
}

/* --hybrid: a model that is hybrid by itself stays as it is. */
static enum err open_as_hybrid(struct cmd *c, struct cmd_model *m)
{
    m->as_hybrid = cmd_given(c, OPT_HYBRID) && !model_is_hybrid(&m->model);
    if (!m->as_hybrid)
        return ERR_OK;
    m->gpt = m->model;
    return model_as_hybrid(&c->arena, &m->gpt, &m->model, &c->msg);
}

/* Sizes do not depend on the ranks: where a world does not divide they are told
 * without it. */
enum err cmd_model_split(struct cmd *c, const struct cmd_split *split,
                         struct cmd_model *out)
{
    struct megatron_args *args;
    enum err e = open_flags(c, split, &args);
    if (e == ERR_OK)
        e = open_judge(c, args);
    if (e != ERR_OK)
        return e;
    struct megatron_flags *f = megatron_args_flags(args);
    out->name = c->source_name;
    out->batch_given = flags_given(f, FLAG_GLOBAL_BATCH_SIZE);
    out->seq_given = flags_given(f, FLAG_SEQ_LENGTH);
    out->any_replicas = split && split->several;
    e = megatron_args_model(&c->arena, args, &out->model, &c->msg);
    if (e == ERR_RANGE && c->command->sizes_only) {
        // however many ranks share the model
        flags_clear(f, FLAG_WORLD_SIZE);
        flags_clear(f, FLAG_GLOBAL_BATCH_SIZE);
        e = megatron_args_model(&c->arena, args, &out->model, &c->msg);
    }
    if (e != ERR_OK)
        return e;
    open_assume_world(args, &out->model);
    e = open_as_hybrid(c, out);
    if (e != ERR_OK)
        return e;
    if (!c->summary) // of several splits of the work the first
        c->summary = open_summary(c, megatron_args_account(args), out);
    return ERR_OK;
}

enum err cmd_model(struct cmd *c, struct cmd_model *out)
{
    return cmd_model_split(c, NULL, out);
}

enum err cmd_note_layout(struct cmd *c, const struct model *m, const char *text,
                         const struct layout *l)
{
    struct account *account = megatron_args_account(c->opened);
    if (!model_is_hybrid(m) || !translate_is_gpt(text))
        return ERR_OK;
    const char *pattern = layout_text(&c->arena, l, m);
    const char *line = pattern ? arena_printf(&c->arena,
                                              "'%s' is a layout of GPT models, "
                                              "taken as the pattern '%s'",
                                              text, pattern)
                               : NULL;
    if (!line)
        return err_set(&c->msg, ERR_NOMEM, "layout: out of memory");
    account_add(account, &account->assumed, line);
    return ERR_OK;
}

enum err cmd_layout(struct cmd *c, const struct model *m, const char *text,
                    struct layout *out)
{
    struct layout l;
    enum err e = translate_read(&c->arena, text, m, &l, &c->msg);
    if (e == ERR_OK)
        e = cmd_note_layout(c, m, text, &l);
    if (e == ERR_OK)
        *out = l;
    return e;
}
