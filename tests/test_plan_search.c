#include "layout/baseline.h"
#include "layout/space.h"
#include "plan/search.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { N_MB = 6 };

struct fixture {
    struct arena arena;
    struct model m;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx;
    struct search_result r;
    struct err_msg msg;
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.m = small_model(), .cost = study_costs()};
    arena_init(&f->arena);
    schedule_1f1b(&f->arena, 4, N_MB, &f->schedule, &f->msg);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->cost,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->schedule};
}

struct least {
    struct fixture *f;
    double step_s;
    long n;
};

static enum err look(void *data, const struct layout *l)
{
    struct least *x = data;
    struct plan p;
    cr_assert_eq(plan_predict(&x->f->arena, &x->f->ctx, l, &p, &x->f->msg),
                 ERR_OK);
    x->n++;
    if (p.pred_step_s < x->step_s)
        x->step_s = p.pred_step_s;
    return ERR_OK;
}

/* Against the plain minimum over all layouts: the first may lose up to the tie
 * of 0.5%, and only to a layout with fewer slow stages. */
Test(search, first_is_the_minimum_within_the_tie)
{
    struct fixture f;
    set_up(&f);
    const struct search_options opt = {.standalone_mtp = true, .top = 1000};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    const struct layout_space space = {8, 1, 4, 1, SPACE_NO_EMPTY_STAGE, true};
    struct least least = {.f = &f, .step_s = 1e9};
    layout_space_each(&f.arena, &space, look, &least, &f.msg);
    cr_assert_eq(strtol(f.r.searched, NULL, 10), least.n);
    cr_assert_eq(f.r.n_plans, least.n);
    cr_assert_leq(f.r.plans[0].pred_step_s, least.step_s * 1.005);
    for (int i = 1; i < f.r.n_plans; i++)
        cr_assert_leq(f.r.plans[i - 1].pred_step_s,
                      f.r.plans[i].pred_step_s * 1.005, "order, up to ties");
    arena_clear(&f.arena);
}

Test(search, speedups_are_over_the_baselines)
{
    struct fixture f;
    set_up(&f);
    const struct search_options opt = {.top = 3};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK);
    cr_assert_eq(f.r.n_baselines, 2);
    cr_assert_str_eq(f.r.baselines[0].layout, "Et*2|t*2|t*2|t*2mL");
    cr_assert_float_eq(f.r.plans[0].speedup_vs_default,
                       f.r.baselines[0].pred_step_s / f.r.plans[0].pred_step_s,
                       1e-12);
    cr_assert_gt(f.r.plans[0].speedup_vs_default, 1);
    for (int i = 0; i < f.r.n_plans; i++)
        cr_assert_not(f.r.plans[i].standalone_mtp);
    arena_clear(&f.arena);
}

Test(search, memory_limit_drops_layouts_and_says_when_none_is_left)
{
    struct fixture f;
    struct search_result all;
    set_up(&f);
    const struct search_options opt = {.standalone_mtp = true, .top = 1000};
    search_layouts(&f.arena, &f.ctx, &opt, &all, &f.msg);
    int64_t worst = 0;
    for (int s = 0; s < 4; s++)
        if (all.plans[0].stages[s].mem_bytes > worst)
            worst = all.plans[0].stages[s].mem_bytes;
    f.ctx.hbm_bytes = (double)worst;
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK);
    cr_assert_gt(f.r.n_dropped_for_memory, 0);
    cr_assert_eq(f.r.n_plans + f.r.n_dropped_for_memory, all.n_plans);
    for (int i = 0; i < f.r.n_plans; i++)
        for (int s = 0; s < 4; s++)
            cr_assert_leq((double)f.r.plans[i].stages[s].mem_bytes,
                          f.ctx.hbm_bytes);
    f.ctx.hbm_bytes = 1;
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg),
                 ERR_MODEL);
    arena_clear(&f.arena);
}

/* The least number of slow stages among the plans within the tie of the
 * fastest; *of_fastest gets that of the fastest itself. */
static int fewest_slow_stages(const struct search_result *r, int *of_fastest)
{
    const struct plan *fastest = &r->plans[0];
    for (int i = 1; i < r->n_plans; i++)
        if (r->plans[i].pred_step_s < fastest->pred_step_s)
            fastest = &r->plans[i];
    int fewest = *of_fastest = fastest->near_bottleneck;
    for (int i = 0; i < r->n_plans; i++)
        if (r->plans[i].pred_step_s <= fastest->pred_step_s * PLAN_TIE &&
            r->plans[i].near_bottleneck < fewest)
            fewest = r->plans[i].near_bottleneck;
    return fewest;
}

/* Over many costs of L, some of which make the fastest plan one with more slow
 * stages than another that ties with it. */
