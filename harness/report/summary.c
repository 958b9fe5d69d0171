/*
 * How it works: one pass over each file. layouts.csv gives errors, intervals
 * and the pick's place; runs.csv the scatter of single runs; stages.csv the
 * memory errors.
 */
#include "summary.h"

#include "base/csv.h"

#include <math.h>
#include <string.h>

/* Below this share of the step both intervals together are no interval: the
 * clock has no noise. */
#define MIN_WIDTH 5e-4

static bool summary_equal(const struct csv *t, size_t x, size_t y,
                          const char *column)
{
    const char *a = csv_get(t, x, column), *b = csv_get(t, y, column);
    return a && b && strcmp(a, b) == 0;
}

/* Shares its runs with an earlier row: roles may come to the same layout, which
 * counts once. */
static bool is_shared(const struct csv *t, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (summary_equal(t, i, row, "layout") &&
            summary_equal(t, i, row, "meas_step_ms"))
            return true;
    return false;
}

/* ---- layouts.csv ---- */

struct mean {
    double sum;
    int n;
};

static void mean_add(struct mean *m, double x)
{
    if (isfinite(x)) {
        m->sum += x;
        m->n++;
    }
}

static double summary_mean_of(const struct mean *m)
{
    return m->n > 0 ? m->sum / m->n : (double)NAN;
}

static bool summary_overlap(double lo, double hi, double other_lo,
                            double other_hi)
{
    return lo <= other_hi && other_lo <= hi;
}

/* Two intervals that meet: the prediction is not refuted by this measurement.
 */
static void add_interval(const struct csv *t, size_t row, struct summary *s)
{
    double plo = csv_double(t, row, "pred_lo_ms"),
           phi = csv_double(t, row, "pred_hi_ms");
    double mlo = csv_double(t, row, "meas_lo_ms"),
           mhi = csv_double(t, row, "meas_hi_ms");
    double width = (phi - plo + mhi - mlo) / csv_double(t, row, "meas_step_ms");
    if (!(width > MIN_WIDTH))
        return;
    s->n_intervals++;
    s->n_meeting += summary_overlap(plo, phi, mlo, mhi);
}

/* Signs are dropped: errors of both signs would cancel in a mean. */
static void add_errors(const struct csv *t, struct summary *s)
{
    struct mean step = {0, 0}, replay = {0, 0};
    for (size_t i = 0; i < t->n_rows; i++) {
        double error = fabs(csv_double(t, i, "step_error_pct"));
        double sim = fabs(csv_double(t, i, "replay_error_pct"));
        if (is_shared(t, i))
            continue;
        mean_add(&step, error);
        mean_add(&replay, sim);
        s->max_replay_error_pct = fmax(s->max_replay_error_pct, sim);
        if (isfinite(error) && !(error <= s->max_step_error_pct)) {
            s->max_step_error_pct = error;
            s->max_step_role = csv_text(t, i, "role");
        }
        add_interval(t, i, s);
    }
    s->n_layouts = step.n;
    s->mean_step_error_pct = summary_mean_of(&step);
    s->mean_replay_error_pct = summary_mean_of(&replay);
}

/* By what was measured, whatever was predicted. */
static size_t find_best(const struct csv *t)
{
    size_t best = t->n_rows;
    for (size_t i = 0; i < t->n_rows; i++) {
        double x = csv_double(t, i, "meas_step_ms");
        if (isfinite(x) &&
            (best == t->n_rows || x < csv_double(t, best, "meas_step_ms")))
            best = i;
    }
    return best;
}

/* Against the fastest of all that was measured, which may be the pick itself.
 */
static void place_pick(const struct csv *t, struct summary *s)
{
    size_t best = find_best(t);
    for (size_t i = 0; i < t->n_rows && best < t->n_rows; i++) {
        if (!csv_is(t, i, "role", "pick"))
            continue;
        double meas = csv_double(t, i, "meas_step_ms");
        s->pick_step_error_pct = fabs(csv_double(t, i, "step_error_pct"));
        s->pick_replay_error_pct = fabs(csv_double(t, i, "replay_error_pct"));
        s->pick_speedup = csv_double(t, i, "meas_speedup");
        s->best_role = csv_text(t, best, "role");
        s->pick_over_best_pct =
            100 * (meas / csv_double(t, best, "meas_step_ms") - 1);
        s->pick_meets_best = summary_overlap(csv_double(t, i, "meas_lo_ms"),
                                             csv_double(t, i, "meas_hi_ms"),
                                             csv_double(t, best, "meas_lo_ms"),
                                             csv_double(t, best, "meas_hi_ms"));
        return;
    }
}

/* ---- runs.csv, stages.csv ---- */

/* Valid runs of rounds: profile runs (round 0) have timers on, which cost time.
 */
