/*
 * How it works: the model becomes a sequence of units E t..t m..m L with their
 * costs in nanoseconds. Memory enters twice: as a lower bound of what a chunk
 * adds to its rank, which cuts branches early, and as the memory model's own
 * answer for whole layouts. The bound of a chunk is its weights, and its
 * activations times the micro-batches of it that are in flight at one moment,
 * the one with most chunks in flight: at any single moment the rank holds at
 * least the sum over its chunks, and the peak is no lower.
 */
#include "exact.h"

#include "base/clock.h"
#include "layout/layout.h"
#include "layout/symbols.h"
#include "memory/static.h"
#include "sim/overlap.h"

#include <math.h>
#include <string.h>

/* Shifts are tried from so many of the best layouts, and so many times each:
 * every accepted shift gains something, and gains end after a few. */
enum { EXACT_STARTS = 4, EXACT_SHIFTS = 40, EXACT_LIST = 24 };

/* Of a limited time, so much is the proof's where shifts follow it: with 128
 * stages a round of shifts is 16000 simulations, which may take all of it. */
static const double EXACT_PROOF_SHARE = 0.8;

struct exact {
    struct arena *arena;
    struct candidates *c;
    const struct exact_options *opt;
    int n_units, n_stages, pp, vpp, n_mtp;
    char *letters;            // n_units
    enum unit_kind *kinds;    // n_units
    enum prove_kind *layers;  // n_units
    int64_t *fwd_ns, *bwd_ns; // n_units
    int64_t *kept;            // bytes of activations of units before i
    int64_t *least;           // the same of weights
    int *in_flight;           // [stage], at the rank's fullest moment
    struct layout scratch;    // for checks: units point into `text`
    char *text;
    double tick_s; // what the search counts in: a nanosecond, or more
    double end_s;  // of the shifts, on the clock; INFINITY: no limit
};

/* ---- the units ---- */

/* The search takes work of up to 2^44 units of time in a row. */
static const double EXACT_MOST = 8796093022208.0; // 2^43, half of it

/* Whole nanoseconds, or what is doubled from them until all work of a step,
 * one chunk after the other, is a number that the search takes. */
static double exact_tick(const struct exact *x)
{
    const struct plan_context *ctx = x->c->ctx;
    double all_s = 0, tick_s = 1e-9;
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *u = &ctx->cost->unit[k];
        all_s += model_unit_count(ctx->model, (enum unit_kind)k) *
                 (u->fwd_s + u->bwd_s);
    }
    while (all_s * ctx->n_mb > EXACT_MOST * tick_s)
        tick_s *= 2;
    return tick_s;
}

static int64_t exact_ns(const struct exact *x, double s)
{
    return llround(s / x->tick_s);
}

static void exact_unit(struct exact *x, int i, enum unit_kind kind)
{
    const struct unit_cost *u = &x->c->ctx->cost->unit[kind];
    bool layer = kind != KIND_E && kind != KIND_L;
    bool dense = kind_is_dense(kind) || !x->c->ctx->model->n_experts;
    x->kinds[i] = kind;
    x->letters[i] = kind_letter(kind);
    x->layers[i] = !layer ? PROVE_NO_LAYER : dense ? PROVE_DENSE : PROVE_MOE;
    x->fwd_ns[i] = exact_ns(x, u->fwd_s);
    x->bwd_ns[i] = exact_ns(x, u->bwd_s);
}

/* The search knows a list of units with times and bytes, and nothing of a
 * model: E, layers, MTP, L. Prefix sums give the bytes of any chunk in one
 * subtraction. moe-train's activations are counted by rank and not by unit, and
 * are left out of the bound. */
static void exact_units(struct exact *x)
{
    const struct model *m = x->c->ctx->model;
    int n = 0;
    exact_unit(x, n++, KIND_E);
    for (int i = 0; i < m->n_layers; i++)
        exact_unit(x, n++, model_layer_kind(m, i));
    for (int i = 0; i < m->n_mtp; i++)
        exact_unit(x, n++, KIND_M);
    exact_unit(x, n++, KIND_L);
    const struct memory_terms *t = &x->c->memory;
    for (int i = 0; i < n; i++) {
        bool counted = t->rules.trainer == TRAINER_MEGATRON;
        x->kept[i + 1] = x->kept[i] + (counted ? t->kept[x->kinds[i]] : 0);
        x->least[i + 1] = x->least[i] + memory_unit_least(t, (int)x->kinds[i]);
    }
}

