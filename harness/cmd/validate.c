/*
 * moe-bench validate: are predictions worse than they were? Each dataset is
 * judged by itself against its rows of the baseline; then the baseline as a
 * whole: an experiment that vanished from the datasets would never get worse.
 * What is done with the figures of all datasets is in validate_session.c.
 */
#include "report/validate.h"

#include "base/file.h"
#include "cmd.h"
#include "regress/verdict.h"
#include "report/reference.h"
#include "report/validate_published.h"
#include "report/validate_recipes.h"
#include "validate_contributed.h"
#include "validate_rows.h"
#include "validate_session.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// where import puts those of others
#define PUBLISHED "results/published"

// where publish puts datasets
#define ROOT "results/reference"

struct request {
    const char **dirs;
    int n_dirs;
    const char *baseline, *junit, *reason;
    struct validate_files files;
    bool update, record, all;
};

/* All datasets below results/reference. */
static enum err find_datasets(struct arena *a, struct request *r,
                              struct err_msg *msg)
{
    struct dirent **entry = NULL;
    int n = scandir(ROOT, &entry, NULL, alphasort);
    r->dirs = arena_alloc(a, n > 0 ? (size_t)n : 0, sizeof *r->dirs);
    bool ok = r->dirs != NULL;
    for (int i = 0; i < n; i++) {
        const char *dir = arena_printf(a, ROOT "/%s", entry[i]->d_name);
        ok = ok && dir;
        if (ok && entry[i]->d_name[0] != '.' && reference_is(a, dir))
            r->dirs[r->n_dirs++] = dir;
        free(entry[i]);
    }
    free(entry);
    r->all = true;
    if (!ok)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    if (r->n_dirs > 0)
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   ROOT ": no dataset here: run it in the top folder of the "
                        "repository, or name a DIR; 'moe-bench publish "
                        "MANIFEST' makes one");
}

/* The baseline's step error stands beside the one of now, so that a change is
 * seen without the file. */
static void bench_validate_print_rows(const struct validate_rows *v)
{
    for (int i = 0; i < v->n; i++) {
        const struct validate_row *r = &v->row[i];
        printf("%-12s %-16s %-24s", r->experiment, r->role, r->layout);
        cmd_print_number(9, 1, r->pred_ms);
        cmd_print_number(9, 1, r->meas_ms);
        cmd_print_number(7, 2, r->step_error_pct);
        cmd_print_number(7, 2, r->base_step_error_pct);
        cmd_print_number(8, 3, r->replay_error_pct);
        cmd_print_number(7, 3, r->memory_error_pct);
        puts("");
    }
}

/* Numbers before the word: a reader sees how near it was. */
static void bench_validate_print_verdict(const char *experiment, int n,
                                         const struct verdict *v)
{
    const double *now = v->now.pct, *then = v->then.pct;
    printf("%s: ", experiment);
    if (v->n_new < n && isfinite(now[MARK_MEAN]))
        printf("mean step error %.3f%%, baseline %.3f%%; ", now[MARK_MEAN],
               then[MARK_MEAN]);
    if (v->n_new > 0)
        printf("%d of %d layouts new; ", v->n_new, n);
    if (v->n_lost > 0)
        printf("%d layouts of the baseline not there; ", v->n_lost);
    if (isfinite(now[MARK_REGRET]))
        printf("the pick loses %.3f%%; ", now[MARK_REGRET]);
    if (isfinite(now[MARK_REPLAY]))
        printf("replay at most %.3f%%: ", now[MARK_REPLAY]);
    else
        printf("no replay: ");
    printf("%s%s\n", v->worse ? "worse:" : "not worse", v->why);
}

/* Copied: rows of one dataset live in its own array, the baseline is written
 * from all. */
static enum err bench_validate_append(struct arena *a, struct validate_rows *to,
                                      const struct validate_rows *more,
                                      struct err_msg *msg)
{
    struct validate_row *all =
        arena_alloc(a, (size_t)(to->n + more->n) + 1, sizeof *all);
    if (!all)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    if (to->n > 0)
        memcpy(all, to->row, (size_t)to->n * sizeof *all);
    if (more->n > 0)
        memcpy(all + to->n, more->row, (size_t)more->n * sizeof *all);
    *to = (struct validate_rows){all, to->n + more->n};
    return ERR_OK;
}

/* What the datasets add up to. */
struct outcome {
    struct validate_rows baseline, all;
    struct validate_session session;
    bool worse;
    int n_judged, n_worse;
    const char *names;   // of those that are worse, or NULL: none
    const char *unknown; // the first dataset with figures that are not known
    struct err_msg *msg;
};

