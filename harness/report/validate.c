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

/* Of the largest stage: a rank that does not fit ends the run. */
static enum err memory_error(struct arena *a, const struct dataset *d,
                             const struct target *t, double *out,
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
    *out = NAN;
    for (int s = 0; s < t->parsed.n_stages && e == ERR_OK; s++) {
        double pred = (double)t->pred.stages[s].mem_bytes;
        if (pred > 0)
            *out = fmax(*out, fabs(100 * (pred / f[s].mem_bytes - 1)));
    }
    return e;
}

static bool has_number(const struct csv *t, size_t row, const char *column)
{
    double x;
    return csv_get_double(t, row, column, &x);
}

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
        double meas = NAN;
        const size_t at = (size_t)i;
        csv_get_double(&d->layouts, at, "meas_step_ms", &meas);
        *r = (struct validate_row){
            .experiment = d->manifest.name,
            .role = role_name(rows[i].target->role),
            .layout = rows[i].target->layout,
            .pred_ms = rows[i].pred_ms,
            .meas_ms = meas,
            .step_error_pct = 100 * (rows[i].pred_ms - meas) / meas,
            .replay_error_pct = rows[i].figures.replay_error_pct,
            .base_step_error_pct = NAN,
            .base_memory_error_pct = NAN,
            .wants_replay = has_number(&d->layouts, at, "replay_error_pct"),
            .wants_memory =
                has_number(&d->layouts, at, "worst_stage_meas_mem_bytes") &&
                has_number(&d->layouts, at, "worst_stage_pred_mem_bytes")};
        e = memory_error(a, d, rows[i].target, &r->memory_error_pct, msg);
    }
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
    const char *unpacked = NULL;
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
    e = report_validate_compute(a, d, unpacked, out, msg);
    reference_close(unpacked);
    return e == ERR_OK ? ERR_OK : err_prefix(msg, e, "%s", dir);
}

/* ---- baseline ---- */

static const char *const columns[] = {
    "format",         "experiment",       "role",
    "layout",         "pred_step_ms",     "meas_step_ms",
    "step_error_pct", "replay_error_pct", "max_memory_error_pct"};

enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

/* Empty is NAN, as where it was written. */
static void report_validate_get(const struct csv *t, size_t row,
                                const char *column, double *out)
{
    *out = NAN;
    csv_get_double(t, row, column, out);
}