static bool exact_room(struct exact *x)
{
    struct arena *a = x->arena;
    size_t n = (size_t)x->n_units, s = (size_t)x->n_stages;
    x->letters = arena_alloc(a, n + 1, 1);
    x->kinds = arena_alloc(a, n, sizeof *x->kinds);
    x->layers = arena_alloc(a, n, sizeof *x->layers);
    x->fwd_ns = arena_alloc(a, n, sizeof *x->fwd_ns);
    x->bwd_ns = arena_alloc(a, n, sizeof *x->bwd_ns);
    x->kept = arena_alloc(a, n + 1, sizeof *x->kept);
    x->least = arena_alloc(a, n + 1, sizeof *x->least);
    x->in_flight = arena_alloc(a, s, sizeof *x->in_flight);
    x->scratch.units = arena_alloc(a, s, sizeof *x->scratch.units);
    x->text = arena_alloc(a, n + s, 1);
    return x->letters && x->kinds && x->layers && x->fwd_ns && x->bwd_ns &&
           x->kept && x->least && x->in_flight && x->scratch.units && x->text;
}

/* Chunks of each stage in flight at the rank's fullest moment, before a
 * combined operation adds to them. */
static void exact_moment(struct exact *x, const struct order *o, int rank)
{
    int now[ORDER_MAX_CHUNKS] = {0};
    int n = 0, most = -1;
    for (int i = 0; i < order_walk_size(o, rank); i++) {
        struct order_op op = order_at(o, rank, i);
        bool both = op.fwd_chunk >= 0 && op.bwd_chunk >= 0;
        if (op.fwd_chunk >= 0 && !both) {
            now[op.fwd_chunk]++;
            n++;
        }
        for (int v = 0; n > most && v < x->vpp; v++)
            x->in_flight[v * x->pp + rank] = now[v];
        most = n > most ? n : most;
        if (op.bwd_chunk >= 0 && !both) {
            now[op.bwd_chunk]--;
            n--;
        } else if (both) {
            now[op.fwd_chunk]++;
            now[op.bwd_chunk]--;
        }
    }
}

/* ---- layouts ---- */

/* Cuts to a layout whose strings last until the next call. */
static const struct layout *exact_layout(struct exact *x, const int *cuts)
{
    char *p = x->text;
    for (int s = 0; s < x->n_stages; s++) {
        size_t n = (size_t)(cuts[s + 1] - cuts[s]);
        x->scratch.units[s] = p;
        memcpy(p, x->letters + cuts[s], n);
        p[n] = '\0';
        p += n + 1;
    }
    return &x->scratch;
}

static bool exact_fits(void *data, const int *cuts)
{
    struct exact *x = data;
    return candidates_fits(x->c, exact_layout(x, cuts));
}

/* A bound from below of what a stage holds: weights at their least share and
 * the activations of the moment that exact_moment() found. A stage away from E
 * that looks up tokens or shares the tied table has a copy of it. */
static int64_t exact_chunk_bytes(void *data, int stage, int from, int to)
{
    const struct exact *x = data;
    const struct model *m = x->c->ctx->model;
    if (from == to)
        return 0;
    bool has_loss = to == x->n_units;
    bool has_mtp = x->n_mtp && to > x->n_units - 1 - x->n_mtp;
    bool copy = from > 0 && ((has_loss && m->tied) || has_mtp);
    return x->least[to] - x->least[from] +
           (copy ? memory_unit_least(&x->c->memory, N_KINDS) : 0) +
           x->in_flight[stage] * (x->kept[to] - x->kept[from]);
}

/* ---- the search ---- */

/* Unit 1 is the first decoder layer. */
static bool exact_cuts_whole(const struct exact *x, int at)
{
    return !symbols_parts_layer(x->c->ctx->model, at - 1);
}

static bool exact_is_whole(void *data, int stage, int from, int to)
{
    (void)stage;
    return exact_cuts_whole(data, from) && exact_cuts_whole(data, to);
}

static int64_t exact_limit(const struct exact *x)
{
    const struct plan_context *ctx = x->c->ctx;
    bool margin = ctx->cost->rules.trainer == TRAINER_MEGATRON;
    return (int64_t)(ctx->hbm_bytes / (1 + margin * ctx->memory_margin));
}

