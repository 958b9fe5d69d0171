#include "megatron/overrides.h"

#include <criterion/criterion.h>
#include <string.h>

Test(overrides, no_two_rows_share_a_spelling)
{
    for (int i = 0; i < N_OVERRIDES; i++)
        for (int j = 0; j < i; j++) {
            const enum override_id x = (enum override_id)i;
            const enum override_id y = (enum override_id)j;
            cr_expect_str_neq(override_option(x), override_option(y));
            cr_expect(!*override_key(x) ||
                      strcmp(override_key(x), override_key(y)) != 0);
            cr_expect(override_flag(x) == FLAG_NONE ||
                      override_flag(x) != override_flag(y));
        }
}

/* 0 stands for "not given", so that no flag may want it. */
Test(overrides, sizes_are_integers_from_one_on)
{
    for (int i = 0; i < N_OVERRIDES; i++) {
        const enum flag_id flag = override_flag((enum override_id)i);
        if (flag == FLAG_NONE)
            continue;
        cr_expect_eq(flag_type(flag), FLAG_TYPE_INT);
        cr_expect_eq(flag_range(flag).lo, 1, "%s", flag_name(flag));
    }
}

Test(overrides, every_size_reaches_its_flag)
{
    struct arena a;
    struct megatron_flags f;
    struct overrides o = {.size = {0}};
    arena_init(&a);
    flags_init(&f, &a);
    flags_set_int(&f, FLAG_TP, 2);
    for (int i = 0; i < N_OVERRIDES; i++)
        o.size[i] = 10 + i;
    overrides_apply(&o, &f);
    for (int i = 0; i < N_OVERRIDES; i++) {
        const enum flag_id flag = override_flag((enum override_id)i);
        if (flag != FLAG_NONE)
            cr_expect_eq(flags_int(&f, flag, 0), 10 + i, "%s", flag_name(flag));
    }
    arena_clear(&a);
}

/* pp, vpp, and whether the source's split of 4 stages stays */
static const struct {
    int64_t pp, vpp;
    bool stays;
} splits[] = {{0, 0, true}, {4, 0, true}, {2, 0, false}, {4, 2, false}};

Test(overrides, another_number_of_stages_drops_the_split)
{
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct arena a;
        struct megatron_flags f;
        arena_init(&a);
        flags_init(&f, &a);
        flags_set_int(&f, FLAG_PP, 4);
        flags_set_int(&f, FLAG_LAYERS_PER_VPP, 2);
        flags_set(&f, FLAG_LAYOUT, "Et|t|t|tL", NULL);
        const struct overrides o = {
            .size = {
                [OVERRIDE_PP] = splits[i].pp, [OVERRIDE_VPP] = splits[i].vpp}};
        overrides_apply(&o, &f);
        cr_expect_eq(flags_given(&f, FLAG_LAYOUT), splits[i].stays);
        cr_expect_eq(flags_given(&f, FLAG_LAYERS_PER_VPP), splits[i].stays);
        cr_expect_eq(flags_int(&f, FLAG_VPP, 0), splits[i].vpp);
        arena_clear(&a);
    }
}

/* Bars of a pattern are stages: another number of them drops them, but where
 * nobody stated one before: whether they fit is told to who asked. */
Test(megatron_overrides, bars_go_with_another_number_of_stages)
{
    static const struct {
        int64_t stated, pp, vpp;
        const char *pattern;
    } rows[] = {
        {2, 2, 0, "*-|*-"}, {2, 4, 0, "*-*-"},  {0, 2, 0, "*-|*-"},
        {0, 4, 0, "*-|*-"}, {0, 2, 1, "*-|*-"}, {2, 0, 2, "*-*-"},
        {2, 0, 1, "*-|*-"}, {0, 2, 2, "*-*-"},  {1, 2, 1, "*-*-"},
        {2, 0, 0, "*-|*-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        struct megatron_flags f;
        struct err_msg msg;
        struct overrides o = {
            .size = {[OVERRIDE_PP] = rows[i].pp, [OVERRIDE_VPP] = rows[i].vpp}};
        arena_init(&a);
        flags_init(&f, &a);
        flags_set(&f, FLAG_HYBRID_LAYER_PATTERN, "*-|*-", &msg);
        if (rows[i].stated)
            flags_set_int(&f, FLAG_PP, rows[i].stated);
        overrides_apply(&o, &f);
        cr_expect_str_eq(flags_text(&f, FLAG_HYBRID_LAYER_PATTERN),
                         rows[i].pattern, "row %zu", i);
        arena_clear(&a);
    }
}

/* Of a layout likewise. */
Test(megatron_overrides, a_layout_stays_where_no_ranks_were_stated)
{
    static const struct {
        int64_t stated, pp, vpp;
        bool stays;
    } rows[] = {{0, 4, 0, true}, {0, 2, 0, true},  {0, 3, 0, true},
                {0, 4, 1, true}, {2, 4, 0, false}, {4, 4, 0, true},
                {0, 2, 2, true}, {2, 0, 2, true},  {2, 0, 4, false},
                {0, 4, 2, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        struct megatron_flags f;
        struct err_msg msg;
        const struct overrides o = {
            .size = {[OVERRIDE_PP] = rows[i].pp, [OVERRIDE_VPP] = rows[i].vpp}};
        arena_init(&a);
        flags_init(&f, &a);
        flags_set(&f, FLAG_LAYOUT, "Et|t|t|tL", &msg);
        if (rows[i].stated)
            flags_set_int(&f, FLAG_PP, rows[i].stated);
        overrides_apply(&o, &f);
        cr_expect_eq(flags_given(&f, FLAG_LAYOUT), rows[i].stays, "row %zu", i);
        // Megatron takes no flag of virtual stages beside a layout
        cr_expect(!rows[i].stays || !flags_given(&f, FLAG_VPP), "row %zu", i);
        arena_clear(&a);
    }
}
