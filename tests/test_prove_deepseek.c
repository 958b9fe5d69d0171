#include "prove/prove.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- DeepSeek-V3: 61 layers, the first three dense, and one of MTP ---- */

enum { DEEPSEEK_UNITS = 64 };

struct deepseek {
    struct prove_problem problem;
    int64_t fwd[DEEPSEEK_UNITS], bwd[DEEPSEEK_UNITS];
    int n_asked; // by the search whether to end
};

/* E 1, dense 11, others 20, MTP 28, loss 12; backward twice as long. */
static void deepseek_init(struct deepseek *d, int pp, int vpp)
{
    memset(d, 0, sizeof *d);
    for (int u = 0; u < DEEPSEEK_UNITS; u++) {
        d->fwd[u] = u == 0 ? 1 : u <= 3 ? 11 : 20;
        if (u >= DEEPSEEK_UNITS - 2)
            d->fwd[u] = u == DEEPSEEK_UNITS - 1 ? 12 : 28;
        d->bwd[u] = 2 * d->fwd[u];
    }
    d->problem = (struct prove_problem){.order = {pp, vpp, 64, pp, false},
                                        .n_units = DEEPSEEK_UNITS,
                                        .fwd_ns = d->fwd,
                                        .bwd_ns = d->bwd,
                                        .n_mtp = 1,
                                        .empty_stages = true,
                                        .standalone_mtp = true,
                                        .top = 1};
}

static void check_deepseek(int pp, int vpp, int64_t want_ns, const char *space)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    deepseek_init(&d, pp, vpp);
    arena_init(&a);
    enum err e = prove_layouts(&a, &d.problem, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_eq(r.layouts[0].step_ns, want_ns);
    cr_assert_eq(r.bound_ns, want_ns);
    cr_assert_str_eq(r.space, space);
    arena_clear(&a);
}

Test(prove, deepseek_v3_optima_are_proved)
{
    check_deepseek(16, 1, 18702, "3527930788646880");
    check_deepseek(8, 2, 31962, "3527929709749632");
}

Test(prove, a_gap_is_certified_where_one_is_asked_for)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    deepseek_init(&d, 2, 8);
    d.problem.gap = 0.01;
    arena_init(&a);
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_leq(r.gap, 0.01);
    cr_assert_geq(r.bound_ns, 118000); // the ranks' mean load alone is 118464
    cr_assert_leq(r.bound_ns, r.layouts[0].step_ns);
    arena_clear(&a);
}

static bool interrupt_soon(void *data)
{
    struct deepseek *d = data;
    return ++d->n_asked > 20;
}

/* A search that cannot have ended keeps what it found, and a bound below it. */
static void check_unfinished(const struct prove_result *r)
{
    cr_assert_eq(r->state, PROVE_GAP);
    cr_assert_eq(r->n_layouts, 1);
    cr_assert_lt(r->bound_ns, r->layouts[0].step_ns);
    cr_assert_gt(r->bound_ns, r->layouts[0].step_ns / 2);
    cr_assert_gt(r->gap, 0);
}

Test(prove, time_limit_and_interrupt_leave_the_best_and_a_bound)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 3);
    d.problem.time_limit_s = 0.2;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    check_unfinished(&r);
    deepseek_init(&d, 16, 3);
    d.problem.hooks.interrupted = interrupt_soon;
    d.problem.hooks.data = &d;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    check_unfinished(&r);
    cr_assert_leq(d.n_asked, 60); // it ends soon after it was told
    arena_clear(&a);
}

Test(prove, the_best_of_a_large_space_are_listed_in_order)
{
    struct deepseek d;
    struct prove_result r, again;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 1);
    d.problem.top = 5;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(prove_layouts(&a, &d.problem, &again, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 5);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_eq(r.layouts[0].step_ns, 18702);
    for (int i = 0; i < 5; i++) {
        const struct prove_layout *l = &r.layouts[i], *before = l - 1;
        cr_assert(i == 0 || l->step_ns > before->step_ns ||
                  (l->step_ns == before->step_ns && l->near >= before->near));
        cr_assert_eq(memcmp(l->cuts, again.layouts[i].cuts, 17 * sizeof(int)),
                     0, "another answer the second time");
    }
    arena_clear(&a);
}

static int64_t one_byte_a_unit(void *data, int stage, int from, int to)
{
    (void)data, (void)stage;
    return to - from;
}

Test(prove, memory_moves_the_optimum_or_leaves_nothing)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    struct prove_memory memory = {.limit_bytes = 5,
                                  .chunk_bytes = one_byte_a_unit};
    arena_init(&a);
    deepseek_init(&d, 16, 1);
    d.problem.memory = &memory;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_gt(r.layouts[0].step_ns, 18702); // that one has 6 in stage 0
    for (int s = 0; s < 16; s++)
        cr_assert_leq(r.layouts[0].cuts[s + 1] - r.layouts[0].cuts[s], 5);
    memory.limit_bytes = 3; // 48 of 64 units
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 0);
    cr_assert_neq(r.state, PROVE_GAP);
    deepseek_init(&d, 8, 2);
    d.problem.memory = &memory;
    memory.limit_bytes = 7; // 56 of 64: no chunk is too heavy, all together are
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 0);
    cr_assert_neq(r.state, PROVE_GAP);
    arena_clear(&a);
}

Test(prove, refusals_name_the_number)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 9);
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    cr_assert_not_null(strstr(msg.text, "144"));
    deepseek_init(&d, 16, 2);
    d.problem.order.group = 3;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    deepseek_init(&d, 16, 1);
    d.fwd[5] = -1;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    cr_assert_not_null(strstr(msg.text, "unit 5"));
    arena_clear(&a);
}
