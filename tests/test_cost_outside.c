#include "cost/outside.h"
#include "model/weights.h"
#include "small_model.h"

#include <criterion/criterion.h>

static const double ROUNDING = 1e-12;

struct outside_case {
    struct arena arena;
    struct model m;
    struct layout l;
    struct cost c;
};

static void set_up(struct outside_case *x, const char *text)
{
    struct err_msg msg;
    *x = (struct outside_case){.m = small_model()};
    arena_init(&x->arena);
    x->m.n_experts = 0; // all dense: one number of replicas
    x->m.tied = false;
    x->m.n_mtp = 0;
    x->m.memory.grad_bytes = 4;
    cr_assert_eq(layout_parse(&x->arena, text, 4, &x->l, &msg), LAYOUT_OK, "%s",
                 msg.text);
}

static double params_of(const struct outside_case *x, int n_t, bool e, bool l)
{
    return (double)(n_t * model_unit_params(&x->m, KIND_T) +
                    (e ? model_unit_params(&x->m, KIND_E) : 0) +
                    (l ? model_unit_params(&x->m, KIND_L) : 0));
}

Test(outside, one_node_sends_nothing)
{
    struct outside_case x;
    set_up(&x, "Et*2|t*2|t*2|t*2L");
    x.m.par.dp = 8;
    cr_expect_float_eq(outside_dp_bytes(&x.m, &x.l, 0, 8), 0, ROUNDING);
    cr_expect_float_eq(outside_dp_bytes(&x.m, &x.l, 0, 0), 0, ROUNDING);
    arena_clear(&x.arena);
}

/* 2 (n-1)/n of the rank's gradients, n nodes, whatever shares a node. */
Test(outside, replicas_of_a_node_reduce_among_themselves_first)
{
    struct outside_case x;
    static const struct {
        int tp, dp, nodes;
    } cases[] = {{8, 4, 4}, {4, 8, 4}, {1, 16, 2}, {2, 32, 8}};
    set_up(&x, "Et*2|t*2|t*2|t*2L");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        x.m.par.tp = cases[i].tp;
        x.m.par.dp = cases[i].dp;
        const double n = cases[i].nodes;
        const double want = 2 * (n - 1) / n * 4 * params_of(&x, 2, true, false);
        cr_expect_float_eq(outside_dp_bytes(&x.m, &x.l, 0, 8), want,
                           ROUNDING * want, "case %zu", i);
    }
    arena_clear(&x.arena);
}

/* A group of 16 ranks lies on two nodes, each of which sends its half. */
Test(outside, a_tensor_group_wider_than_a_node_shares_the_way_out)
{
    struct outside_case x;
    set_up(&x, "Et*2|t*2|t*2|t*2L");
    x.m.par.tp = 16;
    x.m.par.dp = 2;
    const double want = 2 * 0.5 * 4 * params_of(&x, 2, false, false) / 2;
    cr_expect_float_eq(outside_dp_bytes(&x.m, &x.l, 1, 8), want,
                       ROUNDING * want);
    arena_clear(&x.arena);
}

/* Experts have replicas of their own: DP 16 with EP 8 on nodes of 8 leaves two
 * of each. */
Test(outside, experts_are_reduced_over_expert_replicas)
{
    struct outside_case x;
    set_up(&x, "Et*2|t*2|t*2|t*2L");
    x.m.n_experts = 8;
    x.m.par.ep = 8;
    x.m.par.dp = 16;
    struct weights t;
    double shared = 0, experts = 0;
    weights_of_unit(&x.m, KIND_T, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++)
        if (WEIGHT_USE[t.row[i].role].trained)
            *(t.row[i].expert ? &experts : &shared) +=
                2 * (double)weight_params(&t.row[i]);
    cr_assert_gt(experts, 0);
    const double want = 4 * (2 * 0.5 * shared + 2 * 0.5 * experts);
    cr_expect_float_eq(outside_dp_bytes(&x.m, &x.l, 1, 8), want,
                       ROUNDING * want);
    arena_clear(&x.arena);
}

/* The heaviest rank ends last; overlap hides as much as there is to hide
 * behind. */
Test(outside, overlap_hides_halves_behind_one_micro_batch)
{
    struct outside_case x;
    set_up(&x, "Et*1|t*3|t*2|t*2L");
    x.m.vocab = x.m.padded_vocab = 8; // tables weigh nothing
    x.m.par.tp = 8;
    x.m.par.dp = 2;
    x.c.dp = (struct cost_dp){1e-9, 0, 8};
    x.c.unit[KIND_T] = (struct unit_cost){true, 1e-9, 0, 2e-9, 0};
    const double all = 1e-9 * outside_dp_bytes(&x.m, &x.l, 1, 8);
    cr_assert_gt(all / 2, 6e-9);
    cr_expect_float_eq(outside_dp_s(&x.c, &x.m, &x.l), all, ROUNDING * all);
    x.m.memory.overlap_grad_reduce = true;
    cr_expect_float_eq(outside_dp_s(&x.c, &x.m, &x.l), all - 6e-9,
                       ROUNDING * all);
    x.m.memory.overlap_param_gather = true;
    cr_expect_float_eq(outside_dp_s(&x.c, &x.m, &x.l), all - 9e-9,
                       ROUNDING * all);
    x.c.unit[KIND_T] = (struct unit_cost){true, 1, 0, 2, 0};
    cr_expect_float_eq(outside_dp_s(&x.c, &x.m, &x.l), 0, ROUNDING);
    arena_clear(&x.arena);
}
