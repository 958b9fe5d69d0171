/*
 * How it works: every check is a function over the runs that says the worst it
 * found. A unit that is wrong by a thousand shows in the rate: what the card
 * cannot do at all, it does well with the other unit.
 */
#include "checks.h"

#include "base/csv.h"
#include "base/reader.h"
#include "doctor/rate.h"
#include "published/dataset.h"

#include <math.h>
#include <string.h>

const double CHECK_SPREAD_DOUBT = 0.05, CHECK_SPREAD_NO = 0.25;

// dense training runs reach 20 to 60%; small models on many cards a few percent
const double CHECK_MFU_DOUBT_LO = 0.01, CHECK_MFU_DOUBT_HI = 0.75;

/* FLOP/s of one rank where no card is named: a core has 10^8 and more, no
 * accelerator has 10^16. */
static const double CHECK_LEAST_FLOPS = 1e8, CHECK_MOST_FLOPS = 1e16;

/* Below this share of the peak nothing trains; ours and a log's own rate are
 * counted by other rules, but not by others than these apart. */
static const double CHECK_MFU_NO = 1e-4, CHECK_RATE_APART = 2.5;

static const char *const check_names[] = {
#define CHECK_NAME(id, name, help) name,
    CHECK_TABLE(CHECK_NAME)
#undef CHECK_NAME
};
static const char *const check_helps[] = {
#define CHECK_HELP(id, name, help) help,
    CHECK_TABLE(CHECK_HELP)
#undef CHECK_HELP
};

const char *check_name(enum check_id id)
{
    return check_names[id];
}

const char *check_answer_name(enum check_answer a)
{
    static const char *const names[] = {"yes", "doubt", "no"};
    return names[a];
}

/* The first of the worst stands. */
static void say(struct checks *k, enum check_id id, enum check_answer answer,
                const char *text)
{
    if (answer <= k->answer[id])
        return;
    k->answer[id] = answer;
    k->text[id] = text;
}

/* ---- iterations and spread ---- */

/* Lines of one iteration or means of several: of these fewer will do, but one
 * that a slow step is in must stay alone. */
static void ask_count(struct contribution *c, const struct contribution_run *r,
                      struct checks *k)
{
    const int fewest = r->span == 1 ? CHECK_FEWEST : CHECK_FEWEST_MEANS;
    const char *of =
        r->span == 1 ? "" : arena_printf(c->arena, " means of %d", r->span);
    if (r->n_used < fewest)
        say(k, CHECK_ITERATIONS, CHECK_NO,
            arena_printf(c->arena,
                         "%s: %d%s iterations count (%d dropped), want %d or "
                         "more: run it longer, with --log-interval 1",
                         r->name, r->n_used, of ? of : "", r->n_dropped,
                         fewest));
    else if (r->n_used * r->span < CHECK_FEW)
        say(k, CHECK_ITERATIONS, CHECK_DOUBT,
            arena_printf(c->arena, "%s: only %d%s iterations count", r->id,
                         r->n_used, of ? of : ""));
}

/* Typed times have none, which is told once. */
static void ask_iterations(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++)
        if (c->from == CONTRIBUTION_TYPED)
            say(k, CHECK_ITERATIONS, CHECK_DOUBT,
                "typed in: how many iterations is not known");
        else
            ask_count(c, &c->run[i], k);
}

/* Of means the scatter is that of means. */
static void ask_means(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++)
        if (c->run[i].span > 1)
            say(k, CHECK_SPREAD, CHECK_DOUBT,
                arena_printf(c->arena,
                             "%s: a line of its log is the mean of %d "
                             "iterations: how single ones scatter is not known",
                             c->run[i].id, c->run[i].span));
}

/* Half of what the middle half of the steps spans, of the median. */
static void ask_spread(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++) {
        const struct contribution_run *r = &c->run[i];
        const double spread = 0.5 * (r->q75 - r->q25) / r->step_s;
        if (!(spread > CHECK_SPREAD_DOUBT))
            continue;
        say(k, CHECK_SPREAD, spread > CHECK_SPREAD_NO ? CHECK_NO : CHECK_DOUBT,
            arena_printf(
                c->arena,
                "%s: half of its %s lie within +-%.1f%% of the "
                "median, want %.0f%% or less",
                r->id, r->span == 1 ? "steps" : "means of steps", 100 * spread,
                100 * (spread > CHECK_SPREAD_NO ? CHECK_SPREAD_NO
                                                : CHECK_SPREAD_DOUBT)));
    }
}

