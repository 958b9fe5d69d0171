/*
 * How it works: an engine keeps a graph for each kind of input it has seen.
 * An input becomes a set of parameters, several become lanes, and the graph's
 * makespan is the step.
 *
 * With one chunk a rank (1F1B) a step of M micro-batches is warm-up, rounds of
 * a forward and a backward on every rank, and cool-down. The times at the end
 * of a round are a max-plus linear function of those at the end of the round
 * before, always the same one, so once all of them are later than `period`
 * rounds before by one and the same time, they go on so, and the cool-down
 * with them (Cohen, Dubois, Quadrat, Viot 1985). A step is therefore run with
 * few micro-batches, M0, looked at for a period p up to P (the longest cycle
 * through all ranks), run again with M0 + j so that M - M0 - j is a multiple
 * of p, and what is left is added. Where rounds have not settled M0 is raised,
 * at last to M.
 */
#include "sim.h"

#include "graph.h"

#include <string.h>

/* Times that differ by less, relative to a round, have settled: doubles that
 * are no whole numbers round differently. The error of the step is as small,
 * since a max-plus function never spreads its arguments. */
static const double SETTLED = 1e-12;

struct sim_graph {
    struct sim_graph *next;
    struct graph_options options;
    int n_mb;
    struct graph *graph;
    struct graph_values *values;
    double *params; // [n_params * GRAPH_LANES]
    int lanes;      // of params
};

struct sim_engine {
    struct arena *arena;
    const struct schedule *schedule;
    struct sim_graph *graphs;
};

struct sim_engine *sim_engine_new(struct arena *a,
                                  const struct schedule *schedule)
{
    struct sim_engine *e = arena_alloc(a, 1, sizeof *e);
    if (e)
        *e = (struct sim_engine){.arena = a, .schedule = schedule};
    return e;
}

/* ---- graphs ---- */

static bool same_options(const struct graph_options *a,
                         const struct graph_options *b)
{
    return a->mode == b->mode && a->shape_exchange == b->shape_exchange &&
           a->per_operation == b->per_operation && a->parts == b->parts &&
           a->keep == b->keep && a->n_rounds == b->n_rounds;
}

/* The lists of the caller where they are the ones wanted. */
static enum err lists_of(struct sim_engine *e, int n_mb, enum p2p_mode mode,
                         struct schedule *out, struct err_msg *msg)
{
    const struct schedule *s = e->schedule;
    if (n_mb == s->n_mb && mode == s->mode && s->ranks) {
        *out = *s;
        return ERR_OK;
    }
    struct order order = s->order;
    order.n_mb = n_mb;
    return schedule_build(e->arena, &order, mode, out, msg);
}

static enum err graph_for(struct sim_engine *e,
                          const struct graph_options *options, int n_mb,
                          struct sim_graph **out, struct err_msg *msg)
{
    for (struct sim_graph *g = e->graphs; g; g = g->next)
        if (g->n_mb == n_mb && same_options(&g->options, options)) {
            *out = g;
            return ERR_OK;
        }
    struct schedule lists;
    struct sim_graph *g = arena_alloc(e->arena, 1, sizeof *g);
    enum err err =
        g ? lists_of(e, n_mb, options->mode, &lists, msg) : ERR_NOMEM;
    if (err == ERR_OK)
        err = graph_compile(e->arena, &lists, options, &g->graph, msg);
    if (err == ERR_OK) {
        size_t n = (size_t)graph_n_params(g->graph) * GRAPH_LANES;
        g->values = graph_values_new(e->arena, g->graph);
        g->params = arena_alloc(e->arena, n, sizeof *g->params);
        err = g->values && g->params ? ERR_OK : ERR_NOMEM;
    }
    if (err == ERR_NOMEM)
        return err_set(msg, err, "simulation: out of memory");
    if (err != ERR_OK)
        return err;
    g->options = *options;
    g->n_mb = n_mb;
    g->next = e->graphs;
    *out = e->graphs = g;
    return ERR_OK;
}

static struct graph_options options_of(const struct sim_input *in)
{
    const bool ops = in->op_fwd_s != NULL;
    return (struct graph_options){
        .mode = in->mode,
        .shape_exchange = in->shape_exchange && in->mode != P2P_IDEAL &&
                          in->mode != P2P_ASYNC,
        .per_operation = ops,
        .parts = !ops && in->combined && in->combined->head_fwd_s};
}

/* ---- parameters ---- */

