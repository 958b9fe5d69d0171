#include "experiment/judge.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

struct ending {
    bool timed_out;
    int exit_code, n_iterations;
    enum log_failure failure;
    enum run_status wanted;
    char reason[60]; // part of it
};

ParameterizedTestParameters(judge, judges_by_log_and_exit_status)
{
    static struct ending cases[] = {
        {false, 0, 5, LOG_OK, RUN_VALID, ""},
        {false, 0, 3, LOG_OK, RUN_FAILED, "the log ends at iteration 3 of 5"},
        {false, 0, 0, LOG_OK, RUN_FAILED, "the log ends at iteration 0 of 5"},
        {false, 1, 3, LOG_OK, RUN_FAILED, "exit status 1 at iteration 3 of 5"},
        {false, 1, 5, LOG_OK, RUN_FAILED, "exit status 1"},
        {false, -1, 3, LOG_OK, RUN_FAILED, "killed by a signal"},
        {true, -1, 2, LOG_OK, RUN_TIMEOUT, "limits.run_s = 9 s at iteration 2"},
        {true, -1, 2, LOG_OOM, RUN_TIMEOUT, "limits.run_s"},
        {false, 1, 1, LOG_OOM, RUN_OOM, "'oom' on rank 3"},
        {false, 0, 5, LOG_NAN, RUN_NAN, "'nan'"},
        {false, 1, 0, LOG_ASSERT, RUN_FAILED, "'assert'"},
        {false, 1, 2, LOG_HANG, RUN_FAILED, "'hang'"},
        {false, 0, 2, LOG_TRUNCATED, RUN_FAILED, "ends at iteration 2 of 5"},
    };
    return cr_make_param_array(struct ending, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct ending *c, judge, judges_by_log_and_exit_status)
{
    struct log_iteration it[5];
    struct arena a;
    arena_init(&a);
    for (int i = 0; i < 5; i++)
        it[i] = (struct log_iteration){
            .iteration = i + 1, .step_ms = 10, .usable = true};
    struct run_record run = {.log = {.iterations = it,
                                     .n_iterations = (size_t)c->n_iterations,
                                     .failure = c->failure,
                                     .failure_rank = 3}};
    const struct run_ending end = {.timed_out = c->timed_out,
                                   .limit_s = 9,
                                   .exit_code = c->exit_code,
                                   .wanted_iterations = 5,
                                   .warmup = 1};
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, c->wanted, "got %s (%s)",
                 run_status_name(run.status), run.reason);
    cr_expect_not_null(strstr(run.reason, c->reason), "got: %s", run.reason);
    cr_expect_eq(run.exit_code, c->exit_code);
    arena_clear(&a);
}

Test(judge, a_log_of_warm_up_only_is_invalid)
{
    struct log_iteration it = {.iteration = 5, .step_ms = 10, .usable = true};
    struct run_record run = {
        .log = {.iterations = &it, .n_iterations = 1, .failure_rank = -1}};
    struct arena a;
    arena_init(&a);
    const struct run_ending end = {
        .limit_s = 9, .wanted_iterations = 5, .warmup = 5};
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_INVALID);
    arena_clear(&a);
}

Test(judge, a_log_that_tells_of_more_or_of_another_run_is_invalid)
{
    struct log_iteration it[6];
    struct arena a;
    arena_init(&a);
    for (int i = 0; i < 6; i++)
        it[i] = (struct log_iteration){
            .iteration = i + 1, .step_ms = 10, .usable = true};
    struct run_record run = {
        .log = {.iterations = it, .n_iterations = 6, .failure_rank = -1}};
    struct run_ending end = {.wanted_iterations = 5, .warmup = 1};
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_INVALID);
    cr_expect_str_eq(run.reason, "the log has iteration 6 of 5");
    it[4].iteration = 77; // in the middle: the last is right
    it[5].iteration = 5;
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_INVALID);
    cr_expect_str_eq(run.reason, "the log has iteration 77 of 5");
    it[4].iteration = 5;
    run.log.n_iterations = 5;
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_VALID);
    it[3].step_ms = 0;
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_INVALID);
    cr_expect_str_eq(run.reason, "iteration 4 took 0 ms");
    end.other = "of another model";
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_INVALID);
    cr_expect_str_eq(run.reason, "of another model");
    arena_clear(&a);
}

Test(judge, only_some_failures_are_worth_another_try)
{
    cr_expect_not(run_status_try_again(RUN_VALID));
    cr_expect_not(run_status_try_again(RUN_OOM));
    cr_expect(run_status_try_again(RUN_FAILED));
    cr_expect(run_status_try_again(RUN_TIMEOUT));
}

Test(judge, a_lost_job_and_a_silent_log_have_their_reasons)
{
    struct log_iteration it = {.iteration = 2, .step_ms = 10, .usable = true};
    struct run_record run = {
        .log = {.iterations = &it, .n_iterations = 1, .failure_rank = -1}};
    struct arena a;
    arena_init(&a);
    struct run_ending end = {
        .lost = "NODE_FAIL", .exit_code = -1, .wanted_iterations = 5};
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_FAILED);
    cr_expect_str_eq(run.reason,
                     "the job was lost (NODE_FAIL) at iteration 2 of 5");
    end.silent_s = 30;
    judge_run(&a, &end, &run);
    cr_expect_eq(run.status, RUN_TIMEOUT);
    cr_expect_str_eq(run.reason, "hung: the log was silent for 30 s after "
                                 "iteration 2 of 5");
    arena_clear(&a);
}
