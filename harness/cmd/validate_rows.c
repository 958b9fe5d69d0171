/*
 * How it works: rows of all files make one table; rows for fitting give the
 * costs of their group, and every row to be predicted is predicted from these
 * alone. The same numbers are printed or written.
 */
#include "validate_rows.h"

#include "base/writer.h"
#include "published/tables.h"

#include <math.h>

/* ---- tables ---- */

void validate_rows_print_head(void)
{
    printf("%-16s %4s %4s %7s %7s %7s %7s %7s %7s %6s %8s %8s\n", "published",
           "n", "told", "mean %", "median", "p90", "worst", "bias", "regret",
           "tau", "left out", "before");
}

/* NAN prints as a dash: a source without choices has no regret. */
void validate_rows_print_score(const struct published_score *s, double before)
{
    printf("%-16s %4d %4d", s->source ? s->source : "all", s->n, s->n_covered);
    cmd_print_number(7, 2, 100 * s->mean);
    cmd_print_number(7, 2, 100 * s->median);
    cmd_print_number(7, 2, 100 * s->p90);
    cmd_print_number(7, 2, 100 * s->worst);
    cmd_print_number(7, 2, 100 * s->bias);
    cmd_print_number(7, 2, 100 * s->regret);
    cmd_print_number(6, 2, s->tau);
    cmd_print_number(8, 2, 100 * s->left_out);
    cmd_print_number(8, 2, before);
    puts("");
}

/* A row that is not covered is listed with its reason, not left out. */
static void print_rows(const struct published *p)
{
    printf("%-44s %-14s %12s %12s %8s\n", "id", "source", "predicted s",
           "measured s", "error %");
    for (int i = 0; i < p->n; i++) {
        const struct published_row *r = &p->row[i];
        printf("%-44s %-14s", r->entry->id, r->entry->source);
        cmd_print_number(12, 5, r->pred_s);
        cmd_print_number(12, 5, r->entry->meas_s);
        cmd_print_number(8, 2, 100 * (r->pred_s / r->entry->meas_s - 1));
        printf("%s%s\n", *r->why ? "  not covered: " : "", r->why);
    }
}

/* By source, and of all rows at the end (source NULL). */
static enum err print_scores(struct cmd *c, const struct published *p)
{
    const char *source[PUBLISHED_MAX_SOURCES + 1] = {NULL};
    const int n = published_sources(p, source, PUBLISHED_MAX_SOURCES);
    source[n] = NULL;
    puts("");
    validate_rows_print_head();
    for (int i = 0; i <= n; i++) {
        struct published_score s;
        const enum err e =
            published_score(&c->arena, p, source[i], &s, &c->msg);
        if (e != ERR_OK)
            return e;
        validate_rows_print_score(&s, (double)NAN);
    }
    return ERR_OK;
}

/* ---- JSON ---- */

/* Parts of a prediction stand apart: pipeline, reduction, constant. */
static void write_rows(struct writer top, const struct published *p)
{
    struct writer list = writer_list(top, "rows");
    for (int i = 0; i < p->n; i++) {
        const struct published_row *r = &p->row[i];
        struct writer item = writer_object(list, NULL);
        writer_text(item, "id", r->entry->id);
        writer_text(item, "source", r->entry->source);
        writer_number(item, "pred_s", r->pred_s);
        writer_number(item, "meas_s", r->entry->meas_s);
        writer_bool(item, "covered", r->covered);
        writer_number(item, "pipeline_s", r->pipeline_s);
        writer_number(item, "dp_s", r->dp_s);
        writer_number(item, "constant_s", r->constant_s);
        if (!r->covered)
            writer_text(item, "why", r->why);
    }
}

