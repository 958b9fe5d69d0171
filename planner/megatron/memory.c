/*
 * How it works: each part of memory_options is read off the flags by one
 * function; what the memory model does not know becomes a reason to refuse,
 * which its callers print. Refusing is better than a number: a plan that runs
 * out of memory costs a night.
 */
#include "memory.h"

#include "hybrid.h"

#include <string.h>

/* ---- what is not modelled ---- */

static const struct {
    enum flag_id id;
    const char *reason;
    // kinds of memory that would come on top of what is modelled or be moved
    // out of it
} refused[] = {
    {FLAG_TORCH_FSDP2, "PyTorch FSDP2 is not modelled"},
    {FLAG_CPU_OFFLOADING,
     "--cpu-offloading (Transformer Engine's, of whole layers) is not "
     "modelled"},
    {FLAG_CPU_OFFLOAD_LAYERS,
     "--cpu-offloading-num-layers (Transformer Engine's) is not modelled"},
    {FLAG_FLEXTRON, "--flextron (elastic widths) is not modelled: its masks "
                    "keep activations of their own"},
    {FLAG_PAGED_STASH,
     "--moe-paged-stash is not modelled: its buffers follow what routing "
     "brought in the first steps"},
    {FLAG_SPEC, "a layer specification of its own is not modelled"},
    {FLAG_HETEROGENEOUS_LAYERS_CONFIG_PATH,
     "heterogeneous layers are not modelled"},
    {FLAG_HETEROGENEOUS_LAYERS_CONFIG_ENCODED_JSON,
     "heterogeneous layers are not modelled"},
    {FLAG_EXPERIMENTAL_ATTENTION_VARIANT,
     "experimental attention variants are not modelled"},
    {FLAG_ATTENTION_OUTPUT_GATE, "the gate on attention's output "
                                 "(--attention-output-gate) is not modelled"},
    {FLAG_POST_LAYER_NORMS, "norms behind attention and MLP are not modelled"},
};

/* A list as a command line has it, or as Python prints it into a log. */
#define MEMORY_QUOTES "'\""

/* Is `word` one of the list's words? "mlp" must not find "moe_mlp": what is
 * before and behind it counts. */
static bool megatron_memory_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = text; p && (p = strstr(p, word)); p += len) {
        bool starts = p == text || strchr(MEMORY_QUOTES " ,[", p[-1]);
        if (starts && (p[len] == '\0' || strchr(MEMORY_QUOTES " ,]", p[len])))
            return true;
    }
    return false;
}

static bool megatron_memory_has_graphs(const struct megatron_flags *f)
{
    return flags_given(f, FLAG_CUDA_GRAPH_IMPL) &&
           !flags_is(f, FLAG_CUDA_GRAPH_IMPL, "none");
}

/* Without a list of modules Megatron captures whole layers. */
static bool graphs_everything(const struct megatron_flags *f)
{
    return flags_given(f, FLAG_ENABLE_CUDA_GRAPH) ||
           (megatron_memory_has_graphs(f) &&
            !flags_given(f, FLAG_CUDA_GRAPH_MODULES));
}

/* Megatron-FSDP in its plain form: one group of replicas, no buffers of its
 * own beyond the shards. */
static const char *fsdp_refusal(const struct megatron_flags *f)
{
    if (!flags_given(f, FLAG_MEGATRON_FSDP))
        return NULL;
    if (flags_int(f, FLAG_FSDP_VERSION, 1) != 1)
        return "--megatron-fsdp-version 2 is not modelled";
    if (flags_int(f, FLAG_DIST_OPT_INSTANCES, 1) > 1)
        return "Megatron FSDP over several optimiser instances (hybrid "
               "sharding) is not modelled";
    if (flags_given(f, FLAG_FSDP_DOUBLE_BUFFER) ||
        flags_given(f, FLAG_FSDP_NCCL_UB))
        return "Megatron FSDP's double buffers (--fsdp-double-buffer, "
               "--use-nccl-ub) are not modelled";
    if (flags_given(f, FLAG_PRECISION_AWARE))
        return "Megatron FSDP with the precision-aware optimiser is not "
               "modelled";
    if (flags_int(f, FLAG_PP, 1) > 1)
        return "Megatron FSDP over pipeline stages is not modelled";
    return NULL;
}

/* An adapter's frozen base has neither gradients nor optimiser state, and its
 * layers keep other activations: any number for full training is wrong. */
