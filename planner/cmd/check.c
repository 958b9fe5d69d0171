/*
 * moe-layout check: a launch, one layout for it, or many layouts from a file.
 * How it works: a launch is judged by judge, with the layout that was
 * typed in place of its own split; lines of a file are parsed and validated
 * alone. Both give a verdict that is written by the same functions.
 */
#include "base/reader.h"
#include "base/writer.h"
#include "cmd.h"
#include "judge/judge.h"
#include "layout/core_version.h"
#include "layout/explain.h"
#include "layout/layout.h"
#include "layout/shortest.h"
#include "megatron/args.h"
#include "megatron/convert.h"
#include "megatron/hybrid.h"
#include "pattern/lines.h"

#include <string.h>

/* ---- results ---- */

/* Of a line; of a launch `by` is what the judge said, and the rest its part on
 * the layout. */
struct verdict {
    struct layout_question asked;
    enum layout_error error;
    struct layout layout; // when it could be parsed
    bool parsed;
    struct err_msg why;
    struct judge_verdict by;
    bool hybrid; // by.text is a pattern
    const struct core_version *core;
};

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

/* A hybrid pattern's own answer; a refusal may be of another rule than its. */
static struct writer cmd_check_write_pattern(struct writer_doc *doc,
                                             const struct verdict *v,
                                             const char *error)
{
    struct writer tree = writer_open(doc);
    writer_bool(tree, "valid", v->by.valid);
    writer_text(tree, "error", error);
    writer_text(tree, "where", pattern_error_where(v->by.pattern_error));
    pattern_write(tree, v->by.pattern);
    return tree;
}

/* Members are those of the batch's answers, whose form other programs read:
 * what only the check of one launch tells is added by its caller. */
static struct writer cmd_check_write(struct writer_doc *doc,
                                     const struct verdict *v, bool valid,
                                     const char *error)
{
    static const struct layout none = {0};
    const struct layout *l = v->parsed ? &v->layout : &none;
    struct writer tree = writer_open(doc);
    writer_bool(tree, "valid", valid);
    writer_text(tree, "error", error);
    writer_number(tree, "vpp", l->vpp);
    cmd_check_write_stages(tree, l);
    writer_bool(tree, "mtp_standalone",
                v->error == LAYOUT_OK && layout_mtp_standalone(l));
    return tree;
}

/* Warnings that a layout has by itself. */
static void cmd_check_write_warnings(struct writer tree,
                                     const struct verdict *v)
{
    struct writer warnings = writer_list(tree, "warnings");
    const char *texts[LAYOUT_MAX_WARNINGS];
    if (v->error != LAYOUT_OK)
        return;
    int n = layout_warnings(&v->layout, texts);
    for (int i = 0; i < n; i++)
        writer_text(warnings, NULL, texts[i]);
    if (layout_has_empty(&v->layout))
        writer_text(warnings, NULL,
                    "a stage is empty: documented as legal, but deadlocks are "
                    "reported with virtual stages");
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
    if (v->parsed && v->core)
        v->error = core_version_validate(v->core, &v->layout, q->n_layers,
                                         q->n_mtp, &v->why);
    else if (v->parsed)
        v->error = layout_validate(&v->layout, q->n_layers, q->n_mtp, &v->why);
    return ERR_OK;
}

/* ---- a launch ---- */

/* Megatron's words for the refusal, or where it stands. */
static const char *megatron_words(const struct verdict *v)
{
    if (v->by.layout_error != LAYOUT_OK)
        return layout_megatron_words(v->by.layout_error);
    return v->by.core ? v->by.core->megatron : v->by.refusals->source;
}

/* Name of what is refused first: of a layout, what is wrong with it. */
static const char *cmd_check_error(const struct verdict *v)
{
    if (v->by.valid)
        return "";
    return v->by.layout_error != LAYOUT_OK ? layout_error_id(v->by.layout_error)
                                           : v->by.refusals->rule;
}

