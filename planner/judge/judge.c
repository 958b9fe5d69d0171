/*
 * How it works: the sizes that rules compare are read once, then every row of
 * the tables is asked in turn. A row whose flags are not known is noted under
 * the flag that it lacks, and one warning a flag names all such rows. The split
 * comes first, because without it there is nothing to judge.
 */
#include "judge.h"

#include "layout/listed.h"

#include "megatron/overrides.h"
#include "rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- for the rules ---- */

/* NULL when out of memory, which the judge remembers. */
static const char *judge_format(struct judge *j, const char *fmt, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    const char *copy = arena_strdup(j->arena, text);
    j->nomem = j->nomem || !copy;
    return copy;
}

void judge_refuse_text(struct judge *j, const char *text)
{
    struct judge_refusal *r = arena_alloc(j->arena, 1, sizeof *r);
    j->out->valid = false;
    if (!r || !text) {
        j->nomem = true;
        return;
    }
    *r = (struct judge_refusal){j->rule->name, text, j->rule->source, NULL};
    if (j->last)
        j->last->next = r;
    else
        j->out->refusals = r;
    j->last = r;
}

void judge_refuse(struct judge *j, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    judge_refuse_text(j, judge_format(j, fmt, args));
    va_end(args);
}

void judge_warn(struct judge *j, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = judge_format(j, fmt, args);
    va_end(args);
    if (text)
        account_add(&j->said, &j->said.warnings, text);
}

int64_t judge_int(const struct judge *j, enum flag_id id, int64_t other)
{
    const struct flag_range range = flag_range(id);
    int64_t v = flags_int(j->f, id, other);
    return v < range.lo || v > range.hi ? other : v;
}

bool judge_on(const struct judge *j, enum flag_id id)
{
    return flags_given(j->f, id) && !flags_unknown(j->f, id);
}

bool judge_has_word(const struct judge *j, enum flag_id id, const char *word)
{
    const char *text = flags_text(j->f, id);
    size_t len = strlen(word);
    for (const char *p = text ? text : ""; *p;) {
        size_t n = strcspn(p, " ,");
        if (n == len && memcmp(p, word, len) == 0)
            return true;
        p += n + strspn(p + n, " ,");
    }
    return false;
}

bool judge_interleaves(const struct judge *j)
{
    bool stated = judge_on(j, FLAG_VPP) || judge_on(j, FLAG_LAYERS_PER_VPP);
    return j->n.vpp > 1 || (j->n.vpp == 1 && stated && j->minor < 14);
}

const char *judge_flag(struct judge *j, enum flag_id id)
{
    const char *text = arena_printf(j->arena, "--%s", flag_name(id));
    j->nomem = j->nomem || !text;
    return text ? text : "";
}

const char *judge_multiples(struct judge *j, int64_t v, int64_t step)
{
    int64_t below = v / step * step;
    const char *text =
        below > 0 ? arena_printf(j->arena, "%lld or %lld", (long long)below,
                                 (long long)(below + step))
                  : arena_printf(j->arena, "%lld", (long long)(below + step));
    j->nomem = j->nomem || !text;
    return text ? text : "";
}

const char *judge_option(struct judge *j, enum flag_id id)
{
    for (int i = 0; i < N_OVERRIDES; i++)
        if (override_flag((enum override_id)i) == id)
            return arena_printf(j->arena, "%s N",
                                override_option((enum override_id)i));
    return arena_printf(j->arena, "-- --%s%s", flag_name(id),
                        flag_type(id) == FLAG_TYPE_BOOL ? "" : " VALUE");
}

/* ---- sizes ---- */

/* Megatron takes TP's size for experts, too; no experts is 0 as well as no
 * flag. A world that does not divide leaves the replicas unknown. */
