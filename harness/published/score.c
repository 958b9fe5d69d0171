/*
 * How it works: each figure is a pass over the rows, with those of other
 * sources left out. Rows are some hundred, so that sets that compete are found
 * by looking at all pairs.
 */
#include "score.h"

#include "base/stats.h"

#include <math.h>
#include <string.h>

/* NULL stands for all sources. */
static bool is_from(const char *source, const char *wanted)
{
    return !wanted || strcmp(source, wanted) == 0;
}

/* What is not covered has no error; what was not measured tells none. */
static bool counts(const struct published_row *r, const char *source)
{
    return is_from(r->entry->source, source) && r->covered &&
           r->entry->meas_s > 0;
}

static double signed_error(const struct published_row *r)
{
    return r->pred_s / r->entry->meas_s - 1;
}

/* ---- errors ---- */

/* Quantiles sort x; sums are taken before. */
static enum err add_errors(struct arena *a, const struct published *p,
                           struct published_score *s, struct err_msg *msg)
{
    double *x = arena_alloc(a, (size_t)p->n + 1, sizeof *x), sum = 0;
    size_t n = 0;
    if (!x)
        return err_set(msg, ERR_NOMEM, "score: out of memory");
    for (int i = 0; i < p->n; i++) {
        const struct published_row *r = &p->row[i];
        s->n += is_from(r->entry->source, s->source);
        if (!counts(r, s->source))
            continue;
        x[n++] = fabs(signed_error(r));
        sum += signed_error(r);
    }
    s->n_covered = (int)n;
    s->bias = n ? sum / (double)n : (double)NAN;
    s->mean = stats_mean(x, n).mean;
    s->median = stats_quantile(x, n, 0.5);
    s->p90 = stats_quantile(x, n, 0.9);
    s->worst = stats_quantile(x, n, 1);
    return ERR_OK;
}

/* Weighted by rows: a cluster with more of them says more. */
static void add_left_out(const struct published *p, struct published_score *s)
{
    double sum = 0;
    for (int c = 0; c < p->n_fits; c++) {
        const struct published_fit *f = &p->fit[c];
        if (!f->made || !is_from(f->source, s->source))
            continue;
        s->n_fitted += f->rows.n;
        if (f->choice.left_out.n == 0)
            continue;
        sum += f->choice.left_out.mean * f->choice.left_out.n;
        s->n_left_out += f->choice.left_out.n;
    }
    s->left_out = s->n_left_out ? sum / s->n_left_out : (double)NAN;
}

/* ---- choices ---- */

/* Rows that compete, those to be predicted first. */
struct choices {
    const struct published *p;
    const char *source;
};

static int choices_n(const struct choices *c)
{
    return c->p->n + c->p->n_fitted;
}

static const struct published_row *choices_at(const struct choices *c, int i)
{
    return i < c->p->n ? &c->p->row[i] : &c->p->fitted[i - c->p->n];
}

/* An empty `compare` competes with nothing, not even itself. */
static bool compete(const struct choices *c, int i, int k)
{
    const struct published_row *x = choices_at(c, i), *y = choices_at(c, k);
    return *x->entry->compare && counts(x, c->source) && counts(y, c->source) &&
           strcmp(x->entry->compare, y->entry->compare) == 0 &&
           strcmp(x->entry->source, y->entry->source) == 0;
}

/* Is it the first of its set, and to be predicted? */
static bool opens_set(const struct choices *c, int i)
{
    for (int k = 0; k < i; k++)
        if (compete(c, k, i))
            return false;
    return i < c->p->n && compete(c, i, i);
}

/* Predictions as close as this are ties, which a planner breaks by chance. */
static const double SCORE_TIE = 1e-9;

/* One set, from its first row on. A set of one leaves nothing to choose. */
static void add_set(const struct choices *c, int first,
                    struct published_score *s)
{
    const struct published_row *pick = choices_at(c, first);
    double best = pick->entry->meas_s;
    int n = 0;
    for (int i = first; i < choices_n(c); i++) {
        const struct published_row *r = choices_at(c, i);
        if (!compete(c, first, i))
            continue;
        n++;
        best = fmin(best, r->entry->meas_s);
        if (r->pred_s < pick->pred_s * (1 - SCORE_TIE))
            pick = r;
    }
    if (n < 2)
        return;
    s->n_choices++;
    s->regret = fmax(s->regret, pick->entry->meas_s / best - 1);
}

/* Pairs of a row to be predicted with those behind it. */
static int ordered_pairs(const struct choices *c, int i, int *pairs)
{
    const struct published_row *x = choices_at(c, i);
    int sum = 0;
    for (int k = i + 1; k < choices_n(c); k++) {
        const struct published_row *y = choices_at(c, k);
        const double pred = x->pred_s - y->pred_s;
        const double meas = x->entry->meas_s - y->entry->meas_s;
        if (!compete(c, i, k))
            continue;
        ++*pairs;
        if (fabs(pred) > SCORE_TIE * x->pred_s)
            sum += (pred * meas > 0) - (pred * meas < 0);
    }
    return sum;
}

/* Regret is the largest over all sets; tau is Kendall's over the pairs within
 * sets. */
static void add_choices(const struct published *p, struct published_score *s)
{
    const struct choices c = {p, s->source};
    int sum = 0;
    s->regret = s->tau = (double)NAN;
    for (int i = 0; i < p->n; i++) {
        if (opens_set(&c, i))
            add_set(&c, i, s);
        sum += ordered_pairs(&c, i, &s->n_pairs);
    }
    if (s->n_pairs)
        s->tau = (double)sum / s->n_pairs;
}

enum err published_score(struct arena *a, const struct published *p,
                         const char *source, struct published_score *out,
                         struct err_msg *msg)
{
    struct published_score s = {.source = source};
    const enum err e = add_errors(a, p, &s, msg);
    if (e != ERR_OK)
        return e;
    add_left_out(p, &s);
    add_choices(p, &s);
    *out = s;
    return ERR_OK;
}

/* In the order of the rows, which is the order of the files. */
int published_sources(const struct published *p, const char **out, int most)
{
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        bool known = false;
        for (int k = 0; k < n && !known; k++)
            known = strcmp(out[k], p->row[i].entry->source) == 0;
        if (!known && n < most)
            out[n++] = p->row[i].entry->source;
    }
    return n;
}