/* Where in the text of the layout or pattern it shows. */
static bool cmd_check_place(const struct verdict *v, size_t *byte)
{
    if (v->by.pattern_error != PATTERN_OK)
        return pattern_error_place(v->by.text, v->core->symbols,
                                   v->by.pattern_error, byte);
    return v->by.layout_error != LAYOUT_OK &&
           layout_error_place(&v->asked, v->by.layout_error, byte);
}

/* The first one stands by itself, too: it is what Megatron would say and stop
 * at. */
static void cmd_check_write_refusals(struct writer tree,
                                     const struct verdict *v)
{
    size_t byte = 0;
    writer_text(tree, "reason", v->by.refusals->text);
    writer_text(tree, "megatron", megatron_words(v));
    if (v->by.core)
        writer_text(tree, "refused_by_core", v->by.core->plain);
    if (cmd_check_place(v, &byte))
        writer_number(tree, "position", (double)byte);
    struct writer all = writer_list(tree, "refusals");
    for (const struct judge_refusal *r = v->by.refusals; r; r = r->next) {
        struct writer one = writer_object(all, NULL);
        writer_text(one, "rule", r->rule);
        writer_text(one, "message", r->text);
        writer_text(one, "source", r->source);
    }
}

/* With its bars, which versions before 0.17 do not know. */
static const char *check_pattern_text(struct cmd *c, const struct verdict *v)
{
    return v->core->has_pattern ? pattern_text(&c->arena, v->by.pattern)
                                : v->by.text;
}

/* Adds what only the check of one launch tells. */
static void add_details(struct cmd *c, const struct verdict *v,
                        struct writer tree)
{
    struct writer warnings = writer_list(tree, "warnings");
    for (const struct account_line *l = v->by.warnings.first; l; l = l->next)
        writer_text(warnings, NULL, l->text);
    cmd_write_account(c, tree);
    writer_text(tree, "message", v->by.valid ? "" : v->by.refusals->text);
    if (v->by.n_microbatches)
        writer_number(tree, "microbatches", (double)v->by.n_microbatches);
    if (!v->by.valid)
        cmd_check_write_refusals(tree, v);
    else if (v->hybrid)
        writer_text(tree, "pattern", check_pattern_text(c, v));
    else if (v->parsed) {
        const char *list = layout_list(&c->arena, &v->layout);
        writer_text(tree, "layout", layout_string(&c->arena, &v->layout));
        writer_text(tree, "shortest", layout_shortest(&c->arena, &v->layout));
        // the list is JSON text already
        writer_tree(tree, "list", list ? cJSON_Parse(list) : NULL);
    }
}

