/*
 * How it works: one pass counts, a second one goes over the iterations that
 * count in the order of the log; each kind of doubt is a function that looks at
 * these numbers and adds at most one finding.
 */
#include "steps.h"

#include "base/stats.h"
#include "base/text.h"
#include "cost/lsq.h"
#include "log/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is worth a word: start-up that moves the mean, steps that still change
 * between the halves, scatter of single steps, a slow step; relative. */
static const double STEPS_START = 0.02, STEPS_DRIFT = 0.05, STEPS_SCATTER = 0.1,
                    STEPS_SLOW = 1.5;
enum { STEPS_FEW = 5, STEPS_FOR_DRIFT = 8, STEPS_FOR_SCATTER = 4 };
enum { STEPS_LONGEST = 1 << 20 }; // iterations of a line: more is damage

/* The last section where none counts. */
static int steps_section(const struct runlog *log)
{
    return log->used_section >= 0 ? log->used_section : log->n_sections - 1;
}

/* Dialects whose step time is the mean since the line before; others print that
 * of one step, now and then. */
static bool steps_are_means(const struct runlog *log)
{
    static const char *const others[] = {"megatron-bridge", "primus"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (log->dialect && strcmp(log->dialect, others[i]) == 0)
            return true;
    return log->dialect && text_starts(log->dialect, "megatron");
}

/* By the numbers of lines that follow one another, the first of a run left out:
 * a start in between, or iteration 1, which is always logged, is nearer. Lines
 * that somebody has taken out lie in the list's own interval. */
static int steps_span(const struct runlog *log)
{
    int64_t least = 0, listed = 0, before = 0;
    const char *text = runlog_argument(log, "log_interval");
    for (size_t i = 0; i < log->n_iterations && steps_are_means(log); i++) {
        const struct log_iteration *it = &log->iterations[i];
        if (it->section != steps_section(log))
            continue;
        const int64_t apart = it->iteration - before;
        if (before > 1 && apart > 0 && (least == 0 || apart < least))
            least = apart;
        before = it->iteration;
    }
    if (text && text_to_int64(text, &listed) && listed > 0 && listed < least)
        least = listed;
    return least > 1 && least < STEPS_LONGEST ? (int)least : 1;
}

/* Iteration 1 is always logged, and is in the first mean of several, too. */
static void steps_count(const struct runlog *log, struct steps *s)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < log->n_iterations; i++) {
        const struct log_iteration *it = &log->iterations[i];
        if (it->section != steps_section(log))
            continue;
        s->n_logged++;
        s->n_skipped += it->skipped;
        s->n_nan += it->nan;
        if (isfinite(it->step_ms) && (s->span == 1 || it->iteration > 1)) {
            sum += it->step_ms;
            n++;
        }
    }
    s->n_all = n * (size_t)s->span;
    s->all_mean_s = n ? sum / (double)n * 1e-3 : (double)NAN;
}

/* Iterations behind the first that a reader counts, but that still start up:
 * slow ones before any that is not. They count no more, nor do their timers. */
static void steps_drop_start(struct arena *a, struct runlog *log,
                             struct findings *f)
{
    struct log_iteration *all =
        arena_alloc(a, log->n_iterations + 1, sizeof *all);
    double *ms = arena_alloc(a, log->n_iterations + 1, sizeof *ms);
    const struct log_iteration *it;
    size_t n = 0, dropped = 0;
    if (!all || !ms) {
        f->failed = true;
        return;
    }
    for (size_t at = 0; (it = runlog_next_used(log, &at)) != NULL;)
        ms[n++] = it->step_ms;
    const double median = stats_median(ms, n);
    memcpy(all, log->iterations, log->n_iterations * sizeof *all);
    for (size_t i = 0; i < log->n_iterations && n >= STEPS_FOR_SCATTER; i++) {
        if (!all[i].usable || all[i].section != log->used_section)
            continue;
        if (!(all[i].step_ms > STEPS_SLOW * median))
            break;
        all[i].usable = false;
        all[i].dropped = "warm-up";
        dropped++;
    }
    log->iterations = all;
    if (dropped)
        findings_add(f, FINDING_NOTE, "warm-up-counted",
                     "%zu iteration%s behind the first still start%s up, above "
                     "one and a half of the median of %.1f ms: left out here, "
                     "but whoever drops only the first one counts %s",
                     dropped, dropped == 1 ? "" : "s", dropped == 1 ? "s" : "",
                     median, dropped == 1 ? "it" : "them");
}

