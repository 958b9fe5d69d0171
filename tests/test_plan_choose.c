#include "plan/choose.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* One model split in several ways, under free transfers. */
struct fixture {
    struct arena arena;
    struct model m[3];
    struct cost cost;
    struct schedule schedule[3];
    struct choose_way ways[3];
    struct choose_result r;
    struct err_msg msg;
};

static void add_way(struct fixture *f, int i, int pp, int vpp)
{
    const struct order order = {.pp = pp, .vpp = vpp, .n_mb = 8, .group = pp};
    f->m[i] = small_model();
    f->m[i].par.pp = pp;
    f->m[i].par.vpp = vpp;
    f->m[i].batch.n_microbatches = 8;
    cr_assert_eq(schedule_outline(&order, P2P_IDEAL, &f->schedule[i], &f->msg),
                 ERR_OK, "%s", f->msg.text);
    f->ways[i] = (struct choose_way){.pp = pp, .vpp = vpp, .group = pp};
    f->ways[i].ctx = (struct plan_context){.model = &f->m[i],
                                           .cost = &f->cost,
                                           .mode = P2P_IDEAL,
                                           .n_mb = 8,
                                           .schedule = &f->schedule[i]};
}

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.cost = study_costs()};
    arena_init(&f->arena);
    add_way(f, 0, 2, 1);
    add_way(f, 1, 4, 1);
    add_way(f, 2, 4, 2);
}

static enum err run(struct fixture *f, int top)
{
    const struct search_options opt = {.top = top};
    return choose(&f->arena, &(struct choose_from){f->ways, 3}, &opt, &f->r,
                  &f->msg);
}

/* Each way searched by itself gives the same best; the picks are in order. */
Test(choose, ranks_across_ways)
{
    struct fixture f;
    set_up(&f);
    cr_assert_eq(run(&f, 12), ERR_OK, "%s", f.msg.text);
    cr_assert_eq(f.r.n_picks, 12);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        struct search_result alone;
        const struct search_options opt = {.top = 1};
        cr_assert_eq(
            search_layouts(&f.arena, &f.ways[i].ctx, &opt, &alone, &f.msg),
            ERR_OK);
        if (alone.plans[0].pred_step_s < best)
            best = alone.plans[0].pred_step_s;
    }
    cr_assert_leq(f.r.picks[0].plan->pred_step_s, best * PLAN_TIE);
    for (int i = 1; i < f.r.n_picks; i++)
        cr_assert_leq(f.r.picks[i - 1].plan->exp_step_s,
                      f.r.picks[i].plan->exp_step_s * PLAN_TIE);
    for (int i = 0; i < f.r.n_picks; i++)
        cr_assert_geq(f.r.picks[i].plan->pred_step_s, f.r.bound_s - 1e-9);
    arena_clear(&f.arena);
}

Test(choose, a_refused_way_is_left_out_and_keeps_its_reason)
{
    struct fixture f;
    set_up(&f);
    f.ways[0].refusal = "not today";
    cr_assert_eq(run(&f, 50), ERR_OK);
    for (int i = 0; i < f.r.n_picks; i++)
        cr_assert_neq(f.r.picks[i].way, &f.ways[0]);
    f.ways[1].refusal = f.ways[2].refusal = "nor tomorrow";
    cr_assert_eq(run(&f, 50), ERR_MODEL);
    cr_assert_str_eq(f.msg.text, "not today");
    arena_clear(&f.arena);
}

/* A limit that nothing meets refuses each way with the search's words. */
Test(choose, a_way_in_which_nothing_fits_is_refused)
{
    struct fixture f;
    set_up(&f);
    f.ways[2].ctx.hbm_bytes = 1;
    cr_assert_eq(run(&f, 5), ERR_OK);
    cr_assert_not_null(f.ways[2].refusal);
    cr_assert(strstr(f.ways[2].refusal, "fits"), "%s", f.ways[2].refusal);
    cr_assert_null(f.ways[0].refusal);
    arena_clear(&f.arena);
}

/* The layouts of all ways, added as decimal numbers. */
Test(choose, counts_the_layouts_of_all_ways)
{
    struct fixture f;
    set_up(&f);
    cr_assert_eq(run(&f, 1), ERR_OK);
    long long sum = 0;
    for (int i = 0; i < 3; i++)
        sum += strtoll(f.ways[i].result.searched, NULL, 10);
    cr_assert_eq(strtoll(f.r.searched, NULL, 10), sum);
    arena_clear(&f.arena);
}
