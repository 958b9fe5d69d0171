#include "base/template.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char assumed[64];

static const char *find(void *data, const char *name)
{
    (void)data;
    return strcmp(name, "a.b") == 0    ? "7"
           : strcmp(name, "X") == 0    ? "${a.b}${a.b}"
           : strcmp(name, "LOOP") == 0 ? "${LOOP}x"
                                       : NULL;
}

static void assume(void *data, const char *name, const char *value)
{
    (void)data;
    snprintf(assumed, sizeof assumed, "%s=%s", name, value);
}

/* text, what comes of it (NULL: not known), what is missing or assumed */
static const struct {
    const char *text, *out, *told;
} cases[] = {
    {"plain", "plain", ""},
    {"cost: 5$", "cost: 5$", ""},
    {"$5 {x} y", "$5 {x} y", ""},
    {"${a.b}", "7", ""},
    {"<${X}>", "<77>", ""},
    {"${WAYS}", NULL, "${WAYS}"},
    {"a$WAYS-b", NULL, "$WAYS"},
    {"${N:-4}", "4", "N=4"},
    {"${N:4096}", "4096", "N=4096"},
    {"${N:null}", "null", "N=null"},
    {"${oc.env:N,8}", "8", "N=8"},
    {"${oc.env:N}", NULL, "${oc.env:N}"},
    {"${N:-${a.b}}", "7", "N=${a.b}"},
    {"${N:-}", "", "N="},
    {"${multiply:4,${a.b}}", NULL, "${multiply:4,${a.b}}"},
    {"{{ways}}", NULL, "{{ways}}"},
    {"{ways}", NULL, "{ways}"},
    {"$(nproc)", NULL, "$(nproc)"},
    {"${open", "${open", ""},
    {"${}", "${}", ""},
};

Test(template, variables_are_what_the_source_says)
{
    const struct template_source from = {find, assume, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        struct err_msg msg;
        struct template_text out;
        arena_init(&a);
        assumed[0] = '\0';
        cr_assert_eq(template_expand(&a, cases[i].text, &from, &out, &msg),
                     ERR_OK);
        cr_expect_eq(out.text == NULL, cases[i].out == NULL, "%s",
                     cases[i].text);
        if (out.text && cases[i].out)
            cr_expect_str_eq(out.text, cases[i].out);
        cr_expect_str_eq(out.missing ? out.missing : assumed, cases[i].told);
        arena_clear(&a);
    }
}

Test(template, names_that_stand_for_themselves_end)
{
    const struct template_source from = {find, assume, NULL};
    struct arena a;
    struct err_msg msg;
    struct template_text out;
    arena_init(&a);
    cr_assert_eq(template_expand(&a, "${LOOP}", &from, &out, &msg), ERR_OK);
    cr_assert_null(out.text);
    cr_assert_str_eq(out.missing, "${LOOP}");
    arena_clear(&a);
}
