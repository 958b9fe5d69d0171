/*
 * moe-layout translate: a GPT layout as a hybrid pattern and back, or many from
 * a file. How it works: the source is judged as `check` does, for the layout or
 * pattern that it has; the pattern room translates; what is printed is what to
 * paste, which flags to take out, and what a checkpoint can follow.
 */
#include "cmd.h"

#include "base/reader.h"
#include "base/writer.h"
#include "judge/judge.h"
#include "megatron/args.h"
#include "megatron/hybrid.h"
#include "megatron/model.h"
#include "model/layer_freq.h"
#include "pattern/checkpoint.h"
#include "pattern/lines.h"
#include "pattern/translate.h"

#include <stdio.h>
#include <string.h>

// flags of either side that are taken out
enum { TRANSLATE_MAX_FLAGS = 24 };

/* One translation: the layout and the pattern that mean the same. */
struct translation {
    bool to_pattern;
    const char *error, *why; // NULL: translated
    const char *pattern;     // texts to paste, unquoted; "": not known
    const char *layout;
    struct layout stages;     // the GPT layout
    struct pattern segments;  // the pattern
    struct gpt_layers layers; // of the GPT model
    enum checkpoint_reason checkpoint;
    enum flag_id remove[TRANSLATE_MAX_FLAGS];
    int n_remove;
};

/* ---- what the flags say of a GPT model's layers ---- */

/* Letters of the attention of all layers; NULL when out of memory or when a
 * layer has no symbol, which t->why tells. */
static char *translate_attention_of(struct cmd *c,
                                    const struct megatron_flags *f,
                                    int n_layers, struct translation *t)
{
    const enum flag_id variant = FLAG_EXPERIMENTAL_ATTENTION_VARIANT;
    bool sparse = flags_is(f, variant, "dsa");
    bool delta = megatron_has_delta_net(f);
    char *all = arena_alloc(&c->arena, (size_t)n_layers + 1, 1);
    if (!all)
        return NULL;
    if (flags_given(f, variant) && !sparse && !delta)
        t->why = "--experimental-attention-variant: only dsa and gated delta "
                 "net have a symbol";
    else if (sparse && (flags_int(f, FLAG_DSA_TOPK_FREQ, 1) > 1 ||
                        flags_given(f, FLAG_DSA_LAYERS)))
        t->why = "layers that share the top-k of another one have no symbol";
    else if (delta && !flags_given(f, FLAG_LINEAR_ATTENTION_FREQ))
        t->why = "gated delta net wants --linear-attention-freq, which says "
                 "where";
    memset(all,
           sparse                     ? 'D'
           : flags_given(f, FLAG_MLA) ? '+'
                                      : '*',
           (size_t)n_layers);
    return all;
}

/* G in the layers of which --linear-attention-freq says so. */
static enum err translate_set_delta(struct cmd *c,
                                    const struct megatron_flags *f,
                                    int n_layers, char *attention)
{
    const char *text = flags_text(f, FLAG_LINEAR_ATTENTION_FREQ);
    uint8_t *lean = arena_alloc(&c->arena, (size_t)n_layers + 1, 1);
    if (!lean)
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    if (!text || attention[0] == 'D')
        return ERR_OK;
    enum err e = layer_freq_but_every("--linear-attention-freq", text, n_layers,
                                      lean, &c->msg);
    for (int i = 0; i < n_layers && e == ERR_OK; i++)
        attention[i] = lean[i] ? 'G' : attention[i];
    return e;
}

/* What the layers of a GPT model are. */
static enum err translate_layers(struct cmd *c, const struct megatron_flags *f,
                                 int n_layers, struct translation *t)
{
    char *moe = arena_alloc(&c->arena, (size_t)n_layers + 1, 1);
    uint8_t *experts = arena_alloc(&c->arena, (size_t)n_layers + 1, 1);
    char *attention = translate_attention_of(c, f, n_layers, t);
    enum err e = ERR_OK;
    if (!moe || !experts || !attention)
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    if (flags_int(f, FLAG_NUM_EXPERTS, 0))
        e = layer_freq_expand(flags_text(f, FLAG_MOE_LAYER_FREQ), n_layers,
                              experts, &c->msg);
    if (e == ERR_OK && flags_given(f, FLAG_EXPERIMENTAL_ATTENTION_VARIANT))
        e = translate_set_delta(c, f, n_layers, attention);
    for (int i = 0; i < n_layers; i++)
        moe[i] = experts[i] ? 'e' : 'd';
    t->layers = (struct gpt_layers){moe, attention};
    return e;
}

