#include "launch/kin.h"
#include "launch/supervise.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char log_path[] = "/tmp/moe-supervise-XXXXXX";

static void setup(void)
{
    int fd = mkstemp(log_path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void teardown(void)
{
    unlink(log_path);
}

TestSuite(supervise, .init = setup, .fini = teardown, .timeout = 60);

static enum err run_shell(char *script, double limit_s,
                          struct supervise_result *r, struct err_msg *msg)
{
    char *argv[] = {"sh", "-c", script, NULL};
    const struct supervise_job job = {
        .argv = argv, .log_path = log_path, .limit_s = limit_s};
    return supervise_run(&job, r, msg);
}

static void read_log(char *text, size_t size)
{
    FILE *f = fopen(log_path, "r");
    cr_assert_not_null(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

/* Waits up to 20 s for the process to be gone. */
static bool is_gone(long pid)
{
    const struct timespec tick = {0, 20000000};
    for (int i = 0; i < 1000; i++) {
        if (kill((pid_t)pid, 0) != 0)
            return true;
        nanosleep(&tick, NULL);
    }
    return false;
}

Test(supervise, keeps_output_and_exit_status)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char text[64];
    enum err e = run_shell("echo out; echo err >&2; exit 7", 0, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_EXITED);
    cr_expect_eq(r.code, 7);
    read_log(text, sizeof text);
    cr_expect_str_eq(text, "out\nerr\n");
}

Test(supervise, keeps_megabytes_of_output)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    enum err e = run_shell("head -c 3000000 /dev/zero", 0, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    FILE *f = fopen(log_path, "r");
    cr_assert_not_null(f);
    fseek(f, 0, SEEK_END);
    cr_expect_eq(ftell(f), 3000000);
    fclose(f);
}

Test(supervise, tells_a_signal)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    cr_assert_eq(run_shell("kill -SEGV $$", 0, &r, &msg), ERR_OK);
    cr_expect_eq(r.end, SUPERVISE_SIGNALED);
    cr_expect_eq(r.code, SIGSEGV);
}

Test(supervise, a_missing_program_is_an_error)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char *argv[] = {"moe-no-such-program", NULL};
    const struct supervise_job job = {.argv = argv, .log_path = log_path};
    cr_assert_eq(supervise_run(&job, &r, &msg), ERR_CHILD);
    cr_expect_not_null(strstr(msg.text, "moe-no-such-program"), "%s", msg.text);
}

Test(supervise, time_out_kills_the_whole_group)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char text[128];
    long a = 0, b = 0, c = 0;
    enum err e = run_shell("sleep 100 & a=$!; setsid sleep 100 & b=$!; "
                           "echo $$ $a $b; wait",
                           2, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_TIMEOUT);
    cr_expect_lt(r.wall_s, 50);
    read_log(text, sizeof text);
    cr_assert_eq(sscanf(text, "%ld %ld %ld", &a, &b, &c), 3, "%s", text);
    cr_expect(is_gone(a), "the program is left");
    cr_expect(is_gone(b), "its child is left");
    cr_expect(is_gone(c), "its child in another session is left");
}

Test(supervise, time_out_ends_a_program_that_ignores_sigterm)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char text[64];
    long pid = 0;
    enum err e = run_shell("trap '' TERM; echo $$; while :; do sleep 1; done",
                           2, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_TIMEOUT);
    read_log(text, sizeof text);
    cr_assert_eq(sscanf(text, "%ld", &pid), 1);
    cr_expect(is_gone(pid));
}

Test(supervise, orphans_of_a_program_that_ended_are_killed)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char text[64];
    long pid = 0;
    enum err e = run_shell("sleep 100 & echo $!; exit 0", 0, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_EXITED);
    cr_expect_lt(r.wall_s, 50, "it does not wait for the orphan");
    read_log(text, sizeof text);
    cr_assert_eq(sscanf(text, "%ld", &pid), 1);
    cr_expect(is_gone(pid));
}

Test(supervise, a_signal_between_jobs_is_not_lost)
{
    supervise_hold_signals();
    cr_expect_eq(supervise_pending_signal(), 0);
    raise(SIGTERM);
    cr_expect_eq(supervise_pending_signal(), SIGTERM);
    cr_expect_eq(supervise_pending_signal(), 0);
}

