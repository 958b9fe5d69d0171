/*
 * moe-layout check: one layout, or many from a file. How it works: both ways
 * make a verdict (parse, then validate, then what the version of core says),
 * which is printed or written by the same functions.
 */
#include "base/reader.h"
#include "base/writer.h"
#include "cmd.h"
#include "layout/core_version.h"
#include "layout/explain.h"
#include "layout/layout.h"
#include "layout/shortest.h"

#include <string.h>

/* ---- results ---- */

struct verdict {
    struct layout_question asked;
    const struct model *model; // NULL: not known, in a batch
    enum layout_error error;
    struct layout layout; // when it could be parsed
    bool parsed, refused; // refused: by the version alone
    struct core_refusal refusal;
    struct err_msg why;
};

static bool cmd_check_is_valid(const struct verdict *v)
{
    return v->error == LAYOUT_OK && !v->refused;
}

static void cmd_check_write_stages(struct writer to, const struct layout *l)
{
    struct writer stages = writer_list(to, "stages");
    for (int s = 0; s < l->n_stages; s++) {
        struct writer stage = writer_list(stages, NULL);
        for (const char *u = l->units[s]; *u; u++) {
            char letter[2] = {*u, '\0'};
            writer_text(stage, NULL, letter);
        }
    }
}

/* Members are those of the batch's answers, whose form other programs read:
 * what only the check of one layout tells is added by its caller. */
static struct writer cmd_check_write(struct writer_doc *doc,
                                     const struct verdict *v)
{
    static const struct layout none = {0};
    const struct layout *l = v->parsed ? &v->layout : &none;
    bool valid = cmd_check_is_valid(v);
    struct writer tree = writer_open(doc);
    writer_bool(tree, "valid", valid);
    writer_text(tree, "error", layout_error_id(v->error));
    writer_number(tree, "vpp", l->vpp);
    cmd_check_write_stages(tree, l);
    writer_bool(tree, "mtp_standalone",
                v->error == LAYOUT_OK && layout_mtp_standalone(l));
    struct writer warnings = writer_list(tree, "warnings");
    const char *texts[LAYOUT_MAX_WARNINGS];
    int n = v->error == LAYOUT_OK ? layout_run_warnings(l, v->model, texts) : 0;
    for (int i = 0; i < n; i++)
        writer_text(warnings, NULL, texts[i]);
    return tree;
}

/* Parsed first: what a string expands to decides which checks can be made. */
static enum err cmd_check_judge(struct arena *a, struct verdict *v,
                                struct err_msg *msg)
{
    const struct layout_question *q = &v->asked;
    v->error = layout_parse(a, q->text, q->pp, &v->layout, &v->why);
    if (v->error == LAYOUT_NO_MEMORY)
        return err_set(msg, ERR_NOMEM, "check: out of memory");
    v->parsed = v->error == LAYOUT_OK;
    if (v->parsed)
        v->error = layout_validate(&v->layout, q->n_layers, q->n_mtp, &v->why);
    return ERR_OK;
}

/* ---- one layout ---- */

/* Megatron's words for the refusal, and plain ones. */
static const char *megatron_words(const struct verdict *v)
{
    return v->refused ? v->refusal.megatron : layout_megatron_words(v->error);
}

static const char *plain_words(const struct verdict *v)
{
    return v->refused ? v->refusal.plain : v->why.text;
}

/* Adds what only the check of one layout tells. */
static void add_details(struct cmd *c, const struct verdict *v,
                        struct writer tree)
{
    size_t byte = 0;
    if (!cmd_check_is_valid(v)) {
        writer_text(tree, "reason", plain_words(v));
        writer_text(tree, "megatron", megatron_words(v));
        if (v->refused)
            writer_text(tree, "refused_by_core", plain_words(v));
        if (layout_error_place(&v->asked, v->error, &byte))
            writer_number(tree, "position", (double)byte);
        return;
    }
    const char *list = layout_list(&c->arena, &v->layout);
    writer_text(tree, "shortest", layout_shortest(&c->arena, &v->layout));
    // the list is JSON text already
    writer_tree(tree, "list", list ? cJSON_Parse(list) : NULL);
}

static enum err cmd_check_print_json(struct cmd *c, const struct verdict *v)
{
    struct writer_doc doc;
    add_details(c, v, cmd_check_write(&doc, v));
    return writer_print(&doc, true, stdout, &c->msg);
}

/* Units of a stage as people count them: "E t*5". */
static void print_units(const char *units)
{
    if (!*units)
        printf("(empty)");
    for (const char *u = units; *u;) {
        int run = 1;
        while (u[run] == *u)
            run++;
        if (run > 1)
            printf("%s%c*%d", u > units ? " " : "", *u, run);
        else
            printf("%s%c", u > units ? " " : "", *u);
        u += run;
    }
}

/* By rank, then chunk, as a rank's own log lists its layers; stages are counted
 * along the micro-batch's way. */
