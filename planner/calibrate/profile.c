/*
 * How it works: the timers of a layout are one row a rank: how many units of
 * each kind it holds, divided by its time, since errors of timers are
 * relative. Columns are scaled by the guessed cost of their kind, so that the
 * determinant of the sum of R'R over the chosen layouts measures how well all
 * costs are known relatively. The best pair is found by trying all pairs, each
 * further layout greedily. Candidates look like layouts that users would run;
 * where no choice among them tells all kinds apart, the bounds widen. Spaces
 * too large to walk are sampled around even splits, and so are those of several
 * chunks a rank, whose timers add up: there a row is a rank. All pairs of 1200
 * candidates are 720,000 determinants: they have only the columns that the
 * model uses, and a column that a model lacks would add the same to each.
 */
#include "profile.h"

#include "base/join.h"
#include "cost/cost.h"
#include "layout/space.h"
#include "memory/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PROFILE_N_COLUMNS = N_KINDS + 1, // the kinds and the timers' constant
    PROFILE_N_CELLS = PROFILE_N_COLUMNS * PROFILE_N_COLUMNS,
    PROFILE_MAX_CANDIDATES = 1200, // a larger space is thinned out
    PROFILE_MAX_WALK = 2000000     // a larger one is sampled
};

static const double GUESS_FLOOR = 0.02; // least cost of a kind, in layers
static const double GUESS_CHUNK = 0.02; // the timers' constant, likewise
static const double RIDGE = 1e-7;       // unknowns no layout can tell apart
// A profile run should look like a real one: no stage slower than the slowest
// of the default split by FLOPs, none with more than this times its parameters.
static const double HEAVIEST = 1.5;

struct candidates {
    struct arena *arena;
    const struct model *model;
    struct cost guess;
    double layer_s;                // guessed cost of a decoder layer, forward
    double most_s;                 // no stage of a candidate is slower
    double most_params;            // or holds more
    double relax;                  // both bounds times this
    int column[PROFILE_N_COLUMNS]; // the kinds of the model, and the constant
    int n_columns;
    int64_t skip, seen; // every skip-th layout is kept
    int n;
    bool taken[PROFILE_MAX_CANDIDATES];                   // chosen already
    char *text[PROFILE_MAX_CANDIDATES];                   // layout strings
    double gram[PROFILE_MAX_CANDIDATES][PROFILE_N_CELLS]; // R'R of each
};

/* Units and the timers' constants of all chunks of a rank as one row of
 * guessed seconds; returns their sum. */
static double rank_row(const struct candidates *c, const struct layout *l,
                       int rank, double row[PROFILE_N_COLUMNS])
{
    double time_s = GUESS_CHUNK * l->vpp * c->layer_s;
    memset(row, 0, PROFILE_N_COLUMNS * sizeof *row);
    row[N_KINDS] = time_s;
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int counts[N_KINDS];
        layout_stage_kinds(l, c->model, s, counts);
        for (int k = 0; k < N_KINDS; k++) {
            row[k] += counts[k] * c->guess.unit[k].fwd_s;
            time_s += counts[k] * c->guess.unit[k].fwd_s;
        }
    }
    return time_s;
}

/* Adds the rows of one layout to its R'R; false when a rank is too slow. */
static bool add_rows(const struct candidates *c, const struct layout *l,
                     double *gram)
{
    for (int r = 0; r < l->pp; r++) {
        double row[PROFILE_N_COLUMNS];
        const double time_s = rank_row(c, l, r, row);
        if (time_s > c->most_s * c->relax ||
            (double)memory_rank_params(c->model, l, r) >
                c->most_params * c->relax)
            return false;
        for (int i = 0; i < c->n_columns; i++)
            for (int j = 0; j < c->n_columns; j++)
                gram[i * c->n_columns + j] +=
                    row[c->column[i]] * row[c->column[j]] / (time_s * time_s);
    }
    return true;
}

