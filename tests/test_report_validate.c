#include "report/validate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(validate, .init = setup, .fini = teardown);

/* A row whose prediction is `error` percent off a step of 100 ms. */
static struct validate_row row(const char *role, double error, double replay)
{
    return (struct validate_row){.experiment = "x",
                                 .role = role,
                                 .layout = "Et|tL",
                                 .pred_ms = 100 + error,
                                 .meas_ms = 100,
                                 .step_error_pct = error,
                                 .replay_error_pct = replay,
                                 .memory_error_pct = 0.1,
                                 .base_step_error_pct = NAN,
                                 .base_memory_error_pct = NAN};
}

static struct validate_verdict judge(struct validate_row *now, int n_now,
                                     struct validate_row *before, int n_before)
{
    struct validate_verdict v;
    struct err_msg msg = {""};
    struct validate_rows a = {now, n_now}, b = {before, n_before};
    cr_assert_eq(validate_judge(&arena, &a, &b, &v, &msg), ERR_OK, "%s",
                 msg.text);
    return v;
}

Test(validate, equal_errors_are_not_worse)
{
    struct validate_row now[] = {row("pick", -2, 0.1), row("default", 1, 0)};
    struct validate_row before[] = {now[0], now[1]};
    struct validate_verdict v = judge(now, 2, before, 2);
    cr_expect_not(v.worse, "%s", v.why);
    cr_expect_float_eq(v.step_error_pct, 1.5, 1e-12);
    cr_expect_float_eq(v.base_step_error_pct, 1.5, 1e-12);
}

Test(validate, the_sign_of_an_error_does_not_matter)
{
    struct validate_row now[] = {row("pick", 2, 0)};
    struct validate_row before[] = {row("pick", -2, 0)};
    cr_expect_not(judge(now, 1, before, 1).worse);
}

Test(validate, worse_begins_behind_the_margin)
{
    struct validate_row before[] = {row("pick", 1, 0)};
    struct validate_row near[] = {row("pick", 1.04, 0)};
    struct validate_row far[] = {row("pick", 1.06, 0)};
    cr_expect_not(judge(near, 1, before, 1).worse);
    struct validate_verdict v = judge(far, 1, before, 1);
    cr_expect(v.worse);
    cr_expect_str_eq(v.why, " step error");
}

Test(validate, a_large_replay_error_is_worse_without_a_baseline)
{
    struct validate_row now[] = {row("pick", 0, -0.6)};
    struct validate_verdict v = judge(now, 1, NULL, 0);
    cr_expect_eq(v.n_new, 1);
    cr_expect(v.worse);
    cr_expect_str_eq(v.why, " replay error");
}

Test(validate, larger_memory_errors_are_worse)
{
    struct validate_row now[] = {row("pick", 0, 0)};
    struct validate_row before[] = {row("pick", 0, 0)};
    now[0].memory_error_pct = 0.3;
    cr_expect_str_eq(judge(now, 1, before, 1).why, " memory error");
}

Test(validate, a_lost_layout_is_worse)
{
    struct validate_row now[] = {row("pick", 0, 0)};
    struct validate_row before[] = {row("pick", 0, 0), row("default", 0, 0)};
    struct validate_verdict v = judge(now, 1, before, 2);
    cr_expect_eq(v.n_lost, 1);
    cr_expect(v.worse);
}

Test(validate, another_measured_step_is_a_new_dataset)
{
    struct validate_row now[] = {row("pick", 5, 0)};
    struct validate_row before[] = {row("pick", 0, 0)};
    now[0].meas_ms = 100.5;
    struct validate_verdict v = judge(now, 1, before, 1);
    cr_expect_eq(v.n_new, 1);
    cr_expect_not(v.worse);
}

Test(validate, an_error_that_is_not_a_number_is_worse)
{
    struct validate_row now[] = {row("pick", NAN, 0)};
    struct validate_row before[] = {row("pick", 1, 0)};
    cr_expect(judge(now, 1, before, 1).worse);
}

Test(validate, what_is_not_known_passes_no_comparison)
{
    struct validate_row ok = row("pick", 1, 0.1), x = row("default", NAN, 0);
    struct validate_row now[] = {ok, x}, before[] = {ok};
    struct validate_verdict v = judge(now, 2, before, 1);
    cr_expect(v.worse && v.unknown, "a new row without a step error");
    cr_expect(judge(now + 1, 1, NULL, 0).worse, "and with no baseline at all");
    v = judge(now, 0, NULL, 0);
    cr_expect(v.worse && v.unknown, "no rows");
    cr_expect_str_eq(v.why, " no layouts");
    cr_expect(judge(now, 0, before, 1).worse, "no rows, but a baseline");
}

Test(validate, a_figure_that_was_known_must_stay_so)
{
    struct validate_row now[] = {row("pick", 1, NAN), row("default", 1, 0)};
    struct validate_row before[] = {row("pick", 1, NAN), row("default", 1, 0)};
    cr_expect_not(judge(now, 2, before, 2).worse, "never had a replay");
    before[0].replay_error_pct = 0.1;
    cr_expect_str_eq(judge(now, 2, before, 2).why,
                     " a replay error is not known");
    now[0] = before[0];
    now[0].memory_error_pct = NAN;
    cr_expect_str_eq(judge(now, 2, before, 2).why,
                     " a memory error is not known");
    struct validate_row alone[] = {row("pick", 1, NAN)};
    alone[0].wants_replay = true;
    cr_expect(judge(alone, 1, NULL, 0).unknown, "the dataset says so itself");
}

Test(validate, a_baseline_reads_as_written)
{
    char path[] = "/tmp/baseline-XXXXXX";
    struct err_msg msg = {""};
    struct validate_row rows[] = {row("pick", 1.0 / 3, NAN),
                                  row("default", -2, 0.1)};
    struct validate_row other[] = {row("pick", 7, 0)};
    other[0].experiment = "y";
    struct validate_rows now = {rows, 2}, kept = {other, 1}, back;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(validate_write_baseline(&arena, path, &now, &kept, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(validate_read_baseline(&arena, path, &back, &msg), ERR_OK,
                 "%s", msg.text);
    unlink(path);
    cr_assert_eq(back.n, 3);
    cr_expect_str_eq(back.row[0].experiment, "y");
    cr_expect_eq(back.row[1].step_error_pct, 1.0 / 3);
    cr_expect(isnan(back.row[1].replay_error_pct));
}

Test(validate, a_missing_baseline_has_no_rows)
{
    struct validate_rows back;
    struct err_msg msg;
    cr_assert_eq(
        validate_read_baseline(&arena, "/tmp/no-such-baseline", &back, &msg),
        ERR_OK);
    cr_expect_eq(back.n, 0);
}
