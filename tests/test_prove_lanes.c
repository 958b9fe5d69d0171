#include "prove/lanes.h"
#include "prove_instance.h"

#include <criterion/criterion.h>
#include <string.h>

/* A layout of one chunk a rank, each cut anywhere after the one before. */
static void draw_cuts(struct instance *in, const struct space *sp, int *pos)
{
    int n = sp->n_stages, last = sp->n_pos - 1;
    pos[0] = 0;
    for (int s = 1; s <= n; s++)
        pos[s] = s == n ? last : draw(in, pos[s - 1], last);
}

/* Many micro-batches of 1F1B are not simulated but extended from a steady
 * round: nearly equal ranks take longest to settle. */
Test(prove, steady_rounds_of_1f1b_equal_the_simulation)
{
    static struct instance in;
    for (int number = 0; number < 60; number++) {
        struct arena a;
        struct err_msg msg;
        struct space sp;
        struct lanes *lanes;
        int pos[LANES_WIDE][MAX_STAGES + 1], cuts[MAX_STAGES + 1];
        int flat[LANES_WIDE * (MAX_STAGES + 1)];
        int64_t step[LANES_WIDE];
        draw_instance(&in, number);
        in.problem.order = (struct order){draw(&in, 1, 6), 1, 0, 1, false};
        in.problem.order.n_mb = in.problem.order.pp + draw(&in, 38, 80);
        in.problem.n_units = MAX_UNITS;
        in.problem.n_mtp = 0;
        in.problem.saving = NULL;
        for (int u = 0; u < MAX_UNITS; u++) {
            in.fwd[u] = 1000 + draw(&in, 0, number % 3 ? 400 : 3);
            in.bwd[u] = 2000 + draw(&in, 0, number % 3 ? 400 : 3);
        }
        int n = in.problem.order.pp;
        arena_init(&a);
        cr_assert_eq(space_init(&a, &in.problem, &sp, &msg), ERR_OK);
        cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
        for (int i = 0; i < LANES_WIDE; i++) {
            draw_cuts(&in, &sp, pos[i]);
            memcpy(flat + i * (n + 1), pos[i], sizeof(int) * (size_t)(n + 1));
        }
        lanes_eval(lanes, &sp, flat, LANES_WIDE, step);
        for (int i = 0; i < LANES_WIDE; i++) {
            space_units(&sp, pos[i], cuts);
            cr_assert_eq(step[i], simulate(&in, cuts), "instance %d, layout %d",
                         number, i);
        }
        arena_clear(&a);
    }
}

/* ---- EP overlap on more ranks and chunks than brute force manages ---- */

static void draw_overlapped(struct instance *in, int number)
{
    draw_instance(in, number);
    struct order *o = &in->problem.order;
    o->pp = draw(in, 2, 4);
    o->vpp = draw(in, 2, 4);
    o->ep_overlap = true;
    do {
        o->n_mb = draw(in, o->pp, 24);
        o->group = draw(in, o->pp, o->n_mb);
    } while (order_check(o, NULL) != ERR_OK);
    in->problem.n_units = MAX_UNITS;
    in->problem.n_mtp = 0;
    in->problem.saving = &in->saving;
    for (int u = 0; u < MAX_UNITS; u++) {
        bool layer = u > 0 && u < MAX_UNITS - 1, dense = number % 2 && u < 4;
        in->fwd[u] = draw(in, 0, layer ? 40 : 120);
        in->bwd[u] = draw(in, 0, layer ? 80 : 240);
        in->kinds[u] = !layer  ? PROVE_NO_LAYER
                       : dense ? PROVE_DENSE
                               : PROVE_MOE;
    }
}

/* The critical path is as long as its counts say, for these chunks and by sums
 * of the space, and no longer than the step. */
static void check_path(struct lanes *lanes, const struct space *sp,
                       const int *pos, int64_t step_ns)
{
    int64_t value[SPACE_N_SUMS][MAX_STAGES], sum = 0;
    int32_t count[SPACE_N_SUMS * MAX_STAGES];
    struct lanes_times t;
    for (int j = 0; j < SPACE_N_SUMS; j++) {
        t.value[j] = value[j];
        for (int s = 0; s < sp->n_stages; s++)
            value[j][s] = sp->sum[j][pos[s + 1]] - sp->sum[j][pos[s]];
    }
    int64_t length = lanes_path(lanes, &t, false, count);
    for (int j = 0; j < SPACE_N_SUMS; j++)
        for (int s = 0; s < sp->n_stages; s++)
            sum += count[j * sp->n_stages + s] * value[j][s];
    cr_assert_eq(length, sum);
    cr_assert_leq(length, step_ns);
}

/* E in the first stage and L in the last, the other cuts anywhere. */
static void draw_ends(struct instance *in, const struct space *sp, int *pos)
{
    int n = sp->n_stages, last = sp->n_pos - 1;
    pos[0] = 0;
    for (int s = 1; s < n; s++)
        pos[s] = draw(in, s == 1 ? 1 : pos[s - 1], last - 1);
    pos[n] = last;
}

Test(prove, combined_operations_take_what_the_simulator_says)
{
    static struct instance in;
    for (int number = 0; number < 60; number++) {
        struct arena a;
        struct err_msg msg;
        struct space sp;
        struct lanes *lanes;
        int pos[LANES_WIDE * (MAX_STAGES + 1)], cuts[MAX_STAGES + 1];
        int64_t step[LANES_WIDE];
        draw_overlapped(&in, number);
        int size = in.problem.order.pp * in.problem.order.vpp + 1;
        arena_init(&a);
        cr_assert_eq(space_init(&a, &in.problem, &sp, &msg), ERR_OK);
        cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
        for (int i = 0; i < LANES_WIDE; i++)
            draw_ends(&in, &sp, pos + i * size);
        lanes_eval(lanes, &sp, pos, LANES_WIDE, step);
        for (int i = 0; i < LANES_WIDE; i++) {
            space_units(&sp, pos + i * size, cuts);
            cr_assert_eq(step[i], sim_step(&in, cuts), "instance %d, layout %d",
                         number, i);
            check_path(lanes, &sp, pos + i * size, step[i]);
        }
        arena_clear(&a);
    }
}
