#include "regress/verdict.h"
#include "small_row.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct arena arena;
static const struct bounds *bounds; // NULL: the marks' own

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(verdict, .init = setup, .fini = teardown);

static struct verdict judge(struct validate_row *now, int n_now,
                            struct validate_row *before, int n_before)
{
    struct verdict v;
    struct err_msg msg = {""};
    struct validate_rows a = {now, n_now}, b = {before, n_before};
    const struct verdict_against by = {&b, bounds};
    cr_assert_eq(verdict_of(&arena, &a, &by, &v, &msg), ERR_OK, "%s", msg.text);
    return v;
}

static bool says(const struct verdict *v, const char *part)
{
    return v->worse && strstr(v->why, part) != NULL;
}

/* No other mark than this one is worse. */
static bool only(const struct verdict *v, enum mark m)
{
    int n = 0;
    for (int i = 0; i < N_MARKS; i++)
        n += marks_is_worse(v->state[i]);
    return v->worse && n == 1 && v->state[m] == MARK_WORSE && !*v->unknown;
}

Test(verdict, equal_errors_are_not_worse)
{
    struct validate_row now[] = {small_row("pick", -2, 0.1),
                                 small_row("default", 1, 0)};
    struct validate_row before[] = {now[0], now[1]};
    struct verdict v = judge(now, 2, before, 2);
    cr_expect_not(v.worse, "%s", v.why);
    cr_expect_float_eq(v.now.pct[MARK_MEAN], 1.5, 1e-12);
    cr_expect_float_eq(v.then.pct[MARK_MEAN], 1.5, 1e-12);
}

Test(verdict, the_sign_of_an_error_does_not_matter_to_the_mean)
{
    struct validate_row now[] = {small_row("pick", 0.2, 0)};
    struct validate_row before[] = {small_row("pick", -0.2, 0)};
    cr_expect_not(judge(now, 1, before, 1).worse);
}

Test(verdict, worse_begins_behind_the_margin)
{
    struct validate_row before[] = {small_row("pick", 1, 0)};
    struct validate_row near[] = {small_row("pick", 1.04, 0)};
    struct validate_row far[] = {small_row("pick", 1.06, 0)};
    cr_expect_not(judge(near, 1, before, 1).worse);
    struct verdict v = judge(far, 1, before, 1);
    cr_expect(only(&v, MARK_MEAN), "%s", v.why);
    cr_expect_str_eq(v.why,
                     " step error 1.060% (was 1.000%, may grow by 0.05)");
}

Test(verdict, a_large_replay_error_is_worse_without_a_baseline)
{
    struct validate_row now[] = {small_row("pick", 0, -0.6)};
    struct verdict v = judge(now, 1, NULL, 0);
    cr_expect_eq(v.n_new, 1);
    cr_expect_str_eq(v.why, " replay error 0.600% (may be 0.5)");
    cr_expect(only(&v, MARK_REPLAY));
}

Test(verdict, under_predicted_memory_has_no_room_and_over_predicted_some)
{
    struct validate_row before[] = {small_row("pick", 0, 0)},
                        now[] = {before[0]};
    now[0].memory_over_pct = 0.14;
    cr_expect_not(judge(now, 1, before, 1).worse);
    now[0].memory_over_pct = 0.16;
    struct verdict v = judge(now, 1, before, 1);
    cr_expect(only(&v, MARK_MEMORY_OVER), "%s", v.why);
    now[0] = before[0];
    now[0].memory_under_pct = 0.01;
    v = judge(now, 1, before, 1);
    cr_expect(only(&v, MARK_MEMORY_UNDER), "%s", v.why);
    now[0].memory_over_pct = 0; // less of the one does not pay for the other
    v = judge(now, 1, before, 1);
    cr_expect(only(&v, MARK_MEMORY_UNDER), "%s", v.why);
}

Test(verdict, a_missed_best_layout_is_worse)
{
    struct validate_row before[] = {small_row("pick", 1, 0),
                                    small_row("default", 1, 0)};
    struct validate_row now[] = {before[0], before[1]};
    now[0].regret_pct = now[1].regret_pct = 1.001;
    struct verdict v = judge(now, 2, before, 2);
    cr_expect(only(&v, MARK_REGRET), "%s", v.why);
    now[0].regret_pct = now[1].regret_pct = NAN;
    v = judge(now, 2, before, 2);
    cr_expect(says(&v, " the best layout is not known"), "%s", v.why);
    before[0].regret_pct = before[1].regret_pct = NAN;
    cr_expect_not(judge(now, 2, before, 2).worse, "nothing to choose ever");
}

