/*
 * How it works: the rules on layout, split and virtual stages. Each returns at
 * once when one before it has refused: Megatron stops there, and what follows
 * would be told of a split that is none. The split itself is default_split's;
 * only what it does not say is here: what Megatron takes although the layers do
 * not add up, and what versions before 0.16 took.
 */
#include "rule.h"

#include "layout/default_split.h"
#include "model/layer_freq.h"

#include <stdio.h>
#include <string.h>

/* Rules on flags of a split, as long as none has refused. */
static bool judge_is_split(const struct judge *j)
{
    return j->out->valid && !judge_on(j, FLAG_LAYOUT);
}

/* The same of a layout. */
static bool judge_is_layout(const struct judge *j)
{
    return j->out->valid && judge_on(j, FLAG_LAYOUT);
}

/* Names of those of the flags that are given, with "and"; NULL: none. */
static const char *judge_names(struct judge *j, const enum flag_id *ids)
{
    const char *all = NULL;
    for (; *ids != FLAG_NONE; ids++)
        if (judge_on(j, *ids))
            all = all ? arena_printf(j->arena, "%s and --%s", all,
                                     flag_name(*ids))
                      : judge_flag(j, *ids);
    return all;
}

/* ---- which flags go together ---- */

/* 0.12 has no such check: the number of virtual stages wins there. */
static void judge_vpp_flags(struct judge *j)
{
    static const enum flag_id all[] = {FLAG_LAYERS_PER_VPP, FLAG_VPP,
                                       FLAG_LAYOUT, FLAG_NONE};
    int n = 0;
    for (int i = 0; all[i] != FLAG_NONE; i++)
        n += judge_on(j, all[i]);
    if (n < 2 || (j->minor < 13 && !judge_on(j, FLAG_LAYOUT)))
        return;
    const char *names = judge_names(j, all);
    judge_refuse(j,
                 "%s exclude each other, also where they say the same: "
                 "give one of them",
                 names ? names : "");
}

/* Also where they say the same as the layout. */
static void judge_layout_flags(struct judge *j)
{
    static const enum flag_id others[] = {FLAG_FIRST_LAYERS, FLAG_LAST_LAYERS,
                                          FLAG_ACCOUNT_EMBEDDING,
                                          FLAG_ACCOUNT_LOSS, FLAG_NONE};
    const char *names = judge_names(j, others);
    if (names && judge_is_layout(j))
        judge_refuse(j,
                     "--pipeline-model-parallel-layout excludes %s: the "
                     "layout says it all, leave the others out",
                     names);
}

/* Fixed ends are numbers of layers: what would count E or L as a layer, and
 * what fixes the layers of every chunk, contradicts them. */
static void judge_ends_flags(struct judge *j)
{
    static const enum flag_id ends[] = {FLAG_FIRST_LAYERS, FLAG_LAST_LAYERS,
                                        FLAG_NONE};
    static const enum flag_id others[] = {FLAG_ACCOUNT_EMBEDDING,
                                          FLAG_ACCOUNT_LOSS, FLAG_NONE};
    const char *fixed = judge_names(j, ends), *with = judge_names(j, others);
    if (!judge_is_split(j) || !fixed)
        return;
    if (with)
        judge_refuse(j, "%s excludes %s", fixed, with);
    else if (judge_on(j, FLAG_LAYERS_PER_VPP))
        judge_refuse(j,
                     "%s excludes --num-layers-per-virtual-pipeline-stage: "
                     "give --num-virtual-stages-per-pipeline-rank",
                     fixed);
}

/* ---- a layout ---- */

/* What an open proposal would accept is said with its number. */
static enum layout_error judge_validate(struct judge *j, const struct layout *l,
                                        struct err_msg *why)
{
    const int n = (int)j->n.layers, m = (int)j->n.mtp;
    const struct core_version *dev = j->core;
    enum layout_error now = layout_validate(l, n, m, why);
    if (now != LAYOUT_L_COUNT && now != LAYOUT_M_SPLIT)
        return now;
    const char *what = now == LAYOUT_L_COUNT
                           ? "several L (Megatron-LM pull request 5318)"
                           : "m on several ranks (Megatron-LM pull request "
                             "5329)";
    core_version_find("dev", &dev, NULL);
    bool would = core_version_validate(dev, l, n, m, NULL) == LAYOUT_OK;
    if (would && !j->core->proposals)
        judge_warn(j, "an open proposal accepts %s: --core dev judges by it",
                   what);
    else if (would)
        judge_warn(j,
                   "%s: an open proposal, in no release; what it costs is not "
                   "modelled",
                   what);
    return core_version_validate(j->core, l, n, m, why);
}

