/*
 * How it works: experiment_open() gathers the facts; `key` hashes all that
 * decides a measurement, and only runs of that key are seen. What is known
 * grows with the runs: costs, then layouts, then figures; perform makes the
 * runs. Predictions are made for the machine's speed in the profile runs;
 * for the tables the fit is repeated at the experiment's median speed, to
 * which measurements are corrected too.
 */
#include "experiment.h"

#include "base/writer.h"
#include "calibrate.h"
#include "calibrate/profile.h"
#include "context.h"
#include "core_check.h"
#include "key.h"
#include "launch/interrupt.h"
#include "log_check.h"
#include "manifest/settings.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>

enum { EXPERIMENT_TOP = 10 }; // layouts in plan.json, as `plan` prints

#define GIB 1073741824.0

static enum err experiment_no_memory(const struct experiment *e,
                                     struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", e->manifest.path);
}

/* ---- opening ---- */

/* What predictions depend on besides costs. A limit that cannot be checked is
 * refused before anything is run for it. */
static enum err make_context(struct experiment *e, struct err_msg *msg)
{
    const struct model *m = &e->workload.model;
    bool ours = e->manifest.trainer.kind == TRAINER_MOE_TRAIN;
    struct plan_settings set;
    const char *note = NULL;
    enum err err = manifest_settings(e->a, &e->manifest, &set, &note, msg);
    if (err != ERR_OK)
        return err;
    if (note)
        experiment_warn(e, note);
    e->ctx = (struct plan_context){
        .model = m, .hbm_bytes = e->manifest.hardware.hbm_gb * GIB};
    plan_settings_apply(&set, m, &e->ctx);
    e->ctx.memory_margin = e->manifest.hardware.memory_margin_pct / 100;
    const char *where =
        arena_printf(e->a, "%s: hardware: hbm_gb", e->manifest.path);
    if (!where)
        return experiment_no_memory(e, msg);
    err = plan_context_check(
        &e->ctx, ours ? &MEMORY_MOE_TRAIN : &MEMORY_MEGATRON, where, msg);
    if (err != ERR_OK)
        return err;
    return context_make(&e->manifest, &e->workload, &e->schedule, &e->ctx, msg);
}

/* MTP and loss can be told apart only when a profile run parts them, which no
 * pattern of a hybrid model does. */
static bool wants_standalone(const struct manifest *mf, const struct model *m)
{
    return manifest_has_role(mf, ROLE_STANDALONE_MTP) && !model_is_hybrid(m);
}

/* As the manifest lists them, else those that tell the units apart best. */
static enum err choose_profile(struct experiment *e, struct err_msg *msg)
{
    const struct manifest *mf = &e->manifest;
    const struct model *m = &e->workload.model;
    int n = mf->profile_runs;
    struct layout *l = arena_alloc(e->a, (size_t)n, sizeof *l);
    enum err err = ERR_OK;
    e->profile = arena_alloc(e->a, (size_t)n, sizeof *e->profile);
    if (!l || !e->profile)
        return experiment_no_memory(e, msg);
    if (mf->costs_from)
        return ERR_OK;
    struct model plain = *m; // profile runs have one chunk a rank
    plain.par.vpp = 1;
    if (mf->profile_layouts.n == 0)
        err = profile_layouts(
            e->a, &plain,
            &(struct profile_wish){m->par.pp, n, wants_standalone(mf, m)}, l,
            msg);
    for (int i = 0; i < mf->profile_layouts.n && err == ERR_OK; i++)
        err = layout_read(e->a, mf->profile_layouts.word[i], m, &l[i], msg);
    for (int i = 0; i < mf->profile_layouts.n && err == ERR_OK; i++)
        if (l[i].vpp != 1)
            err = err_set(msg, ERR_RANGE,
                          "runs[%d]: '%s' has %d chunks a rank: want one, so "
                          "that timers tell stages apart",
                          i, mf->profile_layouts.word[i], l[i].vpp);
    if (err != ERR_OK)
        return err_prefix(msg, err, "%s: profile", mf->path);
    for (int i = 0; i < n; i++) {
        e->profile[i] = layout_text(e->a, &l[i], m);
        if (!e->profile[i])
            return experiment_no_memory(e, msg);
    }
    e->profile_parsed = l;
    e->n_profile = n;
    return ERR_OK;
}

/* What is known of the runs' speed. */
void experiment_update_reference(struct experiment *e)
{
    struct run_list profile = e->runs;
    struct arena scratch;
    arena_init(&scratch);
    profile.n = 0;
    while (profile.n < e->runs.n && e->runs.run[profile.n].round == 0)
        profile.n++;
    e->reference_ms = figures_reference(&scratch, &e->runs, e->manifest.warmup);
    e->profile_reference_ms =
        figures_reference(&scratch, &profile, e->manifest.warmup);
    arena_clear(&scratch);
}