/* Every skip-th of a large space, so that candidates are from all of it. */
static enum err profile_collect(void *data, const struct layout *l)
{
    struct candidates *c = data;
    if (c->seen++ % c->skip || c->n == PROFILE_MAX_CANDIDATES)
        return ERR_OK;
    double *gram = c->gram[c->n];
    memset(gram, 0, sizeof c->gram[0]);
    if (!add_rows(c, l, gram))
        return ERR_OK;
    const char *text = layout_string(c->arena, l);
    if (!text)
        return ERR_NOMEM;
    c->text[c->n] = arena_strdup(c->arena, text);
    return c->text[c->n++] ? ERR_OK : ERR_NOMEM;
}

/* Logarithm of the determinant of the (n,n) sum, as L D L' without roots: `l`
 * holds L D below the diagonal. */
static double log_det(int n, const double *have, const double *more)
{
    double l[PROFILE_N_CELLS], d[PROFILE_N_COLUMNS], product = 1;
    for (int j = 0; j < n; j++) {
        double pivot = have[j * n + j] + more[j * n + j] + RIDGE;
        for (int k = 0; k < j; k++)
            pivot -= l[j * n + k] * l[j * n + k] * d[k];
        if (pivot <= 0)
            return -1e300;
        d[j] = 1 / pivot;
        product *= pivot;
        for (int i = j + 1; i < n; i++) {
            double v = have[i * n + j] + more[i * n + j];
            for (int k = 0; k < j; k++)
                v -= l[i * n + k] * l[j * n + k] * d[k];
            l[i * n + j] = v;
        }
    }
    return log(product);
}

static int best_addition(const struct candidates *c, const double *have,
                         int first, double *best)
{
    int found = -1;
    for (int i = first; i < c->n; i++) {
        if (c->taken[i])
            continue;
        double g = log_det(c->n_columns, have, c->gram[i]);
        if (g > *best + 1e-9) {
            *best = g;
            found = i;
        }
    }
    return found;
}

/* The best pair, then the best addition, all different. */
static void profile_choose(struct candidates *c, int n, int *chosen)
{
    double best = -INFINITY, sum[PROFILE_N_CELLS] = {0};
    for (int i = 0; i < c->n; i++) {
        int j = best_addition(c, c->gram[i], i + 1, &best);
        if (j >= 0) {
            chosen[0] = i;
            chosen[1] = j;
        }
    }
    for (int k = 0; k < n; k++) {
        if (k >= 2) {
            best = -INFINITY;
            chosen[k] = best_addition(c, sum, 0, &best);
        }
        for (int i = 0; i < c->n_columns * c->n_columns; i++)
            sum[i] += c->gram[chosen[k]][i];
        c->taken[chosen[k]] = true;
    }
}

/* The column that one counts as: that of L for m, where they stay together. */
static int profile_joint(const struct candidates *c, int i, bool standalone)
{
    int to = i;
    while (!standalone && c->column[i] == KIND_M && c->column[to] != KIND_L)
        to++;
    return to;
}

/* Do the chosen layouts determine every kind? Without standalone MTP m and L
 * count as one. The pivots of the scaled sum tell: none may vanish. */
static bool profile_determines(const struct candidates *c, const int *chosen,
                               int n, bool standalone)
{
    const int kinds = c->n_columns - 1;
    double g[N_KINDS][N_KINDS] = {{0}};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < kinds; i++)
            for (int j = 0; j < kinds; j++)
                g[profile_joint(c, i, standalone)]
                 [profile_joint(c, j, standalone)] +=
                    c->gram[chosen[k]][i * c->n_columns + j];
    for (int p = 0; p < kinds; p++) {
        double before = 0;
        for (int k = 0; k < n; k++)
            before += c->gram[chosen[k]][p * c->n_columns + p];
        if (before == 0 || profile_joint(c, p, standalone) != p)
            continue;
        if (g[p][p] < 1e-7 * before)
            return false;
        for (int i = p + 1; i < kinds; i++)
            for (int j = p + 1; j < kinds; j++)
                g[i][j] -= g[i][p] * g[p][j] / g[p][p];
    }
    return true;
}

/* What stands for one decoder layer: one with experts, else the last; of a
 * hybrid model, whose layers differ by much, the mean of all. */
