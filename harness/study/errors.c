/*
 * How it works: for each source and use one pass over the rows collects
 * relative errors, which are then summed up. Constants do not change between
 * passes, so a row may be simulated twice, once with its backwards.
 */
#include "errors.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/stats.h"
#include "base/text.h"
#include "table.h"

#include <math.h>
#include <string.h>

const char *errors_use_name(enum errors_use u)
{
    static const char *const names[] = {[ERRORS_FIT] = "fit",
                                        [ERRORS_PREDICT] = "predict",
                                        [ERRORS_FORWARD] = "forward"};
    return names[u];
}

/* Is the row of the group, and what was measured of it? */
static bool belongs(const struct roofline_row *r, const char *source,
                    enum errors_use use, double *meas_s)
{
    *meas_s = use == ERRORS_FORWARD ? r->meas_forward_s : r->meas_step_s;
    if (strcmp(r->source, source) != 0 || !(*meas_s > 0))
        return false;
    return use == ERRORS_FORWARD || r->fit == (use == ERRORS_FIT);
}

/* Relative errors of the group's rows into `e`, in percent. */
static enum err collect(struct roofline_bench *b, const struct roofline *r,
                        struct errors_row *group, double *e,
                        struct err_msg *msg)
{
    const struct roofline_rows *rows = roofline_bench_rows(b);
    group->n = 0;
    for (int i = 0; i < rows->n; i++) {
        double meas_s, pred_s;
        if (!belongs(&rows->row[i], group->source, group->use, &meas_s))
            continue;
        const enum err err = group->use == ERRORS_FORWARD
                                 ? roofline_forward(b, i, r, &pred_s, msg)
                                 : roofline_step(b, i, r, &pred_s, msg);
        if (err != ERR_OK)
            return err;
        e[group->n++] = 100 * (pred_s / meas_s - 1);
    }
    return ERR_OK;
}

/* Reorders `e`. */
static void summarise(double *e, struct errors_row *group)
{
    const size_t n = (size_t)group->n;
    group->bias_pct = stats_mean(e, n).mean;
    group->worst_pct = 0;
    for (size_t i = 0; i < n; i++) {
        e[i] = fabs(e[i]);
        group->worst_pct = fmax(group->worst_pct, e[i]);
    }
    group->mean_pct = stats_mean(e, n).mean;
    group->median_pct = stats_median(e, n);
}

/* Sources come in the order of their first rows. */
static bool is_first_of_source(const struct roofline_rows *rows, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(rows->row[i].source, rows->row[at].source) == 0)
            return false;
    return true;
}

/* A row a source and use; one without rows is left out. */
enum err errors_of(struct arena *a, struct roofline_bench *b,
                   const struct roofline *r, struct errors *out,
                   struct err_msg *msg)
{
    const struct roofline_rows *rows = roofline_bench_rows(b);
    const size_t n = (size_t)rows->n + 1;
    struct errors all = {arena_alloc(a, N_ERRORS_USES * n, sizeof *all.row), 0};
    double *e = arena_alloc(a, n, sizeof *e);
    if (!all.row || !e)
        return err_set(msg, ERR_NOMEM, "roofline: out of memory");
    for (int i = 0; i < rows->n; i++)
        for (int u = 0; u < N_ERRORS_USES && is_first_of_source(rows, i); u++) {
            struct errors_row *to = &all.row[all.n];
            *to = (struct errors_row){.source = rows->row[i].source,
                                      .use = (enum errors_use)u};
            const enum err err = collect(b, r, to, e, msg);
            if (err != ERR_OK)
                return err;
            summarise(e, to);
            all.n += to->n > 0;
        }
    *out = all;
    return ERR_OK;
}

/* ---- files ---- */

/* The fit beside what is compiled in: a reader sees whether they agree. */
static bool write_constants(FILE *out, const void *data)
{
    static const char *const columns[] = {"format", "constant", "fitted",
                                          "se",     "told",     "at_least",
                                          "in_use", "what"};
    const struct roofline_fit *f = data;
    bool ok = csv_write_row(out, columns, 8);
    for (int p = 0; p < N_ROOFLINE && ok; p++) {
        char x[3][CSV_NUMBER_BYTES];
        const enum roofline_price price = (enum roofline_price)p;
        const char *const fields[] = {
            "moe-bench/roofline/1",
            roofline_name(price),
            csv_number(f->constants.price[p], x[0]),
            csv_number(f->se[p], x[1]),
            f->told[p] ? "1" : "0",
            f->at_least[p] ? "1" : "0",
            csv_number(ROOFLINE_FITTED.price[p], x[2]),
            roofline_help(price)};
        ok = csv_write_row(out, fields, 8);
    }
    return ok;
}

static bool write_errors(FILE *out, const void *data)
{
    static const char *const columns[] = {"format",    "source",   "use",
                                          "n",         "mean_pct", "median_pct",
                                          "worst_pct", "bias_pct"};
    const struct errors *e = data;
    bool ok = csv_write_row(out, columns, 8);
    for (int i = 0; i < e->n && ok; i++) {
        const struct errors_row *r = &e->row[i];
        char x[5][CSV_NUMBER_BYTES];
        const char *const fields[] = {
            "moe-bench/roofline/1",         r->source,
            errors_use_name(r->use),        csv_number(r->n, x[0]),
            csv_number(r->mean_pct, x[1]),  csv_number(r->median_pct, x[2]),
            csv_number(r->worst_pct, x[3]), csv_number(r->bias_pct, x[4])};
        ok = csv_write_row(out, fields, 8);
    }
    return ok;
}

enum err errors_write(const struct roofline_fit *fit, const struct errors *e,
                      const char *dir, struct err_msg *msg)
{
    enum err err = table_write(dir, "constants.csv", write_constants, fit, msg);
    return err == ERR_OK ? table_write(dir, "errors.csv", write_errors, e, msg)
                         : err;
}