/* A dataset was judged by the baseline or its own rules. */
static void note(struct arena *a, struct outcome *o, const char *name,
                 bool worse)
{
    o->n_judged++;
    if (!worse)
        return;
    o->worse = true;
    o->names = arena_printf(a, "%s%s%s", o->names ? o->names : "",
                            o->n_worse++ ? ", " : "", name);
}

/* Last of all: the lines on each stand far above. */
static void print_worse(const struct outcome *o, bool all)
{
    if (!o->worse || !o->names)
        return;
    if (all)
        puts("where that is meant: --update-baseline --reason TEXT, and 'make "
             "recipes' for layouts that were only planned");
    printf("worse: %d of %d datasets: %s\n", o->n_worse, o->n_judged, o->names);
}

/* An experiment of the baseline whose dataset has gone cannot get worse. */
static bool all_there(struct arena *a, struct outcome *o)
{
    for (int i = 0; i < o->baseline.n; i++) {
        const char *name = o->baseline.row[i].experiment;
        if (validate_has(&o->all, name))
            continue;
        const struct junit_case gone = {
            .dataset = name,
            .name = "the dataset is there",
            .result = JUNIT_FAILED,
            .text = "in the baseline, but no dataset in " ROOT ", " PUBLISHED
                    " or results/contributed"};
        printf("%s: %s\n", name, gone.text);
        junit_add(&o->session.junit, &gone);
        note(a, o, name, true);
        return false;
    }
    const struct junit_case all = {.dataset = "all",
                                   .name =
                                       "every dataset of the baseline is there",
                                   .text = arena_strdup(a, "")};
    junit_add(&o->session.junit, &all);
    return true;
}

/* A dataset that was only planned: the same layouts, predicted again. */
static enum err check_planned(struct arena *a, const char *dir,
                              struct outcome *o, struct err_msg *msg)
{
    struct validate_recipes v;
    enum err e = validate_recipes(a, dir, &v, msg);
    if (e != ERR_OK)
        return e;
    const bool worse = v.n_changed > 0 || v.n_below > 0;
    printf("%s: %d layouts predicted again, %d changed, %d below their bound",
           v.experiment, v.n, v.n_changed, v.n_below);
    printf("%s%s\n", *v.first ? ": worse: " : ": not worse", v.first);
    const struct junit_case c = {.dataset = v.experiment,
                                 .name = "planned layouts as they were",
                                 .result = worse ? JUNIT_FAILED : JUNIT_PASSED,
                                 .text = v.first};
    junit_add(&o->session.junit, &c);
    note(a, o, v.experiment, worse);
    return ERR_OK;
}

/* Rows of one dataset, judged; those of all make baseline and history. */
static enum err judge_rows(struct arena *a, struct validate_rows *now,
                           const char *name, struct outcome *o,
                           struct verdict *v)
{
    const struct verdict_against by = {&o->baseline, &o->session.bounds};
    enum err e = verdict_of(a, now, &by, v, o->msg);
    if (e == ERR_OK)
        e = bench_validate_append(a, &o->all, now, o->msg);
    if (e == ERR_OK && !*v->unknown)
        e = validate_session_add(&o->session, now, o->msg);
    if (e == ERR_OK)
        junit_verdict(&o->session.junit, name, v);
    if (e == ERR_OK)
        note(a, o, name, v->worse);
    return e;
}

/* A dataset without rows has no name of its own, so its folder stands for it.
 */
static enum err check_measured(struct arena *a, const char *dir,
                               struct outcome *o, struct err_msg *msg)
{
    struct validate_rows now;
    struct verdict v;
    enum err e = validate_dataset(a, dir, &now, msg);
    if (e != ERR_OK)
        return e;
    const char *name = now.n > 0 ? now.row[0].experiment : dir;
    e = judge_rows(a, &now, name, o, &v);
    if (e != ERR_OK)
        return e;
    bench_validate_print_rows(&now);
    bench_validate_print_verdict(name, now.n, &v);
    if (*v.unknown && !o->unknown)
        o->unknown = dir;
    return ERR_OK;
}

/* A public source is judged like an experiment of ours. */
static enum err check_source(struct arena *a, struct validate_source *s,
                             struct outcome *o)
{
    struct verdict v;
    enum err e = judge_rows(a, &s->rows, s->experiment, o, &v);
    if (e != ERR_OK)
        return e;
    validate_rows_print_score(&s->score, v.then.pct[MARK_MEAN]);
    if (v.worse)
        printf("%s: worse:%s\n", s->experiment, v.why);
    return ERR_OK;
}

