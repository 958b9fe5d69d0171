/*
 * How it works: each file has an array of column names and a function that
 * fills the fields of one row in that order. A row is collected in struct row,
 * which formats numbers (not finite: an empty field) into the arena.
 */
#include "tables.h"

#include "base/csv.h"
#include "layout/symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES_MAX_FIELDS = 40 };            // runs.csv has 33
enum { TABLES_MAX_BAD_ITERATIONS = 10000 }; // rows of a run that is not valid

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct row {
    struct arena *a;
    const char *field[TABLES_MAX_FIELDS];
    size_t n;
};

static const char *const runs_columns[] = {"format",       "experiment",
                                           "run_id",       "round",
                                           "role",         "layout",
                                           "pp",           "vpp",
                                           "tp",           "ep",
                                           "dp",           "micro_batch",
                                           "global_batch", "n_microbatches",
                                           "seq_tokens",   "hardware",
                                           "n_ranks",      "launcher",
                                           "clock",        "timers",
                                           "status",       "reason",
                                           "n_iterations", "n_warmup",
                                           "meas_step_ms", "meas_step_corr_ms",
                                           "meas_mad_ms",  "reference_ms",
                                           "cost_usd",     "source",
                                           "log_sha256",   "commit",
                                           "started_utc"};

static const char *const iterations_columns[] = {
    "format",  "experiment",   "run_id", "round", "iteration",
    "step_ms", "reference_ms", "usable", "loss"};

static const char *const layouts_columns[] = {"format",
                                              "experiment",
                                              "role",
                                              "layout",
                                              "n_rounds",
                                              "pred_step_ms",
                                              "pred_lo_ms",
                                              "pred_hi_ms",
                                              "meas_step_ms",
                                              "meas_lo_ms",
                                              "meas_hi_ms",
                                              "step_error_pct",
                                              "replay_error_pct",
                                              "pred_speedup",
                                              "meas_speedup",
                                              "worst_stage_pred_mem_bytes",
                                              "worst_stage_meas_mem_bytes",
                                              "source"};

static const char *const stages_columns[] = {
    "format",        "experiment",  "role",           "layout",
    "stage",         "units",       "pred_fwd_ms",    "meas_fwd_ms",
    "pred_bwd_ms",   "meas_bwd_ms", "pred_mem_bytes", "meas_mem_bytes",
    "mem_error_pct", "in_flight"};

static const char *const units_columns[] = {
    "format",    "experiment", "unit",      "kind",         "fwd_ms",
    "fwd_se_ms", "bwd_ms",     "bwd_se_ms", "flops_fwd_ms", "flops_bwd_ms"};

static const char *const jitter_columns[] = {
    "format", "experiment",      "role",         "layout",
    "op_cv",  "near_bottleneck", "mean_step_ms", "expected_step_ms"};

static const char *const timeline_columns[] = {
    "format", "experiment", "role", "layout",   "iteration",
    "stage",  "mb",         "kind", "start_ms", "end_ms"};

static void tables_put(struct row *r, const char *text)
{
    r->field[r->n++] = text;
}

static void put_number(struct row *r, double x)
{
    char buf[CSV_NUMBER_BYTES];
    const char *text = csv_number(x, buf);
    tables_put(r, text ? arena_strdup(r->a, text) : NULL);
}

static void put_int(struct row *r, int64_t x)
{
    tables_put(r, arena_printf(r->a, "%lld", (long long)x));
}

/* An empty field for what was not predicted or recorded. */
static void put_positive(struct row *r, double x)
{
    put_number(r, x > 0 ? x : (double)NAN);
}

static struct row row_new(struct arena *a, const char *format,
                          const char *experiment)
{
    struct row r = {.a = a};
    tables_put(&r, format);
    tables_put(&r, experiment);
    return r;
}

/* ---- rows of layouts ---- */

/* Measured or emulated, as its runs say: the first stands for all. */
static const char *source_of(const struct run_list *runs, const char *role,
                             const char *layout)
{
    for (size_t i = 0; i < runs->n; i++)
        if (strcmp(runs->run[i].role, role) == 0 &&
            strcmp(runs->run[i].layout, layout) == 0)
            return runs->run[i].source;
    return "";
}

