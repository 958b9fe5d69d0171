/*
 * How it works: the rules of EP overlap
 * (--overlap-moe-expert-parallel-comm) and of the flags that want it or exclude
 * it. All are switches and words of the configuration; a rule that a version
 * does not have yet, or no longer, says so.
 */
#include "rule.h"

#include "model/layer_freq.h"

#include <string.h>

#define JUDGE_EP_OVERLAP "--overlap-moe-expert-parallel-comm"

/* The version is older than the switch: argparse does not know it. */
static bool judge_is_older(struct judge *j, int minor, enum flag_id id)
{
    if (j->minor >= minor)
        return false;
    judge_refuse(j, "--%s: core %s has no such flag, it came with 0.%d",
                 flag_name(id), j->core->name, minor);
    return true;
}

static void judge_overlap_version(struct judge *j)
{
    judge_is_older(j, 14, FLAG_OVERLAP_MOE_COMM);
}

/* The combined order of work exists for the interleaved schedule only. */
static void judge_overlap_vpp(struct judge *j)
{
    if (j->n.pp > 1 && j->n.vpp == 1)
        judge_refuse(j,
                     JUDGE_EP_OVERLAP
                     " with --pipeline-model-parallel-size "
                     "%lld wants virtual stages: give "
                     "--num-virtual-stages-per-pipeline-rank 2 or more, or "
                     "a layout of more stages",
                     (long long)j->n.pp);
}

/* Without expert parallelism there is no all-to-all to hide. */
static void judge_overlap_ep(struct judge *j)
{
    if (j->n.ep < 2)
        judge_refuse(j,
                     JUDGE_EP_OVERLAP " wants "
                                      "--expert-model-parallel-size 2 or more");
}

static void judge_overlap_dispatcher(struct judge *j)
{
    if (!flags_is(j->f, FLAG_MOE_DISPATCHER, "alltoall") &&
        !flags_is(j->f, FLAG_MOE_DISPATCHER, "flex"))
        judge_refuse(j,
                     JUDGE_EP_OVERLAP " wants --moe-token-dispatcher-type "
                                      "alltoall or flex, got '%s'%s",
                     flags_text(j->f, FLAG_MOE_DISPATCHER),
                     judge_on(j, FLAG_MOE_DISPATCHER) ? "" : ", the default");
}

/* --recompute-activations is selective recompute, which is fine. */
static void judge_overlap_recompute(struct judge *j)
{
    bool full = flags_is(j->f, FLAG_RECOMPUTE_GRANULARITY, "full") &&
                !judge_on(j, FLAG_RECOMPUTE_ACTIVATIONS);
    const char *bad =
        full                                 ? "--recompute-granularity full"
        : judge_on(j, FLAG_RECOMPUTE_METHOD) ? "--recompute-method"
        : judge_on(j, FLAG_RECOMPUTE_NUM_LAYERS) ? "--recompute-num-layers"
                                                 : NULL;
    if (bad)
        judge_refuse(j,
                     JUDGE_EP_OVERLAP " excludes %s: selective recompute of "
                                      "modules is accepted",
                     bad);
    else if (j->minor >= 17 && judge_has_word(j, FLAG_RECOMPUTE_MODULES, "moe"))
        judge_refuse(j, JUDGE_EP_OVERLAP
                     " excludes moe in "
                     "--recompute-modules: others are accepted");
}

static void judge_overlap_precision(struct judge *j)
{
    if (!judge_on(j, FLAG_BF16) && !judge_on(j, FLAG_FP16))
        judge_refuse(j, JUDGE_EP_OVERLAP " wants --bf16 or --fp16");
}

/* Shared experts run before the dispatch here, not beside it. */
static void judge_overlap_shared(struct judge *j)
{
    if (judge_on(j, FLAG_SHARED_OVERLAP))
        judge_refuse(j,
                     JUDGE_EP_OVERLAP " excludes --moe-shared-expert-overlap");
}

