/*
 * moe-bench parse: what a training log tells, as a summary or as JSON. Logs
 * may be larger than memory: the JSON needs all iterations before the first
 * timer, so the file is scanned three times (for sections, iterations,
 * timers), and what comes from a pipe is first copied to a temporary file.
 *
 * Where a file holds several runs, the JSON has each iteration once: a later
 * run supersedes, from its first iteration on, those before it.
 */
#include "cmd.h"
#include "throughput.h"

#include "base/err.h"
#include "base/input.h"
#include "base/stats.h"
#include "log/means.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

struct printer {
    struct log_list starts; // int64_t: first iteration of each section
    struct throughput throughput;
    int64_t seq_tokens; // of a sample, 0: not known
    bool any;           // an item was printed: a comma is due
    bool failed;        // out of memory
};

/* Logs give most times with two decimals, and a large log has millions of them.
 * False for any other number, which printf() then prints. */
static bool print_hundredths(double v)
{
    if (!(v >= 0 && v < 1e9))
        return false;
    int64_t n = (int64_t)(v * 100 + 0.5);
    double back = (double)n / 100;
    if (back < v || back > v)
        return false;
    char buf[24];
    size_t at = sizeof buf;
    for (int digit = 0; digit < 3 || n > 0; digit++) {
        if (digit == 2)
            buf[--at] = '.';
        buf[--at] = (char)('0' + n % 10);
        n /= 10;
    }
    fwrite(buf + at, 1, sizeof buf - at, stdout);
    return true;
}

/* The shortest of two forms that gives the double back; JSON has no NAN. */
static void bench_parse_print_number(double v)
{
    char buf[32];
    if (!isfinite(v)) {
        fputs("null", stdout);
        return;
    }
    if (print_hundredths(v))
        return;
    snprintf(buf, sizeof buf, "%.15g", v);
    double back = strtod(buf, NULL);
    if (back < v || back > v)
        snprintf(buf, sizeof buf, "%.17g", v);
    fputs(buf, stdout);
}

static const char *bool_name(bool v)
{
    return v ? "true" : "false";
}

static void start_item(struct printer *p)
{
    fputs(p->any ? ",\n    " : "\n    ", stdout);
    p->any = true;
}

/* Sections count from 0 in the order of the file: a new one is behind the last.
 */
static void note_section(void *data, const struct log_iteration *it)
{
    struct printer *p = data;
    throughput_add(&p->throughput, it);
    if ((size_t)it->section < p->starts.n)
        return;
    int64_t *start = log_list_add(&p->starts, sizeof *start);
    if (start)
        *start = it->iteration;
    else
        p->failed = true;
}

/* Makes each entry the lowest start of its own and all later sections. */
static void lower_starts(struct log_list *starts)
{
    int64_t *v = (void *)starts->data;
    for (size_t i = starts->n; i-- > 1;)
        v[i - 1] = v[i] < v[i - 1] ? v[i] : v[i - 1];
}

/* A restart repeats iterations from its checkpoint on: the later ones count. */
static bool is_superseded(const struct printer *p, int section,
                          int64_t iteration)
{
    const int64_t *v = (const void *)p->starts.data;
    size_t next = (size_t)section + 1;
    return next < p->starts.n && iteration >= v[next];
}

/* A key without a number is left out: `null` would say that it was looked for
 * and not found. */
static void print_if_finite(const char *key, double v)
{
    if (!isfinite(v))
        return;
    printf(", \"%s\": ", key);
    bench_parse_print_number(v);
}

/* Keys that only some logs have: left out where not told. */
static void print_told(const struct printer *p, const struct log_iteration *it)
{
    int64_t tokens = throughput_tokens(it, p->seq_tokens);
    if (it->n_mtp) {
        fputs(", \"mtp_losses\": [", stdout);
        for (int d = 0; d < it->n_mtp; d++) {
            fputs(d ? ", " : "", stdout);
            bench_parse_print_number(it->mtp_loss[d]);
        }
        fputs("]", stdout);
    }
    print_if_finite("tflops_per_gpu", it->tflops);
    print_if_finite("tokens_per_s_per_gpu", it->tokens_per_s);
    print_if_finite("tokens_per_s", it->all_tokens_per_s);
    if (it->samples)
        printf(", \"consumed_samples\": %lld", (long long)it->samples);
    if (tokens)
        printf(", \"consumed_tokens\": %lld", (long long)tokens);
}