/* ---- which flags go ---- */

/* Those of the list that are given. */
static void translate_note_flags(const struct megatron_flags *f,
                                 struct translation *t)
{
    // what decides the layers and their split of a GPT model, and what hybrid
    // models are refused with
    static const enum flag_id of_gpt[] = {FLAG_NUM_LAYERS,
                                          FLAG_LAYOUT,
                                          FLAG_FIRST_LAYERS,
                                          FLAG_LAST_LAYERS,
                                          FLAG_ACCOUNT_EMBEDDING,
                                          FLAG_ACCOUNT_LOSS,
                                          FLAG_VPP,
                                          FLAG_LAYERS_PER_VPP,
                                          FLAG_MOE_LAYER_FREQ,
                                          FLAG_MTP_NUM_LAYERS,
                                          FLAG_LINEAR_ATTENTION_FREQ,
                                          FLAG_OVERLAP_MOE_COMM,
                                          FLAG_DELAY_WGRAD,
                                          FLAG_EARLY_ATTN_RELEASE,
                                          FLAG_NONE};
    static const enum flag_id of_pattern[] = {
        FLAG_HYBRID_LAYER_PATTERN, FLAG_HYBRID_OVERRIDE_PATTERN,
        FLAG_MTP_HYBRID_PATTERN,   FLAG_SPEC,
        FLAG_IS_HYBRID_MODEL,      FLAG_FIRST_LAYERS,
        FLAG_LAST_LAYERS,          FLAG_NONE};
    const enum flag_id *id = t->to_pattern ? of_gpt : of_pattern;
    for (; *id != FLAG_NONE; id++)
        if (flags_given(f, *id))
            t->remove[t->n_remove++] = *id;
}

/* ---- the two ways ---- */

/* What is not translated: its name and the sentence. */
static enum err translate_refuse(struct cmd *c, struct translation *t,
                                 const char *name, const char *why)
{
    t->error = name;
    t->why = arena_strdup(&c->arena, why);
    return t->why ? ERR_OK
                  : err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
}

/* The pattern as Megatron would read it, judged by the version's symbols. */
static enum err translate_read_pattern(struct cmd *c, const char *symbols,
                                       struct translation *t)
{
    struct err_msg why;
    const struct pattern_flags f = {
        .pattern = t->pattern, .pp = t->stages.pp, .symbols = symbols};
    enum pattern_error e = pattern_read(&c->arena, &f, &t->segments, &why);
    if (e == PATTERN_NO_MEMORY)
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    return e == PATTERN_OK
               ? ERR_OK
               : translate_refuse(c, t, pattern_error_id(e), why.text);
}

static enum err translate_from_layout(struct cmd *c,
                                      const struct megatron_flags *f,
                                      const char *symbols,
                                      struct translation *t)
{
    struct err_msg why;
    int n_layers = (int)flags_int(f, FLAG_NUM_LAYERS, 0);
    enum err e = translate_layers(c, f, n_layers, t);
    if (e != ERR_OK || t->why) {
        t->error = "no_symbol";
        return e;
    }
    t->layout = layout_string(&c->arena, &t->stages);
    enum translate_error te = translate_to_pattern(
        &c->arena, &t->stages, &t->layers, &t->pattern, &why);
    if (te == TRANSLATE_NO_MEMORY || !t->layout)
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    return te == TRANSLATE_OK
               ? translate_read_pattern(c, symbols, t)
               : translate_refuse(c, t, translate_error_id(te), why.text);
}