static void judge_read_sizes(struct judge *j)
{
    struct judge_sizes *n = &j->n;
    n->layers = judge_int(j, FLAG_NUM_LAYERS, 0);
    n->mtp = judge_int(j, FLAG_MTP_NUM_LAYERS, 0);
    n->experts = judge_int(j, FLAG_NUM_EXPERTS, 0);
    n->tp = judge_int(j, FLAG_TP, 1);
    n->pp = judge_int(j, FLAG_PP, 1);
    n->cp = judge_int(j, FLAG_CP, 1);
    n->ep = judge_int(j, FLAG_EP, 1);
    n->etp = judge_int(j, FLAG_ETP, n->tp);
    n->world = judge_int(j, FLAG_WORLD_SIZE, 0);
    n->mbs = judge_int(j, FLAG_MICRO_BATCH_SIZE, 1);
    n->gbs = judge_int(j, FLAG_GLOBAL_BATCH_SIZE, 0);
    n->seq = judge_int(j, FLAG_SEQ_LENGTH, 0);
    // sizes are at most 2^12 each: no product overflows
    int64_t one = n->tp * n->cp * n->pp;
    bool known = !flags_unknown(j->f, FLAG_TP) && !flags_unknown(j->f, FLAG_CP);
    n->dp = known && n->world % one == 0 ? n->world / one : 0;
}

static const struct judge_rule judge_ranges = {
    .name = "range", .source = "arguments.py: a size must be above 0"};

/* Sizes of ranks, split and batch, by which other rules divide. */
static bool judge_is_divisor(enum flag_id id)
{
    enum flag_effect fx = flag_effect(id);
    return flag_type(id) == FLAG_TYPE_INT &&
           (fx == FLAG_FX_PARALLEL || fx == FLAG_FX_BATCH ||
            id == FLAG_NUM_LAYERS || id == FLAG_MB_GROUP ||
            id == FLAG_MTP_NUM_LAYERS);
}

/* What a pattern ignores, or has a check of its own for. */
static bool judge_is_of_pattern(const struct judge *j, enum flag_id id)
{
    return j->hybrid && j->core->has_pattern &&
           (id == FLAG_NUM_LAYERS || id == FLAG_FIRST_LAYERS ||
            id == FLAG_LAST_LAYERS);
}

/* Below its range a size is Megatron's refusal, above it ours. */
static enum err judge_check_ranges(struct judge *j, struct err_msg *msg)
{
    j->rule = &judge_ranges;
    for (int i = 0; i < N_FLAGS; i++) {
        enum flag_id id = (enum flag_id)i;
        if (!judge_is_divisor(id) || !judge_on(j, id))
            continue;
        struct flag_range range = flag_range(id);
        long long v = (long long)flags_int(j->f, id, 0);
        if (v < range.lo && !judge_is_of_pattern(j, id))
            judge_refuse(j, "--%s: got %lld, want at least %lld", flag_name(id),
                         v, (long long)range.lo);
        if (v > range.hi)
            return err_set(msg, ERR_RANGE, "--%s: got %lld, want %lld to %lld",
                           flag_name(id), v, (long long)range.lo,
                           (long long)range.hi);
    }
    return ERR_OK;
}

/* ---- what is not known ---- */

static void judge_note_unjudged(struct judge *j, enum flag_id id)
{
    const char *all = j->unjudged[id];
    all = all ? arena_printf(j->arena, "%s, %s", all, j->rule->name)
              : j->rule->name;
    j->nomem = j->nomem || !all;
    j->unjudged[id] = all;
}

/* A size that is simply not there is no question, except for the ranks: they
 * come from the launcher, and a launch without them is only half told. */
static bool judge_is_told(const struct judge *j, enum flag_id id)
{
    bool ranks = j->launch || judge_on(j, FLAG_GLOBAL_BATCH_SIZE);
    return flags_unknown(j->f, id) || (ranks && id == FLAG_WORLD_SIZE);
}

/* What a rule needs must be known, what it uses may be absent but not unknown.
 * Either way the rule is not asked, and the flag is noted with it. */
