#include "base/json.h"
#include "base/text.h"
#include "sim/graph.h"
#include "sim/overlap.h"
#include "sim/sim.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const double EXACT = 1e-12; // sums of doubles in one order
static const double VECTOR = 1e-9; // stated beside the vectors

enum { MAX_P = 1024 };

static double step(struct arena *a, int pp, int m, const double *f,
                   const double *b, double x_s, enum p2p_mode mode)
{
    struct schedule s;
    struct sim_result r;
    struct err_msg msg = {""};
    static double x[MAX_P];
    for (int i = 0; i < pp; i++)
        x[i] = x_s;
    cr_assert_eq(schedule_1f1b(a, pp, m, &s, &msg), ERR_OK, "%s", msg.text);
    const struct sim_input in = {
        .schedule = &s, .fwd_s = f, .bwd_s = b, .x_s = x, .mode = mode};
    cr_assert_eq(sim_run(a, &in, &r, &msg), ERR_OK, "%s", msg.text);
    return r.step_s;
}

/* Equal stages: (M + P - 1)(f + b), so the bubble is (P-1)/(M+P-1). */
Test(sim, equal_stages_have_the_closed_form)
{
    for (int pp = 1; pp <= 8; pp++)
        for (int m = 1; m <= 20; m += 3) {
            struct arena a;
            double f[8], b[8];
            arena_init(&a);
            for (int i = 0; i < pp; i++) {
                f[i] = 1;
                b[i] = 2;
            }
            double want = (m + pp - 1) * 3.0;
            cr_assert_float_eq(step(&a, pp, m, f, b, 0, P2P_IDEAL), want,
                               EXACT * want);
            cr_assert_float_eq(step(&a, pp, m, f, b, 0, P2P_BLOCKING), want,
                               EXACT * want, "free blocking equals ideal");
            arena_clear(&a);
        }
}

/* One rank does everything in order, and no transfer exists. */
Test(sim, one_rank_is_a_sum)
{
    struct arena a;
    double f = 3, b = 5;
    arena_init(&a);
    for (int mode = P2P_IDEAL; mode <= P2P_BLOCKING; mode++)
        cr_assert_float_eq(step(&a, 1, 7, &f, &b, 9, (enum p2p_mode)mode), 56,
                           EXACT);
    arena_clear(&a);
}

/* P 2, M 1: forward, transfer, forward, backward, transfer, backward. */
Test(sim, one_micro_batch_is_a_chain)
{
    struct arena a;
    const double f[] = {1, 2}, b[] = {4, 8};
    arena_init(&a);
    cr_assert_float_eq(step(&a, 2, 1, f, b, 0.5, P2P_ASYNC), 16, EXACT);
    cr_assert_float_eq(step(&a, 2, 1, f, b, 0.5, P2P_BLOCKING), 16, EXACT);
    cr_assert_float_eq(step(&a, 2, 1, f, b, 0.5, P2P_IDEAL), 15, EXACT);
    arena_clear(&a);
}

/* Each of the chain's two exchanges adds one shape transfer and one sync. */
Test(sim, shape_exchange_precedes_every_exchange)
{
    struct arena a;
    struct schedule s;
    struct sim_result r;
    struct err_msg msg;
    const double f[] = {1, 2}, b[] = {4, 8}, x[] = {0.5, 0.5};
    arena_init(&a);
    schedule_1f1b(&a, 2, 1, &s, &msg);
    const struct sim_input in = {.schedule = &s,
                                 .fwd_s = f,
                                 .bwd_s = b,
                                 .x_s = x,
                                 .mode = P2P_BLOCKING,
                                 .shape_exchange = true,
                                 .shape_x_s = 0.25,
                                 .sync_s = 0.125};
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK);
    cr_assert_float_eq(r.step_s, 16 + 2 * 0.375, EXACT);
    arena_clear(&a);
}