static enum err translate_from_pattern(struct cmd *c, struct translation *t)
{
    struct err_msg why;
    t->pattern = pattern_text(&c->arena, &t->segments);
    enum translate_error te = translate_to_layout(&c->arena, &t->segments,
                                                  &t->stages, &t->layers, &why);
    if (te == TRANSLATE_OK)
        t->layout = layout_string(&c->arena, &t->stages);
    if (te == TRANSLATE_NO_MEMORY || !t->pattern ||
        (te == TRANSLATE_OK && !t->layout))
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    return te == TRANSLATE_OK
               ? ERR_OK
               : translate_refuse(c, t, translate_error_id(te), why.text);
}

/* ---- what to print ---- */

/* A pattern of as many layers has the checkpoints of the model it stands for.
 */
static void translate_print_checkpoint(const struct translation *t)
{
    const struct pattern *p = &t->segments;
    if (t->to_pattern && t->checkpoint == CHECKPOINT_LOADS)
        printf("checkpoint: one of the GPT model (%d layers) loads into this "
               "pattern since core 0.19; optimiser\nstates as well, from "
               "--dist-ckpt-optim-fully-reshardable or fsdp_dtensor\n",
               (int)strlen(t->layers.moe));
    else if (t->to_pattern)
        printf("checkpoint: none of the GPT model loads: %s: start fresh\n",
               checkpoint_text(t->checkpoint));
    else
        printf("checkpoint: none of the hybrid model loads into a GPT model "
               "by itself%s\n",
               t->checkpoint == CHECKPOINT_LOADS && !strchr(p->main, 'M')
                   ? ": Megatron's tools/checkpoint/gpt_hybrid_conversion.py "
                     "writes the weights anew"
                   : ": start fresh");
    printf("checkpoint: one of this pattern follows any cuts of the same "
           "symbols\n");
}

static void translate_print_flags(const struct translation *t)
{
    printf("remove:");
    for (int i = 0; i < t->n_remove; i++)
        printf(" --%s", flag_name(t->remove[i]));
    printf("%s\n", t->n_remove ? "" : " nothing");
}

/* Numbers that count layers count symbols. */
static void translate_print_changes(const struct megatron_flags *f,
                                    const struct translation *t)
{
    static const enum flag_id counted[] = {
        FLAG_RECOMPUTE_NUM_LAYERS, FLAG_WINDOW_SKIP_FREQ, FLAG_DSA_SKIP_OFFSET};
    printf("change: %s\n",
           t->to_pattern
               ? "pretrain_gpt.py to pretrain_hybrid.py (pretrain_mamba.py in "
                 "core 0.17), with --spec\nmegatron.core.models.hybrid."
                 "hybrid_layer_specs hybrid_stack_spec "
                 "(models.mamba.mamba_layer_specs mamba_stack_spec)"
               : "pretrain_hybrid.py to pretrain_gpt.py");
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (flags_given(f, counted[i]))
            printf("change: --%s: a layer of the GPT model is two of the "
                   "pattern\n",
                   flag_name(counted[i]));
}

/* Flags of a GPT model that the pattern says. */
static enum err translate_print_layout(struct cmd *c,
                                       const struct translation *t)
{
    const char *moe = translate_freq(&c->arena, t->layers.moe, 'e');
    const char *delta = translate_freq(&c->arena, t->layers.attention, 'G');
    const char *attention = t->layers.attention;
    if (!moe || !delta)
        return err_set(&c->msg, ERR_NOMEM, "translate: out of memory");
    printf("--pipeline-model-parallel-layout '%s'\n", t->layout);
    printf("add: --num-layers %d", t->segments.n_layers / 2);
    if (strchr(t->layers.moe, 'e'))
        printf(" --moe-layer-freq '%s'", moe);
    if (t->segments.n_depths)
        printf(" --mtp-num-layers %d", t->segments.n_depths);
    if (strchr("+D", attention[0]))
        printf(" --multi-latent-attention");
    if (attention[0] == 'D')
        printf(" --experimental-attention-variant dsa");
    if (strchr(attention, 'G'))
        printf(" --experimental-attention-variant gated_delta_net "
               "--linear-attention-freq '%s'",
               delta);
    printf("\n");
    return ERR_OK;
}

