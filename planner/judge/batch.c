/*
 * How it works: the rules on batch and micro-batches. A step has one number of
 * micro-batches, or several in turn while the batch is ramped up; the rule on
 * groups of the interleaved schedule is asked for each.
 */
#include "rule.h"

#include <stdio.h>
#include <string.h>

// beyond this many steps of a ramp-up only its first and last are looked at
enum { JUDGE_MAX_RAMP = 10000 };

/* Sequences that all replicas take in one micro-batch; 0: not known. */
static int64_t judge_one(const struct judge *j)
{
    return j->n.mbs * j->n.dp;
}

/* ---- batch ---- */

/* What --decrease-batch-size-if-needed leaves must be one micro-batch a replica
 * at least. */
static void judge_batch(struct judge *j)
{
    int64_t one = judge_one(j), gbs = j->n.gbs;
    if (!one)
        return; // the world does not divide: refused already
    if (gbs % one && (!judge_on(j, FLAG_DECREASE_BATCH) || gbs < one)) {
        judge_refuse(j,
                     "--global-batch-size %lld is no multiple of "
                     "--micro-batch-size %lld x %lld replicas = %lld: want "
                     "%s",
                     (long long)gbs, (long long)j->n.mbs, (long long)j->n.dp,
                     (long long)one, judge_multiples(j, gbs, one));
        return;
    }
    if (gbs % one)
        judge_warn(j,
                   "--decrease-batch-size-if-needed: a step has %lld "
                   "sequences, not --global-batch-size %lld",
                   (long long)(gbs / one * one), (long long)gbs);
    j->out->n_microbatches = gbs / one;
}

/* Megatron takes one micro-batch a replica where no batch is given. */
static void judge_default_batch(struct judge *j)
{
    if (j->launch && !flags_given(j->f, FLAG_GLOBAL_BATCH_SIZE) &&
        !flags_given(j->f, FLAG_STEP_BATCH_SIZE_SCHEDULE))
        j->out->n_microbatches = 1;
    if (j->launch && !flags_given(j->f, FLAG_MICRO_BATCH_SIZE))
        judge_warn(j, "--micro-batch-size is not given: Megatron has no "
                      "default for it, and 1 is taken here");
}

/* ---- micro-batches of the pipeline ---- */

/* Does the interleaved schedule take m micro-batches in groups of n? */
static bool judge_takes(const struct judge *j, int64_t m, int64_t n)
{
    int64_t rest = n > 0 ? m % n : 0;
    return n >= j->n.pp && n <= m && (rest == 0 || rest >= j->n.pp);
}

/* Megatron's default is PP. */
static int64_t judge_group(const struct judge *j)
{
    return judge_int(j, FLAG_MB_GROUP, j->n.pp);
}

/* "--global-batch-size 8 or 12": the next ones below and above that fill
 * groups of the stated size, which is at least PP. */
static const char *judge_batches(struct judge *j, int64_t m, int64_t group)
{
    int64_t below = m - 1, above = m + 1, one = judge_one(j);
    while (below > 0 && !judge_takes(j, below, group))
        below--;
    if (above < group)
        above = group;
    while (!judge_takes(j, above, group))
        above++;
    const char *what = one ? "--global-batch-size" : "micro-batches:";
    one = one ? one : 1;
    const char *text =
        below > 0
            ? arena_printf(j->arena, "%s %lld or %lld", what,
                           (long long)(below * one), (long long)(above * one))
            : arena_printf(j->arena, "%s %lld", what, (long long)(above * one));
    j->nomem = j->nomem || !text;
    return text ? text : "";
}

/* Groups that would take the micro-batches, the nearest to the stated one; 0:
 * none. */
static int64_t judge_other_group(const struct judge *j, int64_t m, int64_t n)
{
    for (int64_t d = 1; d <= m + n; d++) {
        if (n - d >= j->n.pp && judge_takes(j, m, n - d))
            return n - d;
        if (n + d <= m && judge_takes(j, m, n + d))
            return n + d;
    }
    return 0;
}

