/*
 * How it works: each part of memory_options is read off the flags by one
 * function; what the memory model does not know becomes a reason to refuse,
 * which its callers print. Refusing is better than a number: a plan that runs
 * out of memory costs a night.
 */
#include "memory.h"

#include "base/text.h"

#include <string.h>

/* ---- what is not modelled ---- */

static const struct {
    enum flag_id id;
    const char *reason;
    // kinds of memory that would come on top of what is modelled or be moved
    // out of it
} refused[] = {
    {FLAG_MEGATRON_FSDP, "Megatron FSDP is not modelled"},
    {FLAG_TORCH_FSDP2, "PyTorch FSDP2 is not modelled"},
    {FLAG_HYBRID_LAYER_PATTERN,
     "hybrid models (Mamba layers) are not modelled"},
    {FLAG_HYBRID_OVERRIDE_PATTERN,
     "hybrid models (Mamba layers) are not modelled"},
    {FLAG_IS_HYBRID_MODEL, "hybrid models (Mamba layers) are not modelled"},
    {FLAG_OFFLOADING, "activation offloading is not modelled"},
    {FLAG_CPU_OFFLOAD_LAYERS, "CPU offloading is not modelled"},
    {FLAG_OPTIMIZER_OFFLOAD,
     "an optimiser offloaded to the CPU is not modelled"},
    {FLAG_SPEC, "a layer specification of its own is not modelled"},
    {FLAG_HETEROGENEOUS_LAYERS_CONFIG_PATH,
     "heterogeneous layers are not modelled"},
    {FLAG_HETEROGENEOUS_LAYERS_CONFIG_ENCODED_JSON,
     "heterogeneous layers are not modelled"},
    {FLAG_EXPERIMENTAL_ATTENTION_VARIANT,
     "experimental attention variants are not modelled"},
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

/* The first reason; they are in no order that matters. */
static const char *megatron_memory_refusal(const struct megatron_flags *f,
                                           const struct memory_options *o)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (flags_given(f, refused[i].id))
            return refused[i].reason;
    if (graphs_everything(f))
        return "CUDA graphs of whole layers are not modelled";
    if (o->graphs && o->unfused_attention)
        return "CUDA graphs of unfused attention are not modelled";
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

/* bf16, which is assumed when no precision is stated: gradients are accumulated
 * in fp32 unless reduced in bf16, which keeps an fp32 copy of the shard. fp16:
 * gradients in fp16 and an fp32 copy for the optimiser. */
static void set_precision(const struct megatron_flags *f,
                          struct memory_options *o)
{
    set_state(f, o);
    o->overlap_grad_reduce = flags_given(f, FLAG_OVERLAP_GRAD_REDUCE);
    o->overlap_param_gather = flags_given(f, FLAG_OVERLAP_PARAM_GATHER);
    o->param_bytes = 2;
    o->grad_bytes = 4;
    if (flags_given(f, FLAG_FP16) || flags_given(f, FLAG_GRAD_REDUCE_BF16)) {
        o->grad_bytes = 2;
        o->state_bytes += 4;
        o->muon_state_bytes += 4;
    }
    // the casts of a weight and of its transpose, one byte each
    o->fp8 = flags_given(f, FLAG_FP8_FORMAT);
    if (o->fp8 && !flags_given(f, FLAG_FP8_PARAM_GATHER))
        o->fp8_copy_bytes = 2;
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
    o->loss_fusion = flags_given(f, FLAG_CE_FUSION);
    o->deterministic = flags_given(f, FLAG_DETERMINISTIC);
    o->graphs = megatron_memory_has_graphs(f);
    o->mb_group =
        (int)megatron_memory_within(flags_int(f, FLAG_MB_GROUP, 0), 0);
    // 0 defers all micro-batches of a step
    if (flags_given(f, FLAG_DEFER_EMBEDDING_WGRAD))
        o->loss_deferral =
            (int)megatron_memory_within(flags_int(f, FLAG_WGRAD_LIMIT, 0), 0);
    if (flags_given(f, FLAG_DEFER_EMBEDDING_WGRAD) && o->loss_deferral == 0)
        o->loss_deferral = 1 << 20;
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
    set_kernels(f, &o);
    set_recompute(f, &o);
    o.refusal = megatron_memory_refusal(f, &o);
    *out = o;
}
