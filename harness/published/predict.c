/*
 * How it works: clusters are fitted one after the other, each from its own
 * rows; then every row of use is simulated with its cluster's prices. Rows for
 * fitting are predicted, too: a planner would choose among them as well.
 */
#include "predict.h"

#include <math.h>

/* A cluster without rows to fit, or with rows that do not go together, is no
 * error: it covers nothing. */
static enum err fit_rows(struct arena *a, unsigned terms,
                         struct published_fit *f, struct err_msg *msg)
{
    if (f->rows.n == 0)
        return ERR_OK;
    const enum err e = step_choose(a, &f->rows, terms, &f->choice, msg);
    f->made = e == ERR_OK;
    if (e == ERR_MODEL)
        f->why = arena_strdup(a, msg->text);
    return e == ERR_MODEL && f->why ? ERR_OK : e;
}

/* What the step is made of: the pipeline alone, then with the reduction. */
static enum err predict_parts(struct observed *o,
                              const struct observed_prices *p,
                              struct published_row *out, struct err_msg *msg)
{
    struct observed_prices part = *p;
    double with_dp = 0;
    part.constant_s = part.optimizer_s_per_byte = 0;
    enum err e = observed_step(o, &part, &with_dp, msg);
    part.dp_s_per_byte = 0;
    if (e == ERR_OK)
        e = observed_step(o, &part, &out->pipeline_s, msg);
    out->dp_s = with_dp - out->pipeline_s;
    out->constant_s = p->constant_s;
    return e;
}

/* Measured time and use of the row play no part: only what it is a run of. */
static enum err predict_row(const struct published_fit *f,
                            const struct step_entry *x,
                            struct published_row *out, struct err_msg *msg)
{
    struct observed_prices p;
    *out = (struct published_row){
        x, false, (double)NAN, (double)NAN, (double)NAN, (double)NAN, x->why};
    if (!x->of)
        return ERR_OK;
    if (!f->made || !step_fit_covers(&f->choice.fit, x->of)) {
        out->why = f->why ? f->why : "no row of its group is for fitting";
        return ERR_OK;
    }
    step_fit_prices(&f->choice.fit, x->of, &p, NULL);
    out->covered = true;
    const enum err e = predict_parts(x->of, &p, out, msg);
    return e == ERR_OK ? observed_step(x->of, &p, &out->pred_s, msg) : e;
}

/* Each cluster is fitted to its rows for fitting alone. Those rows are
 * predicted, too, but kept apart: they say nothing of how well the fit
 * predicts. */
enum err published_predict(struct arena *a, const struct step_table *table,
                           unsigned terms, struct published *out,
                           struct err_msg *msg)
{
    struct published p = {.n_fits = table->n_clusters};
    p.row = arena_alloc(a, (size_t)table->n + 1, sizeof *p.row);
    p.fitted = arena_alloc(a, (size_t)table->n + 1, sizeof *p.fitted);
    p.fit = arena_alloc(a, (size_t)p.n_fits + 1, sizeof *p.fit);
    if (!p.row || !p.fitted || !p.fit)
        return err_set(msg, ERR_NOMEM, "published: out of memory");
    // the first row of a cluster names it
    for (int i = table->n - 1; i >= 0; i--) {
        p.fit[table->entry[i].cluster].source = table->entry[i].source;
        p.fit[table->entry[i].cluster].gpu = table->entry[i].gpu;
    }
    enum err e = ERR_OK;
    for (int c = 0; c < p.n_fits && e == ERR_OK; c++) {
        e = step_table_rows(a, table, c, &p.fit[c].rows, msg);
        if (e == ERR_OK)
            e = fit_rows(a, terms, &p.fit[c], msg);
    }
    for (int i = 0; i < table->n && e == ERR_OK; i++) {
        const struct step_entry *x = &table->entry[i];
        if (x->use == STEP_USE_NONE || x->excluded)
            continue;
        e = predict_row(&p.fit[x->cluster], x,
                        x->use == STEP_USE_FIT ? &p.fitted[p.n_fitted++]
                                               : &p.row[p.n++],
                        msg);
    }
    *out = p;
    return e;
}