/* As it is read, and not from memory: a log may have millions. What a later run
 * in the file repeats is left out. */
static void bench_parse_print_iteration(void *data,
                                        const struct log_iteration *it)
{
    struct printer *p = data;
    if (is_superseded(p, it->section, it->iteration))
        return;
    start_item(p);
    printf("{\"iteration\": %lld, \"step_ms\": ", (long long)it->iteration);
    bench_parse_print_number(it->step_ms);
    fputs(", \"loss\": ", stdout);
    bench_parse_print_number(it->loss);
    print_told(p, it);
    printf(", \"skipped\": %s, \"nan\": %s, \"usable\": %s}",
           bool_name(it->skipped), bool_name(it->nan), bool_name(it->usable));
}

static void bench_parse_print_rows(const struct log_timer_event *t)
{
    fputs("\"ranks\": {", stdout);
    for (size_t i = 0; i < t->n_rows; i++) {
        printf("%s\"%d\": ", i ? ", " : "", t->rows[i].rank);
        bench_parse_print_number(t->rows[i].ms);
    }
    fputs("}}", stdout);
}

/* Blocks of one value (max, or the last rank's) print it twice. */
static void print_timer(void *data, const struct log_timer_event *t)
{
    struct printer *p = data;
    if (t->iteration == 0 || is_superseded(p, t->section, t->iteration))
        return;
    start_item(p);
    printf("{\"iteration\": %lld, \"name\": \"%s\", ", (long long)t->iteration,
           t->name);
    if (t->per_rank) {
        bench_parse_print_rows(t);
        return;
    }
    fputs("\"min_ms\": ", stdout);
    bench_parse_print_number(isnan(t->min_ms) ? t->max_ms : t->min_ms);
    fputs(", \"max_ms\": ", stdout);
    bench_parse_print_number(t->max_ms);
    fputs("}", stdout);
}

static void bench_parse_print_memory(const struct runlog *log)
{
    fputs("  \"memory\": [", stdout);
    for (size_t i = 0; i < log->n_memory; i++) {
        const struct log_memory *m = &log->memory[i];
        printf("%s\n    {\"rank\": %d, \"allocated_bytes\": %lld, "
               "\"max_allocated_bytes\": %lld}",
               i ? "," : "", m->rank, (long long)m->allocated_bytes,
               (long long)m->max_allocated_bytes);
    }
    fputs("],\n", stdout);
}

/* What of the log was not understood; texts are of printable ASCII. */
static void print_warnings(const struct runlog *log)
{
    fputs("  \"warnings\": [", stdout);
    for (size_t i = 0; i < log->n_notes; i++) {
        fputs(i ? ",\n    \"" : "\n    \"", stdout);
        for (const char *c = log->notes[i]; *c; c++) {
            if (*c == '"' || *c == '\\')
                putchar('\\');
            putchar(*c);
        }
        putchar('"');
    }
    fputs("],\n", stdout);
}

/* The printed rate and ours side by side: they count by different rules. */
static void print_throughput(const struct throughput *t,
                             const struct throughput_model *m)
{
    fputs("  \"throughput\": {\"tflops_per_gpu\": ", stdout);
    bench_parse_print_number(log_running_mean(&t->tflops));
    fputs(", \"tflops_per_gpu_recomputed\": ", stdout);
    bench_parse_print_number(m->tflops);
    fputs(", \"tokens_per_s_per_gpu\": ", stdout);
    bench_parse_print_number(log_running_mean(&t->tokens_per_s));
    fputs("},\n", stdout);
}

static void print_failure(const struct runlog *log)
{
    const char *kind = log_failure_name(log->failure);
    if (!kind)
        fputs("  \"failure\": null\n", stdout);
    else if (log->failure_rank < 0)
        printf("  \"failure\": {\"kind\": \"%s\", \"rank\": null}\n", kind);
    else
        printf("  \"failure\": {\"kind\": \"%s\", \"rank\": %d}\n", kind,
               log->failure_rank);
}

