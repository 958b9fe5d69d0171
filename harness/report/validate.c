/*
 * How it works: the dataset's runs are unpacked and read as an experiment's
 * are; the costs are fitted at the speed that all of its runs had
 * (iterations.csv), to which its measured figures are corrected. Roles are not
 * resolved again: the layouts that were measured are predicted.
 */
#include "validate.h"

#include "base/csv.h"
#include "base/stats.h"
#include "base/text.h"
#include "experiment/calibrate.h"
#include "experiment/context.h"
#include "experiment/log_check.h"
#include "experiment/roles.h"
#include "experiment/tables.h"
#include "figures/rounds.h"
#include "manifest/settings.h"
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "moe-bench/baseline/1"

static enum err report_validate_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "validate: out of memory");
}

/* A dataset as an experiment's parts. */
struct dataset {
    const char *dir;
    struct manifest manifest;
    struct workload workload;
    struct schedule schedule;
    struct plan_context ctx;
    struct run_list runs;
    struct csv layouts;
    double reference_ms;
    struct calibration calibration;
    struct targets targets;
};

/* ---- reading a dataset ---- */

static enum err read_csv(struct arena *a, const char *dir, const char *name,
                         struct csv *out, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    return path ? csv_read_file(a, path, out, msg)
                : report_validate_no_memory(msg);
}

/* By run id: iterations.csv has no status of its own. */
static bool report_validate_is_valid(const struct csv *runs, const char *run_id)
{
    for (size_t i = 0; i < runs->n_rows; i++) {
        const char *id = csv_get(runs, i, "run_id");
        const char *status = csv_get(runs, i, "status");
        if (id && status && run_id && strcmp(id, run_id) == 0)
            return strcmp(status, run_status_name(RUN_VALID)) == 0;
    }
    return false;
}

/* Median burst of all used iterations of valid runs, as the experiment had
 * it: raw logs of most runs are not kept. */
static enum err read_reference(struct arena *a, struct dataset *d,
                               struct err_msg *msg)
{
    struct csv t, runs;
    enum err e = read_csv(a, d->dir, "iterations.csv", &t, msg);
    if (e == ERR_OK)
        e = read_csv(a, d->dir, "runs.csv", &runs, msg);
    if (e != ERR_OK)
        return e;
    double *x = arena_alloc(a, t.n_rows + 1, sizeof *x), ms, used;
    size_t n = 0;
    for (size_t i = 0; i < t.n_rows && x; i++)
        if (csv_get_double(&t, i, "usable", &used) && used > 0 &&
            csv_get_double(&t, i, "reference_ms", &ms) &&
            report_validate_is_valid(&runs, csv_get(&t, i, "run_id")))
            x[n++] = ms;
    if (!x)
        return report_validate_no_memory(msg);
    d->reference_ms = stats_median(x, n);
    return ERR_OK;
}

/* The data set's own manifest: predictions are to be of the settings it was
 * measured with. */
static enum err read_manifest(struct arena *a, struct dataset *d,
                              struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/manifest.json", d->dir);
    enum err e = path ? manifest_read(a, path, &d->manifest, msg)
                      : report_validate_no_memory(msg);
    if (e == ERR_OK)
        e = workload_read(a, &d->manifest, &d->workload, msg);
    if (e != ERR_OK)
        return e;
    struct plan_settings set;
    const char *note = NULL;
    e = manifest_settings(a, &d->manifest, &set, &note, msg);
    if (e != ERR_OK)
        return e;
    d->ctx = (struct plan_context){.model = &d->workload.model};
    plan_settings_apply(&set, d->ctx.model, &d->ctx);
    return context_make(&d->manifest, &d->workload, &d->schedule, &d->ctx, msg);
}

/* Roles and layouts as layouts.csv has them, in its order: rows are matched by
 * it. */
