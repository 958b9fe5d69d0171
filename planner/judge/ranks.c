/*
 * How it works: the rules on sizes of parallel groups: the ranks that the
 * launcher starts, and parts of the model that groups share. Each compares two
 * numbers, and a refusal names the next ones that would work.
 */
#include "rule.h"

#include "megatron/model.h"

#include <string.h>

/* ---- ranks ---- */

/* The launcher starts ranks; a replica of the model takes TP x CP x PP. */
static void judge_world(struct judge *j)
{
    int64_t one = j->n.tp * j->n.cp * j->n.pp;
    if (j->n.world % one)
        judge_refuse(j,
                     "world size: %lld ranks are no multiple of TP %lld x "
                     "CP %lld x PP %lld = %lld: want %s ranks",
                     (long long)j->n.world, (long long)j->n.tp,
                     (long long)j->n.cp, (long long)j->n.pp, (long long)one,
                     judge_multiples(j, j->n.world, one));
}

/* Experts have groups of their own over the same ranks; where they are as large
 * as the others, all is said. */
static void judge_expert_world(struct judge *j)
{
    int64_t one = j->n.etp * j->n.ep * j->n.pp;
    if (j->n.world % one && one != j->n.tp * j->n.cp * j->n.pp)
        judge_refuse(j,
                     "world size: %lld ranks are no multiple of "
                     "--expert-tensor-parallel-size %lld x "
                     "--expert-model-parallel-size %lld x PP %lld = %lld: "
                     "want %s ranks",
                     (long long)j->n.world, (long long)j->n.etp,
                     (long long)j->n.ep, (long long)j->n.pp, (long long)one,
                     judge_multiples(j, j->n.world, one));
}

/* Replicas of the experts; 0 where the world is not known or not divided. */
static int64_t judge_expert_dp(const struct judge *j)
{
    int64_t one = j->n.etp * j->n.ep * j->n.pp;
    return j->n.world % one ? 0 : j->n.world / one;
}

/* Groups of the pipeline are the same for both kinds of layers only if the
 * pipeline is the outermost dimension, or the replicas are as many. */
static void judge_dp_last(struct judge *j)
{
    if (j->n.pp > 1 && j->n.dp && judge_expert_dp(j) &&
        j->n.dp != judge_expert_dp(j))
        judge_refuse(j,
                     "--use-tp-pp-dp-mapping: %lld replicas of the dense "
                     "layers and %lld of the experts, want as many: TP x CP "
                     "as large as ETP x EP",
                     (long long)j->n.dp, (long long)judge_expert_dp(j));
}

/* Each instance shards its state over as many replicas as the others. */
static void judge_instances(struct judge *j)
{
    int64_t n = judge_int(j, FLAG_DIST_OPT_INSTANCES, 1);
    int64_t dense = j->n.dp * j->n.cp, experts = judge_expert_dp(j);
    if (dense % n || experts % n)
        judge_refuse(j,
                     "--num-distributed-optimizer-instances %lld does not "
                     "divide the %lld replicas of %s",
                     (long long)n, (long long)(dense % n ? dense : experts),
                     dense % n ? "the model (DP x CP)" : "the experts");
}

/* ---- attention ---- */

/* Every tensor-parallel rank has whole heads. */
static void judge_heads(struct judge *j)
{
    int64_t heads = judge_int(j, FLAG_NUM_ATTENTION_HEADS, j->n.tp);
    if (heads % j->n.tp)
        judge_refuse(j,
                     "--num-attention-heads %lld is no multiple of "
                     "--tensor-model-parallel-size %lld: want %s heads",
                     (long long)heads, (long long)j->n.tp,
                     judge_multiples(j, heads, j->n.tp));
}

