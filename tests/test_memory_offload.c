#include "memory/activations.h"
#include "memory/offload.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* Every module, whatever its tensors' size. */
static struct model offloading(void)
{
    struct model m = small_model();
    m.memory.offload = (1U << N_OFFLOAD) - 1;
    m.memory.offload_fraction = 1;
    return m;
}

static struct memory_terms terms_of(const struct model *m)
{
    struct memory_terms t;
    memory_terms(m, &MEMORY_MEGATRON, PLATFORM_HOPPER, &t);
    return t;
}

static int64_t all_groups(const struct memory_terms *t)
{
    int64_t n = 0;
    for (int g = 0; g < N_OFFLOAD; g++)
        n += t->offloads[KIND_T][g];
    return n;
}

/* 32 tokens, hidden 64; q and kv of 64 and 32 values; topk 2, width 128. */
Test(memory_offload, groups_are_the_tensors_of_their_module)
{
    struct model m = offloading();
    int64_t g[N_OFFLOAD], hidden = 2 * 32 * 64;
    memory_unit_offloads(&m, KIND_T, g);
    cr_assert_eq(g[OFFLOAD_ATTN_NORM], 0, "part of the projection behind it");
    cr_assert_eq(g[OFFLOAD_QKV_LINEAR], 2 * hidden, "norm's input and output");
    // q, k, v, the rotated q and k, the output as the kernel keeps it
    cr_assert_eq(g[OFFLOAD_CORE_ATTN], 2 * 32 * (64 + 64 + 64 + 32 + 64));
    cr_assert_eq(g[OFFLOAD_ATTN_PROJ], 2 * 32 * 64);
    cr_assert_eq(g[OFFLOAD_MLP_NORM], hidden);
    cr_assert_eq(g[OFFLOAD_EXPERT_FC1], 2 * hidden, "two rows a token");
    cr_assert_eq(g[OFFLOAD_MOE_ACT], 2 * 64 * 2 * 128);
    memory_unit_offloads(&m, KIND_T_DENSE, g);
    cr_assert_eq(g[OFFLOAD_MLP_NORM], 0, "no experts, no norm of its own");
    cr_assert_eq(g[OFFLOAD_EXPERT_FC1], 0);
    memory_unit_offloads(&m, KIND_L, g);
    cr_assert_eq(g[OFFLOAD_QKV_LINEAR], 0);
}

Test(memory_offload, only_chosen_modules_and_large_tensors_go)
{
    struct model m = offloading();
    int64_t g[N_OFFLOAD];
    m.memory.offload = 1U << OFFLOAD_MOE_ACT;
    memory_unit_offloads(&m, KIND_T, g);
    cr_assert_eq(g[OFFLOAD_CORE_ATTN], 0);
    cr_assert_gt(g[OFFLOAD_MOE_ACT], 0);
    m.memory.offload_min_values = 64 * 2 * 128 + 1;
    memory_unit_offloads(&m, KIND_T, g);
    cr_assert_eq(g[OFFLOAD_MOE_ACT], 0);
}

Test(memory_offload, a_share_is_the_first_groups_of_a_chunk)
{
    struct model m = offloading();
    struct memory_terms t = terms_of(&m);
    struct memory_offload all = memory_offload(&t, 0, 2, 0);
    cr_assert_eq(all.away, 2 * all_groups(&t));
    cr_assert_eq(all.layer, all_groups(&t));
    // 12 groups: 6 a layer; int(12 * 0.3) = 3 of the second layer stay
    m.memory.offload_fraction = 0.7;
    struct memory_offload some = memory_offload(&t, 0, 2, 0);
    cr_assert_eq(some.away, 2 * all_groups(&t) -
                                t.offloads[KIND_T][OFFLOAD_MLP_NORM] -
                                t.offloads[KIND_T][OFFLOAD_EXPERT_FC1] -
                                t.offloads[KIND_T][OFFLOAD_MOE_ACT]);
    m.memory.offload = 0;
    cr_assert_eq(memory_offload(&t, 0, 2, 0).away, 0);
}

Test(memory_offload, unfused_probabilities_come_back_twice)
{
    struct model m = offloading();
    m.memory.unfused_attention = true;
    struct memory_terms t = terms_of(&m);
    struct memory_offload o = memory_offload(&t, 0, 1, 0);
    cr_assert_eq(o.back - o.layer, 2 * 4 * 32 * 32, "bf16, 4 heads, 32 tokens");
    m.memory.recompute = 1U << RECOMPUTE_CORE_ATTN;
    t = terms_of(&m);
    o = memory_offload(&t, 0, 1, 0);
    cr_assert_eq(o.back, o.layer);
}

static struct memory_rank last_rank(const struct model *m)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct memory_terms t = terms_of(m);
    struct memory_rank r;
    arena_init(&a);
    cr_assert_eq(layout_read(&a, "Et*2|t*3|t*2|tmL", m, &l, &msg), ERR_OK, "%s",
                 msg.text);
    memory_rank(&t, &l, 1, &r);
    arena_clear(&a);
    return r;
}

/* Rank 1 has three layers and three micro-batches in flight. */
Test(memory_offload, a_rank_keeps_the_rest_a_layer_and_its_delta)
{
    struct model m = offloading();
    struct memory_terms t = terms_of(&m);
    int64_t away = all_groups(&t), kept = t.kept[KIND_T];
    struct memory_rank r = last_rank(&m);
    cr_assert_eq(r.activation_bytes, 3 * 3 * (kept - away) + away);
    m.memory.offload_delta_bytes = 1000;
    cr_assert_eq(last_rank(&m).activation_bytes, r.activation_bytes + 1000);
    m.memory.offload_delta_bytes = (int64_t)1 << 40;
    cr_assert_eq(last_rank(&m).activation_bytes, 9 * kept + away,
                 "no more than there is");
    m.memory.offload = 0;
    cr_assert_eq(last_rank(&m).activation_bytes, 9 * kept);
}