enum err experiment_reload(struct experiment *e, struct err_msg *msg)
{
    enum err err = results_load(e->a, e->dir, e->key, &e->runs, msg);
    e->runs_room = e->runs.n;
    if (err == ERR_OK)
        err = log_check_all(e->a, &e->workload.model, &e->runs, msg);
    if (err == ERR_OK)
        experiment_update_reference(e);
    return err;
}

/* Everything that can be refused is refused here, before a run costs time. */
enum err experiment_open(struct arena *a, const struct experiment_options *opt,
                         struct experiment *out, struct err_msg *msg)
{
    struct experiment *e = out;
    *e = (struct experiment){.a = a};
    enum err err = manifest_read(a, opt->manifest, &e->manifest, msg);
    if (err == ERR_OK && manifest_plans_only(&e->manifest))
        err = err_set(msg, ERR_RANGE,
                      "%s: 'plan': only planned, it has no runs: 'moe-bench "
                      "run' plans it",
                      opt->manifest);
    if (err == ERR_OK)
        err = workload_read(a, &e->manifest, &e->workload, msg);
    if (err == ERR_OK)
        err = machine_read(a, &e->machine, msg);
    if (err == ERR_OK)
        err = make_context(e, msg);
    if (err != ERR_OK)
        return err;
    const struct launch_request lr = {.manifest = &e->manifest,
                                      .workload = &e->workload,
                                      .machine = &e->machine};
    e->dir =
        opt->out ? opt->out : arena_printf(a, "results/%s", e->manifest.name);
    err = e->dir ? launch_build(a, &lr, &e->launch, msg)
                 : experiment_no_memory(e, msg);
    if (err == ERR_OK)
        err = key_make(a,
                       &(struct key_parts){&e->manifest, &e->workload,
                                           &e->launch, &e->machine},
                       e->key, msg);
    if (err == ERR_OK)
        err = choose_profile(e, msg);
    if (err == ERR_OK)
        err = core_check(
            a, &e->manifest, &e->ctx,
            &(struct core_profile){e->profile_parsed, e->n_profile}, msg);
    if (err == ERR_OK)
        err = experiment_reload(e, msg);
    return err;
}

/* ---- costs and plan ---- */

static struct calibrate_input calibrate_input(const struct experiment *e)
{
    return (struct calibrate_input){.manifest = &e->manifest,
                                    .ctx = &e->ctx,
                                    .runs = &e->runs,
                                    .dir = e->dir};
}

/* At the speed of the profile runs: the plan is for the machine as it was then.
 */
enum err experiment_fit(struct experiment *e, struct err_msg *msg)
{
    const struct calibrate_input in = calibrate_input(e);
    struct calibration *c = arena_alloc(e->a, 1, sizeof *c);
    if (!c)
        return experiment_no_memory(e, msg);
    experiment_update_reference(e);
    enum err err = calibrate(e->a, &in, e->profile_reference_ms, c, msg);
    if (err != ERR_OK)
        return err;
    plan_context_costs(&e->ctx, &c->cost);
    e->fit_note = c->note;
    return ERR_OK;
}

static void experiment_write_plans(struct writer to, const char *key,
                                   const struct plan *plans, int n)
{
    struct writer list = writer_list(to, key);
    for (int i = 0; i < n; i++)
        writer_tree(list, NULL, plan_to_json(&plans[i]));
}

enum err experiment_write_plan(struct experiment *e, struct err_msg *msg)
{
    struct search_result r;
    const struct search_options opt = {
        .standalone_mtp = wants_standalone(&e->manifest, e->ctx.model),
        .top = EXPERIMENT_TOP};
    interrupt_release();
    enum err err = search_layouts(e->a, &e->ctx, &opt, &r, msg);
    interrupt_hold();
    if (err != ERR_OK)
        return err;
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    writer_text(o, "format", "moe-layout/plan/1");
    experiment_write_plans(o, "layouts", r.plans, r.n_plans);
    experiment_write_plans(o, "baselines", r.baselines, r.n_baselines);
    writer_text(o, "searched", r.searched);
    if (r.n_dropped_for_memory != SEARCH_NOT_COUNTED)
        writer_number(o, "dropped_for_memory", (double)r.n_dropped_for_memory);
    writer_text(o, "proof", search_proof_name(r.proof));
    writer_number(o, "gap_pct", 100 * r.gap);
    return results_write_json(e->a, e->dir, "plan.json", writer_close(&doc),
                              msg);
}

void experiment_warn(const struct experiment *e, const char *line)
{
    fprintf(stderr, "moe-bench: warning: %s: %s\n", e->manifest.name, line);
}

static void warn_of_role(void *data, const char *line)
{
    experiment_warn(data, line);
}

enum err experiment_resolve(struct experiment *e, enum role only,
                            bool keep_unknown, struct err_msg *msg)
{
    const struct roles_request req = {.manifest = &e->manifest,
                                      .ctx = &e->ctx,
                                      .only = only,
                                      .keep_unknown = keep_unknown,
                                      .warn = warn_of_role,
                                      .data = e};
    return roles_resolve(e->a, &req, &e->targets, msg);
}