/* Fewer groups than ranks are copied, so they need only divide. */
static void judge_groups(struct judge *j)
{
    int64_t groups = judge_int(j, FLAG_NUM_QUERY_GROUPS, 1);
    int64_t heads = judge_int(j, FLAG_NUM_ATTENTION_HEADS, groups);
    if (groups % j->n.tp && j->n.tp % groups)
        judge_refuse(j,
                     "--num-query-groups %lld is neither a multiple nor a "
                     "divisor of --tensor-model-parallel-size %lld: want %s",
                     (long long)groups, (long long)j->n.tp,
                     judge_multiples(j, groups, j->n.tp));
    else if (heads % groups)
        judge_refuse(j,
                     "--num-attention-heads %lld is no multiple of "
                     "--num-query-groups %lld: want %s heads",
                     (long long)heads, (long long)groups,
                     judge_multiples(j, heads, groups));
}

/* Asked of latent attention, too, which has no use for it. */
static void judge_kv_channels(struct judge *j)
{
    int64_t heads = judge_int(j, FLAG_NUM_ATTENTION_HEADS, 1);
    int64_t hidden = judge_int(j, FLAG_HIDDEN_SIZE, heads);
    if (!judge_on(j, FLAG_KV_CHANNELS) && hidden % heads)
        judge_refuse(j,
                     "--hidden-size %lld is no multiple of "
                     "--num-attention-heads %lld: want %s, or give "
                     "--kv-channels",
                     (long long)hidden, (long long)heads,
                     judge_multiples(j, hidden, heads));
}

static void judge_mla(struct judge *j)
{
    if (judge_on(j, FLAG_GROUP_QUERY_ATTENTION))
        judge_refuse(j, "--multi-latent-attention excludes "
                        "--group-query-attention");
}

/* ---- experts ---- */

/* Every expert-parallel rank has whole experts, and as many as the others. */
static void judge_experts(struct judge *j)
{
    if (j->n.ep > 1 && !j->n.experts)
        judge_refuse(j,
                     "--expert-model-parallel-size %lld: the model has no "
                     "experts: give --num-experts, or 1",
                     (long long)j->n.ep);
    else if (j->n.experts % j->n.ep)
        judge_refuse(j,
                     "--num-experts %lld is no multiple of "
                     "--expert-model-parallel-size %lld: want %s experts",
                     (long long)j->n.experts, (long long)j->n.ep,
                     judge_multiples(j, j->n.experts, j->n.ep));
}

/* Are some layers dense by --moe-layer-freq: [0]*3+[1]*58, or every second? */
static bool judge_is_mixed(const struct judge *j)
{
    const char *freq = flags_text(j->f, FLAG_MOE_LAYER_FREQ);
    if (!freq)
        return false;
    if (!strchr(freq, '['))
        return strcmp(freq, "1") != 0;
    return strstr(freq, "[0") || strstr(freq, ",0") || strstr(freq, ", 0");
}

/* Later versions take it for the dense layers of a mixed model. */
static void judge_moe_width(struct judge *j)
{
    bool taken = j->minor < 13 || (j->minor >= 18 && judge_is_mixed(j));
    if (!j->n.experts && !taken)
        judge_refuse(j, "--moe-ffn-hidden-size without --num-experts: give "
                        "the experts, or leave it out");
}

static void judge_topk(struct judge *j)
{
    int64_t topk = judge_int(j, FLAG_MOE_ROUTER_TOPK, 1);
    if (j->n.experts && topk > j->n.experts)
        judge_refuse(j,
                     "--moe-router-topk %lld: want at most --num-experts "
                     "%lld",
                     (long long)topk, (long long)j->n.experts);
}

/* Without --expert-tensor-parallel-size it is TP's, which few expect. */
static void judge_etp_bias(struct judge *j)
{
    if (j->n.experts && j->minor >= 15 && j->n.etp > 1 &&
        !judge_on(j, FLAG_DISABLE_BIAS_LINEAR))
        judge_refuse(j,
                     "experts with a bias want --expert-tensor-parallel-size "
                     "1, and it is %lld (TP's where it is not given): give "
                     "--disable-bias-linear or --expert-tensor-parallel-size "
                     "1",
                     (long long)j->n.etp);
}

/* Raised in the first forward pass of training. */
static void judge_moe_tp(struct judge *j)
{
    if (j->n.experts && j->n.tp > 1 && !judge_on(j, FLAG_SEQUENCE_PARALLEL))
        judge_refuse(j,
                     "experts with --tensor-model-parallel-size %lld: "
                     "training wants --sequence-parallel",
                     (long long)j->n.tp);
}