static enum err translate_print(struct cmd *c, const struct megatron_flags *f,
                                const struct translation *t)
{
    enum err e = ERR_OK;
    if (t->error) {
        printf("no translation: %s\n", t->why);
        return ERR_MODEL;
    }
    // quoted: a shell expands * and |
    if (t->to_pattern)
        printf("--hybrid-layer-pattern%s'%s'\n", hybrid_flag_joint(t->pattern),
               t->pattern);
    else
        e = translate_print_layout(c, t);
    if (e != ERR_OK)
        return e;
    translate_print_flags(t);
    translate_print_changes(f, t);
    translate_print_checkpoint(t);
    return ERR_OK;
}

static enum err translate_print_json(struct cmd *c, const struct translation *t)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    bool good = !t->error;
    writer_text(top, "dir",
                t->to_pattern ? "layout_to_pattern" : "pattern_to_layout");
    writer_text(top, "error", good ? "" : t->error);
    writer_text(top, "message", good ? "" : t->why);
    writer_text(top, "pattern", good || !t->to_pattern ? t->pattern : "");
    writer_text(top, "layout", good || t->to_pattern ? t->layout : "");
    writer_text(top, "moe", good ? t->layers.moe : "");
    writer_text(top, "attention", good ? t->layers.attention : "");
    if (good) {
        writer_bool(top, "gpt_checkpoint_loads",
                    t->checkpoint == CHECKPOINT_LOADS);
        writer_text(top, "checkpoint", checkpoint_text(t->checkpoint));
        struct writer remove = writer_list(top, "remove");
        for (int i = 0; i < t->n_remove; i++)
            writer_text(
                remove, NULL,
                arena_printf(&c->arena, "--%s", flag_name(t->remove[i])));
    }
    enum err e = writer_print(&doc, true, stdout, &c->msg);
    return e != ERR_OK || good ? e : ERR_MODEL;
}

/* ---- one ---- */

/* A pattern needs no model beside it, and has no file of its name. */
static bool translate_is_alone(const struct cmd *c)
{
    return !c->has_flags && c->n_args == 1 && pattern_is_word(c->args[0]);
}

/* Megatron's default does not go with MTP, in GPT models neither: whoever
 * translates has not come to say so. */
static enum err translate_assume_rope(struct cmd *c, struct megatron_flags *f)
{
    return flags_given(f, FLAG_POSITION_EMBEDDING_TYPE)
               ? ERR_OK
               : flags_set(f, FLAG_POSITION_EMBEDDING_TYPE, "rope", &c->msg);
}

static enum err translate_open(struct cmd *c, struct megatron_args **args)
{
    c->has_flags = c->has_flags || translate_is_alone(c);
    enum err e = cmd_source(c, args);
    if (e != ERR_OK)
        return e;
    struct megatron_flags *f = megatron_args_flags(*args);
    const char *word = c->n_args ? c->args[0] : NULL;
    // a pattern that is typed makes a hybrid model of any flags; a layout
    // beside the pattern of a hybrid model is refused as Megatron does
    if (word && pattern_is_word(word))
        e = judge_set_pattern(f, word, &c->msg);
    else if (word)
        e = judge_set_layout(f, word, &c->msg);
    if (e == ERR_OK)
        e = translate_assume_rope(c, f);
    return e != ERR_OK || cmd_given(c, OPT_IGNORE)
               ? e
               : account_refuse_changes(megatron_args_account(*args),
                                        c->source_name, &c->msg);
}

/* What Megatron refuses has no translation; other rules of a launch are
 * `check`'s. */
