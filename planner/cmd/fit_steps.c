/*
 * How it works: every --step and every row of --steps becomes a row of one
 * group and one cluster; the unknowns are all that the model has, and what the
 * rows do not tell apart is tied to the FLOPs or left out by
 * calibrate/step_fit.
 */
#include "fit_steps.h"
#include "layout/listed.h"

#include "base/text.h"
#include "base/writer.h"
#include "calibrate/step_choose.h"
#include "calibrate/step_table.h"
#include "fit.h"
#include "pattern/depth.h"

#include <math.h>
#include <string.h>

/* What a run of the command works on. */
struct fit_steps {
    struct cmd *cmd;
    const struct model *model;
    const struct plan_settings *set;
    const struct cost *timers; // or NULL
    struct cost links;
    struct step_row *row;
    int n;
};

bool fit_steps_given(const struct cmd *c)
{
    return cmd_given(c, OPT_STEP) || cmd_given(c, OPT_STEPS);
}

static enum err fit_steps_no_memory(struct cmd *c)
{
    return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
}

/* ---- --step ---- */

/* Where the ranks are stated, another pipeline size has other replicas. */
static enum err fit_steps_split(const struct fit_steps *f, int pp,
                                struct model *m)
{
    struct cmd *c = f->cmd;
    const int shared = m->par.tp * m->par.cp * pp;
    if (pp != m->par.pp && cmd_given(c, OPT_WORLD) && m->par.world % shared)
        return err_set(&c->msg, ERR_RANGE,
                       "--step-pp %d: %d ranks do not divide by TP x CP x PP = "
                       "%d",
                       pp, m->par.world, shared);
    if (pp != m->par.pp && cmd_given(c, OPT_WORLD)) {
        m->par.dp = m->par.world / shared;
        m->batch.n_microbatches =
            m->batch.global_batch / (m->batch.micro_batch * m->par.dp);
    }
    m->par.pp = pp;
    m->par.world = shared * m->par.dp;
    return ERR_OK;
}

/* LAYOUT=MS, split at the last '='. */
static enum err read_step(const struct fit_steps *f, const char *text, int pp,
                          struct step_row *out)
{
    struct cmd *c = f->cmd;
    const char *equals = strrchr(text, '=');
    double ms = 0;
    struct model m = *f->model;
    struct observed_case from = {.model = &m,
                                 .gpus_per_node = f->set->gpus_per_node,
                                 .links = &f->links,
                                 .timers = f->timers};
    struct observed *o = arena_alloc(&c->arena, 1, sizeof *o);
    if (!equals || !text_to_double(equals + 1, &ms) || ms <= 0)
        return err_set(
            &c->msg, ERR_PARSE,
            "--step: got '%s', want LAYOUT=MS, e.g. Et*4|t*4mL=812.5", text);
    const char *layout =
        arena_strndup(&c->arena, text, (size_t)(equals - text));
    if (!layout || !o)
        return fit_steps_no_memory(c);
    enum err e = fit_steps_split(f, pp, &m);
    if (e == ERR_OK)
        e = layout_of_list(&c->arena, layout, &layout, &c->msg);
    if (e == ERR_OK)
        e = depth_read(&c->arena, layout, &m, &from.layout, &c->msg);
    if (e == ERR_OK)
        e = cmd_note_layout(c, &m, layout, &from.layout);
    if (e != ERR_OK)
        return err_prefix(&c->msg, e, "--step '%s'", layout);
    m.par.vpp = from.layout.vpp;
    from.mode = plan_settings_mode(f->set, &m);
    o->id = layout;
    e = observed_open(&c->arena, &from, o, &c->msg);
    *out = (struct step_row){layout, o, ms * 1e-3};
    return e == ERR_OK ? ERR_OK : err_prefix(&c->msg, e, "--step '%s'", layout);
}

/* --step-pp stands for all steps, or there is none. */
static enum err read_steps(struct fit_steps *f)
{
    struct cmd *c = f->cmd;
    const char **step =
        arena_alloc(&c->arena, 2 * (size_t)c->line.n_uses + 1, sizeof *step);
    if (!step)
        return fit_steps_no_memory(c);
    const char **pp = step + c->line.n_uses;
    const int n = options_each(&c->line, OPT_STEP, step);
    const int n_pp = options_each(&c->line, OPT_STEP_PP, pp);
    if (n_pp && n_pp != n)
        return err_set(&c->msg, ERR_PARSE,
                       "--step-pp: %d given, want one for each of the %d "
                       "--step, or none",
                       n_pp, n);
    for (int i = 0; i < n; i++) {
        int64_t size = f->model->par.pp;
        if (n_pp && (!text_to_int64(pp[i], &size) || size < 1 || size > 1024))
            return err_set(&c->msg, ERR_RANGE,
                           "--step-pp: got '%s', want 1 to 1024", pp[i]);
        const enum err e = read_step(f, step[i], (int)size, &f->row[f->n]);
        if (e != ERR_OK)
            return e;
        f->n++;
    }
    return ERR_OK;
}

/* ---- --steps ---- */

