#include "doctor/advice.h"
#include "doctor/stages.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

/* Timers fit the truth to rounding; the rest is what the interval is for. */
static const double EXACT = 1e-6;

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct schedule schedule;
    struct plan_context ctx;
    struct plan_settings set;
    struct fit_run run;
    struct price_question q;
    struct price price;
    struct advice advice;
    struct err_msg msg;
};

static double true_step(struct fixture *x, const struct layout *l)
{
    struct plan p;
    cr_assert_eq(plan_predict(&x->arena, &x->ctx, l, &p, &x->msg), ERR_OK);
    return p.pred_step_s;
}

/* A run of `text` whose timers and step are what the truth says. */
static void set_up(struct fixture *x, const char *text)
{
    *x = (struct fixture){.m = small_model(), .truth = study_costs()};
    const struct overrides none = {.size = {0}};
    arena_init(&x->arena);
    x->truth.overhead_s = 2e-3;
    schedule_1f1b(&x->arena, 4, 6, &x->schedule, &x->msg);
    cr_assert_eq(plan_settings_read(&none, &x->set, &x->msg), ERR_OK);
    x->ctx = (struct plan_context){.model = &x->m,
                                   .cost = &x->truth,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = 6,
                                   .schedule = &x->schedule};
    x->run = synthetic_run(&x->arena, &x->m, &x->truth, text, 0);
    synthetic_steps(&x->arena, &x->run, true_step(x, &x->run.layout));
    x->q = (struct price_question){
        .model = &x->m, .run = &x->run, .set = &x->set, .timers = true};
}

static void ask(struct fixture *x)
{
    cr_assert_eq(price_make(&x->arena, &x->q, &x->price, &x->msg), ERR_OK, "%s",
                 x->msg.text);
    cr_assert_eq(advice_make(&x->arena, &x->q, &x->price, 0, &x->advice),
                 ERR_OK);
}

Test(doctor_advice, timers_of_one_run_find_the_best_layout_and_its_gain)
{
    struct fixture x;
    set_up(&x, "Et*2|t*2|t*2|t*2mL");
    ask(&x);
    cr_assert_eq(x.price.way, PRICE_TIMERS);
    cr_assert_null(x.price.doubt);
    cr_assert_eq(x.advice.verdict, ADVICE_PASTE);
    const double own = true_step(&x, &x.run.layout);
    const double gain = 1 - true_step(&x, &x.advice.pick.parsed) / own;
    cr_assert_float_eq(x.advice.gain, gain, EXACT);
    cr_assert(x.advice.gain_lo < gain && gain < x.advice.gain_hi);
    cr_assert_float_eq(x.advice.step_s, own * (1 - gain), EXACT * own);
    arena_clear(&x.arena);
}

Test(doctor_advice, the_best_layout_is_kept)
{
    struct fixture x;
    set_up(&x, "Et*2|t*2|t*2|t*2mL");
    ask(&x);
    const char *best = x.advice.pick.layout;
    struct fixture y;
    set_up(&y, best);
    ask(&y);
    cr_assert_eq(y.advice.verdict, ADVICE_KEEP, "%s", y.advice.pick.layout);
    arena_clear(&x.arena);
    arena_clear(&y.arena);
}

/* Without timers the truth's head costs half of what its FLOPs say, or twice:
 * the interval has to hold that. */
Test(doctor_advice, without_timers_the_interval_holds_other_heads)
{
    for (int i = 0; i < 3; i++) {
        static const double heads[] = {0.5, 1, 1.9};
        struct fixture x;
        struct cost by_flops;
        set_up(&x, "Et*2|t*2|t*2|t*2mL");
        cost_analytic(&x.m, 1e9, &by_flops);
        by_flops.unit[KIND_L].fwd_s *= heads[i];
        by_flops.unit[KIND_L].bwd_s *= heads[i];
        by_flops.rules = x.truth.rules;
        x.truth = by_flops;
        const double own = true_step(&x, &x.run.layout);
        synthetic_steps(&x.arena, &x.run, own);
        x.q.timers = false;
        ask(&x);
        cr_assert_eq(x.price.way, PRICE_FLOPS);
        const double gain = 1 - true_step(&x, &x.advice.pick.parsed) / own;
        cr_assert(x.advice.gain_lo <= gain && gain <= x.advice.gain_hi,
                  "%g of %g to %g", gain, x.advice.gain_lo, x.advice.gain_hi);
        arena_clear(&x.arena);
    }
}

