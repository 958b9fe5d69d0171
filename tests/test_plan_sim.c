#include "base/json.h"
#include "base/text.h"
#include "plan/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char VECTORS[] = "../shared/vectors/schedule_vectors.jsonl";
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
    for (int mode = 0; mode < N_P2P_MODES; mode++)
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
        if (x.events[i].rank == 3 && x.events[i].kind != OP_EXCHANGE)
            busy += x.events[i].end_s - x.events[i].start_s;
    cr_assert_float_eq(busy, M * 13.0, 1e-9);
    cr_assert_float_eq(x.busy_s[3], M * 13.0, 1e-9);
    arena_clear(&a);
}

static void numbers(const cJSON *v, const char *key, double *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(v, key)) *out++ = item->valuedouble;
}

/* True when the vector is one this version simulates. */
static bool check_vector(const cJSON *v)
{
    static double f[MAX_P], b[MAX_P];
    int pp = json_get(v, "P")->valueint, m = json_get(v, "M")->valueint;
    if (json_get(v, "V")->valueint != 1 ||
        !cJSON_IsTrue(json_get(v, "feasible")))
        return false;
    numbers(v, "fwd", f);
    numbers(v, "bwd", b);
    double x =
        json_get(v, "lat")->valuedouble +
        json_get(v, "bytes")->valuedouble / json_get(v, "bw")->valuedouble;
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct arena a;
        arena_init(&a);
        const char *name = p2p_mode_name((enum p2p_mode)mode);
        double want = json_get(json_get(v, name), "step_time")->valuedouble;
        double got = step(&a, pp, m, f, b, x, (enum p2p_mode)mode);
        cr_expect_float_eq(got, want, VECTOR * want, "id %d %s",
                           json_get(v, "id")->valueint, name);
        arena_clear(&a);
    }
    return true;
}

Test(sim, agrees_with_every_shared_vector_of_one_chunk)
{
    struct arena a;
    struct text_span text;
    struct err_msg msg;
    arena_init(&a);
    if (text_read_file(&a, VECTORS, 1 << 24, &text, &msg) != ERR_OK)
        cr_skip_test("%s is not there", VECTORS);
    int n = 0;
    char *rest = text.data;
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        cJSON *v = NULL;
        cr_assert_eq(json_parse(line, VECTORS, &v, &msg), ERR_OK);
        n += check_vector(v);
        cJSON_Delete(v);
    }
    cr_assert_eq(n, 23);
    arena_clear(&a);
}

Test(sim, modes_are_named_and_overlap_is_refused)
{
    enum p2p_mode mode = P2P_IDEAL;
    struct err_msg msg;
    cr_assert_eq(p2p_mode_from_name("blocking", &mode, &msg), ERR_OK);
    cr_assert_eq(mode, P2P_BLOCKING);
    cr_assert_eq(p2p_mode_from_name("overlap", &mode, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "virtual stages"), "%s", msg.text);
    cr_assert_eq(p2p_mode_from_name("fast", &mode, &msg), ERR_PARSE);
}