static enum err read_targets(struct arena *a, struct dataset *d,
                             struct err_msg *msg)
{
    size_t n = d->layouts.n_rows;
    const char **roles = arena_alloc(a, n + 1, sizeof *roles);
    const char **texts = arena_alloc(a, n + 1, sizeof *texts);
    if (!roles || !texts)
        return report_validate_no_memory(msg);
    if (n > MANIFEST_MAX_MEASURE)
        return err_set(msg, ERR_RANGE,
                       "%s/layouts.csv: got %zu rows, want at most %d: no "
                       "experiment measures more layouts",
                       d->dir, n, MANIFEST_MAX_MEASURE);
    for (size_t i = 0; i < n; i++) {
        roles[i] = csv_get(&d->layouts, i, "role");
        texts[i] = csv_get(&d->layouts, i, "layout");
        if (!roles[i] || !texts[i])
            return err_set(msg, ERR_PARSE,
                           "%s/layouts.csv: want columns role and layout",
                           d->dir);
    }
    const struct words both[2] = {{roles, (int)n}, {texts, (int)n}};
    return roles_recorded(a, &d->ctx, both, &d->targets, msg);
}

/* As the experiment did, from the profile runs' logs: this is what may have
 * become worse. */
static enum err calibrate_dataset(struct arena *a, struct dataset *d,
                                  struct err_msg *msg)
{
    const struct calibrate_input in = {.manifest = &d->manifest,
                                       .ctx = &d->ctx,
                                       .runs = &d->runs,
                                       .dir = d->dir};
    enum err e = calibrate(a, &in, d->reference_ms, &d->calibration, msg);
    plan_context_costs(&d->ctx, &d->calibration.cost);
    return e;
}

/* ---- rows ---- */

/* All that a step alone does not tell is unknown, not 0. */
struct validate_row validate_row_of_step(double pred_ms, double meas_ms)
{
    return (struct validate_row){.pred_ms = pred_ms,
                                 .meas_ms = meas_ms,
                                 .step_error_pct =
                                     100 * (pred_ms - meas_ms) / meas_ms,
                                 .replay_error_pct = (double)NAN,
                                 .memory_error_pct = (double)NAN,
                                 .memory_over_pct = (double)NAN,
                                 .memory_under_pct = (double)NAN,
                                 .regret_pct = (double)NAN,
                                 .base_step_error_pct = (double)NAN,
                                 .base_regret_pct = (double)NAN,
                                 .base_memory_over_pct = (double)NAN,
                                 .base_memory_under_pct = (double)NAN};
}

/* Of the largest stage in either direction: a rank that does not fit ends the
 * run. */
static void note_memory(struct validate_row *r, double pred, double meas)
{
    const double error = 100 * (pred / meas - 1);
    if (isnan(error))
        return;
    r->memory_error_pct = fmax(r->memory_error_pct, fabs(error));
    r->memory_over_pct = fmax(r->memory_over_pct, fmax(error, 0));
    r->memory_under_pct = fmax(r->memory_under_pct, fmax(-error, 0));
}

/* A layout that repeats another one has that one's runs, and so its memory. */
static enum err memory_errors(struct arena *a, const struct dataset *d,
                              const struct target *t, struct validate_row *r,
                              struct err_msg *msg)
{
    const struct target *owner = &d->targets.target[t->runs_of];
    const struct rounds_request req = {.runs = &d->runs,
                                       .role = role_name(owner->role),
                                       .layout = t->layout,
                                       .parsed = &t->parsed,
                                       .ctx = &d->ctx,
                                       .warmup = d->manifest.warmup,
                                       .reference_ms = d->reference_ms,
                                       .keep = a};
    struct stage_figures *f =
        arena_alloc(a, (size_t)t->parsed.n_stages, sizeof *f);
    enum err e =
        f ? rounds_stages(a, &req, f, msg) : report_validate_no_memory(msg);
    r->memory_error_pct = r->memory_over_pct = r->memory_under_pct = NAN;
    for (int s = 0; s < t->parsed.n_stages && e == ERR_OK; s++)
        if (t->pred.stages[s].mem_bytes > 0)
            note_memory(r, (double)t->pred.stages[s].mem_bytes, f[s].mem_bytes);
    return e;
}