/* The version is asked last: it may refuse only what the validator accepts. */
static void judge_layout(struct judge *j)
{
    struct judge_verdict *v = j->out;
    struct err_msg why = {""};
    v->text = flags_text(j->f, FLAG_LAYOUT);
    if (!judge_is_layout(j))
        return;
    enum layout_error e =
        layout_parse(j->arena, v->text, (int)j->n.pp, &v->layout, &why);
    v->has_layout = e == LAYOUT_OK;
    if (e == LAYOUT_OK)
        e = judge_validate(j, &v->layout, &why);
    v->layout_error = e;
    if (e == LAYOUT_NO_MEMORY)
        j->nomem = true;
    else if (e != LAYOUT_OK)
        judge_refuse(j, "%s", why.text);
    else
        j->n.vpp = v->layout.vpp;
}

static const struct judge_rule judge_core = {
    .name = "core_version", .source = "this version of Megatron core"};

/* What the validator of main accepts, an older release may not know yet. */
static void judge_layout_core(struct judge *j)
{
    if (!judge_is_layout(j))
        return;
    struct core_refusal *r = arena_alloc(j->arena, 1, sizeof *r);
    if (!r) {
        j->nomem = true;
        return;
    }
    if (!core_version_refuses(j->core, &j->out->layout, r))
        return;
    j->rule = &judge_core;
    j->out->core = r;
    judge_refuse(j, "%s", r->plain);
}

/* ---- a split ---- */

/* What default_split needs of a model. */
static struct model judge_split_model(const struct judge *j)
{
    struct model m = {.n_layers = (int)j->n.layers, .n_mtp = (int)j->n.mtp};
    int64_t all = j->n.layers + judge_on(j, FLAG_ACCOUNT_EMBEDDING) +
                  judge_on(j, FLAG_ACCOUNT_LOSS);
    int64_t chunk = judge_int(j, FLAG_LAYERS_PER_VPP, 0);
    bool stated = judge_on(j, FLAG_VPP);
    m.par.pp = (int)j->n.pp;
    m.par.vpp = (int)judge_int(j, FLAG_VPP, 1);
    if (!stated && chunk && all % (chunk * j->n.pp) == 0)
        m.par.vpp = (int)(all / (chunk * j->n.pp));
    m.split = (struct default_split){
        .first_layers = (int)judge_int(j, FLAG_FIRST_LAYERS, 0),
        .last_layers = (int)judge_int(j, FLAG_LAST_LAYERS, 0),
        .virtual_stages = stated,
        .chunk_layers = stated ? 0 : (int)chunk,
        .count_embedding = judge_on(j, FLAG_ACCOUNT_EMBEDDING),
        .count_loss = judge_on(j, FLAG_ACCOUNT_LOSS)};
    return m;
}

/* What fixed ends leave. */
struct judge_ends {
    int64_t first, last;
    int64_t stages, layers; // between the ends; -1 stages: one rank has both
};

/* An end of zero layers is one that is not fixed. */
static struct judge_ends judge_ends_of(const struct judge *j)
{
    int64_t first = judge_int(j, FLAG_FIRST_LAYERS, 0);
    int64_t last = judge_int(j, FLAG_LAST_LAYERS, 0);
    return (struct judge_ends){first, last, j->n.pp - (first > 0) - (last > 0),
                               j->n.layers - first - last};
}

/* Do the ends pass Megatron's checks although the layers do not add up? */
static bool judge_ends_are_loose(const struct judge *j,
                                 const struct judge_ends *e, int64_t vpp)
{
    bool matched = !e->stages == !e->layers;
    if (e->first % vpp || e->last % vpp || (vpp > 1 && j->n.pp == 1))
        return false;
    if (j->minor >= 16 && !matched)
        return false;
    if (e->stages > 0) // fewer than none divide, too
        return e->layers <= 0 && e->layers % (e->stages * vpp) == 0;
    return e->stages < 0 || !matched;
}

/* 0.12 divides by the stages between, of which there are none here. */
static bool judge_ends_old(struct judge *j, const struct judge_ends *e)
{
    if (j->minor >= 13 || e->stages != 0 || (!e->first && !e->last))
        return false;
    judge_refuse(j,
                 "%s: core %s divides by the stages between the ends, and "
                 "there are none: fix one end only, or take a later version",
                 e->first ? "--decoder-first-pipeline-num-layers"
                          : "--decoder-last-pipeline-num-layers",
                 j->core->name);
    return true;
}

/* Three ways in which fixed ends do not add up. Megatron checks none of these
 * and trains another model than was asked for. */
