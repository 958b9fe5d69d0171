/* Prefixes are taken off, and nothing that the program itself wrote. */
#include "log/prefix.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct log_text text_of(const char *s)
{
    return (struct log_text){s, strlen(s)};
}

static void expect_body(const char *line, const char *want)
{
    struct log_prefix p;
    struct log_text body = logprefix_body(text_of(line), &p);
    cr_expect(logline_equals(body, want), "'%s': '%.*s', want '%s'", line,
              (int)body.n, body.p, want);
    cr_expect_eq(p.length + body.n, strlen(line));
}

Test(logprefix, prefixes_of_launchers_and_loggers_are_taken_off)
{
    static const char *const prefixes[] = {
        "",
        "[default7]:",
        "[rank0]:",
        "[0]:",
        "[1,3]<stdout>:",
        "0: ",
        "12: ",
        "[default0]:[rank0]:",
        "1078:[default0]:",
        "worker-0: ",
        "node03: 12: ",
        "ip-10-1-2-3: ",
        "gpu-3| ",
        "(Worker pid=33, ip=10.0.0.1) ",
        "(TaskRunner pid=77) ",
        "[pod/worker-0/pytorch] ",
        "pod/worker-0 ",
        "job/0 ",
        "# job/0 ",
        "2026-01-02T03:04:05.678901234Z ",
        "2026-01-02 03:04:05,678 ",
        "2026-01-02 03:04:05,678 - INFO - ",
        "2026-01-02 03:04:05.678 | INFO     | a.training:log:123 - ",
        "[2026-01-02 03:04:05][INFO][training:88] - ",
        "INFO:a.training:",
        "[INFO] ",
    };
    static const char *const texts[] = {
        " iteration        1/     100 | a: 1 |",
        "forward-compute:", " [2026-01-02 03:04:05] iteration 1/ 2 | a: 1 |"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            char line[256];
            snprintf(line, sizeof line, "%s%s", prefixes[i], texts[k]);
            expect_body(line, texts[k]);
        }
    }
}

/* The rest of a wrapped line must not lose what looks like a prefix. */
Test(logprefix, the_program_s_own_text_stays)
{
    static const char *const own[] = {
        "[2026-01-02 03:04:05] iteration 1/ 2 | a: 1 |",
        "E-05 | global batch size:    64 |",
        "iterations:   0 |",
        "64 | elapsed time per iteration (ms): 3",
        "rank 12: 101.10",
        "p_1 loss: 1.0 |",
        "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1 |",
        "(min, max) time across ranks (ms):",
        "Step Time : 1.5s GPU utilization: 2.5MODEL_TFLOP/s/GPU",
        "step:[    1/   10], loss: 1.5",
        "steps: 10 loss: 1.5",
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        expect_body(own[i], own[i]);
}

Test(logprefix, a_stream_is_a_writer_and_no_time)
{
    struct log_prefix a, b, c;
    logprefix_body(text_of("2026-01-02 03:04:05,678 - INFO - x"), &a);
    cr_expect_eq(a.stream, 0);
    cr_expect_not(a.fixed);
    logprefix_body(text_of("2026-01-02T03:04:05Z [rank3]: x"), &a);
    logprefix_body(text_of("2026-01-02T03:04:06Z [rank3]: y"), &b);
    logprefix_body(text_of("2026-01-02T03:04:06Z [rank4]: y"), &c);
    cr_expect_eq(a.stream, b.stream);
    cr_expect_neq(b.stream, c.stream);
    cr_expect_eq(c.rank, 4);
}