/* Others' step times, apart from our own. */
static enum err check_published(struct arena *a, struct outcome *o,
                                struct err_msg *msg)
{
    struct validate_sources v;
    struct published_score all;
    enum err e = validate_published(a, PUBLISHED, &v, msg);
    if (e != ERR_OK || v.n == 0)
        return e;
    puts("");
    validate_rows_print_head();
    for (int i = 0; i < v.n && e == ERR_OK; i++)
        e = check_source(a, &v.source[i], o);
    if (e == ERR_OK)
        e = published_score(a, &v.all, NULL, &all, msg);
    if (e == ERR_OK)
        validate_rows_print_score(&all, (double)NAN);
    return e;
}

/* From other hardware: its checks, and as any dataset against the baseline. */
static enum err check_contributed(struct arena *a, const char *dir, bool beside,
                                  struct outcome *o, struct err_msg *msg)
{
    struct validate_contributed c;
    struct verdict v = {.worse = false};
    enum err e = validate_contributed(a, dir, beside, &c, msg);
    if (e == ERR_OK && c.rows.n > 0)
        e = judge_rows(a, &c.rows, c.rows.row[0].experiment, o, &v);
    if (e != ERR_OK)
        return e;
    junit_add(&o->session.junit, &c.checks);
    if (v.worse)
        printf("%s: worse:%s\n", dir, v.why);
    if (c.rows.n > 0 && (c.ok || v.worse))
        return ERR_OK;
    o->n_judged -= c.rows.n > 0; // counted with its rows
    note(a, o, dir, !c.ok);
    return ERR_OK;
}

/* Short of each: only what is named on the line is shown beside the others. */
static enum err check_all_contributed(struct arena *a, struct outcome *o,
                                      struct err_msg *msg)
{
    const char **dirs;
    int n;
    enum err e = validate_contributed_list(a, &dirs, &n, msg);
    for (int i = 0; i < n && e == ERR_OK; i++)
        e = check_contributed(a, dirs[i], false, o, msg);
    return e;
}

/* One dataset, of whatever kind. */
static enum err check_one(struct arena *a, const char *dir, struct outcome *o,
                          struct err_msg *msg)
{
    if (validate_contributed_is(a, dir))
        return check_contributed(a, dir, true, o, msg);
    return validate_recipes_is(a, dir) ? check_planned(a, dir, o, msg)
                                       : check_measured(a, dir, o, msg);
}

/* Planned and contributed ones have lines of another form. */
static void print_heading(struct arena *a, const struct request *r)
{
    bool rows = false;
    for (int i = 0; i < r->n_dirs; i++)
        rows = rows || !(validate_contributed_is(a, r->dirs[i]) ||
                         validate_recipes_is(a, r->dirs[i]));
    if (rows)
        printf("%-12s %-16s %-24s %9s %9s %7s %7s %8s %7s\n", "experiment",
               "role", "layout", "pred ms", "meas ms", "err %", "before",
               "replay %", "mem %");
}

/* All datasets are looked at, also after one that is worse. */
static enum err check_all(struct arena *a, const struct request *r,
                          struct outcome *o, struct err_msg *msg)
{
    print_heading(a, r);
    for (int i = 0; i < r->n_dirs; i++) {
        enum err e = check_one(a, r->dirs[i], o, msg);
        if (e != ERR_OK)
            return e;
    }
    enum err e = r->all ? check_published(a, o, msg) : ERR_OK;
    if (e == ERR_OK && r->all)
        e = check_all_contributed(a, o, msg);
    if (e == ERR_OK && r->all && !all_there(a, o))
        o->worse = true;
    return e;
}

/* Rows of other datasets are read again: another one may have written them. */
static enum err keep_baseline(struct arena *a, const struct request *r,
                              const struct outcome *o, struct err_msg *msg)
{
    int lock;
    struct validate_rows others = {NULL, 0};
    enum err e = file_lock_folder(r->baseline, &lock, msg);
    if (e != ERR_OK)
        return e;
    // with all datasets read, what is in no dataset is not kept
    if (!r->all)
        e = validate_read_baseline(a, r->baseline, &others, msg);
    if (e == ERR_OK)
        e = validate_write_baseline(a, r->baseline, &o->all, &others, msg);
    close(lock);
    return e;
}

/* A baseline of nothing would make everything after it not worse, and a line of
 * nothing is no memory. The line comes first: where the second file cannot be
 * written, the first is right all the same. */