enum err validate_read_baseline(struct arena *a, const char *path,
                                struct validate_rows *out, struct err_msg *msg)
{
    struct csv t;
    // a first call has no baseline: everything is new then
    *out = (struct validate_rows){NULL, 0};
    if (access(path, R_OK) != 0)
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
        report_validate_get(&t, i, "pred_step_ms", &r->pred_ms);
        report_validate_get(&t, i, "meas_step_ms", &r->meas_ms);
        report_validate_get(&t, i, "step_error_pct", &r->step_error_pct);
        report_validate_get(&t, i, "replay_error_pct", &r->replay_error_pct);
        report_validate_get(&t, i, "max_memory_error_pct",
                            &r->memory_error_pct);
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

static const struct validate_row *
report_validate_find(const struct validate_rows *in,
                     const struct validate_row *like)
{
    for (int i = 0; i < in->n; i++)
        if (is_same(&in->row[i], like))
            return &in->row[i];
    return NULL;
}

static bool has_experiment(const struct validate_rows *in, const char *name)
{
    for (int i = 0; i < in->n; i++)
        if (strcmp(in->row[i].experiment, name) == 0)
            return true;
    return false;
}

/* Measured figures are written with all digits, so the same are equal. */
#define SAME_MS 1e-9

/* Only rows of the same measurement: after a new one, errors cannot be
 * compared. */
static void report_validate_join(struct validate_rows *now,
                                 const struct validate_rows *baseline)
{
    for (int i = 0; i < now->n; i++) {
        struct validate_row *r = &now->row[i];
        const struct validate_row *b = report_validate_find(baseline, r);
        if (!b || !(fabs(b->meas_ms - r->meas_ms) <= SAME_MS * r->meas_ms))
            continue;
        r->in_baseline = true;
        r->base_step_error_pct = b->step_error_pct;
        r->base_memory_error_pct = b->memory_error_pct;
        r->wants_replay |= isfinite(b->replay_error_pct);
        r->wants_memory |= isfinite(b->memory_error_pct);
    }
}

/* Rows of the baseline of now's experiment that are not in now. */
static int count_lost(const struct validate_rows *now,
                      const struct validate_rows *baseline)
{
    int n = 0;
    for (int i = 0; i < baseline->n; i++)
        n += has_experiment(now, baseline->row[i].experiment) &&
             !report_validate_find(now, &baseline->row[i]);
    return n;
}

/* The mean is over rows that both have, so that a new layout cannot hide what
 * became worse. */
static struct validate_verdict add_up(const struct validate_rows *now)
{
    struct validate_verdict v = {.replay_error_pct = NAN,
                                 .memory_error_pct = NAN,
                                 .base_memory_error_pct = NAN};
    int n = 0;
    for (int i = 0; i < now->n; i++) {
        const struct validate_row *r = &now->row[i];
        v.replay_error_pct =
            fmax(v.replay_error_pct, fabs(r->replay_error_pct));
        v.memory_error_pct = fmax(v.memory_error_pct, r->memory_error_pct);
        v.n_new += !r->in_baseline;
        if (!r->in_baseline)
            continue;
        v.base_memory_error_pct =
            fmax(v.base_memory_error_pct, r->base_memory_error_pct);
        v.step_error_pct += fabs(r->step_error_pct);
        v.base_step_error_pct += fabs(r->base_step_error_pct);
        n++;
    }
    // NAN for no row: not 0, which would be the best of all errors
    v.step_error_pct /= n;
    v.base_step_error_pct /= n;
    return v;
}

/* What must be known and is not; "" when all is. A NAN would pass as a maximum
 * over other rows, and as nothing where it is the only one. */
static const char *find_unknown(const struct validate_rows *now)
{
    if (now->n == 0)
        return " no layouts";
    for (int i = 0; i < now->n; i++) {
        const struct validate_row *r = &now->row[i];
        if (!isfinite(r->step_error_pct))
            return " a step error is not known";
        if (r->wants_replay && !isfinite(r->replay_error_pct))
            return " a replay error is not known";
        if (r->wants_memory && !isfinite(r->memory_error_pct))
            return " a memory error is not known";
    }
    return "";
}

/* Each reason in words: one number that got better does not excuse another. */
enum err validate_judge(struct arena *a, struct validate_rows *now,
                        const struct validate_rows *baseline,
                        struct validate_verdict *out, struct err_msg *msg)
{
    report_validate_join(now, baseline);
    struct validate_verdict v = add_up(now);
    v.n_lost = count_lost(now, baseline);
    bool is_new = v.n_new == now->n;
    bool step = !is_new && !(v.step_error_pct <=
                             v.base_step_error_pct + VALIDATE_MARGIN_PCT);
    bool replay = v.replay_error_pct > VALIDATE_REPLAY_PCT;
    bool memory = !is_new && v.memory_error_pct >
                                 v.base_memory_error_pct + VALIDATE_MARGIN_PCT;
    bool lost = v.n_lost > 0 && (!is_new || now->n == 0);
    const char *unknown = find_unknown(now);
    v.unknown = *unknown != '\0';
    v.worse = step || replay || memory || lost || v.unknown;
    v.why = arena_printf(a, "%s%s%s%s%s", step ? " step error" : "",
                         replay ? " replay error" : "",
                         memory ? " memory error" : "",
                         lost ? " lost layouts" : "", unknown);
    *out = v;
    return v.why ? ERR_OK : report_validate_no_memory(msg);
}

static bool report_validate_write_row(struct arena *a, FILE *out,
                                      const struct validate_row *r)
{
    const double numbers[] = {r->pred_ms, r->meas_ms, r->step_error_pct,
                              r->replay_error_pct, r->memory_error_pct};
    const char *field[N_COLUMNS] = {FORMAT, r->experiment, r->role, r->layout};
    for (int i = 0; i < 5; i++) {
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
        if (!has_experiment(now, baseline->row[i].experiment))
            ok = report_validate_write_row(a, out, &baseline->row[i]);
    for (int i = 0; i < now->n && ok; i++)
        ok = report_validate_write_row(a, out, &now->row[i]);
    ok = fclose(out) == 0 && ok;
    enum err e = ok ? csv_replace_file(path, text, len, msg)
                    : report_validate_no_memory(msg);
    free(text);
    return e;
}
