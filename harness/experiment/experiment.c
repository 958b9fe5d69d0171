/*
 * How it works: experiment_open() gathers the facts; `key` hashes all that
 * decides a measurement, and only runs of that key are seen. experiment_run()
 * goes profile -> fit -> resolve -> rounds, rebuilding the CSV files after
 * each run. Predictions are made for the machine's speed in the profile runs;
 * for the tables the fit is repeated at the experiment's median speed, to
 * which measurements are corrected too.
 */
#include "experiment.h"

#include "calibrate.h"
#include "calibrate/profile.h"
#include "figures/stats.h"
#include "launch/supervise.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { TOP_IN_PLAN = 10 };

#define GIB 1073741824.0

static enum err experiment_no_memory(const struct experiment *e,
                                     struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", e->manifest.path);
}

/* ---- opening ---- */

static const char *file_hash(struct arena *a, const char *path)
{
    char hex[TEXT_SHA256_HEX];
    struct err_msg ignored;
    if (!path || text_sha256_file(path, hex, &ignored) != ERR_OK)
        return "none";
    return arena_strdup(a, hex);
}

static enum err make_key(struct experiment *e, struct err_msg *msg)
{
    // where runs go to another machine, the manifest tells which, and
    // Megatron's commit may be there only
    bool elsewhere = e->launch.by->start != NULL;
    bool seen = !elsewhere || e->manifest.trainer.kind == TRAINER_MOE_TRAIN;
    const char *binary = seen ? file_hash(e->a, e->launch.binary) : "none";
    const char *platform = file_hash(e->a, e->launch.platform);
    const char *all = arena_printf(e->a, "%s %s %s %s %s", e->manifest.sha256,
                                   e->workload.sha256, binary ? binary : "",
                                   platform ? platform : "",
                                   elsewhere ? "" : e->machine.sha256);
    if (!all || !binary || !platform)
        return experiment_no_memory(e, msg);
    text_sha256(all, strlen(all), e->key);
    return ERR_OK;
}

static enum err make_context(struct experiment *e, struct err_msg *msg)
{
    const struct model *m = &e->workload.model;
    e->ctx =
        (struct plan_context){.model = m,
                              .mode = P2P_BLOCKING,
                              .n_mb = (int)m->batch.n_microbatches,
                              .hbm_bytes = e->manifest.hardware.hbm_gb * GIB,
                              .schedule = &e->schedule};
    return schedule_1f1b(e->a, m->par.pp, e->ctx.n_mb, &e->schedule, msg);
}

/* MTP and loss can be told apart only when a profile run parts them. */
static bool wants_standalone(const struct manifest *mf)
{
    return manifest_has_role(mf, ROLE_STANDALONE_MTP);
}

static enum err choose_profile(struct experiment *e, struct err_msg *msg)
{
    const struct manifest *mf = &e->manifest;
    const struct model *m = &e->workload.model;
    int n = mf->profile_runs;
    struct layout *l = arena_alloc(e->a, (size_t)n, sizeof *l);
    enum err err = ERR_OK;
    if (!l)
        return experiment_no_memory(e, msg);
    if (mf->costs_from)
        return ERR_OK;
    if (mf->profile_layouts.n == 0)
        err = profile_layouts(
            e->a, m, &(struct profile_wish){m->par.pp, n, wants_standalone(mf)},
            l, msg);
    for (int i = 0; i < mf->profile_layouts.n && err == ERR_OK; i++)
        err = layout_read(e->a, mf->profile_layouts.word[i], m, m->par.pp,
                          &l[i], msg);
    if (err != ERR_OK)
        return err_prefix(msg, err, "%s: profile", mf->path);
    e->profile = l;
    e->n_profile = n;
    return ERR_OK;
}

/* Also after each run: what is known of the runs' speed. */
static void update_reference(struct experiment *e)
{
    struct run_list profile = e->runs;
    profile.n = 0;
    while (profile.n < e->runs.n && e->runs.run[profile.n].round == 0)
        profile.n++;
    e->reference_ms = figures_reference(e->a, &e->runs, e->manifest.warmup);
    e->profile_reference_ms =
        figures_reference(e->a, &profile, e->manifest.warmup);
}

static enum err load_runs(struct experiment *e, struct err_msg *msg)
{
    enum err err = results_load(e->a, e->dir, e->key, &e->runs, msg);
    if (err == ERR_OK)
        update_reference(e);
    return err;
}

