#include "base/clock.h"
#include "launch/job.h"

#include "base/file.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A job system of the test: answers from a list, the last one for ever. */
static struct arena arena;
static char folder[] = "/tmp/moe-job-XXXXXX";
static struct job_view views[8];
static int n_views, n_polls, n_cancels, refused_cancels;
static bool cancel_ends, log_grows;
static double silent_s;

static enum err fake_prepare(struct arena *a, const struct launch_job *job,
                             const char **text, struct words *submit,
                             struct err_msg *msg)
{
    static const char *const words[] = {"true"};
    (void)a;
    (void)job;
    (void)msg;
    *text = "";
    *submit = (struct words){words, 1};
    return ERR_OK;
}

static enum err fake_start(struct arena *a, const char *printed,
                           const char **id, struct err_msg *msg)
{
    (void)a;
    (void)printed;
    (void)msg;
    *id = "17";
    return ERR_OK;
}

static enum err fake_poll(struct arena *a, const struct launch_job *job,
                          struct job_view *out, struct err_msg *msg)
{
    (void)a;
    (void)job;
    (void)msg;
    const struct job_view *v =
        &views[n_polls < n_views ? n_polls : n_views - 1];
    n_polls++;
    if (!v->word)
        return err_set(msg, ERR_CHILD, "controller is busy");
    *out = *v;
    if (n_cancels > refused_cancels && cancel_ends)
        *out = (struct job_view){JOB_CANCELLED, -1, "CANCELLED", 0};
    return ERR_OK;
}

static enum err fake_cancel(struct arena *a, const struct launch_job *job,
                            struct err_msg *msg)
{
    (void)a;
    (void)job;
    return n_cancels++ < refused_cancels
               ? err_set(msg, ERR_CHILD, "controller is busy")
               : ERR_OK;
}

static enum err fake_collect(struct arena *a, const struct launch_job *job,
                             struct err_msg *msg)
{
    (void)a;
    (void)msg;
    FILE *f = log_grows ? fopen(job->log, "a") : NULL;
    if (f) {
        fputs("a line\n", f);
        fclose(f);
    }
    return ERR_OK;
}

static const struct launcher fake = {.name = "fake",
                                     .prepare = fake_prepare,
                                     .start = fake_start,
                                     .poll = fake_poll,
                                     .cancel = fake_cancel,
                                     .collect = fake_collect};

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(folder));
    cancel_ends = true;
}

static void teardown(void)
{
    file_remove_tree(folder);
    arena_clear(&arena);
}

TestSuite(launch_job, .init = setup, .fini = teardown, .timeout = 60);

static enum err run(double poll_s, double limit_s, struct job_result *out,
                    struct err_msg *msg)
{
    static const struct manifest mf = {.path = "x.json"};
    const struct job_request req = {
        .by = &fake,
        .job = {.name = "moe-x",
                .folder = folder,
                .log = arena_printf(&arena, "%s/log.txt", folder),
                .limit_s = limit_s,
                .manifest = &mf},
        .poll_s = poll_s,
        .limit_s = limit_s,
        .silent_s = &silent_s};
    return job_run(&arena, &req, out, msg);
}

static void answer(enum job_state state, int exit_code)
{
    views[n_views++] = (struct job_view){state, exit_code, "WORD", 0};
}