/* Roles of one layout share the runs of the first of them. */
static struct rounds_request tables_request(const struct tables_input *in,
                                            const struct target *t)
{
    const struct target *owner = &in->targets->target[t->runs_of];
    return (struct rounds_request){.runs = in->runs,
                                   .role = role_name(owner->role),
                                   .layout = t->layout,
                                   .parsed = &t->parsed,
                                   .ctx = in->ctx,
                                   .warmup = in->manifest->warmup,
                                   .reference_ms = in->reference_ms,
                                   .keep = in->keep};
}

/* The rank that needs most decides whether a layout fits. */
static double worst_predicted(const struct plan *p)
{
    double worst = 0;
    for (int s = 0; s < p->n_stages; s++)
        worst = fmax(worst, (double)p->stages[s].mem_bytes);
    return worst;
}

/* Errors are relative to what was measured, NAN where nothing was. */
static enum err tables_fill_row(struct arena *a, const struct tables_input *in,
                                const struct target *t, struct layout_row *row,
                                struct err_msg *msg)
{
    struct rounds_request req = tables_request(in, t);
    *row = (struct layout_row){
        .target = t,
        .pred_ms = 1e3 * t->step_s,
        .lo_ms = 1e3 * t->lo_s,
        .hi_ms = 1e3 * t->hi_s,
        .worst_pred_mem_bytes = worst_predicted(&t->pred),
        .source = source_of(in->runs, req.role, req.layout)};
    enum err e = rounds_layout(a, &req, &row->figures, msg);
    double meas = row->figures.meas_ms;
    row->step_error_pct = 100 * (row->pred_ms - meas) / meas;
    return e;
}

/* Speedups are over the default layout, wherever it stands among the roles:
 * hence the second pass. Without it they are NAN, which makes empty fields. */
enum err tables_layout_rows(struct arena *a, const struct tables_input *in,
                            struct layout_row *rows, struct err_msg *msg)
{
    double pred = NAN, meas = NAN; // of the default layout
    for (int i = 0; i < in->targets->n; i++) {
        const struct target *t = &in->targets->target[i];
        enum err e = tables_fill_row(a, in, t, &rows[i], msg);
        if (e != ERR_OK)
            return e;
        if (t->role == ROLE_DEFAULT) {
            pred = rows[i].pred_ms;
            meas = rows[i].figures.meas_ms;
        }
    }
    for (int i = 0; i < in->targets->n; i++) {
        rows[i].pred_speedup = pred / rows[i].pred_ms;
        rows[i].meas_speedup = meas / rows[i].figures.meas_ms;
    }
    return ERR_OK;
}

/* ---- files ---- */

/* The failed ones, too: a reader sees what was left out and why. */
static bool write_run(struct arena *a, const struct tables_input *in,
                      const struct run_record *run, const struct run_figures *f,
                      FILE *out)
{
    struct row r = row_new(a, "moe-bench/runs/1", run->experiment);
    const struct model *m = in->ctx->model;
    tables_put(&r, run->run_id);
    put_int(&r, run->round);
    tables_put(&r, run->role);
    tables_put(&r, run->layout);
    put_int(&r, m->par.pp);
    put_int(&r, run->round > 0 ? m->par.vpp : 1); // profile runs have one
    put_int(&r, m->par.tp);
    put_int(&r, m->par.ep);
    put_int(&r, m->par.dp);
    put_int(&r, m->batch.micro_batch);
    put_int(&r, m->batch.global_batch);
    put_int(&r, m->batch.n_microbatches);
    put_int(&r, m->batch.seq_tokens);
    tables_put(&r, run->hardware);
    put_int(&r, run->n_ranks);
    tables_put(&r, run->launcher);
    tables_put(&r, run->clock);
    put_int(&r, run->timers);
    tables_put(&r, run_status_name(run->status));
    tables_put(&r, run->reason);
    put_int(&r, f->n_used);
    put_int(&r, f->n_warmup);
    put_number(&r, f->step_ms);
    put_number(&r, f->corr_ms);
    put_number(&r, f->mad_ms);
    put_number(&r, f->reference_ms);
    put_number(&r, run->cost_usd);
    tables_put(&r, run->source);
    tables_put(&r, run->log_sha256);
    tables_put(&r, run->commit);
    tables_put(&r, run->started_utc);
    return csv_write_row(out, r.field, r.n);
}