/* From the start: a document has iterations before timers, a log has them
 * mixed. */
static enum err scan_again(FILE *f, const char *path,
                           const struct log_sink *sink, struct err_msg *msg)
{
    struct log_summary sum;
    if (fseek(f, 0, SEEK_SET) != 0)
        return err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    struct printer *p = sink->data;
    p->any = false;
    const struct log_input in = {.file = f, .where = path};
    return logscan(&in, sink, &sum, msg);
}

/* Three passes over the file, for means and warnings are known at its end only,
 * and iterations and timers are too many to keep. */
static enum err bench_parse_print_json(struct printer *p, FILE *f,
                                       const char *path, struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    struct log_sink sections = {.data = p, .iteration = note_section};
    struct log_sink iterations = {.data = p,
                                  .iteration = bench_parse_print_iteration};
    struct log_sink timers = {.data = p, .timer = print_timer};
    struct logmeans m;
    struct throughput_model of_model;
    const struct log_input in = {.file = f, .where = path};
    enum err e = logmeans_read_input(&a, &in, &sections, &m, msg);
    if (e == ERR_OK && p->failed)
        e = err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    if (e != ERR_OK)
        goto done;
    lower_starts(&p->starts);
    throughput_of_model(&a, &p->throughput, &m.log, &of_model);
    p->seq_tokens = of_model.seq_tokens;
    printf("{\n  \"format\": \"moe-bench/runlog/1\",\n"
           "  \"dialect\": \"%s\",\n  \"iterations\": [",
           m.log.dialect);
    e = scan_again(f, path, &iterations, msg);
    fputs("],\n  \"timers\": [", stdout);
    if (e == ERR_OK)
        e = scan_again(f, path, &timers, msg);
    fputs("],\n", stdout);
    bench_parse_print_memory(&m.log);
    print_throughput(&p->throughput, &of_model);
    print_warnings(&m.log);
    print_failure(&m.log);
    fputs("}\n", stdout);
done:
    arena_clear(&a);
    return e;
}

/* ---- summary ---- */

// words of the reader; 1 MB of step times, a median of which is exact enough;
// columns of a terminal
enum {
    PARSE_MAX_REASONS = 8,
    PARSE_MAX_SAMPLE = 1 << 17,
    PARSE_MAX_COLUMNS = 8
};

/* Step times of the last section that has usable ones: every stride-th, so
 * that a long log fits. */
struct steps {
    double ms[PARSE_MAX_SAMPLE];
    size_t n, stride, seen;
    int section;
    double min_ms, max_ms;
    size_t n_logged;
    double last_dropped_ms; // the last step that does not count, NAN
    const char *last_reason;
    struct {
        const char *why;
        size_t n;
    } dropped[PARSE_MAX_REASONS];
    size_t n_reasons;
};

/* By reason; there are as many as log's reader has words for, and it has fewer
 * than PARSE_MAX_REASONS. */
static void count_dropped(struct steps *s, const char *why)
{
    size_t i = 0;
    while (i < s->n_reasons && strcmp(s->dropped[i].why, why) != 0)
        i++;
    if (i == PARSE_MAX_REASONS)
        return;
    if (i == s->n_reasons)
        s->dropped[s->n_reasons++].why = why;
    s->dropped[i].n++;
}

/* Every other one: what is left is as regular as before. */
static void halve_sample(struct steps *s)
{
    for (size_t i = 0; 2 * i < s->n; i++)
        s->ms[i] = s->ms[2 * i];
    s->n = (s->n + 1) / 2;
    s->stride *= 2;
}

/* A new section starts the sample anew: figures are of the last run that
 * counts. */