Test(sim, replay_of_equal_operations_is_the_same_step)
{
    struct arena a;
    struct schedule s;
    struct sim_result x, y;
    struct err_msg msg;
    enum { P = 4, M = 6 };
    const double f[] = {1, 3, 2, 4}, b[] = {2, 5, 4, 9},
                 link[P] = {0.1, 0.2, 0.3};
    double of[P * M], ob[P * M];
    arena_init(&a);
    schedule_1f1b(&a, P, M, &s, &msg);
    for (int i = 0; i < P * M; i++) {
        of[i] = f[i / M];
        ob[i] = b[i / M];
    }
    struct sim_input in = {.schedule = &s,
                           .fwd_s = f,
                           .bwd_s = b,
                           .x_s = link,
                           .mode = P2P_BLOCKING,
                           .want_events = true};
    cr_assert_eq(sim_run(&a, &in, &x, &msg), ERR_OK);
    in.op_fwd_s = of;
    in.op_bwd_s = ob;
    cr_assert_eq(sim_run(&a, &in, &y, &msg), ERR_OK);
    cr_assert_float_eq(x.step_s, y.step_s, 0);
    double busy = 0;
    for (int i = 0; i < x.n_events; i++)
        if (x.events[i].rank == 3 &&
            (x.events[i].kind == OP_FORWARD || x.events[i].kind == OP_BACKWARD))
            busy += x.events[i].end_s - x.events[i].start_s;
    cr_assert_float_eq(busy, M * 13.0, 1e-9);
    cr_assert_float_eq(x.busy_s[3], M * 13.0, 1e-9);
    arena_clear(&a);
}

/* ---- the shared vectors ---- */

static double *numbers(struct arena *a, const cJSON *v, const char *key)
{
    const cJSON *array = json_get(v, key), *item;
    if (!array)
        return NULL;
    double *out =
        arena_alloc(a, (size_t)cJSON_GetArraySize(array), sizeof *out);
    int n = 0;
    cJSON_ArrayForEach(item, array) out[n++] = item->valuedouble;
    return out;
}

static const char *const keys[N_P2P_MODES] = {
    [P2P_IDEAL] = "ideal",
    [P2P_ASYNC] = "async",
    [P2P_BLOCKING] = "blocking",
    [P2P_OVERLAP] = "overlap",
    [P2P_OVERLAP_FLUSH] = "overlap_flush",
};

static struct order order_of(const cJSON *v)
{
    return (struct order){.pp = json_get(v, "P")->valueint,
                          .vpp = json_get(v, "V")->valueint,
                          .n_mb = json_get(v, "M")->valueint,
                          .group = json_get(v, "N")->valueint,
                          .ep_overlap = json_get(v, "layers") != NULL};
}

/* What combined operations of a vector take. */
static void read_combined(struct arena *a, const cJSON *v,
                          const struct order *o, const struct sim_input *in,
                          struct sim_combined *out)
{
    const struct schedule s = {.pp = o->pp, .vpp = o->vpp};
    const size_t n = (size_t)o->pp * (size_t)o->vpp;
    const char **layers = arena_alloc(a, n, sizeof *layers);
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, json_get(v, "layers")) layers[i++] =
        item->valuestring;
    const double *save = numbers(a, v, "save");
    double *mid = arena_alloc(a, n * (size_t)o->vpp, sizeof *mid);
    *out = (struct sim_combined){mid,
                                 numbers(a, v, "head_f"),
                                 numbers(a, v, "tail_f"),
                                 numbers(a, v, "head_b"),
                                 numbers(a, v, "tail_b"),
                                 NULL};
    const struct overlap_stages stages = {
        in->fwd_s, in->bwd_s, out, layers, {save[0], save[1], save[2]}};
    overlap_mid(&s, &stages, mid, NULL);
}

static void check_finish(const cJSON *want, const struct sim_result *r,
                         const char *what)
{
    double step = json_get(want, "step_time")->valuedouble;
    cr_expect_float_eq(r->step_s, step, VECTOR * step, "%s: %.17g", what,
                       r->step_s / step - 1);
    const cJSON *finish = json_get(want, "finish");
    const cJSON *idle = json_get(want, "idle");
    for (int i = 0; i < cJSON_GetArraySize(finish); i++) {
        cr_expect_float_eq(r->finish_s[i],
                           cJSON_GetArrayItem(finish, i)->valuedouble,
                           VECTOR * step, "%s finish", what);
        cr_expect_float_eq(step - r->busy_s[i],
                           cJSON_GetArrayItem(idle, i)->valuedouble,
                           VECTOR * step, "%s idle", what);
    }
}

