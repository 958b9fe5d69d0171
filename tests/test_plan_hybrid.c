#include "cost/halves.h"
#include "layout/space.h"
#include "layout/symbols.h"
#include "model/as_hybrid.h"
#include "plan/search.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_MB = 8 };

struct fixture {
    struct arena arena;
    struct model gpt, m;
    struct cost whole, cost;
    struct schedule schedule;
    struct plan_context ctx;
    struct err_msg msg;
    unsigned random;
};

static unsigned draw(struct fixture *f, unsigned below)
{
    f->random = f->random * 1664525u + 1013904223u;
    return (f->random >> 8) % below;
}

static void set_up(struct fixture *f, int pp, int vpp)
{
    static const uint8_t moe[8] = {0, 0, 1, 1, 1, 1, 0, 1};
    *f = (struct fixture){.gpt = small_model(), .whole = study_costs()};
    arena_init(&f->arena);
    f->gpt.layer_moe = moe;
    f->gpt.par.pp = pp;
    f->gpt.par.vpp = vpp;
    f->gpt.batch.n_microbatches = N_MB;
    f->whole.unit[KIND_T_DENSE] = (struct unit_cost){true, 3e-3, 0, 5e-3, 0};
    cr_assert_eq(model_as_hybrid(&f->arena, &f->gpt, &f->m, &f->msg), ERR_OK);
    cr_assert_eq(
        cost_split_layers(&f->whole, &f->gpt, &f->m, &f->cost, &f->msg), ERR_OK,
        "%s", f->msg.text);
}

static void set_mode(struct fixture *f, enum p2p_mode mode)
{
    const struct order order = order_of_model(&f->m);
    cr_assert_eq(schedule_outline(&order, mode, &f->schedule, &f->msg), ERR_OK,
                 "%s", f->msg.text);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->cost,
                                   .mode = mode,
                                   .n_mb = N_MB,
                                   .schedule = &f->schedule};
}

static double step_of(struct fixture *f, const struct layout *l)
{
    struct plan p;
    cr_assert_eq(plan_predict(&f->arena, &f->ctx, l, &p, &f->msg), ERR_OK, "%s",
                 f->msg.text);
    return p.pred_step_s;
}

/* ---- equality ---- */

/* n layers in random parts, as many for each symbol. */
static struct layout random_layout(struct fixture *f, int n_stages, int times)
{
    int counts[16] = {0};
    struct layout l = {.pp = f->gpt.par.pp,
                       .vpp = n_stages / f->gpt.par.pp,
                       .n_stages = n_stages};
    const unsigned seed = f->random;
    for (int i = 0; i < f->gpt.n_layers; i++)
        counts[draw(f, (unsigned)n_stages)] += times;
    if (times == 1)
        f->random = seed; // the same parts for the hybrid one
    cr_assert_eq(layout_from_counts(&f->arena, counts, f->gpt.n_mtp, &l, NULL),
                 ERR_OK);
    return l;
}

static void same_steps(int pp, int vpp, enum p2p_mode mode)
{
    struct fixture f;
    set_up(&f, pp, vpp);
    set_mode(&f, mode);
    struct plan_context as_gpt = f.ctx;
    as_gpt.model = &f.gpt;
    as_gpt.cost = &f.whole;
    for (int i = 0; i < 20; i++) {
        struct plan p;
        const struct layout whole = random_layout(&f, pp * vpp, 1);
        const struct layout halves = random_layout(&f, pp * vpp, 2);
        cr_assert_eq(plan_predict(&f.arena, &as_gpt, &whole, &p, &f.msg),
                     ERR_OK);
        cr_assert_float_eq(step_of(&f, &halves) / p.pred_step_s, 1, 1e-12,
                           "%s: %s", p.layout, p2p_mode_name(mode));
    }
    arena_clear(&f.arena);
}

Test(plan_hybrid, layouts_of_whole_layers_take_the_same_time_in_every_mode)
{
    same_steps(4, 1, P2P_IDEAL);
    same_steps(4, 1, P2P_ASYNC);
    same_steps(4, 1, P2P_BLOCKING);
    same_steps(4, 2, P2P_IDEAL);
    same_steps(4, 2, P2P_BLOCKING);
    same_steps(4, 2, P2P_OVERLAP);
    same_steps(4, 2, P2P_OVERLAP_FLUSH);
}

