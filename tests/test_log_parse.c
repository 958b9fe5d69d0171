/* Fixtures: one shape of log each, NN-name.log, and what it says as dump()
 * prints it, NN-name.want; and what holds of every log. */
#include "base/text.h"
#include "log/means.h"
#include "log/parse.h"
#include "log_files.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURES "tests/fixtures/logs"

enum { MAX_BYTES = 1 << 24 };

/* ---- the readable form of a log ---- */

static void dump_number(FILE *f, const char *name, double v)
{
    if (!isnan(v))
        fprintf(f, ", %s %g", name, v);
}

static void dump_iteration(FILE *f, const struct log_iteration *it)
{
    fprintf(f, "iteration %lld: step %g", (long long)it->iteration,
            it->step_ms);
    fprintf(f, ", loss %g", it->loss);
    if (!isnan(it->reference_ms))
        fprintf(f, ", reference %g", it->reference_ms);
    for (int d = 0; d < it->n_mtp; d++)
        fprintf(f, ", mtp_%d %g", d + 1, it->mtp_loss[d]);
    dump_number(f, "TFLOP/s", it->tflops);
    dump_number(f, "tokens/s/GPU", it->tokens_per_s);
    dump_number(f, "tokens/s", it->all_tokens_per_s);
    fprintf(f, "%s%s, ", it->skipped ? ", skipped" : "",
            it->nan ? ", nan" : "");
    fprintf(f, "%s", it->usable ? "usable" : it->dropped);
    if (it->section)
        fprintf(f, ", run %d", it->section + 1);
    fprintf(f, "\n");
}

static void dump_timer(FILE *f, const struct log_timer *t)
{
    fprintf(f, "timer %lld: %s", (long long)t->iteration, t->name);
    if (!t->per_rank)
        fprintf(f, " min %g max %g", t->min_ms, t->max_ms);
    for (int r = 0; t->per_rank && r < t->n_ranks; r++) {
        if (!isnan(t->rank_ms[r]))
            fprintf(f, " %d=%g", r, t->rank_ms[r]);
    }
    fprintf(f, "\n");
}

static void dump_rest(FILE *f, const struct runlog *log)
{
    for (size_t i = 0; i < log->n_memory; i++)
        fprintf(f, "memory %d: %lld %lld\n", log->memory[i].rank,
                (long long)log->memory[i].allocated_bytes,
                (long long)log->memory[i].max_allocated_bytes);
    for (size_t i = 0; i < log->n_arguments; i++)
        fprintf(f, "argument %s=%s\n", log->arguments[i].name,
                log->arguments[i].value);
    if (log->clock)
        fprintf(f, "clock %s, p2p %g s %g B/s\n", log->clock,
                log->p2p_latency_s, log->p2p_bytes_per_s);
    for (size_t i = 0; i < log->n_notes; i++)
        fprintf(f, "note %s\n", log->notes[i]);
    if (log->failure != LOG_OK)
        fprintf(f, "failure %s, rank %d\n", log_failure_name(log->failure),
                log->failure_rank);
}

/* Caller frees. */
static char *dump(const struct runlog *log)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "dialect %s\n", log->dialect);
    for (size_t i = 0; i < log->n_iterations; i++)
        dump_iteration(f, &log->iterations[i]);
    for (size_t i = 0; i < log->n_timers; i++)
        dump_timer(f, &log->timers[i]);
    dump_rest(f, log);
    fclose(f);
    return text;
}

/* ---- fixtures: every shape ---- */

static char *read_and_dump(struct arena *a, const char *path)
{
    struct runlog log;
    struct err_msg msg = {""};
    if (logparse_read(a, path, &log, &msg) == ERR_OK)
        return dump(&log);
    char *text = malloc(16);
    cr_assert(text);
    snprintf(text, 16, "not a log\n");
    return text;
}

Test(logparse, reads_every_shape_as_written_down)
{
    struct arena a;
    struct names names;
    arena_init(&a);
    list_files(&a, FIXTURES, ".log", &names);
    cr_assert_geq(names.n, 50);
    for (size_t i = 0; i < names.n; i++) {
        struct text_span want;
        struct err_msg msg = {""};
        const char *log = arena_printf(&a, FIXTURES "/%s.log", names.name[i]);
        const char *txt = arena_printf(&a, FIXTURES "/%s.want", names.name[i]);
        enum err e = text_read_file(&a, txt, MAX_BYTES, &want, &msg);
        cr_assert_eq(e, ERR_OK, "%s", msg.text);
        char *got = read_and_dump(&a, log);
        cr_expect_str_eq(got, want.data, "%s:\n%s---- want\n%s", log, got,
                         want.data);
        free(got);
    }
    arena_clear(&a);
}

