#include "fit.h"
#include "profile.h"
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
        cr_assert_eq(profile_layouts(&a, &m, 4, n, true, l, &msg), ERR_OK, "%s",
                     msg.text);
        for (int i = 0; i < n; i++)
            runs[i] =
                synthetic_run(&a, &m, &truth, layout_string(&a, &l[i]), 0);
        cr_assert_eq(fit_costs(&a, &m, runs, n, &f, &msg), ERR_OK, "%s",
                     msg.text);
        cr_assert_not(f.cost.joint_ml);
        cr_assert_float_eq(f.cost.unit[KIND_M].fwd_s, truth.unit[KIND_M].fwd_s,
                           1e-12);
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
    cr_assert_eq(profile_layouts(&a, &m, 4, 2, false, l, &msg), ERR_OK);
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
    cr_assert_eq(profile_layouts(&a, &m, 4, 2, true, l, &msg), ERR_OK);
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < 4; s++)
            cr_assert_leq(layout_stage(&l[i], s).n_layers, 6, "%s",
                          layout_string(&a, &l[i]));
    arena_clear(&a);
}