static void judge_tell_loose(struct judge *j, const struct judge_ends *e)
{
    const long long first = e->first, last = e->last, layers = j->n.layers;
    if (e->stages < 0)
        judge_warn(j,
                   "one rank has both ends: Megatron builds the %lld layers "
                   "of --decoder-last-pipeline-num-layers, not --num-layers "
                   "%lld, and does not refuse it",
                   last, layers);
    else if (e->layers == 0)
        judge_warn(j,
                   "the fixed ends leave no layer for %lld stages between, "
                   "which are empty: this version does not refuse it",
                   (long long)e->stages);
    else
        judge_warn(j,
                   "--decoder-first-pipeline-num-layers %lld and "
                   "--decoder-last-pipeline-num-layers %lld do not add up "
                   "to --num-layers %lld: Megatron leaves layers out or "
                   "builds some twice, and does not refuse it",
                   first, last, layers);
}

/* Both flags are reasons of their own, beside what divides. */
static void judge_split(struct judge *j)
{
    if (!judge_is_split(j))
        return;
    const struct model m = judge_split_model(j);
    struct err_msg why = {""};
    if (m.split.first_layers || m.split.last_layers) {
        const struct judge_ends e = judge_ends_of(j);
        if (judge_ends_old(j, &e))
            return;
        if (judge_ends_are_loose(j, &e, m.par.vpp)) {
            j->n.vpp = m.par.vpp;
            judge_tell_loose(j, &e);
            return;
        }
    }
    enum err e =
        default_split_layout(j->arena, &m, (int)j->n.pp, &j->out->layout, &why);
    j->nomem = j->nomem || e == ERR_NOMEM;
    j->out->has_layout = e == ERR_OK;
    if (e == ERR_MODEL)
        judge_refuse(j, "%s", why.text);
    else
        j->n.vpp = m.par.vpp;
}

/* ---- virtual stages ---- */

/* Without overlap a batch of transfers may hold one message a pair of ranks. */
static void judge_vpp_ranks(struct judge *j)
{
    if (!j->out->valid || !judge_interleaves(j))
        return;
    if (j->n.pp == 1)
        judge_refuse(j,
                     "%lld virtual stages on --pipeline-model-parallel-size "
                     "1: they want a pipeline of two ranks or more",
                     (long long)j->n.vpp);
    else if (j->n.pp == 2 && judge_on(j, FLAG_NO_OVERLAP_P2P))
        judge_refuse(j, "virtual stages with --no-overlap-p2p-communication "
                        "want --pipeline-model-parallel-size 3 or more, or "
                        "overlapped communication");
}

/* Megatron turns the overlap off itself where nothing is interleaved. */
static void judge_p2p_flush(struct judge *j)
{
    if (judge_on(j, FLAG_NO_OVERLAP_P2P))
        judge_refuse(j, "--overlap-p2p-communication-warmup-flush excludes "
                        "--no-overlap-p2p-communication");
    else if (j->n.vpp && !judge_interleaves(j))
        judge_refuse(j, "--overlap-p2p-communication-warmup-flush wants "
                        "virtual stages: without them Megatron overlaps no "
                        "communication");
}

/* ---- stages that surprise ---- */

// of more stages that are alike only their number is told
enum { JUDGE_MAX_NAMED = 8 };

struct judge_stages {
    const char *text; // "3 (rank 1, chunk 1), 5 (rank 0, chunk 2)"
    int n;
};

/* A long list names its first and counts the rest. */
static void judge_add_stage(struct judge *j, struct judge_stages *all, int s)
{
    const struct layout *l = &j->out->layout;
    const char *text = all->text;
    if (all->n++ >= JUDGE_MAX_NAMED)
        return;
    text = l->vpp > 1
               ? arena_printf(j->arena, "%s%s%d (rank %d, chunk %d)", text,
                              *text ? ", " : "", s, s % l->pp, s / l->pp)
               : arena_printf(j->arena, "%s%s%d", text, *text ? ", " : "", s);
    j->nomem = j->nomem || !text;
    all->text = text ? text : "";
}

/* "stages 3, 5: empty" */
static void judge_warn_stages(struct judge *j, const struct judge_stages *all,
                              const char *what)
{
    char more[40] = "";
    if (all->n > JUDGE_MAX_NAMED)
        snprintf(more, sizeof more, " and %d more", all->n - JUDGE_MAX_NAMED);
    if (all->n)
        judge_warn(j, "stage%s %s%s: %s", all->n > 1 ? "s" : "", all->text,
                   more, what);
}

static void judge_stages(struct judge *j)
{
    const struct layout *l = &j->out->layout;
    struct judge_stages all = {"", 0};
    const char *texts[LAYOUT_MAX_WARNINGS];
    if (!j->out->valid || !j->out->has_layout)
        return;
    int n = layout_warnings(l, texts);
    for (int i = 0; i < n; i++)
        judge_warn(j, "%s", texts[i]);
    for (int s = 0; s < l->n_stages; s++)
        if (!*l->units[s])
            judge_add_stage(j, &all, s);
    judge_warn_stages(j, &all,
                      "empty: documented as legal, but deadlocks are reported "
                      "with virtual stages");
}