const char *megatron_memory_adapter(const struct megatron_flags *f)
{
    const char *tuner = flags_text(f, FLAG_TUNER_TYPE);
    bool full = tuner && (strcmp(tuner, "full") == 0 ||
                          strcmp(tuner, "none") == 0 || !*tuner);
    if ((tuner && !full) || (flags_given(f, FLAG_LORA_RANK) && !full))
        return "training of adapters (LoRA: --train-type, --tuner-type, "
               "--peft, --lora-rank) is not modelled: the frozen base has no "
               "gradients or optimiser state";
    return NULL;
}

/* Hybrid models have all symbols modelled, in Megatron's own stack. */
static bool is_of_hybrid(const struct megatron_flags *f, enum flag_id id)
{
    if (id == FLAG_SPEC)
        return hybrid_has_own_spec(f);
    return id == FLAG_EXPERIMENTAL_ATTENTION_VARIANT &&
           hybrid_flag(f) != FLAG_NONE;
}

/* The first reason; they are in no order that matters. */
static const char *megatron_memory_refusal(const struct megatron_flags *f,
                                           const struct memory_options *o)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (flags_given(f, refused[i].id) && !is_of_hybrid(f, refused[i].id))
            return refused[i].reason;
    if (graphs_everything(f))
        return "CUDA graphs of whole layers are not modelled";
    if (o->graphs && o->offload)
        return "CUDA graphs with activation offloading are not modelled";
    const char *more =
        fsdp_refusal(f) ? fsdp_refusal(f) : megatron_memory_adapter(f);
    if (more)
        return more;
    if (!flags_is(f, FLAG_OPTIMIZER, "adam") &&
        !flags_is(f, FLAG_OPTIMIZER, "muon") &&
        !flags_is(f, FLAG_OPTIMIZER, "dist_muon"))
        return "only the optimisers adam, muon and dist_muon are modelled";
    return o->refusal;
}

/* ---- precision and optimiser ---- */

/* Names of --main-params-dtype and the like; fp32 is the default of all. */
static int dtype_bytes(const struct megatron_flags *f, enum flag_id id)
{
    if (flags_is(f, id, "fp16") || flags_is(f, id, "bf16"))
        return 2;
    return flags_is(f, id, "fp8") ? 1 : 4;
}

/* Main parameters and two moments. The precision-aware optimiser keeps, of an
 * fp32 main parameter, only the 16 bits that bf16 lacks. */
static void set_state(const struct megatron_flags *f, struct memory_options *o)
{
    // fp32: main parameter, first and second moment, 4 bytes each
    o->state_bytes = 12;
    o->muon_state_bytes = 8; // main parameter and one momentum
    if (!flags_given(f, FLAG_PRECISION_AWARE))
        return;
    int main_bytes = dtype_bytes(f, FLAG_MAIN_PARAMS_DTYPE);
    o->state_bytes = (main_bytes == 4 ? 2 : main_bytes) +
                     dtype_bytes(f, FLAG_EXP_AVG_DTYPE) +
                     dtype_bytes(f, FLAG_EXP_AVG_SQ_DTYPE);
}

/* bf16, which is assumed when no precision is stated (precision_unknown):
 * gradients are accumulated in fp32 unless reduced in bf16, which keeps an fp32
 * copy of the shard. fp16: gradients in fp16 and an fp32 copy for the
 * optimiser. */
static void set_precision(const struct megatron_flags *f,
                          struct memory_options *o)
{
    set_state(f, o);
    o->overlap_grad_reduce = flags_given(f, FLAG_OVERLAP_GRAD_REDUCE);
    o->overlap_param_gather = flags_given(f, FLAG_OVERLAP_PARAM_GATHER);
    o->param_bytes = 2;
    o->grad_bytes = 4;
    o->precision_unknown =
        !flags_given(f, FLAG_BF16) && !flags_given(f, FLAG_FP16);
    if (flags_given(f, FLAG_FP16) || flags_given(f, FLAG_GRAD_REDUCE_BF16)) {
        o->grad_bytes = 2;
        o->state_bytes += 4;
        o->muon_state_bytes += 4;
    }
    // the casts of a weight and of its transpose, one byte each
    o->fp8 = flags_given(f, FLAG_FP8_FORMAT);
    o->fp8_params = o->fp8 && flags_given(f, FLAG_FP8_PARAM_GATHER);
    if (o->fp8 && !o->fp8_params)
        o->fp8_copy_bytes = 2;
}

/* Parameters are main parameters: fp32 gradients and two moments beside them,
 * or one for Muon. */
void megatron_memory_fp32(struct memory_options *o)
{
    o->fp32 = true;
    o->precision_unknown = false;
    o->param_bytes = o->grad_bytes = 4;
    o->state_bytes = 8;
    o->muon_state_bytes = 4;
}

/* Muon's update needs a whole matrix: replicas hold whole ones, or even shards
 * in a layout of its own. */
