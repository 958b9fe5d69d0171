#include "memory/assumed.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <string.h>

static int count_with(const struct model *m, enum platform p,
                      struct memory_stated stated, const char *word)
{
    struct arena a;
    struct err_msg msg;
    struct memory_terms t;
    struct memory_assumed all;
    int n = 0;
    arena_init(&a);
    memory_terms(m, &MEMORY_MEGATRON, p, &t);
    cr_assert_eq(memory_assumed(&a, &t, stated, &all, &msg), ERR_OK);
    for (int i = 0; i < all.n; i++)
        n += strstr(all.text[i], word) != NULL;
    arena_clear(&a);
    return n;
}

Test(memory_assumed, says_what_nobody_stated_and_nothing_else)
{
    static const struct memory_stated yes = {true, true}, no = {false, false};
    struct model m = small_model();
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, ""), 0);
    m.memory.world_unknown = true;
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, "world size 4"), 1);
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, ""), 1);
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, no, "platform h100"), 1);
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, no, "6 micro-batches"), 1);
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, no, ""), 3);
    m.memory.precision_unknown = true;
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, "bf16"), 1);
    m.memory.graphs = true;
    m.memory.offload = 1;
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, "CUDA graphs"), 1);
    cr_assert_eq(count_with(&m, PLATFORM_HOPPER, yes, "offloading"), 1);
}

Test(memory_assumed, platforms_without_measured_runs_are_marked)
{
    static const struct memory_stated yes = {true, true};
    const struct model m = small_model();
    cr_assert_eq(count_with(&m, PLATFORM_MI355X, yes, "workspaces of mi355x"),
                 1);
    cr_assert_eq(count_with(&m, PLATFORM_GB300, yes, "workspaces of gb300"), 1);
    cr_assert_eq(count_with(&m, PLATFORM_BLACKWELL, yes, "workspaces"), 0);
}

Test(memory_assumed, every_term_of_moe_train_is_exact)
{
    struct arena a;
    struct err_msg msg;
    struct memory_terms t;
    struct memory_assumed all;
    struct model m = small_model();
    m.memory.precision_unknown = true;
    arena_init(&a);
    memory_terms(&m, &MEMORY_MOE_TRAIN, PLATFORM_MI300X, &t);
    const struct memory_stated stated = {.batch = true};
    cr_assert_eq(memory_assumed(&a, &t, stated, &all, &msg), ERR_OK);
    cr_assert_eq(all.n, 0);
    arena_clear(&a);
}