static void put(struct sim_graph *g, int lane, enum graph_kind kind,
                const double *from, size_t n)
{
    const int at = graph_param(g->graph, kind, 0);
    double *to = g->params + (size_t)at * (size_t)g->lanes + lane;
    for (size_t i = 0; i < n; i++)
        to[i * (size_t)g->lanes] = from[i];
}

/* Combined operations that save nothing: a forward, then a backward. */
static void put_sums(struct sim_graph *g, int lane, const struct schedule *s,
                     const struct sim_input *in)
{
    for (int r = 0; r < s->pp; r++)
        for (int f = 0; f < s->vpp; f++)
            for (int b = 0; b < s->vpp; b++) {
                double sum =
                    in->fwd_s[f * s->pp + r] + in->bwd_s[b * s->pp + r];
                int at =
                    graph_param(g->graph, GRAPH_MID, graph_pair(s, r, f, b));
                g->params[at * g->lanes + lane] = sum;
            }
}

static void put_combined(struct sim_graph *g, int lane,
                         const struct schedule *s, const struct sim_input *in)
{
    const struct sim_combined *c = in->combined;
    const size_t n = (size_t)s->pp * (size_t)s->vpp;
    if (c)
        put(g, lane, GRAPH_MID, c->mid_s, n * (size_t)s->vpp);
    else
        put_sums(g, lane, s, in);
    if (!g->options.parts)
        return;
    put(g, lane, GRAPH_HEAD_FWD, c->head_fwd_s, n);
    put(g, lane, GRAPH_TAIL_FWD, c->tail_fwd_s, n);
    put(g, lane, GRAPH_HEAD_BWD, c->head_bwd_s, n);
    put(g, lane, GRAPH_TAIL_BWD, c->tail_bwd_s, n);
}

static void put_input(const struct sim_engine *e, struct sim_graph *g, int lane,
                      const struct sim_input *in)
{
    const struct schedule *s = e->schedule;
    const bool ops = g->options.per_operation;
    const size_t n = (size_t)s->pp * (size_t)s->vpp;
    const size_t work = ops ? n * (size_t)s->n_mb : n;
    const double none = 0;
    put(g, lane, GRAPH_NONE, &none, 1);
    put(g, lane, GRAPH_FWD, ops ? in->op_fwd_s : in->fwd_s, work);
    put(g, lane, GRAPH_BWD, ops ? in->op_bwd_s : in->bwd_s, work);
    if (in->mode != P2P_IDEAL)
        put(g, lane, GRAPH_TRANSFER, in->x_s, n);
    put(g, lane, GRAPH_SHAPE, &in->shape_x_s, 1);
    put(g, lane, GRAPH_SYNC, &in->sync_s, 1);
    if (s->order.ep_overlap && !ops)
        put_combined(g, lane, s, in);
}

/* ---- steps ---- */

/* Inputs of one kind that are evaluated together, and where their steps go. */
struct batch {
    const struct sim_input *in[GRAPH_LANES];
    double *out[GRAPH_LANES];
    int n;
};

static void batch_add(struct batch *b, const struct batch *from, int i)
{
    b->in[b->n] = from->in[i];
    b->out[b->n++] = from->out[i];
}

/* Evaluates a batch; lanes that are left over repeat the first. */
static void batch_eval(struct sim_engine *e, struct sim_graph *g,
                       const struct batch *b)
{
    g->lanes = b->n == 1 ? 1 : GRAPH_LANES;
    for (int l = 0; l < g->lanes; l++)
        put_input(e, g, l, b->in[l < b->n ? l : 0]);
    if (b->n == 1)
        graph_eval(g->graph, g->params, g->values);
    else
        graph_eval_lanes(g->graph, g->params, g->values);
    for (int l = 0; l < b->n; l++)
        *b->out[l] = graph_makespan(g->graph, g->values, l);
}

static enum err batch_full(struct sim_engine *e, const struct batch *b,
                           struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    const struct graph_options options = options_of(b->in[0]);
    enum err err = graph_for(e, &options, e->schedule->n_mb, &g, msg);
    if (err == ERR_OK)
        batch_eval(e, g, b);
    return err;
}

/* The shortest period that a lane's rounds repeat with, 0 when none; what it
 * adds goes to `shift`. */
