#include "memory/activations.h"
#include "memory/workspace.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <string.h>

static const int64_t MIB = 1 << 20;

static struct workspaces of(const struct model *m, enum platform p)
{
    struct workspaces w;
    struct workspace_place at = {.platform = p,
                                 .has = {[KIND_T] = true, [KIND_L] = true},
                                 .n_fed_chunks = 1,
                                 .states_a_message = 1};
    memory_workspaces(m, &at, &w);
    return w;
}

Test(memory_workspace, platforms_are_told_apart_by_words_in_their_names)
{
    static const struct {
        const char *name;
        bool known;
        enum platform platform;
    } rows[] = {
        {"dev_dgx_h100", true, PLATFORM_HOPPER},
        {"8x H200", true, PLATFORM_HOPPER},
        {"dev_dgx_gb200_2nd", true, PLATFORM_BLACKWELL},
        {"A100-SXM4-80GB", true, PLATFORM_AMPERE},
        {"lts", true, PLATFORM_AMPERE},
        {"8x MI300X", true, PLATFORM_MI300X},
        {"AMD Instinct MI355X", true, PLATFORM_MI355X},
        {"dgx-b200", true, PLATFORM_B200},
        {"gb300-nvl72", true, PLATFORM_GB300},
        {"v100", false, PLATFORM_HOPPER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum platform p = PLATFORM_HOPPER;
        cr_assert_eq(platform_from_name(rows[i].name, &p), rows[i].known);
        cr_assert_eq(p, rows[i].platform, "%s", rows[i].name);
    }
}

Test(memory_workspace, what_no_run_has_borne_out_is_told_from_what_was_measured)
{
    static const struct {
        enum platform platform;
        int gemm_mib, cublas_kib;
        bool measured;
    } rows[] = {
        {PLATFORM_HOPPER, 32, 32768, true},
        {PLATFORM_B200, 32, 8320, false},
        {PLATFORM_GB300, 32, 8320, false},
        {PLATFORM_MI300X, 32, 131072, false},
        {PLATFORM_MI355X, 64, 32768, false},
    };
    struct model m = small_model();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum platform p = rows[i].platform;
        cr_assert_eq(of(&m, p).gemm, rows[i].gemm_mib * MIB);
        cr_assert_eq(of(&m, p).cublas, 2 * rows[i].cublas_kib * 1024);
        cr_assert_eq(platform_is_measured(p), rows[i].measured);
        cr_assert_not_null(strstr(platform_names(), platform_name(p)));
    }
}

Test(memory_workspace, grouped_gemm_has_four_more_workspaces)
{
    struct model m = small_model();
    cr_assert_eq(of(&m, PLATFORM_HOPPER).gemm, 32 * MIB);
    cr_assert_eq(of(&m, PLATFORM_AMPERE).gemm, 4 * MIB);
    m.memory.grouped_gemm = true;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).gemm, 160 * MIB);
    m.n_experts = 0;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).gemm, 32 * MIB, "dense");
    m.memory.local_kernels = true;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).gemm, 0, "no Transformer Engine");
}

Test(memory_workspace, two_threads_have_a_cublas_workspace_each)
{
    struct model m = small_model();
    cr_assert_eq(of(&m, PLATFORM_HOPPER).cublas, 64 * MIB);
    cr_assert_eq(of(&m, PLATFORM_AMPERE).cublas, 2 * 8320 * 1024);
    m.memory.deterministic = true;
    cr_assert_eq(of(&m, PLATFORM_AMPERE).cublas, 64 * MIB);
    m.overlap_moe_comm = true;
    cr_assert_eq(of(&m, PLATFORM_AMPERE).cublas, 64 * MIB,
                 "the other stream has no products");
}

Test(memory_workspace, gathered_inputs_and_scores_share_one_buffer)
{
    struct model m = small_model();
    int64_t tokens = m.batch.micro_batch * m.batch.seq_tokens;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).global_buffer, 0);
    m.memory.sequence_parallel = true;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).global_buffer, 2 * tokens * m.hidden);
    m.memory.local_kernels = true;
    int64_t scores = 2 * tokens * m.batch.seq_tokens * m.n_heads;
    cr_assert_eq(of(&m, PLATFORM_HOPPER).global_buffer, scores,
                 "the larger of the two");
}

Test(memory_workspace, dummy_gradients_are_one_for_each_distinct_shape)
{
    struct model m = small_model();
    cr_assert_eq(of(&m, PLATFORM_HOPPER).dummy_grads, 0);
    m.memory.grad_fusion = true;
    int64_t h = m.hidden, q = m.n_heads * m.head_dim;
    int64_t kv = m.n_kv_heads * m.head_dim;
    int64_t want = 2 * ((q + 2 * kv) * h + h * q + 2 * m.moe_ffn * h +
                        h * m.moe_ffn + m.padded_vocab * h);
    cr_assert_eq(of(&m, PLATFORM_HOPPER).dummy_grads, want,
                 "four experts have two shapes");
}

Test(memory_workspace, graphs_have_places_for_states_and_masks)
{
    struct model m = small_model();
    struct workspaces w;
    struct workspace_place at = {.n_graphed = 5};
    m.batch.micro_batch = 3;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.graphs, 0);
    m.memory.graphs = true;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.graphs, 5 * 2 * memory_hidden_bytes(&m));
    m.memory.graphs_attention = true;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.graphs, 5 * (2 * memory_hidden_bytes(&m) + 3 * 32 * 32));
    cr_assert_eq(memory_graph_states(&m, 5), 10 * memory_hidden_bytes(&m));
}

Test(memory_workspace, a_tied_table_has_a_gradient_more_with_ep_overlap)
{
    struct model m = small_model();
    struct workspaces w;
    struct workspace_place at = {.has = {[KIND_E] = true, [KIND_L] = true}};
    m.overlap_moe_comm = true;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.table_grad, 4 * m.padded_vocab * m.hidden);
    at.has[KIND_E] = false;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.table_grad, 0, "the ends are apart");
    at.has[KIND_E] = true;
    m.tied = false;
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.table_grad, 0);
}

Test(memory_workspace, a_stage_keeps_the_last_states_it_received)
{
    struct model m = small_model();
    struct workspaces w;
    struct workspace_place at = {.n_fed_chunks = 3, .states_a_message = 2};
    memory_workspaces(&m, &at, &w);
    cr_assert_eq(w.received, 2 * 3 * 2 * memory_hidden_bytes(&m));
    cr_assert_eq(w.mask, 0, "no loader without E, m or L");
    cr_assert_eq(memory_workspaces_sum(&w),
                 w.gemm + w.cublas + w.received + w.small);
}
