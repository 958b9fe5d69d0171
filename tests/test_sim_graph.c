#include "sim/graph.h"

#include <criterion/criterion.h>
#include <string.h>

enum { P = 3, V = 2, M = 12, S = P * V };

struct fixture {
    struct arena a;
    struct schedule s;
    struct graph *g;
    struct graph_values *v;
    struct err_msg msg;
};

static void set_up(struct fixture *f, enum p2p_mode mode, bool keep)
{
    const struct order o = {P, V, M, P, false};
    const struct graph_options options = {.mode = mode, .keep = keep};
    arena_init(&f->a);
    cr_assert_eq(schedule_build(&f->a, &o, mode, &f->s, &f->msg), ERR_OK);
    cr_assert_eq(graph_compile(&f->a, &f->s, &options, &f->g, &f->msg), ERR_OK);
    f->v = graph_values_new(&f->a, f->g, 1);
}

/* Set `lane` of `lanes` sets of times. */
static void fill(const struct graph *g, double *params, int lane, int lanes)
{
    for (int i = 0; i < graph_n_params(g); i++)
        params[i * lanes + lane] = 0;
    for (int s = 0; s < S; s++) {
        int fwd = graph_param(g, GRAPH_FWD, s);
        int bwd = graph_param(g, GRAPH_BWD, s);
        int x = graph_param(g, GRAPH_TRANSFER, s);
        params[fwd * lanes + lane] = 100 + (s * 7 + lane * 3) % 11;
        params[bwd * lanes + lane] = 200 + (s * 5 + lane * 9) % 13;
        params[x * lanes + lane] = 10 + (s + lane) % 3;
    }
}

Test(graph, lanes_are_the_same_as_one_by_one)
{
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct fixture f;
        set_up(&f, (enum p2p_mode)mode, false);
        const size_t n = (size_t)graph_n_params(f.g);
        double *all = arena_alloc(&f.a, n * GRAPH_LANES, sizeof *all);
        double *one = arena_alloc(&f.a, n, sizeof *one);
        struct graph_values *v = graph_values_new(&f.a, f.g, GRAPH_LANES);
        for (int l = 0; l < GRAPH_LANES; l++)
            fill(f.g, all, l, GRAPH_LANES);
        graph_eval_lanes(f.g, all, v);
        for (int l = 0; l < GRAPH_LANES; l++) {
            fill(f.g, one, 0, 1);
            for (int i = 0; i < (int)n; i++)
                one[i] = all[i * GRAPH_LANES + l];
            graph_eval(f.g, one, f.v);
            for (int r = 0; r < P; r++)
                cr_assert_float_eq(graph_finish(f.g, v, r, l),
                                   graph_finish(f.g, f.v, r, 0), 0);
        }
        arena_clear(&f.a);
    }
}

Test(graph, places_are_used_again_and_change_nothing)
{
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct fixture f, all;
        set_up(&f, (enum p2p_mode)mode, false);
        set_up(&all, (enum p2p_mode)mode, true);
        double *params =
            arena_alloc(&f.a, (size_t)graph_n_params(f.g), sizeof *params);
        fill(f.g, params, 0, 1);
        graph_eval(f.g, params, f.v);
        graph_eval(all.g, params, all.v);
        cr_assert_eq(graph_n_slots(all.g), graph_n_nodes(all.g));
        cr_assert_lt(graph_n_slots(f.g), graph_n_nodes(f.g) / 5);
        cr_assert_float_eq(graph_makespan(f.g, f.v, 0),
                           graph_makespan(all.g, all.v, 0), 0);
        arena_clear(&f.a);
        arena_clear(&all.a);
    }
}

/* Every piece of work is one event of its own length, and a rank does one
 * thing at a time. */
Test(graph, events_are_the_work)
{
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct fixture f;
        double work[P] = {0}, want[P] = {0}, clock[P] = {0};
        set_up(&f, (enum p2p_mode)mode, true);
        double *params =
            arena_alloc(&f.a, (size_t)graph_n_params(f.g), sizeof *params);
        fill(f.g, params, 0, 1);
        graph_eval(f.g, params, f.v);
        for (int i = 0; i < graph_n_events(f.g); i++) {
            struct graph_event e = graph_event_at(f.g, f.v, i);
            if (e.kind == OP_POST)
                continue;
            cr_assert_geq(e.start, clock[e.rank]);
            clock[e.rank] = e.end;
            if (e.kind != OP_EXCHANGE)
                work[e.rank] += e.end - e.start;
        }
        for (int s = 0; s < S; s++)
            want[s % P] += M * (params[graph_param(f.g, GRAPH_FWD, s)] +
                                params[graph_param(f.g, GRAPH_BWD, s)]);
        for (int r = 0; r < P; r++)
            cr_assert_float_eq(work[r], want[r], 0);
        arena_clear(&f.a);
    }
}

/* Two ranks that both receive before they send. */
Test(graph, a_deadlock_has_no_graph)
{
    struct arena a;
    struct graph *g = NULL;
    struct err_msg msg = {""};
    const struct op recv0 = {
        .kind = OP_EXCHANGE, .mb = NO_MB, .mbs = {NO_MB, NO_MB, NO_MB, 0}};
    const struct op recv1 = {
        .kind = OP_EXCHANGE, .mb = NO_MB, .mbs = {NO_MB, 0, NO_MB, NO_MB}};
    const struct rank_ops ranks[] = {{&recv0, 1}, {&recv1, 1}};
    const struct schedule s = {.pp = 2,
                               .vpp = 1,
                               .n_mb = 1,
                               .order = {2, 1, 1, 2, false},
                               .mode = P2P_BLOCKING,
                               .ranks = ranks};
    const struct graph_options options = {.mode = P2P_BLOCKING};
    arena_init(&a);
    cr_assert_eq(graph_compile(&a, &s, &options, &g, &msg), ERR_MODEL);
    cr_assert(strstr(msg.text, "rank 0 at operation 0 (exchange); rank 1"),
              "%s", msg.text);
    arena_clear(&a);
}