static enum err tables_write_runs(struct arena *a,
                                  const struct tables_input *in, FILE *out,
                                  bool *ok, struct err_msg *msg)
{
    *ok = csv_write_row(out, runs_columns, COUNT(runs_columns));
    for (size_t i = 0; i < in->runs->n && *ok; i++) {
        struct run_figures f;
        enum err e = figures_run(
            a, &in->runs->run[i],
            (struct figures_rule){in->manifest->warmup, in->reference_ms}, &f,
            msg);
        if (e != ERR_OK)
            return e;
        *ok = write_run(a, in, &in->runs->run[i], &f, out);
    }
    return ERR_OK;
}

/* Also those that do not count (usable 0), so that medians can be checked. */
static enum err write_iterations(struct arena *a, const struct tables_input *in,
                                 FILE *out, bool *ok, struct err_msg *msg)
{
    (void)msg;
    *ok = csv_write_row(out, iterations_columns, COUNT(iterations_columns));
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct run_record *run = &in->runs->run[i];
        size_t n = run->log.n_iterations;
        // a run that is not valid may have printed without end
        if (run->status != RUN_VALID && n > TABLES_MAX_BAD_ITERATIONS)
            n = TABLES_MAX_BAD_ITERATIONS;
        for (size_t k = 0; k < n && *ok; k++) {
            const struct log_iteration *it = &run->log.iterations[k];
            struct row r =
                row_new(a, "moe-bench/iterations/1", run->experiment);
            tables_put(&r, run->run_id);
            put_int(&r, run->round);
            put_int(&r, it->iteration);
            put_number(&r, it->step_ms);
            put_positive(&r, it->reference_ms);
            put_int(&r, figures_is_used(&run->log, it, in->manifest->warmup));
            put_number(&r, it->loss);
            *ok = csv_write_row(out, r.field, r.n);
        }
    }
    return ERR_OK;
}

/* Predicted beside measured, and the verdict on both. */
static bool write_layout(struct arena *a, const struct manifest *mf,
                         const struct layout_row *l, FILE *out)
{
    struct row r = row_new(a, "moe-bench/layouts/1", mf->name);
    tables_put(&r, role_name(l->target->role));
    tables_put(&r, l->target->layout);
    put_int(&r, l->figures.n_rounds);
    put_number(&r, l->pred_ms);
    put_number(&r, l->lo_ms);
    put_number(&r, l->hi_ms);
    put_number(&r, l->figures.meas_ms);
    put_number(&r, l->figures.lo_ms);
    put_number(&r, l->figures.hi_ms);
    put_number(&r, l->step_error_pct);
    put_number(&r, l->figures.replay_error_pct);
    put_number(&r, l->pred_speedup);
    put_number(&r, l->meas_speedup);
    put_positive(&r, l->worst_pred_mem_bytes);
    put_positive(&r, l->figures.worst_mem_bytes);
    tables_put(&r, l->source);
    return csv_write_row(out, r.field, r.n);
}

static enum err write_layouts(struct arena *a, const struct tables_input *in,
                              FILE *out, bool *ok, struct err_msg *msg)
{
    struct layout_row *rows =
        arena_alloc(a, (size_t)in->targets->n + 1, sizeof *rows);
    if (!rows)
        return err_set(msg, ERR_NOMEM, "tables: out of memory");
    enum err e = tables_layout_rows(a, in, rows, msg);
    if (e != ERR_OK)
        return e;
    *ok = csv_write_row(out, layouts_columns, COUNT(layouts_columns));
    for (int i = 0; i < in->targets->n && *ok; i++)
        *ok = write_layout(a, in->manifest, &rows[i], out);
    return ERR_OK;
}

/* What was not predicted has empty fields: the layout is measured all the same.
 */
static bool tables_write_stage(struct row *r, const struct target *t, int stage,
                               const struct stage_figures *f, FILE *out)
{
    static const struct plan_stage unknown = {NULL, NAN, NAN, 0, 0};
    const struct plan_stage *p =
        stage < t->pred.n_stages ? &t->pred.stages[stage] : &unknown;
    double pred_bytes = (double)p->mem_bytes;
    put_number(r, 1e3 * p->fwd_s);
    put_number(r, f->fwd_ms);
    put_number(r, 1e3 * p->bwd_s);
    put_number(r, f->bwd_ms);
    put_positive(r, pred_bytes);
    put_positive(r, f->mem_bytes);
    put_number(r, pred_bytes > 0
                      ? 100 * (pred_bytes - f->mem_bytes) / f->mem_bytes
                      : (double)NAN);
    put_positive(r, p->in_flight);
    return csv_write_row(out, r->field, r->n);
}

