/*
 * The loop is written once and compiled for one set of times and for
 * GRAPH_LANES: the number of lanes is a constant in each, and the compiler
 * makes vectors of the lanes. (gcc 12 does so with -O3 -fno-trapping-math and
 * from 16 lanes on; with 8 it unrolls the loop first and then finds no vectors
 * in it.) The memory places of an instruction's result and its operands never
 * coincide (graph_slots.c), which is what `restrict` says.
 */
#include "graph.h"

#include "graph_store.h"

struct graph_values {
    double *values;  // [slot * lanes + lane]
    double *weights; // [weight * lanes + lane]
    int lanes;       // of the last evaluation
};

struct graph_values *graph_values_new(struct arena *a, const struct graph *g,
                                      int lanes)
{
    const size_t n = (size_t)lanes;
    struct graph_values *v = arena_alloc(a, 1, sizeof *v);
    if (!v)
        return NULL;
    v->values = arena_alloc(a, (size_t)g->n_slots * n, sizeof *v->values);
    v->weights = arena_alloc(a, (size_t)g->n_weights * n, sizeof *v->weights);
    v->lanes = 1;
    return v->values && v->weights ? v : NULL;
}

static inline void eval_weights(const struct graph *g, const double *params,
                                double *restrict weights, const int lanes)
{
    for (int i = 0; i < g->n_weights; i++) {
        const struct graph_weight *w = &g->weights[i];
        const double *x = params + w->param[0] * lanes;
        const double *y = params + w->param[1] * lanes;
        const double *z = params + w->param[2] * lanes;
        const double *more = params + w->param[3] * lanes;
        for (int l = 0; l < lanes; l++)
            weights[i * lanes + l] = x[l] + y[l] + z[l] + more[l];
    }
}

static inline void eval_nodes(const struct graph *g, const double *weights,
                              double *values, const int lanes)
{
    for (int i = 0; i < g->n_instrs; i++) {
        const struct graph_instr *in = &g->instrs[i];
        double *restrict d = values + in->dst * lanes;
        const double *a = values + in->a * lanes;
        const double *b = values + in->b * lanes;
        const double *wa = weights + in->wa * lanes;
        const double *wb = weights + in->wb * lanes;
        for (int l = 0; l < lanes; l++) {
            double x = a[l] + wa[l], y = b[l] + wb[l];
            d[l] = x > y ? x : y;
        }
    }
}

void graph_eval(const struct graph *g, const double *params,
                struct graph_values *v)
{
    v->lanes = 1;
    v->values[0] = 0;
    eval_weights(g, params, v->weights, 1);
    eval_nodes(g, v->weights, v->values, 1);
}

void graph_eval_lanes(const struct graph *g, const double *params,
                      struct graph_values *v)
{
    v->lanes = GRAPH_LANES;
    for (int l = 0; l < GRAPH_LANES; l++)
        v->values[l] = 0;
    eval_weights(g, params, v->weights, GRAPH_LANES);
    eval_nodes(g, v->weights, v->values, GRAPH_LANES);
}

/* ---- results ---- */

static double value_at(const struct graph_values *v, int slot, int lane)
{
    return v->values[slot * v->lanes + lane];
}

double graph_finish(const struct graph *g, const struct graph_values *v,
                    int rank, int lane)
{
    return value_at(v, g->finish[rank], lane);
}

double graph_makespan(const struct graph *g, const struct graph_values *v,
                      int lane)
{
    double most = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        double end = graph_finish(g, v, r, lane);
        most = end > most ? end : most;
    }
    return most;
}

/* How much later the last round of all ranks is than the one of a period
 * before, at the least and at the most. Where both agree the schedule repeats
 * itself, and rounds behind need not be simulated. */
struct graph_shift graph_shift(const struct graph *g,
                               const struct graph_values *v, int period,
                               int lane)
{
    const int n = 2 * g->n_ranks, last = g->options.n_rounds;
    const int *now = g->rounds + last * n;
    const int *before = g->rounds + (last - period) * n;
    struct graph_shift shift = {0, 0};
    for (int i = 0; i < n; i++) {
        double d = value_at(v, now[i], lane) - value_at(v, before[i], lane);
        shift.lo = i == 0 || d < shift.lo ? d : shift.lo;
        shift.hi = i == 0 || d > shift.hi ? d : shift.hi;
    }
    return shift;
}

int graph_n_events(const struct graph *g)
{
    return g->n_marks;
}

struct graph_event graph_event_at(const struct graph *g,
                                  const struct graph_values *v, int i)
{
    const struct graph_mark *m = &g->marks[i];
    struct graph_event event = m->event;
    event.end = value_at(v, m->end, 0);
    event.start = m->start >= 0 ? value_at(v, m->start, 0)
                                : event.end - v->weights[m->weight * v->lanes];
    return event;
}
