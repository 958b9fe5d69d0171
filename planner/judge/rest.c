/*
 * How it works: rules on flags that exclude or want each other and concern the
 * pipeline, MTP or the memory of a stage. Most are one comparison; those that
 * only say "this wants that" are rows of a table.
 */
#include "rule.h"

#include <string.h>

/* ---- positions and MTP ---- */

const char *judge_position(const struct judge *j)
{
    return judge_on(j, FLAG_USE_ROTARY)
               ? "rope"
               : flags_text(j->f, FLAG_POSITION_EMBEDDING_TYPE);
}

static void judge_mtp_positions(struct judge *j)
{
    const char *type = judge_position(j);
    // a pattern has asked already
    if (!j->hybrid && j->n.mtp && strcmp(type, "rope") != 0 &&
        strcmp(type, "none") != 0)
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

/* ---- the router ---- */

/* Softmax over the one expert that was chosen is 1 and has no gradient. A model
 * file or config says nothing of the router's softmax. */
static void judge_topk_one(struct judge *j)
{
    static const char text[] = "--moe-router-topk 1 wants "
                               "--moe-router-pre-softmax, or "
                               "--moe-router-score-function sigmoid";
    if (judge_int(j, FLAG_MOE_ROUTER_TOPK, 2) != 1 ||
        !flags_is(j->f, FLAG_ROUTER_SCORE, "softmax") ||
        judge_on(j, FLAG_ROUTER_PRE_SOFTMAX) ||
        flags_is(j->f, FLAG_ROUTER_BALANCING, "sinkhorn"))
        return;
    if (j->launch)
        judge_refuse(j, "%s", text);
    else
        judge_warn(j, "%s", text);
}

/* The correction bias is added to scores of experts that stand each for
 * itself. */
static void judge_expert_bias(struct judge *j)
{
    const char *text = flags_text(j->f, FLAG_ROUTER_SCORE);
    if (strcmp(text, "sigmoid") == 0 ||
        (j->minor >= 18 && strcmp(text, "sqrtsoftplus") == 0))
        return;
    if (j->launch)
        judge_refuse(j,
                     "--moe-router-enable-expert-bias wants "
                     "--moe-router-score-function sigmoid, got '%s'",
                     text);
}

/* A factor below 0 is none. */
static void judge_capacity(struct judge *j)
{
    bool given = judge_on(j, FLAG_MOE_CAPACITY_FACTOR);
    if (given && judge_has_word(j, FLAG_ROUTER_BALANCING, "sinkhorn"))
        judge_refuse(j, "--moe-expert-capacity-factor excludes "
                        "--moe-router-load-balancing-type sinkhorn");
    if (judge_on(j, FLAG_MOE_PAD_TO_CAPACITY) &&
        (!given || flags_real(j->f, FLAG_MOE_CAPACITY_FACTOR, 0) < 0))
        judge_refuse(j, "--moe-pad-expert-input-to-capacity wants "
                        "--moe-expert-capacity-factor of 0 or more");
}

/* ---- the pipeline ---- */

/* The gradient of the last stage's table is put off to the end of the step. */
static void judge_needs_pipeline(struct judge *j)
{
    if (judge_on(j, FLAG_DEFER_EMBEDDING_WGRAD) && j->n.pp == 1)
        judge_refuse(j, "--defer-embedding-wgrad-compute wants "
                        "--pipeline-model-parallel-size 2 or more");
}

/* Both are made for ranks that have all layers. */
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

/* Its shards have a format of checkpoints of their own. */
static void judge_fsdp_checkpoint(struct judge *j)
{
    if (j->minor >= 14 && j->launch &&
        !flags_is(j->f, FLAG_CKPT_FORMAT, "fsdp_dtensor"))
        judge_refuse(j, "--use-megatron-fsdp wants --ckpt-format "
                        "fsdp_dtensor");
}

static void judge_param_gather(struct judge *j)
{
    if (!judge_on(j, FLAG_DIST_OPT) && !judge_on(j, FLAG_MEGATRON_FSDP))
        judge_refuse(j, "--overlap-param-gather wants "
                        "--use-distributed-optimizer or --use-megatron-fsdp");
}

/* With one rank of a layer Megatron turns sequence parallelism off itself. */
static void judge_tp_overlap(struct judge *j)
{
    if (!judge_on(j, FLAG_SEQUENCE_PARALLEL))
        judge_refuse(j, "--tp-comm-overlap wants --sequence-parallel");
    else if (j->n.tp == 1)
        judge_refuse(j, "--tp-comm-overlap wants "
                        "--tensor-model-parallel-size 2 or more");
}

/* An iteration must have one size where a run's length is counted in them; 0.18
 * has no such check. */
static void judge_rampup_iters(struct judge *j)
{
    if (j->minor < 18 && strcmp(flags_text(j->f, FLAG_TRAIN_ITERS), "0") != 0)
        judge_refuse(j, "--rampup-batch-size excludes --train-iters: give "
                        "--train-samples");
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
    {"one expert a token", "transformer_config.py __post_init__",
     judge_topk_one, JUDGE_FLAGS(FLAG_MOE_ROUTER_TOPK), NULL,
     JUDGE_FLAGS(FLAG_MOE_ROUTER_TOPK, FLAG_ROUTER_SCORE,
                 FLAG_ROUTER_PRE_SOFTMAX, FLAG_ROUTER_BALANCING)},
    {"bias of the router", "transformer_config.py __post_init__",
     judge_expert_bias, JUDGE_FLAGS(FLAG_MOE_EXPERT_BIAS), NULL,
     JUDGE_FLAGS(FLAG_ROUTER_SCORE)},
    {"FSDP checkpoints", JUDGE_ARGUMENTS, judge_fsdp_checkpoint,
     JUDGE_FLAGS(FLAG_MEGATRON_FSDP), NULL, JUDGE_FLAGS(FLAG_CKPT_FORMAT)},
    {"capacity of experts", "transformer_config.py __post_init__",
     judge_capacity,
     JUDGE_FLAGS(FLAG_MOE_CAPACITY_FACTOR, FLAG_MOE_PAD_TO_CAPACITY), NULL,
     JUDGE_FLAGS(FLAG_MOE_CAPACITY_FACTOR, FLAG_MOE_PAD_TO_CAPACITY,
                 FLAG_ROUTER_BALANCING)},
    {"overlap of tensor parallelism", JUDGE_ARGUMENTS, judge_tp_overlap,
     JUDGE_FLAGS(FLAG_TP_COMM_OVERLAP), NULL,
     JUDGE_FLAGS(FLAG_TP, FLAG_SEQUENCE_PARALLEL)},
    {"ramp-up by samples", JUDGE_ARGUMENTS, judge_rampup_iters,
     JUDGE_FLAGS(FLAG_RAMPUP_BATCH_SIZE), JUDGE_FLAGS(FLAG_TRAIN_ITERS), NULL},
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