/* Up to 0.18 a stated 0 is refused, too; 0.16 and 0.17 want a pipeline. */
static void judge_overlap_mtp(struct judge *j)
{
    bool zero = !j->n.mtp && judge_on(j, FLAG_MTP_NUM_LAYERS) && j->minor < 19;
    bool piped = j->minor == 16 || j->minor == 17;
    if (j->n.mtp > 1)
        judge_refuse(j,
                     JUDGE_EP_OVERLAP " takes one MTP layer at most, got "
                                      "--mtp-num-layers %lld",
                     (long long)j->n.mtp);
    else if (zero)
        judge_refuse(j, JUDGE_EP_OVERLAP ": --mtp-num-layers 0 is refused "
                                         "before core 0.19: leave it out");
    else if (j->n.mtp && piped && j->n.pp == 1)
        judge_refuse(j, JUDGE_EP_OVERLAP
                     " with --mtp-num-layers wants "
                     "--pipeline-model-parallel-size 2 or more in core "
                     "0.16 and 0.17");
}

/* The MTP layer is built like the last decoder layer. */
static void judge_overlap_mtp_moe(struct judge *j)
{
    uint8_t *moe = arena_alloc(j->arena, (size_t)j->n.layers, 1);
    j->nomem = j->nomem || !moe;
    if (!moe || !j->n.mtp || !j->n.experts ||
        layer_freq_expand(flags_text(j->f, FLAG_MOE_LAYER_FREQ),
                          (int)j->n.layers, moe, NULL) != ERR_OK)
        return;
    if (!moe[j->n.layers - 1])
        judge_refuse(j, JUDGE_EP_OVERLAP
                     " wants an MTP layer with experts: "
                     "it is built like the last decoder layer, which "
                     "--moe-layer-freq makes dense");
}

/* Before 0.18 only Transformer Engine's graphs are taken. */
static void judge_overlap_graphs(struct judge *j)
{
    bool engine = flags_is(j->f, FLAG_CUDA_GRAPH_IMPL, "transformer_engine");
    bool none = !judge_on(j, FLAG_CUDA_GRAPH_IMPL) ||
                flags_is(j->f, FLAG_CUDA_GRAPH_IMPL, "none");
    if (none)
        return;
    if (!engine && j->minor == 16)
        judge_refuse(j, JUDGE_EP_OVERLAP " wants --cuda-graph-impl "
                                         "transformer_engine, or none");
    else if (engine && (judge_has_word(j, FLAG_CUDA_GRAPH_MODULES, "moe") ||
                        judge_has_word(j, FLAG_CUDA_GRAPH_MODULES, "mlp")))
        judge_refuse(j, JUDGE_EP_OVERLAP
                     " excludes moe and mlp in "
                     "--cuda-graph-modules: attn and moe_router are "
                     "accepted");
}

/* Raised when the step starts. */
static void judge_overlap_fsdp(struct judge *j)
{
    if (j->n.vpp > 1)
        judge_refuse(j, JUDGE_EP_OVERLAP " with --use-megatron-fsdp excludes "
                                         "virtual stages: want "
                                         "--pipeline-model-parallel-size 1");
}

/* ---- flags beside it ---- */

/* Weight gradients are put off to where the combined order has room. */
static void judge_delay_wgrad(struct judge *j)
{
    if (judge_is_older(j, 13, FLAG_DELAY_WGRAD))
        return;
    if (j->minor >= 14 && !judge_on(j, FLAG_OVERLAP_MOE_COMM))
        judge_refuse(j, "--delay-wgrad-compute wants " JUDGE_EP_OVERLAP);
    else if (!flags_is(j->f, FLAG_TRANSFORMER_IMPL, "transformer_engine"))
        judge_refuse(j, "--delay-wgrad-compute wants --transformer-impl "
                        "transformer_engine");
}

static void judge_early_release(struct judge *j)
{
    if (judge_is_older(j, 16, FLAG_EARLY_ATTN_RELEASE))
        return;
    if (!judge_on(j, FLAG_OVERLAP_MOE_COMM))
        judge_refuse(j, "--ep-overlap-early-attn-memory-release "
                        "wants " JUDGE_EP_OVERLAP);
}

/* It is another way to hide the same communication. */
static void judge_dispatch_wgrad(struct judge *j)
{
    if (judge_is_older(j, 18, FLAG_DISPATCH_WGRAD))
        return;
    if (judge_on(j, FLAG_OVERLAP_MOE_COMM) || judge_on(j, FLAG_DELAY_WGRAD))
        judge_refuse(j,
                     "--overlap-dispatch-backward-with-experts-wgrad "
                     "excludes " JUDGE_EP_OVERLAP " and --delay-wgrad-compute");
}

/* ---- what users get hurt by ---- */