enum err experiment_open(struct arena *a, const struct experiment_options *opt,
                         struct experiment *out, struct err_msg *msg)
{
    struct experiment *e = out;
    *e = (struct experiment){.a = a};
    enum err err = manifest_read(a, opt->manifest, &e->manifest, msg);
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
        err = make_key(e, msg);
    if (err == ERR_OK)
        err = choose_profile(e, msg);
    if (err == ERR_OK)
        err = load_runs(e, msg);
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

enum err experiment_fit(struct experiment *e, struct err_msg *msg)
{
    const struct calibrate_input in = calibrate_input(e);
    struct calibration *c = arena_alloc(e->a, 1, sizeof *c);
    if (!c)
        return experiment_no_memory(e, msg);
    enum err err = calibrate(e->a, &in, e->profile_reference_ms, c, msg);
    if (err != ERR_OK)
        return err;
    e->ctx.cost = &c->cost;
    e->fit_note = c->note;
    return ERR_OK;
}

static cJSON *experiment_plans_json(const struct plan *plans, int n)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n && list; i++)
        cJSON_AddItemToArray(list, plan_to_json(&plans[i]));
    return list;
}

static enum err write_plan(struct experiment *e, struct err_msg *msg)
{
    struct search_result r;
    const struct search_options opt = {
        .standalone_mtp = wants_standalone(&e->manifest), .top = TOP_IN_PLAN};
    enum err err = search_layouts(e->a, &e->ctx, &opt, &r, msg);
    const char *searched =
        err == ERR_OK ? arena_printf(e->a, "%lld", (long long)r.n_searched)
                      : NULL;
    cJSON *o = searched ? cJSON_CreateObject() : NULL;
    if (err != ERR_OK)
        return err;
    cJSON_AddStringToObject(o, "format", "moe-layout/plan/1");
    cJSON_AddItemToObject(o, "layouts",
                          experiment_plans_json(r.plans, r.n_plans));
    cJSON_AddItemToObject(o, "baselines",
                          experiment_plans_json(r.baselines, r.n_baselines));
    cJSON_AddStringToObject(o, "searched", searched ? searched : "");
    cJSON_AddNumberToObject(o, "dropped_for_memory",
                            (double)r.n_dropped_for_memory);
    cJSON_AddStringToObject(o, "proof", "enumerated");
    cJSON_AddNumberToObject(o, "gap_pct", 0);
    return results_write_json(e->a, e->dir, "plan.json", o, msg);
}

static void experiment_warn(void *data, const char *line)
{
    const struct experiment *e = data;
    fprintf(stderr, "moe-bench: warning: %s: %s\n", e->manifest.name, line);
}

enum err experiment_resolve(struct experiment *e, enum role only,
                            bool keep_unknown, struct err_msg *msg)
{
    const struct roles_request req = {.manifest = &e->manifest,
                                      .ctx = &e->ctx,
                                      .only = only,
                                      .keep_unknown = keep_unknown,
                                      .warn = experiment_warn,
                                      .data = e};
    return roles_resolve(e->a, &req, &e->targets, msg);
}

/* ---- runs ---- */

int experiment_n_runs(const struct experiment *e)
{
    int n = 0;
    for (int i = 0; i < e->targets.n; i++)
        n += e->targets.target[i].runs_of == i;
    return e->n_profile + e->manifest.rounds * n;
}

double experiment_run_bound_usd(const struct experiment *e)
{
    return e->manifest.run_limit_s / 3600 *
           e->manifest.hardware.price_usd_per_hour;
}

struct planned_run experiment_profile_run(const struct experiment *e, int i)
{
    struct planned_run r = {0, ROLE_PROFILE_NAME,
                            layout_string(e->a, &e->profile[i]), 0};
    for (int k = 0; k < i && r.layout; k++) {
        const char *earlier = layout_string(e->a, &e->profile[k]);
        r.nth += earlier && strcmp(earlier, r.layout) == 0;
    }
    return r;
}

const struct run_record *experiment_find(const struct experiment *e,
                                         const struct planned_run *which)
{
    const struct run_record *failed = NULL;
    int n_done = 0;
    for (size_t i = 0; i < e->runs.n; i++) {
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

static enum err check_budget(const struct experiment *e, double max_usd,
                             struct err_msg *msg)
{
    double budget = e->manifest.budget_usd, spent = 0;
    if (max_usd > 0 && (budget <= 0 || max_usd < budget))
        budget = max_usd;
    for (size_t i = 0; i < e->runs.n; i++)
        if (e->runs.run[i].cost_usd > 0)
            spent += e->runs.run[i].cost_usd;
    if (budget <= 0 || spent + experiment_run_bound_usd(e) <= budget)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: budget of $%.2f: $%.2f spent and the next run may take "
                   "$%.2f; raise limits.budget_usd or --max-usd, or lower "
                   "limits.run_s",
                   e->manifest.path, budget, spent,
                   experiment_run_bound_usd(e));
}

/* Seconds of all runs so far against limits.experiment_s. */
static enum err check_time(const struct experiment *e, struct err_msg *msg)
{
    double limit_s = e->manifest.experiment_limit_s, spent_s = 0;
    for (size_t i = 0; i < e->runs.n; i++)
        spent_s += e->runs.run[i].wall_s;
    if (limit_s <= 0 || spent_s + e->manifest.run_limit_s <= limit_s)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: limits.experiment_s of %.0f s: the runs so far took "
                   "%.0f s and the next may take %.0f s; raise it, or lower "
                   "limits.run_s",
                   e->manifest.path, limit_s, spent_s, e->manifest.run_limit_s);
}