/* Returns the number of modes looked at. */
static int check_vector(const cJSON *v)
{
    struct arena a;
    struct err_msg msg;
    struct sim_combined combined;
    const struct order o = order_of(v);
    char what[64];
    int n = 0;
    cr_expect_eq(order_check(&o, &msg) == ERR_OK,
                 cJSON_IsTrue(json_get(v, "feasible")), "%s", msg.text);
    if (!cJSON_IsTrue(json_get(v, "feasible")))
        return 0;
    arena_init(&a);
    double *x = arena_alloc(&a, (size_t)o.pp * (size_t)o.vpp, sizeof *x);
    for (int s = 0; s < o.pp * o.vpp; s++)
        x[s] =
            json_get(v, "lat")->valuedouble +
            json_get(v, "bytes")->valuedouble / json_get(v, "bw")->valuedouble;
    struct sim_input in = {.fwd_s = numbers(&a, v, "fwd"),
                           .bwd_s = numbers(&a, v, "bwd"),
                           .x_s = x};
    if (o.ep_overlap) {
        read_combined(&a, v, &o, &in, &combined);
        in.combined = &combined;
    }
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct schedule s;
        struct sim_result r;
        const cJSON *want = json_get(v, keys[mode]);
        snprintf(what, sizeof what, "id %d %s", json_get(v, "id")->valueint,
                 keys[mode]);
        enum err e = schedule_build(&a, &o, (enum p2p_mode)mode, &s, &msg);
        cr_expect_eq(e == ERR_OK, cJSON_IsObject(want), "%s", what);
        if (e != ERR_OK || !cJSON_IsObject(want))
            continue;
        in.schedule = &s;
        in.mode = (enum p2p_mode)mode;
        cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK, "%s: %s", what,
                     msg.text);
        check_finish(want, &r, what);
        n++;
    }
    const cJSON *flight = json_get(v, "max_inflight");
    for (int r = 0; r < o.pp; r++)
        cr_expect_eq(order_max_in_flight(&o, r),
                     cJSON_GetArrayItem(flight, r)->valueint, "%s", what);
    arena_clear(&a);
    return n;
}

static int check_file(const char *path)
{
    struct arena a;
    struct text_span text;
    struct err_msg msg;
    arena_init(&a);
    if (text_read_file(&a, path, 1 << 24, &text, &msg) != ERR_OK)
        cr_skip_test("%s is not there", path);
    int n = 0;
    char *rest = text.data;
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        cJSON *v = NULL;
        cr_assert_eq(json_parse(line, path, &v, &msg), ERR_OK);
        n += check_vector(v);
        cJSON_Delete(v);
    }
    arena_clear(&a);
    return n;
}

/* 56 feasible ones: ideal and async, 53 blocking, 33 with chunks twice more. */
Test(sim, agrees_with_every_shared_vector_in_every_mode)
{
    cr_assert_eq(check_file("../shared/vectors/schedule_vectors.jsonl"),
                 56 * 2 + 53 + 33 * 2);
}

Test(sim, agrees_with_every_shared_vector_of_ep_overlap)
{
    cr_assert_eq(
        check_file("../shared/vectors/schedule_ep_overlap_vectors.jsonl"),
        36 * 2 + 34 + 31 * 2);
}

/* ---- interleaving ---- */

/* M*V*(f+b) of work a rank and the ramp of P-1 chunks, up and down. */
Test(sim, interleaving_shrinks_the_bubble_by_the_chunks)
{
    for (int pp = 2; pp <= 6; pp++)
        for (int vpp = 2; vpp <= 4; vpp++) {
            struct arena a;
            struct schedule s;
            struct sim_result r;
            struct err_msg msg;
            double f[24], b[24], x[24] = {0};
            const int n_mb = 3 * pp;
            const struct order o = {pp, vpp, n_mb, pp, false};
            arena_init(&a);
            for (int i = 0; i < pp * vpp; i++) {
                f[i] = 1;
                b[i] = 2;
            }
            cr_assert_eq(schedule_build(&a, &o, P2P_OVERLAP, &s, &msg), ERR_OK);
            struct sim_input in = {.schedule = &s,
                                   .fwd_s = f,
                                   .bwd_s = b,
                                   .x_s = x,
                                   .mode = P2P_IDEAL};
            cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK, "%s", msg.text);
            cr_assert_float_eq(r.step_s, 3.0 * (n_mb * vpp + pp - 1), EXACT);
            cr_assert_float_eq(r.busy_s[0], 3.0 * n_mb * vpp, EXACT);
            arena_clear(&a);
        }
}