static enum err cmd_check_print_json(struct cmd *c, const struct verdict *v)
{
    struct writer_doc doc;
    const char *error = cmd_check_error(v);
    add_details(c, v,
                v->hybrid ? cmd_check_write_pattern(&doc, v, error)
                          : cmd_check_write(&doc, v, v->by.valid, error));
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

/* Units of a segment: symbols, and what a pattern does not write. */
static void print_segment(const struct pattern *p, int s)
{
    const bool last = s == p->n_segments - 1;
    printf("%s%s%s", s ? "" : "E", s || !*p->segment[s] ? "" : " ",
           p->segment[s]);
    for (int d = 0; last && d < p->n_depths; d++)
        printf("%s/%s", d || !s || *p->segment[s] ? " " : "", p->mtp);
    if (last)
        printf("%sL", !s || *p->segment[s] || p->n_depths ? " " : "");
    else if (s && !*p->segment[s])
        printf("(empty)");
}

/* By rank, then chunk, as a rank's own log lists its layers; stages are counted
 * along the micro-batch's way. */
static enum err print_ranks(struct cmd *c, const struct layout *l,
                            const struct pattern *p)
{
    int *first = arena_alloc(&c->arena, (size_t)l->n_stages, sizeof *first);
    if (!first)
        return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
    layout_first_layers(l, first);
    printf("%-5s %-6s %-6s %-10s %s\n", "rank", "chunk", "stage", "layers",
           "units");
    for (int r = 0; r < l->pp; r++)
        for (int v = 0; v < l->vpp; v++) {
            int s = v * l->pp + r, n = layout_stage(l, s).n_layers;
            char layers[24] = "-";
            if (n)
                snprintf(layers, sizeof layers, "%d-%d", first[s],
                         first[s] + n - 1);
            printf("%-5d %-6d %-6d %-10s ", r, v, s, layers);
            if (p)
                print_segment(p, s);
            else
                print_units(l->units[s]);
            printf("\n");
        }
    return ERR_OK;
}

/* Exit 1 with the text on standard output: a refusal is the answer, not an
 * error. All of them are told, so that nobody mends one at a time. */
static enum err print_refusal(struct cmd *c, const struct verdict *v)
{
    size_t byte = 0;
    const struct judge_refusal *first = v->by.refusals;
    printf("not valid: %s\n", first->text);
    if (cmd_check_place(v, &byte)) {
        const char *caret = layout_caret(&c->arena, v->asked.text, byte);
        if (!caret)
            return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
        printf("%s\n", caret);
    }
    printf("Megatron: %s\n", megatron_words(v));
    for (const struct judge_refusal *r = first->next; r; r = r->next)
        printf("not valid: %s\nMegatron: %s\n", r->text, r->source);
    return ERR_MODEL;
}

/* As the text for Megatron's flag and as the list that configuration classes
 * take. */
static enum err print_layout(struct cmd *c, const struct layout *l)
{
    const char *text = cmd_given(c, OPT_SHORTEST)
                           ? layout_shortest(&c->arena, l)
                           : layout_string(&c->arena, l);
    const char *list = layout_list(&c->arena, l);
    if (!text || !list)
        return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
    printf("valid: %s\n", text);
    enum err e = print_ranks(c, l, NULL);
    if (e == ERR_OK)
        printf("as a list (Megatron-Bridge, NeMo): %s\n", list);
    return e;
}

/* Quoted: a shell expands * and |. */
static enum err print_pattern(struct cmd *c, const struct verdict *v)
{
    const char *text = check_pattern_text(c, v);
    if (!text)
        return err_set(&c->msg, ERR_NOMEM, "check: out of memory");
    printf("valid: '%s'\n", text);
    return print_ranks(c, &v->layout, v->by.pattern);
}

/* Warnings follow a refusal as well: they may tell why the flags are so. */
static enum err cmd_check_print_verdict(struct cmd *c, const struct verdict *v)
{
    enum err e = ERR_OK;
    if (!v->by.valid)
        e = print_refusal(c, v);
    else if (v->hybrid)
        e = print_pattern(c, v);
    else if (v->parsed)
        e = print_layout(c, &v->layout);
    else
        printf("valid\n");
    if (e != ERR_OK && e != ERR_MODEL)
        return e;
    for (const struct account_line *l = v->by.warnings.first; l; l = l->next)
        printf("%s%s\n",
               strncmp(l->text, "not judged", 10) == 0 ? "" : "warning: ",
               l->text);
    return e;
}

/* "64 ranks", or that they are not known. */
static const char *check_count(struct cmd *c, int64_t n, const char *what)
{
    return n ? arena_printf(&c->arena, "%lld %s", (long long)n, what)
             : arena_printf(&c->arena, "%s not known", what);
}

/* A pattern has its layers also where its split is refused. */
static int check_layers(struct cmd *c, const struct verdict *v)
{
    const struct megatron_flags *f = megatron_args_flags(c->opened);
    struct megatron_hybrid h;
    struct err_msg why;
    return v->hybrid && hybrid_read(&c->arena, f, &h, &why) == ERR_OK && h.text
               ? h.n_layers
               : v->asked.n_layers;
}

/* One line of what was judged, behind the answer. */
static const char *check_summary(struct cmd *c, const struct verdict *v,
                                 const struct core_version *core)
{
    const struct megatron_flags *f = megatron_args_flags(c->opened);
    int64_t hidden = flags_int(f, FLAG_HIDDEN_SIZE, 0);
    const char *width =
        hidden ? flag_number_text(&c->arena, (double)hidden) : "not known";
    const char *world =
        check_count(c, flags_int(f, FLAG_WORLD_SIZE, 0), "ranks");
    const char *batch = check_count(c, v->by.n_microbatches, "micro-batches");
    const char *layers = check_count(c, check_layers(c, v), "layers");
    return arena_printf(&c->arena, "%s: %s of width %s, %s, PP %d, %s, core %s",
                        c->source_name, layers ? layers : "",
                        width ? width : "", world ? world : "", v->asked.pp,
                        batch ? batch : "", core->name);
}

/* What a run's own files say is all of its flags; a model file, a config or
 * flags on the command line may be a part. */
static bool check_is_launch(const struct account *from)
{
    static const char *const launches[] = {"script", "yaml", "log"};
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++)
        if (strcmp(from->source, launches[i]) == 0)
            return true;
    return false;
}

