#include "megatron/memory.h"

#include <criterion/criterion.h>
#include <string.h>

static struct megatron_flags empty(struct arena *a)
{
    arena_init(a);
    struct megatron_flags f;
    flags_init(&f, a);
    return f;
}

Test(megatron_memory, defaults_are_bf16_with_adam_on_every_rank)
{
    struct arena a;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    megatron_memory(&f, &o);
    cr_assert_null(o.refusal);
    cr_assert_eq(o.param_bytes, 2);
    cr_assert_eq(o.grad_bytes, 4);
    cr_assert_eq(o.state_bytes, 12);
    cr_assert_eq(o.optimizer, OPTIMIZER_ADAM);
    cr_assert_not(o.distributed);
    cr_assert(o.hidden_dropout, "Megatron's default is 0.1");
    cr_assert(o.attention_mask && o.grad_fusion);
    arena_clear(&a);
}

/* flags as text, wanted bytes: parameter, gradient, state */
static const struct {
    enum flag_id id[3];
    const char *text[3];
    int param, grad, state;
} precisions[] = {
    {{FLAG_FP16, FLAG_NONE}, {"true"}, 2, 2, 16},
    {{FLAG_BF16, FLAG_GRAD_REDUCE_BF16, FLAG_NONE}, {"true", "true"}, 2, 2, 16},
    {{FLAG_PRECISION_AWARE, FLAG_NONE}, {"true"}, 2, 4, 10},
    {{FLAG_PRECISION_AWARE, FLAG_EXP_AVG_DTYPE, FLAG_EXP_AVG_SQ_DTYPE},
     {"true", "bf16", "fp8"},
     2,
     4,
     5},
};

Test(megatron_memory, precision_decides_bytes_a_parameter)
{
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        struct arena a;
        struct err_msg msg;
        struct memory_options o;
        struct megatron_flags f = empty(&a);
        for (int j = 0; j < 3 && precisions[i].id[j] != FLAG_NONE; j++)
            if (precisions[i].text[j])
                flags_set(&f, precisions[i].id[j], precisions[i].text[j], &msg);
        megatron_memory(&f, &o);
        cr_assert_eq(o.param_bytes, precisions[i].param, "row %zu", i);
        cr_assert_eq(o.grad_bytes, precisions[i].grad, "row %zu", i);
        cr_assert_eq(o.state_bytes, precisions[i].state, "row %zu", i);
        arena_clear(&a);
    }
}

Test(megatron_memory, fp8_keeps_casts_unless_parameters_are_gathered_so)
{
    struct arena a;
    struct err_msg msg;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    flags_set(&f, FLAG_FP8_FORMAT, "hybrid", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.fp8_copy_bytes, 2);
    flags_set(&f, FLAG_FP8_PARAM_GATHER, "true", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.fp8_copy_bytes, 0);
    arena_clear(&a);
}

Test(megatron_memory, the_fused_loss_is_megatrons_or_transformer_engines)
{
    struct arena a;
    struct err_msg msg;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    flags_set(&f, FLAG_CE_FUSION_IMPL, "te", &msg);
    megatron_memory(&f, &o);
    cr_assert_not(o.te_loss || o.loss_fusion, "nothing is fused");
    flags_set(&f, FLAG_CE_FUSION, "true", &msg);
    megatron_memory(&f, &o);
    cr_assert(o.te_loss && !o.loss_fusion);
    flags_set(&f, FLAG_CE_FUSION_IMPL, "native", &msg);
    megatron_memory(&f, &o);
    cr_assert(!o.te_loss && o.loss_fusion);
    arena_clear(&a);
}

Test(megatron_memory, recompute_modules_are_whole_words)
{
    struct arena a;
    struct err_msg msg;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    flags_set(&f, FLAG_RECOMPUTE_GRANULARITY, "selective", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.recompute, 1U << RECOMPUTE_CORE_ATTN, "the default");
    flags_set(&f, FLAG_RECOMPUTE_MODULES, "[layernorm mla_up_proj moe_act]",
              &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.recompute,
                 1U << RECOMPUTE_LAYERNORM | 1U << RECOMPUTE_MLA_UP_PROJ |
                     1U << RECOMPUTE_MOE_ACT,
                 "'moe' is not in 'moe_act'");
    flags_set(&f, FLAG_RECOMPUTE_MODULES, "everything", &msg);
    megatron_memory(&f, &o);
    cr_assert_not_null(o.refusal);
    arena_clear(&a);
}

