#include "calibrate/profile.h"
#include "cost/fit.h"
#include "model/as_hybrid.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

/* The point of a profile: its timers determine every cost. */
Test(profile, chosen_layouts_determine_all_costs)
{
    for (int n = 2; n <= 3; n++) {
        struct arena a;
        struct model m = small_model();
        struct cost truth = study_costs();
        struct layout l[3];
        struct fit_run runs[3];
        struct fit f;
        struct err_msg msg = {""};
        arena_init(&a);
        cr_assert_eq(profile_layouts(&a, &m, &(struct profile_wish){4, n, true},
                                     l, &msg),
                     ERR_OK, "%s", msg.text);
        for (int i = 0; i < n; i++)
            runs[i] =
                synthetic_run(&a, &m, &truth, layout_string(&a, &l[i]), 0);
        cr_assert_eq(fit_costs(&a, &(struct fit_input){&m, runs, n}, &f, &msg),
                     ERR_OK, "%s", msg.text);
        cr_assert_not(f.cost.joint_ml);
        cr_assert_float_eq(f.cost.unit[KIND_M].fwd_s, truth.unit[KIND_M].fwd_s,
                           1e-12);
        arena_clear(&a);
    }
}

/* Halves of layers, too: every kind of symbol. */
Test(profile, chosen_patterns_determine_the_costs_of_all_symbols)
{
    static const uint8_t moe[8] = {0, 0, 1, 1, 1, 1, 1, 1};
    for (int vpp = 1; vpp <= 2; vpp++) {
        struct arena a;
        struct model gpt = small_model(), m;
        struct cost truth = {.unit = {[KIND_E] = {true, 1e-3, 0, 1e-3, 0},
                                      [KIND_L] = {true, 6e-3, 0, 12e-3, 0}}};
        struct layout l[2];
        struct fit_run runs[2];
        struct fit f;
        struct err_msg msg = {""};
        arena_init(&a);
        gpt.layer_moe = moe;
        gpt.n_mtp = 0;
        gpt.par.vpp = vpp;
        cr_assert_eq(model_as_hybrid(&a, &gpt, &m, &msg), ERR_OK);
        for (int k = KIND_L + 1; k < N_KINDS; k++)
            truth.unit[k] =
                (struct unit_cost){model_unit_count(&m, (enum unit_kind)k) > 0,
                                   1e-3 * k, 0, 2e-3 * k, 0};
        cr_assert_eq(profile_layouts(
                         &a, &m, &(struct profile_wish){4, 2, false}, l, &msg),
                     ERR_OK, "%s", msg.text);
        for (int i = 0; i < 2; i++)
            runs[i] =
                synthetic_run(&a, &m, &truth, layout_text(&a, &l[i], &m), 0);
        cr_assert_eq(fit_costs(&a, &(struct fit_input){&m, runs, 2}, &f, &msg),
                     ERR_OK, "%s", msg.text);
        for (int k = 0; k < N_KINDS; k++) {
            cr_assert_eq(f.cost.unit[k].known, truth.unit[k].known);
            if (truth.unit[k].known)
                cr_assert_float_eq(f.cost.unit[k].bwd_s, truth.unit[k].bwd_s,
                                   1e-11, "%s", kind_name((enum unit_kind)k));
        }
        arena_clear(&a);
    }
}

Test(profile, layouts_differ_and_without_standalone_keep_m_with_L)
{
    struct arena a;
    struct model m = small_model();
    struct layout l[2];
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(
        profile_layouts(&a, &m, &(struct profile_wish){4, 2, false}, l, &msg),
        ERR_OK);
    cr_assert_str_neq(layout_string(&a, &l[0]), layout_string(&a, &l[1]));
    cr_assert_not(layout_mtp_standalone(&l[0]));
    cr_assert_not(layout_mtp_standalone(&l[1]));
    arena_clear(&a);
}

Test(profile, layouts_are_no_heavier_than_users_would_run)
{
    struct arena a;
    struct model m = small_model();
    struct layout l[2];
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(
        profile_layouts(&a, &m, &(struct profile_wish){4, 2, true}, l, &msg),
        ERR_OK);
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < 4; s++)
            cr_assert_leq(layout_stage(&l[i], s).n_layers, 6, "%s",
                          layout_string(&a, &l[i]));
    arena_clear(&a);
}