/* Everything on one rank: a pair saves what its layers save. */
Test(sim, combined_operations_save_what_their_pairs_save)
{
    struct arena a;
    struct schedule s;
    struct sim_result r;
    struct err_msg msg;
    const struct order o = {1, 1, 4, 1, true};
    const double f = 10, b = 20, x = 0, mid = 24;
    const struct sim_combined combined = {.mid_s = &mid};
    arena_init(&a);
    cr_assert_eq(schedule_build(&a, &o, P2P_IDEAL, &s, &msg), ERR_OK);
    struct sim_input in = {.schedule = &s, .fwd_s = &f, .bwd_s = &b, .x_s = &x};
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK);
    cr_assert_float_eq(r.step_s, 4 * 30, EXACT, "nothing said: nothing saved");
    in.combined = &combined;
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK);
    cr_assert_float_eq(r.step_s, 10 + 3 * 24 + 20, EXACT);
    cr_assert_float_eq(r.busy_s[0], r.step_s, EXACT);
    const double ops_f[] = {10, 11, 12, 13}, ops_b[] = {20, 21, 22, 23},
                 saved = 6;
    const struct sim_combined less = {.saved_s = &saved};
    in.combined = &less;
    in.op_fwd_s = ops_f;
    in.op_bwd_s = ops_b;
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK);
    cr_assert_float_eq(r.step_s, 46 + 86 - 3 * 6, EXACT);
    cr_assert_float_eq(r.busy_s[0], r.step_s, EXACT);
    arena_clear(&a);
}

Test(sim, overlap_saves_by_pairs_of_layers_from_both_ends)
{
    const struct overlap_save save = {100, 10, 1};
    cr_assert_float_eq(overlap_saving("dee", "eed", &save), 100 + 100, EXACT);
    cr_assert_float_eq(overlap_saving("dee", "dee", &save), 1 + 100 + 10,
                       EXACT);
    cr_assert_float_eq(overlap_saving("em", "", &save), 0, EXACT);
    cr_assert_float_eq(overlap_saving("e", "ddd", &save), 10, EXACT);
}

/* ---- steady rounds ---- */

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u; // Numerical Recipes
    return *state >> 8;
}

/* One random pipeline: its short step against all of its micro-batches; whole
 * numbers must agree exactly. */
static void check_steady(unsigned *seed, double unit, double tolerance)
{
    enum { P = 16 };
    struct arena a;
    struct schedule s;
    struct sim_result full;
    struct err_msg msg;
    double f[P], b[P], x[P], step = 0;
    arena_init(&a);
    const int pp = 1 + (int)(next_random(seed) % P);
    const int n_mb = 1 + (int)(next_random(seed) % 500);
    const unsigned spread = 1 + next_random(seed) % 50;
    for (int i = 0; i < pp; i++) {
        f[i] = (100 + next_random(seed) % spread) * unit;
        b[i] = (200 + next_random(seed) % spread) * unit;
        x[i] = next_random(seed) % 60 * unit;
    }
    cr_assert_eq(schedule_1f1b(&a, pp, n_mb, &s, &msg), ERR_OK);
    struct sim_input in = {.schedule = &s,
                           .fwd_s = f,
                           .bwd_s = b,
                           .x_s = x,
                           .mode = (enum p2p_mode)(next_random(seed) % 3),
                           .shape_exchange = next_random(seed) % 3 == 0,
                           .shape_x_s = 3 * unit,
                           .sync_s = 5 * unit};
    cr_assert_eq(sim_run(&a, &in, &full, &msg), ERR_OK);
    struct sim_engine *e = sim_engine_new(&a, &s);
    cr_assert_eq(sim_engine_step(e, &in, &step, &msg), ERR_OK);
    cr_assert_float_eq(step, full.step_s, tolerance * full.step_s,
                       "P %d M %d %s: %.17g, in full %.17g", pp, n_mb,
                       p2p_mode_name(in.mode), step, full.step_s);
    arena_clear(&a);
}

Test(sim, steady_rounds_are_the_same_as_all_micro_batches)
{
    unsigned seed = 1;
    for (int i = 0; i < 600; i++)
        check_steady(&seed, 1, 0);
    for (int i = 0; i < 200; i++)
        check_steady(&seed, 1e-3 / 3, 1e-11);
}