/* The search's times in nanoseconds again. */
static void exact_progress(void *data, int64_t best, int64_t bound,
                           double seconds)
{
    const struct exact *x = data;
    const struct prove_hooks *to = &x->opt->hooks;
    const double ns = x->tick_s * 1e9;
    to->progress(to->data, (int64_t)((double)best * ns),
                 (int64_t)((double)bound * ns), seconds);
}

static bool exact_interrupted(void *data)
{
    const struct exact *x = data;
    return x->opt->hooks.interrupted(x->opt->hooks.data);
}

/* The ideal step is what is proved; in other modes the list is longer than
 * asked and the time shorter, since what is found is the start of the shifts
 * below. */
static enum err exact_prove(struct exact *x, struct prove_result *out,
                            struct err_msg *msg)
{
    const struct plan_context *ctx = x->c->ctx;
    const struct exact_options *opt = x->opt;
    const struct prove_saving saving = {
        .kinds = x->layers,
        .both_ns = exact_ns(x, ctx->save.both_s),
        .fwd_ns = exact_ns(x, ctx->save.forward_s),
        .bwd_ns = exact_ns(x, ctx->save.backward_s)};
    const struct prove_memory memory = {.limit_bytes = exact_limit(x),
                                        .chunk_bytes = exact_chunk_bytes,
                                        .fits = exact_fits,
                                        .data = x};
    int top =
        ctx->mode == P2P_IDEAL || opt->top > EXACT_LIST ? opt->top : EXACT_LIST;
    const struct prove_problem p = {
        .order = ctx->schedule->order,
        .n_units = x->n_units,
        .fwd_ns = x->fwd_ns,
        .bwd_ns = x->bwd_ns,
        .n_mtp = x->n_mtp,
        .empty_stages = opt->empty_stages,
        .standalone_mtp = opt->standalone_mtp,
        .allowed = opt->whole_layers ? exact_is_whole : NULL,
        .allowed_data = x,
        .saving = ctx->schedule->order.ep_overlap ? &saving : NULL,
        .whole_operations = !overlap_has_parts(ctx->cost),
        .memory = ctx->hbm_bytes > 0 ? &memory : NULL,
        .top = top < PROVE_MAX_TOP ? top : PROVE_MAX_TOP,
        .time_limit_s = opt->time_limit_s *
                        (ctx->mode == P2P_IDEAL ? 1 : EXACT_PROOF_SHARE),
        .hooks = {.progress = opt->hooks.progress ? exact_progress : NULL,
                  .interrupted =
                      opt->hooks.interrupted ? exact_interrupted : NULL,
                  .data = x}};
    return prove_layouts(x->arena, &p, out, msg);
}

/* ---- shifts, where transfers are not ideal ---- */

/* Shifts know none of the rules of the space, so that each is held to all of
 * them: E and L at the ends, no empty or parted stage where these are not
 * wanted, Megatron's own checks, memory. */
static bool exact_allows(struct exact *x, const int *cuts)
{
    const int n = x->n_units;
    if (cuts[1] < 1 || cuts[x->n_stages - 1] > n - 1)
        return false;
    for (int s = 0; s < x->n_stages; s++)
        if ((!x->opt->empty_stages && cuts[s] == cuts[s + 1]) ||
            (x->opt->whole_layers && !exact_cuts_whole(x, cuts[s])))
            return false;
    const struct layout *l = exact_layout(x, cuts);
    const struct model *m = x->c->ctx->model;
    if (layout_validate(l, m->n_layers, m->n_mtp, NULL) != LAYOUT_OK)
        return false;
    bool with_loss = !x->n_mtp || layout_mtp_stage(l) == x->n_stages - 1;
    return (with_loss || x->opt->standalone_mtp) && candidates_fits(x->c, l);
}

/* Cuts `first` to `last`, moved by one unit. */
struct shift {
    int first, last, by;
};

/* The step with the shift made, into `to`; INFINITY where it is no layout of
 * the space. */
static double exact_shifted(struct exact *x, const int *cuts, struct shift m,
                            int *to)
{
    double step_s = 0;
    memcpy(to, cuts, ((size_t)x->n_stages + 1) * sizeof *to);
    for (int k = m.first; k <= m.last; k++)
        to[k] += m.by;
    if (to[m.first - 1] > to[m.first] || to[m.last] > to[m.last + 1] ||
        !exact_allows(x, to))
        return INFINITY;
    enum err e = plan_engine_step(x->c->engine, exact_layout(x, to), &step_s);
    return e == ERR_OK ? step_s : (double)INFINITY;
}