Test(launch_job, one_that_ended_meanwhile_is_over_no_limit)
{
    struct job_result r;
    struct err_msg msg = {""};
    answer(JOB_RUNNING, -1);
    answer(JOB_ENDED, 0);
    cr_assert_eq(run(0.3, 0.1, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_EXITED, "got %d", (int)r.end.end);
    cr_expect_eq(r.end.code, 0);
    cr_expect_eq(n_cancels, 0, "a job that has ended was cancelled");
    cr_expect_geq(r.end.wall_s, 0);
}

Test(launch_job, one_that_runs_over_its_limit_is_cancelled)
{
    struct job_result r;
    struct err_msg msg = {""};
    answer(JOB_RUNNING, -1);
    cr_assert_eq(run(0.1, 0.3, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_TIMEOUT);
    cr_expect_eq(n_cancels, 1);
    cr_expect_gt(r.end.wall_s, 0.3);
    cr_expect_lt(r.end.wall_s, 10);
}

Test(launch_job, a_limit_is_seen_long_before_the_next_question)
{
    struct job_result r;
    struct err_msg msg = {""};
    double from_s = clock_now_s();
    answer(JOB_RUNNING, -1);
    // at poll_s the first question would come after 30 s, the last after 60
    cr_assert_eq(run(30, 0.2, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_TIMEOUT);
    cr_expect_lt(clock_now_s() - from_s, 25);
}

Test(launch_job, questions_without_an_answer_are_no_faster_over_the_limit)
{
    struct job_result r;
    struct err_msg msg = {""};
    double from_s = clock_now_s();
    answer(JOB_RUNNING, -1);
    n_views++; // no word: no answer
    cr_expect_eq(run(0.1, 0.05, &r, &msg), ERR_CHILD);
    cr_expect_not_null(strstr(msg.text, "no answer 20 times"), "%s", msg.text);
    cr_expect_gt(clock_now_s() - from_s, 1.5); // 19 pauses of 0.1 s
    cr_expect_eq(n_cancels, 0, "by an old answer");
}

Test(launch_job, a_log_that_grows_between_questions_is_not_silent)
{
    struct job_result r;
    struct err_msg msg = {""};
    for (int i = 0; i < 5; i++)
        answer(JOB_RUNNING, -1);
    answer(JOB_ENDED, 0);
    silent_s = 0.1;
    log_grows = true;
    cr_assert_eq(run(0.3, 60, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_EXITED, "got %d", (int)r.end.end);
}

Test(launch_job, a_silent_log_ends_its_job)
{
    struct job_result r;
    struct err_msg msg = {""};
    answer(JOB_RUNNING, -1);
    silent_s = 0.3;
    cr_assert_eq(run(0.1, 60, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_SILENT);
}

Test(launch_job, a_refused_cancel_is_tried_again)
{
    struct job_result r;
    struct err_msg msg = {""};
    answer(JOB_RUNNING, -1);
    refused_cancels = 3;
    cr_assert_eq(run(0.05, 0.1, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_TIMEOUT);
    cr_expect_eq(n_cancels, 4);
}

Test(launch_job, one_that_goes_on_after_its_cancel_is_no_end)
{
    struct job_result r;
    struct err_msg msg = {""};
    answer(JOB_RUNNING, -1);
    cancel_ends = false;
    cr_expect_eq(run(0.01, 0.05, &r, &msg), ERR_CHILD);
    cr_expect_not_null(strstr(msg.text, "still WORD"), "%s", msg.text);
    cr_expect(job_is_recorded(&arena, folder));
}

Test(launch_job, waiting_is_not_running)
{
    struct job_result r;
    struct err_msg msg = {""};
    for (int i = 0; i < 6; i++)
        answer(JOB_WAITING, -1);
    answer(JOB_ENDED, 0);
    cr_assert_eq(run(0.1, 0.2, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end.end, SUPERVISE_EXITED);
    cr_expect_lt(r.end.wall_s, 0.6);
}

static enum err take_over(const char *record, struct err_msg *msg)
{
    struct job_result r;
    const char *path = arena_printf(&arena, "%s/job.json", folder);
    const char *text =
        arena_printf(&arena, "{\"format\":\"moe-bench/job/1\",%s}", record);
    answer(JOB_ENDED, 0);
    cr_assert_eq(text_write_file(path, text, strlen(text), msg), ERR_OK);
    return run(0.1, 60, &r, msg);
}

Test(launch_job, a_record_names_a_job_and_nothing_else)
{
    static const char *const bad[] = {
        "\"name\":\"x\",\"id\":\"--me\"", "\"name\":\"x\",\"id\":\"../1\"",
        "\"name\":\"x\",\"id\":\"1 2\"", "\"name\":\"--all\",\"id\":\"1\"",
        "\"name\":\"a\\nb\",\"id\":\"1\""};
    struct err_msg msg = {""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(take_over(bad[i], &msg), ERR_PARSE, "%s", bad[i]);
    cr_expect_eq(n_polls, 0);
    cr_expect_eq(take_over("\"name\":\"x\",\"id\":\"17\"", &msg), ERR_OK, "%s",
                 msg.text);
}

Test(launch_job, a_record_of_a_clock_set_back_costs_nothing_negative)
{
    struct job_result r;
    struct err_msg msg = {""};
    const char *path = arena_printf(&arena, "%s/job.json", folder);
    const char *text =
        "{\"format\":\"moe-bench/job/1\",\"name\":\"x\",\"id\":\"17\","
        "\"running_since_s\":9.9e10,\"running\":true,\"ran_s\":3,"
        "\"seen_s\":9.9e10,\"seen_utc_s\":9.9e10,\"boot\":\"y\"}";
    answer(JOB_ENDED, 0);
    cr_assert_eq(text_write_file(path, text, strlen(text), &msg), ERR_OK);
    cr_assert_eq(run(0.1, 60, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_geq(r.end.wall_s, 3);
    cr_expect_lt(r.end.wall_s, 10);
}
