/*
 * How it works: rules on flags that exclude or want each other and concern the
 * pipeline, MTP or the memory of a stage. Most are one comparison; those that
 * only say "this wants that" are rows of a table.
 */
#include "rule.h"

#include <string.h>

/* ---- positions and MTP ---- */

/* The switch of old wins over the type. */
static const char *judge_position(const struct judge *j)
{
    return judge_on(j, FLAG_USE_ROTARY)
               ? "rope"
               : flags_text(j->f, FLAG_POSITION_EMBEDDING_TYPE);
}

static void judge_mtp_positions(struct judge *j)
{
    const char *type = judge_position(j);
    if (j->n.mtp && strcmp(type, "rope") != 0 && strcmp(type, "none") != 0)
        judge_refuse(
            j,
            "--mtp-num-layers wants --position-embedding-type rope "
            "or none, got '%s'%s",
            type,
            judge_on(j, FLAG_POSITION_EMBEDDING_TYPE) ? "" : ", the default");
}

/* Taken beside rope alone, where it says nothing. */
static void judge_no_positions(struct judge *j)
{
    if (strcmp(judge_position(j), "rope") != 0)
        judge_refuse(j, "--no-position-embedding is no longer taken: give "
                        "--position-embedding-type rope or none");
}

/* ---- versions ---- */

/* Flags that argparse of an older version does not know; those of EP overlap
 * and layouts are told elsewhere. */
static void judge_versions(struct judge *j)
{
    static const struct {
        enum flag_id id;
        int minor;
    } since[] = {{FLAG_STEP_BATCH_SIZE_SCHEDULE, 18},
                 {FLAG_MOE_LATENT_SIZE, 16}};
    for (size_t i = 0; i < sizeof since / sizeof since[0]; i++)
        if (judge_on(j, since[i].id) && j->minor < since[i].minor)
            judge_refuse(j,
                         "--%s: core %s has no such flag, it came with "
                         "0.%d",
                         flag_name(since[i].id), j->core->name, since[i].minor);
}

/* ---- recompute ---- */

/* --recompute-activations is selective recompute, whatever else is said. */
static void judge_recompute(struct judge *j)
{
    const char *text = judge_on(j, FLAG_RECOMPUTE_ACTIVATIONS)
                           ? "selective"
                           : flags_text(j->f, FLAG_RECOMPUTE_GRANULARITY);
    bool full = strcmp(text, "full") == 0;
    bool method = judge_on(j, FLAG_RECOMPUTE_METHOD);
    bool number = judge_on(j, FLAG_RECOMPUTE_NUM_LAYERS);
    if (full && (!method || !number))
        judge_refuse(j, "--recompute-granularity full wants %s",
                     method ? "--recompute-num-layers N"
                            : "--recompute-method uniform or block");
    else if (!full && (method || number))
        judge_refuse(j, "--recompute-granularity selective excludes %s",
                     method ? "--recompute-method" : "--recompute-num-layers");
}

/* ---- this wants, or excludes, that ---- */

/* The first flag is refused unless the second is on, or (without) off. */
static const struct judge_pair {
    enum flag_id id, other;
    bool without;
} judge_pairs[] = {
    {FLAG_BF16, FLAG_FP16, true},
    {FLAG_DEFER_EMBEDDING_WGRAD, FLAG_NO_GRAD_FUSION, true},
    {FLAG_OVERLAP_PARAM_GATHER, FLAG_OVERLAP_GRAD_REDUCE, false},
    {FLAG_TORCH_FSDP2, FLAG_DIST_OPT, true},
    {FLAG_TORCH_FSDP2, FLAG_NO_GRAD_FUSION, false},
    {FLAG_TORCH_FSDP2, FLAG_UNTIE, false},
    {FLAG_TORCH_FSDP2, FLAG_FP16, true},
    {FLAG_MOE_LATENT_SIZE, FLAG_NUM_EXPERTS, false},
    {FLAG_OPTIMIZER_OFFLOAD, FLAG_PRECISION_AWARE, false},
    {FLAG_MOE_PAD_TO_CAPACITY, FLAG_MOE_CAPACITY_FACTOR, false},
};