/* ---- the search against the plain minimum ---- */

struct least {
    struct fixture *f;
    bool whole;
    double step_s;
    long n;
};

static enum err look(void *data, const struct layout *l)
{
    struct least *x = data;
    int first = 0;
    for (int s = 0; s < l->n_stages; s++) {
        // halves of a layer stand at even and odd places here
        if (x->whole && first % 2 == 1)
            return ERR_OK;
        first += layout_stage(l, s).n_layers;
    }
    x->n++;
    x->step_s = fmin(x->step_s, step_of(x->f, l));
    return ERR_OK;
}

static void is_the_minimum(struct fixture *f, bool whole)
{
    const struct search_options opt = {.top = 1, .whole_layers = whole};
    const struct layout_space space = {f->m.n_layers,        f->m.n_mtp, 4, 1,
                                       SPACE_NO_EMPTY_STAGE, false};
    struct least least = {.f = f, .whole = whole, .step_s = INFINITY};
    struct search_result r;
    cr_assert_eq(search_layouts(&f->arena, &f->ctx, &opt, &r, &f->msg), ERR_OK,
                 "%s", f->msg.text);
    layout_space_each(&f->arena, &space, look, &least, &f->msg);
    cr_assert_eq(strtol(r.searched, NULL, 10), least.n);
    cr_assert_leq(r.plans[0].pred_step_s, least.step_s * PLAN_TIE);
    cr_assert_float_eq(r.bound_s, least.step_s, 1e-9);
}

/* Costs of halves in disorder, so that cuts inside layers are better now and
 * then, and cuts between worse. */
Test(plan_hybrid, first_is_the_minimum_with_and_without_halves)
{
    int gained = 0;
    for (unsigned seed = 1; seed <= 6; seed++) {
        struct fixture f;
        struct search_result with, without;
        set_up(&f, 4, 1);
        f.random = seed;
        for (int k = 0; k < N_KINDS; k++) {
            f.cost.unit[k].fwd_s *= 0.5 + draw(&f, 100) / 100.0;
            f.cost.unit[k].bwd_s *= 0.5 + draw(&f, 100) / 100.0;
        }
        set_mode(&f, P2P_IDEAL);
        is_the_minimum(&f, false);
        is_the_minimum(&f, true);
        struct search_options opt = {.top = 1};
        search_layouts(&f.arena, &f.ctx, &opt, &with, &f.msg);
        opt.whole_layers = true;
        search_layouts(&f.arena, &f.ctx, &opt, &without, &f.msg);
        gained += with.bound_s < without.bound_s * 0.999;
        arena_clear(&f.arena);
    }
    cr_assert_gt(gained, 0, "no instance in which a half gains");
}

/* The exact search, which spaces with virtual stages take, against the
 * enumeration of all its layouts by hand. */
static void each_of_chunks(struct fixture *f, int *counts, int stage, int left,
                           struct least *out)
{
    struct layout l = {.pp = 2, .vpp = 2, .n_stages = 4};
    const bool end = stage == 0 || stage == 3; // holds E, or m and L
    if (stage == 3) {
        counts[3] = left;
        cr_assert_eq(
            layout_from_counts(&f->arena, counts, f->m.n_mtp, &l, NULL),
            ERR_OK);
        look(out, &l);
        return;
    }
    for (int n = end ? 0 : 1; n <= left; n++) {
        counts[stage] = n;
        each_of_chunks(f, counts, stage + 1, left - n, out);
    }
}

