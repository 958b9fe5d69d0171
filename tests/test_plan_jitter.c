#include "plan/jitter.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

enum { N_MB = 6 };

struct fixture {
    struct arena arena;
    struct model m;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx;
    struct err_msg msg;
};

static void set_up(struct fixture *f, double cv)
{
    *f = (struct fixture){.m = small_model(), .cost = study_costs()};
    f->cost.jitter_cv = cv;
    arena_init(&f->arena);
    schedule_1f1b(&f->arena, 4, N_MB, &f->schedule, &f->msg);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->cost,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->schedule};
}

static struct jitter_step expect(struct fixture *f, const char *text)
{
    struct layout l;
    struct jitter_step s;
    cr_assert_eq(layout_read_question(&f->arena,
                                      &(struct layout_question){
                                          text, 4, f->m.n_layers, f->m.n_mtp},
                                      &l, &f->msg),
                 ERR_OK);
    cr_assert_eq(jitter_expect(&f->arena, &f->ctx, &l, &s, &f->msg), ERR_OK);
    return s;
}

Test(jitter, none_gives_the_deterministic_step)
{
    struct fixture f;
    struct layout l;
    struct plan p;
    set_up(&f, 0);
    layout_read_question(&f.arena,
                         &(struct layout_question){"Et*2|t*2|t*2|t*2mL", 4,
                                                   f.m.n_layers, f.m.n_mtp},
                         &l, &f.msg);
    plan_predict(&f.arena, &f.ctx, &l, &p, &f.msg);
    struct jitter_step s = expect(&f, "Et*2|t*2|t*2|t*2mL");
    cr_assert_float_eq(s.mean_s, p.pred_step_s, 1e-12);
    cr_assert_float_eq(s.lo_s, s.hi_s, 0);
    arena_clear(&f.arena);
}

/* A makespan is a convex function of the times (a maximum of sums), so by
 * Jensen's inequality jitter of mean 1 can only raise its expectation. */
Test(jitter, raises_the_expected_step)
{
    struct fixture f;
    set_up(&f, 0.15);
    struct jitter_step s = expect(&f, "Et*2|t*3|t*3|mL");
    f.cost.jitter_cv = 0;
    cr_assert_gt(s.mean_s + 2 * s.se_s, expect(&f, "Et*2|t*3|t*3|mL").mean_s);
    cr_assert(s.lo_s < s.mean_s && s.mean_s < s.hi_s);
    arena_clear(&f.arena);
}

/* One rank has no one to wait for: a sum of times of mean 1 keeps its mean. */
Test(jitter, has_mean_one)
{
    struct fixture f;
    struct layout l;
    struct jitter_step none, much;
    set_up(&f, 0);
    f.m.par.pp = f.m.par.world = 1;
    schedule_1f1b(&f.arena, 1, N_MB, &f.schedule, &f.msg);
    layout_read_question(
        &f.arena,
        &(struct layout_question){"Et*8mL", 1, f.m.n_layers, f.m.n_mtp}, &l,
        &f.msg);
    jitter_expect(&f.arena, &f.ctx, &l, &none, &f.msg);
    f.cost.jitter_cv = 0.5;
    cr_assert_eq(jitter_expect(&f.arena, &f.ctx, &l, &much, &f.msg), ERR_OK);
    cr_assert_float_eq(much.mean_s, none.mean_s, 3 * much.se_s);
    cr_assert_lt(much.se_s, 0.015 * none.mean_s, "tight enough to tell");
    arena_clear(&f.arena);
}

/* A step of many operations is simulated less often: time has a bound. */
Test(jitter, takes_fewer_samples_of_large_steps)
{
    struct fixture f;
    set_up(&f, 0.1);
    cr_assert_eq(jitter_samples(&f.ctx), JITTER_SAMPLES);
    f.ctx.n_mb = 4096; // of 4 ranks: 16,384 operations
    cr_assert_eq(jitter_samples(&f.ctx), JITTER_SAMPLES);
    f.ctx.n_mb = 8192;
    cr_assert_eq(jitter_samples(&f.ctx), JITTER_SAMPLES / 2);
    f.ctx.n_mb = 16400; // 63 would fit: whole blocks of the simulator's lanes
    cr_assert_eq(jitter_samples(&f.ctx), 48);
    f.ctx.n_mb = 1 << 22;
    cr_assert_eq(jitter_samples(&f.ctx), 32);
    f.cost.jitter_cv = 0;
    cr_assert_eq(jitter_samples(&f.ctx), 1);
    arena_clear(&f.arena);
}

