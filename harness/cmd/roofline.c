/*
 * moe-bench roofline: costs without a profile, held to what others measured:
 * the constants fitted to public step times, and plans by FLOPs, roofline and
 * measured costs beside one another.
 *
 * How it works: tables of step times and manifests are told apart by their
 * endings and may stand in one line. Errors are always of the constants in use;
 * a fit that came out otherwise only says that these are due to be renewed.
 */
#include "base/text.h"
#include "base/writer.h"
#include "cmd.h"
#include "study/compare.h"
#include "study/errors.h"
#include "study/rows.h"

#include <math.h>
#include <stdio.h>

#define MODELS "experiments/models"

// of a search in a larger space
static const double LIMIT_S = 10;

/* A constant in use may differ from its fit by rounding, no more. */
static const double SAME = 0.01;

/* What the files of a line gave. */
struct findings {
    struct roofline_rows rows;
    struct rows_left left;
    struct roofline_fit fit;
    struct errors errors;
    struct compare_rows plans;
};

/* ---- doing it ---- */

/* Rows to fit by their ending, everything else is a manifest to plan. Manifests
 * are copied: rows of plans point into them. */
static enum err read_files(struct cmd *c, struct findings *f)
{
    enum err e = ERR_OK;
    for (int i = 0; i < c->line.n_operands && e == ERR_OK; i++) {
        const char *path = c->line.operands[i];
        struct manifest mf;
        if (text_ends(path, ".csv")) {
            const struct rows_file file = {path, MODELS};
            e = rows_read(&c->arena, &file, &f->rows, &f->left, &c->msg);
            continue;
        }
        e = manifest_read(&c->arena, path, &mf, &c->msg);
        struct manifest *kept = arena_alloc(&c->arena, 1, sizeof *kept);
        if (e == ERR_OK && !kept)
            e = err_set(&c->msg, ERR_NOMEM, "roofline: out of memory");
        if (e != ERR_OK)
            return e;
        *kept = mf;
        e = compare_manifest(&c->arena, kept, LIMIT_S, &f->plans, &c->msg);
    }
    return e;
}

/* Errors are of the constants in use, not of the ones that were just fitted to
 * these rows. */
static enum err fit_rows(struct cmd *c, struct findings *f)
{
    struct roofline_bench *bench;
    enum err e = roofline_bench_new(&c->arena, &f->rows, &bench, &c->msg);
    if (e == ERR_OK)
        e = roofline_fit(&c->arena, bench, &f->fit, &c->msg);
    if (e == ERR_OK)
        e = errors_of(&c->arena, bench, &ROOFLINE_FITTED, &f->errors, &c->msg);
    return e;
}

/* False where the tree's constants are not those of the fit. */
static bool is_same(const struct roofline_fit *f)
{
    for (int p = 0; p < N_ROOFLINE; p++)
        if (fabs(f->constants.price[p] - ROOFLINE_FITTED.price[p]) >
            SAME * fabs(ROOFLINE_FITTED.price[p]))
            return false;
    return true;
}

/* ---- printing ---- */

/* Fitted beside in use, with what the rows could not tell apart. */
static void print_fit(const struct findings *f)
{
    printf("%-10s %12s %12s %12s\n", "constant", "fitted", "+- (se)", "in use");
    for (int p = 0; p < N_ROOFLINE; p++)
        printf("%-10s %12.6g %12.2g %12.6g  %s%s\n",
               roofline_name((enum roofline_price)p), f->fit.constants.price[p],
               f->fit.se[p], ROOFLINE_FITTED.price[p],
               roofline_help((enum roofline_price)p),
               !f->fit.told[p]      ? " (not told apart)"
               : f->fit.at_least[p] ? " (at its least)"
                                    : "");
    printf("%d rows of %d configurations fed the fit", f->fit.n_rows,
           f->fit.n_configs);
    if (f->left.n > 0)
        printf("; %d rows are not covered, e.g. %s", f->left.n, f->left.why);
    printf("\n\n%-14s %-8s %4s %8s %8s %8s %8s\n", "source", "use", "n",
           "mean %", "median", "worst", "bias");
    for (int i = 0; i < f->errors.n; i++) {
        const struct errors_row *r = &f->errors.row[i];
        printf("%-14s %-8s %4d %8.1f %8.1f %8.1f %8.1f\n", r->source,
               errors_use_name(r->use), r->n, r->mean_pct, r->median_pct,
               r->worst_pct, r->bias_pct);
    }
}

static void print_plans(const struct compare_rows *rows)
{
    printf("%-12s %-6s %-10s %-9s %9s %9s %9s  %s\n", "experiment", "card",
           "split", "who", "flops %", "roofl. %", "meas. %", "layout");
    for (int i = 0; i < rows->n; i++) {
        const struct compare_row *r = &rows->row[i];
        char split[32];
        snprintf(split, sizeof split, "PP%d VPP%d", r->pp, r->vpp);
        printf("%-12s %-6s %-10s %-9s", r->experiment, r->card, split, r->who);
        for (int by = 0; by < N_COMPARE; by++)
            cmd_print_number(9, 2, r->slower_pct[by]);
        printf("  %s\n", r->layout);
    }
    puts("slower than the best by costs of FLOPs, of the roofline, and by the "
         "article's measured ones");
}

