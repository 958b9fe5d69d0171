#include "report/validate.h"
#include "small_row.h"

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

Test(validate, a_baseline_reads_as_written)
{
    char path[] = "/tmp/baseline-XXXXXX";
    struct err_msg msg = {""};
    struct validate_row rows[] = {small_row("pick", 1.0 / 3, NAN),
                                  small_row("default", -2, 0.1)};
    struct validate_row other[] = {small_row("pick", 7, 0)};
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
    cr_expect_eq(back.row[1].memory_over_pct, 0.1);
    cr_expect_eq(back.row[1].memory_under_pct, 0);
    cr_expect_eq(back.row[1].regret_pct, 1);
}

Test(validate, a_baseline_without_directions_bounds_both_by_the_largest)
{
    static const char text[] =
        "format,experiment,role,layout,pred_step_ms,meas_step_ms,"
        "step_error_pct,replay_error_pct,max_memory_error_pct\n"
        "moe-bench/baseline/1,x,pick,Et|tL,1,1,0,,3\n";
    char path[] = "/tmp/baseline-XXXXXX";
    struct err_msg msg = {""};
    struct validate_rows back;
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    close(fd);
    cr_assert_eq(validate_read_baseline(&arena, path, &back, &msg), ERR_OK,
                 "%s", msg.text);
    unlink(path);
    cr_assert_eq(back.n, 1);
    cr_expect_eq(back.row[0].memory_over_pct, 3);
    cr_expect_eq(back.row[0].memory_under_pct, 3);
    cr_expect(isnan(back.row[0].regret_pct));
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
