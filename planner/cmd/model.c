/*
 * moe-layout size, count, baselines, profile-layouts: facts of a model. How it
 * works: four commands, each a function that reads its options, asks the rooms
 * below and prints; their rows of the table of commands stand at the end.
 */
#include "base/json.h"
#include "base/writer.h"
#include "calibrate/profile.h"
#include "cmd.h"
#include "judge/judge.h"
#include "layout/baseline.h"
#include "layout/core_version.h"
#include "layout/default_split.h"
#include "layout/space.h"
#include "megatron/args.h"
#include "megatron/hybrid.h"

#include <string.h>

/* ---- size ---- */

/* By kind, since the units of a kind are alike. */
static cJSON *size_json(const struct cmd *c, const struct model *m)
{
    struct writer_doc doc;
    struct writer tree = writer_open(&doc);
    struct writer params = writer_object(tree, "params");
    writer_number(params, "total", (double)model_total_params(m));
    writer_number(params, "active", (double)model_active_params(m));
    writer_number(params, "mtp", (double)model_mtp_params(m));
    writer_number(params, "active_without_lookup",
                  (double)model_active_params_no_lookup(m));
    struct writer units = writer_list(tree, "units");
    for (int k = 0; k < N_KINDS; k++) {
        enum unit_kind kind = (enum unit_kind)k;
        int count = model_unit_count(m, kind);
        if (!count)
            continue;
        char letter[2] = {kind_letter(kind), '\0'};
        struct writer item = writer_object(units, NULL);
        writer_text(item, "unit", letter);
        writer_text(item, "kind", kind_name(kind));
        const char symbol[2] = {kind_symbol(kind), '\0'};
        if (*symbol)
            writer_text(item, "symbol", symbol);
        writer_number(item, "count", count);
        writer_number(item, "params", (double)model_unit_params(m, kind));
        writer_number(item, "active_params",
                      (double)model_unit_active_params(m, kind));
        writer_number(item, "fwd_flops", model_unit_fwd_flops(m, kind));
    }
    cmd_write_account(c, tree);
    return writer_close(&doc);
}

/* "6,858,278,912", in a buffer of the caller. */
// 19 digits, 6 commas and a sign
enum { MODEL_GROUPED_BYTES = 32 };
static const char *cmd_model_grouped(int64_t v, char out[MODEL_GROUPED_BYTES])
{
    char digits[MODEL_GROUPED_BYTES];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v), at = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* To the last parameter, as a model card's own sum can be compared. */
static void cmd_model_print_total(const char *what, int64_t v,
                                  const char *remark)
{
    char text[MODEL_GROUPED_BYTES];
    printf("%-22s %20s  %9.3f B%s\n", what, cmd_model_grouped(v, text),
           (double)v * 1e-9, remark);
}

/* "of t": costs of other units in layers, the number that one needs to weigh a
 * layout by eye; in a hybrid model, whose layers differ, what all units of the
 * kind are of the model. */
static void print_units(const struct model *m)
{
    char params[MODEL_GROUPED_BYTES], active[MODEL_GROUPED_BYTES];
    const bool hybrid = model_is_hybrid(m);
    double t = model_unit_fwd_flops(m, KIND_T), all = 0;
    for (int k = 0; k < N_KINDS; k++)
        all += model_unit_count(m, (enum unit_kind)k) *
               model_unit_fwd_flops(m, (enum unit_kind)k);
    printf("\n%-9s %5s %20s %20s %16s %7s\n", "kind", "count", "params each",
           "active each", "fwd GFLOP/mb", hybrid ? "of all" : "of t");
    for (int k = 0; k < N_KINDS; k++) {
        enum unit_kind kind = (enum unit_kind)k;
        const int n = model_unit_count(m, kind);
        double flops = model_unit_fwd_flops(m, kind);
        double share = hybrid ? n * flops / all : t > 0 ? flops / t : 0;
        if (n)
            printf("%-9s %5d %20s %20s %16.3f %7.2f\n", kind_name(kind), n,
                   cmd_model_grouped(model_unit_params(m, kind), params),
                   cmd_model_grouped(model_unit_active_params(m, kind), active),
                   flops * 1e-9, share);
    }
}

/* Which symbol is which kind, of those that the model has. */
static void print_pattern(const struct model *m)
{
    printf("\n%s", m->symbols);
    for (int i = 0; i < m->n_mtp; i++)
        printf("/%s", m->mtp_symbols);
    printf("\nE embedding, m MTP depth");
    for (int k = 0; k < N_KINDS; k++)
        if (kind_is_symbol((enum unit_kind)k) &&
            model_unit_count(m, (enum unit_kind)k))
            printf(", '%c' %s", kind_symbol((enum unit_kind)k),
                   kind_name((enum unit_kind)k));
}

