/* moe-layout check: one layout, or many from a file. */
#include "cmd.h"
#include "json.h"
#include "layout.h"

#include <string.h>

/* What versions of Megatron core accept of MTP in a layout
 * (megatron/training/arguments.py and transformer_config.py of each). */
static const struct core {
    const char *version;
    bool has_flag, has_mtp, mtp_with_loss;
} cores[] = {
    {"0.12", false, false, false}, {"0.13", true, false, false},
    {"0.14", true, true, false},   {"0.15", true, true, true},
    {"0.16", true, true, false},   {"0.17", true, true, false},
    {"0.18", true, true, false},   {"0.19", true, true, false},
    {"0.20", true, true, false},
};
enum { N_CORES = sizeof cores / sizeof cores[0] };

static enum err find_core(struct cmd *c, const struct core **out)
{
    const char *name = c->option[OPT_CORE] ? c->option[OPT_CORE] : "0.16";
    for (int i = 0; i < N_CORES; i++)
        if (strcmp(cores[i].version, name) == 0) {
            *out = &cores[i];
            return ERR_OK;
        }
    return err_set(&c->msg, ERR_RANGE, "--core: got '%s', want %s to %s", name,
                   cores[0].version, cores[N_CORES - 1].version);
}

/* Why this version refuses a layout that is valid otherwise, or NULL. */
static const char *core_refusal(const struct core *core, const struct layout *l)
{
    int mtp = layout_mtp_stage(l);
    if (!core->has_flag)
        return "this version has no --pipeline-model-parallel-layout";
    if (mtp >= 0 && !core->has_mtp)
        return "this version refuses m in a layout";
    if (mtp >= 0 && core->mtp_with_loss &&
        (mtp != l->n_stages - 1 || !layout_stage(l, mtp).n_loss))
        return "this version wants m in the last stage, with L";
    return NULL;
}

/* ---- results ---- */

struct verdict {
    enum layout_error error;
    struct layout layout; // when it could be parsed
    bool parsed;
    const char *refusal; // of the version, or NULL
    struct err_msg why;
};

static bool is_valid(const struct verdict *v)
{
    return v->error == LAYOUT_OK && !v->refusal;
}

static cJSON *stages_json(const struct layout *l)
{
    cJSON *stages = cJSON_CreateArray();
    for (int s = 0; s < l->n_stages; s++) {
        cJSON *stage = cJSON_CreateArray();
        for (const char *u = l->units[s]; *u; u++) {
            char letter[2] = {*u, '\0'};
            cJSON_AddItemToArray(stage, cJSON_CreateString(letter));
        }
        cJSON_AddItemToArray(stages, stage);
    }
    return stages;
}

static cJSON *verdict_json(const struct verdict *v)
{
    static const struct layout none = {0};
    const struct layout *l = v->parsed ? &v->layout : &none;
    bool valid = is_valid(v);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "valid", valid);
    cJSON_AddStringToObject(tree, "error", layout_error_id(v->error));
    cJSON_AddNumberToObject(tree, "vpp", l->vpp);
    cJSON_AddItemToObject(tree, "stages", stages_json(l));
    cJSON_AddBoolToObject(tree, "mtp_standalone",
                          v->error == LAYOUT_OK && layout_mtp_standalone(l));
    cJSON *warnings = cJSON_AddArrayToObject(tree, "warnings");
    const char *texts[LAYOUT_MAX_WARNINGS];
    int n = v->error == LAYOUT_OK ? layout_warnings(l, texts) : 0;
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(warnings, cJSON_CreateString(texts[i]));
    if (v->refusal)
        cJSON_AddStringToObject(tree, "refused_by_core", v->refusal);
    return tree;
}

struct wanted {
    const char *text;
    int pp, n_layers, n_mtp;
};

static void judge(struct arena *a, const struct wanted *w, struct verdict *v)
{
    *v = (struct verdict){0};
    v->error = layout_parse(a, w->text, w->pp, &v->layout, &v->why);
    v->parsed = v->error == LAYOUT_OK;
    if (v->parsed)
        v->error = layout_validate(&v->layout, w->n_layers, w->n_mtp, &v->why);
}

/* ---- one layout ---- */

static void print_ranks(const struct layout *l)
{
    printf("%-6s %-6s %s\n", "rank", "chunk", "units");
    for (int r = 0; r < l->pp; r++)
        for (int v = 0; v < l->vpp; v++) {
            const char *units = l->units[v * l->pp + r];
            printf("%-6d %-6d %s\n", r, v, *units ? units : "(empty)");
        }
}