Test(plan_hybrid, exact_search_finds_the_minimum_of_virtual_stages)
{
    for (int whole = 0; whole < 2; whole++) {
        struct fixture f;
        struct search_result r;
        int counts[4];
        set_up(&f, 2, 2);
        set_mode(&f, P2P_IDEAL);
        struct least least = {.f = &f, .whole = whole == 1, .step_s = INFINITY};
        each_of_chunks(&f, counts, 0, f.m.n_layers, &least);
        const struct search_options opt = {.top = 1,
                                           .whole_layers = whole == 1};
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &r, &f.msg), ERR_OK,
                     "%s", f.msg.text);
        cr_assert_float_eq(r.bound_s, least.step_s, 1e-7);
        cr_assert_leq(r.plans[0].pred_step_s, least.step_s * PLAN_TIE);
        arena_clear(&f.arena);
    }
}

/* Eight layers fill ten stages at most, with E and L alone; their sixteen
 * symbols fill more. */
Test(plan_hybrid, too_many_stages_for_whole_layers_are_told)
{
    static const int ways[][2] = {{12, 1}, {4, 3}}; // enumerated, proved
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct search_result r;
        struct search_options opt = {.top = 1};
        set_up(&f, ways[i][0], ways[i][1]);
        set_mode(&f, P2P_IDEAL);
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &r, &f.msg), ERR_OK,
                     "%s", f.msg.text);
        opt.whole_layers = true;
        cr_assert_eq(search_layouts(&f.arena, &f.ctx, &opt, &r, &f.msg),
                     ERR_MODEL);
        cr_assert_not_null(strstr(f.msg.text, "without a cut inside"), "%s",
                           f.msg.text);
        arena_clear(&f.arena);
    }
}

/* ---- patterns ---- */

Test(plan_hybrid, patterns_are_written_and_read_back)
{
    struct fixture f;
    set_up(&f, 4, 2);
    cr_assert_str_eq(f.m.symbols, "*-*-*E*E*E*E*-*E");
    for (int i = 0; i < 50; i++) {
        const struct layout l = random_layout(&f, 8, 2);
        struct layout back;
        const char *text = symbols_string(&f.arena, &l, &f.m);
        cr_assert_eq(layout_read(&f.arena, text, &f.m, &back, &f.msg), ERR_OK,
                     "%s", f.msg.text);
        cr_assert_eq(back.vpp, 2);
        for (int s = 0; s < 8; s++)
            cr_assert_str_eq(back.units[s], l.units[s], "%s", text);
    }
    arena_clear(&f.arena);
}

Test(plan_hybrid, patterns_of_another_model_are_refused)
{
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"*-*-*E*E|*E*E*-*E/*E", "multiple"},       // two stages of four
        {"*-*-*E*E|*E*E*-|*|E", "depths"},          // no MTP part
        {"*-*-*E*E|*E*E*-|*|E/*E/*E", "depths"},    // one too many
        {"*-*-*E*E|*E*E*-|*|-/*E", "character 19"}, // another layer
        {"*-*-*E*E|*E*E*-|*|/*E", "character 19"},  // one short
        {"Et*4|t*4|t*4|t*4mL", "character 1"},
    };
    struct fixture f;
    struct layout l;
    set_up(&f, 4, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(symbols_read(&f.arena, bad[i].text, &f.m, &l, &f.msg),
                     ERR_RANGE, "%s", bad[i].text);
        cr_assert_not_null(strstr(f.msg.text, bad[i].word), "%s", f.msg.text);
    }
    arena_clear(&f.arena);
}

/* A cut parts a layer before an MLP that stands behind its mixer; an MLP behind
 * another is one of its own. */
Test(plan_hybrid, only_a_mixer_and_its_mlp_are_one_layer)
{
    struct model m = small_model();
    m.symbols = "*--E*";
    m.n_layers = 5;
    static const bool parts[] = {false, true, false, false, false, false};
    for (int i = 0; i < 6; i++)
        cr_expect_eq(symbols_parts_layer(&m, i), parts[i], "before %d", i);
}

/* ---- costs of halves ---- */