/* ---- units and rate ---- */

/* By the rule of the doctor, so that both say the same of one log. */
static struct rate rate_of(const struct contribution *c,
                           const struct contribution_run *r)
{
    struct rate rate;
    const struct rate_question q = {.model = &r->model,
                                    .step_s = r->step_s,
                                    .sequences = r->model.batch.global_batch,
                                    .seq_tokens = r->model.batch.seq_tokens,
                                    .world = r->model.par.world,
                                    .card = c->card};
    rate_work_out(&q, &rate);
    return rate;
}

/* The bounds of what is possible. */
static bool is_possible(const struct rate *r, double times)
{
    const double flops = r->flops_per_s * times;
    if (isfinite(r->mfu))
        return r->mfu * times <= 1 && r->mfu * times >= CHECK_MFU_NO;
    return flops <= CHECK_MOST_FLOPS && flops >= CHECK_LEAST_FLOPS;
}

/* With its number, a reader sees how far off it is. */
static const char *rate_text(struct contribution *c,
                             const struct contribution_run *r,
                             const struct rate *rate)
{
    if (isfinite(rate->mfu))
        return arena_printf(c->arena,
                            "%s: %.6g ms a step are %.3g TFLOP/s a GPU, %.3g%% "
                            "of the peak of %s",
                            r->id, r->step_s * 1e3, rate->flops_per_s / 1e12,
                            100 * rate->mfu, c->card->name);
    return arena_printf(c->arena, "%s: %.6g ms a step are %.3g TFLOP/s a rank",
                        r->id, r->step_s * 1e3, rate->flops_per_s / 1e12);
}

/* What is not possible is a wrong unit or a wrong run. */
static void ask_possible(struct contribution *c,
                         const struct contribution_run *r,
                         const struct rate *rate, struct checks *k)
{
    const char *text = rate_text(c, r, rate);
    const bool too_fast = isfinite(rate->mfu)
                              ? rate->mfu > 1
                              : rate->flops_per_s > CHECK_MOST_FLOPS;
    // in seconds a time is 1000 times as long, in microseconds a 1000th; a log
    // says its unit itself
    if (c->from == CONTRIBUTION_TYPED &&
        is_possible(rate, too_fast ? 1e-3 : 1e3))
        say(k, CHECK_UNITS, CHECK_NO,
            arena_printf(c->arena, "%s; is the time in %s?", text,
                         too_fast ? "seconds" : "microseconds"));
    else
        say(k, CHECK_RATE, CHECK_NO,
            arena_printf(c->arena,
                         "%s, which is not possible: is it the right model, "
                         "batch, number of GPUs?",
                         text));
}

/* Of every run; the extremes are kept for whoever reads on. */
static void ask_rate(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++) {
        const struct contribution_run *r = &c->run[i];
        const struct rate rate = rate_of(c, r);
        const double mfu = rate.mfu;
        if (!(r->step_s > 0))
            continue;
        k->mfu_lo = fmin(k->mfu_lo, mfu);
        k->mfu_hi = fmax(k->mfu_hi, mfu);
        if (!is_possible(&rate, 1))
            ask_possible(c, r, &rate, k);
        else if (mfu > CHECK_MFU_DOUBT_HI || mfu < CHECK_MFU_DOUBT_LO)
            say(k, CHECK_RATE, CHECK_DOUBT, rate_text(c, r, &rate));
        const double ratio = rate.flops_per_s / 1e12 / r->printed_tflops;
        if (ratio > CHECK_RATE_APART || ratio < 1 / CHECK_RATE_APART)
            say(k, CHECK_RATE, CHECK_DOUBT,
                arena_printf(c->arena, "%s; the log prints %.3g TFLOP/s",
                             rate_text(c, r, &rate), r->printed_tflops));
    }
    if (!c->card && k->answer[CHECK_RATE] == CHECK_YES)
        say(k, CHECK_RATE, CHECK_DOUBT,
            arena_printf(c->arena, "the peak of '%s' is not known here",
                         c->gpu));
}

/* ---- duplicates ---- */

