/*
 * moe-layout memory --corpus: predictions against measured cases. How it works:
 * memory/corpus predicts all cases; here they become rows of a CSV file, errors
 * by group, and a check of the fitted constants with one family left out.
 */
#include "memory.h"

#include "base/csv.h"
#include "base/text.h"
#include "memory/corpus.h"
#include "memory/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// the published table, results/reference/memory.csv; a test recomputes it
static const char FORMAT[] = "moe-layout/memory-errors/1";
// of the measurements; in every row, so that rows can be mixed with others
static const char SOURCE[] =
    "NVIDIA/Megatron-LM tests/functional_tests/test_cases, August 2026";
static const double MIB = 1024.0 * 1024.0;

/* ---- the table as CSV ---- */

static const char *const columns[] = {"format",
                                      "case",
                                      "platform",
                                      "family",
                                      "moe",
                                      "primary",
                                      "supported",
                                      "reason",
                                      "pred_allocated_bytes",
                                      "meas_allocated_bytes",
                                      "allocated_error_pct",
                                      "pred_peak_bytes",
                                      "meas_peak_bytes",
                                      "peak_error_pct",
                                      "source"};
enum { CORPUS_N_COLUMNS = sizeof columns / sizeof columns[0] };

/* Absent and 0 are empty fields: a case that was not measured is no error. */
static const char *bytes_text(int64_t v, char *buf, size_t size)
{
    if (v <= 0)
        return NULL;
    snprintf(buf, size, "%lld", (long long)v);
    return buf;
}

static const char *percent_text(bool there, double error, char *buf,
                                size_t size)
{
    if (!there || !isfinite(error))
        return NULL;
    snprintf(buf, size, "%.3f", 100 * error);
    return buf;
}

static bool cmd_memory_corpus_write_row(FILE *out, const struct corpus_row *r)
{
    enum { CORPUS_TEXT_BYTES = 32 };
    // of the six numbers among the fields
    char text[6][CORPUS_TEXT_BYTES];
    const char *const fields[CORPUS_N_COLUMNS] = {
        FORMAT,
        r->name,
        r->platform,
        r->family,
        r->moe ? "1" : "0",
        r->primary ? "1" : "0",
        r->reason ? "0" : "1",
        r->reason,
        bytes_text(r->pred_allocated_bytes, text[0], CORPUS_TEXT_BYTES),
        bytes_text(r->meas_allocated_bytes, text[1], CORPUS_TEXT_BYTES),
        percent_text(!r->reason, corpus_allocated_error(r), text[2],
                     CORPUS_TEXT_BYTES),
        bytes_text(r->pred_peak_bytes, text[3], CORPUS_TEXT_BYTES),
        bytes_text(r->meas_peak_bytes, text[4], CORPUS_TEXT_BYTES),
        percent_text(!r->reason, corpus_peak_error(r), text[5],
                     CORPUS_TEXT_BYTES),
        SOURCE};
    return csv_write_row(out, fields, CORPUS_N_COLUMNS);
}

/* In memory first: a table that cannot be finished leaves the old one. */
static enum err cmd_memory_corpus_write_table(struct cmd *c,
                                              const struct corpus *all)
{
    const char *path = c->option[OPT_OUT];
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return err_set(&c->msg, ERR_NOMEM, "%s: out of memory", path);
    bool ok = csv_write_row(out, columns, CORPUS_N_COLUMNS);
    for (size_t i = 0; ok && i < all->n_rows; i++)
        ok = cmd_memory_corpus_write_row(out, &all->rows[i]);
    ok = fclose(out) == 0 && ok;
    enum err e = ok ? text_write_file(path, text, len, &c->msg)
                    : err_set(&c->msg, ERR_NOMEM, "%s: out of memory", path);
    free(text);
    return e;
}

/* ---- printing ---- */

static void cmd_memory_corpus_print_row(const struct corpus_row *r)
{
    if (r->reason) {
        printf("%-60.60s %-14.14s not supported: %s\n", r->name, r->platform,
               r->reason);
        return;
    }
    printf("%-60.60s %-14.14s %8.2f%%", r->name, r->platform,
           100 * corpus_allocated_error(r));
    if (r->meas_peak_bytes)
        printf(" %8.2f%%", 100 * corpus_peak_error(r));
    printf("\n");
}

// current images are what the model is made for; the others show how far it
// carries
static const struct total {
    const char *name;
    struct corpus_filter filter;
} totals[] = {
    {"MoE, current images", {.moe = true, .primary_only = true}},
    {"dense, current images", {.dense = true, .primary_only = true}},
    {"MoE, all images", {.moe = true}},
    {"dense, all images", {.dense = true}},
};

/* Peaks are of fewer cases: not every report has one. */
static enum err cmd_memory_corpus_print_total(struct cmd *c,
                                              const struct corpus *all,
                                              const struct total *t)
{
    struct corpus_filter peaks = t->filter;
    struct corpus_errors allocated, peak;
    peaks.peak = true;
    enum err e = corpus_errors(&c->arena, all, &t->filter, &allocated, &c->msg);
    if (e == ERR_OK)
        e = corpus_errors(&c->arena, all, &peaks, &peak, &c->msg);
    if (e == ERR_OK)
        printf("%-22s %5d %10.2f%% %7.2f%% %10.2f%% %7.2f%%\n", t->name,
               allocated.n, 100 * allocated.median, 100 * allocated.p90,
               100 * peak.median, 100 * peak.p90);
    return e;
}