static enum err keep(struct arena *a, const struct request *r,
                     struct outcome *o, struct err_msg *msg)
{
    if (o->unknown)
        return err_set(msg, ERR_MODEL,
                       "%s: figures are not known, so %s is not written",
                       o->unknown, r->update ? r->baseline : r->files.history);
    enum err e = validate_session_record(&o->session, r->reason, msg);
    if (e != ERR_OK || !r->update)
        return e;
    e = keep_baseline(a, r, o, msg);
    if (e == ERR_OK)
        printf("%s written\n", r->baseline);
    return e;
}

/* An update is not judged: it was asked for because errors changed. */
static enum err check_and_keep(struct arena *a, struct request *r,
                               struct outcome *o, struct err_msg *msg)
{
    const bool computes = o->session.now.n == 0;
    enum err e = ERR_OK;
    if (computes && r->n_dirs == 0)
        e = find_datasets(a, r, msg);
    if (e == ERR_OK)
        e = validate_read_baseline(a, r->baseline, &o->baseline, msg);
    if (e == ERR_OK && computes)
        e = check_all(a, r, o, msg);
    if (e == ERR_OK)
        e = validate_session_check(&o->session, &o->baseline, msg);
    o->worse = o->worse && !r->update;
    if (e == ERR_OK && o->session.then.n > 0)
        e = validate_session_compare(&o->session, !computes || r->all,
                                     &o->worse, msg);
    if (e == ERR_OK && (r->update || r->record))
        e = keep(a, r, o, msg);
    return e;
}

/* The file tells of an error, too: a CI that shows it must not show a pass. */
static enum err write_junit(const struct request *r, struct outcome *o,
                            enum err so_far, struct err_msg *msg)
{
    const struct junit_case c = {.dataset = "all",
                                 .name = "validate",
                                 .result = JUNIT_ERROR,
                                 .text = msg->text};
    struct err_msg second;
    if (so_far == ERR_OK)
        return junit_write(&o->session.junit, r->junit, msg);
    junit_add(&o->session.junit, &c);
    junit_write(&o->session.junit, r->junit, &second);
    return so_far;
}

/* "results/baseline.csv" has its history and bounds beside it. */
static const char *beside(struct arena *a, const char *baseline,
                          const char *name)
{
    const char *slash = strrchr(baseline, '/');
    const int n = slash ? (int)(slash + 1 - baseline) : 0;
    return arena_printf(a, "%.*s%s", n, baseline, name);
}

/* What writes wants a reason, and what only writes nothing needs none. */
static enum err check_request(struct cmd *c, const struct request *r)
{
    const bool range = r->files.against && strstr(r->files.against, "..");
    const bool writes = r->update || r->record;
    if (writes && !r->reason)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: got no reason, want --reason 'one line that says "
                       "why'",
                       r->update ? "--update-baseline" : "--record");
    if (r->reason && !writes)
        return err_set(&c->msg, ERR_PARSE,
                       "--reason: nothing is written, want --record or "
                       "--update-baseline with it");
    if (range && (writes || r->n_dirs > 0))
        return err_set(&c->msg, ERR_PARSE,
                       "--against %s: compares two sessions of the history, so "
                       "it takes no DIR, --record or --update-baseline",
                       r->files.against);
    return r->reason ? history_check_reason(r->reason, &c->msg) : ERR_OK;
}

/* Files that were not named stand beside the baseline, so that a baseline of
 * one's own touches nothing that is committed. */
static enum err read_request(struct cmd *c, struct request *out)
{
    struct arena *a = &c->arena;
    struct request r = {.dirs = c->line.operands,
                        .n_dirs = c->line.n_operands,
                        .baseline = cmd_text(c, OPT_BASELINE),
                        .junit = cmd_text(c, OPT_JUNIT),
                        .reason = cmd_text(c, OPT_REASON),
                        .files = {.bounds = cmd_text(c, OPT_BOUNDS),
                                  .history = cmd_text(c, OPT_HISTORY),
                                  .against = cmd_text(c, OPT_AGAINST),
                                  .bounds_named = cmd_given(c, OPT_BOUNDS)},
                        .update = cmd_given(c, OPT_UPDATE),
                        .record = cmd_given(c, OPT_RECORD)};
    if (!r.baseline)
        r.baseline = "results/baseline.csv";
    if (!r.files.bounds)
        r.files.bounds = beside(a, r.baseline, "bounds.csv");
    if (!r.files.history)
        r.files.history = beside(a, r.baseline, "history.csv");
    if (!r.files.bounds || !r.files.history)
        return err_set(&c->msg, ERR_NOMEM, "validate: out of memory");
    *out = r;
    return check_request(c, &r);
}

