#include "calibrate/ep_save.h"
#include "calibrate/overhead.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

enum { N_MB = 8 };
static const double SAVE_S = 4e-4;
static const char LAYOUT[] = "Et|t|t|t|t|t|t*2|mL"; // 4 ranks, 2 chunks each

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct schedule outline, overlapped;
    struct plan_context ctx; // of runs without overlap, as fit has it
    struct fit_run run;
    struct err_msg msg;
};

/* What the simulator says of the layout with these savings. */
static double step_with(struct fixture *f, double both_s)
{
    struct plan_context ctx = f->ctx;
    struct plan p;
    f->truth.ep_save =
        (struct cost_ep_save){true, both_s, both_s / 2, both_s / 2, 0};
    ctx.schedule = &f->overlapped;
    ctx.mode = P2P_OVERLAP;
    plan_context_costs(&ctx, &f->truth);
    f->truth.ep_save = (struct cost_ep_save){.known = false};
    cr_assert_eq(plan_predict(&f->arena, &ctx, &f->run.layout, &p, &f->msg),
                 ERR_OK, "%s", f->msg.text);
    return p.pred_step_s;
}

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.m = small_model(), .truth = study_costs()};
    f->m.batch = (struct batch){1, N_MB, N_MB, 32};
    f->truth.latency_s = 2e-5;
    f->truth.overhead_s = 1e-3;
    arena_init(&f->arena);
    const struct order one = {4, 1, N_MB, 4, false};
    const struct order two = {4, 2, N_MB, 4, true};
    cr_assert_eq(schedule_outline(&one, P2P_BLOCKING, &f->outline, &f->msg),
                 ERR_OK);
    cr_assert_eq(schedule_outline(&two, P2P_OVERLAP, &f->overlapped, &f->msg),
                 ERR_OK);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->truth,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->outline};
    f->run = synthetic_run(&f->arena, &f->m, &f->truth, LAYOUT, 0);
}

static struct cost fitted(struct fixture *f, enum err want)
{
    struct cost got = f->truth;
    enum err e = ep_save_fit(&f->ctx, &f->run, &got, &f->msg);
    cr_assert_eq(e, want, "%s", f->msg.text);
    return got;
}

Test(ep_save, the_predicted_step_becomes_the_measured_one)
{
    struct fixture f;
    set_up(&f);
    const double step = step_with(&f, SAVE_S);
    cr_assert_lt(step, step_with(&f, 0));
    synthetic_steps(&f.arena, &f.run, step);
    const struct cost got = fitted(&f, ERR_OK);
    cr_assert(got.ep_save.known);
    cr_expect_float_eq(got.ep_save.both_s, SAVE_S, 1e-5 * SAVE_S);
    cr_expect_float_eq(got.ep_save.forward_s, SAVE_S / 2, 1e-5 * SAVE_S);
    cr_expect_float_eq(got.ep_save.backward_s, SAVE_S / 2, 1e-5 * SAVE_S);
    cr_expect_float_eq(got.ep_save.se_s, 0, 1e-5 * SAVE_S);
    cr_expect_float_eq(step_with(&f, got.ep_save.both_s), step, 1e-8 * step);
    arena_clear(&f.arena);
}

/* The error is what the noise of a step moves the saving by. */
Test(ep_save, noise_of_the_step_becomes_its_error)
{
    struct fixture f;
    set_up(&f);
    const double step = step_with(&f, SAVE_S);
    synthetic_steps(&f.arena, &f.run, step);
    f.truth.step_noise_rel = 1e-3;
    const struct cost got = fitted(&f, ERR_OK);
    cr_assert_gt(got.ep_save.se_s, 0);
    const double moved = fmax(step - step_with(&f, SAVE_S + got.ep_save.se_s),
                              step_with(&f, SAVE_S - got.ep_save.se_s) - step);
    cr_expect_float_eq(moved, 1e-3 * step, 0.1e-3 * step);
    arena_clear(&f.arena);
}

/* Steady operations with a jitter of nearly nothing are the same step. */
Test(ep_save, a_trace_of_jitter_changes_nothing)
{
    struct fixture f;
    set_up(&f);
    synthetic_steps(&f.arena, &f.run, step_with(&f, SAVE_S));
    f.truth.jitter_cv = 1e-9;
    cr_expect_float_eq(fitted(&f, ERR_OK).ep_save.both_s, SAVE_S,
                       1e-4 * SAVE_S);
    arena_clear(&f.arena);
}

Test(ep_save, a_run_that_gained_nothing_saves_nothing)
{
    struct fixture f;
    set_up(&f);
    synthetic_steps(&f.arena, &f.run, 1.1 * step_with(&f, 0));
    const struct cost got = fitted(&f, ERR_OK);
    cr_assert(got.ep_save.known);
    cr_expect_float_eq(got.ep_save.both_s, 0, 0);
    arena_clear(&f.arena);
}

Test(ep_save, an_impossible_step_and_a_dense_model_are_refused)
{
    struct fixture f;
    set_up(&f);
    synthetic_steps(&f.arena, &f.run, 0.3 * step_with(&f, 0));
    fitted(&f, ERR_MODEL);
    cr_expect(strstr(f.msg.text, "shorter than"), "%s", f.msg.text);
    f.m.n_experts = 0;
    fitted(&f, ERR_MODEL);
    cr_expect(strstr(f.msg.text, "without experts"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

/* Megatron has no EP overlap with one chunk a rank and several ranks. */
Test(ep_save, a_run_with_one_chunk_a_rank_is_refused)
{
    struct fixture f;
    set_up(&f);
    f.run = synthetic_run(&f.arena, &f.m, &f.truth, "Et*3|t*3|t*2|mL", 0);
    fitted(&f, ERR_RANGE);
    cr_expect(strstr(f.msg.text, "Et*3|t*3|t*2|mL"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

/* One stage: the forward of a micro-batch beside the backward of the one
 * before; every layer meets its mirror, so M-1 combined operations save once a
 * layer (and MTP layer). */
Test(ep_save, one_stage_has_a_closed_form)
{
    struct fixture f;
    set_up(&f);
    f.m.par.pp = f.m.par.world = 1;
    const struct order one = {1, 1, N_MB, 1, false};
    cr_assert_eq(schedule_outline(&one, P2P_BLOCKING, &f.outline, &f.msg),
                 ERR_OK);
    f.run = synthetic_run(&f.arena, &f.m, &f.truth, "Et*8mL", 0);
    const struct cost_times t = cost_stage(&f.truth, &f.m, &f.run.layout, 0);
    synthetic_steps(&f.arena, &f.run,
                    N_MB * (t.fwd_s + t.bwd_s) + f.truth.overhead_s -
                        (N_MB - 1) * 9 * SAVE_S);
    const struct cost got = fitted(&f, ERR_OK);
    cr_expect_float_eq(got.ep_save.both_s, SAVE_S, 1e-5 * SAVE_S);
    arena_clear(&f.arena);
}