Test(verdict, the_directions_of_a_step_have_bounds_of_their_own)
{
    // the mean stays: what one row loses another wins
    struct validate_row before[] = {small_row("pick", 2, 0),
                                    small_row("default", 2, 0)};
    struct validate_row over[] = {small_row("pick", 2.4, 0),
                                  small_row("default", 1.6, 0)};
    struct validate_row more[] = {small_row("pick", 2.6, 0),
                                  small_row("default", 1.4, 0)};
    struct validate_row under[] = {small_row("pick", -0.3, 0),
                                   small_row("default", 1, 0)};
    cr_expect_not(judge(over, 2, before, 2).worse);
    struct verdict v = judge(more, 2, before, 2);
    cr_expect(only(&v, MARK_OVER), "%s", v.why);
    v = judge(under, 2, before, 2);
    cr_expect(only(&v, MARK_UNDER), "%s", v.why);
}

Test(verdict, a_dataset_has_its_own_bounds)
{
    struct bound own = {.dataset = "x", .pct = {10, 10, 10, 10, 10, 10, 10}};
    struct bounds file = bounds_default();
    struct validate_row before[] = {small_row("pick", 1, 0)};
    struct validate_row now[] = {small_row("pick", 9, 5)};
    file.item = &own;
    file.n = 1;
    bounds = &file;
    cr_expect_not(judge(now, 1, before, 1).worse);
    own.dataset = "y";
    cr_expect(judge(now, 1, before, 1).worse, "they are another's");
    bounds = NULL;
}

Test(verdict, a_lost_layout_is_worse)
{
    struct validate_row now[] = {small_row("pick", 0, 0)};
    struct validate_row before[] = {small_row("pick", 0, 0),
                                    small_row("default", 0, 0)};
    struct verdict v = judge(now, 1, before, 2);
    cr_expect_eq(v.n_lost, 1);
    cr_expect(v.worse);
}

Test(verdict, another_measured_step_is_a_new_dataset)
{
    struct validate_row now[] = {small_row("pick", 5, 0)};
    struct validate_row before[] = {small_row("pick", 0, 0)};
    now[0].meas_ms = 100.5;
    struct verdict v = judge(now, 1, before, 1);
    cr_expect_eq(v.n_new, 1);
    cr_expect_not(v.worse);
}

Test(verdict, an_error_that_is_not_a_number_is_worse)
{
    struct validate_row now[] = {small_row("pick", NAN, 0)};
    struct validate_row before[] = {small_row("pick", 1, 0)};
    cr_expect(judge(now, 1, before, 1).worse);
}

/* fmax() takes 0 for a step error that is not known. */
Test(verdict, directions_of_unknown_errors_are_not_known)
{
    struct validate_row now[] = {small_row("pick", NAN, 0),
                                 small_row("default", 1, 0)};
    struct verdict v = judge(now, 2, NULL, 0);
    cr_expect(isnan(v.now.pct[MARK_OVER]) && isnan(v.now.pct[MARK_UNDER]));
}

/* It is held to a limit, not to the baseline. */
Test(verdict, the_replay_of_a_new_layout_counts_beside_old_ones)
{
    struct validate_row now[] = {small_row("pick", 1, 0),
                                 small_row("default", 1, 0.6)};
    struct validate_row before[] = {small_row("pick", 1, 0)};
    struct verdict v = judge(now, 2, before, 1);
    cr_expect_eq(v.n_new, 1);
    cr_expect(only(&v, MARK_REPLAY), "%s", v.why);
}

Test(verdict, what_is_not_known_passes_no_comparison)
{
    struct validate_row ok = small_row("pick", 1, 0.1),
                        x = small_row("default", NAN, 0);
    struct validate_row now[] = {ok, x}, before[] = {ok};
    struct verdict v = judge(now, 2, before, 1);
    cr_expect(v.worse && v.unknown, "a new row without a step error");
    cr_expect(judge(now + 1, 1, NULL, 0).worse, "and with no baseline at all");
    v = judge(now, 0, NULL, 0);
    cr_expect(v.worse && v.unknown, "no rows");
    cr_expect_str_eq(v.why, " no layouts");
    cr_expect(judge(now, 0, before, 1).worse, "no rows, but a baseline");
}

Test(verdict, a_figure_that_was_known_must_stay_so)
{
    struct validate_row now[] = {small_row("pick", 1, NAN),
                                 small_row("default", 1, 0)};
    struct validate_row before[] = {small_row("pick", 1, NAN),
                                    small_row("default", 1, 0)};
    cr_expect_not(judge(now, 2, before, 2).worse, "never had a replay");
    before[0].replay_error_pct = 0.1;
    struct verdict v = judge(now, 2, before, 2);
    cr_expect(says(&v, " a replay error is not known"), "%s", v.why);
    now[0] = before[0];
    now[0].memory_error_pct = NAN;
    v = judge(now, 2, before, 2);
    cr_expect(says(&v, " a memory error is not known"), "%s", v.why);
    struct validate_row alone[] = {small_row("pick", 1, NAN)};
    alone[0].wants_replay = true;
    cr_expect(judge(alone, 1, NULL, 0).unknown, "the dataset says so itself");
}
