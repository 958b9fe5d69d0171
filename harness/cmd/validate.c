/*
 * moe-bench validate: are predictions worse than they were? Each dataset is
 * judged by itself against its rows of the baseline; then the baseline as a
 * whole: an experiment that vanished from the datasets would never get worse.
 */
#include "report/validate.h"
#include "cmd.h"
#include "report/reference.h"
#include "report/validate_published.h"
#include "report/validate_recipes.h"
#include "validate_contributed.h"
#include "validate_rows.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// where import puts those of others
#define PUBLISHED "results/published"

// where publish puts datasets
#define ROOT "results/reference"

struct request {
    const char **dirs;
    int n_dirs;
    const char *baseline;
    bool update, all;
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
                   ROOT ": no dataset; 'moe-bench publish MANIFEST' makes one");
}

/* "-" for what older datasets do not have. */
static void bench_validate_print_cell(int width, int digits, double x)
{
    if (isfinite(x))
        printf(" %*.*f", width, digits, x);
    else
        printf(" %*s", width, "-");
}

static void bench_validate_print_rows(const struct validate_rows *v)
{
    for (int i = 0; i < v->n; i++) {
        const struct validate_row *r = &v->row[i];
        printf("%-12s %-16s %-24s", r->experiment, r->role, r->layout);
        bench_validate_print_cell(9, 1, r->pred_ms);
        bench_validate_print_cell(9, 1, r->meas_ms);
        bench_validate_print_cell(7, 2, r->step_error_pct);
        bench_validate_print_cell(7, 2, r->base_step_error_pct);
        bench_validate_print_cell(8, 3, r->replay_error_pct);
        bench_validate_print_cell(7, 3, r->memory_error_pct);
        puts("");
    }
}