/* Means of what iterations that count print; a batch that changes is none. */
static void steps_means(const struct runlog *log, struct steps *s, double *ms)
{
    struct log_running tflops = {0}, tokens = {0};
    const struct log_iteration *it;
    bool same = true;
    for (size_t at = 0; (it = runlog_next_used(log, &at)) != NULL;) {
        ms[s->n_used++] = it->step_ms;
        if (isfinite(it->tflops))
            log_running_add(&tflops, it->tflops);
        if (isfinite(it->tokens_per_s))
            log_running_add(&tokens, it->tokens_per_s);
        same = same && (s->n_used == 1 || it->global_batch == s->global_batch);
        s->global_batch = it->global_batch;
    }
    if (!same)
        s->global_batch = 0;
    const struct stats_mean mean = stats_mean(ms, s->n_used);
    s->mean_s = mean.mean * 1e-3;
    s->se_s = mean.se * 1e-3;
    s->half_s = s->n_used > 1 ? s->se_s * lsq_t95((int)s->n_used - 1) : 0;
    s->printed_tflops = log_running_mean(&tflops);
    s->printed_tokens_per_s = log_running_mean(&tokens);
}

/* Timers list every rank, memory lines only some. */
static int steps_ranks(const struct runlog *log)
{
    int n = 0;
    for (size_t i = 0; i < log->n_timers; i++) {
        const struct log_timer *t = &log->timers[i];
        if (t->per_rank && t->section == steps_section(log) && t->n_ranks > n)
            n = t->n_ranks;
    }
    return n;
}

/* ---- doubts ---- */

/* What the log says of its end, in words that name a cause; a log that just
 * stops names none. */
static void steps_failure(const struct runlog *log, struct findings *f)
{
    static const char *const advice[] = {
        [LOG_OOM] = "a rank ran out of memory",
        [LOG_HANG] = "a collective timed out: one rank waited for another "
                     "that never came",
        [LOG_NAN] = "the loss is not a number",
        [LOG_ASSERT] = "an exception or a failed check ended it",
        [LOG_KILLED] = "a signal or a time limit ended it",
    };
    char rank[32] = "";
    if (log->failure == LOG_OK)
        return;
    if (log->failure == LOG_TRUNCATED) { // no failure where it still runs
        findings_add(f, FINDING_NOTE, "truncated",
                     "the log ends before the run does: cut, or still running");
        return;
    }
    if (log->failure_rank >= 0)
        snprintf(rank, sizeof rank, " (rank %d)", log->failure_rank);
    findings_add(f, FINDING_WRONG, log_failure_name(log->failure),
                 "the run failed: %s%s", advice[log->failure], rank);
}

/* Skipped steps of a start in fp16 are the search for a loss scale: only those
 * behind a step that counts are no start. */
static bool steps_skips_late(const struct runlog *log)
{
    bool used = false, late = false;
    for (size_t i = 0; i < log->n_iterations; i++) {
        const struct log_iteration *it = &log->iterations[i];
        if (it->section != steps_section(log))
            continue;
        used = used || it->usable;
        late = late || (used && (it->skipped || it->nan));
    }
    return late;
}

/* Skipped steps at the start are a loss scale that is looked for, later ones
 * are none. A skipped step often has a loss that is no number, which is not
 * told twice. */
static void steps_bad(const struct runlog *log, const struct steps *s,
                      struct findings *f)
{
    const bool late = steps_skips_late(log);
    if (s->n_skipped)
        findings_add(f, late ? FINDING_WRONG : FINDING_NOTE, "skipped",
                     "%zu of %zu logged iterations were skipped%s: they do "
                     "less work and are left out of all means",
                     s->n_skipped, s->n_logged,
                     late ? "" : " at the start (a loss scale is looked for)");
    if (s->n_nan > s->n_skipped || (s->n_nan && !s->n_skipped))
        findings_add(f, FINDING_WRONG, "nan-loss",
                     "the loss of %zu of %zu logged iterations is not a "
                     "number: mend that before speed",
                     s->n_nan, s->n_logged);
}

/* With the reason of the last iteration that was dropped: it is the one that a
 * longer run would have had beyond. */
static void steps_none(const struct runlog *log, const struct steps *s,
                       struct findings *f)
{
    const char *why = NULL;
    for (size_t i = 0; i < log->n_iterations; i++)
        if (log->iterations[i].dropped)
            why = log->iterations[i].dropped;
    if (s->n_logged == 0)
        findings_add(f, FINDING_WRONG, "no-iterations",
                     "the log has no iteration line: nothing was timed");
    else
        findings_add(f, FINDING_WRONG, "no-usable-iteration",
                     "%zu iteration%s logged, and none can be used%s%s%s: run "
                     "20 or more with --log-interval 1",
                     s->n_logged, s->n_logged == 1 ? "" : "s", why ? " (" : "",
                     why ? why : "", why ? ")" : "");
}