/* Two ranks that are nearly as slow as each other: the slower one takes over
 * only after hundreds of rounds, so a short step would be wrong. */
Test(sim, a_slow_take_over_is_not_missed)
{
    struct arena a;
    struct schedule s;
    struct sim_result full;
    struct err_msg msg;
    const double f[] = {1000, 1001, 900, 1000}, b[] = {2000, 2000, 2000, 2002};
    const double x[] = {300, 299, 298, 0};
    arena_init(&a);
    for (int n_mb = 50; n_mb <= 2000; n_mb += 325) {
        double step = 0;
        cr_assert_eq(schedule_1f1b(&a, 4, n_mb, &s, &msg), ERR_OK);
        struct sim_input in = {.schedule = &s,
                               .fwd_s = f,
                               .bwd_s = b,
                               .x_s = x,
                               .mode = P2P_ASYNC};
        cr_assert_eq(sim_run(&a, &in, &full, &msg), ERR_OK);
        cr_assert_eq(sim_engine_step(sim_engine_new(&a, &s), &in, &step, &msg),
                     ERR_OK);
        cr_assert_float_eq(step, full.step_s, 0);
    }
    arena_clear(&a);
}

Test(sim, many_layouts_side_by_side_are_the_same_as_one_by_one)
{
    enum { P = 4, N = 37 };
    struct arena a;
    struct schedule s;
    struct err_msg msg;
    struct sim_input in[N];
    double f[N][P], b[N][P], x[N][P], steps[N];
    unsigned seed = 7;
    arena_init(&a);
    cr_assert_eq(schedule_1f1b(&a, P, 200, &s, &msg), ERR_OK);
    for (int i = 0; i < N; i++) {
        for (int r = 0; r < P; r++) {
            f[i][r] = 50 + next_random(&seed) % 50;
            b[i][r] = 90 + next_random(&seed) % 90;
            x[i][r] = next_random(&seed) % 30;
        }
        in[i] = (struct sim_input){.schedule = &s,
                                   .fwd_s = f[i],
                                   .bwd_s = b[i],
                                   .x_s = x[i],
                                   .mode = P2P_BLOCKING,
                                   .shape_exchange = i % 5 == 4,
                                   .shape_x_s = 2,
                                   .sync_s = 3};
    }
    struct sim_engine *e = sim_engine_new(&a, &s);
    cr_assert_eq(sim_engine_steps(e, in, N, steps, &msg), ERR_OK);
    for (int i = 0; i < N; i++) {
        struct sim_result full;
        cr_assert_eq(sim_run(&a, &in[i], &full, &msg), ERR_OK);
        cr_assert_float_eq(steps[i], full.step_s, 0, "%d", i);
    }
    arena_clear(&a);
}

/* ---- refusals ---- */

Test(sim, modes_are_named)
{
    enum p2p_mode mode = P2P_IDEAL;
    struct err_msg msg;
    for (int i = 0; i < N_P2P_MODES; i++) {
        cr_assert_eq(
            p2p_mode_from_name(p2p_mode_name((enum p2p_mode)i), &mode, &msg),
            ERR_OK);
        cr_assert_eq(mode, i);
    }
    cr_assert_eq(p2p_mode_from_name("fast", &mode, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "overlap-flush"), "%s", msg.text);
}

/* PP4 VPP2 M4: Megatron's shape exchanges wait for each other when sends wait
 * for their receivers. */
Test(sim, a_deadlock_is_named_with_its_ranks)
{
    struct arena a;
    struct schedule s;
    struct sim_result r;
    struct err_msg msg = {""};
    const double one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct order o = {4, 2, 4, 4, false};
    arena_init(&a);
    cr_assert_eq(schedule_build(&a, &o, P2P_BLOCKING, &s, &msg), ERR_OK);
    struct sim_input in = {.schedule = &s,
                           .fwd_s = one,
                           .bwd_s = one,
                           .x_s = one,
                           .mode = P2P_BLOCKING};
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_OK);
    in.shape_exchange = true;
    cr_assert_eq(sim_run(&a, &in, &r, &msg), ERR_MODEL);
    cr_assert(strstr(msg.text, "rank 0 at operation"), "%s", msg.text);
    arena_clear(&a);
}