/* ---- runs ---- */

struct planned experiment_planned(const struct experiment *e)
{
    return (struct planned){.profile = e->profile,
                            .n_profile = e->n_profile,
                            .targets = &e->targets,
                            .rounds = e->manifest.rounds};
}

int experiment_most_runs(const struct experiment *e)
{
    return e->n_profile + e->manifest.rounds * e->manifest.n_measure;
}

double experiment_run_bound_usd(const struct experiment *e)
{
    return e->manifest.run_limit_s / 3600 *
           e->manifest.hardware.price_usd_per_hour;
}

/* Some statuses are worth another try, and a later run of the same name may be
 * valid; the last failed one tells why there is none. */
const struct run_record *experiment_find(const struct experiment *e,
                                         const struct planned_run *which)
{
    const struct run_record *failed = NULL;
    int n_done = 0;
    for (size_t i = 0; i < e->runs.n && which->layout; i++) {
        const struct run_record *r = &e->runs.run[i];
        if (r->round != which->round || strcmp(r->role, which->role) != 0 ||
            strcmp(r->layout, which->layout) != 0)
            continue;
        if (run_status_try_again(r->status))
            failed = r;
        else if (n_done++ == which->nth)
            return r;
    }
    return failed;
}

/* The same run made again stands behind it: its start is later. */
const struct run_record *experiment_changed(const struct experiment *e)
{
    for (size_t i = 0; i < e->runs.n; i++) {
        const struct run_record *r = &e->runs.run[i];
        bool made_again = false;
        for (size_t k = i + 1; r->changed && k < e->runs.n; k++) {
            const struct run_record *x = &e->runs.run[k];
            made_again |= x->status == RUN_VALID && x->round == r->round &&
                          strcmp(x->role, r->role) == 0 &&
                          strcmp(x->layout, r->layout) == 0;
        }
        if (r->changed && !made_again)
            return r;
    }
    return NULL;
}

/* Room for one more run: twice as much each time, so that all copies together
 * are no larger than the list. */
static enum err grow_runs(struct experiment *e, struct err_msg *msg)
{
    size_t room = 2 * e->runs_room + 16;
    if (e->runs.n < e->runs_room)
        return ERR_OK;
    struct run_record *all = arena_alloc(e->a, room, sizeof *all);
    if (!all)
        return experiment_no_memory(e, msg);
    if (e->runs.n > 0)
        memcpy(all, e->runs.run, e->runs.n * sizeof *all);
    e->runs.run = all;
    e->runs_room = room;
    return ERR_OK;
}

/* The list is by round; runs of one round stay in the order of their start. */
enum err experiment_add_run(struct experiment *e, const struct run_record *run,
                            struct err_msg *msg)
{
    enum err err = grow_runs(e, msg);
    size_t at = e->runs.n;
    if (err != ERR_OK)
        return err;
    for (; at > 0 && e->runs.run[at - 1].round > run->round; at--)
        e->runs.run[at] = e->runs.run[at - 1];
    e->runs.run[at] = *run;
    e->runs.n++;
    return ERR_OK;
}

enum err experiment_predict_again(struct experiment *e, struct err_msg *msg)
{
    const struct calibrate_input in = calibrate_input(e);
    struct calibration *c = arena_alloc(e->a, 1, sizeof *c);
    struct plan_context ctx = e->ctx;
    if (!c)
        return experiment_no_memory(e, msg);
    experiment_update_reference(e);
    if (!e->ctx.cost || e->manifest.costs_from || !(e->reference_ms > 0))
        return ERR_OK;
    enum err err = calibrate(e->a, &in, e->reference_ms, c, msg);
    plan_context_costs(&ctx, &c->cost);
    if (err == ERR_OK)
        err = roles_predict(e->a, &ctx, &e->targets, msg);
    return err;
}

struct tables_input experiment_tables(const struct experiment *e)
{
    return (struct tables_input){.manifest = &e->manifest,
                                 .ctx = &e->ctx,
                                 .runs = &e->runs,
                                 .targets = &e->targets,
                                 .reference_ms = e->reference_ms,
                                 .keep = e->a};
}

double experiment_budget_usd(const struct experiment *e, double max_usd)
{
    double budget = e->manifest.budget_usd;
    return max_usd > 0 && (budget <= 0 || max_usd < budget) ? max_usd : budget;
}

struct campaign experiment_campaign(const struct experiment *e, double max_usd)
{
    const struct calibrate_input in = calibrate_input(e);
    bool costs = e->manifest.costs_from != NULL;
    return (struct campaign){.manifest = &e->manifest,
                             .workload = &e->workload,
                             .launch = &e->launch,
                             .dir = e->dir,
                             .costs = costs ? calibrate_other_costs(e->a, &in)
                                            : NULL,
                             .n_runs = experiment_most_runs(e),
                             .max_usd = experiment_budget_usd(e, max_usd)};
}