Test(search, among_ties_fewer_slow_stages_win)
{
    int n_decided = 0;
    for (int k = 0; k < 100; k++) {
        struct fixture f;
        set_up(&f);
        f.cost.unit[KIND_L].fwd_s = 1e-3 * (1 + 0.04 * k);
        f.cost.unit[KIND_L].bwd_s = 2e-3 * (1 + 0.04 * k);
        const struct search_options opt = {.standalone_mtp = true, .top = 1000};
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg),
                     ERR_OK);
        int of_fastest = 0, fewest = fewest_slow_stages(&f.r, &of_fastest);
        cr_assert_eq(f.r.plans[0].near_bottleneck, fewest);
        n_decided += fewest < of_fastest;
        arena_clear(&f.arena);
    }
    cr_assert_gt(n_decided, 0, "no tie was ever decided");
}

Test(search, joint_costs_search_only_layouts_that_keep_m_with_L)
{
    struct fixture f;
    set_up(&f);
    f.cost.joint_ml = true;
    const struct search_options opt = {.standalone_mtp = true, .top = 1000};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK);
    for (int i = 0; i < f.r.n_plans; i++)
        cr_assert_not(f.r.plans[i].standalone_mtp);
    arena_clear(&f.arena);
}

/* DeepSeek-V3's shape with known optima (proved elsewhere, integer costs). */
static void set_up_deepseek(struct fixture *f, int pp, int vpp, int n_mb)
{
    static uint8_t moe[61];
    static const double fwd[N_KINDS] = {[KIND_E] = 1,
                                        [KIND_T] = 20,
                                        [KIND_T_DENSE] = 11,
                                        [KIND_M] = 28,
                                        [KIND_L] = 12};
    set_up(f);
    for (int i = 0; i < 61; i++)
        moe[i] = i >= 3;
    f->m.n_layers = 61;
    f->m.n_experts = 8;
    f->m.layer_moe = moe;
    f->m.par.pp = pp;
    f->m.par.vpp = vpp;
    f->m.batch.n_microbatches = n_mb;
    for (int k = 0; k < N_KINDS; k++)
        f->cost.unit[k] = (struct unit_cost){
            .known = true, .fwd_s = fwd[k] * 1e-6, .bwd_s = fwd[k] * 2e-6};
    f->cost.latency_s = f->cost.bytes_per_s = 0;
    f->ctx.mode = P2P_IDEAL;
    f->ctx.n_mb = n_mb;
    const struct order order = {
        .pp = pp, .vpp = vpp, .n_mb = n_mb, .group = pp};
    cr_assert_eq(schedule_outline(&order, P2P_IDEAL, &f->schedule, &f->msg),
                 ERR_OK);
}

Test(search, large_spaces_are_proved)
{
    static const struct {
        int pp, vpp, n_mb;
        double step_us;
    } known[] = {{16, 1, 64, 18702}, {8, 2, 64, 31962}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct fixture f;
        set_up_deepseek(&f, known[i].pp, known[i].vpp, known[i].n_mb);
        const struct search_options opt = {
            .standalone_mtp = true, .empty_stages = true, .top = 1};
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg),
                     ERR_OK, "%s", f.msg.text);
        cr_assert_eq(f.r.proof, SEARCH_OPTIMAL);
        cr_assert_float_eq(f.r.plans[0].pred_step_s * 1e6, known[i].step_us,
                           1e-6);
        cr_assert_gt(strlen(f.r.searched), 14, "%s", f.r.searched);
        arena_clear(&f.arena);
    }
}

/* A step of two and a half hours on each rank: more than the search counts in
 * nanoseconds. */
Test(search, steps_of_hours_are_proved_in_coarser_time)
{
    struct fixture f;
    set_up_deepseek(&f, 16, 1, 64);
    for (int k = 0; k < N_KINDS; k++) {
        f.cost.unit[k].fwd_s *= 5e5;
        f.cost.unit[k].bwd_s *= 5e5;
    }
    const struct search_options opt = {
        .standalone_mtp = true, .empty_stages = true, .top = 1};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    cr_assert_eq(f.r.proof, SEARCH_OPTIMAL);
    cr_assert_float_eq(f.r.plans[0].pred_step_s, 18702 * 0.5, 1e-6);
    arena_clear(&f.arena);
}

/* Slow transfers make the ideal bound a bound only. */
Test(search, other_transfers_end_with_a_gap_to_the_ideal_bound)
{
    struct fixture f;
    set_up_deepseek(&f, 16, 1, 64);
    f.cost.latency_s = 1e-6;
    f.ctx.mode = P2P_BLOCKING;
    const struct search_options opt = {.top = 3};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    cr_assert_eq(f.r.proof, SEARCH_GAP);
    cr_assert_gt(f.r.gap, 0);
    cr_assert_float_eq(f.r.plans[0].pred_step_s, f.r.bound_s * (1 + f.r.gap),
                       1e-3 * f.r.bound_s);
    arena_clear(&f.arena);
}

/* Of 128 stages a round of shifts alone takes longer than the timeout, which
 * is for a search that runs on without end: it is no bound on the time. */
Test(search, a_time_limit_ends_shifts_too, .timeout = 60)
{
    struct fixture f;
    set_up_deepseek(&f, 16, 8, 1024);
    f.cost.latency_s = 1e-6;
    f.ctx.mode = P2P_BLOCKING;
    const struct search_options opt = {
        .empty_stages = true, .top = 1, .time_limit_s = 0.1};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    cr_assert_eq(f.r.n_plans, 1);
    // 61 layers between 127 cuts that may fall together: C(188, 61)
    cr_assert_str_eq(f.r.searched,
                     "176286729408113438853175658692651737684288810050688");
    arena_clear(&f.arena);
}

