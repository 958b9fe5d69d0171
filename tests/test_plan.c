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

/* Kinds in turn, with and without a shape exchange, more than an engine takes
 * at once; each layout keeps its own result. */
Test(plan, many_layouts_side_by_side_are_the_same_as_one_by_one)
{
    static const char *const texts[] = {"Et|t|t*2|t*4mL", "Et*2|t*2|t*2|t*2mL",
                                        "Et*3|t*3|t*2m|L", "Et|t*4|t*2|tmL"};
    enum { MANY = 601, TEXTS = sizeof texts / sizeof texts[0] };
    static struct layout layouts[MANY];
    static struct plan_step steps[MANY];
    struct fixture f;
    set_up(&f);
    f.cost.latency_s = 1e-4;
    f.cost.exchange_sync_s = 2e-4;
    f.cost.overhead_s = 0.25;
    for (int i = 0; i < MANY; i++)
        cr_assert_eq(layout_read_question(
                         &f.arena,
                         &(struct layout_question){texts[i % TEXTS], 4,
                                                   f.m.n_layers, f.m.n_mtp},
                         &layouts[i], &f.msg),
                     ERR_OK, "%s", f.msg.text);
    struct plan_engine *e = plan_engine_new(&f.arena, &f.ctx);
    cr_assert_eq(plan_engine_steps(e, layouts, MANY, steps), ERR_OK);
    for (int i = 0; i < MANY; i++) {
        struct plan p = predict(&f, texts[i % TEXTS]);
        cr_assert_float_eq(steps[i].step_s, p.pred_step_s, 0);
        cr_assert_eq(steps[i].near_bottleneck, p.near_bottleneck);
    }
    cr_assert_lt(steps[1].unevenness, steps[0].unevenness);
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

/* Two chunks a rank have no place in a schedule of one. */
Test(plan, a_layout_of_other_chunks_than_the_schedule_is_refused)
{
    struct fixture f;
    struct layout l;
    struct plan p;
    struct sim_result r;
    set_up(&f);
    const struct layout_question q = {"Et|t|t|t|t|t|t|tmL", 4, 8, 1};
    cr_assert_eq(layout_read_question(&f.arena, &q, &l, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    const struct plan_ops ops = {.layout = &l};
    double step_s;
    cr_expect_eq(plan_predict(&f.arena, &f.ctx, &l, &p, &f.msg), ERR_RANGE);
    cr_expect_str_eq(f.msg.text,
                     "layout has 8 stages, want 4: 4 ranks with 1 chunk");
    cr_expect_eq(plan_simulate(&f.arena, &f.ctx, &l, &r, &f.msg), ERR_RANGE);
    cr_expect_eq(plan_simulate_ops(&f.arena, &f.ctx, &ops, &r, &f.msg),
                 ERR_RANGE);
    cr_expect_eq(plan_replay(&f.arena, &f.ctx, &ops, &step_s, &f.msg),
                 ERR_RANGE);
    arena_clear(&f.arena);
}

/* Every unit's error moves the step by its share; one kind alone is a
 * closed form. */
Test(plan, interval_propagates_standard_errors)
{
    struct fixture f;
    set_up(&f);
    struct plan p = predict(&f, "Et|t|t*2|t*4mL");
    cr_assert(isnan(p.pred_lo_s) && isnan(p.pred_hi_s),
              "costs without errors have no interval");
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

/* One micro-batch is a chain over the three links, each both ways; with two
 * ranks a node the middle one is between nodes. */
Test(plan, a_link_between_nodes_is_as_slow_as_its_own)
{
    struct fixture f;
    set_up(&f);
    schedule_1f1b(&f.arena, 4, 1, &f.schedule, &f.msg);
    f.ctx.n_mb = 1;
    double work = predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s;
    f.cost.latency_s = 1e-4;
    f.cost.parted = true;
    f.cost.between.latency_s = 1e-3;
    cr_expect_float_eq(predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s,
                       work + 6 * 1e-4, 1e-12, "all on one node");
    f.ctx.gpus_per_node = 2;
    cr_expect_float_eq(predict(&f, "Et*2|t*2|t*2|t*2mL").pred_step_s,
                       work + 2 * (2 * 1e-4 + 1e-3), 1e-12);
    arena_clear(&f.arena);
}

static void set_up_two_chunks(struct fixture *f, int n_mb, bool ep_overlap)
{
    set_up(f);
    const struct order order = {4, 2, n_mb, 4, ep_overlap};
    cr_assert_eq(schedule_outline(&order, P2P_OVERLAP, &f->schedule, &f->msg),
                 ERR_OK, "%s", f->msg.text);
    f->ctx.n_mb = n_mb;
    f->ctx.mode = P2P_ASYNC;
}

/* Two chunks a rank: the first micro-batch passes seven boundaries forward,
 * and the last one the same back; one of them is the way from the last rank
 * round to the first. With stages of no time but the last one's, all others
 * lie beside its work. */
static void only_the_loss_costs(struct fixture *f)
{
    for (int k = 0; k < N_KINDS; k++)
        if (k != KIND_L)
            f->cost.unit[k].fwd_s = f->cost.unit[k].bwd_s = 0;
}

Test(plan, the_way_round_to_the_first_rank_may_leave_the_node)
{
    struct fixture f;
    set_up_two_chunks(&f, 4, false);
    only_the_loss_costs(&f);
    const char *text = "Et|t|t|t|t|t|t|tmL";
    double work = predict(&f, text).pred_step_s;
    cr_assert_float_eq(work, 4 * (3.8e-3 + 7.5e-3), 1e-12);
    f.cost.latency_s = 1e-4;
    f.cost.parted = true;
    f.cost.between.latency_s = 1e-3;
    // ranks 0-2 | 3: boundaries 2-3, 3-4 (round) and 6-7 leave a node
    f.ctx.gpus_per_node = 3;
    cr_expect_float_eq(predict(&f, text).pred_step_s,
                       work + 2 * (4 * 1e-4 + 3 * 1e-3), 1e-12);
    arena_clear(&f.arena);
}

/* Behind m on a stage of its own a message carries two hidden states, whatever
 * chunk it goes to; the boundaries before it carry one. */
Test(plan, messages_behind_standalone_mtp_are_larger_with_two_chunks)
{
    struct fixture f;
    set_up_two_chunks(&f, 4, false);
    only_the_loss_costs(&f);
    const char *text = "Et*2|t|t|t|t|t|tm|L";
    double work = predict(&f, text).pred_step_s;
    f.cost.bytes_per_s = 1e7;
    double state_s = 32 * 64 * 4 / f.cost.bytes_per_s;
    cr_expect_float_eq(predict(&f, text).pred_step_s,
                       work + 2 * (6 + 2) * state_s, 1e-12);
    arena_clear(&f.arena);
}

/* What overlap saves is known within an error, and so is the step. */
Test(plan, the_error_of_what_overlap_saves_is_in_the_interval)
{
    struct fixture f;
    const char *text = "Et|t|t|t|t|t|t*2|mL";
    set_up_two_chunks(&f, 8, true);
    f.cost.ep_save = (struct cost_ep_save){true, 4e-4, 2e-4, 2e-4, 0};
    plan_context_costs(&f.ctx, &f.cost);
    struct plan exact = predict(&f, text);
    cr_expect(isnan(exact.pred_hi_s));
    f.cost.ep_save.se_s = 1e-4;
    plan_context_costs(&f.ctx, &f.cost);
    struct plan unsure = predict(&f, text);
    f.cost.ep_save = (struct cost_ep_save){true, 5e-4, 2.5e-4, 2.5e-4, 0};
    plan_context_costs(&f.ctx, &f.cost);
    double moved = exact.pred_step_s - predict(&f, text).pred_step_s;
    cr_expect_gt(moved, 1e-4);
    cr_expect_float_eq(unsure.pred_hi_s - unsure.pred_step_s, 1.96 * moved,
                       1e-12);
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
