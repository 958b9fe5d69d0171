/*
 * How it works: one pass goes profile -> fit -> plan -> layouts -> rounds, each
 * planned run taken from the folders or executed. The CSV files are rebuilt as
 * runs come in. Where a job holds the whole experiment, a pass that starts
 * nothing says what is missing, the job makes it, and a second such pass reads
 * what it made.
 */
#include "perform.h"

#include "campaign.h"
#include "execute.h"
#include "launch/interrupt.h"
#include "launch/supervise.h"
#include "ledger.h"

#include <math.h>

/* The CSV files are rebuilt as a whole, which costs the more the more runs
 * there are. They are so after the first run of a call, and when the runs have
 * grown by one in so many: over an experiment a constant number of rows a run.
 */
enum { PERFORM_RUNS_A_REBUILD = 8 };

/* ---- limits ---- */

/* The next run is counted with its bound: what a run costs is known only when
 * it has ended. Spent is all that the folder's ledger holds: interrupted runs,
 * and those of the manifest as it was before. */
static enum err check_budget(const struct experiment *e, double max_usd,
                             struct err_msg *msg)
{
    double budget = experiment_budget_usd(e, max_usd), spent = 0;
    struct ledger ledger;
    if (budget <= 0)
        return ERR_OK;
    enum err err = ledger_read(e->a, e->dir, &ledger, msg);
    if (err != ERR_OK)
        return err;
    for (size_t i = 0; i < e->runs.n; i++)
        if (e->runs.run[i].cost_usd > 0)
            spent += e->runs.run[i].cost_usd;
    // results of older programs have no ledger
    spent = fmax(spent, ledger.usd);
    if (spent + experiment_run_bound_usd(e) <= budget)
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

/* ---- runs ---- */

/* What a pass carries along. */
struct pass {
    struct experiment *e;
    const struct experiment_options *opt;
    struct results results;
    struct progress progress;
    bool by_campaign; // a job has made the runs; none is started from here
    int n_bad, n_missing;
    size_t n_written; // runs that the CSV files hold for sure
};

/* All files from all runs, at the speed that these say the machine had. */
static enum err write_tables(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    experiment_update_reference(e);
    const struct tables_input in = experiment_tables(e);
    p->n_written = e->runs.n;
    return tables_write(&in, e->dir, msg);
}

/* Whether enough runs came in since they were written. */
static bool tables_are_due(const struct pass *p)
{
    return p->e->runs.n > p->n_written + p->n_written / PERFORM_RUNS_A_REBUILD;
}

/* One that came while no run was there to be ended by it. */
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
    // a run that is out of memory or gave NaN would do so again
    if (old && !run_status_try_again(old->status)) {
        p->n_bad += old->status != RUN_VALID;
        return ERR_OK;
    }
    // it was not made, or is worth another try: the job's to do
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
    return tables_are_due(p) ? write_tables(p, msg) : ERR_OK;
}

/* The planned runs of these rounds; the profile runs are round 0. */
static enum err perform_rounds(struct pass *p, int first, int last,
                               struct err_msg *msg)
{
    const struct planned plan = experiment_planned(p->e);
    struct planned_walk walk = planned_between(&plan, first, last);
    struct planned_run which;
    enum err err = ERR_OK;
    while (err == ERR_OK && planned_next(&walk, &which))
        err = do_run(p, &which, msg);
    return err;
}

/* Costs and plan, where the profile allows; else a warning, and only the
 * layouts that need no costs are measured. */
static enum err perform_plan(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    interrupt_release();
    enum err err = experiment_fit(e, msg);
    interrupt_hold();
    // too few or too uniform runs are an answer; unreadable costs_from is not
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
    return err == ERR_OK ? experiment_write_plan(e, msg) : err;
}

/* At the speed that the machine had in all rounds. */
static enum err predict_again(struct experiment *e, struct err_msg *msg)
{
    interrupt_release();
    enum err err = experiment_predict_again(e, msg);
    interrupt_hold();
    return err;
}

/* The number of runs is a bound until the layouts are known: roles that come to
 * the same layout share its runs. */
static enum err whole_pass(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    enum err err = perform_rounds(p, 0, 0, msg);
    if (err == ERR_OK)
        err = perform_plan(p, msg);
    interrupt_release();
    if (err == ERR_OK)
        err = experiment_resolve(e, p->opt->only, false, msg);
    interrupt_hold();
    if (err != ERR_OK)
        return err;
    const struct planned plan = experiment_planned(e);
    p->progress.n_runs = planned_count(planned_all(&plan));
    err = perform_rounds(p, 1, e->manifest.rounds, msg);
    // the last rounds may have moved the median speed
    if (err == ERR_OK)
        err = predict_again(e, msg);
    return err == ERR_OK ? write_tables(p, msg) : err;
}

/* What is among the runs and is not used: said once, since it costs a run or
 * is somebody's file. */
static void warn_of_runs(const struct experiment *e)
{
    const struct run_record *r = experiment_changed(e);
    const char *line = NULL;
    if (r)
        line = arena_printf(e->a, "%s: %s; the run is made again", r->folder,
                            r->changed);
    if (line)
        experiment_warn(e, line);
    if (e->runs.stray)
        line = arena_printf(e->a, "%s: not a run's folder, left aside",
                            e->runs.stray);
    if (line && e->runs.stray)
        experiment_warn(e, line);
}

static enum err lock_and_load(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    enum err err = results_lock(e->a, e->dir, &p->results, msg);
    p->n_bad = p->n_missing = p->progress.run = 0;
    p->n_written = 0; // what the files hold is not known
    // again: another process may have ended just now
    if (err == ERR_OK)
        err = experiment_reload(e, msg);
    if (err == ERR_OK)
        warn_of_runs(e);
    return err;
}

/* The job holds the folder's lock while it makes runs, so it is let go here. */
static enum err campaign_pass(struct pass *p, struct err_msg *msg)
{
    struct experiment *e = p->e;
    const struct campaign c = experiment_campaign(e, p->opt->max_usd);
    p->by_campaign = true;
    enum err err = perform_rounds(p, 0, 0, msg);
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

enum err perform_experiment(struct experiment *e,
                            const struct experiment_options *opt, int *n_bad,
                            struct err_msg *msg)
{
    struct pass p = {.e = e, .opt = opt, .results = {.lock = -1}};
    enum err err = launch_check(e->a, &e->manifest, &e->launch, msg);
    if (err != ERR_OK)
        return err;
    supervise_hold_signals();
    progress_init(&p.progress, e->manifest.name, experiment_most_runs(e),
                  manifest_n_iterations(&e->manifest, false), opt->quiet);
    err = lock_and_load(&p, msg);
    if (err == ERR_OK && campaign_is_wanted(&e->manifest, &e->launch))
        err = campaign_pass(&p, msg);
    else if (err == ERR_OK)
        err = whole_pass(&p, msg);
    if (err != ERR_OK && p.results.lock >= 0 && !p.by_campaign &&
        p.n_written < e->runs.n) {
        struct err_msg ignored; // the first error is the one to tell
        write_tables(&p, &ignored);
    }
    results_unlock(&p.results);
    // what follows computes and prints
    interrupt_release();
    *n_bad = p.n_bad;
    return err;
}