static bool judge_has_odd_chunk(const struct layout *l)
{
    for (int s = 0; s < l->n_stages; s++)
        if (layout_stage(l, s).n_layers % 2)
            return true;
    return false;
}

// open reports against Megatron-LM, not facts of its code
static void judge_overlap_reports(struct judge *j)
{
    if (!j->out->valid)
        return;
    if (j->out->has_layout && judge_has_odd_chunk(&j->out->layout))
        judge_warn(j, JUDGE_EP_OVERLAP ": a chunk has an odd number of layers: "
                                       "hangs are reported");
    if (j->n.mtp)
        judge_warn(j, JUDGE_EP_OVERLAP ": with an m hangs are reported");
    judge_warn(j, JUDGE_EP_OVERLAP ": Megatron prints no backward-compute "
                                   "timer: profile without it");
}

#define JUDGE_CONFIG "transformer_config.py __post_init__"
#define JUDGE_OVERLAP_ROW(name, ask, ...)                                      \
    {                                                                          \
        name, JUDGE_CONFIG, ask, JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM), NULL,     \
            JUDGE_FLAGS(__VA_ARGS__)                                           \
    }

const struct judge_rule JUDGE_OVERLAP[] = {
    JUDGE_OVERLAP_ROW("EP overlap: version", judge_overlap_version,
                      FLAG_OVERLAP_MOE_COMM),
    JUDGE_OVERLAP_ROW("EP overlap: virtual stages", judge_overlap_vpp, FLAG_PP),
    JUDGE_OVERLAP_ROW("EP overlap: expert parallelism", judge_overlap_ep,
                      FLAG_EP),
    JUDGE_OVERLAP_ROW("EP overlap: dispatcher", judge_overlap_dispatcher,
                      FLAG_MOE_DISPATCHER),
    JUDGE_OVERLAP_ROW("EP overlap: recompute", judge_overlap_recompute,
                      FLAG_RECOMPUTE_GRANULARITY, FLAG_RECOMPUTE_METHOD,
                      FLAG_RECOMPUTE_NUM_LAYERS, FLAG_RECOMPUTE_MODULES,
                      FLAG_RECOMPUTE_ACTIVATIONS),
    JUDGE_OVERLAP_ROW("EP overlap: precision", judge_overlap_precision,
                      FLAG_BF16, FLAG_FP16),
    JUDGE_OVERLAP_ROW("EP overlap: shared experts", judge_overlap_shared,
                      FLAG_SHARED_OVERLAP),
    JUDGE_OVERLAP_ROW("EP overlap: MTP", judge_overlap_mtp, FLAG_PP,
                      FLAG_MTP_NUM_LAYERS),
    JUDGE_OVERLAP_ROW("EP overlap: CUDA graphs", judge_overlap_graphs,
                      FLAG_CUDA_GRAPH_IMPL, FLAG_CUDA_GRAPH_MODULES),
    {"EP overlap: MTP layer", "fine_grained_callables.py",
     judge_overlap_mtp_moe, JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM), NULL,
     JUDGE_FLAGS(FLAG_MTP_NUM_LAYERS, FLAG_NUM_EXPERTS, FLAG_MOE_LAYER_FREQ)},
    {"EP overlap: FSDP", "combined_1f1b.py", judge_overlap_fsdp,
     JUDGE_FLAGS(FLAG_MEGATRON_FSDP), JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM), NULL},
    {"EP overlap: reports", "", judge_overlap_reports,
     JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM), NULL, NULL},
    {.name = NULL},
};

const struct judge_rule JUDGE_BESIDE[] = {
    {"delayed weight gradients", JUDGE_CONFIG, judge_delay_wgrad,
     JUDGE_FLAGS(FLAG_DELAY_WGRAD), NULL,
     JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM, FLAG_TRANSFORMER_IMPL)},
    {"early attention release", JUDGE_CONFIG, judge_early_release,
     JUDGE_FLAGS(FLAG_EARLY_ATTN_RELEASE), NULL,
     JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM)},
    {"dispatch beside weight gradients", JUDGE_CONFIG, judge_dispatch_wgrad,
     JUDGE_FLAGS(FLAG_DISPATCH_WGRAD), NULL,
     JUDGE_FLAGS(FLAG_OVERLAP_MOE_COMM, FLAG_DELAY_WGRAD)},
    {.name = NULL},
};