/* Dense first layers all sit with E in every even split: only wider bounds
 * part them. */
Test(profile, dense_first_layers_are_told_apart)
{
    static const uint8_t moe[27] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct arena a;
    struct model m = small_model();
    struct cost truth = study_costs();
    truth.unit[KIND_T_DENSE] = (struct unit_cost){true, 7e-4, 0, 1.5e-3, 0};
    m.n_layers = 27;
    m.layer_moe = moe;
    for (int pp = 3; pp <= 4; pp++) {
        struct layout l[2];
        struct fit_run runs[2];
        struct fit f;
        struct err_msg msg = {""};
        m.par.pp = m.par.world = pp;
        arena_init(&a);
        cr_assert_eq(profile_layouts(
                         &a, &m, &(struct profile_wish){pp, 2, true}, l, &msg),
                     ERR_OK, "%s", msg.text);
        for (int i = 0; i < 2; i++)
            runs[i] =
                synthetic_run(&a, &m, &truth, layout_string(&a, &l[i]), 0);
        cr_assert_eq(fit_costs(&a, &(struct fit_input){&m, runs, 2}, &f, &msg),
                     ERR_OK, "pp %d: %s", pp, msg.text);
        arena_clear(&a);
    }
}

Test(profile, large_spaces_are_sampled)
{
    static uint8_t moe[61];
    struct arena a;
    struct model m = small_model();
    struct layout l[2];
    struct err_msg msg = {""};
    memset(moe + 3, 1, sizeof moe - 3);
    m.n_layers = 61;
    m.layer_moe = moe;
    arena_init(&a);
    cr_assert_eq(
        profile_layouts(&a, &m, &(struct profile_wish){16, 2, true}, l, &msg),
        ERR_OK, "%s", msg.text);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(layout_validate(&l[i], 61, 1, &msg), LAYOUT_OK);
    arena_clear(&a);
}

Test(profile, one_stage_tells_nothing_and_says_so)
{
    struct arena a;
    struct model m = small_model();
    struct layout l[2];
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(
        profile_layouts(&a, &m, &(struct profile_wish){1, 2, true}, l, &msg),
        ERR_MODEL);
    cr_assert(strstr(msg.text, "another pipeline size"), "%s", msg.text);
    arena_clear(&a);
}

/* Timers of a rank add up its chunks; the layouts must tell the kinds apart
 * from sums. */
Test(profile, layouts_of_two_chunks_a_rank_determine_all_costs)
{
    struct arena a;
    struct model m = small_model();
    struct cost truth = study_costs();
    struct layout l[2];
    struct fit_run runs[2];
    struct fit f;
    struct err_msg msg = {""};
    m.n_layers = 24;
    static uint8_t moe[24];
    memset(moe, 1, sizeof moe);
    m.layer_moe = moe;
    m.par.vpp = 2;
    truth.chunk_s = 1e-4;
    arena_init(&a);
    cr_assert_eq(
        profile_layouts(&a, &m, &(struct profile_wish){4, 2, true}, l, &msg),
        ERR_OK, "%s", msg.text);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(l[i].vpp, 2);
        // even are 6 a rank; no rank is slower than one of users' layouts
        for (int r = 0; r < 4; r++)
            cr_expect_leq(layout_stage(&l[i], r).n_layers +
                              layout_stage(&l[i], r + 4).n_layers,
                          10, "%s", layout_string(&a, &l[i]));
        runs[i] = synthetic_run(&a, &m, &truth, layout_string(&a, &l[i]), 0);
    }
    cr_assert_eq(fit_costs(&a, &(struct fit_input){&m, runs, 2}, &f, &msg),
                 ERR_OK, "%s", msg.text);
    cr_expect_not(f.cost.joint_ml);
    // 13.6; layouts chosen by the ranks' first chunks alone have 16.6
    cr_expect_lt(f.condition, 15, "%g", f.condition);
    cr_expect_float_eq(f.cost.unit[KIND_M].fwd_s, truth.unit[KIND_M].fwd_s,
                       1e-9);
    cr_expect_float_eq(f.cost.chunk_s, 1e-4, 1e-9);
    arena_clear(&a);
}