static void steps_start(const struct steps *s, struct findings *f)
{
    const double more = s->all_mean_s / s->mean_s - 1;
    if (more > STEPS_START)
        findings_add(
            f, FINDING_NOTE, "warm-up",
            "an average over all %zu iterations (start-up, skipped ones) "
            "would say %.1f ms, %.1f%% too much: %zu of them count",
            s->n_all, s->all_mean_s * 1e3, 100 * more,
            s->n_used * (size_t)s->span);
}

/* A single slow step moves neither half far; throttling and warm-up move all of
 * one. */
static void steps_drift(const double *ms, const struct steps *s,
                        struct findings *f)
{
    const size_t half = s->n_used / 2;
    if (s->n_used < STEPS_FOR_DRIFT)
        return;
    const struct stats_mean a = stats_mean(ms, half);
    const struct stats_mean b = stats_mean(ms + s->n_used - half, half);
    // noise alone moves means by a few of their errors
    if (fabs(b.mean / a.mean - 1) > STEPS_DRIFT &&
        fabs(b.mean - a.mean) > 3 * hypot(a.se, b.se))
        findings_add(f, FINDING_WRONG, "drift",
                     "steps go from %.1f ms in the first half to %.1f in the "
                     "second: the run is not steady (still warming up, or a "
                     "card that throttles), and one mean stands for neither",
                     a.mean, b.mean);
}

/* `ms` is reordered. */
static void steps_scatter(double *ms, const struct steps *s, struct findings *f)
{
    const double sd = s->se_s * sqrt((double)s->n_used);
    if (s->n_used < STEPS_FOR_SCATTER)
        return;
    const double median = stats_median(ms, s->n_used);
    size_t slow = 0;
    for (size_t i = 0; i < s->n_used; i++)
        slow += ms[i] > STEPS_SLOW * median;
    if (sd > STEPS_SCATTER * s->mean_s)
        findings_add(f, FINDING_WRONG, "scatter",
                     "%s scatter by %.0f%% (median %.1f ms, %zu of "
                     "%zu above one and a half of it): checkpoints, data or a "
                     "slow node are in the mean",
                     s->span == 1 ? "single steps" : "means of several steps",
                     100 * sd / s->mean_s, median, slow, s->n_used);
}

/* What makes one mean a poor word for the run. */
static void steps_doubt(const struct runlog *log, struct steps *s, double *ms,
                        struct findings *f)
{
    const bool changes = s->n_used && !s->global_batch;
    const struct log_iteration *it;
    size_t at = 0;
    steps_start(s, f);
    if (s->n_used < STEPS_FEW)
        findings_add(
            f, FINDING_NOTE, "few-steps",
            s->span == 1
                ? "only %zu iteration%s can be used: 20 would tell the "
                  "scatter"
                : "only %zu line%s can be used, means of several "
                  "iterations: 20 of --log-interval 1 would tell the "
                  "scatter",
            s->n_used, s->n_used == 1 ? "" : "s");
    steps_drift(ms, s, f);
    steps_scatter(ms, s, f);
    it = runlog_next_used(log, &at);
    if (changes && it && it->global_batch)
        findings_add(f, FINDING_WRONG, "batch-changes",
                     "the global batch changes between iterations (a ramp-up): "
                     "steps of different work are in one mean");
}

void steps_read(struct arena *a, struct runlog *log, struct steps *out,
                struct findings *f)
{
    struct steps s = {.n_ranks = steps_ranks(log), .span = steps_span(log)};
    double *ms = arena_alloc(a, log->n_iterations + 1, sizeof *ms);
    steps_failure(log, f);
    steps_drop_start(a, log, f);
    steps_count(log, &s);
    if (ms)
        steps_means(log, &s, ms);
    else
        f->failed = true;
    if (log->n_sections > 1)
        findings_add(f, FINDING_NOTE, "several-runs",
                     "the file holds %d runs: the last one with a usable "
                     "iteration counts",
                     log->n_sections);
    steps_bad(log, &s, f);
    if (s.n_used)
        steps_doubt(log, &s, ms, f);
    else
        steps_none(log, &s, f);
    if (log->n_all_notes)
        findings_add(f, FINDING_NOTE, "not-understood",
                     "%zu line%s not understood, the first: %s",
                     log->n_all_notes, log->n_all_notes == 1 ? " is" : "s are",
                     log->notes[0]);
    *out = s;
}
