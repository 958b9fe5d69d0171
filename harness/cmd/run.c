/*
 * moe-bench run: options, the dry run, and what is printed at the end.
 *
 * How it works: a manifest that only plans goes to recipes.c. Any other is
 * opened and performed (experiment/perform.c), which does what is still
 * missing; the tables are then printed from memory, what makes them doubtful
 * goes to standard error, and the report is made of the files as anybody could.
 */
#include "base/stats.h"
#include "cmd.h"
#include "experiment/perform.h"
#include "recipes.h"
#include "report/report.h"
#include "report/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// above what speed correction leaves on a shared machine; below it intervals
// say enough
#define ROUNDS_DISAGREE_PCT 10.0

/* What a manifest can ask for, behind the options: the words are data of other
 * rooms. */
static void print_roles(FILE *out)
{
    fputs("\nroles:\n", out);
    for (int i = 0; i < N_ROLES; i++)
        fprintf(out, "  %-16s %s\n", role_name((enum role)i),
                role_help((enum role)i));
    fputs("\nlaunchers:\n", out);
    launch_print_help(out);
}

/* ---- dry run ---- */

/* A script that is an argument (hf) is printed once. */
static void print_submission(struct arena *a, const char *script,
                             const struct words *submit)
{
    fputs(script, stdout);
    printf("# handed over by: ");
    for (int i = 0; i < submit->n; i++)
        if (strcmp(submit->word[i], script) != 0) {
            const char *word =
                launch_quote_words(a, &(struct words){&submit->word[i], 1});
            launch_print_comment(stdout, word ? word : "?");
            putchar(' ');
        } else {
            fputs("<the lines above>", stdout);
        }
    puts("");
}

/* A run that is a job of its own: its script and how it is handed over. */
static enum err print_job(struct experiment *e, const struct launch *l,
                          struct err_msg *msg)
{
    const char *text = NULL;
    struct words submit;
    const struct launch_job job = {
        .name = "moe-<run>",
        .folder = arena_printf(e->a, "%s/runs/<run>", e->dir),
        .log = arena_printf(e->a, "%s/runs/<run>/log.txt", e->dir),
        .limit_s = e->manifest.run_limit_s,
        .manifest = &e->manifest,
        .argv = l->argv,
        .env = l->env,
        .n_ranks = l->n_ranks};
    enum err err = l->by->prepare(e->a, &job, &text, &submit, msg);
    if (err == ERR_OK)
        print_submission(e->a, text, &submit);
    return err;
}

/* The one job of the experiment, whose runs are printed below it. */
static enum err print_campaign(struct experiment *e, struct err_msg *msg)
{
    const char *text = NULL;
    struct words submit;
    const struct campaign c = experiment_campaign(e, 0);
    if (!campaign_is_wanted(&e->manifest, &e->launch))
        return ERR_OK;
    double hours = campaign_limit_s(&c, 0) / 3600;
    double price = e->manifest.hardware.price_usd_per_hour;
    enum err err = campaign_prepare(e->a, &c, &text, &submit, msg);
    if (err != ERR_OK)
        return err;
    printf("# one job for all, ended after %.2f h", hours);
    if (price > 0)
        printf(": at most $%.2f", hours * price);
    puts("");
    print_submission(e->a, text, &submit);
    puts("# inside it:");
    return ERR_OK;
}

/* As a line that can be pasted into a shell: environment, then words. */
static enum err print_command(struct experiment *e,
                              const struct planned_run *which, const char *note,
                              struct err_msg *msg)
{
    struct launch l;
    const struct launch_request lr = {
        .manifest = &e->manifest,
        .workload = &e->workload,
        .machine = &e->machine,
        .layout = which->layout,
        .profile = which->round == 0,
        .ops_path = arena_printf(e->a, "%s/runs/<run>/ops.csv", e->dir)};
    enum err err = launch_build(e->a, &lr, &l, msg);
    if (err != ERR_OK)
        return err;
    printf("# ");
    launch_print_comment(stdout, note);
    puts("");
    if (launch_is_job(&l) && !e->manifest.launcher.per_experiment)
        return print_job(e, &l, msg);
    launch_print_assignments(stdout, &l.env);
    if (l.env.n > 0)
        putchar(' ');
    launch_print_words(stdout, &l.argv);
    puts("");
    return ERR_OK;
}

