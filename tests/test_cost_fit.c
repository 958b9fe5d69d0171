#include "cost/fit.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

static const double EXACT = 1e-9; // relative: timers without noise

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct fit fit;
    struct err_msg msg;
};

static enum err fit_two(struct fixture *f, const char *x, const char *y,
                        double wiggle)
{
    arena_init(&f->arena);
    struct fit_run runs[] = {
        synthetic_run(&f->arena, &f->m, &f->truth, x, wiggle),
        synthetic_run(&f->arena, &f->m, &f->truth, y, -wiggle)};
    return fit_costs(&f->arena, &(struct fit_input){&f->m, runs, 2}, &f->fit,
                     &f->msg);
}

static void check_units(const struct fixture *f, double tolerance)
{
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *got = &f->fit.cost.unit[k];
        const struct unit_cost *want = &f->truth.unit[k];
        cr_expect_eq(got->known, want->known, "%s",
                     kind_name((enum unit_kind)k));
        cr_expect_float_eq(got->fwd_s, want->fwd_s, tolerance * want->fwd_s);
        cr_expect_float_eq(got->bwd_s, want->bwd_s, tolerance * want->bwd_s);
    }
}

Test(fit, noiseless_timers_give_the_costs_back)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    f.truth.chunk_s = 4e-5;
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*4|tm|L", 0), ERR_OK, "%s",
                 f.msg.text);
    check_units(&f, EXACT);
    cr_assert_float_eq(f.fit.cost.chunk_s, 4e-5, EXACT);
    cr_assert_eq(f.fit.rank, f.fit.n_unknowns);
    cr_assert_eq(f.fit.n_residuals, 8);
    cr_assert_eq(f.fit.cost.source, COST_MEASURED);
    cr_assert_eq(f.fit.cost.n_fitted, 2);
    arena_clear(&f.arena);
}

Test(fit, moe_train_timers_add_no_constant)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*4|tm|L", 0.01), ERR_OK);
    cr_assert_float_eq(f.fit.cost.chunk_s, 0, 0);
    cr_assert(strstr(f.fit.note, "do not synchronise"), "%s", f.fit.note);
    arena_clear(&f.arena);
}

/* Leaving a constant out that is there would move every cost. */
Test(fit, a_constant_within_the_noise_is_kept_and_covered)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    f.truth.chunk_s = 1e-4;
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*4|tm|L", 0.01), ERR_OK);
    const struct unit_cost *got = &f.fit.cost.unit[KIND_T];
    cr_assert_float_eq(got->fwd_s, 1e-3, 1.96 * got->fwd_se);
    cr_assert_gt(f.fit.cost.chunk_s, 0);
    arena_clear(&f.arena);
}

Test(fit, intervals_hold_the_truth_under_noise)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*4|tm|L", 0.02), ERR_OK);
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *got = &f.fit.cost.unit[k];
        if (!got->known)
            continue;
        cr_expect_gt(got->fwd_se, 0);
        cr_expect_float_eq(got->fwd_s, f.truth.unit[k].fwd_s,
                           1.96 * got->fwd_se, "%s",
                           kind_name((enum unit_kind)k));
    }
    arena_clear(&f.arena);
}

Test(fit, m_and_L_always_together_become_one_unit)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*2|t*2|tmL", 0), ERR_OK,
                 "%s", f.msg.text);
    cr_assert(f.fit.cost.joint_ml);
    cr_assert(strstr(f.fit.note, "mL"), "%s", f.fit.note);
    double both = f.truth.unit[KIND_M].fwd_s + f.truth.unit[KIND_L].fwd_s;
    cr_assert_float_eq(f.fit.cost.unit[KIND_L].fwd_s, both, EXACT * both);
    cr_assert_not(f.fit.cost.unit[KIND_M].known);
    arena_clear(&f.arena);
}

Test(fit, what_cannot_be_told_apart_names_a_layout_that_would)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    f.m.par.pp = f.m.par.world = 2;
    cr_assert_eq(fit_two(&f, "Et*4|t*4mL", "Et*4|t*4mL", 0), ERR_MODEL);
    cr_assert(strstr(f.msg.text, "such as '"), "%s", f.msg.text);
    char text[64];
    cr_assert_eq(
        sscanf(strstr(f.msg.text, "such as '"), "such as '%63[^']", text), 1);
    arena_clear(&f.arena);
    cr_assert_eq(fit_two(&f, "Et*4|t*4mL", text, 0), ERR_OK, "%s: %s", text,
                 f.msg.text);
    arena_clear(&f.arena);
}