/* A row that cannot be simulated ends it: the user meant it to count. */
static enum err read_table(struct fit_steps *f)
{
    struct cmd *c = f->cmd;
    const char *path = c->option[OPT_STEPS];
    const struct step_table_options options = {
        .model = f->model,
        .terms = observed_default_terms(),
        .fit_all = true,
        .mode_given = f->set->mode_given,
        .mode = f->set->mode,
        .gpus_per_node = f->set->gpus_per_node,
        .links = &f->links,
        .timers = f->timers};
    struct step_table table = {NULL, 0, 0};
    enum err e =
        path ? step_table_read(&c->arena, path, &options, &table, &c->msg)
             : ERR_OK;
    if (e != ERR_OK)
        return e;
    struct step_row *all =
        arena_alloc(&c->arena, (size_t)(f->n + table.n) + 1, sizeof *all);
    if (!all)
        return fit_steps_no_memory(c);
    memcpy(all, f->row, (size_t)f->n * sizeof *all);
    f->row = all;
    for (int i = 0; i < table.n; i++) {
        const struct step_entry *x = &table.entry[i];
        if (x->use != STEP_USE_FIT || x->excluded)
            continue;
        if (!x->of || !(x->meas_s > 0))
            return err_set(&c->msg, ERR_RANGE, "%s: row %d: %s", path, i + 2,
                           x->of ? "no step_s" : x->why);
        if (x->of->model.batch.micro_batch != f->model->batch.micro_batch)
            return err_set(
                &c->msg, ERR_RANGE,
                "%s: row %d: mbs %lld, and the command says %lld: what a unit "
                "costs is of one size: give --mbs %lld, and fit other rows by "
                "themselves",
                path, i + 2, (long long)x->of->model.batch.micro_batch,
                (long long)f->model->batch.micro_batch,
                (long long)x->of->model.batch.micro_batch);
        e = cmd_note_layout(c, &x->of->model, x->layout, &x->of->layout);
        if (e != ERR_OK)
            return e;
        x->of->group = 0;
        x->of->id = *x->layout ? x->layout : x->id;
        f->row[f->n++] = (struct step_row){x->of->id, x->of, x->meas_s};
    }
    return ERR_OK;
}

/* ---- the fit ---- */

/* Every unit but the layer may have a price of its own, held by a prior to its
 * FLOPs: a handful of steps cannot tell all of them. */
static enum err fit_rows(const struct fit_steps *f, struct step_fit *out)
{
    if (f->n + (f->timers ? 1 : 0) < 2)
        return err_set(&f->cmd->msg, ERR_PARSE,
                       "fit: one step time tells one price alone: want --step "
                       "LAYOUT=MS twice or more, of different layouts");
    const struct step_rows rows = {f->row, f->n, 1};
    struct step_fit_options options = {
        .terms = (observed_default_terms() | 1U << OBSERVED_START) &
                 ~(1U << OBSERVED_FREE),
        .prior_rel = STEP_CHOOSE_PRIOR,
        .timers = f->timers};
    const enum unit_kind base =
        model_is_hybrid(f->model) ? model_base_kind(f->model) : KIND_T;
    for (int k = 0; k < N_KINDS; k++)
        options.free[k] = model_unit_count(f->model, (enum unit_kind)k) > 0 &&
                          (enum unit_kind)k != base &&
                          !(k == KIND_M && observed_is_joint(f->row[0].of));
    return step_fit_make(&f->cmd->arena, &rows, &options, out, &f->cmd->msg);
}

/* The first row's configuration stands for the units: the forward's share of
 * a step is the same in all. */
static void make_cost(const struct fit_steps *f, const struct step_fit *fit,
                      struct cost *cost)
{
    struct observed_prices p;
    double se[N_KINDS];
    step_fit_prices(fit, f->row[0].of, &p, se);
    observed_write_cost(f->row[0].of, &p, se, cost);
    for (int j = 0; j < fit->n_columns; j++)
        if (fit->column[j].kind == STEP_COLUMN_DP)
            cost->dp.se = fit->column[j].se;
    if (fit->degrees_of_freedom > 0)
        cost->step_noise_rel = fit->mean_misfit;
}

/* Units whose price is that of their FLOPs. */
static bool is_tied(const struct step_fit *fit, enum unit_kind k)
{
    for (int j = 0; j < fit->n_columns; j++)
        if (fit->column[j].kind == STEP_COLUMN_FREE && fit->column[j].unit == k)
            return fit->column[j].tied || !fit->column[j].used;
    return false;
}

/* What the fit makes of a row that it was fitted to: shows its misfit, and is
 * no prediction. */
static enum err predicted(const struct fit_steps *f, const struct step_fit *fit,
                          int row, double *step_s)
{
    struct observed_prices p;
    step_fit_prices(fit, f->row[row].of, &p, NULL);
    return observed_step(f->row[row].of, &p, step_s, &f->cmd->msg);
}

/* ---- printing ---- */

