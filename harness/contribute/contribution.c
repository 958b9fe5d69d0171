/*
 * How it works: every run brings its own set of flags, since logs of one series
 * may differ in layout, pipeline size and batch. Megatron's rules are asked of
 * these flags (judge), and only then is a model made of them; the first run's
 * model is what all others are held against.
 */
#include "contribution.h"

#include "judge/judge.h"
#include "megatron/model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CONTRIBUTION_NAME_BYTES = 24, CONTRIBUTION_MOST_RUNS = 512 };

static const char *const from_names[] = {
#define CONTRIBUTION_NAME(id, name, help) name,
    CONTRIBUTION_FROM_TABLE(CONTRIBUTION_NAME)
#undef CONTRIBUTION_NAME
};

const char *contribution_from_name(enum contribution_from f)
{
    return from_names[f];
}

static enum err contribution_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "contribute: out of memory");
}

/* ---- begin ---- */

/* A slip of the pen would be a card of its own for ever. */
static enum err contribution_ask_card(const char *gpu, struct err_msg *msg)
{
    const struct card *near = card_near(gpu);
    if (!near)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "--gpu: got '%s': is it %s? what follows a card's name "
                   "stands behind a blank or a dash ('%s 80GB'); a card of "
                   "another name has its maker before it ('NVIDIA %s')",
                   gpu, near->name, near->name, gpu);
}

/* A variant with a data sheet of its own is a card of its own. */
static enum err contribution_ask_variant(const char *gpu, const char *said,
                                         struct err_msg *msg)
{
    return card_without_maker(gpu) != gpu
               ? ERR_OK
               : err_set(msg, ERR_RANGE,
                         "%s: as a card of its own it has its maker before it "
                         "('NVIDIA %s')",
                         said, gpu);
}

/* "H100 SXM" is "h100-sxm": letters, digits and dashes, as a folder's name. */
enum err contribution_gpu(struct contribution *c, const char *gpu,
                          struct err_msg *msg)
{
    struct err_msg said = {""};
    const enum err found = card_find(gpu, "--gpu", &c->card, &said);
    const bool known = found == ERR_OK;
    const char *plain = known ? card_without_maker(gpu) : gpu;
    const size_t n = strlen(plain);
    char *name = arena_strdup(c->arena, plain);
    if (!name)
        return contribution_no_memory(msg);
    bool ok =
        n > 0 && n < CONTRIBUTION_NAME_BYTES && isalnum((unsigned char)name[0]);
    for (char *p = name; *p; p++) {
        *p = (char)(*p == ' ' || *p == '_' ? '-' : tolower((unsigned char)*p));
        ok = ok && (isalnum((unsigned char)*p) || *p == '-');
    }
    c->gpu = name;
    if (!ok)
        return err_set(msg, ERR_RANGE,
                       "--gpu: got '%s', want the card's name in at most %d "
                       "letters and digits, such as H100, or cpu",
                       gpu, CONTRIBUTION_NAME_BYTES - 1);
    if (found == ERR_RANGE)
        return contribution_ask_variant(gpu, said.text, msg);
    return known ? ERR_OK : contribution_ask_card(gpu, msg);
}

/* In UTC, as all dates of results are. */
static const char *today(struct arena *a)
{
    char text[16];
    const time_t t = time(NULL);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(text, sizeof text, "%Y-%m-%d", &utc);
    return arena_strdup(a, text);
}

/* What a source knows better, as a folder its dates and its clock, replaces
 * these. */
enum err contribution_init(struct arena *a, const struct contribution_begin *b,
                           struct contribution *out, struct err_msg *msg)
{
    *out = (struct contribution){.arena = a,
                                 .example = b->example,
                                 .source = "measured",
                                 .clock = "wall",
                                 .date = today(a)};
    removed_init(&out->removed, a);
    out->run = arena_alloc(a, CONTRIBUTION_MOST_RUNS, sizeof *out->run);
    out->lost = arena_alloc(a, CONTRIBUTION_MOST_RUNS, sizeof *out->lost);
    if (out->removed.failed || !out->run || !out->lost || !out->date)
        return contribution_no_memory(msg);
    enum err e = b->gpu ? contribution_gpu(out, b->gpu, msg) : ERR_OK;
    return e == ERR_OK ? core_version_find(b->core, &out->core, msg) : e;
}

