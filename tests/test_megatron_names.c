#include "megatron/names.h"

#include "megatron/flags.h"
#include "megatron/foreign.h"

#include <criterion/criterion.h>
#include <string.h>

static enum known_values known(const char *name)
{
    return megatron_known(name, strlen(name));
}

Test(megatron_known, knows_how_many_values_follow)
{
    cr_assert_eq(known("mock-data"), KNOWN_SWITCH);
    cr_assert_eq(known("lr"), KNOWN_ONE);
    cr_assert_eq(known("data-path"), KNOWN_MANY);
    cr_assert_eq(known("adam-beta1"), KNOWN_ONE);
    cr_assert_eq(known("no-such-flag"), KNOWN_NOT);
    cr_assert_eq(known("lr min-lr"), KNOWN_NOT, "one word only");
    cr_assert_eq(known(""), KNOWN_NOT);
}

Test(megatron_known, flags_with_an_effect_are_not_among_them)
{
    for (int i = 0; i < N_FLAGS; i++)
        cr_expect_eq(known(flag_name((enum flag_id)i)), KNOWN_NOT, "%s",
                     flag_name((enum flag_id)i));
}

Test(megatron_known, neither_are_their_older_names)
{
    static const char *const names[] = {
        "encoder-num-layers", "model-parallel-size",
        "num-layers-in-first-pipeline-stage", "num-moe-experts"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_expect_eq(known(names[i]), KNOWN_NOT, "%s", names[i]);
        cr_expect_neq(flag_by_name(names[i], strlen(names[i])), FLAG_NONE);
    }
}

Test(megatron_known, names_the_nearest)
{
    char name[NAMES_MAX_BYTES];
    megatron_known_nearest("lr-warmup-iter", name);
    cr_assert_str_eq(name, "lr-warmup-iters");
    megatron_known_nearest("zzzzzzzzzz", name);
    cr_assert_str_eq(name, "");
}

/* Flags that stop or warn must not pass silently, nor be shadowed. */
Test(megatron_known, names_of_other_projects_count_their_values)
{
    cr_assert_eq(known("dataset"), KNOWN_MANY);
    cr_assert_eq(known("rope-theta"), KNOWN_ONE);
    cr_assert_eq(known("use-fused-swiglu"), KNOWN_SWITCH);
    cr_assert_eq(known("attention-output-gate"), KNOWN_NOT);
    cr_assert_eq(known("enable-mhc-connections"), KNOWN_NOT);
    cr_assert_eq(known("mhc-num-residual-streams"), KNOWN_ONE);
}

Test(megatron_known, no_name_is_of_another_list)
{
    static const char *const names[] = {
        "activation-func", "batch-size", "fp4-format",       "params-dtype",
        "quant-recipe",    "yaml-cfg",   "use-legacy-models"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_expect_eq(known(names[i]), KNOWN_NOT, "%s", names[i]);
        cr_expect(foreign_find(names[i], strlen(names[i])), "%s", names[i]);
    }
}