static void add_step(void *data, const struct log_iteration *it)
{
    struct steps *s = data;
    s->n_logged++;
    if (!it->usable) {
        count_dropped(s, it->dropped);
        if (isfinite(it->step_ms)) {
            s->last_dropped_ms = it->step_ms;
            s->last_reason = it->dropped;
        }
        return;
    }
    if (it->section != s->section) {
        s->section = it->section;
        s->n = s->seen = 0;
        s->stride = 1;
        s->min_ms = s->max_ms = it->step_ms;
    }
    s->min_ms = fmin(s->min_ms, it->step_ms);
    s->max_ms = fmax(s->max_ms, it->step_ms);
    if (s->n == PARSE_MAX_SAMPLE)
        halve_sample(s);
    if (s->seen++ % s->stride == 0)
        s->ms[s->n++] = it->step_ms;
}

/* How many were left out and why stands before the median, which is of the
 * others. */
static void show_steps(struct steps *s, const struct runlog *log)
{
    printf("iterations  %zu logged", s->n_logged);
    for (size_t i = 0; i < s->n_reasons; i++)
        printf(", %zu dropped (%s)", s->dropped[i].n, s->dropped[i].why);
    printf("\n");
    if (log->n_sections > 1)
        printf("runs        %d in this file; figures are of run %d\n",
               log->n_sections,
               log->used_section < 0 ? log->n_sections : log->used_section + 1);
    if (s->seen == 0 && s->last_reason)
        printf("step        no usable iteration; the last one logged took "
               "%.1f ms (%s)\n",
               s->last_dropped_ms, s->last_reason);
    else if (s->seen == 0)
        printf("step        no usable iteration\n");
    else
        printf("step        median %.1f ms of %zu (min %.1f, max %.1f)\n",
               stats_median(s->ms, s->n), s->seen, s->min_ms, s->max_ms);
}

/* A dash for ranks that a timer does not list. */
static void show_rank_columns(const struct logmeans *m, int n_ranks)
{
    printf("timers      mean ms per rank\n  %-40s", "rank");
    for (int r = 0; r < n_ranks; r++)
        printf(" %9d", r);
    printf("\n");
    for (size_t i = 0; i < m->n_means; i++) {
        const struct log_mean *t = &m->means[i];
        printf("  %-40s", t->name);
        for (int r = 0; r < n_ranks; r++) {
            cmd_print_number(9, 2, r < t->n_ranks ? t->ms[r] : (double)NAN);
        }
        printf("\n");
    }
}

/* What bounds a step and what waits most: between them the ranks differ little.
 */
static void show_extremes(const struct logmeans *m)
{
    printf("timers      mean ms of the ranks with least and most\n");
    for (size_t i = 0; i < m->n_means; i++) {
        const struct log_mean *t = &m->means[i];
        int lo = -1, hi = -1;
        for (int r = 0; r < t->n_ranks; r++) {
            if (isnan(t->ms[r]))
                continue;
            lo = lo < 0 || t->ms[r] < t->ms[lo] ? r : lo;
            hi = hi < 0 || t->ms[r] > t->ms[hi] ? r : hi;
        }
        if (lo >= 0)
            printf("  %-40s %9.2f (rank %d) %9.2f (rank %d)\n", t->name,
                   t->ms[lo], lo, t->ms[hi], hi);
    }
}

/* A column a rank on a terminal's width, else the two ranks at the ends. */
static void show_timers(const struct logmeans *m, bool has_timers)
{
    int n_ranks = 0;
    for (size_t i = 0; i < m->n_means; i++)
        n_ranks = m->means[i].n_ranks > n_ranks ? m->means[i].n_ranks : n_ranks;
    if (n_ranks > PARSE_MAX_COLUMNS)
        show_extremes(m);
    else if (n_ranks > 0)
        show_rank_columns(m, n_ranks);
    else if (has_timers)
        printf("timers      not per rank in a usable iteration; log with "
               "--timing-log-option all\n");
    else
        printf("timers      absent; log with --timing-log-level 2, and check "
               "--logging-level (30 and more hides them)\n");
}

/* Also where nothing failed: it says that it was looked for. */
static void show_rest(const struct runlog *log)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    for (size_t i = 0; i < log->n_memory; i++) {
        const struct log_memory *m = &log->memory[i];
        printf("%-11s rank %d: allocated %.3f GiB, peak %.3f GiB\n",
               i ? "" : "memory", m->rank, (double)m->allocated_bytes / gib,
               (double)m->max_allocated_bytes / gib);
    }
    const char *kind = log_failure_name(log->failure);
    printf("failure     %s", kind ? kind : "none");
    if (kind && log->failure_rank >= 0)
        printf(" (rank %d)", log->failure_rank);
    printf("\n");
}