/* ---- widths ---- */

/* A matrix is cut along this width, into equal parts. */
static void judge_width(struct judge *j, enum flag_id id, int64_t width,
                        int64_t ranks)
{
    if (width % ranks)
        judge_refuse(
            j, "--%s %lld is no multiple of --%s %lld: want %s", flag_name(id),
            (long long)width,
            flag_name(id == FLAG_MOE_FFN_HIDDEN_SIZE ? FLAG_ETP : FLAG_TP),
            (long long)ranks, judge_multiples(j, width, ranks));
}

static void judge_ffn(struct judge *j)
{
    int64_t hidden = judge_int(j, FLAG_HIDDEN_SIZE, 0);
    judge_width(
        j, FLAG_FFN_HIDDEN_SIZE,
        judge_int(j, FLAG_FFN_HIDDEN_SIZE, megatron_default_ffn(j->f, hidden)),
        j->n.tp);
}

static void judge_moe_ffn(struct judge *j)
{
    if (j->n.experts)
        judge_width(j, FLAG_MOE_FFN_HIDDEN_SIZE,
                    judge_int(j, FLAG_MOE_FFN_HIDDEN_SIZE, 0), j->n.etp);
}

static void judge_shared_ffn(struct judge *j)
{
    if (j->n.experts)
        judge_width(j, FLAG_MOE_SHARED_EXPERT,
                    judge_int(j, FLAG_MOE_SHARED_EXPERT, 0), j->n.tp);
}

/* A table that Megatron pads itself always divides. */
static void judge_vocab(struct judge *j)
{
    judge_width(j, FLAG_PADDED_VOCAB_SIZE,
                judge_int(j, FLAG_PADDED_VOCAB_SIZE, 0), j->n.tp);
}

/* ---- sequence ---- */

/* Context parallelism gives each rank a chunk from both ends. */
static void judge_sequence(struct judge *j)
{
    int64_t cp = j->n.cp;
    if (cp > 1 && j->n.seq % (2 * cp))
        judge_refuse(j,
                     "--seq-length %lld is no multiple of 2 x "
                     "--context-parallel-size %lld: want %s",
                     (long long)j->n.seq, (long long)cp,
                     judge_multiples(j, j->n.seq, 2 * cp));
    else if (judge_on(j, FLAG_SEQUENCE_PARALLEL) && j->n.tp > 1 &&
             j->n.seq % (cp * j->n.tp))
        judge_refuse(j,
                     "--sequence-parallel: --seq-length %lld is no multiple "
                     "of CP %lld x TP %lld: want %s",
                     (long long)j->n.seq, (long long)cp, (long long)j->n.tp,
                     judge_multiples(j, j->n.seq, cp * j->n.tp));
}

/* Rotary positions need no table, and Megatron asks all the same. */
static void judge_positions(struct judge *j)
{
    int64_t most = judge_int(j, FLAG_MAX_POSITION_EMBEDDINGS, j->n.seq);
    if (most < j->n.seq)
        judge_refuse(j,
                     "--max-position-embeddings %lld is less than "
                     "--seq-length %lld: want at least that",
                     (long long)most, (long long)j->n.seq);
}