Test(plan_hybrid, halves_add_up_to_the_layers_that_were_measured)
{
    struct fixture f;
    set_up(&f, 4, 1);
    const struct unit_cost *u = f.cost.unit, *w = f.whole.unit;
    cr_assert_float_eq(u[KIND_ATTENTION].fwd_s + u[KIND_EXPERTS].fwd_s,
                       w[KIND_T].fwd_s, 1e-15);
    cr_assert_float_eq(u[KIND_ATTENTION].bwd_s + u[KIND_EXPERTS].bwd_s,
                       w[KIND_T].bwd_s, 1e-15);
    cr_assert_float_eq(u[KIND_ATTENTION].fwd_s + u[KIND_MLP].fwd_s,
                       w[KIND_T_DENSE].fwd_s, 1e-15);
    cr_assert_not(u[KIND_T].known);
    arena_clear(&f.arena);
}

/* The rest of a layer has the part of its errors that it has of its time; what
 * halves keep in memory is more by what layers do. */
Test(plan_hybrid, halves_inherit_errors_and_memory)
{
    struct fixture f;
    struct cost out;
    set_up(&f, 4, 1);
    f.whole.unit[KIND_T] = (struct unit_cost){true, 8e-3, 1e-4, 2e-2, 3e-4};
    f.whole.rules.unit_more[KIND_T_DENSE] = 1.25;
    cr_assert_eq(cost_split_layers(&f.whole, &f.gpt, &f.m, &out, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    const struct unit_cost *experts = &out.unit[KIND_EXPERTS];
    const double share = experts->fwd_s / 8e-3;
    cr_expect(share > 0.1 && share < 0.9, "%g", share);
    cr_expect_float_eq(experts->fwd_se, share * 1e-4, 1e-12);
    cr_expect_float_eq(experts->bwd_se, share * 3e-4, 1e-12);
    cr_expect_float_eq(out.rules.unit_more[KIND_MLP], 1.25, 0);
    arena_clear(&f.arena);
}

/* Gated delta net before MLPs, attention before experts: no half in common. */
Test(plan_hybrid, layers_that_share_no_half_are_split_each)
{
    static const uint8_t moe[8] = {0, 0, 1, 1, 1, 1, 1, 1};
    static const uint8_t lean[8] = {1, 1, 0, 0, 0, 0, 0, 0};
    struct fixture f;
    struct cost out;
    set_up(&f, 4, 1);
    f.gpt.layer_moe = moe;
    f.gpt.layer_lean = lean;
    f.gpt.linear = (struct linear_attention){
        .k_heads = 4, .v_heads = 4, .k_dim = 16, .v_dim = 16};
    f.whole.unit[KIND_T_DENSE_LEAN] = f.whole.unit[KIND_T_DENSE];
    cr_assert_eq(model_as_hybrid(&f.arena, &f.gpt, &f.m, &f.msg), ERR_OK);
    cr_assert_eq(cost_split_layers(&f.whole, &f.gpt, &f.m, &out, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    const struct unit_cost *u = out.unit, *w = f.whole.unit;
    cr_assert(u[KIND_ATTENTION].known && u[KIND_EXPERTS].known);
    cr_expect_float_eq(u[KIND_ATTENTION].fwd_s + u[KIND_EXPERTS].fwd_s,
                       w[KIND_T].fwd_s, 1e-15);
    cr_expect_float_eq(u[KIND_DELTA].bwd_s + u[KIND_MLP].bwd_s,
                       w[KIND_T_DENSE].bwd_s, 1e-15);
    arena_clear(&f.arena);
}

/* What is measured cheaper forward than what a cheaper layer's attention takes
 * leaves no experts. */
Test(plan_hybrid, layers_without_common_halves_are_refused)
{
    struct fixture f;
    struct cost out;
    set_up(&f, 4, 1);
    f.whole.unit[KIND_T] = (struct unit_cost){true, 1e-6, 0, 1, 0};
    cr_assert_eq(cost_split_layers(&f.whole, &f.gpt, &f.m, &out, &f.msg),
                 ERR_MODEL);
    cr_assert_not_null(strstr(f.msg.text, "experts"), "%s", f.msg.text);
    // nor does it backward
    f.whole.unit[KIND_T] = (struct unit_cost){true, 1, 0, 1e-6, 0};
    cr_assert_eq(cost_split_layers(&f.whole, &f.gpt, &f.m, &out, &f.msg),
                 ERR_MODEL);
    arena_clear(&f.arena);
}