/* Which stage it is; false when out of memory. */
static bool put_stage(struct row *r, const struct model *m,
                      const struct target *t, int stage)
{
    const char *units = model_is_hybrid(m)
                            ? symbols_stage(r->a, &t->parsed, m, stage)
                            : t->parsed.units[stage];
    tables_put(r, role_name(t->role));
    tables_put(r, t->layout);
    put_int(r, stage);
    tables_put(r, units);
    return units != NULL;
}

static enum err write_stages(struct arena *a, const struct tables_input *in,
                             FILE *out, bool *ok, struct err_msg *msg)
{
    *ok = csv_write_row(out, stages_columns, COUNT(stages_columns));
    for (int i = 0; i < in->targets->n; i++) {
        const struct target *t = &in->targets->target[i];
        struct rounds_request req = tables_request(in, t);
        struct stage_figures *f =
            arena_alloc(a, (size_t)t->parsed.n_stages, sizeof *f);
        if (!f)
            return err_set(msg, ERR_NOMEM, "tables: out of memory");
        enum err e = rounds_stages(a, &req, f, msg);
        if (e != ERR_OK)
            return e;
        for (int s = 0; s < t->parsed.n_stages && *ok; s++) {
            struct row r = row_new(a, "moe-bench/stages/1", in->manifest->name);
            *ok = put_stage(&r, in->ctx->model, t, s) &&
                  tables_write_stage(&r, t, s, &f[s], out);
        }
    }
    return ERR_OK;
}

/* ---- units of the model ---- */

/* What decoder layers take over what `flops` says of them: one with experts, or
 * a dense one where there is none; of a hybrid model all together. */
static double layer_scale(const struct model *m, const struct cost *c,
                          const struct unit_cost *flops)
{
    double sum = 0, sum_flops = 0;
    for (int k = 0; k < N_KINDS; k++) {
        bool counts = model_is_hybrid(m) ? kind_is_symbol((enum unit_kind)k)
                      : c->unit[KIND_T].known ? k == KIND_T
                                              : k == KIND_T_DENSE;
        int n = !counts || !c->unit[k].known ? 0
                : model_is_hybrid(m) ? model_unit_count(m, (enum unit_kind)k)
                                     : 1;
        sum += n * (c->unit[k].fwd_s + c->unit[k].bwd_s);
        sum_flops += n * (flops[k].fwd_s + flops[k].bwd_s);
    }
    return sum / sum_flops;
}

/* Costs in proportion to FLOPs, with m in L where only both together are
 * known, so that a decoder layer takes what it was measured to take. */
static struct cost scaled_flops(const struct model *m, const struct cost *c)
{
    struct cost flops;
    cost_analytic(m, 1, &flops);
    struct unit_cost *u = flops.unit;
    if (c->joint_ml) {
        u[KIND_L].fwd_s += u[KIND_M].fwd_s;
        u[KIND_L].bwd_s += u[KIND_M].bwd_s;
    }
    double scale = layer_scale(m, c, u);
    for (int k = 0; k < N_KINDS; k++) {
        u[k].fwd_s *= scale;
        u[k].bwd_s *= scale;
    }
    return flops;
}

static enum err write_units(struct arena *a, const struct tables_input *in,
                            FILE *out, bool *ok, struct err_msg *msg)
{
    const struct cost *c = in->ctx->cost;
    (void)msg;
    *ok = csv_write_row(out, units_columns, COUNT(units_columns));
    if (!c)
        return ERR_OK;
    struct cost flops = scaled_flops(in->ctx->model, c);
    for (int k = 0; k < N_KINDS && *ok; k++) {
        const struct unit_cost *u = &c->unit[k], *f = &flops.unit[k];
        bool joint = k == KIND_L && c->joint_ml;
        if (!u->known || (k == KIND_M && c->joint_ml))
            continue;
        struct row r = row_new(a, "moe-bench/units/1", in->manifest->name);
        const char letter[2] = {kind_is_symbol((enum unit_kind)k)
                                    ? kind_symbol((enum unit_kind)k)
                                    : kind_letter((enum unit_kind)k),
                                '\0'};
        tables_put(&r, joint ? "mL" : letter);
        tables_put(&r, joint ? "mL" : kind_name((enum unit_kind)k));
        const double s[] = {u->fwd_s,  u->fwd_se, u->bwd_s,
                            u->bwd_se, f->fwd_s,  f->bwd_s};
        for (int i = 0; i < 6; i++)
            put_number(&r, 1e3 * s[i]);
        *ok = csv_write_row(out, r.field, r.n);
    }
    return ERR_OK;
}