/* A layout that was typed; a word that can only be a pattern is one. */
static enum err check_set_typed(struct cmd *c, struct megatron_flags *f)
{
    const char *word = c->args[0];
    // nor is a word that is no layout of GPT models one of a hybrid model
    const bool hybrid = judge_is_hybrid(f) && !strpbrk(word, "tm");
    return hybrid || pattern_is_word(word) ? judge_set_pattern(f, word, &c->msg)
                                           : judge_set_layout(f, word, &c->msg);
}

/* The flags, with a layout that was typed in place of their split. */
static enum err check_open(struct cmd *c, struct megatron_args **args)
{
    enum err e = cmd_source(c, args);
    if (e == ERR_OK && c->n_args)
        e = check_set_typed(c, megatron_args_flags(*args));
    if (e == ERR_OK && !cmd_given(c, OPT_IGNORE))
        e = account_refuse_changes(megatron_args_account(*args), c->source_name,
                                   &c->msg);
    return e;
}

/* Layers of a pattern are its own. */
static struct layout_question check_asked(const struct megatron_flags *f,
                                          const struct judge_verdict *by)
{
    return (struct layout_question){by->text, (int)flags_int(f, FLAG_PP, 1),
                                    by->pattern
                                        ? by->pattern->n_layers
                                        : (int)flags_int(f, FLAG_NUM_LAYERS, 0),
                                    (int)flags_int(f, FLAG_MTP_NUM_LAYERS, 0)};
}

/* A pattern is judged by the first version that has patterns where the user
 * names none: the default version would refuse it for that alone. */