/* Every number that was fitted: what predicted rows must not move. */
static void write_fit(struct writer to, const struct published_fit *f)
{
    static const char *const kinds[] = {[STEP_COLUMN_UNIT] = "unit",
                                        [STEP_COLUMN_FREE] = "rate",
                                        [STEP_COLUMN_DP] = "dp",
                                        [STEP_COLUMN_OPTIMIZER] = "optimizer",
                                        [STEP_COLUMN_CONSTANT] = "constant"};
    const struct step_fit *fit = &f->choice.fit;
    writer_text(to, "source", f->source);
    writer_text(to, "gpu", f->gpu);
    writer_number(to, "n_rows", f->rows.n);
    writer_number(to, "rank", fit->rank);
    writer_number(to, "n_unknowns", fit->n_unknowns);
    writer_number(to, "condition", fit->condition);
    writer_number(to, "left_out_error", f->choice.left_out.mean);
    if (fit->note)
        writer_text(to, "note", fit->note);
    struct writer list = writer_list(to, "unknowns");
    for (int j = 0; j < fit->n_columns; j++) {
        const struct step_column *c = &fit->column[j];
        struct writer item = writer_object(list, NULL);
        writer_text(item, "kind", kinds[c->kind]);
        if (c->group >= 0)
            writer_number(item, "group", c->group);
        if (c->kind == STEP_COLUMN_FREE)
            writer_text(item, "unit", kind_name(c->unit));
        writer_bool(item, "used", c->used);
        writer_number(item, "value", c->x);
        writer_number(item, "se", c->se);
    }
}

static void write_score(struct writer item, const struct published_score *s)
{
    writer_text(item, "source", s->source);
    writer_number(item, "n", s->n);
    writer_number(item, "n_covered", s->n_covered);
    writer_number(item, "mean_error", s->mean);
    writer_number(item, "median_error", s->median);
    writer_number(item, "p90_error", s->p90);
    writer_number(item, "worst_error", s->worst);
    writer_number(item, "bias", s->bias);
    writer_number(item, "regret", s->regret);
    writer_number(item, "tau", s->tau);
}

/* Scores that memory did not suffice for are left out; the rows are the
 * answer. */
static enum err write_all(struct cmd *c, const struct published *p)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    const char *source[PUBLISHED_MAX_SOURCES];
    const int n = published_sources(p, source, PUBLISHED_MAX_SOURCES);
    write_rows(top, p);
    struct writer fits = writer_list(top, "fits");
    for (int i = 0; i < p->n_fits; i++)
        if (p->fit[i].made)
            write_fit(writer_object(fits, NULL), &p->fit[i]);
    struct writer datasets = writer_list(top, "datasets");
    for (int i = 0; i < n; i++) {
        struct published_score s;
        if (published_score(&c->arena, p, source[i], &s, &c->msg) == ERR_OK)
            write_score(writer_object(datasets, NULL), &s);
    }
    return writer_print(&doc, true, stdout, &c->msg);
}

/* Files are named by --rows or as operands. */
enum err validate_rows_run(struct cmd *c)
{
    struct step_table_options options = {.terms = observed_default_terms()};
    struct step_table table = {NULL, 0, 0};
    struct published p;
    const char **given =
        arena_alloc(&c->arena, (size_t)c->line.n_uses + 1, sizeof *given);
    if (!given)
        return err_set(&c->msg, ERR_NOMEM, "validate: out of memory");
    const int n = options_each(&c->line, OPT_ROWS, given);
    enum err e = cmd_given(c, OPT_TERMS)
                     ? observed_read_terms(cmd_text(c, OPT_TERMS),
                                           &options.terms, &c->msg)
                     : ERR_OK;
    for (int i = 0; i < n + c->line.n_operands && e == ERR_OK; i++)
        e = step_table_read(&c->arena,
                            i < n ? given[i] : c->line.operands[i - n],
                            &options, &table, &c->msg);
    if (e == ERR_OK)
        e = published_predict(&c->arena, &table, options.terms, &p, &c->msg);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return write_all(c, &p);
    print_rows(&p);
    return print_scores(c, &p);
}