/* ---- what jitter adds ---- */

/* Times are of the prediction: jitter is simulated, and `near_bottleneck` says
 * how many ranks it hits. */
static enum err write_jitter(struct arena *a, const struct tables_input *in,
                             FILE *out, bool *ok, struct err_msg *msg)
{
    (void)msg;
    *ok = csv_write_row(out, jitter_columns, COUNT(jitter_columns));
    for (int i = 0; i < in->targets->n && in->ctx->cost && *ok; i++) {
        const struct target *t = &in->targets->target[i];
        struct row r = row_new(a, "moe-bench/jitter/1", in->manifest->name);
        tables_put(&r, role_name(t->role));
        tables_put(&r, t->layout);
        put_number(&r, in->ctx->cost->jitter_cv);
        put_int(&r, t->pred.near_bottleneck);
        put_number(&r, 1e3 * t->pred.pred_step_s);
        put_number(&r, 1e3 * t->step_s);
        *ok = csv_write_row(out, r.field, r.n);
    }
    return ERR_OK;
}

/* ---- timeline of default and pick ---- */

/* Operation `op` of [stage * n_mb + mb], from the start of its step. */
static bool tables_write_op(struct row r, const struct timeline *t, int op,
                            bool forward, FILE *out)
{
    double start = (forward ? t->step.fwd_start_s : t->step.bwd_start_s)[op];
    double took = (forward ? t->step.fwd_s : t->step.bwd_s)[op];
    put_int(&r, t->step.iteration);
    put_int(&r, op / t->n_mb);
    put_int(&r, op % t->n_mb);
    tables_put(&r, forward ? "forward" : "backward");
    put_number(&r, 1e3 * start);
    put_number(&r, 1e3 * (start + took));
    return csv_write_row(out, r.field, r.n);
}

static enum err write_timeline(struct arena *a, const struct tables_input *in,
                               FILE *out, bool *ok, struct err_msg *msg)
{
    *ok = csv_write_row(out, timeline_columns, COUNT(timeline_columns));
    for (int i = 0; i < in->targets->n; i++) {
        const struct target *t = &in->targets->target[i];
        struct rounds_request req = tables_request(in, t);
        struct timeline line;
        if (t->role != ROLE_PICK && t->role != ROLE_DEFAULT)
            continue;
        enum err e = rounds_timeline(&req, &line, msg);
        if (e != ERR_OK)
            return e;
        for (int op = 0; op < 2 * line.n_stages * line.n_mb && *ok; op++) {
            struct row r =
                row_new(a, "moe-bench/timeline/1", in->manifest->name);
            tables_put(&r, role_name(t->role));
            tables_put(&r, t->layout);
            *ok = tables_write_op(r, &line, op / 2, op % 2 == 0, out);
        }
    }
    return ERR_OK;
}

struct table {
    const char *name;
    enum err (*write)(struct arena *a, const struct tables_input *in, FILE *out,
                      bool *ok, struct err_msg *msg);
};

static const struct table tables[] = {
    {"runs.csv", tables_write_runs},  {"iterations.csv", write_iterations},
    {"layouts.csv", write_layouts},   {"stages.csv", write_stages},
    {"units.csv", write_units},       {"jitter.csv", write_jitter},
    {"timeline.csv", write_timeline},
};

/* In memory first: a full disk then leaves the old file whole. */
static enum err tables_write_table(struct arena *a,
                                   const struct tables_input *in,
                                   const struct table *t, const char *dir,
                                   struct err_msg *msg)
{
    char *text = NULL;
    size_t len = 0;
    bool ok = false;
    const char *path = arena_printf(a, "%s/%s", dir, t->name);
    FILE *out = path ? open_memstream(&text, &len) : NULL;
    if (!out)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", t->name);
    enum err e = t->write(a, in, out, &ok, msg);
    if (fclose(out) != 0 || (e == ERR_OK && !ok))
        e = err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    if (e == ERR_OK)
        e = text_write_own(path, text, len, msg);
    free(text);
    return e;
}

enum err tables_write(const struct tables_input *in, const char *dir,
                      struct err_msg *msg)
{
    for (size_t i = 0; i < COUNT(tables); i++) {
        struct arena scratch; // of one file's fields
        arena_init(&scratch);
        enum err e = tables_write_table(&scratch, in, &tables[i], dir, msg);
        arena_clear(&scratch);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