static void guess_layer(struct candidates *c, double *params)
{
    const struct model *m = c->model;
    enum unit_kind layer = model_unit_count(m, KIND_T)
                               ? KIND_T
                               : model_layer_kind(m, m->n_layers - 1);
    c->layer_s = c->guess.unit[layer].fwd_s;
    *params = (double)model_unit_params(m, layer);
    if (!model_is_hybrid(m))
        return;
    double sum_s = 0, sum = 0;
    for (int i = 0; i < m->n_layers; i++) {
        sum_s += c->guess.unit[model_layer_kind(m, i)].fwd_s;
        sum += (double)model_unit_params(m, model_layer_kind(m, i));
    }
    c->layer_s = sum_s / m->n_layers;
    *params = sum / m->n_layers;
}

/* The columns in which candidates of this model are not 0. */
static void profile_columns(struct candidates *c)
{
    c->n_columns = 0;
    for (int k = 0; k < N_KINDS; k++)
        if (model_unit_count(c->model, (enum unit_kind)k))
            c->column[c->n_columns++] = k;
    c->column[c->n_columns++] = N_KINDS;
}

/* FLOPs, with a floor for units that have none (the embedding). */
static void profile_guess(struct candidates *c, int pp)
{
    const struct model *m = c->model;
    cost_analytic(m, 1, &c->guess);
    double layer_params = 0;
    guess_layer(c, &layer_params);
    double total = 0;
    for (int k = 0; k < N_KINDS; k++) {
        double *s = &c->guess.unit[k].fwd_s;
        int n = model_unit_count(m, (enum unit_kind)k);
        if (n && *s < GUESS_FLOOR * c->layer_s)
            *s = GUESS_FLOOR * c->layer_s;
        total += n * *s;
    }
    double ends =
        c->guess.unit[KIND_L].fwd_s + m->n_mtp * c->guess.unit[KIND_M].fwd_s;
    double by_layers = m->n_layers * c->layer_s / pp;
    c->most_s = fmax(total / pp, by_layers + ends);
    double layers = ceil((double)m->n_layers / pp);
    c->most_params =
        HEAVIEST *
        (layers * layer_params +
         (double)(model_mtp_params(m) + m->padded_vocab * m->hidden));
}

/* ---- spaces too large to walk ---- */

static uint32_t profile_next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A random layout; what is made of it lasts until the next one. */
struct drawn {
    struct arena *scratch;
    int *n;     // layers a stage
    bool apart; // m on a stage of its own
};

/* Layers of `stages` stages as text, with m and L behind. */
static const char *counts_text(const struct drawn *d, int stages, int n_mtp)
{
    const int last = d->apart ? stages - 2 : stages - 1;
    struct join text = join_begin(d->scratch);
    char part[48];
    join_add(&text, "E");
    for (int s = 0; s <= last; s++) {
        snprintf(part, sizeof part, "t*%d%s", d->n[s], s < last ? "|" : "");
        join_add(&text, part);
    }
    snprintf(part, sizeof part, "m*%d%sL", n_mtp, d->apart ? "|" : "");
    join_add(&text, part);
    return join_end(&text);
}

/* An even split with up to 2 layers a stage moved from one stage to another. */
static void profile_draw(const struct candidates *c, const struct drawn *d,
                         int all, uint32_t *state)
{
    const int stages = all - d->apart;
    for (int s = 0; s < stages; s++)
        d->n[s] =
            c->model->n_layers / stages + (s < c->model->n_layers % stages);
    for (uint32_t k = profile_next_random(state) % (2 * (uint32_t)all); k > 0;
         k--) {
        int from = (int)(profile_next_random(state) % (uint32_t)stages);
        int to = (int)(profile_next_random(state) % (uint32_t)stages);
        int least = from > 0 && from < stages - 1;
        d->n[to] += d->n[from] > least;
        d->n[from] -= d->n[from] > least;
    }
}

/* Takes a drawn layout where it is one. */
static enum err profile_take_drawn(struct candidates *c, const struct drawn *d,
                                   int pp)
{
    const struct model *m = c->model;
    const char *text = counts_text(d, pp * m->par.vpp, m->n_mtp);
    struct layout l;
    if (!text)
        return ERR_NOMEM;
    const struct layout_question q = {text, pp, m->n_layers, m->n_mtp};
    enum err e = layout_read_question(d->scratch, &q, &l, NULL);
    return e == ERR_OK ? profile_collect(c, &l) : e == ERR_NOMEM ? e : ERR_OK;
}