static bool summary_counts(const struct csv *t, size_t row)
{
    return csv_is(t, row, "status", "valid") &&
           csv_double(t, row, "round") > 0 &&
           isfinite(csv_double(t, row, "meas_step_corr_ms"));
}

/* Sum of squared deviations from the mean of the runs of row's layout,
 * relative to it; *n is their number, 0 when an earlier row has the layout. */
static double summary_scatter(const struct csv *t, size_t row, int *n)
{
    struct mean m = {0, 0};
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < row; i++)
        if (summary_counts(t, i) && summary_equal(t, i, row, "layout"))
            return 0;
    for (size_t i = row; i < t->n_rows; i++)
        if (summary_counts(t, i) && summary_equal(t, i, row, "layout"))
            mean_add(&m, csv_double(t, i, "meas_step_corr_ms"));
    for (size_t i = row; i < t->n_rows; i++)
        if (summary_counts(t, i) && summary_equal(t, i, row, "layout")) {
            double d =
                csv_double(t, i, "meas_step_corr_ms") / summary_mean_of(&m) - 1;
            sum += d * d;
        }
    *n = m.n;
    return sum;
}

/* Pooled over layouts: each has few runs, but all share the machine. A degree
 * of freedom is spent on each layout's mean. */
static void add_noise(const struct csv *t, struct summary *s)
{
    double sum = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        int n = 0;
        double x = summary_counts(t, i) ? summary_scatter(t, i, &n) : 0;
        if (n < 2)
            continue;
        sum += x;
        s->n_noise_runs += n;
        s->n_noise_layouts++;
    }
    int free = s->n_noise_runs - s->n_noise_layouts;
    if (free > 0)
        s->noise_pct = 100 * sqrt(sum / free);
}

/* Of any stage and role: the fullest rank decides whether a run fits. */
static void summary_add_memory(const struct csv *t, struct summary *s)
{
    for (size_t i = 0; i < t->n_rows; i++)
        s->max_memory_error_pct = fmax(s->max_memory_error_pct,
                                       fabs(csv_double(t, i, "mem_error_pct")));
}

/* ---- reading ---- */

/* The largest of three parts: replay, then noise, else the costs. Half of the
 * error decides: the parts add up in no simple way, so only a majority is
 * named. */
static enum summary_cause find_cause(const struct summary *s)
{
    if (!isfinite(s->mean_step_error_pct) ||
        !isfinite(s->mean_replay_error_pct))
        return CAUSE_UNKNOWN;
    if (s->mean_replay_error_pct > 0.5 * s->mean_step_error_pct)
        return CAUSE_SCHEDULE;
    return s->mean_step_error_pct <= s->noise_pct ? CAUSE_NOISE : CAUSE_COSTS;
}

struct table {
    const char *name, *needs; // a column that tells it is the right file
    struct csv csv;
};

/* The wanted column tells an old or a foreign file before figures are missing.
 */
static enum err read_table(struct arena *a, const char *dir, struct table *t,
                           struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, t->name);
    if (!path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    enum err e = csv_read_file(a, path, &t->csv, msg);
    if (e == ERR_OK && t->csv.n_rows > 0 && !csv_get(&t->csv, 0, t->needs))
        e = err_set(msg, ERR_PARSE, "%s: no column '%s'", path, t->needs);
    return e;
}

/* By columns that are there: a run that is not finished has a summary of what
 * it has. */
enum err summary_read(struct arena *a, const char *dir, struct summary *out,
                      struct err_msg *msg)
{
    struct table tables[] = {{.name = "layouts.csv", .needs = "meas_step_ms"},
                             {.name = "runs.csv", .needs = "meas_step_corr_ms"},
                             {.name = "stages.csv", .needs = "mem_error_pct"}};
    const struct csv *layouts = &tables[0].csv, *runs = &tables[1].csv,
                     *stages = &tables[2].csv;
    // not known, until a file says it
    struct summary s = {.mean_step_error_pct = NAN,
                        .max_step_error_pct = NAN,
                        .max_step_role = "",
                        .mean_replay_error_pct = NAN,
                        .max_replay_error_pct = NAN,
                        .max_memory_error_pct = NAN,
                        .noise_pct = NAN,
                        .pick_step_error_pct = NAN,
                        .pick_replay_error_pct = NAN,
                        .pick_speedup = NAN,
                        .best_role = "",
                        .pick_over_best_pct = NAN};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        enum err e = read_table(a, dir, &tables[i], msg);
        if (e != ERR_OK)
            return e;
    }
    add_errors(layouts, &s);
    place_pick(layouts, &s);
    add_noise(runs, &s);
    summary_add_memory(stages, &s);
    s.cause = find_cause(&s);
    *out = s;
    return ERR_OK;
}

/* ---- sentences ---- */