/* What the comment above a printed command says. */
static const char *run_note(struct experiment *e,
                            const struct planned_run *which)
{
    int rounds = e->manifest.rounds;
    if (which->round == 0)
        return which->role;
    if (which->shared) {
        int owner = which->target->runs_of;
        return arena_printf(e->a, "%s: the runs of %s (same layout)",
                            which->role,
                            role_name(e->targets.target[owner].role));
    }
    return arena_printf(e->a, "%s, %d round%s", which->role, rounds,
                        rounds > 1 ? "s" : "");
}

/* An upper bound of time and money before anything is started: every run may
 * take its whole limit. */
static void print_bound(const struct experiment *e)
{
    const struct planned plan = experiment_planned(e);
    int n = planned_count(planned_all(&plan));
    double usd = n * experiment_run_bound_usd(e);
    printf("# %d runs of %d iterations (%d profile runs of %d, %d rounds); at "
           "most %.0f s each, %.1f h in all",
           n, manifest_n_iterations(&e->manifest, false), e->n_profile,
           manifest_n_iterations(&e->manifest, true), e->manifest.rounds,
           e->manifest.run_limit_s, n * e->manifest.run_limit_s / 3600);
    if (usd > 0)
        printf(", at most $%.2f", usd);
    if (e->manifest.budget_usd > 0)
        printf(" (budget $%.2f)", e->manifest.budget_usd);
    printf("\n# launcher %s, clock %s, results in ", e->launch.launcher,
           e->launch.clock);
    launch_print_comment(stdout, e->dir);
    puts("");
}

/* Nothing is written, and layouts that need costs are shown as to come. */
static enum err dry_run(struct experiment *e, enum role only,
                        struct err_msg *msg)
{
    enum err err = experiment_resolve(e, only, true, msg);
    if (err != ERR_OK)
        return err;
    print_bound(e);
    err = print_campaign(e, msg);
    // all rounds have the commands of the first
    const struct planned plan = experiment_planned(e);
    struct planned_walk walk = planned_between(&plan, 0, 1);
    struct planned_run which;
    walk.shared = true;
    while (err == ERR_OK && planned_next(&walk, &which)) {
        const char *note = run_note(e, &which);
        err = print_command(e, &which, note ? note : "", msg);
    }
    return err;
}

/* ---- closing table ---- */

/* "-" where nothing is known: a role that was not measured, a launcher without
 * recorded operations. */
static void bench_run_print_row(const struct layout_row *r)
{
    const struct layout_figures *f = &r->figures;
    char pred[32] = "-", meas[64] = "-", error[32] = "-", replay[32] = "-",
         speedup[32] = "-";
    if (isfinite(r->pred_ms))
        snprintf(pred, sizeof pred, "%.1f", r->pred_ms);
    if (isfinite(f->meas_ms) && isfinite(f->lo_ms))
        snprintf(meas, sizeof meas, "%.1f [%.1f, %.1f]", f->meas_ms, f->lo_ms,
                 f->hi_ms);
    else if (isfinite(f->meas_ms))
        snprintf(meas, sizeof meas, "%.1f", f->meas_ms);
    if (isfinite(r->step_error_pct))
        snprintf(error, sizeof error, "%+.1f", r->step_error_pct);
    if (isfinite(f->replay_error_pct))
        snprintf(replay, sizeof replay, "%+.2f", f->replay_error_pct);
    if (isfinite(r->meas_speedup))
        snprintf(speedup, sizeof speedup, "%.2fx", r->meas_speedup);
    printf("%-16s %-26s %9s  %-25s %6s %7s %7s\n", role_name(r->target->role),
           r->target->layout, pred, meas, error, replay, speedup);
}

/* How the numbers came about stands below them, wherever they are copied to. */
static void print_method(const struct experiment *e)
{
    printf("\n%s: %s clock, launcher %s%s. Measured: median over %d round%s",
           e->launch.source, e->launch.clock, e->launch.launcher,
           e->launch.by->virtual_time ? " (virtual time, a core a rank)" : "",
           e->manifest.rounds, e->manifest.rounds > 1 ? "s" : "");
    if (isfinite(e->reference_ms))
        printf(", corrected to the median machine speed (reference burst "
               "%.3f ms)",
               e->reference_ms);
    printf(";\n[95%% interval: bootstrap over the %s, %d resamples, seed %d]."
           "\nError: predicted against measured. Replay: the simulator with "
           "the run's own operation times.\n",
           e->manifest.rounds > 1 ? "rounds" : "iterations", STATS_RESAMPLES,
           FIGURES_SEED);
    if (e->fit_note)
        printf("Fit: %s\n", e->fit_note);
    printf("Files: %s/{runs,iterations,layouts,stages}.csv, costs.json, "
           "plan.json\n",
           e->dir);
}

