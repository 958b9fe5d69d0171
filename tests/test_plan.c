#include "plan/plan.h"
#include "small_model.h"
#include "synthetic_log.h"

#include "failing_json.h"

#include <criterion/criterion.h>

struct fixture {
    struct arena arena;
    struct model m;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx;
    struct err_msg msg;
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.m = small_model(), .cost = study_costs()};
    arena_init(&f->arena);
    cr_assert_eq(schedule_1f1b(&f->arena, 4, 6, &f->schedule, &f->msg), ERR_OK);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->cost,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = 6,
                                   .schedule = &f->schedule};
}

static struct plan predict(struct fixture *f, const char *text)
{
    struct layout l;
    struct plan p;
    cr_assert_eq(layout_read_question(&f->arena,
                                      &(struct layout_question){
                                          text, 4, f->m.n_layers, f->m.n_mtp},
                                      &l, &f->msg),
                 ERR_OK);
    cr_assert_eq(plan_predict(&f->arena, &f->ctx, &l, &p, &f->msg), ERR_OK,
                 "%s", f->msg.text);
    return p;
}

/* With one stage far slower than the rest: M times it, and the chain before
 * and after. */
Test(plan, a_dominant_stage_has_a_closed_form)
{
    struct fixture f;
    set_up(&f);
    struct plan p = predict(&f, "Et|t|t*2|t*4mL");
    double e = 5e-5, t = 3.1e-3, slow = 4 * t + 4.3e-3 + 11.3e-3;
    cr_assert_float_eq(p.pred_step_s, 6 * slow + e + 4 * t, 1e-12);
    cr_assert_eq(p.near_bottleneck, 1);
    arena_clear(&f.arena);
}

Test(plan, overhead_grows_with_the_heaviest_stage)
{
    struct fixture f;
    set_up(&f);
    double before = predict(&f, "Et|t|t*2|t*4mL").pred_step_s;
    f.cost.overhead_s = 0.25;
    f.cost.overhead_s_per_byte = 1e-9;
    struct plan p = predict(&f, "Et|t|t*2|t*4mL");
    struct memory_stage s;
    struct memory_terms t;
    memory_terms(&f.m, &MEMORY_MOE_TRAIN, PLATFORM_HOPPER, &t);
    memory_stage_of(&t, &p.parsed, 3, 1, &s);
    cr_assert_float_eq(p.pred_step_s - before,
                       0.25 + 1e-9 * 4 * (double)s.params, 1e-12);
    arena_clear(&f.arena);
}

/* Every unit's error moves the step by its share; one kind alone is a
 * closed form. */
Test(plan, interval_propagates_standard_errors)
{
    struct fixture f;
    set_up(&f);
    struct plan p = predict(&f, "Et|t|t*2|t*4mL");
    cr_assert_float_eq(p.pred_lo_s, p.pred_hi_s, 1e-15);
    f.cost.unit[KIND_L].bwd_se = 1e-4;
    p = predict(&f, "Et|t|t*2|t*4mL");
    cr_assert_float_eq(p.pred_hi_s - p.pred_step_s, 1.96 * 6 * 1e-4, 1e-9);
    f.cost.unit[KIND_L].bwd_se = 0;
    f.cost.step_noise_rel = 0.01;
    p = predict(&f, "Et|t|t*2|t*4mL");
    cr_assert_float_eq(p.pred_hi_s - p.pred_step_s, 0.0196 * p.pred_step_s,
                       1e-9);
    arena_clear(&f.arena);
}

Test(plan, standalone_mtp_pays_for_shapes_and_larger_messages)
{
    struct fixture f;
    set_up(&f);
    double free_of_charge = predict(&f, "Et*3|t*4|tm|L").pred_step_s;
    f.cost.latency_s = 1e-5;
    double with_latency = predict(&f, "Et*3|t*4|tm|L").pred_step_s;
    f.cost.exchange_sync_s = 1e-5;
    double with_sync = predict(&f, "Et*3|t*4|tm|L").pred_step_s;
    cr_assert_gt(with_latency, free_of_charge);
    cr_assert_gt(with_sync, with_latency);
    double together = predict(&f, "Et*3|t*3|t*2|mL").pred_step_s;
    f.cost.exchange_sync_s = 0;
    cr_assert_float_eq(predict(&f, "Et*3|t*3|t*2|mL").pred_step_s, together,
                       1e-15, "the sync is of standalone layouts only");
    arena_clear(&f.arena);
}