/* Two stages do not tell E, t and the head apart: FLOPs join in. */
Test(doctor_advice, what_one_layout_does_not_tell_apart_has_a_prior)
{
    struct fixture x;
    set_up(&x, "Et*2|t*2|t*2|t*2mL");
    x.m.par.pp = 2;
    x.m.par.world = 2;
    schedule_1f1b(&x.arena, 2, 6, &x.schedule, &x.msg);
    x.run = synthetic_run(&x.arena, &x.m, &x.truth, "Et*4|t*4mL", 0);
    synthetic_steps(&x.arena, &x.run, true_step(&x, &x.run.layout));
    ask(&x);
    cr_assert_eq(x.price.way, PRICE_PRIOR);
    const double own = true_step(&x, &x.run.layout);
    const double gain = 1 - true_step(&x, &x.advice.pick.parsed) / own;
    cr_assert(x.advice.gain_lo <= gain && gain <= x.advice.gain_hi,
              "%g of %g to %g", gain, x.advice.gain_lo, x.advice.gain_hi);
    arena_clear(&x.arena);
}

Test(doctor_advice, timers_that_contradict_the_step_carry_none)
{
    for (int i = 0; i < 2; i++) {
        struct fixture x;
        set_up(&x, "Et*2|t*2|t*2|t*2mL");
        const double own = true_step(&x, &x.run.layout);
        synthetic_steps(&x.arena, &x.run, i ? own * 3 : own / 2);
        ask(&x);
        cr_assert_not_null(x.price.doubt);
        cr_assert_eq(x.advice.verdict, ADVICE_NONE);
        cr_assert_str_eq(x.advice.why, x.price.doubt);
        arena_clear(&x.arena);
    }
}

Test(doctor_advice, timers_of_another_layout_carry_none)
{
    struct fixture x;
    struct layout other;
    set_up(&x, "Et*2|t*2|t*2|t*2mL");
    cr_assert_eq(layout_read(&x.arena, "Et|t*4|t|t*2mL", &x.m, &other, &x.msg),
                 ERR_OK);
    x.run.layout = other;
    ask(&x);
    cr_assert_eq(x.advice.verdict, ADVICE_NONE);
    arena_clear(&x.arena);
}

Test(doctor_advice, names_the_stage_that_holds_the_others_back)
{
    struct fixture x;
    struct stages s, estimate;
    set_up(&x, "Et*2|t*2|t*2|t*2mL");
    cr_assert_eq(stages_of_timers(&x.arena, &x.m, &x.run, &s, &x.msg), ERR_OK);
    cr_assert_eq(s.slowest, 3);
    const double t = 3.1e-3, head = 15.6e-3, e = 5e-5; // study_costs()
    const double others = (6 * t + e) / 3, most = 2 * t + head;
    cr_assert_float_eq(s.excess, most / others - 1, EXACT);
    cr_assert_float_eq(s.waits_s, 6 * (most - (8 * t + head + e) / 4), EXACT);
    cr_assert_eq(stages_of_costs(&x.arena, &x.ctx, &x.run, &estimate, &x.msg),
                 ERR_OK);
    for (int r = 0; r < 4; r++)
        cr_assert_float_eq(estimate.work_s[r], s.work_s[r], EXACT);
    cr_assert_eq(stages_of_ranks(&x.arena, x.run.log, 4, &s, &x.msg), ERR_OK);
    cr_assert_eq(s.source, STAGES_RANKS);
    cr_assert_eq(s.slowest, 3);
    // a rank that no block lists may be the slowest
    cr_assert_eq(stages_of_ranks(&x.arena, x.run.log, 5, &s, &x.msg), ERR_OK);
    cr_assert_eq(s.source, STAGES_NONE);
    arena_clear(&x.arena);
}