/* On standard error, behind the results: both doubt numbers that were just
 * printed. */
static void print_warnings(const struct experiment *e,
                           const struct layout_row *rows, int n_bad)
{
    for (int i = 0; i < e->targets.n; i++)
        if (rows[i].figures.spread_pct > ROUNDS_DISAGREE_PCT)
            fprintf(stderr,
                    "moe-bench: warning: %s: rounds of '%s' differ by %.0f%%; "
                    "stop other load, or raise `rounds` or iterations.count\n",
                    e->manifest.name, role_name(rows[i].target->role),
                    rows[i].figures.spread_pct);
    if (n_bad > 0)
        fprintf(stderr,
                "moe-bench: warning: %s: %d runs are not valid and left out; "
                "'moe-bench status' lists them with reasons\n",
                e->manifest.name, n_bad);
}

/* What the figures say together, and whether `accept` is met: bounds are on
 * all roles, so part of them is not judged. */
static enum err bench_run_conclude(const struct experiment *e, enum role only,
                                   bool *ok, struct err_msg *msg)
{
    struct summary s;
    enum err err = summary_read(e->a, e->dir, &s, msg);
    if (err != ERR_OK)
        return err;
    summary_print(&s, stdout);
    if (only == N_ROLES)
        *ok = summary_accept(&s, &e->manifest.accept, stdout);
    return ERR_OK;
}

/* The table, its method and what is wrong with it; *ok is false when a bound of
 * `accept` is missed. */
static enum err close_experiment(const struct experiment *e, enum role only,
                                 int n_bad, bool *ok, struct err_msg *msg)
{
    const struct tables_input in = experiment_tables(e);
    struct layout_row *rows =
        arena_alloc(e->a, (size_t)e->targets.n + 1, sizeof *rows);
    if (!rows)
        return err_set(msg, ERR_NOMEM, "tables: out of memory");
    enum err err = tables_layout_rows(e->a, &in, rows, msg);
    if (err != ERR_OK)
        return err;
    printf("%-16s %-26s %9s  %-25s %6s %7s %7s\n", "role", "layout", "pred ms",
           "meas ms [95%]", "err %", "replay%", "speedup");
    for (int i = 0; i < e->targets.n; i++)
        bench_run_print_row(&rows[i]);
    print_method(e);
    fflush(stdout);
    print_warnings(e, rows, n_bad);
    return bench_run_conclude(e, only, ok, msg);
}

/* ---- command ---- */

/* Beside the CSV files, from them alone: verdicts, tables, figures, commands.
 */
static enum err write_own_report(struct arena *a, const char *dir, bool quiet,
                                 struct err_msg *msg)
{
    const struct report_own own = {dir, "plots", quiet ? NULL : stderr};
    const char *path = NULL;
    enum err e = report_write_own(a, &own, &path, msg);
    if (e == ERR_OK)
        printf("Report: %s\n", path);
    return e;
}

static enum err bench_run_read_limits(struct experiment_options *opt,
                                      const char *only, const char *usd,
                                      struct err_msg *msg)
{
    opt->only = N_ROLES;
    if (usd && (!text_to_double(usd, &opt->max_usd) || opt->max_usd <= 0))
        return err_set(msg, ERR_PARSE,
                       "--max-usd: got '%s', want a number above 0", usd);
    return only ? role_from_name("--only", only, &opt->only, msg) : ERR_OK;
}

/* Exit 1 for an answer that is no or incomplete: a script must not go on as if
 * the pick were measured. */