Test(megatron_memory, what_is_not_modelled_is_refused_with_a_reason)
{
    static const struct {
        enum flag_id id;
        const char *text, *word;
    } rows[] = {
        {FLAG_TORCH_FSDP2, "true", "FSDP2"},
        {FLAG_OFFLOADING, "true", "--offload-modules"},
        {FLAG_CPU_OFFLOADING, "true", "--cpu-offloading"},
        {FLAG_PAGED_STASH, "true", "--moe-paged-stash"},
        {FLAG_FLEXTRON, "true", "--flextron"},
        {FLAG_LORA_RANK, "8", "LoRA"},
        {FLAG_TUNER_TYPE, "lora", "LoRA"},
        {FLAG_SPEC, "a.module gdp_stack_spec", "specification"},
        {FLAG_ENABLE_CUDA_GRAPH, "true", "CUDA graphs"},
        {FLAG_OPTIMIZER, "sgd", "optimisers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        struct err_msg msg;
        struct memory_options o;
        struct megatron_flags f = empty(&a);
        flags_set(&f, rows[i].id, rows[i].text, &msg);
        megatron_memory(&f, &o);
        cr_assert_not_null(o.refusal, "row %zu", i);
        cr_assert_not_null(strstr(o.refusal, rows[i].word), "%s", o.refusal);
        arena_clear(&a);
    }
}

Test(megatron_memory, muon_is_told_apart_by_how_it_is_dealt_out)
{
    struct arena a;
    struct err_msg msg;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    flags_set(&f, FLAG_OPTIMIZER, "muon", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.optimizer, OPTIMIZER_MUON);
    cr_assert_eq(o.muon_state_bytes, 8);
    flags_set(&f, FLAG_DIST_OPT, "true", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.optimizer, OPTIMIZER_MUON_LAYOUT);
    flags_set(&f, FLAG_NO_LAYERWISE_LAYOUT, "true", &msg);
    megatron_memory(&f, &o);
    cr_assert_eq(o.optimizer, OPTIMIZER_MUON_SHARDED);
    arena_clear(&a);
}

/* flag, text; NULL ends */
static void set_all(struct megatron_flags *f, const char *const (*rows)[2])
{
    struct err_msg msg;
    for (; (*rows)[0]; rows++)
        cr_assert_eq(flags_set(f, flag_by_name((*rows)[0], strlen((*rows)[0])),
                               (*rows)[1], &msg),
                     ERR_OK, "%s", msg.text);
}

Test(megatron_memory, fsdp_shards_by_its_strategy)
{
    static const char *const on[][2] = {{"use-megatron-fsdp", "true"}, {NULL}};
    static const char *const grads[][2] = {
        {"data-parallel-sharding-strategy", "optim_grads"},
        {"megatron-fsdp-main-params-dtype", "auto"},
        {"megatron-fsdp-main-grads-dtype", "fp32"},
        {NULL}};
    static const char *const wrong[][2] = {
        {"data-parallel-sharding-strategy", "some"}, {NULL}};
    struct arena a;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    set_all(&f, on);
    megatron_memory(&f, &o);
    cr_assert_null(o.refusal, "%s", o.refusal);
    cr_assert_eq(o.fsdp, FSDP_ALL, "Megatron's default");
    cr_assert(o.distributed);
    cr_assert_eq(o.fsdp_main_bytes, 4);
    cr_assert_eq(o.fsdp_grad_bytes, 0, "as the parameters");
    set_all(&f, grads);
    megatron_memory(&f, &o);
    cr_assert_eq(o.fsdp, FSDP_OPTIM_GRADS);
    cr_assert_eq(o.fsdp_main_bytes, 0);
    cr_assert_eq(o.fsdp_grad_bytes, 4);
    set_all(&f, wrong);
    megatron_memory(&f, &o);
    cr_assert_not_null(strstr(o.refusal, "sharding-strategy"));
    arena_clear(&a);
}

Test(megatron_memory, fsdp_beyond_plain_sharding_is_refused)
{
    static const char *const more[][2] = {
        {"megatron-fsdp-version", "2"},
        {"num-distributed-optimizer-instances", "2"},
        {"fsdp-double-buffer", "true"},
        {"use-nccl-ub", "true"},
        {"use-precision-aware-optimizer", "true"},
        {"pipeline-model-parallel-size", "2"}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        const char *const rows[][2] = {
            {"use-megatron-fsdp", "true"}, {more[i][0], more[i][1]}, {NULL}};
        struct arena a;
        struct memory_options o;
        struct megatron_flags f = empty(&a);
        set_all(&f, rows);
        megatron_memory(&f, &o);
        cr_assert_not_null(o.refusal, "%s", more[i][0]);
        cr_assert_not_null(
            strstr(o.refusal, "FSDP") ? o.refusal : strstr(o.refusal, "fsdp"),
            "%s", o.refusal);
        arena_clear(&a);
    }
}

Test(megatron_memory, an_offloaded_optimiser_leaves_a_share)
{
    static const char *const rows[][2] = {
        {"use-distributed-optimizer", "true"},
        {"use-precision-aware-optimizer", "true"},
        {"optimizer-cpu-offload", "true"},
        {"optimizer-offload-fraction", "0.75"},
        {NULL}};
    struct arena a;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    set_all(&f, rows);
    megatron_memory(&f, &o);
    cr_assert_null(o.refusal);
    cr_assert_eq(o.optimizer_on_cpu, 0.75);
    cr_assert_eq(o.state_bytes, 16, "fp32 parameter, gradient, two moments");
    flags_clear(&f, FLAG_OPTIMIZER_OFFLOAD_FRACTION);
    megatron_memory(&f, &o);
    cr_assert_eq(o.optimizer_on_cpu, 1, "all by default");
    flags_clear(&f, FLAG_OPTIMIZER_OFFLOAD);
    megatron_memory(&f, &o);
    cr_assert_eq(o.optimizer_on_cpu, 0);
    arena_clear(&a);
}

Test(megatron_memory, offloaded_modules_are_whole_words)
{
    static const char *const rows[][2] = {
        {"fine-grained-activation-offloading", "true"},
        {"offload-modules", "core_attn attn_proj moe_act"},
        {"activation-offload-fraction", "0.5"},
        {"delta-offload-bytes-across-pp-ranks", "4096"},
        {NULL}};
    static const char *const other[][2] = {
        {"offload-modules", "core_attn fused_group_mlp"}, {NULL}};
    struct arena a;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    set_all(&f, rows);
    megatron_memory(&f, &o);
    cr_assert_null(o.refusal, "%s", o.refusal);
    cr_assert_eq(o.offload, 1U << OFFLOAD_CORE_ATTN | 1U << OFFLOAD_ATTN_PROJ |
                                1U << OFFLOAD_MOE_ACT);
    cr_assert_eq(o.offload_fraction, 0.5);
    cr_assert_eq(o.offload_delta_bytes, 4096);
    cr_assert_eq(o.offload_min_values, 1 << 20, "Megatron's default");
    set_all(&f, other);
    megatron_memory(&f, &o);
    cr_assert_not_null(strstr(o.refusal, "--offload-modules"));
    arena_clear(&a);
}

Test(megatron_memory, adapters_are_refused_and_full_training_is_not)
{
    static const char *const types[] = {"full", "none"};
    for (int i = 0; i < 2; i++) {
        const char *const rows[][2] = {
            {"train-type", types[i]}, {"lora-rank", "8"}, {NULL}};
        struct arena a;
        struct memory_options o;
        struct megatron_flags f = empty(&a);
        set_all(&f, rows);
        megatron_memory(&f, &o);
        cr_assert_null(o.refusal, "a rank that is not used: %s", o.refusal);
        cr_assert_null(megatron_memory_adapter(&f));
        flags_clear(&f, FLAG_TUNER_TYPE);
        cr_assert_not_null(strstr(megatron_memory_adapter(&f), "LoRA"));
        arena_clear(&a);
    }
}

Test(megatron_memory, fp32_has_no_main_parameters)
{
    struct arena a;
    struct err_msg msg;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    megatron_memory(&f, &o);
    cr_assert(o.precision_unknown);
    megatron_memory_fp32(&o);
    cr_assert(o.fp32 && !o.precision_unknown);
    cr_assert_eq(o.param_bytes + o.grad_bytes + o.state_bytes, 16);
    flags_set(&f, FLAG_BF16, "true", &msg);
    megatron_memory(&f, &o);
    cr_assert_not(o.precision_unknown);
    arena_clear(&a);
}

Test(megatron_memory, graphs_are_of_parts_of_a_layer)
{
    static const char *const rows[][2] = {
        {"cuda-graph-impl", "transformer_engine"},
        {"cuda-graph-modules", "attn moe_router"},
        {NULL}};
    static const char *const router[][2] = {
        {"cuda-graph-modules", "moe_router"}, {NULL}};
    struct arena a;
    struct memory_options o;
    struct megatron_flags f = empty(&a);
    set_all(&f, rows);
    megatron_memory(&f, &o);
    cr_assert_null(o.refusal, "%s", o.refusal);
    cr_assert(o.graphs && o.graphs_attention);
    set_all(&f, router);
    megatron_memory(&f, &o);
    cr_assert(o.graphs && !o.graphs_attention);
    flags_clear(&f, FLAG_CUDA_GRAPH_MODULES);
    megatron_memory(&f, &o);
    cr_assert_not_null(strstr(o.refusal, "whole layers"));
    arena_clear(&a);
}