static int find_period(const struct sim_graph *g, int lane, double *shift)
{
    for (int p = 1; p <= g->options.n_rounds; p++) {
        struct graph_shift s = graph_shift(g->graph, g->values, p, lane);
        if (s.hi - s.lo <= SETTLED * s.hi) {
            *shift = s.lo + (s.hi - s.lo) / 2;
            return p;
        }
    }
    return 0;
}

/* Lanes of a batch that need a step of `more` micro-batches beyond the short
 * one, with what is to be added to it. */
struct rest {
    struct batch batch;
    double add[GRAPH_LANES];
};

static enum err rest_eval(struct sim_engine *e, struct graph_options options,
                          int n_mb, const struct rest *rest,
                          struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    options.n_rounds = 0;
    enum err err = graph_for(e, &options, n_mb, &g, msg);
    if (err != ERR_OK)
        return err;
    batch_eval(e, g, &rest->batch);
    for (int i = 0; i < rest->batch.n; i++)
        *rest->batch.out[i] += rest->add[i];
    return ERR_OK;
}

/* Steps from a short one of `n_mb` micro-batches; the lanes whose rounds do
 * not repeat in it go to `left`. */
static enum err batch_short(struct sim_engine *e, const struct batch *b,
                            int n_mb, struct batch *left, struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    struct graph_options options = options_of(b->in[0]);
    const int beyond = e->schedule->n_mb - n_mb;
    int more[GRAPH_LANES];
    double add[GRAPH_LANES];
    options.n_rounds = e->schedule->pp;
    enum err err = graph_for(e, &options, n_mb, &g, msg);
    if (err != ERR_OK)
        return err;
    batch_eval(e, g, b);
    left->n = 0;
    for (int i = 0; i < b->n; i++) {
        double shift = 0;
        const int p = find_period(g, i, &shift);
        more[i] = p ? beyond % p : -1;
        add[i] = p ? beyond / p * shift : 0;
        if (!p)
            batch_add(left, b, i);
        else if (more[i] == 0)
            *b->out[i] += add[i];
    }
    for (int j = 1; j < options.n_rounds && err == ERR_OK; j++) {
        struct rest rest = {.batch = {.n = 0}};
        for (int i = 0; i < b->n; i++)
            if (more[i] == j) {
                rest.add[rest.batch.n] = add[i];
                batch_add(&rest.batch, b, i);
            }
        if (rest.batch.n)
            err = rest_eval(e, options, n_mb + j, &rest, msg);
    }
    return err;
}

/* Rounds settle within a few passes through the pipeline; where two ranks are
 * nearly as slow as each other it takes longer. */
static enum err batch_steps(struct sim_engine *e, const struct batch *b,
                            struct err_msg *msg)
{
    const int pp = e->schedule->pp, n_mb = e->schedule->n_mb;
    const int tries[] = {4 * pp + 8, 16 * pp + 32};
    struct batch todo = *b;
    for (int i = 0; i < 2 && todo.n && e->schedule->vpp == 1; i++) {
        struct batch left;
        if (b->in[0]->op_fwd_s || e->schedule->order.ep_overlap ||
            tries[i] + pp >= n_mb)
            break;
        enum err err = batch_short(e, &todo, tries[i], &left, msg);
        if (err != ERR_OK)
            return err;
        todo = left;
    }
    return todo.n ? batch_full(e, &todo, msg) : ERR_OK;
}

enum err sim_engine_step(struct sim_engine *e, const struct sim_input *in,
                         double *step_s)
{
    const struct batch b = {.in = {in}, .out = {step_s}, .n = 1};
    return batch_steps(e, &b, NULL);
}

/* Adds an input to the batch of its kind; false when that is full, or none is
 * of its kind or free. */
static bool batch_take(struct batch *b, const struct sim_input *in,
                       double *step_s)
{
    if (b->n == GRAPH_LANES)
        return false;
    if (b->n) {
        const struct graph_options mine = options_of(in);
        const struct graph_options other = options_of(b->in[0]);
        if (!same_options(&mine, &other))
            return false;
    }
    b->in[b->n] = in;
    b->out[b->n++] = step_s;
    return true;
}

enum err sim_engine_steps(struct sim_engine *e, const struct sim_input *ins,
                          int n, double *steps_s, struct err_msg *msg)
{
    struct batch waiting = {.n = 0}; // inputs of one kind come in a row
    for (int i = 0; i < n; i++) {
        if (batch_take(&waiting, &ins[i], &steps_s[i]))
            continue;
        enum err err = batch_steps(e, &waiting, msg);
        if (err != ERR_OK)
            return err;
        waiting.n = 0;
        batch_take(&waiting, &ins[i], &steps_s[i]);
    }
    return waiting.n ? batch_steps(e, &waiting, msg) : ERR_OK;
}

