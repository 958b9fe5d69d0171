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
 * of p, and what is left is added. Where rounds have not settled M0 is
 * doubled, at last to M. Many inputs pass these stages together, so that lanes
 * stay full.
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
    double *params; // [n_params * lanes]
    int room;       // lanes that there is memory for
    int lanes;      // in use
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

static void put_saved(struct sim_graph *g, int lane, const struct schedule *s,
                      const struct sim_input *in)
{
    const double *saved = in->combined ? in->combined->saved_s : NULL;
    const int n = s->pp * s->vpp * s->vpp;
    for (int i = 0; i < n; i++) {
        const int at = graph_param(g->graph, GRAPH_SAVED, i);
        g->params[at * g->lanes + lane] = saved ? -saved[i] : 0;
    }
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
    if (s->order.ep_overlap && ops)
        put_saved(g, lane, s, in);
}

/* ---- steps ---- */

/* A step that is to be worked out. */
struct job {
    const struct sim_input *in;
    double *step;
    double add; // beyond a short step that is still to be run
    int more;   // micro-batches of it beyond the short one, -1: none is known
};

struct jobs {
    struct job *job;
    int n;
};

/* Memory for one set of times at first: those of single operations are many.
 */
static enum err take_lanes(struct sim_engine *e, struct sim_graph *g, int lanes,
                           struct err_msg *msg)
{
    const size_t n = (size_t)graph_n_params(g->graph) * (size_t)lanes;
    g->lanes = lanes;
    if (g->room >= lanes)
        return ERR_OK;
    g->values = graph_values_new(e->arena, g->graph, lanes);
    g->params = arena_alloc(e->arena, n, sizeof *g->params);
    if (!g->values || !g->params)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    g->room = lanes;
    return ERR_OK;
}

/* Evaluates up to GRAPH_LANES jobs; lanes that are left over repeat the
 * first. */
static enum err jobs_eval(struct sim_engine *e, struct sim_graph *g,
                          const struct jobs *jobs, struct err_msg *msg)
{
    const struct job *job = jobs->job;
    const int n = jobs->n;
    enum err err = take_lanes(e, g, n == 1 ? 1 : GRAPH_LANES, msg);
    if (err != ERR_OK)
        return err;
    for (int l = 0; l < g->lanes; l++)
        put_input(e, g, l, job[l < n ? l : 0].in);
    if (n == 1)
        graph_eval(g->graph, g->params, g->values);
    else
        graph_eval_lanes(g->graph, g->params, g->values);
    for (int l = 0; l < n; l++)
        *job[l].step = graph_makespan(g->graph, g->values, l);
    return ERR_OK;
}

/* Jobs from the i-th on, as many as go side by side. */
static struct jobs jobs_from(const struct jobs *jobs, int n, int i)
{
    return (struct jobs){jobs->job + i,
                         n - i < GRAPH_LANES ? n - i : GRAPH_LANES};
}