/* What a pass carries along. */
struct pass {
    struct experiment *e;
    const struct experiment_options *opt;
    struct results results;
    struct progress progress;
    bool by_campaign; // a job has made the runs; none is started from here
    int n_bad, n_missing;
};

static enum err experiment_add_run(struct experiment *e,
                                   const struct run_record *run,
                                   struct err_msg *msg)
{
    struct run_record *all = arena_alloc(e->a, e->runs.n + 1, sizeof *all);
    size_t at = e->runs.n;
    if (!all)
        return experiment_no_memory(e, msg);
    while (at > 0 && e->runs.run[at - 1].round > run->round)
        at--;
    if (e->runs.n > 0) {
        memcpy(all, e->runs.run, at * sizeof *all);
        memcpy(all + at + 1, e->runs.run + at, (e->runs.n - at) * sizeof *all);
    }
    all[at] = *run;
    e->runs = (struct run_list){all, e->runs.n + 1};
    update_reference(e);
    return ERR_OK;
}

static enum err check_signal(struct err_msg *msg)
{
    int sig = supervise_pending_signal();
    if (sig == 0)
        return ERR_OK;
    return err_set(msg, ERR_CHILD,
                   "interrupted by signal %d; finished runs are kept, the same "
                   "command continues",
                   sig);
}

/* One planned run: taken from the folders, or executed. */
static enum err do_run(struct pass *p, const struct planned_run *which,
                       struct err_msg *msg)
{
    struct experiment *e = p->e;
    struct run_record run;
    const struct run_record *old = experiment_find(e, which);
    const struct execute_request req = {.manifest = &e->manifest,
                                        .workload = &e->workload,
                                        .machine = &e->machine,
                                        .results = &p->results,
                                        .key = e->key,
                                        .role = which->role,
                                        .layout = which->layout,
                                        .round = which->round};
    p->progress.run++;
    if (old && !run_status_try_again(old->status)) {
        p->n_bad += old->status != RUN_VALID;
        return ERR_OK;
    }
    if (p->by_campaign) {
        p->n_bad++;
        p->n_missing += !old;
        return ERR_OK;
    }
    p->progress.n_iterations =
        manifest_n_iterations(&e->manifest, which->round == 0);
    enum err err = check_signal(msg);
    if (err == ERR_OK)
        err = check_budget(e, p->opt->max_usd, msg);
    if (err == ERR_OK)
        err = check_time(e, msg);
    if (err == ERR_OK)
        err = execute_run(e->a, &req, &p->progress, &run, msg);
    if (err == ERR_OK)
        err = experiment_add_run(e, &run, msg);
    if (err != ERR_OK)
        return err;
    p->n_bad += run.status != RUN_VALID;
    const struct tables_input in = experiment_tables(e);
    return tables_write(e->a, &in, e->dir, msg);
}

static enum err experiment_profile(struct pass *p, struct err_msg *msg)
{
    enum err err = ERR_OK;
    for (int i = 0; i < p->e->n_profile && err == ERR_OK; i++) {
        const struct planned_run which = experiment_profile_run(p->e, i);
        err = which.layout ? do_run(p, &which, msg)
                           : experiment_no_memory(p->e, msg);
    }
    return err;
}

static enum err experiment_rounds(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    int n = e->targets.n;
    for (int round = 0; round < e->manifest.rounds; round++)
        for (int place = 0; place < n; place++) {
            int i = stats_rotated(round, place, n);
            const struct target *t = &e->targets.target[i];
            if (t->runs_of != i)
                continue;
            const struct planned_run which = {round + 1, role_name(t->role),
                                              t->layout, 0};
            enum err err = do_run(p, &which, msg);
            if (err != ERR_OK)
                return err;
        }
    return ERR_OK;
}

/* Costs and plan, where the profile allows; else a warning, and only the
 * layouts that need no costs are measured. */