static const char *const causes[] = {
    [CAUSE_UNKNOWN] = "no replay, so its cause is not known",
    [CAUSE_SCHEDULE] = "the schedule model dominates it",
    [CAUSE_NOISE] = "within the noise of single runs",
    [CAUSE_COSTS] = "the costs dominate it, not the schedule model"};

/* What the replay leaves is the simulator's own error, hence the cause named
 * behind both. */
static void print_errors(const struct summary *s, FILE *out)
{
    if (s->n_layouts == 0)
        return;
    fprintf(out,
            "Step error: mean %.2f%%, largest %.2f%% (%s), over %d layouts; ",
            s->mean_step_error_pct, s->max_step_error_pct, s->max_step_role,
            s->n_layouts);
    if (isfinite(s->mean_replay_error_pct))
        fprintf(out, "replay: mean %.3f%%, largest %.3f%%: ",
                s->mean_replay_error_pct, s->max_replay_error_pct);
    fprintf(out, "%s.\n", causes[s->cause]);
}

/* A line a question, and none for what is not known. */
void summary_print(const struct summary *s, FILE *out)
{
    print_errors(s, out);
    if (s->n_intervals > 0)
        fprintf(out,
                "Intervals: the measured one meets the predicted one for %d of "
                "%d layouts (%.0f%%).\n",
                s->n_meeting, s->n_intervals,
                100.0 * s->n_meeting / s->n_intervals);
    else if (s->n_layouts > 0)
        fputs("Intervals: of no width, nothing varies here.\n", out);
    if (isfinite(s->noise_pct))
        fprintf(out,
                "Noise: single runs of one layout scatter by %.2f%% (pooled "
                "standard deviation, %d runs of %d layouts).\n",
                s->noise_pct, s->n_noise_runs, s->n_noise_layouts);
    if (isfinite(s->max_memory_error_pct))
        fprintf(out, "Memory: largest error of any stage %.3f%%.\n",
                s->max_memory_error_pct);
    if (!isfinite(s->pick_over_best_pct))
        return;
    if (s->pick_over_best_pct <= 0)
        fputs("Pick: the fastest measured.\n", out);
    else
        fprintf(out,
                "Pick: %.2f%% slower than the fastest measured, %s; their "
                "intervals %s.\n",
                s->pick_over_best_pct, s->best_role,
                s->pick_meets_best ? "overlap" : "do not overlap");
}

static const char *const accept_texts[] = {
#define ACCEPT_TEXT(id, key, what) what,
    ACCEPT_TABLE(ACCEPT_TEXT)
#undef ACCEPT_TEXT
};

/* By id, as the table of bounds is in the manifest's room. */
static double summary_figure(const struct summary *s, int i)
{
    const double figures[N_ACCEPT] = {
        [ACCEPT_STEP] = s->pick_step_error_pct,
        [ACCEPT_REPLAY] = s->pick_replay_error_pct,
        [ACCEPT_SPEEDUP] = s->pick_speedup,
        [ACCEPT_MEAN_STEP] = s->mean_step_error_pct,
        [ACCEPT_MAX_STEP] = s->max_step_error_pct,
        [ACCEPT_MAX_REPLAY] = s->max_replay_error_pct,
        [ACCEPT_MAX_MEMORY] = s->max_memory_error_pct,
        [ACCEPT_WITHIN_BEST] = s->pick_over_best_pct};
    return figures[i];
}

/* A bound below twice the noise of single runs cannot be kept by any planner:
 * there the noise is the bound. A pick whose interval meets the best one's may
 * be the best. */
static bool check_bound(const struct summary *s, int i, double bound)
{
    double found = summary_figure(s, i);
    // what is not known keeps no bound, whatever intervals say
    if (!isfinite(found))
        return false;
    if (i == ACCEPT_SPEEDUP)
        return found >= bound;
    if (i == ACCEPT_MEAN_STEP && isfinite(s->noise_pct))
        return found <= fmax(bound, 2 * s->noise_pct);
    if (i == ACCEPT_WITHIN_BEST)
        return found <= fmax(bound, 2 * s->noise_pct) || s->pick_meets_best;
    return found <= bound;
}

/* Every bound is printed, met or not: a pass by much says more than a pass. */
bool summary_accept(const struct summary *s, const struct manifest_accept *x,
                    FILE *out)
{
    bool all = true;
    for (int i = 0; i < N_ACCEPT; i++) {
        double found = summary_figure(s, i);
        if (isnan(x->bound[i]))
            continue;
        bool ok = check_bound(s, i, x->bound[i]);
        fprintf(out, "accept: %s: ", accept_texts[i]);
        if (isfinite(found))
            fprintf(out, "%.3f", found);
        else
            fputs("not known", out);
        fprintf(out, ", want %s %g: %s\n",
                i == ACCEPT_SPEEDUP ? "at least" : "at most", x->bound[i],
                ok ? "ok" : "missed");
        all &= ok;
    }
    return all;
}