/* Two runs of one log, or of one time to the last digit; the same typed twice.
 */
static bool is_same(const struct contribution_run *x,
                    const struct contribution_run *y)
{
    if (*x->log_sha256 && *y->log_sha256)
        return strcmp(x->log_sha256, y->log_sha256) == 0;
    return x->step_s == y->step_s && strcmp(x->layout, y->layout) == 0;
}

/* A log that was copied, cut or joined with another one has another hash; two
 * runs do not have all of three figures alike. */
static bool is_like(const struct contribution_run *x,
                    const struct contribution_run *y)
{
    return *x->log_sha256 && *y->log_sha256 && x->step_s == y->step_s &&
           x->q25 == y->q25 && x->q75 == y->q75 && x->q25 < x->q75 &&
           strcmp(x->layout, y->layout) == 0;
}

/* A doubt is kept with the data: it names runs by their numbers. */
static const char *shown(const struct contribution *c, int i)
{
    return c->from == CONTRIBUTION_EXPERIMENT ? c->run[i].id : c->run[i].name;
}

/* Every pair is looked at: 512 runs at most. */
static void ask_duplicates(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++)
            if (c->from == CONTRIBUTION_LOGS && is_like(&c->run[i], &c->run[j]))
                say(k, CHECK_DUPLICATES, CHECK_DOUBT,
                    arena_printf(c->arena,
                                 "%s has the very times of %s: is it the same "
                                 "run?",
                                 c->run[i].id, c->run[j].id));
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++)
            if (is_same(&c->run[i], &c->run[j]))
                // a harness ran them both; a clock of declared work repeats
                say(k, CHECK_DUPLICATES,
                    c->from == CONTRIBUTION_EXPERIMENT ? CHECK_DOUBT : CHECK_NO,
                    arena_printf(c->arena, "%s is the same run as %s",
                                 shown(c, i), shown(c, j)));
}

/* Rows of another contribution: the same log (`ref` ends with its hash), or the
 * same layout, model and time. */
static bool is_row_of(const struct contribution *c, const struct csv *t,
                      size_t row, const struct contribution_run *r)
{
    double step_s = 0, hidden = 0, world = 0;
    const char *ref = csv_get(t, row, "ref");
    const char *layout = csv_get(t, row, "layout");
    if (ref && *r->log_sha256 && strstr(ref, r->log_sha256))
        return true;
    return layout && strcmp(layout, r->layout) == 0 &&
           csv_get_double(t, row, "step_s", &step_s) && step_s == r->step_s &&
           csv_get_double(t, row, "hidden", &hidden) &&
           hidden == (double)r->model.hidden &&
           csv_get_double(t, row, "n_gpus", &world) && world == c->n_gpus;
}

/* A dataset that cannot be read is passed over: it is judged by its own review.
 */
static enum err ask_others(struct contribution *c, const char *others,
                           struct checks *k, struct err_msg *msg)
{
    struct published_list list;
    enum err e = published_list(c->arena, others, &list, msg);
    for (int d = 0; e == ERR_OK && d < list.n; d++) {
        struct csv t;
        const char *name = strrchr(list.dir[d], '/') + 1;
        if (c->name && strcmp(name, c->name) == 0)
            continue;
        const char *path = published_rows_path(c->arena, list.dir[d]);
        if (!path || csv_read_file(c->arena, path, &t, NULL) != ERR_OK)
            continue; // not ours to judge
        for (size_t row = 0; row < t.n_rows; row++)
            for (int i = 0; i < c->n; i++)
                if (is_row_of(c, &t, row, &c->run[i]))
                    say(k, CHECK_DUPLICATES, CHECK_NO,
                        arena_printf(c->arena, "%s is in %s already",
                                     c->run[i].name, list.dir[d]));
    }
    return e;
}

/* ---- the series and the runs ---- */