static enum err print_json(const struct fit_steps *f,
                           const struct step_fit *fit, const struct cost *cost)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_tree(top, "costs", cost_to_json(cost));
    writer_number(top, "rank", fit->rank);
    writer_number(top, "n_unknowns", fit->n_unknowns);
    writer_number(top, "condition", fit->condition);
    writer_number(top, "degrees_of_freedom", fit->degrees_of_freedom);
    writer_number(top, "mean_error", fit->mean_misfit);
    writer_number(top, "worst_error", fit->worst_misfit);
    struct writer tied = writer_list(top, "tied");
    for (int k = 0; k < N_KINDS; k++)
        if (is_tied(fit, (enum unit_kind)k))
            writer_text(tied, NULL, kind_name((enum unit_kind)k));
    if (fit->note)
        writer_text(top, "note", fit->note);
    struct writer list = writer_list(top, "steps");
    for (int i = 0; i < f->n; i++) {
        double step = (double)NAN;
        const enum err e = predicted(f, fit, i, &step);
        if (e != ERR_OK)
            return e;
        struct writer item = writer_object(list, NULL);
        writer_text(item, "layout", f->row[i].id);
        writer_number(item, "pp", f->row[i].of->layout.pp);
        writer_number(item, "meas_s", f->row[i].meas_s);
        writer_number(item, "pred_s", step);
    }
    cmd_write_account(f->cmd, top);
    return writer_print(&doc, true, stdout, &f->cmd->msg);
}

/* What was not told apart is said unit by unit, so that nobody takes a prior
 * for a measurement. */
static enum err print_text(const struct fit_steps *f,
                           const struct step_fit *fit, const struct cost *cost)
{
    fit_print_costs(cost);
    fit_print_links(cost);
    printf("a step outside the pipeline: %.3f ms", cost->overhead_s * 1e3);
    if (cost->dp.s_per_byte > 0)
        printf(" and the reduction over replicas: %.3f GB/s (+- %.0f%%) out of "
               "a node",
               1e-9 / cost->dp.s_per_byte,
               196 * cost->dp.se / cost->dp.s_per_byte);
    printf("\nrank %d of %d, condition %.1f, %d degrees of freedom%s\n",
           fit->rank, fit->n_unknowns, fit->condition, fit->degrees_of_freedom,
           fit->degrees_of_freedom > 0
               ? ""
               : " (intervals assume that a step scatters by 1%)");
    for (int k = 0; k < N_KINDS; k++)
        if (is_tied(fit, (enum unit_kind)k))
            printf("%s: not told apart: %s\n", kind_name((enum unit_kind)k),
                   k == KIND_E ? "taken to cost nothing"
                               : "by its FLOPs, give or take a half (one "
                                 "standard deviation)");
    if (fit->note)
        printf("note: %s\n", fit->note);
    printf("\n%-32s %4s %12s %12s %8s\n", "layout", "pp", "measured ms",
           "fitted ms", "error %");
    for (int i = 0; i < f->n; i++) {
        double step = 0;
        const enum err e = predicted(f, fit, i, &step);
        if (e != ERR_OK)
            return e;
        printf("%-32s %4d %12.3f %12.3f %8.2f\n", f->row[i].id,
               f->row[i].of->layout.pp, f->row[i].meas_s * 1e3, step * 1e3,
               100 * (step / f->row[i].meas_s - 1));
    }
    return ERR_OK;
}

/* What costs a step time cannot tell of: those of the timers, or a trainer's
 * rules, and the model's fingerprint. */
static enum err start_cost(struct fit_steps *f, struct cost *cost)
{
    struct model_fact *facts =
        arena_alloc(&f->cmd->arena, MODEL_N_FACTS, sizeof *facts);
    if (!facts)
        return fit_steps_no_memory(f->cmd);
    *cost = f->timers ? *f->timers
                      : (struct cost){.source = COST_MEASURED,
                                      .rules = MEMORY_MEGATRON};
    if (!f->timers) {
        cost->n_facts = model_facts(f->model, facts);
        cost->facts = facts;
    }
    const enum err e = fit_read_links(f->cmd, cost);
    f->links = *cost;
    return e;
}

enum err fit_steps_run(struct cmd *c, const struct model *m,
                       const struct plan_settings *set,
                       const struct cost *timers)
{
    struct fit_steps f = {c, m, set, timers, {.n_facts = 0}, NULL, 0};
    struct step_fit fit;
    struct cost cost;
    f.row = arena_alloc(&c->arena, (size_t)c->line.n_uses + 1, sizeof *f.row);
    if (!f.row)
        return fit_steps_no_memory(c);
    enum err e = start_cost(&f, &cost);
    if (e == ERR_OK)
        e = read_steps(&f);
    if (e == ERR_OK)
        e = read_table(&f);
    if (e == ERR_OK)
        e = fit_rows(&f, &fit);
    if (e != ERR_OK)
        return e;
    make_cost(&f, &fit, &cost);
    e = fit_write_costs(c, &cost);
    if (e != ERR_OK)
        return e;
    return cmd_given(c, OPT_JSON) ? print_json(&f, &fit, &cost)
                                  : print_text(&f, &fit, &cost);
}
