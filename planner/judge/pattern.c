/*
 * How it works: the rules on a hybrid pattern, which is the split of its model.
 * The pattern room makes Megatron's checks in its order; here the flags' slots
 * become its question and its answer a refusal, with Megatron's own place for
 * each. Layers, MTP depths and virtual stages follow from the pattern: rules
 * behind this one read them as those of a GPT model.
 */
#include "rule.h"

#include "megatron/hybrid.h"

#include <string.h>

/* A rule whose name and place are known only when it is asked. */
static void judge_refuse_as(struct judge *j, const char *name,
                            const char *source, const char *text)
{
    struct judge_rule *rule = arena_alloc(j->arena, 1, sizeof *rule);
    const struct judge_rule *asked = j->rule;
    if (!rule) {
        j->nomem = true;
        return;
    }
    *rule = (struct judge_rule){.name = name, .source = source};
    j->rule = rule;
    judge_refuse_text(j, arena_strdup(j->arena, text));
    j->rule = asked;
}

/* Values that the question points to. */
struct judge_pattern_values {
    int layers, first, last;
};

/* The value where it is given. */
static const int *judge_pattern_int(const struct judge *j, enum flag_id id,
                                    int *value)
{
    if (!judge_on(j, id))
        return NULL;
    *value = (int)flags_int(j->f, id, 0);
    return value;
}

/* Of one flag: NULL where it is not given. */
static const char *judge_pattern_text(const struct judge *j, enum flag_id id)
{
    return judge_on(j, id) ? flags_text(j->f, id) : NULL;
}

static struct pattern_flags judge_pattern_flags(const struct judge *j,
                                                struct judge_pattern_values *v)
{
    return (struct pattern_flags){
        .pattern = judge_pattern_text(j, FLAG_HYBRID_LAYER_PATTERN),
        .override = judge_pattern_text(j, FLAG_HYBRID_OVERRIDE_PATTERN),
        .mtp_override = judge_pattern_text(j, FLAG_MTP_HYBRID_PATTERN),
        .pp = (int)j->n.pp,
        .mtp_num_layers = (int)j->n.mtp,
        .num_layers = judge_pattern_int(j, FLAG_NUM_LAYERS, &v->layers),
        .first = judge_pattern_int(j, FLAG_FIRST_LAYERS, &v->first),
        .last = judge_pattern_int(j, FLAG_LAST_LAYERS, &v->last),
        .layers_per_virtual = judge_on(j, FLAG_LAYERS_PER_VPP),
        // before 0.17 one virtual stage is none
        .virtual_stages = j->core->has_pattern ? judge_on(j, FLAG_VPP)
                                               : judge_int(j, FLAG_VPP, 1) > 1,
        .layout = judge_on(j, FLAG_LAYOUT),
        .account_embedding = judge_on(j, FLAG_ACCOUNT_EMBEDDING),
        .account_loss = judge_on(j, FLAG_ACCOUNT_LOSS),
        .no_overlap_p2p = judge_on(j, FLAG_NO_OVERLAP_P2P),
        .positions = flags_unknown(j->f, FLAG_POSITION_EMBEDDING_TYPE)
                         ? NULL
                         : judge_position(j)};
}

/* What the pattern makes of the sizes that other rules compare. */
static void judge_pattern_take(struct judge *j, const struct pattern_flags *f,
                               const struct pattern *p)
{
    const char *texts[PATTERN_MAX_WARNINGS];
    struct err_msg why;
    struct judge_verdict *v = j->out;
    struct pattern_flags told = *f;
    if (hybrid_is_of_ratios(j->f)) // which nobody wrote
        told.override = NULL;
    // before 0.17 nothing was overridden or deprecated
    int n =
        j->core->has_pattern ? pattern_warnings(j->arena, &told, p, texts) : 0;
    v->pattern = p;
    j->n.layers = p->n_layers;
    j->n.mtp = p->n_depths;
    j->n.vpp = p->vpp;
    for (int i = 0; i < n; i++)
        judge_warn(j, "%s", texts[i] ? texts[i] : "");
    if (!p->covers) {
        judge_refuse_as(j, "not_covering",
                        "select_pipeline_segment, which accepts it",
                        "the segments do not add up to the pattern: layers are "
                        "built twice or left out, which Megatron does not "
                        "check: write bars in place of "
                        "--decoder-first/last-pipeline-num-layers");
        return;
    }
    v->has_layout = pattern_layout(j->arena, p, &v->layout, &why) == ERR_OK;
    j->nomem = j->nomem || !v->has_layout;
}

static void judge_pattern(struct judge *j)
{
    struct judge_pattern_values values;
    struct judge_verdict *v = j->out;
    struct err_msg why = {""};
    struct pattern_flags f = judge_pattern_flags(j, &values);
    struct pattern *p = arena_alloc(j->arena, 1, sizeof *p);
    v->text = f.pattern ? f.pattern : f.override;
    if (!p) {
        j->nomem = true;
        return;
    }
    v->pattern_error = pattern_read_by(j->arena, j->core, &f, p, &why);
    if (v->pattern_error == PATTERN_OK)
        judge_pattern_take(j, &f, p);
    else if (v->pattern_error == PATTERN_NO_MEMORY)
        j->nomem = true;
    else
        judge_refuse_as(j, pattern_error_id(v->pattern_error),
                        pattern_error_source(v->pattern_error), why.text);
}

/* No plan of a chunk's schedule: found when the first step starts. */
static void judge_pattern_overlap(struct judge *j)
{
    judge_refuse(j, "--overlap-moe-expert-parallel-comm is there for GPT "
                    "models only: leave it out with a hybrid pattern");
}

/* Later releases have no such flags: their command line ends with an error,
 * while config classes still take the ratios. */
static void judge_pattern_ratios(struct judge *j)
{
    struct err_msg why = {""};
    if (j->core->has_pattern && hybrid_is_of_ratios(j->f))
        judge_warn(
            j,
            "the command line of core %s has no --hybrid-attention-ratio "
            "and --hybrid-mlp-ratio: write --hybrid-layer-pattern",
            j->core->name);
    if (j->core->has_pattern)
        return;
    const enum err e = hybrid_check_ratios(j->f, &why);
    j->nomem = j->nomem || e == ERR_NOMEM;
    if (e == ERR_RANGE)
        judge_refuse_text(j, arena_strdup(j->arena, why.text));
}

const struct judge_rule JUDGE_PATTERN[] = {
    {"pattern: ratios", "mamba_hybrid_layer_allocation.py allocate_layers",
     judge_pattern_ratios,
     JUDGE_FLAGS(FLAG_HYBRID_ATTENTION_RATIO, FLAG_HYBRID_MLP_RATIO),
     JUDGE_FLAGS(FLAG_HYBRID_OVERRIDE_PATTERN), NULL},
    {"pattern", "", judge_pattern,
     JUDGE_FLAGS(FLAG_HYBRID_LAYER_PATTERN, FLAG_HYBRID_OVERRIDE_PATTERN), NULL,
     NULL},
    {"EP overlap: hybrid model", "pretrain_hybrid.py forward_step",
     judge_pattern_overlap, JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM), NULL, NULL},
    {.name = NULL},
};
