#include "report/summary.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEAR 1e-9 // sums of a few numbers

static struct arena arena;
static char dir[] = "/tmp/summary-XXXXXX";

static void put(const char *name, const char *text)
{
    struct err_msg msg = {""};
    const char *path = arena_printf(&arena, "%s/%s", dir, name);
    cr_assert_eq(text_write_file(path, text, strlen(text), &msg), ERR_OK, "%s",
                 msg.text);
}

static const char layouts[] =
    "format,role,layout,pred_step_ms,pred_lo_ms,pred_hi_ms,meas_step_ms,"
    "meas_lo_ms,meas_hi_ms,step_error_pct,replay_error_pct,meas_speedup\n"
    "x,pick,A,102,98,106,100,99,104,2,-0.1,1.5\n"
    "x,default,B,144,140,145,150,147,152,-4,0.2,1\n"
    "x,flops-pick,A,102,98,106,100,99,104,2,-0.1,1.5\n"
    "x,neighbour,C,99,97,101,98,97,99.5,3,,1.53\n";

static const char runs[] = "format,round,layout,status,meas_step_corr_ms\n"
                           "x,0,B,valid,500\n"
                           "x,1,A,valid,99\n"
                           "x,1,B,valid,150\n"
                           "x,2,A,valid,101\n"
                           "x,2,B,failed,\n";

static const char stages[] = "format,role,mem_error_pct\n"
                             "x,pick,0.25\nx,pick,-0.75\nx,default,\n";

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
    put("layouts.csv", layouts);
    put("runs.csv", runs);
    put("stages.csv", stages);
}

static void teardown(void)
{
    static const char *const names[] = {"layouts.csv", "runs.csv",
                                        "stages.csv"};
    for (int i = 0; i < 3; i++)
        unlink(arena_printf(&arena, "%s/%s", dir, names[i]));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(summary, .init = setup, .fini = teardown);

static struct summary read_all(void)
{
    struct summary s;
    struct err_msg msg = {""};
    cr_assert_eq(summary_read(&arena, dir, &s, &msg), ERR_OK, "%s", msg.text);
    return s;
}

Test(summary, a_layout_of_two_roles_counts_once)
{
    struct summary s = read_all();
    cr_expect_eq(s.n_layouts, 3);
    cr_expect_float_eq(s.mean_step_error_pct, 3, NEAR);
    cr_expect_float_eq(s.max_step_error_pct, 4, NEAR);
    cr_expect_str_eq(s.max_step_role, "default");
}

Test(summary, replay_and_memory_errors_are_absolute)
{
    struct summary s = read_all();
    cr_expect_float_eq(s.mean_replay_error_pct, 0.15, NEAR);
    cr_expect_float_eq(s.max_replay_error_pct, 0.2, NEAR);
    cr_expect_float_eq(s.max_memory_error_pct, 0.75, NEAR);
    cr_expect_eq(s.cause, CAUSE_COSTS);
}

Test(summary, counts_intervals_that_meet)
{
    struct summary s = read_all();
    cr_expect_eq(s.n_intervals, 3);
    cr_expect_eq(s.n_meeting, 2); // 145 < 147
}

Test(summary, noise_is_of_valid_measured_runs_of_one_layout)
{
    struct summary s = read_all();
    cr_expect_eq(s.n_noise_runs, 2);
    cr_expect_eq(s.n_noise_layouts, 1);
    cr_expect_float_eq(s.noise_pct, 100 * sqrt(2 * 0.01 * 0.01), NEAR);
}

Test(summary, the_pick_is_placed_among_the_measured)
{
    struct summary s = read_all();
    cr_expect_str_eq(s.best_role, "neighbour");
    cr_expect_float_eq(s.pick_over_best_pct, 100 * (100.0 / 98 - 1), NEAR);
    cr_expect(s.pick_meets_best);
}

static bool accepts(enum accept_bound which, double bound)
{
    struct summary s = read_all();
    struct manifest_accept x;
    FILE *out = fopen("/dev/null", "w");
    for (int i = 0; i < N_ACCEPT; i++)
        x.bound[i] = NAN;
    x.bound[which] = bound;
    bool ok = summary_accept(&s, &x, out);
    fclose(out);
    return ok;
}

Test(summary, bounds_hold_or_are_missed)
{
    cr_expect(accepts(ACCEPT_MAX_STEP, 4));
    cr_expect_not(accepts(ACCEPT_MAX_STEP, 3.9));
    cr_expect(accepts(ACCEPT_MAX_REPLAY, 0.2));
    cr_expect_not(accepts(ACCEPT_MAX_REPLAY, 0.1));
    cr_expect_not(accepts(ACCEPT_MAX_MEMORY, 0.7));
    cr_expect(accepts(ACCEPT_SPEEDUP, 1.5));
    cr_expect_not(accepts(ACCEPT_SPEEDUP, 1.6));
}

static bool pick_holds(double over_best_pct, bool intervals_meet)
{
    struct summary s = {.pick_over_best_pct = over_best_pct,
                        .pick_meets_best = intervals_meet,
                        .noise_pct = 1};
    struct manifest_accept x;
    FILE *out = fopen("/dev/null", "w");
    for (int i = 0; i < N_ACCEPT; i++)
        x.bound[i] = NAN;
    x.bound[ACCEPT_WITHIN_BEST] = 1.5;
    bool ok = summary_accept(&s, &x, out);
    fclose(out);
    return ok;
}

Test(summary, a_pick_behind_the_best_by_more_than_noise_is_missed)
{
    cr_expect(pick_holds(1.4, false), "within the bound");
    cr_expect(pick_holds(1.9, false), "within twice the noise");
    cr_expect_not(pick_holds(2.1, false));
    cr_expect(pick_holds(2.1, true), "the intervals overlap");
}

Test(summary, a_pick_that_was_not_measured_is_within_no_bound)
{
    cr_expect_not(pick_holds(NAN, true), "whatever intervals say");
    cr_expect_not(pick_holds(NAN, false));
    cr_expect_not(pick_holds(INFINITY, true), "the best took 0 ms");
}

Test(summary, the_mean_error_may_be_twice_the_noise)
{
    cr_expect(accepts(ACCEPT_MEAN_STEP, 3));
    // twice the noise is 2.83: below the mean error of 3
    cr_expect_not(accepts(ACCEPT_MEAN_STEP, 2.9));
}

Test(summary, a_bound_on_an_unknown_figure_is_missed)
{
    put("stages.csv", "format,role,mem_error_pct\nx,pick,\n");
    cr_expect_not(accepts(ACCEPT_MAX_MEMORY, 100));
}

Test(summary, a_missing_column_is_named)
{
    struct summary s;
    struct err_msg msg = {""};
    put("runs.csv", "format,round\nx,1\n");
    cr_expect_eq(summary_read(&arena, dir, &s, &msg), ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "meas_step_corr_ms"), "%s", msg.text);
}