/* More is a slip of a pattern of names, and a fit a run would take minutes. */
static enum err contribution_full(struct err_msg *msg)
{
    return err_set(msg, ERR_RANGE,
                   "got more than %d runs, want at most as many: contribute "
                   "them in parts",
                   CONTRIBUTION_MOST_RUNS);
}

/* Its place does not move: checks and rows point to it. */
enum err contribution_add(struct contribution *c, struct contribution_run **out,
                          struct err_msg *msg)
{
    if (c->n == CONTRIBUTION_MOST_RUNS)
        return contribution_full(msg);
    struct contribution_run *r = &c->run[c->n];
    *r = (struct contribution_run){
        .id = arena_printf(c->arena, "run-%02d", c->n + 1),
        .span = 1,
        .step_s = (double)NAN,
        .q25 = (double)NAN,
        .q75 = (double)NAN,
        .printed_tflops = (double)NAN};
    if (!r->id)
        return contribution_no_memory(msg);
    c->n++;
    *out = r;
    return ERR_OK;
}

void contribution_stat(const struct contribution_run *r,
                       char out[CONTRIBUTION_STAT_BYTES])
{
    if (r->span == 1)
        snprintf(out, CONTRIBUTION_STAT_BYTES,
                 "median of %d iterations, %d dropped", r->n_used,
                 r->n_dropped);
    else
        snprintf(out, CONTRIBUTION_STAT_BYTES,
                 "median of %d means of %d iterations, %d dropped", r->n_used,
                 r->span, r->n_dropped);
}

enum err contribution_lose(struct contribution *c, const char *what,
                           const char *why, struct err_msg *msg)
{
    if (c->n_lost == CONTRIBUTION_MOST_RUNS)
        return contribution_full(msg);
    if (!what)
        return contribution_no_memory(msg);
    c->lost[c->n_lost++] = (struct contribution_lost){what, why};
    return ERR_OK;
}

/* ---- the model ---- */

static bool is_same_text(const char *x, const char *y)
{
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* Which layers are dense, not only how many. */
static bool is_other_layers(const struct model *x, const struct model *y)
{
    bool other = !is_same_text(x->symbols, y->symbols) ||
                 !is_same_text(x->mtp_symbols, y->mtp_symbols);
    for (int i = 0; i < x->n_layers && !other; i++)
        other = model_layer_kind(x, i) != model_layer_kind(y, i);
    return other;
}

/* What one fit can hold: the same model, micro-batch, recompute, precision, and
 * split over ranks but for the pipeline; the global batch may differ. In the
 * words of a list of arguments; NULL: the same. */
static const char *other_model(struct arena *a,
                               const struct contribution_run *first,
                               const struct contribution_run *r)
{
    struct model_fact x[MODEL_N_FACTS], y[MODEL_N_FACTS];
    const int n = model_facts(&first->model, x), m = model_facts(&r->model, y);
    for (int i = 0; i < n && i < m; i++)
        if (x[i].value != y[i].value &&
            strcmp(x[i].key, "data_parallel_size") != 0)
            return arena_printf(
                a, "is of another model or split than %s (%s %lld, not %lld)",
                first->name, y[i].key, (long long)y[i].value,
                (long long)x[i].value);
    if (first->model.par.world != r->model.par.world)
        return arena_printf(
            a, "has another number of GPUs than %s (%d, not %d)", first->name,
            r->model.par.world, first->model.par.world);
    return n != m || is_other_layers(&first->model, &r->model)
               ? arena_printf(a, "is of another model than %s (other layers)",
                              first->name)
               : NULL;
}

/* A size that has a default of 1 and was never stated would be somebody
 * else's run. All are named at once, with what to add. */
static enum err demand_sizes(struct arena *a, const struct megatron_flags *f,
                             const struct contribution_run *r,
                             struct err_msg *msg)
{
    static const struct {
        enum flag_id id;
        const char *what;
    } wanted[] = {{FLAG_PP, "the number of pipeline stages"},
                  {FLAG_GLOBAL_BATCH_SIZE, "the global batch"},
                  {FLAG_SEQ_LENGTH, "the length of a sequence"},
                  {FLAG_WORLD_SIZE, "the number of GPUs"}};
    const char *what = "", *add = "";
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (flags_given(f, wanted[i].id) && !flags_unknown(f, wanted[i].id))
            continue;
        what =
            arena_printf(a, "%s%s%s", what, *what ? ", " : "", wanted[i].what);
        add = arena_printf(a, "%s --%s N", add, flag_name(wanted[i].id));
        if (!what || !add)
            return contribution_no_memory(msg);
    }
    if (!flags_given(f, FLAG_PADDED_VOCAB_SIZE) &&
        !megatron_padded_vocab(f, flags_int(f, FLAG_TP, 1))) {
        what = arena_printf(a,
                            "%s%sthe padded vocabulary (in a log: 'padded "
                            "vocab ... (new size: N)')",
                            what, *what ? ", " : "");
        add = arena_printf(a, "%s --padded-vocab-size N", add);
    }
    if (!what || !add)
        return contribution_no_memory(msg);
    return *what ? err_set(msg, ERR_PARSE,
                           "%s: not stated: %s; name the launch script with "
                           "--config, or add at the end of the command: --%s",
                           r->name, what, add)
                 : ERR_OK;
}

