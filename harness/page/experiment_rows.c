/*
 * How it works: layouts come first. What a run shares with its layout, the
 * prediction, stages and memory, is looked up by role and layout, for tables of
 * some hundred rows.
 */
#include "experiment_rows.h"

#include "base/csv.h"
#include "fields.h"
#include "recorded_step.h"
#include "simulated_step.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The tables of one folder. */
struct tables {
    const char *dir;
    struct csv layouts, runs, stages, iterations;
    int *timeline;  // by row of runs, -1: none
    int *predicted; // by row of layouts
};

static enum err experiment_rows_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "page: out of memory");
}

/* Places of timelines are looked up by row later, so there is one a row even
 * where nothing was recorded. */
static enum err experiment_rows_read(struct sheet *s, struct tables *t,
                                     struct err_msg *msg)
{
    struct csv *const table[] = {&t->layouts, &t->runs, &t->stages,
                                 &t->iterations};
    static const char *const name[] = {"layouts.csv", "runs.csv", "stages.csv",
                                       "iterations.csv"};
    for (size_t i = 0; i < COUNT(name); i++) {
        enum err e = fields_read(s->a, t->dir, name[i], table[i], msg);
        if (e != ERR_OK)
            return e;
    }
    t->timeline = arena_alloc(s->a, t->runs.n_rows + 1, sizeof *t->timeline);
    t->predicted =
        arena_alloc(s->a, t->layouts.n_rows + 1, sizeof *t->predicted);
    return t->timeline && t->predicted ? ERR_OK
                                       : experiment_rows_no_memory(msg);
}

/* Do two rows tell of one role and layout? */
static bool experiment_rows_same(const struct csv *x, size_t i,
                                 const struct csv *y, size_t k)
{
    return strcmp(csv_text(x, i, "role"), csv_text(y, k, "role")) == 0 &&
           strcmp(csv_text(x, i, "layout"), csv_text(y, k, "layout")) == 0;
}

/* Nothing is written of ends that are not known. */
static void experiment_rows_interval(struct writer detail, const char *key,
                                     const struct csv *t, size_t row)
{
    static const char *const ends[] = {"step", "lo", "hi"};
    const struct writer list = writer_object(detail, key);
    for (size_t i = 0; i < COUNT(ends); i++) {
        char column[32];
        snprintf(column, sizeof column, "%s_%s_ms", key, ends[i]);
        sheet_number(list, ends[i], csv_double(t, row, column));
    }
}

/* The stages of a layout, as stages.csv has them. */
static void experiment_rows_stages(struct writer detail, const struct tables *t,
                                   const struct csv *of, size_t row)
{
    static const char *const columns[] = {
        "pred_fwd_ms",    "meas_fwd_ms",    "pred_bwd_ms", "meas_bwd_ms",
        "pred_mem_bytes", "meas_mem_bytes", "in_flight"};
    const struct writer list = writer_list(detail, "stages");
    for (size_t i = 0; i < t->stages.n_rows; i++) {
        if (!experiment_rows_same(&t->stages, i, of, row))
            continue;
        const struct writer stage = writer_object(list, NULL);
        writer_text(stage, "units", csv_text(&t->stages, i, "units"));
        for (size_t k = 0; k < COUNT(columns); k++)
            sheet_number(stage, columns[k],
                         csv_double(&t->stages, i, columns[k]));
    }
}

/* A place in the list of timelines, where there is one. */
static void experiment_rows_put(struct writer detail, const char *key,
                                int timeline)
{
    if (timeline >= 0)
        writer_number(detail, key, timeline);
}

/* That of the first run of the layout that has one. Roles with one layout share
 * their runs: then it is another role's. */
static int experiment_rows_timeline(const struct tables *t,
                                    const struct csv *of, size_t row)
{
    for (size_t i = 0; i < t->runs.n_rows; i++)
        if (t->timeline[i] >= 0 && experiment_rows_same(&t->runs, i, of, row))
            return t->timeline[i];
    for (size_t i = 0; i < t->runs.n_rows; i++)
        if (t->timeline[i] >= 0 && strcmp(csv_text(&t->runs, i, "layout"),
                                          csv_text(of, row, "layout")) == 0)
            return t->timeline[i];
    return -1;
}

/* A layout without a measurement rests on the costs, and has their kind. */
static const char *experiment_rows_kind(const struct sheet *s,
                                        const char *source)
{
    return *source ? source : s->set.kind;
}

/* The measured step is of all rounds, its interval of their scatter; both are
 * the experiment's own figures, and nothing is computed anew. */
