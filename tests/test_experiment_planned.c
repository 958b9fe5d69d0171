/*
 * The order of an experiment's runs, made up: three targets of which the
 * second shares the runs of the first, two rounds, one layout profiled twice.
 */
#include "experiment/planned.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const profile[] = {"p", "q", "p"};
static struct target target[] = {
    {.role = ROLE_PICK, .layout = "x", .runs_of = 0},
    {.role = ROLE_COUNT_BASED, .layout = "x", .runs_of = 0},
    {.role = ROLE_DEFAULT, .layout = "y", .runs_of = 2}};
static const struct targets targets = {target, 3};
static const struct targets none = {NULL, 0};
static const struct planned plan = {profile, 3, &targets, 2};

/* "round layout nth" of each run of the walk, in one line. */
static const char *list(struct planned_walk w, char *text, size_t size)
{
    struct planned_run r;
    size_t n = 0;
    text[0] = '\0';
    while (planned_next(&w, &r) && n < size)
        n += (size_t)snprintf(text + n, size - n, "%d%s%d%s ", r.round,
                              r.layout ? r.layout : "?", r.nth,
                              r.shared ? "s" : "");
    return text;
}

Test(planned, profile_runs_come_first_then_rounds_that_rotate)
{
    char text[256];
    // round 2 begins with the second target, whose runs the first's serve
    cr_expect_str_eq(list(planned_all(&plan), text, sizeof text),
                     "0p0 0q0 0p1 1x0 1y0 2y0 2x0 ");
    cr_expect_eq(planned_count(planned_all(&plan)), 7);
}

Test(planned, roles_are_those_of_the_targets)
{
    struct planned_walk w = planned_between(&plan, 0, 1);
    struct planned_run r;
    cr_assert(planned_next(&w, &r));
    cr_expect_str_eq(r.role, "profile");
    cr_expect_null(r.target);
    w = planned_between(&plan, 1, 1);
    cr_assert(planned_next(&w, &r));
    cr_expect_str_eq(r.role, "pick");
    cr_expect_eq(r.target, &target[0]);
}

Test(planned, shared_runs_are_shown_when_asked_for)
{
    char text[256];
    struct planned_walk w = planned_between(&plan, 1, 2);
    w.shared = true;
    cr_expect_str_eq(list(w, text, sizeof text), "1x0 1x0s 1y0 2x0s 2y0 2x0 ");
}

Test(planned, before_profiling_only_profile_runs_are_known)
{
    char text[256];
    const struct planned early = {profile, 2, &none, 2};
    cr_expect_str_eq(list(planned_all(&early), text, sizeof text), "0p0 0q0 ");
    struct target pick = {.role = ROLE_PICK, .layout = NULL, .runs_of = 0};
    const struct targets unknown = {&pick, 1};
    const struct planned costs_from = {profile, 0, &unknown, 1};
    cr_expect_str_eq(list(planned_all(&costs_from), text, sizeof text), "1?0 ");
}