/* What the schedule says of m micro-batches, with the numbers that would do. */
static void judge_refuse_group(struct judge *j, int64_t m, const char *when)
{
    int64_t n = judge_group(j);
    int64_t other = judge_other_group(j, m, n);
    char groups[80] = "";
    if (other)
        snprintf(groups, sizeof groups,
                 "--microbatch-group-size-per-virtual-pipeline-stage %lld",
                 (long long)other);
    const char *batches =
        n >= j->n.pp ? judge_batches(j, m, n) : "micro-batches of a later step";
    bool both = *groups && n >= j->n.pp;
    judge_refuse(j,
                 "%lld micro-batches%s in groups of %lld "
                 "(--microbatch-group-size-per-virtual-pipeline-stage, PP "
                 "where it is not given): virtual stages want PP %lld <= "
                 "group <= micro-batches, and a rest of 0 or at least %lld, "
                 "got %lld: want %s%s%s",
                 (long long)m, when, (long long)n, (long long)j->n.pp,
                 (long long)j->n.pp, (long long)(m % n), groups,
                 both ? ", or " : "", both || !*groups ? batches : "");
}

/* One rank, or no virtual stages: another schedule, which takes any number. */
static void judge_group_of(struct judge *j, int64_t m, const char *when)
{
    if (judge_interleaves(j) && !judge_takes(j, m, judge_group(j)))
        judge_refuse_group(j, m, when);
}

/* Without virtual stages Megatron starts all the same, and ranks idle. */
static void judge_microbatches(struct judge *j)
{
    int64_t m = j->out->n_microbatches;
    if (!m || !j->n.vpp || j->n.pp == 1)
        return;
    bool none = !flags_given(j->f, FLAG_GLOBAL_BATCH_SIZE);
    judge_group_of(j, m,
                   none ? " (no --global-batch-size: one micro-batch a replica)"
                        : "");
    if (!judge_interleaves(j) && m < j->n.pp)
        judge_warn(j,
                   "%lld micro-batch%s for %lld stages: ranks idle for most "
                   "of a step: %s %lld or more fills the pipeline",
                   (long long)m, m == 1 ? "" : "es", (long long)j->n.pp,
                   judge_one(j) ? "--global-batch-size" : "a batch of",
                   (long long)(j->n.pp * (judge_one(j) ? judge_one(j) : 1)));
}

/* Groups that are not filled are for older versions a refusal of their own. */
static void judge_ragged(struct judge *j)
{
    int64_t m = j->out->n_microbatches;
    if (j->out->valid && m && judge_interleaves(j) && m % j->n.pp)
        judge_warn(j,
                   "the number of micro-batches %lld is not a multiple of "
                   "the pipeline size %lld: the last group is ragged",
                   (long long)m, (long long)j->n.pp);
}

/* ---- ramp-up ---- */

/* One batch of several that a run has in turn: what its micro-batches are, and
 * whether the schedule takes them. False: refused. */
static bool judge_other_batch(struct judge *j, int64_t gbs)
{
    char when[64];
    int64_t one = judge_one(j);
    if (one && gbs % one && !judge_on(j, FLAG_DECREASE_BATCH)) {
        judge_refuse(j,
                     "%s: a batch of %lld is no multiple of --micro-batch-size "
                     "%lld x %lld replicas = %lld: want batches that are",
                     judge_flag(j, *j->rule->when), (long long)gbs,
                     (long long)j->n.mbs, (long long)j->n.dp, (long long)one);
        return false;
    }
    snprintf(when, sizeof when, " of a batch of %lld", (long long)gbs);
    if (one && gbs >= one && j->n.pp > 1)
        judge_group_of(j, gbs / one, when);
    return j->out->valid;
}

/* From the start in steps to --global-batch-size, each for a share of the
 * samples; the last one is judged as the batch. */