/* One micro-batch is a chain: every stage forward and backward, and each link
 * both ways. Behind the stage with m a message carries two hidden states, and
 * a shape of 24 bytes goes ahead of each. */
Test(plan, messages_behind_standalone_mtp_are_larger)
{
    struct fixture f;
    set_up(&f);
    schedule_1f1b(&f.arena, 4, 1, &f.schedule, &f.msg);
    f.ctx.n_mb = 1;
    double work = predict(&f, "Et*3|t*4|tm|L").pred_step_s;
    f.cost.bytes_per_s = 1e6;
    double state_s = 32 * 64 * 4 / f.cost.bytes_per_s;
    double shape_s = 24 / f.cost.bytes_per_s;
    cr_assert_float_eq(predict(&f, "Et*3|t*4|tm|L").pred_step_s,
                       work + 2 * (1 + 1 + 2) * state_s + 6 * shape_s, 1e-12);
    arena_clear(&f.arena);
}

Test(plan, joint_costs_refuse_layouts_that_part_m_and_L)
{
    struct fixture f;
    struct layout l;
    struct plan p;
    set_up(&f);
    f.cost.joint_ml = true;
    layout_read_question(
        &f.arena,
        &(struct layout_question){"Et*3|t*4|tm|L", 4, f.m.n_layers, f.m.n_mtp},
        &l, &f.msg);
    cr_assert_eq(plan_predict(&f.arena, &f.ctx, &l, &p, &f.msg), ERR_MODEL);
    arena_clear(&f.arena);
}

Test(plan, replay_of_the_costs_is_the_prediction)
{
    struct fixture f;
    struct layout l;
    double fwd[24], bwd[24], step = 0;
    set_up(&f);
    f.cost.latency_s = 3e-5;
    f.cost.bytes_per_s = 1e9;
    f.cost.overhead_s = 1e-3;
    const char *text = "Et*3|t*4|tm|L";
    layout_read_question(
        &f.arena, &(struct layout_question){text, 4, f.m.n_layers, f.m.n_mtp},
        &l, &f.msg);
    for (int i = 0; i < 24; i++) {
        struct cost_times t = cost_stage(&f.cost, &f.m, &l, i / 6);
        fwd[i] = t.fwd_s;
        bwd[i] = t.bwd_s;
    }
    cr_assert_eq(plan_replay(&f.arena, &f.ctx, &(struct plan_ops){&l, fwd, bwd},
                             &step, &f.msg),
                 ERR_OK);
    cr_assert_float_eq(step, predict(&f, text).pred_step_s, 1e-12);
    arena_clear(&f.arena);
}

/* One transfer at a time is waited for, so a slow link shows in the step. */
Test(plan, transfers_are_divided_by_tensor_parallelism_only_with_sequences)
{
    struct fixture f;
    set_up(&f);
    f.cost.bytes_per_s = 1e6;
    double one = predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s;
    f.m.par.tp = 2;
    double whole = predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s;
    f.m.memory.sequence_parallel = true;
    double shared = predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s;
    cr_expect_float_eq(whole, one, 1e-12);
    cr_expect_lt(shared, whole);
    arena_clear(&f.arena);
}

static cJSON *make_json(void *plan)
{
    return plan_to_json(plan);
}

Test(plan, its_json_is_whole_or_not_there)
{
    struct plan_stage stages[2] = {{.units = "Et"}, {.units = "tL"}};
    struct plan p = {.layout = "Et|tL",
                     .standalone_mtp = true,
                     .tight_memory = true,
                     .stages = stages,
                     .n_stages = 2};
    cr_assert(failing_json_try(make_json, &p));
}