/* Without a stated length operations are those of one token, and said so. */
static void print_size(const struct cmd_model *of)
{
    const struct model *m = &of->model;
    cmd_model_print_total("parameters", model_total_params(m), "");
    cmd_model_print_total("active a token", model_active_params(m), "");
    if (!m->tied)
        cmd_model_print_total("  without look-up",
                              model_active_params_no_lookup(m),
                              "  (input embedding left out)");
    if (m->n_mtp)
        cmd_model_print_total("MTP block", model_mtp_params(m),
                              "  (not in the above)");
    print_units(m);
    if (model_is_hybrid(m))
        print_pattern(m);
    else
        printf("\nE embedding, t decoder layer, m MTP layer");
    printf(", L loss with %d output pass%s;\none micro-batch: %lld x %lld "
           "token%s%s\n",
           1 + m->n_mtp, m->n_mtp ? "es" : "", (long long)m->batch.micro_batch,
           (long long)m->batch.seq_tokens, m->batch.seq_tokens == 1 ? "" : "s",
           of->seq_given ? ""
                         : ": the length of a sequence is not stated, --seq N "
                           "gives it");
}

static enum err run_size(struct cmd *c)
{
    struct cmd_model m;
    enum err e = cmd_model(c, &m);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return json_print_and_delete(size_json(c, &m.model), true, stdout,
                                     &c->msg);
    print_size(&m);
    return ERR_OK;
}

/* ---- count ---- */

/* Sizes come from the line and not from a model: the number of layouts depends
 * on nothing else. */
static enum err run_count(struct cmd *c)
{
    int64_t layers = 0, mtp = 0, pp = 0, vpp = 1;
    // the count itself overflows long before
    const int64_t most = 1 << 20;
    enum err e = cmd_int(c, OPT_LAYERS, 1, most, &layers);
    if (e == ERR_OK)
        e = cmd_int(c, OPT_MTP, 0, most, &mtp);
    if (e == ERR_OK)
        e = cmd_int(c, OPT_PP, 1, most, &pp);
    if (e == ERR_OK)
        e = cmd_int(c, OPT_VPP, 1, 1 << 10, &vpp);
    if (e != ERR_OK)
        return e;
    if (!layers || !pp)
        return err_set(&c->msg, ERR_PARSE,
                       "count: want --layers and --pp, as in 'moe-layout count "
                       "--layers 16 --pp 4'");
    if (cmd_given(c, OPT_EMPTY) && cmd_given(c, OPT_ANY))
        return err_set(&c->msg, ERR_PARSE,
                       "count: --empty-stages and --any exclude each other");
    const struct layout_space space = {.n_layers = (int)layers,
                                       .n_mtp = (int)mtp,
                                       .pp = (int)pp,
                                       .vpp = (int)vpp,
                                       .kind = cmd_given(c, OPT_ANY) ? SPACE_ANY
                                               : cmd_given(c, OPT_EMPTY)
                                                   ? SPACE_EMPTY_STAGES
                                                   : SPACE_NO_EMPTY_STAGE};
    char text[SPACE_COUNT_BYTES];
    e = layout_space_count(&space, text, &c->msg);
    if (e != ERR_OK)
        return e;
    if (!cmd_given(c, OPT_JSON)) {
        printf("%s\n", text);
        return ERR_OK;
    }
    struct writer_doc doc;
    struct writer tree = writer_open(&doc);
    writer_text(tree, "count", text);
    return writer_print(&doc, true, stdout, &c->msg);
}

/* ---- baselines ---- */

/* Rules that need sizes of the model; Megatron's own needs its split only. */
static const struct rule {
    const char *name;
    enum err (*make)(struct arena *, const struct model *, int, struct layout *,
                     struct err_msg *);
} rules[] = {
    {"count-based", baseline_count_based},
    {"parameter-balanced", baseline_parameter_balanced},
};
enum { MODEL_N_RULES = sizeof rules / sizeof rules[0] };

/* A rule that cannot be applied (text NULL) is a result with its reason, not an
 * error. */
static void write_baseline(const struct writer *list, const char *name,
                           const char *text, const char *reason)
{
    if (!list) {
        printf("%-20s %s\n", name, text ? text : reason);
        return;
    }
    struct writer item = writer_object(*list, NULL);
    writer_text(item, "name", name);
    if (text) {
        writer_text(item, "layout", text);
    } else {
        writer_null(item, "layout");
        writer_text(item, "reason", reason);
    }
}

static enum err baseline_nomem(struct cmd *c)
{
    return err_set(&c->msg, ERR_NOMEM, "baselines: out of memory");
}