static enum err print_verdict(struct cmd *c, const struct verdict *v)
{
    if (!is_valid(v)) {
        printf("not valid: %s\n", v->refusal ? v->refusal : v->why.text);
        return ERR_MODEL;
    }
    const char *text = layout_string(&c->arena, &v->layout);
    const char *list = layout_list(&c->arena, &v->layout);
    if (!text || !list)
        return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
    printf("valid: %s\n", text);
    print_ranks(&v->layout);
    printf("as a list: %s\n", list);
    const char *texts[LAYOUT_MAX_WARNINGS];
    int n = layout_warnings(&v->layout, texts);
    for (int i = 0; i < n; i++)
        printf("warning: %s\n", texts[i]);
    return ERR_OK;
}

static enum err check_one(struct cmd *c)
{
    struct cmd_model m;
    const struct core *core = NULL;
    enum err e = find_core(c, &core);
    if (e == ERR_OK)
        e = cmd_model(c, &m);
    if (e != ERR_OK)
        return e;
    if (c->n_args != 1)
        return err_set(&c->msg, ERR_PARSE,
                       "check: want MODEL and one LAYOUT in quotes");
    struct wanted w = {c->args[0], m.model.par.pp, m.model.n_layers,
                       m.model.n_mtp};
    struct verdict v;
    judge(&c->arena, &w, &v);
    if (v.error == LAYOUT_OK)
        v.refusal = core_refusal(core, &v.layout);
    if (!cmd_given(c, OPT_JSON))
        return print_verdict(c, &v);
    e = json_print_and_delete(verdict_json(&v), true, stdout, &c->msg);
    return e != ERR_OK ? e : is_valid(&v) ? ERR_OK : ERR_MODEL;
}

/* ---- many ---- */

static enum err read_line(struct arena *a, const cJSON *tree, const char *where,
                          struct wanted *w, struct err_msg *msg)
{
    static const char *const required[] = {"layout", "pp", "num_layers"};
    int64_t pp = 1, layers = 0, mtp = 0;
    if (!cJSON_IsObject(tree))
        return err_set(msg, ERR_PARSE, "%s: want a JSON object", where);
    enum err e = ERR_OK;
    for (int i = 0; i < 3 && e == ERR_OK; i++)
        e = json_require(tree, where, required[i], msg);
    if (e == ERR_OK)
        e = json_opt_string(a, tree, where, "layout", &w->text, msg);
    if (e == ERR_OK)
        e = json_opt_int(tree, where, "pp", (struct json_range){1, 1 << 20},
                         &pp, msg);
    if (e == ERR_OK)
        e = json_opt_int(tree, where, "num_layers",
                         (struct json_range){0, 1 << 20}, &layers, msg);
    if (e == ERR_OK)
        e = json_opt_int(tree, where, "mtp_num_layers",
                         (struct json_range){0, 1 << 20}, &mtp, msg);
    w->pp = (int)pp;
    w->n_layers = (int)layers;
    w->n_mtp = (int)mtp;
    return e;
}

static enum err check_line(const char *line, const char *where,
                           struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    cJSON *tree = NULL;
    struct wanted w = {0};
    struct verdict v;
    enum err e = json_parse(line, where, &tree, msg);
    if (e == ERR_OK)
        e = read_line(&a, tree, where, &w, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK) {
        judge(&a, &w, &v);
        e = json_print_and_delete(verdict_json(&v), false, stdout, msg);
    }
    arena_clear(&a);
    return e;
}

static enum err run(struct cmd *c)
{
    if (!cmd_given(c, OPT_BATCH))
        return check_one(c);
    return cmd_each_line(c, c->option[OPT_BATCH], check_line);
}

static const enum cmd_option takes[] = {OPT_PP,    OPT_CORE, OPT_BATCH, OPT_TP,
                                        OPT_VPP,   OPT_CP,   OPT_EP,    OPT_ETP,
                                        OPT_WORLD, OPT_MBS,  OPT_GBS,   OPT_SEQ,
                                        OPT_JSON,  OPT_HELP, N_OPTIONS};

const struct command CMD_CHECK = {
    .name = "check",
    .run = run,
    .synopsis = "check MODEL LAYOUT --pp N [--core 0.16] | check --batch FILE",
    .help = "Says whether Megatron accepts the layout, and what users get hurt "
            "by although it does.\nWith --batch: objects {layout, pp, "
            "num_layers, mtp_num_layers}, one verdict a line in order.\n"
            "Example: moe-layout check model.json 'Et*5|t*6|t*5|mL' --pp 4",
    .options = takes,
    .takes_model = true,
};