/* Runs that failed count as made: they are listed, not left out. */
static void ask_series(struct contribution *c, struct checks *k)
{
    const int there = c->n + c->n_lost;
    if (c->n_absent > 0)
        say(k, CHECK_SERIES, CHECK_NO,
            arena_printf(c->arena,
                         "%d planned runs are not there, the first is %s: "
                         "'moe-bench run' goes on with what is missing",
                         c->n_absent, c->lost[c->n_lost - c->n_absent].what));
    else if (!c->is_planned && c->n_series == 0)
        say(k, CHECK_SERIES, CHECK_DOUBT,
            "how many runs were made in all is not stated (--series N)");
    else if (!c->is_planned && c->n_series != there)
        say(k, CHECK_SERIES, CHECK_NO,
            arena_printf(c->arena,
                         "%lld runs were made and %d %s here: give all of "
                         "them, also slow ones",
                         (long long)c->n_series, there,
                         there == 1 ? "is" : "are"));
    else if (c->n_lost > 0)
        say(k, CHECK_SERIES, CHECK_DOUBT,
            arena_printf(c->arena, "%d runs gave no step time: they are listed",
                         c->n_lost));
}

/* They wait for the GPU at each start and stop. */
static void ask_timers(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++)
        if (c->run[i].is_timed)
            say(k, CHECK_RUN, CHECK_DOUBT,
                arena_printf(c->arena,
                             "%s: its timers (--timing-log-level 2) lengthen "
                             "a step: kept, and left out of fits; a run "
                             "without them tells the step",
                             c->run[i].id));
}

/* What doctor says of a log is kept as a doubt (a run that failed behind some
 * good iterations has figures) but for steps of different work. */
static void ask_finding(struct contribution *c,
                        const struct contribution_run *r,
                        const struct finding *f, struct checks *k)
{
    if (strcmp(f->name, "batch-changes") == 0)
        say(k, CHECK_RUN, CHECK_NO,
            arena_printf(c->arena, "%s: %s; cut the lines of the ramp-up out",
                         r->name, f->text));
    else if (strcmp(f->name, "several-runs") == 0)
        say(k, CHECK_RUN, CHECK_DOUBT,
            arena_printf(c->arena,
                         "%s: %s; cut it where the next one begins to give the "
                         "others, too",
                         r->id, f->text));
    else if (f->weight == FINDING_WRONG)
        say(k, CHECK_RUN, CHECK_DOUBT,
            arena_printf(c->arena, "%s: %s", r->id, f->text));
}

static void ask_run(struct contribution *c, struct checks *k)
{
    for (int i = 0; i < c->n; i++) {
        const struct findings *all = c->run[i].findings;
        for (int j = 0; all && j < all->n; j++)
            ask_finding(c, &c->run[i], &all->item[j], k);
    }
    if (c->n_changes > 0)
        say(k, CHECK_RUN, CHECK_DOUBT,
            arena_printf(c->arena,
                         "%d flags that change the model are not understood "
                         "here",
                         c->n_changes));
}

/* Steps of one layout alone say nothing of any other. */
static void ask_layouts(struct contribution *c, struct checks *k)
{
    bool several = false;
    for (int i = 1; i < c->n; i++)
        several = several || strcmp(c->run[i].layout, c->run[0].layout) != 0;
    if (!several)
        say(k, CHECK_LAYOUTS,
            c->from == CONTRIBUTION_TYPED ? CHECK_NO : CHECK_DOUBT,
            "one layout: two or more tell what a layer costs beside the "
            "output layer");
}

/* Every check begins with yes and its own question; the functions only make it
 * worse. */
enum err checks_ask(struct contribution *c, const char *const *others,
                    struct checks *out, struct err_msg *msg)
{
    struct checks k = {.mfu_lo = (double)NAN, .mfu_hi = (double)NAN};
    for (int i = 0; i < N_CHECKS; i++)
        k.text[i] = check_helps[i];
    ask_layouts(c, &k);
    ask_iterations(c, &k);
    ask_spread(c, &k);
    ask_means(c, &k);
    ask_rate(c, &k);
    ask_duplicates(c, &k);
    ask_series(c, &k);
    ask_run(c, &k);
    ask_timers(c, &k);
    enum err e = ERR_OK;
    for (; others && *others && e == ERR_OK; others++)
        e = ask_others(c, *others, &k, msg);
    for (int i = 0; i < N_CHECKS; i++)
        if (!k.text[i])
            return err_set(msg, ERR_NOMEM, "contribute: out of memory");
    *out = k;
    return e;
}

bool checks_pass(const struct checks *k)
{
    for (int i = 0; i < N_CHECKS; i++)
        if (k->answer[i] == CHECK_NO)
            return false;
    return true;
}