static enum err translate_refused(struct cmd *c, const struct judge_verdict *v,
                                  bool has_pp, struct translation *t)
{
    const char *why = v->refusals ? v->refusals->text
                                  : "the layers do not add up to a layout";
    const char *name =
        v->pattern_error != PATTERN_OK ? pattern_error_id(v->pattern_error)
        : v->layout_error != LAYOUT_OK ? layout_error_id(v->layout_error)
        : v->refusals                  ? v->refusals->rule
                                       : "split";
    // without a size the pipeline has one rank
    if (v->pattern_error == PATTERN_VIRTUAL_PP2 && !has_pp)
        why = arena_printf(&c->arena, "%s: give --pp N", why);
    return translate_refuse(c, t, name, why ? why : "out of memory");
}

static enum err translate_judged(struct cmd *c, const struct megatron_flags *f,
                                 const struct core_version *core,
                                 struct translation *t)
{
    struct judge_verdict v;
    const struct judge_question q = {f, core, false};
    t->to_pattern = !judge_is_hybrid(f);
    translate_note_flags(f, t);
    enum err e = judge(&c->arena, &q, &v, &c->msg);
    if (e != ERR_OK)
        return e;
    if (!v.has_layout || v.layout_error != LAYOUT_OK)
        return translate_refused(c, &v, flags_given(f, FLAG_PP), t);
    if (t->to_pattern) {
        t->stages = v.layout;
        e = translate_from_layout(c, f, core->symbols, t);
    } else {
        t->segments = *v.pattern;
        e = translate_from_pattern(c, t);
    }
    if (e == ERR_OK && !t->error)
        t->checkpoint = checkpoint_of_gpt(&t->segments);
    return e;
}

static enum err translate_one(struct cmd *c)
{
    struct plan_settings set;
    struct megatron_args *args;
    struct translation t = {.pattern = "", .layout = ""};
    enum err e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = translate_open(c, &args);
    if (e != ERR_OK)
        return e;
    if (!cmd_given(c, OPT_CORE))
        set.core = core_version_of_patterns();
    const struct megatron_flags *f = megatron_args_flags(args);
    e = translate_judged(c, f, set.core, &t);
    if (e != ERR_OK)
        return e;
    return cmd_given(c, OPT_JSON) ? translate_print_json(c, &t)
                                  : translate_print(c, f, &t);
}

/* ---- many ---- */

static enum err translate_line(struct cmd *c, const char *line,
                               const char *where)
{
    struct err_msg *msg = &c->msg;
    struct arena a;
    arena_init(&a);
    struct reader_doc in;
    struct writer_doc out;
    struct reader top = reader_open_text(&in, &a, line, where, msg);
    enum err e = translate_line_answer(&a, top, writer_open(&out), msg);
    enum err read = reader_close(&in);
    if (e == ERR_OK && read == ERR_OK)
        e = writer_print(&out, false, stdout, msg);
    else
        cJSON_Delete(writer_close(&out));
    arena_clear(&a);
    return read != ERR_OK ? read : e;
}

static enum err translate_run(struct cmd *c)
{
    return cmd_given(c, OPT_BATCH)
               ? cmd_each_line(c, c->option[OPT_BATCH], translate_line)
               : translate_one(c);
}

static const enum cmd_option takes[] = {OPT_PP,   OPT_VPP,  OPT_CORE, OPT_BATCH,
                                        OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_TRANSLATE = {
    .name = "translate",
    .run = translate_run,
    .synopsis = "translate MODEL [LAYOUT | PATTERN] | translate --batch FILE",
    .summary = "a GPT layout as the pattern of a hybrid model, and back",
    .help =
        "A GPT layout as the pattern of a hybrid model "
        "(--hybrid-layer-pattern, quoted), and a pattern as a\nGPT layout "
        "with the flags that say the rest; which flags go and which change, "
        "and what a checkpoint\ncan follow. Exit 1 with the reason where there "
        "is none: MTP away from the loss, a cut inside a layer,\nlayers that "
        "GPT models do not have. A PATTERN needs no MODEL.\nWith --batch: "
        "objects {dir, layout, pp, moe, attention} or {dir, pattern, pp}, one "
        "answer a line.\n"
        "Examples: moe-layout translate model.json 'Et*8|t*8mL' --pp 2\n"
        "          moe-layout translate '*-*E|*E*E/*E' --pp 2",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