static void set_optimizer(const struct megatron_flags *f,
                          struct memory_options *o)
{
    o->distributed = flags_given(f, FLAG_DIST_OPT);
    o->world_unknown = !flags_given(f, FLAG_WORLD_SIZE);
    if (!flags_is(f, FLAG_OPTIMIZER, "muon") &&
        !flags_is(f, FLAG_OPTIMIZER, "dist_muon"))
        return;
    bool deals = o->distributed || flags_is(f, FLAG_OPTIMIZER, "dist_muon");
    o->optimizer = !deals ? OPTIMIZER_MUON
                   : flags_given(f, FLAG_NO_LAYERWISE_LAYOUT)
                       ? OPTIMIZER_MUON_SHARDED
                       : OPTIMIZER_MUON_LAYOUT;
}

static const struct {
    const char *word;
    enum memory_fsdp fsdp;
} strategies[] = {{"no_shard", FSDP_NO_SHARD},
                  {"optim", FSDP_OPTIM},
                  {"optim_grads", FSDP_OPTIM_GRADS},
                  {"optim_grads_params", FSDP_ALL}};

/* Version 1 brings the distributed optimiser with it (arguments.py). */
static void set_fsdp(const struct megatron_flags *f, struct memory_options *o)
{
    if (!flags_given(f, FLAG_MEGATRON_FSDP))
        return;
    o->distributed = true;
    o->refusal = "--data-parallel-sharding-strategy is none of no_shard, "
                 "optim, optim_grads, optim_grads_params";
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (flags_is(f, FLAG_SHARDING_STRATEGY, strategies[i].word)) {
            o->fsdp = strategies[i].fsdp;
            o->refusal = NULL;
        }
    if (!flags_is(f, FLAG_FSDP_MAIN_PARAMS, "auto"))
        o->fsdp_main_bytes = dtype_bytes(f, FLAG_FSDP_MAIN_PARAMS);
    if (!flags_is(f, FLAG_FSDP_MAIN_GRADS, "auto"))
        o->fsdp_grad_bytes = dtype_bytes(f, FLAG_FSDP_MAIN_GRADS);
}

/* What the CPU updates has its main parameter and moments there
 * (cpu_offloading/hybrid_optimizer.py); all of it by default. */
static void set_offloaded_optimizer(const struct megatron_flags *f,
                                    struct memory_options *o)
{
    if (!flags_given(f, FLAG_OPTIMIZER_OFFLOAD))
        return;
    double share = flags_real(f, FLAG_OPTIMIZER_OFFLOAD_FRACTION, 1);
    // what stays: fp32 parameter and gradient beside two fp32 moments
    o->state_bytes = 16;
    o->optimizer_on_cpu = share < 0 ? 0 : share > 1 ? 1 : share;
}

/* ---- kernels and activations ---- */

/* Counts beyond any step's are as good as the largest. */
static int64_t megatron_memory_within(int64_t v, int64_t lo)
{
    // a million micro-batches or layers: no step has as many
    const int64_t hi = 1 << 20;
    return v < lo ? lo : v > hi ? hi : v;
}

static void set_kernels(const struct megatron_flags *f,
                        struct memory_options *o)
{
    // Megatron turns sequence parallelism off where TP is 1
    o->sequence_parallel =
        flags_given(f, FLAG_SEQUENCE_PARALLEL) && flags_int(f, FLAG_TP, 1) > 1;
    o->local_kernels = flags_is(f, FLAG_TRANSFORMER_IMPL, "local");
    // flash attention by its old flag beats the backend's name
    o->unfused_attention =
        !flags_given(f, FLAG_FLASH_ATTN) &&
        (o->local_kernels || flags_is(f, FLAG_ATTENTION_BACKEND, "unfused") ||
         flags_is(f, FLAG_ATTENTION_BACKEND, "local"));
    o->grouped_gemm = flags_given(f, FLAG_MOE_GROUPED_GEMM) &&
                      flags_given(f, FLAG_NUM_EXPERTS);
    o->grad_fusion = !flags_given(f, FLAG_NO_GRAD_FUSION);
    o->unfused_act = flags_given(f, FLAG_NO_GELU_FUSION) ||
                     flags_given(f, FLAG_NO_SWIGLU_FUSION);
    o->attention_dropout = flags_real(f, FLAG_ATTENTION_DROPOUT, 0) > 0;
    o->hidden_dropout = flags_real(f, FLAG_HIDDEN_DROPOUT, 0) > 0;
    o->attention_mask = !flags_given(f, FLAG_NO_ATTENTION_MASK);
    // the kernel is chosen only where fusion is asked for (language_module.py)
    o->te_loss = flags_given(f, FLAG_CE_FUSION) &&
                 flags_is(f, FLAG_CE_FUSION_IMPL, "te");
    o->loss_fusion = flags_given(f, FLAG_CE_FUSION) && !o->te_loss;
    o->deterministic = flags_given(f, FLAG_DETERMINISTIC);
    o->graphs = megatron_memory_has_graphs(f);
    o->graphs_attention =
        o->graphs && megatron_memory_has_word(
                         flags_text(f, FLAG_CUDA_GRAPH_MODULES), "attn");
    o->mb_group =
        (int)megatron_memory_within(flags_int(f, FLAG_MB_GROUP, 0), 0);
    // 0 defers all micro-batches of a step
    if (flags_given(f, FLAG_DEFER_EMBEDDING_WGRAD))
        o->loss_deferral =
            (int)megatron_memory_within(flags_int(f, FLAG_WGRAD_LIMIT, 0), 0);
    if (flags_given(f, FLAG_DEFER_EMBEDDING_WGRAD) && o->loss_deferral == 0)
        o->loss_deferral = 1 << 20;
}