static enum err print_totals(struct cmd *c, const struct corpus *all)
{
    enum err e = ERR_OK;
    printf("\n%-22s %5s %19s %19s\n%-22s %5s %11s %8s %11s %8s\n",
           "absolute error", "rows", "allocated", "peak", "", "", "median",
           "90th", "median", "90th");
    for (size_t i = 0; e == ERR_OK && i < sizeof totals / sizeof totals[0]; i++)
        e = cmd_memory_corpus_print_total(c, all, &totals[i]);
    printf("cases supported: %d of %d with experts, %d of %d dense\n",
           all->n_supported[1], all->n_cases[1], all->n_supported[0],
           all->n_cases[0]);
    return e;
}

/* ---- the fitted constants ---- */

/* Rows of a family need not stand together: it is printed at its first. */
static bool seen_before(const struct corpus *all, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (!all->rows[i].reason && all->rows[i].primary &&
            strcmp(all->rows[i].family, all->rows[row].family) == 0)
            return true;
    return false;
}

/* Mean absolute error of one family with some constants: a mean and not a
 * median, since a family has few rows. */
static double family_error(const struct corpus *all, const char *family,
                           const struct memory_constants *k, int *n)
{
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct corpus_row *r = &all->rows[i];
        if (r->reason || !r->primary || strcmp(r->family, family) != 0)
            continue;
        sum += fabs(corpus_error_with(r, k));
        ++*n;
    }
    return *n ? sum / *n : (double)NAN;
}

/* Fitted with the family and without it: a constant that only one family bears
 * out would miss there. */
static enum err print_family(struct cmd *c, const struct corpus *all,
                             const char *family, const struct corpus_fit *fit)
{
    struct corpus_fit without;
    enum err e = corpus_fit(&c->arena, all, family, &without, &c->msg);
    if (e != ERR_OK)
        return e;
    int n = 0;
    double with = family_error(all, family, &fit->constants, &n);
    double left_out = family_error(all, family, &without.constants, &n);
    printf("%-20s %5d %9.2f %9.2f %9.2f%% %9.2f%%\n", family, n,
           (double)without.constants.small_bytes / MIB,
           (double)without.constants.muon_bytes / MIB, 100 * with,
           100 * left_out);
    return ERR_OK;
}

/* Each family is left out once: its error then is of constants that it did not
 * make. */
static enum err cmd_memory_corpus_print_fit(struct cmd *c,
                                            const struct corpus *all)
{
    struct corpus_fit fit;
    enum err e = corpus_fit(&c->arena, all, NULL, &fit, &c->msg);
    if (e != ERR_OK)
        return e;
    printf("\nfitted constants          fitted    in use  cases behind it "
           "(all others have a source)\n"
           "small tensors, MiB      %8.2f  %8.2f  %d\n"
           "Muon's work, MiB        %8.2f  %8.2f  %d\n",
           (double)fit.constants.small_bytes / MIB,
           (double)MEMORY_CONSTANTS.small_bytes / MIB, fit.n_small_cases,
           (double)fit.constants.muon_bytes / MIB,
           (double)MEMORY_CONSTANTS.muon_bytes / MIB, fit.n_muon_cases);
    printf("\nfitted without family rows     small      Muon  mean "
           "error of allocated bytes\n%-20s %5s %9s %9s %10s %10s\n",
           "", "", "MiB", "MiB", "fitted in", "left out");
    for (size_t i = 0; i < all->n_rows && e == ERR_OK; i++) {
        const struct corpus_row *r = &all->rows[i];
        if (!r->reason && r->primary && !seen_before(all, i))
            e = print_family(c, all, r->family, &fit);
    }
    return e;
}

/* Whether the margin that `plan` keeps free would have covered what was
 * measured. */
static enum err print_margin(struct cmd *c, const struct corpus *all)
{
    // the 95th is the margin in use
    static const double at[] = {0.5, 0.9, 0.95, 1.0};
    double q[4];
    for (int i = 0; i < 4; i++) {
        enum err e =
            corpus_underestimate(&c->arena, all, at[i], &q[i], &c->msg);
        if (e != ERR_OK)
            return e;
    }
    printf("\npeaks above the prediction: median %.2f%%, 90th percentile "
           "%.2f%%, 95th %.2f%%, largest %.2f%%; margin in use %.1f%%\n",
           100 * q[0], 100 * q[1], 100 * q[2], 100 * q[3], 100 * MEMORY_MARGIN);
    return ERR_OK;
}

/* The table is written before anything is printed, so that a full disk is told
 * by itself. */
enum err cmd_memory_corpus(struct cmd *c)
{
    struct corpus all;
    enum err e = corpus_read(&c->arena, c->option[OPT_CORPUS], &all, &c->msg);
    if (e == ERR_OK && cmd_given(c, OPT_OUT))
        e = cmd_memory_corpus_write_table(c, &all);
    if (e != ERR_OK)
        return e;
    printf("%-60s %-14s %9s %9s\n", "case", "platform", "allocated", "peak");
    for (size_t i = 0; i < all.n_rows; i++)
        cmd_memory_corpus_print_row(&all.rows[i]);
    e = print_totals(c, &all);
    if (e == ERR_OK)
        e = cmd_memory_corpus_print_fit(c, &all);
    return e == ERR_OK ? print_margin(c, &all) : e;
}