static enum err jobs_full(struct sim_engine *e,
                          const struct graph_options *options,
                          const struct jobs *jobs, struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    enum err err = graph_for(e, options, e->schedule->n_mb, &g, msg);
    for (int i = 0; i < jobs->n && err == ERR_OK; i += GRAPH_LANES) {
        const struct jobs some = jobs_from(jobs, jobs->n, i);
        err = jobs_eval(e, g, &some, msg);
    }
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

/* What the rounds beyond a short step of `n_mb` add to a job, if they repeat.
 */
static void look_beyond(const struct sim_engine *e, const struct sim_graph *g,
                        int lane, struct job *job)
{
    const int beyond = e->schedule->n_mb - g->n_mb;
    double shift = 0;
    const int p = find_period(g, lane, &shift);
    job->more = p ? beyond % p : -1;
    job->add = p ? beyond / p * shift : 0;
    if (job->more == 0)
        *job->step += job->add;
}

/* Moves the jobs with `more` micro-batches to the front; how many. */
static int jobs_gather(struct jobs *jobs, int more)
{
    int n = 0;
    for (int i = 0; i < jobs->n; i++)
        if (jobs->job[i].more == more) {
            struct job x = jobs->job[n];
            jobs->job[n++] = jobs->job[i];
            jobs->job[i] = x;
        }
    return n;
}

/* Runs jobs that need a short step of `n_mb`, and adds what is beyond. */
static enum err jobs_rest(struct sim_engine *e, struct graph_options options,
                          int n_mb, const struct jobs *jobs,
                          struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    const int n = jobs->n;
    options.n_rounds = 0;
    enum err err = n ? graph_for(e, &options, n_mb, &g, msg) : ERR_OK;
    for (int i = 0; i < n && err == ERR_OK; i += GRAPH_LANES) {
        const struct jobs some = jobs_from(jobs, n, i);
        err = jobs_eval(e, g, &some, msg);
    }
    for (int i = 0; i < n; i++)
        *jobs->job[i].step += jobs->job[i].add;
    return err;
}

/* Steps from a short one of `n_mb` micro-batches; keeps the jobs whose rounds
 * do not repeat in it. */
static enum err jobs_short(struct sim_engine *e, struct graph_options options,
                           int n_mb, struct jobs *jobs, struct err_msg *msg)
{
    struct sim_graph *g = NULL;
    options.n_rounds = e->schedule->pp;
    enum err err = graph_for(e, &options, n_mb, &g, msg);
    if (err != ERR_OK)
        return err;
    for (int i = 0; i < jobs->n && err == ERR_OK; i += GRAPH_LANES) {
        const struct jobs some = jobs_from(jobs, jobs->n, i);
        err = jobs_eval(e, g, &some, msg);
        for (int l = 0; l < some.n && err == ERR_OK; l++)
            look_beyond(e, g, l, &some.job[l]);
    }
    for (int j = 1; j < options.n_rounds && err == ERR_OK; j++) {
        const struct jobs with_j = {jobs->job, jobs_gather(jobs, j)};
        err = jobs_rest(e, options, n_mb + j, &with_j, msg);
    }
    jobs->n = jobs_gather(jobs, -1);
    return err;
}

/* Rounds settle once the slowest rank has taken up what the others are ahead,
 * which takes the longer the less they differ: a step of twice as many
 * micro-batches is tried until all jobs are done. */
static enum err jobs_run(struct sim_engine *e, struct jobs jobs,
                         struct err_msg *msg)
{
    const int pp = e->schedule->pp, n_mb = e->schedule->n_mb;
    const struct graph_options options = options_of(jobs.job[0].in);
    const bool has_rounds = e->schedule->vpp == 1 && !options.per_operation &&
                            !e->schedule->order.ep_overlap;
    for (int m = 4 * pp + 8; has_rounds && jobs.n && m + pp < n_mb; m *= 2) {
        enum err err = jobs_short(e, options, m, &jobs, msg);
        if (err != ERR_OK)
            return err;
    }
    return jobs.n ? jobs_full(e, &options, &jobs, msg) : ERR_OK;
}

enum err sim_engine_step(struct sim_engine *e, const struct sim_input *in,
                         double *step_s, struct err_msg *msg)
{
    struct job job = {.in = in, .step = step_s};
    return jobs_run(e, (struct jobs){&job, 1}, msg);
}

/* Jobs of the first one's kind, moved to the front. */
static int jobs_alike(const struct jobs *jobs)
{
    const struct graph_options kind = options_of(jobs->job[0].in);
    int n = 0;
    for (int i = 0; i < jobs->n; i++) {
        const struct graph_options mine = options_of(jobs->job[i].in);
        if (!same_options(&mine, &kind))
            continue;
        struct job x = jobs->job[n];
        jobs->job[n++] = jobs->job[i];
        jobs->job[i] = x;
    }
    return n;
}

enum err sim_engine_steps(struct sim_engine *e, const struct sim_input *ins,
                          int n, double *steps_s, struct err_msg *msg)
{
    enum { SIM_AT_ONCE = 1024 }; // bounds the memory of the jobs
    struct job job[SIM_AT_ONCE];
    for (int done = 0; done < n;) {
        struct jobs jobs = {job,
                            n - done < SIM_AT_ONCE ? n - done : SIM_AT_ONCE};
        for (int i = 0; i < jobs.n; i++)
            job[i] =
                (struct job){.in = &ins[done + i], .step = &steps_s[done + i]};
        done += jobs.n;
        while (jobs.n) {
            const int alike = jobs_alike(&jobs);
            enum err err = jobs_run(e, (struct jobs){jobs.job, alike}, msg);
            if (err != ERR_OK)
                return err;
            jobs.job += alike;
            jobs.n -= alike;
        }
    }
    return ERR_OK;
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
    if (op->kind == ORDER_COMBINED && in->combined && in->combined->saved_s)
        t -= in->combined
                 ->saved_s[graph_pair(s, rank, op->fwd_chunk, op->bwd_chunk)];
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
    struct job job = {.in = in, .step = &result.step_s};
    const struct jobs jobs = {&job, 1};
    options.keep = in->want_events;
    if (!e)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    enum err err = graph_for(e, &options, in->schedule->n_mb, &g, msg);
    if (err != ERR_OK)
        return err;
    err = jobs_eval(e, g, &jobs, msg);
    if (err != ERR_OK)
        return err;
    if (copy_result(a, in, g, &result) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "simulation: out of memory");
    *out = result;
    return ERR_OK;
}