// EP without ETP takes TP's size
const struct judge_rule JUDGE_RANKS[] = {
    {"world size", "arguments.py validate_args", judge_world, NULL,
     JUDGE_FLAGS(FLAG_WORLD_SIZE), JUDGE_FLAGS(FLAG_TP, FLAG_CP, FLAG_PP)},
    {"ranks of experts", "parallel_state.py initialize_model_parallel",
     judge_expert_world, NULL, JUDGE_FLAGS(FLAG_WORLD_SIZE),
     JUDGE_FLAGS(FLAG_TP, FLAG_EP, FLAG_ETP, FLAG_PP)},
    {"order of ranks", "parallel_state.py initialize_model_parallel",
     judge_dp_last, JUDGE_FLAGS(FLAG_DP_LAST), JUDGE_FLAGS(FLAG_WORLD_SIZE),
     JUDGE_FLAGS(FLAG_TP, FLAG_CP, FLAG_PP, FLAG_EP, FLAG_ETP)},
    {"optimizer instances", "parallel_state.py initialize_model_parallel",
     judge_instances, JUDGE_FLAGS(FLAG_DIST_OPT_INSTANCES),
     JUDGE_FLAGS(FLAG_WORLD_SIZE),
     JUDGE_FLAGS(FLAG_TP, FLAG_CP, FLAG_PP, FLAG_EP, FLAG_ETP)},
    {"heads", "transformer_config.py __post_init__", judge_heads, NULL,
     JUDGE_FLAGS(FLAG_NUM_ATTENTION_HEADS), JUDGE_FLAGS(FLAG_TP)},
    {"query groups", "transformer_config.py __post_init__", judge_groups,
     JUDGE_FLAGS(FLAG_GROUP_QUERY_ATTENTION),
     JUDGE_FLAGS(FLAG_NUM_QUERY_GROUPS), JUDGE_FLAGS(FLAG_TP, FLAG_MLA)},
    {"width of heads", "arguments.py validate_args", judge_kv_channels, NULL,
     JUDGE_FLAGS(FLAG_HIDDEN_SIZE, FLAG_NUM_ATTENTION_HEADS),
     JUDGE_FLAGS(FLAG_KV_CHANNELS)},
    {"latent attention", "arguments.py validate_args", judge_mla,
     JUDGE_FLAGS(FLAG_MLA), NULL, JUDGE_FLAGS(FLAG_GROUP_QUERY_ATTENTION)},
    {"experts", "arguments.py validate_args", judge_experts, NULL, NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_EP)},
    {"width of experts", "transformer_config.py __post_init__", judge_moe_width,
     JUDGE_FLAGS(FLAG_MOE_FFN_HIDDEN_SIZE), NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_MOE_LAYER_FREQ)},
    {"top-k", "moe_utils.py topk_routing_with_score_function", judge_topk, NULL,
     NULL, JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_MOE_ROUTER_TOPK)},
    {"bias of experts", "transformer_config.py __post_init__", judge_etp_bias,
     NULL, NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_TP, FLAG_ETP,
                 FLAG_DISABLE_BIAS_LINEAR)},
    {"sequence parallelism of experts", "moe_layer.py MoELayer.forward",
     judge_moe_tp, NULL, NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_TP, FLAG_SEQUENCE_PARALLEL)},
    {"width of the MLP", "tensor_parallel/layers.py divide", judge_ffn,
     JUDGE_FLAGS(FLAG_FFN_HIDDEN_SIZE, FLAG_HIDDEN_SIZE), NULL,
     JUDGE_FLAGS(FLAG_FFN_HIDDEN_SIZE, FLAG_HIDDEN_SIZE, FLAG_SWIGLU, FLAG_TP)},
    {"width of experts by rank", "tensor_parallel/layers.py divide",
     judge_moe_ffn, JUDGE_FLAGS(FLAG_MOE_FFN_HIDDEN_SIZE), NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_TP, FLAG_ETP)},
    {"width of shared experts", "tensor_parallel/layers.py divide",
     judge_shared_ffn, JUDGE_FLAGS(FLAG_MOE_SHARED_EXPERT), NULL,
     JUDGE_FLAGS(FLAG_NUM_EXPERTS, FLAG_TP)},
    {"padded vocabulary", "tensor_parallel/layers.py divide", judge_vocab,
     JUDGE_FLAGS(FLAG_PADDED_VOCAB_SIZE), NULL, JUDGE_FLAGS(FLAG_TP)},
    {"sequence", "arguments.py validate_args", judge_sequence, NULL,
     JUDGE_FLAGS(FLAG_SEQ_LENGTH),
     JUDGE_FLAGS(FLAG_CP, FLAG_TP, FLAG_SEQUENCE_PARALLEL)},
    {"positions", "arguments.py validate_args", judge_positions,
     JUDGE_FLAGS(FLAG_MAX_POSITION_EMBEDDINGS), JUDGE_FLAGS(FLAG_SEQ_LENGTH),
     NULL},
    {.name = NULL},
};