static void experiment_rows_layout(struct sheet *s, const struct tables *t,
                                   size_t i)
{
    const struct csv *l = &t->layouts;
    const char *source = csv_text(l, i, "source");
    const double meas = csv_double(l, i, "meas_step_ms");
    const struct sheet_row row = {
        .what = "layout",
        .name = csv_text(l, i, "role"),
        .layout = csv_text(l, i, "layout"),
        .kind = experiment_rows_kind(s, source),
        .status = isfinite(meas) ? "valid" : "not measured",
        .reason = "",
        .pred_ms = csv_double(l, i, "pred_step_ms"),
        .meas_ms = meas,
        .pred_bytes = csv_double(l, i, "worst_stage_pred_mem_bytes"),
        .meas_bytes = csv_double(l, i, "worst_stage_meas_mem_bytes")};
    const struct writer detail = sheet_add(s, &row);
    struct sheet_facts f = sheet_facts(s, detail);
    static const struct fields_fact facts[] = {
        {"rounds", "n_rounds", FIELDS_AS_IT_IS},
        {"replay error, %", "replay_error_pct", 3},
        {"speedup over the default, predicted", "pred_speedup", 3},
        {"speedup over the default, measured", "meas_speedup", 3}};
    fields_facts(&f, l, i, facts, COUNT(facts));
    experiment_rows_interval(detail, "pred", l, i);
    experiment_rows_interval(detail, "meas", l, i);
    experiment_rows_stages(detail, t, l, i);
    experiment_rows_put(detail, "timeline", experiment_rows_timeline(t, l, i));
    experiment_rows_put(detail, "predicted", t->predicted[i]);
}

/* Row of layouts.csv of a run, or n_rows. */
static size_t experiment_rows_layout_of(const struct tables *t, size_t run)
{
    size_t i = 0;
    while (i < t->layouts.n_rows &&
           !experiment_rows_same(&t->layouts, i, &t->runs, run))
        i++;
    return i;
}

/* What a reader needs to judge a run, and to find it again. */
static void experiment_rows_run_detail(struct sheet *s, const struct tables *t,
                                       size_t i, struct writer detail)
{
    static const struct fields_fact facts[] = {
        {"role", "role", FIELDS_AS_IT_IS},
        {"round (0: profile)", "round", FIELDS_AS_IT_IS},
        {"pipeline ranks", "pp", FIELDS_AS_IT_IS},
        {"chunks a rank", "vpp", FIELDS_AS_IT_IS},
        {"replicas", "dp", FIELDS_AS_IT_IS},
        {"micro-batches", "n_microbatches", FIELDS_AS_IT_IS},
        {"tokens a sequence", "seq_tokens", FIELDS_AS_IT_IS},
        {"hardware", "hardware", FIELDS_AS_IT_IS},
        {"launcher", "launcher", FIELDS_AS_IT_IS},
        {"clock", "clock", FIELDS_AS_IT_IS},
        {"timers", "timers", FIELDS_AS_IT_IS},
        {"steps used", "n_iterations", FIELDS_AS_IT_IS},
        {"steps of warm-up", "n_warmup", FIELDS_AS_IT_IS},
        {"median step as it was, ms", "meas_step_ms", 1},
        {"median absolute deviation, ms", "meas_mad_ms", 2},
        {"cost, USD", "cost_usd", 2},
        {"started", "started_utc", FIELDS_AS_IT_IS},
        {"commit", "commit", FIELDS_AS_IT_IS},
        {"SHA-256 of the log", "log_sha256", FIELDS_AS_IT_IS}};
    const struct recorded_step_of of = {t->dir, &t->runs, &t->iterations, i};
    struct sheet_facts f = sheet_facts(s, detail);
    fields_facts(&f, &t->runs, i, facts, COUNT(facts));
    sheet_fact(&f, "steps", recorded_step_times(s->a, &of));
    experiment_rows_put(detail, "timeline", t->timeline[i]);
    const size_t k = experiment_rows_layout_of(t, i);
    if (k == t->layouts.n_rows)
        return;
    experiment_rows_stages(detail, t, &t->runs, i);
    experiment_rows_put(detail, "predicted", t->predicted[k]);
}

/* Its step is the corrected one, as the layout's is. */
static void experiment_rows_run(struct sheet *s, const struct tables *t,
                                size_t i)
{
    const struct csv *r = &t->runs, *l = &t->layouts;
    const size_t k = experiment_rows_layout_of(t, i);
    double meas = csv_double(r, i, "meas_step_corr_ms");
    if (!isfinite(meas))
        meas = csv_double(r, i, "meas_step_ms");
    const struct sheet_row row = {
        .what = "run",
        .name = csv_text(r, i, "run_id"),
        .layout = csv_text(r, i, "layout"),
        .kind = csv_text(r, i, "source"),
        .status = csv_text(r, i, "status"),
        .reason = csv_text(r, i, "reason"),
        .pred_ms = csv_double(l, k, "pred_step_ms"),
        .meas_ms = meas,
        .pred_bytes = csv_double(l, k, "worst_stage_pred_mem_bytes"),
        .meas_bytes = NAN};
    experiment_rows_run_detail(s, t, i, sheet_add(s, &row));
}

/* Timelines first: a row names its own by the place in their list. */
enum err experiment_rows_add(struct sheet *s, const char *dir,
                             struct err_msg *msg)
{
    struct tables t = {.dir = dir};
    enum err e = experiment_rows_read(s, &t, msg);
    for (size_t i = 0; i < t.runs.n_rows && e == ERR_OK; i++) {
        const struct recorded_step_of of = {dir, &t.runs, &t.iterations, i};
        e = recorded_step_add(s, &of, &t.timeline[i], msg);
    }
    if (e == ERR_OK)
        e = simulated_step_add(s, dir, &t.layouts, t.predicted, msg);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < t.layouts.n_rows; i++)
        experiment_rows_layout(s, &t, i);
    for (size_t i = 0; i < t.runs.n_rows; i++)
        experiment_rows_run(s, &t, i);
    return ERR_OK;
}