/* `m` is NULL where sizes are missing, as the reason says. */
static enum err one_baseline(struct cmd *c, const struct model *m,
                             const struct rule *rule, const struct writer *list,
                             const char *reason)
{
    struct layout l;
    struct err_msg why = {""};
    const char *text = NULL;
    enum err e = ERR_MODEL;
    if (m && m->par.vpp > 1)
        err_set(&why, ERR_MODEL,
                "a rule for one chunk a rank, and there are %d: --vpp 1 leaves "
                "the virtual stages out",
                m->par.vpp);
    else if (m)
        e = rule->make(&c->arena, m, m->par.pp, &l, &why);
    else
        err_set(&why, ERR_MODEL, "%s", reason);
    if (e == ERR_OK)
        text = layout_text(&c->arena, &l, m);
    if (e == ERR_NOMEM || (e == ERR_OK && !text))
        return baseline_nomem(c);
    if (e != ERR_OK && e != ERR_MODEL)
        return err_set(&c->msg, e, "baselines: %s", why.text);
    write_baseline(list, rule->name, text, why.text);
    return ERR_OK;
}

/* Megatron's split of a pattern without bars, however many the pattern has. */
static enum err hybrid_default(struct cmd *c, const struct writer *list)
{
    static const struct rule rule = {"default", default_split_layout};
    struct cmd_model m;
    enum err e = cmd_model(c, &m);
    return e == ERR_OK ? one_baseline(c, &m.model, &rule, list, "") : e;
}

/* The flags' split, whatever layout they give: that is only to be compared
 * with. *refused: Megatron refuses it, and it is the flags' own. */
static enum err default_baseline(struct cmd *c, const struct writer *list,
                                 bool *refused)
{
    struct plan_settings set;
    struct megatron_args *args;
    struct judge_verdict v;
    enum err e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = cmd_source(c, &args);
    if (e != ERR_OK)
        return e;
    struct megatron_flags *f = megatron_args_flags(args);
    if (cmd_given(c, OPT_HYBRID) || hybrid_flag(f) != FLAG_NONE)
        return hybrid_default(c, list);
    bool own = !flags_given(f, FLAG_LAYOUT);
    flags_clear(f, FLAG_LAYOUT);
    e = judge(&c->arena, &(struct judge_question){f, set.core, false}, &v,
              &c->msg);
    if (e != ERR_OK)
        return e;
    const char *text =
        v.has_layout ? layout_string(&c->arena, &v.layout) : NULL;
    if (v.has_layout && !text)
        return baseline_nomem(c);
    // rules on the split are the first, and so is a warning of layers that do
    // not add up
    const char *why = v.refusals         ? v.refusals->text
                      : v.warnings.first ? v.warnings.first->text
                                         : "";
    write_baseline(list, "default", text, why);
    *refused = own && !v.valid && !v.has_layout;
    return ERR_OK;
}

/* Sizes that are missing keep nobody from the rules that do not need them. */
static enum err other_baselines(struct cmd *c, const struct writer *list)
{
    struct cmd_model m;
    struct err_msg reason = {""};
    enum err e = cmd_model(c, &m);
    bool sized = e == ERR_OK;
    if (e != ERR_OK && e != ERR_PARSE)
        return e;
    if (!sized) {
        reason = c->msg;
        c->msg.text[0] = '\0';
    }
    e = ERR_OK;
    for (int i = 0; i < MODEL_N_RULES && e == ERR_OK; i++)
        e = one_baseline(c, sized ? &m.model : NULL, &rules[i], list,
                         reason.text);
    return e;
}

/* All rules are tried: one that refuses says why beside those that do not. The
 * answer is no where Megatron refuses the flags' own split. */
static enum err run_baselines(struct cmd *c)
{
    bool json = cmd_given(c, OPT_JSON), refused = false;
    struct writer_doc doc;
    struct writer top = writer_open(&doc), list = writer_list(top, "baselines");
    enum err e = default_baseline(c, json ? &list : NULL, &refused);
    if (e == ERR_OK)
        e = other_baselines(c, json ? &list : NULL);
    if (e == ERR_OK && json) {
        cmd_write_account(c, top);
        e = writer_print(&doc, true, stdout, &c->msg);
    } else {
        cJSON_Delete(writer_close(&doc));
    }
    return e == ERR_OK && refused ? ERR_MODEL : e;
}

/* ---- profile-layouts ---- */

/* One layout a line, ready for a loop in a shell. */
static enum err print_profile(struct cmd *c, const struct model *m,
                              const struct layout *l, int n)
{
    struct writer_doc doc;
    bool json = cmd_given(c, OPT_JSON);
    struct writer top = writer_open(&doc), list = writer_list(top, "layouts");
    for (int i = 0; i < n; i++) {
        const char *text = layout_text(&c->arena, &l[i], m);
        writer_text(list, NULL, text);
        if (!json && text)
            printf("%s\n", text);
    }
    cmd_write_account(c, top);
    if (json)
        return writer_print(&doc, true, stdout, &c->msg);
    // the list is complete or memory ran out
    cJSON *tree = writer_close(&doc);
    bool ok = tree != NULL;
    cJSON_Delete(tree);
    return ok ? ERR_OK
              : err_set(&c->msg, ERR_NOMEM, "profile-layouts: out of memory");
}