static bool judge_has_all(struct judge *j, const struct judge_rule *r)
{
    bool all = true;
    for (const enum flag_id *id = r->needs; id && *id != FLAG_NONE; id++)
        if (!j->f->slot[*id].known) {
            if (judge_is_told(j, *id))
                judge_note_unjudged(j, *id);
            all = false;
        }
    for (const enum flag_id *id = r->uses; id && *id != FLAG_NONE; id++)
        if (flags_unknown(j->f, *id)) {
            judge_note_unjudged(j, *id);
            all = false;
        }
    return all;
}

/* A switch that may be on is no reason to ask for what it needs. */
static bool judge_is_asked(struct judge *j, const struct judge_rule *r)
{
    for (const enum flag_id *id = r->when; id && *id != FLAG_NONE; id++) {
        if (judge_on(j, *id))
            return true;
        if (flags_unknown(j->f, *id))
            judge_note_unjudged(j, *id);
    }
    return !r->when;
}

static void judge_ask(struct judge *j, const struct judge_rule *rules)
{
    for (const struct judge_rule *r = rules; r->name; r++) {
        j->rule = r;
        if (judge_is_asked(j, r) && judge_has_all(j, r))
            r->ask(j);
    }
}

/* A rule that could not be asked is no pass: a user sees which, for the lack of
 * which flag, and how to give it. */
static void judge_tell_unjudged(struct judge *j)
{
    for (int i = 0; i < N_FLAGS; i++) {
        enum flag_id id = (enum flag_id)i;
        const struct flag_unknown *u = j->f->slot[i].unknown;
        const char *option = judge_option(j, id);
        if (!j->unjudged[i] || !option)
            continue;
        judge_warn(j, "not judged: %s: --%s is not known%s%s%s%s: give '%s'",
                   j->unjudged[i], flag_name(id), u ? ", " : "",
                   u ? u->where : "", u && *u->where ? ": " : "",
                   u ? u->why : "", option);
    }
}

/* Symbols of a pattern are counted, whatever --num-layers says. */
static bool judge_counts_symbols(const struct judge *j)
{
    return j->hybrid &&
           (j->core->has_pattern || judge_on(j, FLAG_HYBRID_LAYER_PATTERN));
}

/* All that the split needs at once, each with the option that gives it. */
static enum err judge_demand_split(struct judge *j, struct err_msg *msg)
{
    static const enum flag_id all[] = {FLAG_NUM_LAYERS,
                                       FLAG_PP,
                                       FLAG_VPP,
                                       FLAG_LAYERS_PER_VPP,
                                       FLAG_LAYOUT,
                                       FLAG_FIRST_LAYERS,
                                       FLAG_LAST_LAYERS,
                                       FLAG_ACCOUNT_LOSS,
                                       FLAG_MTP_NUM_LAYERS,
                                       FLAG_ACCOUNT_EMBEDDING,
                                       FLAG_NO_OVERLAP_P2P,
                                       FLAG_HYBRID_LAYER_PATTERN,
                                       FLAG_HYBRID_OVERRIDE_PATTERN,
                                       FLAG_MTP_HYBRID_PATTERN};
    const char *text = "";
    for (size_t i = 0; i < sizeof all / sizeof all[0] && text; i++) {
        const struct flag_unknown *u = j->f->slot[all[i]].unknown;
        bool missing = all[i] == FLAG_NUM_LAYERS &&
                       !flags_given(j->f, all[i]) && !judge_counts_symbols(j);
        const char *option = judge_option(j, all[i]);
        if (!u && !missing)
            continue;
        text = !option
                   ? NULL
                   : arena_printf(j->arena, "%s%s--%s: %s%s%s, give '%s'", text,
                                  *text ? "; " : "", flag_name(all[i]),
                                  u ? u->where : "", u && *u->where ? ": " : "",
                                  u ? u->why : "not stated", option);
    }
    if (!text)
        return err_set(msg, ERR_NOMEM, "judge: out of memory");
    if (!*text)
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "%s%snot known: %s", j->f->where,
                   *j->f->where ? ": " : "", text);
}