/* Numbers before the word: a reader sees how near it was. */
static void bench_validate_print_verdict(const char *experiment, int n,
                                         const struct validate_verdict *v)
{
    printf("%s: ", experiment);
    if (v->n_new < n && isfinite(v->step_error_pct))
        printf("mean step error %.3f%%, baseline %.3f%%; ", v->step_error_pct,
               v->base_step_error_pct);
    if (v->n_new > 0)
        printf("%d of %d layouts new; ", v->n_new, n);
    if (v->n_lost > 0)
        printf("%d layouts of the baseline not there; ", v->n_lost);
    if (isfinite(v->replay_error_pct))
        printf("replay at most %.3f%%: ", v->replay_error_pct);
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

/* An experiment of the baseline whose dataset has gone cannot get worse. */
static bool all_there(const struct validate_rows *now,
                      const struct validate_rows *baseline)
{
    for (int i = 0; i < baseline->n; i++) {
        bool found = false;
        for (int k = 0; k < now->n && !found; k++)
            found = strcmp(now->row[k].experiment,
                           baseline->row[i].experiment) == 0;
        if (found)
            continue;
        printf("%s: in the baseline, but no dataset in " ROOT " or " PUBLISHED
               "\n",
               baseline->row[i].experiment);
        return false;
    }
    return true;
}

/* What the datasets add up to. */
struct outcome {
    struct validate_rows baseline, all;
    bool worse;
    const char *unknown; // the first dataset with figures that are not known
};

/* A dataset that was only planned: the same layouts, predicted again. */
static enum err check_planned(struct arena *a, const char *dir,
                              struct outcome *o, struct err_msg *msg)
{
    struct validate_recipes v;
    enum err e = validate_recipes(a, dir, &v, msg);
    if (e != ERR_OK)
        return e;
    printf("%s: %d layouts predicted again, %d changed, %d below their bound",
           v.experiment, v.n, v.n_changed, v.n_below);
    printf("%s%s\n", *v.first ? ": worse: " : ": not worse", v.first);
    o->worse |= v.n_changed > 0 || v.n_below > 0;
    return ERR_OK;
}

static enum err check_measured(struct arena *a, const char *dir,
                               struct outcome *o, struct err_msg *msg)
{
    struct validate_rows now;
    struct validate_verdict v;
    enum err e = validate_dataset(a, dir, &now, msg);
    if (e == ERR_OK)
        e = validate_judge(a, &now, &o->baseline, &v, msg);
    if (e == ERR_OK)
        e = bench_validate_append(a, &o->all, &now, msg);
    if (e != ERR_OK)
        return e;
    bench_validate_print_rows(&now);
    bench_validate_print_verdict(now.n > 0 ? now.row[0].experiment : dir, now.n,
                                 &v);
    o->worse |= v.worse;
    if (v.unknown && !o->unknown)
        o->unknown = dir;
    return ERR_OK;
}

/* Mean error of the baseline's rows that are there now, percent. */
static double error_before(const struct validate_verdict *v)
{
    return v->base_step_error_pct;
}

/* A public source is judged like an experiment of ours: by its mean error. */
static enum err check_source(struct arena *a, struct validate_source *s,
                             struct outcome *o, struct err_msg *msg)
{
    struct validate_verdict v;
    enum err e = validate_judge(a, &s->rows, &o->baseline, &v, msg);
    if (e == ERR_OK)
        e = bench_validate_append(a, &o->all, &s->rows, msg);
    if (e != ERR_OK)
        return e;
    validate_rows_print_score(&s->score, error_before(&v));
    if (v.worse)
        printf("%s: worse:%s\n", s->experiment, v.why);
    o->worse |= v.worse;
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
        e = check_source(a, &v.source[i], o, msg);
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
    struct validate_verdict v;
    enum err e = validate_contributed(a, dir, beside, &c, msg);
    if (e == ERR_OK && !c.ok)
        o->worse = true;
    if (e != ERR_OK || c.rows.n == 0)
        return e;
    e = validate_judge(a, &c.rows, &o->baseline, &v, msg);
    if (e == ERR_OK)
        e = bench_validate_append(a, &o->all, &c.rows, msg);
    if (e == ERR_OK && v.worse)
        printf("%s: worse:%s\n", dir, v.why);
    o->worse |= e == ERR_OK && v.worse;
    return e;
}

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

/* All datasets are looked at, also after one that is worse. */
static enum err check_all(struct arena *a, const struct request *r,
                          struct outcome *o, struct err_msg *msg)
{
    printf("%-12s %-16s %-24s %9s %9s %7s %7s %8s %7s\n", "experiment", "role",
           "layout", "pred ms", "meas ms", "err %", "before", "replay %",
           "mem %");
    for (int i = 0; i < r->n_dirs; i++) {
        enum err e = check_one(a, r->dirs[i], o, msg);
        if (e != ERR_OK)
            return e;
    }
    enum err e = r->all ? check_published(a, o, msg) : ERR_OK;
    if (e == ERR_OK && r->all)
        e = check_all_contributed(a, o, msg);
    if (e == ERR_OK && r->all && !all_there(&o->all, &o->baseline))
        o->worse = true;
    return e;
}

/* An update is not judged: it was asked for because errors changed. */
static enum err bench_validate_validate(struct arena *a, struct request *r,
                                        bool *worse, struct err_msg *msg)
{
    struct outcome o = {.worse = false};
    enum err e = r->n_dirs == 0 ? find_datasets(a, r, msg) : ERR_OK;
    if (e == ERR_OK)
        e = validate_read_baseline(a, r->baseline, &o.baseline, msg);
    if (e == ERR_OK)
        e = check_all(a, r, &o, msg);
    *worse = o.worse && !r->update;
    if (e != ERR_OK || !r->update)
        return e;
    // a baseline of nothing would make everything after it not worse
    if (o.unknown)
        return err_set(msg, ERR_MODEL,
                       "%s: figures are not known, so %s is not written",
                       o.unknown, r->baseline);
    // with all datasets read, what is in no dataset is not kept
    const struct validate_rows none = {NULL, 0};
    e = validate_write_baseline(a, r->baseline, &o.all,
                                r->all ? &none : &o.baseline, msg);
    if (e == ERR_OK)
        printf("%s written\n", r->baseline);
    return e;
}

/* Exit 1 when worse, as CI asks it. */
static enum err bench_validate_run(struct cmd *c)
{
    struct request r = {.dirs = c->line.operands,
                        .n_dirs = c->line.n_operands,
                        .baseline = cmd_text(c, OPT_BASELINE),
                        .update = cmd_given(c, OPT_UPDATE)};
    bool worse = false;
    if (cmd_given(c, OPT_ROWS))
        return validate_rows_run(c);
    if (!r.baseline)
        r.baseline = "results/baseline.csv";
    enum err e = bench_validate_validate(&c->arena, &r, &worse, &c->msg);
    c->status = worse ? EXIT_ANSWER_NO : 0;
    return e;
}

static const int takes[] = {OPT_BASELINE, OPT_UPDATE, OPT_ROWS, OPT_TERMS,
                            OPT_JSON,     OPT_HELP,   N_OPTIONS};

const struct command CMD_VALIDATE = {
    .name = "validate",
    .run = bench_validate_run,
    .synopsis = "validate [DIR...] [--baseline FILE] [--rows FILE.csv...]",
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
        "Worse is: a mean absolute step error or a largest memory error above "
        "the\n"
        "baseline's by more than 0.05 percentage points, a replay error above\n"
        "0.5%, or a layout that is not predicted any more; of a dataset that "
        "was\n"
        "only planned (recipes.csv), any prediction that is another now, or a "
        "layout\n"
        "faster than its proved bound. A dataset that the\n"
        "baseline does not hold is new; its replay error is judged all the "
        "same.\n"
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
    .closing = "Exit status: 0 not worse, 1 worse, 2 bad input, 3 "
               "environment.\n"
               "example: moe-bench validate results/reference/local\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