static enum err bench_run_run(struct arena *a,
                              const struct experiment_options *opt, bool dry,
                              int *status, struct err_msg *msg)
{
    struct experiment e;
    int n_bad = 0;
    bool ok = true;
    enum err err = experiment_open(a, opt, &e, msg);
    if (err == ERR_OK && opt->only != N_ROLES &&
        !manifest_has_role(&e.manifest, opt->only))
        err = err_set(msg, ERR_RANGE, "%s: --only: no layout has role '%s'",
                      opt->manifest, role_name(opt->only));
    if (err == ERR_OK && opt->max_usd > 0 && !manifest_has_price(&e.manifest))
        err = err_set(msg, ERR_PARSE,
                      "%s: --max-usd: needs hardware.price_usd_per_hour above "
                      "0: without a price no run costs anything",
                      opt->manifest);
    if (err == ERR_OK && dry)
        return dry_run(&e, opt->only, msg);
    if (err == ERR_OK)
        err = perform_experiment(&e, opt, &n_bad, msg);
    if (err == ERR_OK)
        err = close_experiment(&e, opt->only, n_bad, &ok, msg);
    if (err == ERR_OK)
        err = write_own_report(a, e.dir, opt->quiet, msg);
    // without costs nothing was predicted: the question has no answer
    *status = n_bad > 0 || !ok || !e.ctx.cost ? EXIT_ANSWER_NO : 0;
    return err;
}

/* What decides how the manifest is run; a broken one is reported here, too. */
static enum err bench_run_any(struct cmd *c,
                              const struct experiment_options *opt)
{
    struct manifest mf;
    const bool dry = cmd_given(c, OPT_DRY_RUN);
    enum err e = manifest_read(&c->arena, opt->manifest, &mf, &c->msg);
    if (e != ERR_OK || !manifest_plans_only(&mf))
        return e != ERR_OK
                   ? e
                   : bench_run_run(&c->arena, opt, dry, &c->status, &c->msg);
    if (opt->only != N_ROLES || opt->max_usd > 0)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: --only and --max-usd are for experiments that run "
                       "something, this one only plans",
                       opt->manifest);
    const struct recipes_request r = {
        .manifest = &mf, .out = opt->out, .dry = dry, .quiet = opt->quiet};
    e = recipes_command(&c->arena, &r, &c->msg);
    const char *dir =
        opt->out ? opt->out : arena_printf(&c->arena, "results/%s", mf.name);
    if (e != ERR_OK || dry)
        return e;
    return dir ? write_own_report(&c->arena, dir, opt->quiet, &c->msg)
               : err_set(&c->msg, ERR_NOMEM, "run: out of memory");
}

static enum err bench_run(struct cmd *c)
{
    struct experiment_options opt = {.out = cmd_text(c, OPT_OUT),
                                     .quiet = cmd_given(c, OPT_QUIET)};
    enum err e = cmd_operand(c, "manifest", &opt.manifest);
    if (e == ERR_OK)
        e = bench_run_read_limits(&opt, cmd_text(c, OPT_ONLY),
                                  cmd_text(c, OPT_MAX_USD), &c->msg);
    if (e == ERR_OK)
        e = bench_run_any(c, &opt);
    return e;
}

static const int takes[] = {OPT_DRY_RUN, OPT_OUT,  OPT_ONLY, OPT_MAX_USD,
                            OPT_QUIET,   OPT_HELP, N_OPTIONS};

const struct command CMD_RUN = {
    .name = "run",
    .run = bench_run,
    .synopsis = "run MANIFEST [--dry-run] [--out DIR] [--only ROLE] [-q]",
    .summary = "profile, plan, measure; continues by itself",
    .help =
        "Runs the experiment that MANIFEST (moe-bench/experiment/1) "
        "describes:\n"
        "short profile runs with timers, a fit of the costs, the planner's\n"
        "layouts, then rounds of measured runs; writes DIR/*.csv, "
        "DIR/costs.json,\n"
        "DIR/plan.json and prints predicted against measured step times "
        "(ms).\n"
        "DIR/report.md has verdicts, tables, runs left out and commands, with\n"
        "DIR/figures/ where gnuplot and plots/ are there (environment\n"
        "MOE_BENCH_FIGURES=no: without).\n"
        "Finished runs of the same manifest, model, binaries and machine are "
        "used\n"
        "again, so the same command continues after an interruption; runs "
        "that\n"
        "failed are tried again.\n"
        "A manifest with `plan` starts nothing: the planner's layouts beside "
        "public\n"
        "recipes, DIR/recipes.csv.\n",
    .print_more = print_roles,
    .closing =
        "Exit status: 0 all runs valid and `accept` met; 1 some run not "
        "valid,\n"
        "no predictions, or a bound of `accept` missed; 2 bad input; 3 a "
        "program\n"
        "is missing, the disk is full, interrupted.\n"
        "example: moe-bench run experiments/local.json --dry-run\n",
    .options = takes,
    .max_operands = 1};
