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