static enum err check_one(struct cmd *c)
{
    struct plan_settings set;
    struct megatron_args *args;
    struct verdict v = {.error = LAYOUT_OK};
    enum err e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = check_open(c, &args);
    if (e != ERR_OK)
        return e;
    const struct megatron_flags *f = megatron_args_flags(args);
    v.hybrid = judge_is_hybrid(f);
    if (v.hybrid && !cmd_given(c, OPT_CORE))
        set.core = core_version_of_patterns();
    const struct judge_question q = {
        f, set.core, check_is_launch(megatron_args_account(args))};
    e = judge(&c->arena, &q, &v.by, &c->msg);
    if (e != ERR_OK)
        return e;
    v.asked = check_asked(f, &v.by);
    v.core = set.core;
    v.error = v.by.layout_error;
    v.parsed = v.by.has_layout;
    v.layout = v.by.layout;
    c->summary = check_summary(c, &v, set.core);
    if (!cmd_given(c, OPT_JSON))
        return cmd_check_print_verdict(c, &v);
    e = cmd_check_print_json(c, &v);
    return e != ERR_OK ? e : v.by.valid ? ERR_OK : ERR_MODEL;
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

/* A line about a hybrid pattern; closes the reader's document. */
static enum err check_pattern_line(struct arena *a, struct reader top,
                                   const struct core_version *core,
                                   struct err_msg *msg)
{
    struct pattern_line line;
    struct writer_doc out;
    pattern_line_read(top, core, &line);
    enum err e = reader_close(top.doc);
    if (e != ERR_OK)
        return e;
    e = pattern_line_answer(a, &line, writer_open(&out), msg);
    if (e == ERR_OK)
        return writer_print(&out, false, stdout, msg);
    cJSON_Delete(writer_close(&out));
    return e;
}

/* A line about a GPT layout; a version may refuse what its validator accepts.
 */
static enum err check_layout_line(struct arena *a, struct reader top,
                                  const struct core_version *core,
                                  struct err_msg *msg)
{
    struct verdict v = {.core = core};
    struct writer_doc out;
    struct core_refusal why;
    cmd_check_read_line(top, &v.asked);
    enum err e = reader_close(top.doc);
    if (e == ERR_OK)
        e = cmd_check_judge(a, &v, msg);
    if (e != ERR_OK)
        return e;
    bool refused = core && v.error == LAYOUT_OK &&
                   core_version_refuses(core, &v.layout, &why);
    cmd_check_write_warnings(
        cmd_check_write(&out, &v, v.error == LAYOUT_OK && !refused,
                        refused ? "core_version" : layout_error_id(v.error)),
        &v);
    return writer_print(&out, false, stdout, msg);
}

/* An arena a line, so that a file of a million lines takes the memory of one.
 * Without --core the answers are those of no version, but of the grammar. */
static enum err check_line(struct cmd *c, const char *line, const char *where)
{
    struct arena a;
    struct reader_doc in;
    const struct core_version *core = NULL;
    if (cmd_given(c, OPT_CORE) &&
        core_version_find(c->option[OPT_CORE], &core, &c->msg) != ERR_OK)
        return ERR_RANGE;
    arena_init(&a);
    struct reader top = reader_open_text(&in, &a, line, where, &c->msg);
    enum err e = pattern_line_is(top)
                     ? check_pattern_line(&a, top, core, &c->msg)
                     : check_layout_line(&a, top, core, &c->msg);
    arena_clear(&a);
    return e;
}

static enum err cmd_check_run(struct cmd *c)
{
    if (!cmd_given(c, OPT_BATCH))
        return check_one(c);
    return cmd_each_line(c, c->option[OPT_BATCH], check_line);
}

static const enum cmd_option takes[] = {
    OPT_PP,  OPT_CORE, OPT_BATCH,    OPT_TP,    OPT_VPP,  OPT_GROUP,
    OPT_CP,  OPT_EP,   OPT_ETP,      OPT_WORLD, OPT_MBS,  OPT_GBS,
    OPT_SEQ, OPT_JSON, OPT_SHORTEST, OPT_HELP,  N_OPTIONS};

const struct command CMD_CHECK = {
    .name = "check",
    .run = cmd_check_run,
    .synopsis = "check MODEL [LAYOUT] [--core 0.16] | check --batch FILE",
    .summary = "would Megatron accept this launch, this layout",
    .help =
        "Says whether Megatron accepts the launch: its layout or flags of "
        "a split, virtual stages,\nparallel sizes, ranks, batch, EP overlap; "
        "with LAYOUT, that one in place of its own split.\nA refusal names "
        "the numbers that would work; warnings are what users get hurt by "
        "although\nMegatron accepts it, and rules that are not judged "
        "because a value is not known.\nWith --batch: objects {layout, pp, "
        "num_layers, mtp_num_layers}, one verdict a line in order;\nof hybrid "
        "models {pattern, pp, flags}. A word of pattern symbols in place of "
        "LAYOUT, and a launch with\n--hybrid-layer-pattern, are judged as "
        "hybrid models (core 0.19 unless --core says another).\n"
        "Examples: moe-layout check launch.sh\n          moe-layout check "
        "model.json 'Et*5|t*6|t*5|mL' --pp 4\n"
        "          moe-layout check -- --hybrid-layer-pattern 'M*|ME' "
        "\\\n              --pipeline-model-parallel-size 2",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