/* Predictions as close as this are one: the first counts. */
static const double VALIDATE_TIE = 1e-9;

/* The first row of a layout: measured again it does not compete with itself. */
static bool is_first(const struct validate_rows *v, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(v->row[k].layout, v->row[i].layout) == 0)
            return false;
    return true;
}

/* What is lost by believing the predictions. NAN where nothing is to choose, or
 * where a step that competes is not known. */
static double validate_regret(const struct validate_rows *v)
{
    const struct validate_row *pick = NULL;
    double best = INFINITY;
    int n = 0;
    for (int i = 0; i < v->n; i++) {
        const struct validate_row *r = &v->row[i];
        if (!is_first(v, i))
            continue;
        if (!(isfinite(r->pred_ms) && r->meas_ms > 0))
            return NAN;
        if (!pick || r->pred_ms < pick->pred_ms * (1 - VALIDATE_TIE))
            pick = r;
        best = fmin(best, r->meas_ms);
        n++;
    }
    return n > 1 ? 100 * (pick->meas_ms / best - 1) : (double)NAN;
}

/* A figure that the data set was published with is asked for again: where it
 * can no longer be made, that is a fault. */
static enum err report_validate_make_rows(struct arena *a,
                                          const struct dataset *d,
                                          struct validate_rows *out,
                                          struct err_msg *msg)
{
    const struct tables_input in = {.manifest = &d->manifest,
                                    .ctx = &d->ctx,
                                    .runs = &d->runs,
                                    .targets = &d->targets,
                                    .reference_ms = d->reference_ms,
                                    .keep = a};
    int n = d->targets.n;
    struct layout_row *rows = arena_alloc(a, (size_t)n + 1, sizeof *rows);
    struct validate_rows v = {arena_alloc(a, (size_t)n + 1, sizeof *v.row), n};
    enum err e = rows && v.row ? tables_layout_rows(a, &in, rows, msg)
                               : report_validate_no_memory(msg);
    for (int i = 0; i < n && e == ERR_OK; i++) {
        struct validate_row *r = &v.row[i];
        const size_t at = (size_t)i;
        *r = validate_row_of_step(rows[i].pred_ms,
                                  csv_double(&d->layouts, at, "meas_step_ms"));
        r->experiment = d->manifest.name;
        r->role = role_name(rows[i].target->role);
        r->layout = rows[i].target->layout;
        r->replay_error_pct = rows[i].figures.replay_error_pct;
        r->wants_replay =
            isfinite(csv_double(&d->layouts, at, "replay_error_pct"));
        r->wants_memory =
            isfinite(
                csv_double(&d->layouts, at, "worst_stage_meas_mem_bytes")) &&
            isfinite(csv_double(&d->layouts, at, "worst_stage_pred_mem_bytes"));
        e = memory_errors(a, d, rows[i].target, r, msg);
    }
    const double regret = e == ERR_OK ? validate_regret(&v) : (double)NAN;
    for (int i = 0; i < n && e == ERR_OK; i++)
        v.row[i].regret_pct = regret;
    *out = v;
    return e;
}

/* A log that was touched since would give other predictions for no visible
 * reason. */