static enum err experiment_plan(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    enum err err = experiment_fit(e, msg);
    if (err == ERR_MODEL || (err == ERR_PARSE && !e->manifest.costs_from)) {
        experiment_warn(
            e, arena_printf(e->a,
                            "no predictions: %s; raise profile.runs or list "
                            "layouts there",
                            msg->text));
        return ERR_OK;
    }
    if (err == ERR_OK)
        err = results_write_json(e->a, e->dir, "costs.json",
                                 cost_to_json(e->ctx.cost), msg);
    return err == ERR_OK ? write_plan(e, msg) : err;
}

/* Predictions at the speed to which the measurements are corrected. */
static enum err predict_at_median_speed(struct experiment *e,
                                        struct err_msg *msg)
{
    const struct calibrate_input in = calibrate_input(e);
    struct calibration *c = arena_alloc(e->a, 1, sizeof *c);
    struct plan_context ctx = e->ctx;
    if (!c)
        return experiment_no_memory(e, msg);
    if (!e->ctx.cost || e->manifest.costs_from || !(e->reference_ms > 0))
        return ERR_OK;
    enum err err = calibrate(e->a, &in, e->reference_ms, c, msg);
    ctx.cost = &c->cost;
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
                                 .reference_ms = e->reference_ms};
}

static enum err whole_pass(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    enum err err = experiment_profile(p, msg);
    if (err == ERR_OK)
        err = experiment_plan(p, msg);
    if (err == ERR_OK)
        err = experiment_resolve(e, p->opt->only, false, msg);
    if (err != ERR_OK)
        return err;
    p->progress.n_runs = experiment_n_runs(e);
    err = experiment_rounds(p, msg);
    if (err == ERR_OK)
        err = predict_at_median_speed(e, msg);
    const struct tables_input in = experiment_tables(e);
    return err == ERR_OK ? tables_write(e->a, &in, e->dir, msg) : err;
}

/* The least of the budgets, 0: none. */
static double budget_usd(const struct experiment *e, double max_usd)
{
    double budget = e->manifest.budget_usd;
    return max_usd > 0 && (budget <= 0 || max_usd < budget) ? max_usd : budget;
}

struct campaign experiment_campaign(const struct experiment *e, double max_usd)
{
    const struct calibrate_input in = calibrate_input(e);
    bool costs = e->manifest.costs_from != NULL;
    return (struct campaign){
        .manifest = &e->manifest,
        .workload = &e->workload,
        .launch = &e->launch,
        .dir = e->dir,
        .costs = costs ? calibrate_other_costs(e->a, &in) : NULL,
        .n_runs = e->n_profile + e->manifest.rounds * e->manifest.n_measure,
        .max_usd = budget_usd(e, max_usd)};
}

static enum err lock_and_load(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    enum err err = results_lock(e->a, e->dir, &p->results, msg);
    p->n_bad = p->n_missing = p->progress.run = 0;
    // again: another process may have ended just now
    return err == ERR_OK ? load_runs(e, msg) : err;
}

/* The job holds the folder's lock while it makes runs, so it is let go here. */
static enum err campaign_pass(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    const struct campaign c = experiment_campaign(e, p->opt->max_usd);
    p->by_campaign = true;
    enum err err = experiment_profile(p, msg);
    if (err == ERR_OK && p->n_bad == 0)
        err = whole_pass(p, msg);
    if (err != ERR_OK || p->n_bad == 0)
        return err;
    results_unlock(&p->results);
    err = campaign_run(e->a, &c, &p->progress, msg);
    if (err == ERR_OK)
        err = lock_and_load(p, msg);
    if (err == ERR_OK)
        err = whole_pass(p, msg);
    if (err == ERR_OK && p->n_missing > 0)
        experiment_warn(
            e, arena_printf(e->a,
                            "%d runs were not made before the job ended, see "
                            "%s/job/log.txt; the same command goes on",
                            p->n_missing, e->dir));
    return err;
}

enum err experiment_run(struct experiment *e,
                        const struct experiment_options *opt, int *n_bad,
                        struct err_msg *msg)
{
    struct pass p = {.e = e, .opt = opt, .results = {.lock = -1}};
    enum err err = launch_check(e->a, &e->manifest, &e->launch, msg);
    if (err != ERR_OK)
        return err;
    supervise_hold_signals();
    progress_init(&p.progress, e->manifest.name,
                  e->n_profile + e->manifest.rounds * e->manifest.n_measure,
                  manifest_n_iterations(&e->manifest, false), opt->quiet);
    err = lock_and_load(&p, msg);
    if (err == ERR_OK && campaign_is_wanted(&e->manifest, &e->launch))
        err = campaign_pass(&p, msg);
    else if (err == ERR_OK)
        err = whole_pass(&p, msg);
    results_unlock(&p.results);
    *n_bad = p.n_bad;
    return err;
}