/* DeepSeek-V3's own unit times in us, where most of the loss head's time lies
 * outside the layers that EP overlap combines. */
static void set_up_overlapped(struct fixture *f, enum p2p_mode mode)
{
    static const double fwd[N_KINDS] = {[KIND_E] = 40,
                                        [KIND_T] = 54.82,
                                        [KIND_T_DENSE] = 54.67,
                                        [KIND_M] = 63.238,
                                        [KIND_L] = 151.827};
    const struct order order = {
        .pp = 8, .vpp = 2, .n_mb = 64, .group = 8, .ep_overlap = true};
    set_up_deepseek(f, 8, 2, 64);
    for (int k = 0; k < N_KINDS; k++)
        f->cost.unit[k] = (struct unit_cost){
            .known = true, .fwd_s = fwd[k] * 1e-6, .bwd_s = fwd[k] * 2e-6};
    f->ctx.mode = mode;
    f->ctx.save = (struct overlap_save){100e-6, 50e-6, 50e-6};
    cr_assert_eq(schedule_outline(&order, mode, &f->schedule, &f->msg), ERR_OK);
}

/* Of Megatron, which does head and loss apart from the layers, and of
 * moe-train, which does not. */
static void check_overlapped(enum p2p_mode mode,
                             const struct memory_rules *rules)
{
    struct fixture f;
    set_up_overlapped(&f, mode);
    f.cost.rules = *rules;
    const struct search_options opt = {.top = 20};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    const double rounding = 1e-9 * 64 * 61;
    double best = f.r.plans[0].pred_step_s;
    for (int i = 0; i < f.r.n_plans; i++) {
        double step_s = f.r.plans[i].pred_step_s;
        best = step_s < best ? step_s : best;
        cr_assert_geq(step_s, f.r.bound_s - rounding, "%s, place %d",
                      p2p_mode_name(mode), i);
    }
    if (mode == P2P_IDEAL) {
        cr_assert_eq(f.r.proof, SEARCH_OPTIMAL);
        cr_assert_float_eq(best, f.r.bound_s, rounding);
    }
    arena_clear(&f.arena);
}

/* Two tests, which run side by side: this is the longest of its file. */
Test(search, ep_overlap_is_never_faster_than_the_bound)
{
    for (int mode = 0; mode < N_P2P_MODES; mode++)
        check_overlapped((enum p2p_mode)mode, &MEMORY_MEGATRON);
}

Test(search, nor_is_it_where_the_trainer_counts_memory)
{
    for (int mode = 0; mode < N_P2P_MODES; mode++)
        check_overlapped((enum p2p_mode)mode, &MEMORY_MOE_TRAIN);
}

/* Of the space with standalone MTP, core 0.15 takes what the space without it
 * holds, and 0.13 nothing. */
Test(search, layouts_that_the_version_refuses_are_not_planned)
{
    struct fixture f;
    struct search_result plain;
    set_up(&f);
    const struct search_options opt = {.standalone_mtp = true, .top = 1000};
    const struct search_options with_loss = {.top = 1000};
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &with_loss, &plain, &f.msg),
                 ERR_OK);
    cr_assert_eq(core_version_find("0.15", &f.ctx.core, &f.msg), ERR_OK);
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK);
    cr_assert_str_eq(f.r.searched, plain.searched);
    cr_assert_gt(f.r.n_refused, 0);
    for (int i = 0; i < f.r.n_plans; i++)
        cr_assert_not(f.r.plans[i].standalone_mtp);
    cr_assert_eq(core_version_find("0.13", &f.ctx.core, &f.msg), ERR_OK);
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg),
                 ERR_MODEL);
    cr_assert(strstr(f.msg.text, "core 0.13 refuses all"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

/* Megatron's default split needs no layout flag, the count-based one does. */
Test(search, baselines_are_those_that_the_version_can_run)
{
    struct fixture f;
    set_up(&f);
    f.m.n_mtp = 0;
    const struct search_options opt = {.top = 1};
    cr_assert_eq(core_version_find("0.13", &f.ctx.core, &f.msg), ERR_OK);
    cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg), ERR_OK,
                 "%s", f.msg.text);
    cr_assert_eq(f.r.n_baselines, 2, "no m, so both");
    arena_clear(&f.arena);
}

Test(search, memory_is_that_of_the_platform)
{
    struct fixture f;
    set_up(&f);
    f.cost.rules = MEMORY_MEGATRON;
    int64_t bytes[2];
    static const enum platform platforms[] = {PLATFORM_HOPPER, PLATFORM_AMPERE};
    const struct search_options opt = {.top = 1};
    for (int i = 0; i < 2; i++) {
        f.ctx.platform = platforms[i];
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &f.r, &f.msg),
                     ERR_OK);
        bytes[i] = f.r.plans[0].stages[0].mem_bytes;
    }
    cr_assert_gt(bytes[0], bytes[1], "an A100's workspaces are smaller");
    arena_clear(&f.arena);
}