/* Makes the best of all shifts of a range of cuts, or of those there was time
 * for; true when one is faster. */
static bool exact_best_shift(struct exact *x, int *cuts, int *to,
                             double *step_s)
{
    const int n = x->n_stages;
    struct shift best = {0, 0, 0};
    for (int i = 1; i < n; i++)
        for (int k = 2 * i; k < 2 * n && clock_now_s() < x->end_s; k++) {
            const struct shift m = {i, k / 2, k % 2 ? 1 : -1};
            const double t = exact_shifted(x, cuts, m, to);
            if (t < *step_s) {
                *step_s = t;
                best = m;
            }
        }
    for (int k = best.first; best.by && k <= best.last; k++)
        cuts[k] += best.by;
    return best.by != 0;
}

/* Steepest descent over shifts from one layout; where it ends is a candidate,
 * if it is a new one. */
static enum err exact_improve(struct exact *x, const int *from,
                              struct err_msg *msg)
{
    const size_t n = (size_t)x->n_stages + 1;
    int *cuts = arena_alloc(x->arena, 2 * n, sizeof *cuts);
    double step_s = 0;
    if (!cuts)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    memcpy(cuts, from, n * sizeof *cuts);
    enum err e = plan_engine_step(x->c->engine, exact_layout(x, cuts), &step_s);
    if (e != ERR_OK)
        return err_set(msg, e, "search: %s", plan_engine_error(x->c->engine));
    for (int k = 0;
         k < EXACT_SHIFTS && exact_best_shift(x, cuts, cuts + n, &step_s); k++)
        ;
    const struct layout *l = exact_layout(x, cuts);
    return candidates_has(x->c, l) ? ERR_OK : candidates_add(x->c, l, msg);
}

static enum err exact_take(struct exact *x, const struct prove_result *r,
                           struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < r->n_layouts && e == ERR_OK; i++)
        e = candidates_add(x->c, exact_layout(x, r->layouts[i].cuts), msg);
    bool ideal = x->c->ctx->mode == P2P_IDEAL;
    for (int i = 0; i < r->n_layouts && i < EXACT_STARTS && !ideal; i++)
        e = e == ERR_OK ? exact_improve(x, r->layouts[i].cuts, msg) : e;
    return e;
}

/* Outside the pipeline: no layout's heaviest rank holds less than an even
 * share of the parameters. */
static double exact_least_overhead(const struct exact *x)
{
    const struct cost *c = x->c->ctx->cost;
    const struct model *m = x->c->ctx->model;
    double share =
        (double)(model_total_params(m) + model_mtp_params(m)) / x->pp;
    return c->overhead_s +
           c->overhead_s_per_byte * share * c->rules.param_bytes;
}

enum err exact_search(struct candidates *c, const struct exact_options *opt,
                      struct exact_result *out, struct err_msg *msg)
{
    const struct model *m = c->ctx->model;
    const struct order *o = &c->ctx->schedule->order;
    struct prove_result r;
    struct exact x = {.arena = c->arena,
                      .c = c,
                      .opt = opt,
                      .n_units = m->n_layers + m->n_mtp + 2,
                      .n_stages = o->pp * o->vpp,
                      .pp = o->pp,
                      .vpp = o->vpp,
                      .n_mtp = m->n_mtp};
    x.end_s = opt->time_limit_s > 0 ? clock_now_s() + opt->time_limit_s
                                    : (double)INFINITY;
    x.scratch =
        (struct layout){.pp = o->pp, .vpp = o->vpp, .n_stages = x.n_stages};
    if (!exact_room(&x))
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    x.tick_s = exact_tick(&x);
    exact_units(&x);
    for (int rank = 0; rank < o->pp; rank++)
        exact_moment(&x, o, rank);
    enum err e = exact_prove(&x, &r, msg);
    if (e == ERR_OK)
        e = exact_take(&x, &r, msg);
    if (e != ERR_OK)
        return e;
    // the search's bound is one of the layouts that are not in its list
    int64_t bound_ns = r.bound_ns;
    if (r.n_layouts > 0 && r.layouts[0].step_ns < bound_ns)
        bound_ns = r.layouts[0].step_ns;
    *out = (struct exact_result){.state = r.state,
                                 .bound_s = (double)bound_ns * x.tick_s +
                                            exact_least_overhead(&x),
                                 .tick_s = x.tick_s,
                                 .n_found = r.n_layouts};
    memcpy(out->space, r.space, sizeof out->space);
    return ERR_OK;
}