/* --rows has no earlier figures; what it would pass over is refused. */
static enum err check_rows_line(struct cmd *c)
{
    static const enum cmd_option others[] = {
        OPT_UPDATE, OPT_RECORD, OPT_REASON, OPT_AGAINST, OPT_BOUNDS, OPT_JUNIT};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cmd_given(c, others[i]))
            return err_set(&c->msg, ERR_PARSE,
                           "--rows predicts files and judges nothing; leave "
                           "out %s",
                           c->spec.rows[others[i]].name);
    return ERR_OK;
}

/* Exit 1 when worse, as CI asks it. */
static enum err bench_validate_run(struct cmd *c)
{
    struct request r;
    struct outcome o = {.session.a = &c->arena, .msg = &c->msg};
    if (cmd_given(c, OPT_ROWS)) {
        const enum err e = check_rows_line(c);
        return e == ERR_OK ? validate_rows_run(c) : e;
    }
    enum err e = read_request(c, &r);
    if (e != ERR_OK)
        return e;
    junit_begin(&o.session.junit, &c->arena);
    e = validate_session_begin(&o.session, &r.files, &c->msg);
    if (e == ERR_OK)
        e = check_and_keep(&c->arena, &r, &o, &c->msg);
    if (r.junit)
        e = write_junit(&r, &o, e, &c->msg);
    if (e == ERR_OK)
        print_worse(&o, r.all);
    c->status = o.worse ? EXIT_ANSWER_NO : 0;
    return e;
}

static void print_marks(FILE *out)
{
    fputs("\nmarks, and by how many percentage points each may grow:\n", out);
    for (int m = 0; m < N_MARKS; m++)
        fprintf(out, "  %-24s %g\n", mark_words((enum mark)m),
                mark_default_bound((enum mark)m));
}

static const int takes[] = {OPT_BASELINE, OPT_UPDATE, OPT_RECORD,  OPT_REASON,
                            OPT_AGAINST,  OPT_BOUNDS, OPT_HISTORY, OPT_JUNIT,
                            OPT_ROWS,     OPT_TERMS,  OPT_JSON,    OPT_HELP,
                            N_OPTIONS};

const struct command CMD_VALIDATE = {
    .name = "validate",
    .run = bench_validate_run,
    .synopsis = "validate [DIR...] [--against REV] [--record --reason TEXT]",
    .summary = "predictions of the reference datasets against the baseline",
    .help =
        "Are predictions worse than they were? Fits the costs of each dataset "
        "DIR\n"
        "(results/reference/<experiment>) again from the raw logs of its "
        "profile\n"
        "runs, predicts its layouts, and compares with their measured step "
        "times\n"
        "and with the errors in the baseline. Nothing is measured. Default: "
        "all\n"
        "datasets below results/reference/, and then every experiment of the\n"
        "baseline must be there.\n"
        "\n"
        "Worse is: a mark that is above the baseline's by more than its bound, "
        "or a\n"
        "layout that is not predicted any more. Marks and the bounds where "
        "bounds.csv,\n"
        "a row a dataset, says no other are listed below; that of the replay "
        "error is\n"
        "a limit of its own. Of a dataset that was only planned (recipes.csv), "
        "worse\n"
        "is any prediction that is another now, or a layout faster than its "
        "proved\n"
        "bound. A dataset that the baseline does not hold is new; its replay "
        "error\n"
        "is judged all the same. What is not known never passes.\n"
        "\n"
        "--record leaves a line a dataset in the history (commit, date, "
        "reason,\n"
        "marks), --update-baseline does, too; --against compares with such a "
        "line,\n"
        "by the same bounds. A dataset measured anew since is shown, not "
        "judged.\n"
        "\n"
        "Without DIR the step times of others below results/published/ are\n"
        "predicted, too, each source from its rows for fitting. Columns: rows "
        "to be\n"
        "predicted and told; mean, median, 90th percentile and largest "
        "absolute error,\n"
        "mean signed error, what the pick loses where rows compete (largest "
        "regret),\n"
        "Kendall's tau; the mean error of fitted rows, each left out; the "
        "mean error in\n"
        "the baseline. --rows predicts rows of CSV files in the same columns\n"
        "(results/README.md).\n"
        "\n"
        "A DIR below results/contributed/ is reviewed: formats, hashes, "
        "consent, "
        "checks,\n"
        "logs, the fit from its own rows, and each layout predicted from the "
        "others.\n",
    .print_more = print_marks,
    .closing = "Exit status: 0 not worse, 1 worse, 2 bad input, 3 "
               "environment.\n"
               "example: moe-bench validate results/reference/local\n"
               "         moe-bench validate --against HEAD~5 --junit out.xml\n"
               "         moe-bench validate --against last\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
