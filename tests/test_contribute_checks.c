#include "contribute/checks.h"
#include "contribute/missing.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 16 layers of 2048 with 64 experts of 1024, on 4 ranks: about 40% of an H100's
 * peak at 1.7 s a step. */
static const double GOOD_S = 1.7;

static const char *const flags[] = {"--num-layers",
                                    "16",
                                    "--hidden-size",
                                    "2048",
                                    "--num-attention-heads",
                                    "16",
                                    "--num-experts",
                                    "64",
                                    "--moe-ffn-hidden-size",
                                    "1024",
                                    "--moe-router-topk",
                                    "8",
                                    "--vocab-size",
                                    "128256",
                                    "--seq-length",
                                    "4096",
                                    "--micro-batch-size",
                                    "1",
                                    "--global-batch-size",
                                    "64",
                                    "--world-size",
                                    "4",
                                    "--mtp-num-layers",
                                    "1",
                                    "--pipeline-model-parallel-size",
                                    "4",
                                    "--swiglu",
                                    "--bf16",
                                    "--position-embedding-type",
                                    "rope"};
enum { N_FLAGS_GIVEN = sizeof flags / sizeof flags[0] };

static struct arena a;
static struct contribution c;

static struct contribution_run *another(void)
{
    struct contribution_run *r = NULL;
    cr_assert_eq(contribution_add(&c, &r, NULL), ERR_OK);
    return r;
}

static void add(const char *layout, double step_s)
{
    struct err_msg msg = {""};
    struct megatron_args *args = megatron_args_new(&a);
    char *argv[N_FLAGS_GIVEN];
    const struct megatron_args_options opt = {.strict = true};
    for (int i = 0; i < N_FLAGS_GIVEN; i++)
        argv[i] = arena_strdup(&a, flags[i]);
    cr_assert(megatron_args_read(args, argv, N_FLAGS_GIVEN, &opt, &msg) ==
                  ERR_OK,
              "%s", msg.text);
    struct contribution_run *r = another();
    r->name = layout;
    r->step_s = step_s;
    r->q25 = 0.99 * step_s;
    r->q75 = 1.01 * step_s;
    r->n_used = 40;
    cr_assert(contribution_judge(&c, args, layout, r, &msg) == ERR_OK, "%s",
              msg.text);
}

/* Two good runs; what a test changes is wrong. */
static void setup(void)
{
    const struct contribution_begin b = {.gpu = "H100"};
    struct err_msg msg;
    arena_init(&a);
    cr_assert(contribution_init(&a, &b, &c, &msg) == ERR_OK, "%s", msg.text);
    add("Et*4|t*4|t*4|t*4mL", GOOD_S);
    add("Et*5|t*5|t*4|t*2mL", 0.9 * GOOD_S);
    c.n_series = 2;
}

static void teardown(void)
{
    arena_clear(&a);
}

static struct checks ask(const char *const *others)
{
    struct checks k;
    struct err_msg msg;
    cr_assert(checks_ask(&c, others, &k, &msg) == ERR_OK, "%s", msg.text);
    return k;
}

TestSuite(contribute_checks, .init = setup, .fini = teardown);

Test(contribute_checks, good_runs_pass)
{
    const struct checks k = ask(NULL);
    for (int i = 0; i < N_CHECKS; i++)
        cr_expect(k.answer[i] == CHECK_YES, "%s: %s",
                  check_name((enum check_id)i), k.text[i]);
    cr_expect(checks_pass(&k) && k.mfu_lo > 0.1 && k.mfu_hi < 0.75);
}

Test(contribute_checks, few_iterations_are_doubted_or_refused)
{
    c.run[0].n_used = CHECK_FEW - 1;
    cr_expect(ask(NULL).answer[CHECK_ITERATIONS] == CHECK_DOUBT);
    c.run[1].n_used = CHECK_FEWEST - 1;
    const struct checks k = ask(NULL);
    cr_expect(k.answer[CHECK_ITERATIONS] == CHECK_NO && !checks_pass(&k));
    cr_expect(strstr(k.text[CHECK_ITERATIONS], "Et*5|"));
}

Test(contribute_checks, scatter_is_doubted_or_refused)
{
    c.run[0].q75 = 1.12 * c.run[0].step_s;
    cr_expect(ask(NULL).answer[CHECK_SPREAD] == CHECK_DOUBT);
    c.run[0].q75 = 1.9 * c.run[0].step_s;
    cr_expect(ask(NULL).answer[CHECK_SPREAD] == CHECK_NO);
}

Test(contribute_checks, seconds_for_milliseconds_are_named)
{
    c.from = CONTRIBUTION_TYPED;
    c.run[0].step_s = GOOD_S * 1e-3;
    const struct checks k = ask(NULL);
    cr_expect(k.answer[CHECK_UNITS] == CHECK_NO);
    cr_expect(strstr(k.text[CHECK_UNITS], "in seconds?"), "%s",
              k.text[CHECK_UNITS]);
}

Test(contribute_checks, microseconds_for_milliseconds_are_named)
{
    c.from = CONTRIBUTION_TYPED;
    c.run[0].step_s = 1e4 * GOOD_S;
    cr_expect(strstr(ask(NULL).text[CHECK_UNITS], "microseconds"));
    c.run[0].step_s = 1e9 * GOOD_S; // no unit makes that possible
    cr_expect(ask(NULL).answer[CHECK_RATE] == CHECK_NO);
}

