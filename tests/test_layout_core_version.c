#include "layout/core_version.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* layout at PP 4 of 16 layers, and the versions that refuse it */
static const struct {
    const char *layout;
    const char *refused;
} cases[] = {
    {"Et*4|t*4|t*4|t*4L", "0.12"},         {"Et*4|t*4|t*4|t*4mL", "0.12 0.13"},
    {"Et*5|t*6|t*5|mL", "0.12 0.13"},      {"Et*5|t*11|m|L", "0.12 0.13 0.15"},
    {"Et*5|t*6|t*5m|L", "0.12 0.13 0.15"},
};

Test(core_version, each_refuses_what_its_source_refuses)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int minor = 12; minor <= 20; minor++) {
            struct arena a;
            struct layout l;
            const struct core_version *v = NULL;
            struct core_refusal why = {NULL, NULL};
            char name[16];
            snprintf(name, sizeof name, "0.%d", minor);
            arena_init(&a);
            cr_assert_eq(layout_parse(&a, cases[i].layout, 4, &l, NULL),
                         LAYOUT_OK);
            cr_assert_eq(core_version_find(name, &v, NULL), ERR_OK);
            bool refused = core_version_refuses(v, &l, &why);
            cr_expect_eq(refused, strstr(cases[i].refused, name) != NULL,
                         "%s by %s", cases[i].layout, name);
            cr_expect(!refused || (why.megatron && why.plain));
            arena_clear(&a);
        }
}

Test(core_version, patch_levels_are_of_their_version)
{
    const struct core_version *v = NULL;
    struct err_msg msg;
    cr_assert_eq(core_version_find("0.15.3", &v, &msg), ERR_OK);
    cr_assert_str_eq(v->name, "0.15");
    cr_assert_eq(core_version_find(NULL, &v, &msg), ERR_OK);
    cr_assert_str_eq(v->name, "0.16");
    static const char *const unknown[] = {"0.11", "0.21", "0.1",
                                          "1",    "",     "0.160"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        cr_expect_eq(core_version_find(unknown[i], &v, &msg), ERR_RANGE, "%s",
                     unknown[i]);
        cr_expect(strstr(msg.text, "0.12 to 0.20"), "%s", msg.text);
    }
}

/* Symbols that each version has, and whether it has bars. */
Test(core_version, knows_the_layers_of_hybrid_models)
{
    static const struct {
        const char *name, *symbols;
        bool pattern;
    } rows[] = {{"0.12", "M*-", false},    {"0.15", "M*-", false},
                {"0.16", "M*-E", false},   {"0.17", "MG*-E", true},
                {"0.18", "MG*D-E", true},  {"0.19", "MG*D+-E", true},
                {"0.20", "MG*D+-E", true}, {"dev", "MG*D+-E", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct core_version *v = NULL;
        cr_assert_eq(core_version_find(rows[i].name, &v, NULL), ERR_OK);
        cr_expect_str_eq(v->symbols, rows[i].symbols, "%s", rows[i].name);
        cr_expect_eq(v->has_pattern, rows[i].pattern, "%s", rows[i].name);
    }
    cr_assert_str_eq(core_version_of_patterns()->name, "0.19");
}

/* What open pull requests propose, and what they leave refused. */
static const struct {
    const char *layout;
    int pp, layers, mtp;
    enum layout_error now, dev;
} proposals[] = {
    {"Et|tmL", 2, 2, 1, LAYOUT_OK, LAYOUT_OK},
    // the examples of both
    {"E|(t|)*11m|m|m|L", 8, 11, 3, LAYOUT_M_SPLIT, LAYOUT_OK},
    {"E|(t|)*12mm|m|L", 8, 12, 3, LAYOUT_M_SPLIT, LAYOUT_OK},
    {"E|(t|)*10m|m|m|LL|LL", 8, 10, 3, LAYOUT_L_COUNT, LAYOUT_OK},
    {"Et|m|L|L", 4, 1, 1, LAYOUT_L_COUNT, LAYOUT_OK},
    {"Et|mL|L|", 4, 1, 1, LAYOUT_L_COUNT, LAYOUT_OK},
    // one L for the main model and one for each depth, behind all else
    {"Et|m|L|LL", 4, 1, 1, LAYOUT_L_COUNT, LAYOUT_L_COUNT},
    {"Et|L|L", 3, 1, 0, LAYOUT_L_COUNT, LAYOUT_L_COUNT},
    {"Et|L|mL", 3, 1, 1, LAYOUT_L_COUNT, LAYOUT_L_COUNT},
    // checks behind the number of L are made all the same
    {"Et|m|L|L", 4, 2, 1, LAYOUT_L_COUNT, LAYOUT_T_COUNT},
    {"Em|t|L|L", 4, 1, 1, LAYOUT_L_COUNT, LAYOUT_T_AFTER_M},
    {"E|tm||L|L|", 3, 1, 1, LAYOUT_L_COUNT, LAYOUT_M_NOT_LAST_VPP},
    {"E|tm|m|L", 2, 1, 2, LAYOUT_M_NOT_LAST_VPP, LAYOUT_M_NOT_LAST_VPP},
    {"Et|m|L", 3, 1, 2, LAYOUT_M_COUNT, LAYOUT_M_COUNT},
};

Test(core_version, dev_has_what_is_proposed)
{
    const struct core_version *now = NULL, *dev = NULL;
    cr_assert_eq(core_version_find("0.20", &now, NULL), ERR_OK);
    cr_assert_eq(core_version_find("dev", &dev, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof proposals / sizeof proposals[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg;
        const int n = proposals[i].layers, m = proposals[i].mtp;
        arena_init(&a);
        cr_assert_eq(
            layout_parse(&a, proposals[i].layout, proposals[i].pp, &l, NULL),
            LAYOUT_OK, "%s", proposals[i].layout);
        enum layout_error e = core_version_validate(now, &l, n, m, &msg);
        cr_expect_eq(e, proposals[i].now, "%s: now %s", proposals[i].layout,
                     layout_error_id(e));
        e = core_version_validate(dev, &l, n, m, &msg);
        cr_expect_eq(e, proposals[i].dev, "%s: dev %s", proposals[i].layout,
                     layout_error_id(e));
        arena_clear(&a);
    }
}
