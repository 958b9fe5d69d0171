/*
 * How it works: the timers of a layout are one row a stage: how many units of
 * each kind it holds, divided by its time, since errors of timers are
 * relative. Columns are scaled by the guessed cost of their kind, so that the
 * determinant of the sum of R'R over the chosen layouts measures how well all
 * costs are known relatively. The best pair is found by trying all pairs, each
 * further layout greedily.
 */
#include "profile.h"

#include "cost.h"
#include "layout_space.h"
#include "memory.h"

#include <math.h>
#include <string.h>

enum {
    N_COLUMNS = N_KINDS + 1, // the kinds and the timers' constant
    N_CELLS = N_COLUMNS * N_COLUMNS,
    MAX_CANDIDATES = 1200 // a larger space is sampled evenly
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
    double layer_s;     // guessed cost of a decoder layer, forward
    double most_s;      // no stage of a candidate is slower
    double most_params; // or holds more
    int64_t skip, seen; // every skip-th layout is kept
    int n;
    char *text[MAX_CANDIDATES];           // layout strings
    double gram[MAX_CANDIDATES][N_CELLS]; // R'R of each
};

/* Adds the rows of one layout to its R'R; false when a stage is too slow. */
static bool add_rows(const struct candidates *c, const struct layout *l,
                     double *gram)
{
    for (int s = 0; s < l->n_stages; s++) {
        int counts[N_KINDS];
        double row[N_COLUMNS], time_s = GUESS_CHUNK * c->layer_s;
        layout_stage_kinds(l, c->model, s, counts);
        row[N_KINDS] = time_s;
        for (int k = 0; k < N_KINDS; k++) {
            row[k] = counts[k] * c->guess.unit[k].fwd_s;
            time_s += row[k];
        }
        if (time_s > c->most_s ||
            (double)memory_stage_params(c->model, l, s) > c->most_params)
            return false;
        for (int i = 0; i < N_COLUMNS; i++)
            for (int j = 0; j < N_COLUMNS; j++)
                gram[i * N_COLUMNS + j] += row[i] * row[j] / (time_s * time_s);
    }
    return true;
}

static enum err collect(void *data, const struct layout *l)
{
    struct candidates *c = data;
    if (c->seen++ % c->skip || c->n == MAX_CANDIDATES)
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

/* Logarithm of the determinant by Cholesky. */
static double log_det(const double *gram)
{
    double l[N_CELLS] = {0}, sum = 0;
    for (int i = 0; i < N_COLUMNS; i++)
        for (int j = 0; j <= i; j++) {
            double v = gram[i * N_COLUMNS + j] + (i == j ? RIDGE : 0);
            for (int k = 0; k < j; k++)
                v -= l[i * N_COLUMNS + k] * l[j * N_COLUMNS + k];
            if (i == j && v <= 0)
                return -1e300;
            l[i * N_COLUMNS + j] = i == j ? sqrt(v) : v / l[j * N_COLUMNS + j];
            sum += i == j ? log(v) : 0;
        }
    return sum;
}

static double gain(const double *have, const double *more)
{
    double sum[N_CELLS];
    for (int i = 0; i < N_CELLS; i++)
        sum[i] = have[i] + more[i];
    return log_det(sum);
}

static int best_addition(const struct candidates *c, const double *have,
                         int first, double *best)
{
    int found = -1;
    for (int i = first; i < c->n; i++) {
        double g = gain(have, c->gram[i]);
        if (g > *best + 1e-9) {
            *best = g;
            found = i;
        }
    }
    return found;
}

static void choose(const struct candidates *c, int n, int *chosen)
{
    double best = -INFINITY, sum[N_CELLS];
    for (int i = 0; i < c->n; i++) {
        int j = best_addition(c, c->gram[i], i + 1, &best);
        if (j >= 0) {
            chosen[0] = i;
            chosen[1] = j;
        }
    }
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < n; k++) {
        if (k >= 2) {
            best = -INFINITY;
            chosen[k] = best_addition(c, sum, 0, &best);
        }
        for (int i = 0; i < N_CELLS; i++)
            sum[i] += c->gram[chosen[k]][i];
    }
}

/* FLOPs, with a floor for units that have none (the embedding). */
static void guess(struct candidates *c, int pp)
{
    const struct model *m = c->model;
    cost_analytic(m, 1, &c->guess);
    enum unit_kind layer = model_unit_count(m, KIND_T) ? KIND_T : KIND_T_DENSE;
    c->layer_s = c->guess.unit[layer].fwd_s;
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
        (layers * (double)model_unit_params(m, layer) +
         (double)(model_mtp_params(m) + m->padded_vocab * m->hidden));
}

static enum err walk(struct candidates *c, int pp, bool standalone,
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
    if (n > 1e7)
        return err_set(msg, ERR_RANGE,
                       "profile-layouts: %s layouts are too many to choose "
                       "from: use fewer stages",
                       text);
    c->skip = 1 + (int64_t)(n / MAX_CANDIDATES);
    return layout_space_each(c->arena, &space, collect, c, msg);
}

enum err profile_layouts(struct arena *a, const struct model *m, int pp, int n,
                         bool standalone, struct layout *out,
                         struct err_msg *msg)
{
    struct candidates *c = arena_alloc(a, 1, sizeof *c);
    int *chosen = arena_alloc(a, (size_t)n, sizeof *chosen);
    if (!c || !chosen)
        return err_set(msg, ERR_NOMEM, "profile-layouts: out of memory");
    c->arena = a;
    c->model = m;
    guess(c, pp);
    enum err e = walk(c, pp, standalone, msg);
    if (e != ERR_OK)
        return e;
    if (c->n == 0)
        return err_set(msg, ERR_MODEL,
                       "profile-layouts: no layout of %d layers for %d stages",
                       m->n_layers, pp);
    choose(c, n, chosen);
    for (int i = 0; i < n && e == ERR_OK; i++)
        e = layout_read(a, c->text[chosen[i]], m, pp, &out[i], msg);
    return e;
}