static void write_fit(struct writer top, const struct findings *f)
{
    struct writer constants = writer_list(top, "constants");
    for (int p = 0; p < N_ROOFLINE; p++) {
        struct writer o = writer_object(constants, NULL);
        writer_text(o, "name", roofline_name((enum roofline_price)p));
        writer_number(o, "fitted", f->fit.constants.price[p]);
        writer_number(o, "se", f->fit.se[p]);
        writer_number(o, "in_use", ROOFLINE_FITTED.price[p]);
        writer_bool(o, "told", f->fit.told[p]);
    }
    writer_number(top, "not_covered", f->left.n);
    struct writer errors = writer_list(top, "errors");
    for (int i = 0; i < f->errors.n; i++) {
        const struct errors_row *r = &f->errors.row[i];
        struct writer o = writer_object(errors, NULL);
        writer_text(o, "source", r->source);
        writer_text(o, "use", errors_use_name(r->use));
        writer_number(o, "n", r->n);
        writer_number(o, "mean_pct", r->mean_pct);
        writer_number(o, "median_pct", r->median_pct);
        writer_number(o, "worst_pct", r->worst_pct);
        writer_number(o, "bias_pct", r->bias_pct);
    }
}

static void write_plans(struct writer top, const struct compare_rows *rows)
{
    struct writer plans = writer_list(top, "plans");
    for (int i = 0; i < rows->n; i++) {
        const struct compare_row *r = &rows->row[i];
        struct writer o = writer_object(plans, NULL);
        writer_text(o, "experiment", r->experiment);
        writer_text(o, "card", r->card);
        writer_number(o, "pp", r->pp);
        writer_number(o, "vpp", r->vpp);
        writer_text(o, "who", r->who);
        writer_text(o, "layout", r->layout);
        for (int by = 0; by < N_COMPARE; by++)
            writer_number(o, compare_name((enum compare_by)by),
                          r->slower_pct[by]);
    }
}

/* One file of rows or of manifests alone makes half of the answer. */
static enum err print_findings(struct cmd *c, const struct findings *f)
{
    const bool fitted = f->rows.n > 0;
    if (!cmd_given(c, OPT_JSON)) {
        if (fitted)
            print_fit(f);
        if (f->plans.n > 0)
            print_plans(&f->plans);
        return ERR_OK;
    }
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-bench/roofline/1");
    if (fitted)
        write_fit(top, f);
    if (f->plans.n > 0)
        write_plans(top, &f->plans);
    return writer_print(&doc, true, stdout, &c->msg);
}

static enum err write_files(struct cmd *c, const struct findings *f)
{
    const char *to = cmd_text(c, OPT_TO);
    enum err e = ERR_OK;
    if (to && f->rows.n > 0)
        e = errors_write(&f->fit, &f->errors, to, &c->msg);
    if (to && f->plans.n > 0 && e == ERR_OK)
        e = compare_write(&f->plans, to, &c->msg);
    return e;
}

/* Constants that moved away from the fit are an answer of no: the numbers in
 * the source are to be renewed. */
static enum err bench_roofline_run(struct cmd *c)
{
    struct findings f = {.rows = {NULL, 0}};
    const char *first;
    enum err e = cmd_operand(c, "FILE", &first);
    if (e == ERR_OK)
        e = read_files(c, &f);
    if (e == ERR_OK && f.rows.n > 0)
        e = fit_rows(c, &f);
    if (e == ERR_OK)
        e = write_files(c, &f);
    if (e == ERR_OK)
        e = print_findings(c, &f);
    if (e != ERR_OK || f.rows.n == 0 || is_same(&f.fit))
        return e;
    fprintf(stderr,
            "moe-bench roofline: the constants in use differ from this "
            "fit by more than %g%%\n",
            100 * SAME);
    c->status = EXIT_ANSWER_NO;
    return ERR_OK;
}

static const int takes[] = {OPT_TO, OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_ROOFLINE = {
    .name = "roofline",
    .run = bench_roofline_run,
    .synopsis = "roofline FILE... [--to DIR] [--json]",
    .summary = "costs without a profile, held to public step times",
    .help =
        "FILE.csv holds public step times (columns: results/README.md): the "
        "constants of\n'moe-layout costs --roofline' are fitted to the rows "
        "marked fit, of all such files\ntogether, and the errors of fitted, "
        "predicted and forward times are printed by\nsource. Other FILEs are "
        "manifests, of the article's studies or of ways to plan: the\nlayouts "
        "that costs by FLOPs, by the roofline and (of studies) measured ones "
        "pick, each\npriced by all. --to writes constants.csv, errors.csv and "
        "plans.csv.\n",
    .closing = "exit 1 when the constants in use are not those of the fit\n"
               "example: moe-bench roofline experiments/stage-a.json\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