Test(fit, swapped_logs_show_as_misfit)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    cr_assert_eq(fit_two(&f, "E|t*3|t*4|tmL", "Et*3|t*4|tm|L", 0.01), ERR_OK);
    cr_assert_lt(f.fit.worst_misfit, 0.03);
    arena_clear(&f.arena);
    arena_init(&f.arena);
    struct fit_run runs[] = {
        synthetic_run(&f.arena, &f.m, &f.truth, "E|t*3|t*4|tmL", 0),
        synthetic_run(&f.arena, &f.m, &f.truth, "Et*3|t*4|tm|L", 0)};
    const struct runlog *first = runs[0].log;
    runs[0].log = runs[1].log;
    runs[1].log = first;
    cr_assert_eq(
        fit_costs(&f.arena, &(struct fit_input){&f.m, runs, 2}, &f.fit, &f.msg),
        ERR_OK);
    cr_assert_gt(f.fit.worst_misfit, 0.15);
    arena_clear(&f.arena);
}

Test(fit, runs_without_timers_say_which_flag)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    arena_init(&f.arena);
    struct fit_run run =
        synthetic_run(&f.arena, &f.m, &f.truth, "Et*2|t*2|t*2|t*2mL", 0);
    struct runlog bare = *run.log;
    bare.n_timers = 0;
    run.log = &bare;
    cr_assert_eq(
        fit_costs(&f.arena, &(struct fit_input){&f.m, &run, 1}, &f.fit, &f.msg),
        ERR_PARSE);
    cr_assert(strstr(f.msg.text, "--timing-log-level 2"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

Test(fit, a_slow_run_is_corrected_by_its_speed)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    arena_init(&f.arena);
    struct cost slow = f.truth;
    for (int k = 0; k < N_KINDS; k++) {
        slow.unit[k].fwd_s *= 1.25;
        slow.unit[k].bwd_s *= 1.25;
    }
    struct fit_run runs[] = {
        synthetic_run(&f.arena, &f.m, &slow, "E|t*3|t*4|tmL", 0),
        synthetic_run(&f.arena, &f.m, &f.truth, "Et*3|t*4|tm|L", 0)};
    runs[0].speed = 1.25;
    cr_assert_eq(
        fit_costs(&f.arena, &(struct fit_input){&f.m, runs, 2}, &f.fit, &f.msg),
        ERR_OK);
    check_units(&f, EXACT);
    arena_clear(&f.arena);
}

/* ---- several chunks a rank ---- */

/* Timers of a rank add up its two chunks, and the constant comes twice. */
Test(fit, timers_of_two_chunks_a_rank_give_the_costs_back)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    f.truth.chunk_s = 4e-5;
    cr_assert_eq(fit_two(&f, "Et*2|t|t|t|t|t|t|mL", "E|t*2|t*3||t|t|tm|L", 0),
                 ERR_OK, "%s", f.msg.text);
    check_units(&f, EXACT);
    cr_expect_float_eq(f.fit.cost.chunk_s, 4e-5, EXACT);
    cr_expect_eq(f.fit.n_residuals, 8, "a row is a rank, not a stage");
    cr_expect_lt(f.fit.worst_misfit, EXACT);
    arena_clear(&f.arena);
}

Test(fit, runs_with_one_and_with_two_chunks_go_together)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    f.truth.chunk_s = 1e-4;
    cr_assert_eq(fit_two(&f, "Et*3|t*4|tm|L", "Et|t*3|t||t|t|t|mL", 0), ERR_OK,
                 "%s", f.msg.text);
    check_units(&f, EXACT);
    cr_expect_float_eq(f.fit.cost.chunk_s, 1e-4, EXACT);
    arena_clear(&f.arena);
}

/* Two chunks a rank: the layout to add has as many. */
Test(fit, the_layout_to_add_has_as_many_chunks)
{
    struct fixture f = {.m = small_model(), .truth = study_costs()};
    struct layout l;
    f.m.par.pp = f.m.par.world = 2;
    cr_assert_eq(fit_two(&f, "Et*2|t*2|t*2|t*2mL", "Et*2|t*2|t*2|t*2mL", 0),
                 ERR_MODEL);
    char text[64];
    const char *at = strstr(f.msg.text, "such as '");
    cr_assert(at && sscanf(at, "such as '%63[^']", text) == 1, "%s",
              f.msg.text);
    cr_assert_eq(layout_read_question(&f.arena,
                                      &(struct layout_question){
                                          text, 2, f.m.n_layers, f.m.n_mtp},
                                      &l, &f.msg),
                 ERR_OK);
    cr_expect_eq(l.vpp, 2);
    arena_clear(&f.arena);
    cr_assert_eq(fit_two(&f, "Et*2|t*2|t*2|t*2mL", text, 0), ERR_OK, "%s: %s",
                 text, f.msg.text);
    arena_clear(&f.arena);
}
