#include "memory.h"

#include "base/text.h"

#include <string.h>

/* ---- what is not modelled ---- */

static const struct {
    enum flag_id id;
    const char *reason;
} refused[] = {
    {MEGATRON_FSDP, "Megatron FSDP is not modelled"},
    {TORCH_FSDP2, "PyTorch FSDP2 is not modelled"},
    {HYBRID_LAYER_PATTERN, "hybrid models (Mamba layers) are not modelled"},
    {HYBRID_OVERRIDE_PATTERN, "hybrid models (Mamba layers) are not modelled"},
    {IS_HYBRID_MODEL, "hybrid models (Mamba layers) are not modelled"},
    {OFFLOADING, "activation offloading is not modelled"},
    {CPU_OFFLOAD_LAYERS, "CPU offloading is not modelled"},
    {OPTIMIZER_OFFLOAD, "an optimiser offloaded to the CPU is not modelled"},
    {SPEC, "a layer specification of its own is not modelled"},
    {HETEROGENEOUS_LAYERS_CONFIG_PATH, "heterogeneous layers are not modelled"},
    {HETEROGENEOUS_LAYERS_CONFIG_ENCODED_JSON,
     "heterogeneous layers are not modelled"},
    {EXPERIMENTAL_ATTENTION_VARIANT,
     "experimental attention variants are not modelled"},
};

static bool megatron_memory_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = text; p && (p = strstr(p, word)); p += len) {
        bool starts = p == text || strchr(" ,[", p[-1]);
        if (starts && (p[len] == '\0' || strchr(" ,]", p[len])))
            return true;
    }
    return false;
}

static bool megatron_memory_has_graphs(const struct megatron_flags *f)
{
    return flags_given(f, CUDA_GRAPH_IMPL) &&
           !flags_is(f, CUDA_GRAPH_IMPL, "none");
}

static bool graphs_everything(const struct megatron_flags *f)
{
    return flags_given(f, ENABLE_CUDA_GRAPH) ||
           (megatron_memory_has_graphs(f) &&
            !flags_given(f, CUDA_GRAPH_MODULES));
}

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
    if (!flags_is(f, OPTIMIZER, "adam") && !flags_is(f, OPTIMIZER, "muon") &&
        !flags_is(f, OPTIMIZER, "dist_muon"))
        return "only the optimisers adam, muon and dist_muon are modelled";
    return o->refusal;
}

/* ---- precision and optimiser ---- */

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
    o->state_bytes = 12;
    o->muon_state_bytes = 8; // main parameter and one momentum
    if (!flags_given(f, PRECISION_AWARE))
        return;
    int main_bytes = dtype_bytes(f, MAIN_PARAMS_DTYPE);
    o->state_bytes = (main_bytes == 4 ? 2 : main_bytes) +
                     dtype_bytes(f, EXP_AVG_DTYPE) +
                     dtype_bytes(f, EXP_AVG_SQ_DTYPE);
}

/* bf16, which is assumed when no precision is stated: gradients are accumulated
 * in fp32 unless reduced in bf16, which keeps an fp32 copy of the shard. fp16:
 * gradients in fp16 and an fp32 copy for the optimiser. */
static void set_precision(const struct megatron_flags *f,
                          struct memory_options *o)
{
    set_state(f, o);
    o->param_bytes = 2;
    o->grad_bytes = 4;
    if (flags_given(f, FP16) || flags_given(f, GRAD_REDUCE_BF16)) {
        o->grad_bytes = 2;
        o->state_bytes += 4;
        o->muon_state_bytes += 4;
    }
    // the casts of a weight and of its transpose, one byte each
    o->fp8 = flags_given(f, FP8_FORMAT);
    if (o->fp8 && !flags_given(f, FP8_PARAM_GATHER))
        o->fp8_copy_bytes = 2;
}

static void set_optimizer(const struct megatron_flags *f,
                          struct memory_options *o)
{
    o->distributed = flags_given(f, DIST_OPT);
    o->world_unknown = !flags_given(f, WORLD_SIZE);
    if (!flags_is(f, OPTIMIZER, "muon") && !flags_is(f, OPTIMIZER, "dist_muon"))
        return;
    bool deals = o->distributed || flags_is(f, OPTIMIZER, "dist_muon");
    o->optimizer = !deals ? OPTIMIZER_MUON
                   : flags_given(f, NO_LAYERWISE_LAYOUT)
                       ? OPTIMIZER_MUON_SHARDED
                       : OPTIMIZER_MUON_LAYOUT;
}