/* The number of all, since only the first are kept. */
static void show_notes(const struct runlog *log)
{
    for (size_t i = 0; i < log->n_notes; i++)
        printf("%-11s %s\n", i ? "" : "unread", log->notes[i]);
    if (log->n_all_notes > log->n_notes)
        printf("%-11s and %zu more\n", "", log->n_all_notes - log->n_notes);
}

struct summary_sink {
    struct steps steps;
    struct throughput throughput;
    bool has_timers;
};

static void summary_iteration(void *data, const struct log_iteration *it)
{
    struct summary_sink *s = data;
    add_step(&s->steps, it);
    throughput_add(&s->throughput, it);
}

static void summary_timer(void *data, const struct log_timer_event *t)
{
    struct summary_sink *s = data;
    s->has_timers = s->has_timers || t->iteration > 0;
}

/* The sink hears each line as it is read; only its sums are kept. */
static enum err bench_parse_print_summary(FILE *f, const char *path,
                                          struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    struct summary_sink *s = arena_alloc(&a, 1, sizeof *s);
    struct logmeans m;
    enum err e = s ? ERR_OK : err_set(msg, ERR_NOMEM, "out of memory");
    if (e == ERR_OK) {
        s->steps.section = -1;
        struct log_sink sink = {
            .data = s, .iteration = summary_iteration, .timer = summary_timer};
        const struct log_input in = {.file = f, .where = path};
        e = logmeans_read_input(&a, &in, &sink, &m, msg);
    }
    if (e == ERR_OK) {
        printf("dialect     %s\n", m.log.dialect);
        if (m.log.clock)
            printf("clock       %s\n", m.log.clock);
        struct throughput_model of_model;
        throughput_of_model(&a, &s->throughput, &m.log, &of_model);
        show_steps(&s->steps, &m.log);
        throughput_show(&s->throughput, &of_model);
        show_timers(&m, s->has_timers);
        show_rest(&m.log);
        show_notes(&m.log);
    }
    arena_clear(&a);
    return e;
}

/* ---- command ---- */

/* JSON is made in several passes, so that a pipe is copied first. */
static enum err parse_file(const char *path, bool json, struct err_msg *msg)
{
    FILE *f = input_stream(path, msg);
    if (!f)
        return ERR_PARSE;
    enum err e = json ? input_seekable(&f, path, msg) : ERR_OK;
    if (e != ERR_OK)
        return e;
    struct printer p = {.any = false};
    e = json ? bench_parse_print_json(&p, f, path, msg)
             : bench_parse_print_summary(f, path, msg);
    free(p.starts.data);
    fclose(f);
    if (e == ERR_OK && fflush(stdout) != 0)
        e = err_set(msg, ERR_IO, "standard output: %s", strerror(errno));
    return e;
}

static enum err bench_parse_run(struct cmd *c)
{
    const char *path = NULL;
    enum err e = cmd_operand(c, "log", &path);
    return e == ERR_OK ? parse_file(path, cmd_given(c, OPT_JSON), &c->msg) : e;
}

static const int takes[] = {OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_PARSE = {
    .name = "parse",
    .run = bench_parse_run,
    .synopsis = "parse LOG [--json]",
    .summary = "read a training log",
    .help =
        "Prints what a training log tells: iterations and which of them "
        "count,\n"
        "throughput, timers, memory, how the run failed. Reads the output of\n"
        "Megatron-LM and its relatives and of moe-train; LOG may be "
        "/dev/stdin\n"
        "or a file packed with gzip.\n"
        "Times are in ms. A dialect that is not known is named with its "
        "first\n"
        "line, and so is a value that is not understood. TFLOP/s of our own "
        "count\n"
        "stand beside the printed ones where the log has a dump of "
        "arguments.\n"
        "The JSON document is moe-bench/runlog/1.\n",
    .closing = "example: moe-bench parse results/local/default/log.txt "
               "--json\n",
    .options = takes,
    .max_operands = 1};