/* Before 0.17 the switch alone makes a model of Mamba layers, by ratios. */
static enum err judge_demand_layers(const struct judge *j, struct err_msg *msg)
{
    if (j->hybrid || !flags_given(j->f, FLAG_IS_HYBRID_MODEL))
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "%s%s--is-hybrid-model: got no pattern of its layers, want "
                   "--hybrid-layer-pattern (--hybrid-override-pattern before "
                   "core 0.17)",
                   j->f->where, *j->f->where ? ": " : "");
}

/* ---- the whole ---- */

/* The split first: without its stages others have nothing to count. */
static enum err judge_all(struct judge *j, struct err_msg *msg)
{
    static const struct {
        const struct judge_rule *rules;
        bool gpt, hybrid; // of which models it is asked
    } tables[] = {{JUDGE_PATTERN, false, true}, {JUDGE_SPLIT, true, false},
                  {JUDGE_STAGES, true, true},   {JUDGE_RANKS, true, true},
                  {JUDGE_BATCH, true, true},    {JUDGE_OVERLAP, true, false},
                  {JUDGE_BESIDE, true, true},   {JUDGE_REST, true, true}};
    enum err e = judge_demand_layers(j, msg);
    if (e == ERR_OK)
        e = judge_demand_split(j, msg);
    if (e == ERR_OK)
        e = judge_check_ranges(j, msg);
    if (e != ERR_OK || !j->out->valid)
        return e; // others would divide by it
    judge_read_sizes(j);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (j->hybrid ? tables[i].hybrid : tables[i].gpt)
            judge_ask(j, tables[i].rules);
    judge_tell_unjudged(j);
    return ERR_OK;
}

enum err judge(struct arena *a, const struct judge_question *q,
               struct judge_verdict *out, struct err_msg *msg)
{
    struct judge *j = arena_alloc(a, 1, sizeof *j);
    if (!j)
        return err_set(msg, ERR_NOMEM, "judge: out of memory");
    *out = (struct judge_verdict){.valid = true};
    *j = (struct judge){.arena = a,
                        .f = q->flags,
                        .core = q->core,
                        .minor = q->core->minor,
                        .launch = q->launch,
                        .hybrid = judge_is_hybrid(q->flags),
                        .out = out};
    account_init(&j->said, a);
    enum err e = judge_all(j, msg);
    out->warnings = j->said.warnings;
    if (e == ERR_OK && j->nomem)
        return err_set(msg, ERR_NOMEM, "judge: out of memory");
    return e;
}

bool judge_is_hybrid(const struct megatron_flags *f)
{
    return flags_given(f, FLAG_HYBRID_LAYER_PATTERN) ||
           flags_given(f, FLAG_HYBRID_OVERRIDE_PATTERN);
}

bool judge_flag_splits(enum flag_id id)
{
    static const enum flag_id all[] = {
        FLAG_LAYOUT,       FLAG_VPP,         FLAG_LAYERS_PER_VPP,
        FLAG_FIRST_LAYERS, FLAG_LAST_LAYERS, FLAG_ACCOUNT_EMBEDDING,
        FLAG_ACCOUNT_LOSS};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == id)
            return true;
    return false;
}

static void judge_clear_split(struct megatron_flags *f)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (judge_flag_splits((enum flag_id)i))
            flags_clear(f, (enum flag_id)i);
}

enum err judge_set_layout(struct megatron_flags *f, const char *text,
                          struct err_msg *msg)
{
    const char *letters;
    const enum err e = layout_of_list(f->arena, text, &letters, msg);
    judge_clear_split(f);
    return e == ERR_OK ? flags_set(f, FLAG_LAYOUT, letters, msg) : e;
}

enum err judge_set_pattern(struct megatron_flags *f, const char *text,
                           struct err_msg *msg)
{
    judge_clear_split(f);
    flags_clear(f, FLAG_HYBRID_OVERRIDE_PATTERN);
    return flags_set(f, FLAG_HYBRID_LAYER_PATTERN, text, msg);
}