/* ---- properties
 * --------------------------------------------------------------- */

static void load(struct arena *a, const char *name, struct text_span *out)
{
    struct err_msg msg = {""};
    const char *path = arena_printf(a, FIXTURES "/%s.log", name);
    enum err e = text_read_file(a, path, MAX_BYTES, out, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

static bool same_or_both_nan(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) < 1e-12;
}

/* All that the shorter log says of usable iterations, the whole one says. */
static void expect_part_of(const struct runlog *part, const struct runlog *all,
                           size_t len)
{
    for (size_t i = 0; i < part->n_iterations; i++) {
        const struct log_iteration *p = &part->iterations[i];
        const struct log_iteration *w = find_iteration(all, p->iteration);
        if (!p->usable)
            continue;
        cr_expect(w && same_or_both_nan(p->step_ms, w->step_ms) &&
                      same_or_both_nan(p->loss, w->loss),
                  "cut at %zu: iteration %lld", len, (long long)p->iteration);
    }
    for (size_t i = 0; i < part->n_timers; i++) {
        const struct log_timer *p = &part->timers[i];
        const struct log_timer *w = find_timer(all, p->iteration, p->name);
        cr_assert(w, "cut at %zu: timer %s", len, p->name);
        for (int r = 0; r < p->n_ranks; r++)
            cr_expect(same_or_both_nan(p->rank_ms[r], w->rank_ms[r]),
                      "cut at %zu: timer %s, rank %d", len, p->name, r);
    }
}

Test(logparse, a_log_cut_anywhere_says_nothing_wrong)
{
    static const char *const logs[] = {"06-logger-prefix", "22-torchrun-tee",
                                       "39-moe-train",
                                       "39-moe-train-block-last"};
    struct arena a;
    arena_init(&a);
    for (size_t k = 0; k < sizeof logs / sizeof logs[0]; k++) {
        struct text_span text;
        struct runlog all, part;
        load(&a, logs[k], &text);
        cr_assert_eq(logparse_read_memory(&a, text.data, text.len, &all, NULL),
                     ERR_OK);
        for (size_t len = 0; len < text.len; len++) {
            struct arena b;
            arena_init(&b);
            if (logparse_read_memory(&b, text.data, len, &part, NULL) == ERR_OK)
                expect_part_of(&part, &all, len);
            arena_clear(&b);
        }
    }
    arena_clear(&a);
}

Test(logparse, streaming_means_equal_means_of_the_kept_log)
{
    static const char *const logs[] = {"05-all-ranks", "06-logger-prefix",
                                       "25-restart", "43-two-runs",
                                       "44-last-run-died"};
    struct arena a;
    arena_init(&a);
    for (size_t k = 0; k < sizeof logs / sizeof logs[0]; k++) {
        struct runlog log;
        struct logmeans m;
        double ms[160], se[160];
        const char *path = arena_printf(&a, FIXTURES "/%s.log", logs[k]);
        cr_assert_eq(logparse_read(&a, path, &log, NULL), ERR_OK);
        cr_assert_eq(logmeans_read(&a, path, &m, NULL), ERR_OK);
        cr_expect_eq(m.log.used_section, log.used_section);
        const struct log_mean *f = logmeans_find(&m, "forward-compute");
        size_t n = runlog_timer_mean(&log, "forward-compute", ms, se, 160);
        cr_assert(f && n > 0, "%s", logs[k]);
        cr_expect_eq(f->n_iterations, n, "%s", logs[k]);
        for (int r = 0; r < f->n_ranks; r++)
            cr_expect(same_or_both_nan(f->ms[r], ms[r]) &&
                          same_or_both_nan(f->se_ms[r], se[r]),
                      "%s: rank %d", logs[k], r);
    }
    arena_clear(&a);
}

Test(logparse, timer_mean_has_the_standard_error_of_the_mean)
{
    struct arena a;
    struct runlog log;
    double ms[3], se[3];
    arena_init(&a);
    cr_assert_eq(logparse_read(&a, FIXTURES "/39-moe-train.log", &log, NULL),
                 ERR_OK);
    /* Iterations 2 and 3: 12 and 13 ms on rank 0, so +-0.5. */
    cr_expect_eq(runlog_timer_mean(&log, "forward-compute", ms, se, 3), 2);
    cr_expect_float_eq(ms[0], 12.5, 1e-12);
    cr_expect_float_eq(se[0], 0.5, 1e-12);
    cr_expect_float_eq(ms[1], 13.5, 1e-12);
    cr_expect(isnan(ms[2]) && isnan(se[2]));
    cr_expect_eq(runlog_timer_mean(&log, "no-such-timer", ms, se, 3), 0);
    cr_expect_str_eq(runlog_argument(&log, "num_layers"), "4");
    cr_expect_null(runlog_argument(&log, "num_layer"));
    arena_clear(&a);
}

Test(logparse, refuses_what_is_not_a_training_log)
{
    struct arena a;
    struct runlog log;
    struct err_msg msg = {""};
    arena_init(&a);
    cr_expect_eq(logparse_read(&a, FIXTURES "/none.log", &log, &msg),
                 ERR_PARSE);
    cr_expect(strstr(msg.text, "none.log: No such file"));
    cr_expect_eq(logparse_read(&a, FIXTURES, &log, &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "directory"), "%s", msg.text);
    cr_expect_eq(logparse_read(&a, FIXTURES "/41-not-a-log.log", &log, &msg),
                 ERR_PARSE);
    cr_expect(strstr(msg.text, "training"), "%s", msg.text);
    cr_expect_eq(logparse_read_memory(&a, "", 0, &log, &msg), ERR_PARSE);
    arena_clear(&a);
}

/* A line beyond the limit must not hide what follows it. */
Test(logparse, passes_over_a_line_of_three_megabytes)
{
    struct arena a;
    struct text_span text;
    struct runlog log;
    arena_init(&a);
    load(&a, "11-dated", &text);
    const size_t junk = 3u << 20;
    char *data = arena_alloc(&a, junk + 1 + text.len, 1);
    cr_assert(data);
    memset(data, 'x', junk);
    data[junk] = '\n';
    memcpy(data + junk + 1, text.data, text.len);
    cr_assert_eq(
        logparse_read_memory(&a, data, junk + 1 + text.len, &log, NULL),
        ERR_OK);
    cr_expect_eq(log.n_iterations, 2);
    cr_expect_eq(log.failure, LOG_OK);
    arena_clear(&a);
}

/* Ranks of one to four digits, values of all lengths, with and without what
 * keeps a row off the fast path (CR): all have the value that was printed. */
static void expect_rows(struct arena *a, const char *head, const char *tail)
{
    enum { N_RANKS = 1200, MAX_TEXT = 1 << 19 };
    char *text = arena_alloc(a, MAX_TEXT, 1);
    cr_assert(text);
    FILE *f = fmemopen(text, MAX_TEXT, "w");
    uint32_t x = 12345;
    double ms[N_RANKS];
    for (int it = 1; it <= 2; it++) {
        fprintf(f,
                "%s iteration %d/ 3 | elapsed time per iteration (ms): 9.5 | "
                "lm loss: 1.0 | number of nan iterations: 0 |%s",
                head, it, tail);
        fprintf(f, "%stimes across ranks (ms):%s%s  forward-compute:%s", head,
                tail, head, tail);
        for (int r = 0; r < N_RANKS; r++) {
            x = x * 1664525u + 1013904223u;
            int places = x >> 30 ? 2 : 6;
            double v = (double)(x >> 4) / 100 / pow(10, (x >> 8) % 8);
            char digits[64];
            snprintf(digits, sizeof digits, "%.*f", places, v);
            ms[r] = strtod(digits, NULL);
            fprintf(f, "%s     rank %2d: %s%s", head, r, digits, tail);
        }
    }
    fprintf(f, "%sdone%s", head, tail);
    fclose(f);
    struct runlog log;
    cr_assert_eq(logparse_read_memory(a, text, strlen(text), &log, NULL),
                 ERR_OK);
    cr_assert_eq(log.n_timers, 2);
    cr_assert_eq(log.timers[1].n_ranks, N_RANKS);
    for (int r = 0; r < N_RANKS; r++)
        cr_expect(!(log.timers[1].rank_ms[r] < ms[r]) &&
                      !(log.timers[1].rank_ms[r] > ms[r]),
                  "'%s' rank %d: %.17g, want %.17g", head, r,
                  log.timers[1].rank_ms[r], ms[r]);
}

Test(logparse, rows_of_many_ranks_have_the_printed_value)
{
    struct arena a;
    arena_init(&a);
    expect_rows(&a, "", "\n");
    expect_rows(&a, "", "\r\n");
    expect_rows(&a, "[default7]:", "\n");
    expect_rows(&a, "pod/0 [worker12]:", "\n");
    expect_rows(&a, "2026-01-02T03:04:05.678Z ", "\n");
    arena_clear(&a);
}