Test(contribute_checks, a_log_is_not_asked_for_its_unit)
{
    c.run[0].step_s = GOOD_S * 1e-3;
    const struct checks k = ask(NULL);
    cr_expect(k.answer[CHECK_UNITS] == CHECK_YES &&
              k.answer[CHECK_RATE] == CHECK_NO);
}

Test(contribute_checks, a_rate_above_the_peak_is_refused)
{
    c.run[0].step_s = GOOD_S / 8;
    const struct checks k = ask(NULL);
    cr_expect(!checks_pass(&k) && k.mfu_hi > 1);
}

Test(contribute_checks, a_rate_far_from_the_printed_one_is_doubted)
{
    c.run[0].printed_tflops = 4;
    cr_expect(ask(NULL).answer[CHECK_RATE] == CHECK_DOUBT);
    c.run[0].printed_tflops = 1e5;
    cr_expect(ask(NULL).answer[CHECK_RATE] == CHECK_DOUBT);
}

Test(contribute_checks, a_small_share_of_the_peak_is_doubted)
{
    c.run[0].step_s = 60 * GOOD_S;
    const struct checks k = ask(NULL);
    cr_expect(k.answer[CHECK_RATE] == CHECK_DOUBT && k.mfu_lo < 0.01);
}

Test(contribute_checks, the_same_log_twice_is_refused)
{
    memset(c.run[0].log_sha256, 'a', TEXT_SHA256_HEX - 1);
    memset(c.run[1].log_sha256, 'a', TEXT_SHA256_HEX - 1);
    cr_expect(ask(NULL).answer[CHECK_DUPLICATES] == CHECK_NO);
    c.run[1].log_sha256[0] = 'b';
    cr_expect(ask(NULL).answer[CHECK_DUPLICATES] == CHECK_YES);
}

Test(contribute_checks, picked_runs_are_refused)
{
    c.n_series = 0;
    cr_expect(ask(NULL).answer[CHECK_SERIES] == CHECK_DOUBT);
    c.n_series = 5;
    cr_expect(ask(NULL).answer[CHECK_SERIES] == CHECK_NO);
    c.n_series = 0;
    c.is_planned = true;
    cr_expect(ask(NULL).answer[CHECK_SERIES] == CHECK_YES);
    contribution_lose(&c, "pick, round 2", "not there", NULL);
    c.n_absent = 1;
    cr_expect(strstr(ask(NULL).text[CHECK_SERIES], "pick, round 2"));
}

Test(contribute_checks, one_layout_is_doubted)
{
    c.n = 1;
    cr_expect(ask(NULL).answer[CHECK_LAYOUTS] == CHECK_DOUBT);
}

Test(contribute_checks, another_model_is_refused)
{
    struct err_msg msg;
    struct contribution_run *r = another();
    struct megatron_args *args = megatron_args_copy(&a, c.args);
    r->name = "x.log";
    flags_set_int(megatron_args_flags(args), FLAG_HIDDEN_SIZE, 1024);
    cr_expect(contribution_judge(&c, args, NULL, r, &msg) == ERR_RANGE);
    cr_expect(strstr(msg.text, "another model"), "%s", msg.text);
}

Test(contribute_checks, what_megatron_refuses_is_refused)
{
    struct err_msg msg;
    struct contribution_run *r = another();
    r->name = "x.log";
    cr_expect(contribution_judge(&c, c.args, "Et*4|t*4|t*4|t*3mL", r, &msg) ==
              ERR_MODEL);
}

Test(contribute_checks, missing_and_computable_follow_from_what_is_there)
{
    struct missing m;
    missing_look(&c, &m);
    const int before = m.n_lacks;
    c.run[0].peak_bytes = 1 << 30;
    missing_look(&c, &m);
    cr_expect(m.n_lacks == before - 1 && m.n_gives >= 4);
}

Test(contribute_checks, names_of_cards_are_plain)
{
    static const char *const bad[] = {"", "/home/alice", "a b/c", "h100;x",
                                      "../h100"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct contribution x;
        const struct contribution_begin b = {.gpu = bad[i]};
        cr_expect(contribution_init(&a, &b, &x, NULL) == ERR_RANGE, "%s",
                  bad[i]);
    }
    cr_expect_str_eq(c.gpu, "h100");
    cr_expect(strncmp(contribution_name(&c), "h100-4x-20", 10) == 0);
}

/* It is a limit of this program: nothing is short of memory. */
Test(contribute_checks, more_runs_than_there_is_room_for_are_named)
{
    struct err_msg msg = {""};
    struct contribution_run *r;
    while (c.n < 512)
        another();
    cr_expect_eq(contribution_add(&c, &r, &msg), ERR_RANGE);
    cr_expect(strstr(msg.text, "512 runs"), "%s", msg.text);
    while (c.n_lost < 512)
        cr_assert_eq(contribution_lose(&c, "x", "y", &msg), ERR_OK);
    cr_expect_eq(contribution_lose(&c, "x", "y", &msg), ERR_RANGE);
}

/* The first of several logs may be the one with flags of a fork. */
Test(contribute_checks, flags_of_any_run_that_are_not_understood_are_doubted)
{
    struct megatron_args *plain = megatron_args_copy(&a, c.args);
    struct megatron_args *fork = megatron_args_copy(&a, c.args);
    struct err_msg msg;
    account_change(megatron_args_account(fork), "--own-mixer", "not known");
    cr_assert_eq(contribution_judge(&c, fork, c.run[0].layout, &c.run[0], &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(
        contribution_judge(&c, plain, c.run[1].layout, &c.run[1], &msg), ERR_OK,
        "%s", msg.text);
    cr_expect_eq(ask(NULL).answer[CHECK_RUN], CHECK_DOUBT);
}