/* The version decides whether a run may have m on a stage of its own, which is
 * what tells m and L apart. */
static enum err run_profile(struct cmd *c)
{
    struct cmd_model m;
    struct plan_settings set;
    int64_t n = 2;
    enum err e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = cmd_model(c, &m);
    if (e == ERR_OK)
        e = cmd_require_seq(c, &m);
    if (e == ERR_OK)
        // two runs determine the kinds of most models; each costs the user a
        // launch
        e = cmd_int(c, OPT_RUNS, 2, 16, &n);
    if (e != ERR_OK)
        return e;
    struct layout *l = arena_alloc(&c->arena, (size_t)n, sizeof *l);
    if (!l)
        return err_set(&c->msg, ERR_NOMEM, "profile-layouts: out of memory");
    const struct profile_wish wish = {m.model.par.pp, (int)n,
                                      core_version_parts_mtp(set.core) &&
                                          !model_is_hybrid(&m.model)};
    e = profile_layouts(&c->arena, &m.model, &wish, l, &c->msg);
    if (e == ERR_OK)
        e = print_profile(c, &m.model, l, (int)n);
    bool apart = false;
    for (int i = 0; i < (int)n && e == ERR_OK; i++)
        apart = apart || layout_mtp_standalone(&l[i]);
    if (apart)
        fprintf(stderr,
                "moe-layout: note: a run with m on a stage of its own tells m "
                "and L apart; Megatron users report deadlocks of such layouts "
                "at PP >= 4, and --core 0.15 gives runs without\n");
    return e;
}

/* ---- the table's rows ---- */

static const enum cmd_option model_options[] = {
    OPT_TP,  OPT_PP,  OPT_VPP, OPT_CP,     OPT_EP,   OPT_ETP,  OPT_WORLD,
    OPT_MBS, OPT_GBS, OPT_SEQ, OPT_HYBRID, OPT_JSON, OPT_HELP, N_OPTIONS};
static const enum cmd_option count_options[] = {
    OPT_LAYERS, OPT_MTP,  OPT_PP,   OPT_VPP,  OPT_EMPTY,
    OPT_ANY,    OPT_JSON, OPT_HELP, N_OPTIONS};
static const enum cmd_option profile_options[] = {
    OPT_PP,     OPT_RUNS, OPT_CORE,  OPT_TP,   OPT_VPP, OPT_CP,
    OPT_EP,     OPT_ETP,  OPT_WORLD, OPT_MBS,  OPT_GBS, OPT_SEQ,
    OPT_HYBRID, OPT_JSON, OPT_HELP,  N_OPTIONS};

const struct command CMD_SIZE = {
    .name = "size",
    .run = run_size,
    .synopsis = "size MODEL",
    .summary = "parameters and forward operations of each unit",
    .sizes_only = true,
    .help = "Parameters (MTP block apart) and forward operations of each unit "
            "for one micro-batch.\nExample: moe-layout size "
            "experiments/models/7b-a1b.json",
    .options = model_options,
    .takes_model = true,
};

const struct command CMD_COUNT = {
    .name = "count",
    .run = run_count,
    .synopsis =
        "count --layers N --mtp K --pp P [--vpp V] [--empty-stages | --any]",
    .summary = "how many layouts there are",
    .help = "How many layouts there are: without an empty stage; with "
            "--empty-stages E is pinned to the first\nand L to the last stage; "
            "with --any all that Megatron's validator accepts.\nExample: "
            "moe-layout count --layers 16 --mtp 1 --pp 4",
    .options = count_options,
};

const struct command CMD_BASELINES = {
    .name = "baselines",
    .run = run_baselines,
    .synopsis = "baselines MODEL --pp N",
    .summary = "layouts that people use without a planner",
    .help =
        "Layouts people use without a planner: Megatron's default split "
        "(or its reason to refuse, exit 1),\nthe count-based rule, and equal "
        "parameters.\nExample: moe-layout baselines "
        "experiments/models/7b-a1b.json --pp 4",
    .options = model_options,
    .takes_model = true,
};

const struct command CMD_PROFILE_LAYOUTS = {
    .name = "profile-layouts",
    .run = run_profile,
    .synopsis = "profile-layouts MODEL --pp N [--runs 2]",
    .summary = "the short runs that tell what each unit costs",
    .help = "The layouts to profile: their timers give the unit costs with the "
            "smallest relative error\n(D-optimal, guessed from FLOPs).\n"
            "Example: moe-layout profile-layouts "
            "experiments/models/7b-a1b.json --pp 4",
    .options = profile_options,
    .takes_model = true,
};