static void judge_ramp(struct judge *j)
{
    long long start = 0, step = 0, samples = 0;
    char more = '\0';
    const char *text = flags_text(j->f, FLAG_RAMPUP_BATCH_SIZE);
    int64_t gbs = j->n.gbs ? j->n.gbs : judge_one(j);
    // YAML lists come in brackets
    text += *text == '[';
    int n = sscanf(text, "%lld %lld %lld %c", &start, &step, &samples, &more);
    if (n < 3 || (more && more != ']')) {
        judge_refuse(j,
                     "--rampup-batch-size: got '%s', want a start, a step "
                     "and a number of samples",
                     text);
        return;
    }
    if (start < 1 || step < 1 || samples < 0 || !gbs)
        judge_refuse(j,
                     "--rampup-batch-size: got '%s', want a start and a "
                     "step above 0",
                     text);
    else if (gbs < start || (gbs - start) % step)
        judge_refuse(j,
                     "--rampup-batch-size: from %lld in steps of %lld no "
                     "batch is --global-batch-size %lld",
                     start, step, (long long)gbs);
    else if ((gbs - start) / step > JUDGE_MAX_RAMP)
        judge_other_batch(j, start);
    else
        for (int64_t b = start; b < gbs && judge_other_batch(j, b); b += step)
            ;
}

/* "0:768 250B:1536": where each batch begins and its sequences, which may have
 * a suffix, too. */
static void judge_schedule(struct judge *j)
{
    const char *text = flags_text(j->f, FLAG_STEP_BATCH_SIZE_SCHEDULE);
    if (judge_on(j, FLAG_GLOBAL_BATCH_SIZE))
        judge_refuse(j, "--step-batch-size-schedule excludes "
                        "--global-batch-size");
    for (const char *p = text; (p = strchr(p, ':')) != NULL;) {
        static const char suffixes[] = "KMBT";
        char suffix = '\0';
        double gbs = 0;
        int n = sscanf(++p, "%lf%c", &gbs, &suffix);
        const char *at = n == 2 ? strchr(suffixes, suffix) : NULL;
        for (int i = 0; at && i <= at - suffixes; i++)
            gbs *= 1000;
        if (n < 1 || !(gbs >= 1 && gbs < 1e15)) {
            judge_refuse(j,
                         "--step-batch-size-schedule: got '%s', want "
                         "THRESHOLD:BATCH, as in '0:768 250B:1536'",
                         text);
            return;
        }
        if (!judge_other_batch(j, (int64_t)gbs))
            return;
    }
}

#define JUDGE_STEP                                                             \
    FLAG_TP, FLAG_CP, FLAG_PP, FLAG_MICRO_BATCH_SIZE, FLAG_GLOBAL_BATCH_SIZE,  \
        FLAG_DECREASE_BATCH

// the first two give the micro-batches that the others ask for
const struct judge_rule JUDGE_BATCH[] = {
    {"batch and micro-batches",
     "num_microbatches_calculator.py ConstantNumMicroBatchesCalculator",
     judge_batch, JUDGE_FLAGS(FLAG_GLOBAL_BATCH_SIZE),
     JUDGE_FLAGS(FLAG_WORLD_SIZE), JUDGE_FLAGS(JUDGE_STEP)},
    {"batch", "arguments.py validate_args", judge_default_batch, NULL, NULL,
     NULL},
    {"micro-batches",
     "schedules.py forward_backward_pipelining_with_interleaving",
     judge_microbatches, NULL, NULL, JUDGE_FLAGS(FLAG_MB_GROUP)},
    {"ragged group", "", judge_ragged, NULL, NULL, JUDGE_FLAGS(FLAG_MB_GROUP)},
    {"ramp-up",
     "num_microbatches_calculator.py RampupBatchsizeNumMicroBatchesCalculator",
     judge_ramp, JUDGE_FLAGS(FLAG_RAMPUP_BATCH_SIZE),
     JUDGE_FLAGS(FLAG_WORLD_SIZE), JUDGE_FLAGS(JUDGE_STEP, FLAG_MB_GROUP)},
    {"schedule of batches",
     "num_microbatches_calculator.py StepBatchsizeNumMicroBatchesCalculator",
     judge_schedule, JUDGE_FLAGS(FLAG_STEP_BATCH_SIZE_SCHEDULE),
     JUDGE_FLAGS(FLAG_WORLD_SIZE), JUDGE_FLAGS(JUDGE_STEP, FLAG_MB_GROUP)},
    {.name = NULL},
};