Test(supervise, a_log_that_cannot_be_written_ends_the_job)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    char *argv[] = {"sh", "-c", "echo x; sleep 100", NULL};
    const struct supervise_job job = {.argv = argv, .log_path = "/dev/full"};
    if (access("/dev/full", W_OK) != 0)
        cr_skip_test("/dev/full is not there");
    cr_assert_eq(supervise_run(&job, &r, &msg), ERR_IO);
    cr_expect_not_null(strstr(msg.text, "No space left"), "%s", msg.text);
}

static void count_line(void *data, const char *line)
{
    int *n = data;
    *n = *n * 10 + (int)strlen(line);
}

Test(supervise, gives_each_line)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    int n = 0;
    char *argv[] = {"sh", "-c", "printf 'a\\nbb\\nccc\\ntail'", NULL};
    const struct supervise_job job = {
        .argv = argv, .log_path = log_path, .on_line = count_line, .data = &n};
    cr_assert_eq(supervise_run(&job, &r, &msg), ERR_OK);
    cr_expect_eq(n, 1234, "lines of 1, 2, 3 characters and a last one of 4");
}

Test(supervise, a_silent_program_is_killed)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    const double silent_s = 2; // the shell has a second to say the next line
    char *argv[] = {"sh", "-c", "echo a; sleep 1; echo b; sleep 100", NULL};
    const struct supervise_job job = {
        .argv = argv, .log_path = log_path, .silent_s = &silent_s};
    cr_assert_eq(supervise_run(&job, &r, &msg), ERR_OK);
    cr_expect_eq(r.end, SUPERVISE_SILENT);
    cr_expect_gt(r.wall_s, 2.5, "the silence begins at the last output");
    cr_expect_lt(r.wall_s, 50);
}

struct attack {
    int sig;    // to the guard, when the first line comes
    int ending; // to this process after it, 0: none
};

/* The guard is the process that the line's program has as its parent. */
static void attack_guard(void *data, const char *line)
{
    const struct attack *a = data;
    long guard = strtol(line, NULL, 10);
    if (guard > 1)
        kill((pid_t)guard, a->sig);
    if (guard > 1 && a->ending)
        kill(getpid(), a->ending);
}

static enum err run_attacked(struct attack a, double limit_s,
                             struct supervise_result *r, struct err_msg *msg)
{
    char script[] = "echo $PPID; exec sleep 987";
    char *argv[] = {"sh", "-c", script, NULL};
    const struct supervise_job job = {.argv = argv,
                                      .log_path = log_path,
                                      .limit_s = limit_s,
                                      .on_line = attack_guard,
                                      .data = &a};
    return supervise_run(&job, r, msg);
}

Test(supervise, a_killed_guard_ends_the_job_at_once)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    cr_assert_eq(run_attacked((struct attack){SIGKILL, 0}, 0, &r, &msg),
                 ERR_CHILD);
    cr_expect_not_null(strstr(msg.text, "guard"), "%s", msg.text);
    cr_expect_eq(kin_kill_children(0, 0), 0, "nothing is left");
}

Test(supervise, limits_and_signals_work_with_a_stopped_guard)
{
    struct supervise_result r = {0};
    struct err_msg msg = {""};
    cr_assert_eq(run_attacked((struct attack){SIGSTOP, 0}, 0.3, &r, &msg),
                 ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_TIMEOUT);
    cr_assert_eq(run_attacked((struct attack){SIGSTOP, SIGTERM}, 0, &r, &msg),
                 ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_INTERRUPTED);
    cr_expect_eq(kin_kill_children(0, 0), 0, "nothing is left");
}

Test(supervise, a_flood_is_ended_and_cut)
{
    struct supervise_result r;
    struct err_msg msg = {""};
    struct stat st;
    char script[] = "exec yes 'a line of a flood that does not end by itself'";
    cr_assert_eq(run_shell(script, 0, &r, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(r.end, SUPERVISE_FLOOD);
    cr_assert_eq(stat(log_path, &st), 0);
    cr_expect_eq(st.st_size, SUPERVISE_KEPT_LOG_BYTES);
}
