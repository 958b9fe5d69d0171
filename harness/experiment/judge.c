#include "judge.h"

#include "figures/figures.h"
#include "launch/supervise.h"

// a run that began anew so often within its limits measured nothing
enum { JUDGE_MAX_RESTARTS = 100 };

/* A reason that could not be printed into memory is still no valid run. */
static void judge_as(struct run_record *run, enum run_status s,
                     const char *reason)
{
    run->status = s;
    run->reason = reason ? reason : "out of memory";
}

/* Of the last run in the log, where numbers only go up. */
static int64_t last_iteration(const struct runlog *log)
{
    size_t n = log->n_iterations;
    return n ? log->iterations[n - 1].iteration : 0;
}

/* The largest number of all: one beyond the last may stand before others. */
static int64_t furthest_iteration(const struct runlog *log)
{
    int64_t most = 0;
    for (size_t i = 0; i < log->n_iterations; i++)
        if (log->iterations[i].iteration > most)
            most = log->iterations[i].iteration;
    return most;
}

/* A clock that stands makes a step of 0 ms: 0 when no used step is so. */
static int64_t find_instant(const struct runlog *log, int warmup)
{
    for (size_t i = 0; i < log->n_iterations; i++) {
        const struct log_iteration *it = &log->iterations[i];
        if (it->usable && it->section == log->used_section &&
            it->iteration > warmup && it->step_ms <= 0)
            return it->iteration;
    }
    return 0;
}

static int count_used(const struct runlog *log, int warmup)
{
    int n = 0;
    for (size_t i = 0; i < log->n_iterations; i++)
        n += figures_is_used(log, &log->iterations[i], warmup);
    return n;
}

/* What the log says of a failure; false when it tells of none. */
static bool judge_failure(struct arena *a, struct run_record *run)
{
    const char *name = log_failure_name(run->log.failure);
    const char *where =
        run->log.failure_rank >= 0
            ? arena_printf(a, " on rank %d", run->log.failure_rank)
            : "";
    const char *reason = arena_printf(a, "the log tells of '%s'%s",
                                      name ? name : "", where ? where : "");
    switch (run->log.failure) {
    case LOG_OK:
    case LOG_TRUNCATED: // seen better by counting iterations
        return false;
    case LOG_OOM:
        judge_as(run, RUN_OOM, reason);
        return true;
    case LOG_NAN:
        judge_as(run, RUN_NAN, reason);
        return true;
    case LOG_HANG:
    case LOG_ASSERT:
    case LOG_KILLED:
    default:
        judge_as(run, RUN_FAILED, reason);
        return true;
    }
}

/* Of a run that came to its end: whether its log tells of this run, and of no
 * more than it. */
static void judge_figures(struct arena *a, const struct run_ending *end,
                          struct run_record *run)
{
    const long long n_lines = (long long)run->log.n_iterations;
    int64_t furthest = furthest_iteration(&run->log);
    int64_t instant = find_instant(&run->log, end->warmup);
    if (end->other)
        judge_as(run, RUN_INVALID, end->other);
    else if (furthest > end->wanted_iterations)
        judge_as(run, RUN_INVALID,
                 arena_printf(a, "the log has iteration %lld of %d",
                              (long long)furthest, end->wanted_iterations));
    else if (n_lines > JUDGE_MAX_RESTARTS * (end->wanted_iterations + 1LL))
        judge_as(run, RUN_INVALID,
                 arena_printf(a,
                              "the log has %lld iteration lines of "
                              "%d: restarted again and again",
                              n_lines, end->wanted_iterations));
    else if (instant > 0)
        judge_as(
            run, RUN_INVALID,
            arena_printf(a, "iteration %lld took 0 ms", (long long)instant));
    else if (count_used(&run->log, end->warmup) == 0)
        judge_as(run, RUN_INVALID, "no usable iteration after the warm-up");
    else
        judge_as(run, RUN_VALID, "");
}

/* The log is the judge: a deadlock under SMPI exits with 0. */
void judge_run(struct arena *a, const struct run_ending *end,
               struct run_record *run)
{
    int64_t last = last_iteration(&run->log);
    run->exit_code = end->exit_code;
    if (end->silent_s > 0)
        judge_as(run, RUN_TIMEOUT,
                 arena_printf(a,
                              "hung: the log was silent for %.0f s after "
                              "iteration %lld of %d",
                              end->silent_s, (long long)last,
                              end->wanted_iterations));
    else if (end->flooded)
        judge_as(
            run, RUN_FAILED,
            arena_printf(a,
                         "killed after it printed more than %lld MB; the log "
                         "is its beginning",
                         SUPERVISE_MAX_LOG_BYTES >> 20));
    else if (end->timed_out)
        judge_as(run, RUN_TIMEOUT,
                 arena_printf(a,
                              "killed after limits.run_s = %g s at iteration "
                              "%lld of %d",
                              end->limit_s, (long long)last,
                              end->wanted_iterations));
    else if (end->lost && run->log.failure != LOG_OOM &&
             run->log.failure != LOG_NAN)
        judge_as(
            run, RUN_FAILED,
            arena_printf(a, "the job was lost (%s) at iteration %lld of %d",
                         end->lost, (long long)last, end->wanted_iterations));
    else if (judge_failure(a, run))
        return;
    else if (end->exit_code != 0)
        judge_as(run, RUN_FAILED,
                 end->exit_code < 0
                     ? "killed by a signal"
                     : arena_printf(a,
                                    "exit status %lld at iteration %lld of %d",
                                    (long long)end->exit_code, (long long)last,
                                    end->wanted_iterations));
    else if (last < end->wanted_iterations)
        judge_as(run, RUN_FAILED,
                 arena_printf(a, "the log ends at iteration %lld of %d",
                              (long long)last, end->wanted_iterations));
    else
        judge_figures(a, end, run);
}