static void print_ranks(const struct layout *l)
{
    printf("%-5s %-6s %-6s %-10s %s\n", "rank", "chunk", "stage", "layers",
           "units");
    for (int r = 0; r < l->pp; r++)
        for (int v = 0; v < l->vpp; v++) {
            int s = v * l->pp + r, n = layout_stage(l, s).n_layers;
            int first = layout_first_layer(l, s);
            char layers[24] = "-";
            if (n)
                snprintf(layers, sizeof layers, "%d-%d", first, first + n - 1);
            printf("%-5d %-6d %-6d %-10s ", r, v, s, layers);
            print_units(l->units[s]);
            printf("\n");
        }
}

/* Exit 1 with the text on standard output: a refusal is the answer, not an
 * error. */
static enum err print_refusal(struct cmd *c, const struct verdict *v)
{
    size_t byte = 0;
    printf("not valid: %s\n", plain_words(v));
    if (layout_error_place(&v->asked, v->error, &byte)) {
        const char *caret = layout_caret(&c->arena, v->asked.text, byte);
        if (!caret)
            return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
        printf("%s\n", caret);
    }
    printf("Megatron: %s\n", megatron_words(v));
    return ERR_MODEL;
}

static enum err cmd_check_print_verdict(struct cmd *c, const struct verdict *v)
{
    if (!cmd_check_is_valid(v))
        return print_refusal(c, v);
    const char *text = layout_shortest(&c->arena, &v->layout);
    const char *list = layout_list(&c->arena, &v->layout);
    if (!text || !list)
        return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
    printf("valid: %s\n", text);
    print_ranks(&v->layout);
    printf("as a list (Megatron-Bridge, NeMo): %s\n", list);
    const char *texts[LAYOUT_MAX_WARNINGS];
    int n = layout_run_warnings(&v->layout, v->model, texts);
    for (int i = 0; i < n; i++)
        printf("warning: %s\n", texts[i]);
    return ERR_OK;
}

/* The version is asked last: it may refuse only what the validator accepts. */
static enum err check_one(struct cmd *c)
{
    struct cmd_model m;
    struct plan_settings set;
    enum err e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = cmd_model(c, &m);
    if (e != ERR_OK)
        return e;
    if (c->n_args != 1)
        return err_set(&c->msg, ERR_PARSE,
                       "check: want MODEL and one LAYOUT in quotes");
    struct verdict v = {
        .asked = {c->args[0], m.model.par.pp, m.model.n_layers, m.model.n_mtp},
        .model = &m.model};
    if (!m.batch_given) // nothing to say about micro-batches
        m.model.batch.n_microbatches = 0;
    e = cmd_check_judge(&c->arena, &v, &c->msg);
    if (e != ERR_OK)
        return e;
    if (v.error == LAYOUT_OK)
        v.refused = core_version_refuses(set.core, &v.layout, &v.refusal);
    if (!cmd_given(c, OPT_JSON))
        return cmd_check_print_verdict(c, &v);
    e = cmd_check_print_json(c, &v);
    return e != ERR_OK ? e : cmd_check_is_valid(&v) ? ERR_OK : ERR_MODEL;
}

/* ---- many ---- */

static void cmd_check_read_line(struct reader top, struct layout_question *w)
{
    static const char *const required[] = {"layout", "pp", "num_layers"};
    // far above any layout: what is checked is the grammar, not a machine
    const struct json_range stages = {1, 1 << 20}, layers = {0, 1 << 20};
    w->pp = 1;
    for (int i = 0; i < 3; i++)
        reader_require(top, required[i], NULL);
    reader_text(top, "layout", &w->text);
    reader_int(top, "pp", stages, &w->pp);
    reader_int(top, "num_layers", layers, &w->n_layers);
    reader_int(top, "mtp_num_layers", layers, &w->n_mtp);
}

/* An arena a line, so that a file of a million lines takes the memory of one.
 */
static enum err check_line(const char *line, const char *where,
                           struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    struct reader_doc in;
    struct writer_doc out;
    struct verdict v = {0};
    cmd_check_read_line(reader_open_text(&in, &a, line, where, msg), &v.asked);
    enum err e = reader_close(&in);
    if (e == ERR_OK)
        e = cmd_check_judge(&a, &v, msg);
    if (e == ERR_OK) {
        cmd_check_write(&out, &v);
        e = writer_print(&out, false, stdout, msg);
    }
    arena_clear(&a);
    return e;
}

static enum err cmd_check_run(struct cmd *c)
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
    .run = cmd_check_run,
    .synopsis = "check MODEL LAYOUT --pp N [--core 0.16] | check --batch FILE",
    .help = "Says whether Megatron accepts the layout, and what users get hurt "
            "by although it does.\nWith --batch: objects {layout, pp, "
            "num_layers, mtp_num_layers}, one verdict a line in order.\n"
            "Example: moe-layout check model.json 'Et*5|t*6|t*5|mL' --pp 4",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