static void judge_wants(struct judge *j)
{
    for (size_t i = 0; i < sizeof judge_pairs / sizeof judge_pairs[0]; i++) {
        const struct judge_pair *p = &judge_pairs[i];
        if (!judge_on(j, p->id) || flags_unknown(j->f, p->other) ||
            judge_on(j, p->other) != p->without)
            continue;
        judge_refuse(j, "--%s %s --%s", flag_name(p->id),
                     p->without ? "excludes" : "wants", flag_name(p->other));
    }
}

/* ---- the pipeline ---- */

/* The gradient of the last stage's table is put off to the end of the step. */
static void judge_needs_pipeline(struct judge *j)
{
    if (judge_on(j, FLAG_DEFER_EMBEDDING_WGRAD) && j->n.pp == 1)
        judge_refuse(j, "--defer-embedding-wgrad-compute wants "
                        "--pipeline-model-parallel-size 2 or more");
}

static void judge_no_pipeline(struct judge *j)
{
    if (judge_on(j, FLAG_TORCH_FSDP2) && j->n.pp > 1)
        judge_refuse(j,
                     "--use-torch-fsdp2 wants "
                     "--pipeline-model-parallel-size 1, got %lld",
                     (long long)j->n.pp);
    if (flags_int(j->f, FLAG_CPU_OFFLOAD_LAYERS, 0) > 0 && j->n.pp > 1)
        judge_refuse(j,
                     "--cpu-offloading-num-layers wants "
                     "--pipeline-model-parallel-size 1, got %lld",
                     (long long)j->n.pp);
}

static void judge_fsdp_experts(struct judge *j)
{
    if (j->n.ep > 1)
        judge_refuse(j,
                     "--use-torch-fsdp2 wants "
                     "--expert-model-parallel-size 1, got %lld",
                     (long long)j->n.ep);
}

static void judge_param_gather(struct judge *j)
{
    if (!judge_on(j, FLAG_DIST_OPT) && !judge_on(j, FLAG_MEGATRON_FSDP))
        judge_refuse(j, "--overlap-param-gather wants "
                        "--use-distributed-optimizer or --use-megatron-fsdp");
}

#define JUDGE_ARGUMENTS "arguments.py validate_args"

const struct judge_rule JUDGE_REST[] = {
    {"positions of MTP", JUDGE_ARGUMENTS, judge_mtp_positions,
     JUDGE_FLAGS(FLAG_MTP_NUM_LAYERS), NULL,
     JUDGE_FLAGS(FLAG_POSITION_EMBEDDING_TYPE, FLAG_USE_ROTARY)},
    {"no positions", JUDGE_ARGUMENTS, judge_no_positions,
     JUDGE_FLAGS(FLAG_NO_POSITION_EMBEDDING), NULL,
     JUDGE_FLAGS(FLAG_POSITION_EMBEDDING_TYPE, FLAG_USE_ROTARY)},
    {"flags of later versions", "arguments.py", judge_versions, NULL, NULL,
     NULL},
    {"recompute", "transformer_config.py __post_init__", judge_recompute,
     JUDGE_FLAGS(FLAG_RECOMPUTE_GRANULARITY, FLAG_RECOMPUTE_ACTIVATIONS), NULL,
     JUDGE_FLAGS(FLAG_RECOMPUTE_GRANULARITY, FLAG_RECOMPUTE_ACTIVATIONS,
                 FLAG_RECOMPUTE_METHOD, FLAG_RECOMPUTE_NUM_LAYERS)},
    {"flags together", "arguments.py, transformer_config.py", judge_wants, NULL,
     NULL, NULL},
    {"pipeline", "model_parallel_config.py __post_init__", judge_needs_pipeline,
     NULL, NULL, NULL},
    {"no pipeline", "arguments.py, transformer_config.py", judge_no_pipeline,
     NULL, NULL, NULL},
    {"FSDP of experts", JUDGE_ARGUMENTS, judge_fsdp_experts,
     JUDGE_FLAGS(FLAG_TORCH_FSDP2), NULL, JUDGE_FLAGS(FLAG_EP)},
    {"parameter gather", JUDGE_ARGUMENTS, judge_param_gather,
     JUDGE_FLAGS(FLAG_OVERLAP_PARAM_GATHER), NULL,
     JUDGE_FLAGS(FLAG_DIST_OPT, FLAG_MEGATRON_FSDP)},
    {.name = NULL},
};
