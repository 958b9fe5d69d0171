#include "calibrate/overhead.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

enum { N_MB = 6 };

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct schedule schedule;
    struct plan_context ctx;
    struct fit_run runs[2];
    struct err_msg msg;
};

/* Two runs whose steps are exactly the prediction of `truth`. */
static void set_up(struct fixture *f, double optimizer_slope)
{
    static const char *const texts[] = {"E|t*2|t*5|tmL", "Et*3|t*4|tm|L"};
    *f = (struct fixture){.m = small_model(), .truth = study_costs()};
    f->truth.overhead_s = 2e-3;
    f->truth.overhead_s_per_byte = 4e-9;
    f->truth.latency_s = 1e-5;
    arena_init(&f->arena);
    schedule_1f1b(&f->arena, 4, N_MB, &f->schedule, &f->msg);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->truth,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->schedule};
    for (int i = 0; i < 2; i++) {
        struct plan p;
        double ms[4];
        f->runs[i] = synthetic_run(&f->arena, &f->m, &f->truth, texts[i], 0);
        cr_assert_eq(
            plan_predict(&f->arena, &f->ctx, &f->runs[i].layout, &p, &f->msg),
            ERR_OK);
        struct runlog *log = arena_alloc(&f->arena, 1, sizeof *log);
        *log = *f->runs[i].log;
        struct log_iteration *it = arena_alloc(&f->arena, 4, sizeof *it);
        memcpy(it, log->iterations, 4 * sizeof *it);
        for (int k = 0; k < 4; k++)
            it[k].step_ms = p.pred_step_s * 1e3;
        log->iterations = it;
        for (int s = 0; s < 4; s++)
            ms[s] = 1 + 1e3 * optimizer_slope * 4 *
                            (double)memory_stage_params(&f->m, &p.parsed, s);
        if (optimizer_slope > 0)
            synthetic_timer(&f->arena, log, RUNLOG_OPTIMIZER, ms, 4);
        f->runs[i].log = log;
    }
}

Test(overhead, exact_runs_give_it_back)
{
    struct fixture f;
    set_up(&f, 4.2e-9); // the prior is 5% off: the runs decide
    struct cost got = f.truth;
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx,
                              &(struct overhead_runs){f.runs, 2}, &got, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    // within what the prior, 5% off, may pull at points taken as 2% uncertain
    cr_assert_float_eq(got.overhead_s_per_byte, 4e-9, 0.05 * 4e-9);
    double most = 0, want = 0;
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < 4; s++)
            most = fmax(most, 4 * (double)memory_stage_params(
                                      &f.m, &f.runs[i].layout, s));
    want = 2e-3 + 4e-9 * most;
    cr_assert_float_eq(got.overhead_s + got.overhead_s_per_byte * most, want,
                       0.01 * want);
    cr_assert_float_eq(got.step_noise_rel, 0, 1e-9);
    arena_clear(&f.arena);
}

Test(overhead, without_optimizer_timers_it_is_a_constant)
{
    struct fixture f;
    set_up(&f, 0);
    struct cost got = f.truth;
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx,
                              &(struct overhead_runs){f.runs, 2}, &got, &f.msg),
                 ERR_OK);
    cr_assert_float_eq(got.overhead_s_per_byte, 0, 0);
    cr_assert_gt(got.overhead_s, 2e-3);
    arena_clear(&f.arena);
}

Test(overhead, a_log_of_warm_up_only_is_refused)
{
    struct fixture f;
    set_up(&f, 0);
    struct runlog bare = *f.runs[0].log;
    bare.n_iterations = 1;
    f.runs[0].log = &bare;
    struct cost got = f.truth;
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx,
                              &(struct overhead_runs){f.runs, 2}, &got, &f.msg),
                 ERR_PARSE);
    arena_clear(&f.arena);
}

/* A log is appended to where a job is started again: the fit must not mix the
 * steps of one run with the timers of another. */
Test(overhead, an_earlier_run_in_the_log_changes_nothing)
{
    struct fixture f;
    set_up(&f, 4.2e-9);
    struct cost alone = f.truth, behind = f.truth;
    const struct overhead_runs runs = {f.runs, 2};
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx, &runs, &alone, &f.msg), ERR_OK);
    for (int i = 0; i < 2; i++)
        f.runs[i].log = synthetic_restart(&f.arena, f.runs[i].log, 1000);
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx, &runs, &behind, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    cr_expect_float_eq(behind.overhead_s, alone.overhead_s, 0);
    cr_expect_float_eq(behind.overhead_s_per_byte, alone.overhead_s_per_byte,
                       0);
    cr_expect_float_eq(behind.step_noise_rel, alone.step_noise_rel, 0);
    cr_expect_float_eq(behind.jitter_cv, alone.jitter_cv, 0);
    arena_clear(&f.arena);
}

/* With two chunks a rank the timers of a rank are shared out by the costs, so
 * that what is left of the step is exactly the overhead; the context is the one
 * of one chunk a rank. */
Test(overhead, runs_with_two_chunks_a_rank_give_it_back)
{
    static const char *const texts[] = {"Et|t|t|t|t|t|t*2|mL",
                                        "E|t*2|t|t|t|t*2||tmL"};
    struct fixture f;
    set_up(&f, 0);
    f.truth.overhead_s_per_byte = 0;
    f.m.batch = (struct batch){1, 8, 8, 32};
    const struct order one = {4, 1, 8, 4, false}, two = {4, 2, 8, 4, false};
    struct schedule base, chunks;
    cr_assert_eq(schedule_outline(&one, P2P_BLOCKING, &base, &f.msg), ERR_OK);
    cr_assert_eq(schedule_outline(&two, P2P_OVERLAP, &chunks, &f.msg), ERR_OK);
    f.ctx.n_mb = 8;
    for (int i = 0; i < 2; i++) {
        struct plan_context ctx = f.ctx;
        struct plan p;
        f.runs[i] = synthetic_run(&f.arena, &f.m, &f.truth, texts[i], 0);
        ctx.schedule = &chunks;
        ctx.mode = P2P_OVERLAP;
        cr_assert_eq(
            plan_predict(&f.arena, &ctx, &f.runs[i].layout, &p, &f.msg), ERR_OK,
            "%s", f.msg.text);
        synthetic_steps(&f.arena, &f.runs[i], p.pred_step_s);
    }
    f.ctx.schedule = &base;
    struct cost got = f.truth;
    got.overhead_s = 0;
    cr_assert_eq(overhead_fit(&f.arena, &f.ctx,
                              &(struct overhead_runs){f.runs, 2}, &got, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    cr_expect_float_eq(got.overhead_s, 2e-3, 1e-9);
    arena_clear(&f.arena);
}
