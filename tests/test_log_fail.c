/* Every text of a failure is found, wherever it stands in its line. */
#include "log/fail.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct told {
    const char *text;
    enum log_failure kind;
};

static const struct told texts[] = {
    {"torch.OutOfMemoryError: CUDA out of memory. Tried", LOG_OOM},
    {"HIP out of memory. Tried to allocate", LOG_OOM},
    {"Out of memory: Killed process 12", LOG_OOM},
    {"slurmstepd: error: Detected 1 oom_kill event", LOG_OOM},
    {"oom-kill:constraint=CONSTRAINT_MEMCG", LOG_OOM},
    {"State: OUT_OF_MEMORY", LOG_OOM},
    {"Some of your processes were killed: Out Of Memory", LOG_OOM},
    {"Rank 3: found NaN in local forward loss", LOG_NAN},
    {"Unexpected result nan (message='x')", LOG_NAN},
    {"Watchdog caught collective operation timeout: Work", LOG_HANG},
    {"Some NCCL operations have failed or timed out.", LOG_HANG},
    {"AssertionError: a number", LOG_ASSERT},
    {"IndexError: list index out of range", LOG_ASSERT},
    {"ValueError: x", LOG_ASSERT},
    {"ChildFailedError: ", LOG_ASSERT},
    {"MPI_ABORT was invoked on rank 1", LOG_ASSERT},
    {"traceback : Signal 9 (SIGKILL) received", LOG_KILLED},
    {"exitcode  : -6 (pid: 12)", LOG_KILLED},
    {"exitcode: -9", LOG_KILLED},
    {"Received 15 death signal, shutting down workers", LOG_KILLED},
    {"*** JOB 1 ON n CANCELLED AT 2026-01-01 ***", LOG_KILLED},
    {"CANCELLED DUE TO TIME LIMIT", LOG_KILLED},
    {"Segmentation fault", LOG_KILLED},
    {"line 3: 12 Killed  python x.py", LOG_KILLED},
    {"exited on signal 6 (Aborted)", LOG_KILLED},
    {"exited on signal 15 (Terminated)", LOG_KILLED},
};

static enum log_failure look(const char *line)
{
    struct logfail f;
    const struct log_prefix none = {.rank = -1, .local_rank = -1};
    logfail_init(&f);
    logfail_look(&f, (struct log_text){line, strlen(line)}, &none);
    return f.kind;
}

Test(logfail, texts_of_failures_are_found)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char line[256];
        cr_expect_eq(look(texts[i].text), texts[i].kind, "%s", texts[i].text);
        snprintf(line, sizeof line, "  something: %s", texts[i].text);
        cr_expect_eq(look(line), texts[i].kind, "%s", line);
    }
}

Test(logfail, healthy_lines_are_no_failures)
{
    static const char *const lines[] = {
        " [2026-01-02 03:04:05] iteration 1/ 2 | lm loss: 1.0E-05 |",
        "times across ranks (ms):", "learning-rate: -1, (Some) text", ""};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        cr_expect_eq(look(lines[i]), LOG_OK, "%s", lines[i]);
}