/* ---- one step in full ---- */

static double work_s(const struct sim_input *in, int rank,
                     const struct order_op *op)
{
    const struct schedule *s = in->schedule;
    const int fwd = op->fwd_chunk * s->pp + rank;
    const int bwd = op->bwd_chunk * s->pp + rank;
    if (op->kind == ORDER_COMBINED && in->combined && !in->op_fwd_s) {
        const struct sim_combined *c = in->combined;
        double t = c->mid_s[graph_pair(s, rank, op->fwd_chunk, op->bwd_chunk)];
        return c->head_fwd_s ? t + c->head_fwd_s[fwd] + c->tail_fwd_s[fwd] +
                                   c->head_bwd_s[bwd] + c->tail_bwd_s[bwd]
                             : t;
    }
    double t = 0;
    if (op->fwd_chunk >= 0)
        t += in->op_fwd_s ? in->op_fwd_s[fwd * s->n_mb + op->fwd_mb]
                          : in->fwd_s[fwd];
    if (op->bwd_chunk >= 0)
        t += in->op_bwd_s ? in->op_bwd_s[bwd * s->n_mb + op->bwd_mb]
                          : in->bwd_s[bwd];
    return t;
}

static double busy_s(const struct sim_input *in, int rank)
{
    double busy = 0;
    const int n = order_size(&in->schedule->order, rank);
    for (int i = 0; i < n; i++) {
        struct order_op op = order_at(&in->schedule->order, rank, i);
        busy += work_s(in, rank, &op);
    }
    return busy;
}

static struct sim_event event_of(const struct graph_event *e)
{
    return (struct sim_event){.kind = e->kind,
                              .rank = e->rank,
                              .mb = e->mb,
                              .chunk = e->chunk,
                              .bwd_chunk = e->bwd_chunk,
                              .bwd_mb = e->bwd_mb,
                              .message = e->message,
                              .start_s = e->start,
                              .end_s = e->end};
}

/* Intervals that are longer than nothing. */
static enum err copy_events(struct arena *a, const struct sim_graph *g,
                            struct sim_result *out)
{
    const int n = graph_n_events(g->graph);
    struct sim_event *events = arena_alloc(a, (size_t)n, sizeof *events);
    int kept = 0;
    for (int i = 0; i < n && events; i++) {
        struct graph_event e = graph_event_at(g->graph, g->values, i);
        if (e.end > e.start)
            events[kept++] = event_of(&e);
    }
    out->events = events;
    out->n_events = kept;
    return events ? ERR_OK : ERR_NOMEM;
}

static enum err copy_result(struct arena *a, const struct sim_input *in,
                            const struct sim_graph *g, struct sim_result *out)
{
    const int pp = in->schedule->pp;
    double *finish = arena_alloc(a, (size_t)pp, sizeof *finish);
    double *busy = arena_alloc(a, (size_t)pp, sizeof *busy);
    int *in_flight = arena_alloc(a, (size_t)pp, sizeof *in_flight);
    if (!finish || !busy || !in_flight)
        return ERR_NOMEM;
    for (int r = 0; r < pp; r++) {
        finish[r] = graph_finish(g->graph, g->values, r, 0);
        busy[r] = busy_s(in, r);
        in_flight[r] = order_max_in_flight(&in->schedule->order, r);
    }
    out->finish_s = finish;
    out->busy_s = busy;
    out->max_in_flight = in_flight;
    return in->want_events ? copy_events(a, g, out) : ERR_OK;
}

enum err sim_run(struct arena *a, const struct sim_input *in,
                 struct sim_result *out, struct err_msg *msg)
{
    struct sim_engine *e = sim_engine_new(a, in->schedule);
    struct sim_result result = {0};
    struct graph_options options = options_of(in);
    struct sim_graph *g = NULL;
    const struct batch b = {.in = {in}, .out = {&result.step_s}, .n = 1};
    options.keep = in->want_events;
    if (!e)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    enum err err = graph_for(e, &options, in->schedule->n_mb, &g, msg);
    if (err != ERR_OK)
        return err;
    batch_eval(e, g, &b);
    if (copy_result(a, in, g, &result) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    *out = result;
    return ERR_OK;
}