/* What Megatron would say of the flags. */
static enum err judged_layout(struct contribution *c, struct megatron_flags *f,
                              struct contribution_run *r, struct err_msg *msg)
{
    struct judge_verdict v;
    const struct judge_question q = {f, c->core, false};
    const enum err e = judge(c->arena, &q, &v, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", r->name);
    if (!v.valid || !v.has_layout)
        return err_set(msg, ERR_MODEL,
                       "%s: Megatron core %s refuses this run: %s; if it ran, "
                       "name its version with --core",
                       r->name, c->core->name,
                       v.refusals ? v.refusals->text
                                  : "the layout is not known");
    r->parsed = v.layout;
    r->layout = v.pattern ? pattern_text(c->arena, v.pattern)
                          : layout_string(c->arena, &v.layout);
    return r->layout ? ERR_OK : contribution_no_memory(msg);
}

const char *contribution_precision(const struct megatron_flags *f)
{
    return flags_given(f, FLAG_FP8_FORMAT) ? "fp8"
           : flags_given(f, FLAG_BF16)     ? "bf16"
           : flags_given(f, FLAG_FP16)     ? "fp16"
                                           : "fp32";
}

/* ERR_RANGE where the first run is not like this one. */
static enum err demand_same(const struct contribution *c,
                            const struct megatron_flags *f,
                            const struct contribution_run *r,
                            struct err_msg *msg)
{
    const struct contribution_run *first = &c->run[0];
    const char *was = contribution_precision(megatron_args_flags(c->args));
    const char *is = contribution_precision(f);
    const char *other = other_model(c->arena, first, r);
    if (!other && strcmp(was, is) != 0)
        other = arena_printf(c->arena,
                             "ran in another precision than %s (%s, "
                             "not %s)",
                             first->name, is, was);
    return other && first != r
               ? err_set(msg, ERR_RANGE,
                         "%s %s: contribute them one after the other", r->name,
                         other)
               : ERR_OK;
}

/* Flags are copied for each run: the layout of one must not be left in another.
 */
enum err contribution_judge(struct contribution *c,
                            const struct megatron_args *args,
                            const char *layout, struct contribution_run *r,
                            struct err_msg *msg)
{
    struct megatron_args *own = megatron_args_copy(c->arena, args);
    if (!own)
        return contribution_no_memory(msg);
    struct megatron_flags *f = megatron_args_flags(own);
    enum err e = demand_sizes(c->arena, f, r, msg);
    if (e == ERR_OK && layout)
        e = judge_is_hybrid(f) ? judge_set_pattern(f, layout, msg)
                               : judge_set_layout(f, layout, msg);
    if (e == ERR_OK)
        e = judged_layout(c, f, r, msg);
    if (e != ERR_OK)
        return e;
    // their names may be a project's own; of several runs the most counts
    const int n_changes = megatron_args_account(own)->changes.n;
    c->n_changes = n_changes > c->n_changes ? n_changes : c->n_changes;
    e = megatron_args_model(c->arena, own, &r->model, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", r->name);
    r->model.par.vpp = r->parsed.vpp;
    if (!c->args)
        c->args = own;
    e = demand_same(c, f, r, msg);
    if (e != ERR_OK)
        return e;
    c->n_gpus = r->model.par.world;
    return ERR_OK;
}

const char *contribution_name(const struct contribution *c)
{
    return c->name ? c->name
                   : arena_printf(c->arena, "%s-%dx-%s%s", c->gpu, c->n_gpus,
                                  c->date, c->example ? "-example" : "");
}