/* Random layouts, from the same numbers each time. */
static enum err profile_sample(struct candidates *c, int pp, bool standalone,
                               struct err_msg *msg)
{
    uint32_t state = 1;
    const int all = pp * c->model->par.vpp;
    struct arena scratch;
    struct drawn d = {.scratch = &scratch,
                      .n = arena_alloc(c->arena, (size_t)all, sizeof *d.n)};
    enum err e = d.n ? ERR_OK : ERR_NOMEM;
    c->skip = 1;
    for (int i = 0; i < 8 * PROFILE_MAX_CANDIDATES && e == ERR_OK; i++) {
        arena_init(&scratch);
        d.apart = standalone && c->model->n_mtp && i % 2;
        profile_draw(c, &d, all, &state);
        e = profile_take_drawn(c, &d, pp);
        arena_clear(&scratch);
    }
    return e == ERR_OK ? e : err_set(msg, e, "profile-layouts: out of memory");
}

/* Spaces that can be walked are; others, and those of several chunks, are drawn
 * from. */
static enum err profile_gather(struct candidates *c, int pp, bool standalone,
                               struct err_msg *msg)
{
    const struct layout_space space = {.n_layers = c->model->n_layers,
                                       .n_mtp = c->model->n_mtp,
                                       .pp = pp,
                                       .vpp = 1,
                                       .kind = SPACE_NO_EMPTY_STAGE,
                                       .standalone_mtp = standalone};
    char text[SPACE_COUNT_BYTES];
    double n = 0;
    enum err e = layout_space_count(&space, text, msg);
    if (e != ERR_OK)
        return e;
    for (const char *p = text; *p; p++)
        n = n * 10 + (*p - '0');
    c->n = 0;
    c->seen = 0;
    memset(c->taken, 0, sizeof c->taken);
    if (n > PROFILE_MAX_WALK || c->model->par.vpp > 1)
        return profile_sample(c, pp, standalone, msg);
    c->skip = 1 + (int64_t)(n / PROFILE_MAX_CANDIDATES);
    return layout_space_each(c->arena, &space, profile_collect, c, msg);
}

/* Narrow bounds first. */
static enum err profile_search(struct candidates *c,
                               const struct profile_wish *w, int *chosen,
                               struct err_msg *msg)
{
    static const double relax[] = {1, 1.5, 2.5, 1e9};
    for (size_t i = 0; i < sizeof relax / sizeof relax[0]; i++) {
        c->relax = relax[i];
        enum err e = profile_gather(c, w->pp, w->standalone, msg);
        if (e != ERR_OK)
            return e;
        if (c->n < w->n)
            continue;
        profile_choose(c, w->n, chosen);
        if (profile_determines(c, chosen, w->n, w->standalone))
            return ERR_OK;
    }
    return err_set(msg, ERR_MODEL,
                   "profile-layouts: no %d different layouts of %d layers on "
                   "%d stages tell all kinds of units apart: use more runs or "
                   "another pipeline size",
                   w->n, c->model->n_layers, w->pp);
}

enum err profile_layouts(struct arena *a, const struct model *m,
                         const struct profile_wish *w, struct layout *out,
                         struct err_msg *msg)
{
    struct candidates *c = arena_alloc(a, 1, sizeof *c);
    int *chosen = arena_alloc(a, (size_t)w->n, sizeof *chosen);
    if (!c || !chosen)
        return err_set(msg, ERR_NOMEM, "profile-layouts: out of memory");
    c->arena = a;
    c->model = m;
    profile_columns(c);
    profile_guess(c, w->pp);
    enum err e = profile_search(c, w, chosen, msg);
    for (int i = 0; i < w->n && e == ERR_OK; i++)
        e = layout_read_question(a,
                                 &(struct layout_question){c->text[chosen[i]],
                                                           w->pp, m->n_layers,
                                                           m->n_mtp},
                                 &out[i], msg);
    return e;
}
