#include "experiment/calibrate.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

enum { N_MB = 6, N_RUNS = 2 };

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct schedule schedule;
    struct plan_context ctx;
    struct manifest manifest;
    struct run_record record[N_RUNS];
    struct run_list runs;
    struct calibrate_input in;
};

/* Two profile runs whose timers are what the costs say; steps take 1 s. */
static void set_up(struct fixture *f)
{
    static const char *const texts[N_RUNS] = {"E|t*2|t*5|tmL", "Et*3|t*4|tm|L"};
    struct err_msg msg = {""};
    *f = (struct fixture){.m = small_model(), .truth = study_costs()};
    arena_init(&f->arena);
    cr_assert_eq(schedule_1f1b(&f->arena, 4, N_MB, &f->schedule, &msg), ERR_OK);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->truth,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->schedule};
    f->manifest = (struct manifest){.name = "x", .warmup = 1};
    for (int i = 0; i < N_RUNS; i++)
        f->record[i] = (struct run_record){
            .folder = "no such folder", // no recorded operations
            .layout = texts[i],
            .source = "measured",
            .log_sha256 = "",
            .status = RUN_VALID,
            .log =
                *synthetic_run(&f->arena, &f->m, &f->truth, texts[i], 0).log};
    f->runs = (struct run_list){.run = f->record, .n = N_RUNS};
    f->in = (struct calibrate_input){.manifest = &f->manifest,
                                     .ctx = &f->ctx,
                                     .runs = &f->runs,
                                     .dir = "no such folder"};
}

static struct cost calibrated(struct fixture *f)
{
    struct calibration out;
    struct err_msg msg = {""};
    cr_assert_eq(calibrate(&f->arena, &f->in, NAN, &out, &msg), ERR_OK, "%s",
                 msg.text);
    return out.cost;
}

/* Times are divided by the run's speed, the mean of its steps over their
 * median: another run's steps in the mean would scale every cost. */
Test(calibrate, an_earlier_run_in_the_log_scales_nothing)
{
    struct fixture f;
    set_up(&f);
    struct cost alone = calibrated(&f);
    cr_assert_float_eq(alone.unit[KIND_T].fwd_s, f.truth.unit[KIND_T].fwd_s,
                       1e-9);
    for (int i = 0; i < N_RUNS; i++)
        f.record[i].log = *synthetic_restart(&f.arena, &f.record[i].log, 1000);
    struct cost behind = calibrated(&f);
    for (int k = 0; k < N_KINDS; k++) {
        cr_expect_float_eq(behind.unit[k].fwd_s, alone.unit[k].fwd_s, 0);
        cr_expect_float_eq(behind.unit[k].bwd_s, alone.unit[k].bwd_s, 0);
    }
    cr_expect_float_eq(behind.overhead_s, alone.overhead_s, 0);
    arena_clear(&f.arena);
}