/* An m is built like the last decoder layer. */
static bool judge_has_experts(const struct layout *l, const uint8_t *moe,
                              int n_layers, int stage)
{
    struct layout_counts c = layout_stage(l, stage);
    int first = layout_first_layer(l, stage);
    bool any = c.n_mtp && moe[n_layers - 1];
    for (int i = first; i < first + c.n_layers; i++)
        any = any || moe[i];
    return any;
}

/* Layers with experts, one byte a layer; NULL where the flag does not say so
 * (*e tells why). */
static uint8_t *judge_moe_layers(struct judge *j, enum err *e,
                                 struct err_msg *why)
{
    uint8_t *moe = arena_alloc(j->arena, (size_t)j->n.layers, 1);
    const char *text = flags_text(j->f, FLAG_MOE_LAYER_FREQ);
    // the layer's number modulo -N is 0 where it is modulo N
    text += *text == '-';
    j->nomem = j->nomem || !moe;
    *e = moe ? layer_freq_expand(text, (int)j->n.layers, moe, why) : ERR_NOMEM;
    return *e == ERR_OK ? moe : NULL;
}

/* Legal, and yet worth a word: some versions hang there. */
static void judge_stages_without_experts(struct judge *j)
{
    const struct layout *l = &j->out->layout;
    struct judge_stages all = {"", 0};
    if (!j->out->valid || !j->out->has_layout || !j->n.experts || j->hybrid)
        return;
    enum err e;
    const uint8_t *moe = judge_moe_layers(j, &e, NULL);
    for (int s = 0; moe && s < l->n_stages; s++)
        if (*l->units[s] && !judge_has_experts(l, moe, (int)j->n.layers, s))
            judge_add_stage(j, &all, s);
    judge_warn_stages(j, &all,
                      j->n.mtp ? "no layer with experts: with MTP and an "
                                 "auxiliary loss core 0.14 to 0.16 hang there"
                               : "no layer with experts");
}

/* ---- experts of layers ---- */

/* A form that only Python could tell is no refusal. */
static void judge_moe_freq(struct judge *j)
{
    struct err_msg why = {""};
    enum err e;
    if (j->hybrid || !j->n.experts || judge_moe_layers(j, &e, &why) || j->nomem)
        return;
    if (e == ERR_PARSE)
        judge_warn(j, "not judged: %s", why.text);
    else
        judge_refuse(j, "%s", why.text);
}

// what decides the split is known when rules are asked
const struct judge_rule JUDGE_SPLIT[] = {
    {"vpp-flags", "arguments.py validate_args", judge_vpp_flags, NULL, NULL,
     NULL},
    {"layout-flags", "transformer_config.py __post_init__", judge_layout_flags,
     JUDGE_FLAGS(FLAG_LAYOUT), NULL, NULL},
    {"ends-flags", "transformer_config.py __post_init__, arguments.py",
     judge_ends_flags, JUDGE_FLAGS(FLAG_FIRST_LAYERS, FLAG_LAST_LAYERS), NULL,
     NULL},
    {"layout", "pipeline_parallel_layer_layout.py", judge_layout,
     JUDGE_FLAGS(FLAG_LAYOUT), NULL, NULL},
    {"split",
     "arguments.py, transformer_config.py, transformer_block.py "
     "get_num_layers_to_build",
     judge_split, NULL, NULL, NULL},
    {"vpp-ranks", "arguments.py validate_args", judge_vpp_ranks, NULL, NULL,
     NULL},
    {"layout-version", "", judge_layout_core, JUDGE_FLAGS(FLAG_LAYOUT), NULL,
     NULL},
    {.name = NULL},
};

// a pattern of a hybrid model has been read then, too
const struct judge_rule JUDGE_STAGES[] = {
    {"p2p-flush", "model_parallel_config.py __post_init__", judge_p2p_flush,
     JUDGE_FLAGS(FLAG_OVERLAP_P2P_FLUSH), NULL,
     JUDGE_FLAGS(FLAG_NO_OVERLAP_P2P)},
    {"stages", "", judge_stages, NULL, NULL, NULL},
    {"stages without experts", "", judge_stages_without_experts, NULL, NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_MOE_LAYER_FREQ)},
    {"moe-layer-freq", "gpt_layer_specs.py get_gpt_decoder_block_spec",
     judge_moe_freq, JUDGE_FLAGS(FLAG_MOE_LAYER_FREQ), NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS)},
    {.name = NULL},
};
