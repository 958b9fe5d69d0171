#include "memory/memory.h"
#include "plan/settings.h"

#include <criterion/criterion.h>
#include <string.h>

static enum err read(enum override_id id, const char *text,
                     struct plan_settings *out, struct err_msg *msg)
{
    struct overrides o = {.text = {NULL}};
    o.text[id] = text;
    return plan_settings_read(&o, out, msg);
}

Test(settings, defaults_are_what_plans_assume)
{
    struct plan_settings s;
    struct err_msg msg;
    cr_assert_eq(read(OVERRIDE_CORE, NULL, &s, &msg), ERR_OK);
    cr_assert_str_eq(s.core->name, "0.16");
    cr_assert_eq(s.platform, PLATFORM_HOPPER);
    const struct model one = {.par = {.vpp = 1}}, two = {.par = {.vpp = 2}};
    cr_assert_eq(plan_settings_mode(&s, &one), P2P_BLOCKING);
    cr_assert_eq(plan_settings_mode(&s, &two), P2P_OVERLAP);
    cr_assert_eq(s.memory_margin, MEMORY_MARGIN);
}

Test(settings, each_text_is_read_and_reaches_the_context)
{
    struct plan_settings s;
    struct plan_context ctx = {.n_mb = 3};
    const struct model one = {.par = {.vpp = 1}, .overlap_p2p_flush = true};
    struct err_msg msg;
    const struct overrides o = {.text = {[OVERRIDE_CORE] = "0.13.1",
                                         [OVERRIDE_PLATFORM] = "A100-80GB",
                                         [OVERRIDE_P2P] = "async",
                                         [OVERRIDE_MARGIN] = "12.5",
                                         [OVERRIDE_NODE] = "8"}};
    cr_assert_eq(plan_settings_read(&o, &s, &msg), ERR_OK, "%s", msg.text);
    plan_settings_apply(&s, &one, &ctx);
    cr_assert_str_eq(ctx.core->name, "0.13");
    cr_assert_eq(ctx.platform, PLATFORM_AMPERE);
    cr_assert_eq(ctx.mode, P2P_ASYNC);
    cr_assert_eq(ctx.memory_margin, 0.125);
    cr_assert_eq(ctx.gpus_per_node, 8);
    cr_assert_eq(ctx.n_mb, 3);
}

/* An option comes before them. */
Test(settings, flags_of_the_model_decide_transfers)
{
    struct plan_settings none, given;
    struct err_msg msg;
    cr_assert_eq(read(OVERRIDE_P2P, NULL, &none, &msg), ERR_OK);
    cr_assert_eq(read(OVERRIDE_P2P, "ideal", &given, &msg), ERR_OK);
    const struct model off = {.par = {.vpp = 2}, .no_overlap_p2p = true};
    const struct model flush = {.par = {.vpp = 2}, .overlap_p2p_flush = true};
    cr_assert_eq(plan_settings_mode(&none, &off), P2P_BLOCKING);
    cr_assert_eq(plan_settings_mode(&none, &flush), P2P_OVERLAP_FLUSH);
    cr_assert_eq(plan_settings_mode(&given, &off), P2P_IDEAL);
    cr_assert_eq(plan_settings_mode(&given, &flush), P2P_IDEAL);
}

Test(settings, bad_texts_name_what_is_wanted)
{
    static const struct {
        enum override_id id;
        const char *text, *wanted;
    } bad[] = {{OVERRIDE_CORE, "0.9", "0.12 to 0.20"},
               {OVERRIDE_PLATFORM, "v100", "want h100, gb200, a100"},
               {OVERRIDE_P2P, "fast", "blocking"},
               {OVERRIDE_MARGIN, "much", "want a number"},
               {OVERRIDE_MARGIN, "-1", "want 0 to 1000"},
               {OVERRIDE_NODE, "0", "want 1 to 100000"},
               {OVERRIDE_NODE, "8.5", "want a whole number"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct plan_settings s;
        struct err_msg msg = {""};
        enum err e = read(bad[i].id, bad[i].text, &s, &msg);
        cr_expect_eq(err_exit_code(e), 2, "%s", bad[i].text);
        cr_expect(strstr(msg.text, bad[i].wanted), "%s", msg.text);
    }
}