Test(jitter, is_the_same_at_every_call)
{
    struct fixture f;
    set_up(&f, 0.1);
    struct jitter_step x = expect(&f, "Et*2|t*3|t*3|mL");
    struct jitter_step y = expect(&f, "Et*2|t*3|t*3|mL");
    cr_assert(x.mean_s == y.mean_s && x.hi_s == y.hi_s);
    arena_clear(&f.arena);
}

/* Two equally slow stages wait for each other; one slow stage waits for
 * nobody. With the same slowest stage the former gain more from jitter. */
Test(jitter, hurts_two_slow_stages_more_than_one)
{
    struct fixture f;
    set_up(&f, 0);
    f.cost.unit[KIND_L] = f.cost.unit[KIND_M] =
        (struct unit_cost){true, 1e-6, 0, 1e-6, 0};
    double one = expect(&f, "Et|t*5|t|tmL").mean_s;
    double two = expect(&f, "E|t*4|t*4|mL").mean_s;
    f.cost.jitter_cv = 0.2;
    double one_jitter = expect(&f, "Et|t*5|t|tmL").mean_s;
    double two_jitter = expect(&f, "E|t*4|t*4|mL").mean_s;
    cr_assert_gt(two_jitter / two, one_jitter / one * 1.02);
    arena_clear(&f.arena);
}

/* Operations with a known spread give it back, from single times and from
 * sums over the micro-batches with a common factor in each iteration. */
static double noise(uint32_t *seed)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 1664525 + 1013904223;
        sum += (double)(*seed >> 8) / 16777216.0;
    }
    return sum - 6; // nearly standard normal
}

Test(jitter, estimates_give_the_spread_back)
{
    enum { STEPS = 200, P = 4, MB = 8 };
    static double ops[STEPS * P * MB], timer[STEPS][P];
    const double cv = 0.1, tolerance = 0.01;
    struct log_timer timers[STEPS];
    struct log_iteration its[STEPS];
    struct arena a;
    uint32_t seed = 7;
    arena_init(&a);
    for (int i = 0; i < STEPS; i++) {
        double drift = 1 + 0.3 * (i % 5); // of the whole machine
        for (int r = 0; r < P; r++)
            for (int mb = 0; mb < MB; mb++) {
                double t = (r + 1) * drift * (1 + cv * noise(&seed));
                ops[(i * P + r) * MB + mb] = t;
                timer[i][r] += t;
            }
        timers[i] = (struct log_timer){.iteration = i + 1,
                                       .name = RUNLOG_FORWARD,
                                       .per_rank = true,
                                       .n_ranks = P,
                                       .rank_ms = timer[i]};
        its[i] = (struct log_iteration){.iteration = i + 1, .usable = true};
    }
    const struct runlog log = {.iterations = its,
                               .n_iterations = STEPS,
                               .timers = timers,
                               .n_timers = STEPS};
    cr_assert_float_eq(jitter_from_ops(ops, STEPS * P, MB), cv, tolerance);
    double found = jitter_from_timers(&a, &log, P, MB);
    cr_assert_float_eq(found, cv, tolerance);
    // an earlier run in the same file, with the same iteration numbers
    cr_assert_float_eq(
        jitter_from_timers(&a, synthetic_restart(&a, &log, 7), P, MB), found,
        0);
    arena_clear(&a);
}

Test(jitter, too_little_data_is_no_estimate)
{
    struct arena a;
    const double one[] = {1};
    const struct runlog empty = {0};
    arena_init(&a);
    cr_assert(isnan(jitter_from_ops(one, 1, 1)));
    cr_assert(isnan(jitter_from_timers(&a, &empty, 4, 8)));
    arena_clear(&a);
}