/* ---- kernels and activations ---- */

static bool has_dropout(const struct megatron_flags *f, enum flag_id id)
{
    double p = 0;
    const char *text = flags_text(f, id);
    return text && text_to_double(text, &p) && p > 0;
}

/* Counts beyond any step's are as good as the largest. */
static int64_t megatron_memory_within(int64_t v, int64_t lo)
{
    const int64_t hi = 1 << 20;
    return v < lo ? lo : v > hi ? hi : v;
}

static void set_kernels(const struct megatron_flags *f,
                        struct memory_options *o)
{
    o->sequence_parallel =
        flags_given(f, SEQUENCE_PARALLEL) && flags_number(f, TP, 1) > 1;
    o->local_kernels = flags_is(f, TRANSFORMER_IMPL, "local");
    o->unfused_attention =
        !flags_given(f, FLASH_ATTN) &&
        (o->local_kernels || flags_is(f, ATTENTION_BACKEND, "unfused") ||
         flags_is(f, ATTENTION_BACKEND, "local"));
    o->grouped_gemm =
        flags_given(f, MOE_GROUPED_GEMM) && flags_given(f, NUM_EXPERTS);
    o->grad_fusion = !flags_given(f, NO_GRAD_FUSION);
    o->unfused_act =
        flags_given(f, NO_GELU_FUSION) || flags_given(f, NO_SWIGLU_FUSION);
    o->attention_dropout = has_dropout(f, ATTENTION_DROPOUT);
    o->hidden_dropout = has_dropout(f, HIDDEN_DROPOUT);
    o->attention_mask = !flags_given(f, NO_ATTENTION_MASK);
    o->loss_fusion = flags_given(f, CE_FUSION);
    o->deterministic = flags_given(f, DETERMINISTIC);
    o->graphs = megatron_memory_has_graphs(f);
    o->overlap_experts = flags_given(f, OVERLAP_MOE_COMM);
    o->mb_group = (int)megatron_memory_within(flags_number(f, MB_GROUP, 0), 0);
    // 0 defers all micro-batches of a step
    if (flags_given(f, DEFER_EMBEDDING_WGRAD))
        o->loss_deferral =
            (int)megatron_memory_within(flags_number(f, WGRAD_LIMIT, 0), 0);
    if (flags_given(f, DEFER_EMBEDDING_WGRAD) && o->loss_deferral == 0)
        o->loss_deferral = 1 << 20;
}

/* ---- recompute ---- */

static const char *const modules[N_RECOMPUTE] = {
#define RECOMPUTE_NAME(name, id) name,
    RECOMPUTE_TABLE(RECOMPUTE_NAME)
#undef RECOMPUTE_NAME
};

static void set_modules(const struct megatron_flags *f,
                        struct memory_options *o)
{
    const char *text = flags_text(f, RECOMPUTE_MODULES);
    if (!text || !*text) {
        o->recompute = 1U << RECOMPUTE_CORE_ATTN;
        return;
    }
    for (int i = 0; i < N_RECOMPUTE; i++)
        if (megatron_memory_has_word(text, modules[i]))
            o->recompute |= 1U << i;
    if (!o->recompute)
        o->refusal = "none of the words of --recompute-modules is known";
}

static void set_recompute(const struct megatron_flags *f,
                          struct memory_options *o)
{
    if (flags_is(f, RECOMPUTE_GRANULARITY, "full")) {
        o->full_recompute = flags_is(f, RECOMPUTE_METHOD, "block")
                                ? RECOMPUTE_BLOCK
                                : RECOMPUTE_UNIFORM;
        o->recompute_layers = (int)megatron_memory_within(
            flags_number(f, RECOMPUTE_NUM_LAYERS, 1), 1);
    } else if (flags_is(f, RECOMPUTE_GRANULARITY, "selective") ||
               flags_given(f, RECOMPUTE_ACTIVATIONS)) {
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