/* ---- offloading ---- */

static const char *const offload_modules[N_OFFLOAD] = {
#define OFFLOAD_NAME(name, id) name,
    OFFLOAD_TABLE(OFFLOAD_NAME)
#undef OFFLOAD_NAME
};

/* Modules that the table lacks (fused_group_mlp, gdp_qkv) are refused. */
static void set_offload(const struct megatron_flags *f,
                        struct memory_options *o)
{
    const char *text = flags_text(f, FLAG_OFFLOAD_MODULES);
    double share = flags_real(f, FLAG_OFFLOAD_FRACTION, 1);
    if (!flags_given(f, FLAG_OFFLOADING))
        return;
    for (int i = 0; text && i < N_OFFLOAD; i++)
        if (megatron_memory_has_word(text, offload_modules[i]))
            o->offload |= 1U << i;
    if (!o->offload || megatron_memory_has_word(text, "fused_group_mlp") ||
        megatron_memory_has_word(text, "gdp_qkv"))
        o->refusal = "--offload-modules: want some of attn_norm, qkv_linear, "
                     "core_attn, attn_proj, mlp_norm, expert_fc1, moe_act; "
                     "others are not modelled";
    o->offload_fraction = share < 0 ? 0 : share > 1 ? 1 : share;
    o->offload_delta_bytes = flags_int(f, FLAG_OFFLOAD_DELTA, 0);
    o->offload_min_values = flags_int(f, FLAG_OFFLOAD_MIN_SIZE, 0);
}

/* ---- recompute ---- */

static const char *const recompute_modules[N_RECOMPUTE] = {
#define RECOMPUTE_NAME(name, id) name,
    RECOMPUTE_TABLE(RECOMPUTE_NAME)
#undef RECOMPUTE_NAME
};

/* Megatron's default of selective recompute is the attention core alone. */
static void set_modules(const struct megatron_flags *f,
                        struct memory_options *o)
{
    const char *text = flags_text(f, FLAG_RECOMPUTE_MODULES);
    if (!text || !*text) {
        o->recompute = 1U << RECOMPUTE_CORE_ATTN;
        return;
    }
    for (int i = 0; i < N_RECOMPUTE; i++)
        if (megatron_memory_has_word(text, recompute_modules[i]))
            o->recompute |= 1U << i;
    if (!o->recompute)
        o->refusal = "none of the words of --recompute-modules is known";
}

/* --recompute-activations is the older name of the selective granularity. */
static void set_recompute(const struct megatron_flags *f,
                          struct memory_options *o)
{
    if (flags_is(f, FLAG_RECOMPUTE_GRANULARITY, "full")) {
        o->full_recompute = flags_is(f, FLAG_RECOMPUTE_METHOD, "block")
                                ? RECOMPUTE_BLOCK
                                : RECOMPUTE_UNIFORM;
        // layers of a uniform group, or those at the start of a stage (block)
        o->recompute_layers = (int)megatron_memory_within(
            flags_int(f, FLAG_RECOMPUTE_NUM_LAYERS, 1), 1);
    } else if (flags_is(f, FLAG_RECOMPUTE_GRANULARITY, "selective") ||
               flags_given(f, FLAG_RECOMPUTE_ACTIVATIONS)) {
        set_modules(f, o);
    }
}

void megatron_memory(const struct megatron_flags *f, struct memory_options *out)
{
    struct memory_options o = {0};
    set_precision(f, &o);
    set_optimizer(f, &o);
    set_offloaded_optimizer(f, &o);
    set_fsdp(f, &o);
    set_kernels(f, &o);
    set_recompute(f, &o);
    set_offload(f, &o);
    o.refusal = megatron_memory_refusal(f, &o);
    *out = o;
}