static enum err check_logs(struct arena *a, const struct dataset *d,
                           struct err_msg *msg)
{
    const struct run_list *runs = &d->runs;
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_record *r = &runs->run[i];
        char hex[TEXT_SHA256_HEX];
        const char *path = arena_printf(a, "%s/log.txt", r->folder);
        enum err e = path ? text_sha256_file(path, hex, msg)
                          : report_validate_no_memory(msg);
        // runs whose files differ from their hashes have no log to ask
        if (e == ERR_OK && !r->changed)
            e = log_check(a, d->ctx.model, r, msg);
        if (e == ERR_OK && strcmp(hex, r->log_sha256) != 0)
            e = err_set(msg, ERR_PARSE,
                        "runs/%s/log.txt.gz: SHA-256 %.12s, want %.12s as in "
                        "status.json; restore the file",
                        r->run_id, hex, r->log_sha256);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* Everything that needs the unpacked runs. */
static enum err report_validate_compute(struct arena *a, struct dataset *d,
                                        const char *unpacked,
                                        struct validate_rows *out,
                                        struct err_msg *msg)
{
    enum err e = results_load(a, unpacked, NULL, &d->runs, msg);
    if (e == ERR_OK)
        e = check_logs(a, d, msg);
    if (e == ERR_OK)
        e = calibrate_dataset(a, d, msg);
    if (e == ERR_OK)
        e = read_targets(a, d, msg);
    return e == ERR_OK ? report_validate_make_rows(a, d, out, msg) : e;
}

/* The unpacked runs are removed whatever comes of them. */
enum err validate_dataset(struct arena *a, const char *dir,
                          struct validate_rows *out, struct err_msg *msg)
{
    struct dataset *d = arena_alloc(a, 1, sizeof *d);
    struct temporary unpacked;
    if (!d)
        return report_validate_no_memory(msg);
    *d = (struct dataset){.dir = dir};
    enum err e = reference_check(a, dir, msg);
    if (e == ERR_OK)
        e = read_manifest(a, d, msg);
    if (e == ERR_OK)
        e = read_csv(a, dir, "layouts.csv", &d->layouts, msg);
    if (e == ERR_OK)
        e = read_reference(a, d, msg);
    if (e == ERR_OK)
        e = reference_unpack(a, dir, &unpacked, msg);
    if (e != ERR_OK)
        return e;
    e = report_validate_compute(a, d, unpacked.path, out, msg);
    temporary_remove(&unpacked);
    return e == ERR_OK ? ERR_OK : err_prefix(msg, e, "%s", dir);
}

/* ---- baseline ---- */

static const char *const columns[] = {
    "format",          "experiment",       "role",
    "layout",          "pred_step_ms",     "meas_step_ms",
    "step_error_pct",  "replay_error_pct", "max_memory_error_pct",
    "memory_over_pct", "memory_under_pct", "regret_pct"};

enum {
    N_COLUMNS = sizeof columns / sizeof columns[0],
    N_TEXTS = 4, // those before the figures
    STEP_ERROR = 6,
    REPLAY_ERROR = 7 // both have signs
};

/* An error is a number or was not known; one that cannot be read would let
 * everything pass that is compared with it. */
static enum err check_figures(const struct csv *t, size_t row,
                              struct err_msg *msg)
{
    for (int i = N_TEXTS; i < N_COLUMNS; i++) {
        const bool is_signed = i == STEP_ERROR || i == REPLAY_ERROR;
        const char *text = csv_get(t, row, columns[i]);
        double x = 0;
        const bool number = text && text_to_double(text, &x);
        if (!text || (!*text && i != STEP_ERROR) ||
            (number && (is_signed || x >= 0)))
            continue;
        const char *pred = csv_get(t, row, "pred_step_ms");
        if (!*text && (!pred || !*pred))
            continue;
        return err_set(
            msg, ERR_PARSE,
            "%s: line %zu: %s: got '%.40s', want a number%s; restore "
            "the file",
            t->where, row + 2, columns[i], text,
            is_signed ? "" : " of at least 0, or nothing");
    }
    return ERR_OK;
}

/* Files of older code do not tell the directions: the largest error then
 * stands for both. */
static void read_directions(const struct csv *t, size_t row,
                            struct validate_row *r)
{
    r->memory_over_pct = r->memory_under_pct = r->memory_error_pct;
    if (csv_get(t, row, "memory_under_pct")) {
        r->memory_over_pct = csv_double(t, row, "memory_over_pct");
        r->memory_under_pct = csv_double(t, row, "memory_under_pct");
    }
    r->regret_pct = csv_double(t, row, "regret_pct");
}

enum err validate_read_baseline(struct arena *a, const char *path,
                                struct validate_rows *out, struct err_msg *msg)
{
    struct csv t;
    // a first call has no baseline: everything is new then
    *out = (struct validate_rows){NULL, 0};
    if (access(path, F_OK) != 0)
        return ERR_OK;
    enum err e = csv_read_file(a, path, &t, msg);
    if (e != ERR_OK)
        return e;
    struct validate_row *rows = arena_alloc(a, t.n_rows + 1, sizeof *rows);
    if (!rows)
        return report_validate_no_memory(msg);
    for (size_t i = 0; i < t.n_rows; i++) {
        const char *format = csv_get(&t, i, "format");
        struct validate_row *r = &rows[i];
        if (!format || strcmp(format, FORMAT) != 0)
            return err_set(msg, ERR_PARSE,
                           "%s: row %zu: format: got '%s', want '" FORMAT "'",
                           path, i + 2, format ? format : "nothing");
        *r = (struct validate_row){.experiment = csv_get(&t, i, "experiment"),
                                   .role = csv_get(&t, i, "role"),
                                   .layout = csv_get(&t, i, "layout")};
        if (!r->experiment || !r->role || !r->layout)
            return err_set(msg, ERR_PARSE,
                           "%s: want columns experiment, role and layout",
                           path);
        e = check_figures(&t, i, msg);
        if (e != ERR_OK)
            return e;
        r->pred_ms = csv_double(&t, i, "pred_step_ms");
        r->meas_ms = csv_double(&t, i, "meas_step_ms");
        r->step_error_pct = csv_double(&t, i, "step_error_pct");
        r->replay_error_pct = csv_double(&t, i, "replay_error_pct");
        r->memory_error_pct = csv_double(&t, i, "max_memory_error_pct");
        read_directions(&t, i, r);
    }
    *out = (struct validate_rows){rows, (int)t.n_rows};
    return ERR_OK;
}

/* A layout that another role measures is another row. */
static bool is_same(const struct validate_row *x, const struct validate_row *y)
{
    return strcmp(x->experiment, y->experiment) == 0 &&
           strcmp(x->role, y->role) == 0 && strcmp(x->layout, y->layout) == 0;
}

/* By experiment, role and layout: a new layout of a role is another row. */
const struct validate_row *validate_find(const struct validate_rows *in,
                                         const struct validate_row *like)
{
    for (int i = 0; i < in->n; i++)
        if (is_same(&in->row[i], like))
            return &in->row[i];
    return NULL;
}

bool validate_has(const struct validate_rows *in, const char *name)
{
    for (int i = 0; i < in->n; i++)
        if (strcmp(in->row[i].experiment, name) == 0)
            return true;
    return false;
}

static bool report_validate_write_row(struct arena *a, FILE *out,
                                      const struct validate_row *r)
{
    const double numbers[] = {r->pred_ms,          r->meas_ms,
                              r->step_error_pct,   r->replay_error_pct,
                              r->memory_error_pct, r->memory_over_pct,
                              r->memory_under_pct, r->regret_pct};
    const char *field[N_COLUMNS] = {FORMAT, r->experiment, r->role, r->layout};
    for (int i = 0; i < N_COLUMNS - 4; i++) {
        char buf[CSV_NUMBER_BYTES];
        const char *text = csv_number(numbers[i], buf);
        field[4 + i] = text ? arena_strdup(a, text) : NULL;
    }
    return csv_write_row(out, field, N_COLUMNS);
}

/* Experiments that were not validated keep their rows. */
enum err validate_write_baseline(struct arena *a, const char *path,
                                 const struct validate_rows *now,
                                 const struct validate_rows *baseline,
                                 struct err_msg *msg)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return report_validate_no_memory(msg);
    bool ok = csv_write_row(out, columns, N_COLUMNS);
    for (int i = 0; i < baseline->n && ok; i++)
        if (!validate_has(now, baseline->row[i].experiment))
            ok = report_validate_write_row(a, out, &baseline->row[i]);
    for (int i = 0; i < now->n && ok; i++)
        ok = report_validate_write_row(a, out, &now->row[i]);
    ok = fclose(out) == 0 && ok;
    enum err e = ok ? csv_replace_file(path, text, len, msg)
                    : report_validate_no_memory(msg);
    free(text);
    return e;
}
