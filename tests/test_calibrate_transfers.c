#include "base/random.h"
#include "calibrate/transfers.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>

enum { N_MB = 8, N_RUNS = 2, N_RANKS = 4 };
static const char *const LAYOUTS[N_RUNS] = {"Et*2|t*3|t*2|tmL",
                                            "Et*3|t*2|t*2|tmL"};

struct fixture {
    struct arena arena;
    struct model m;
    struct cost truth;
    struct schedule outline;
    struct plan_context ctx;
    struct fit_run runs[N_RUNS];
    const char *note;
    struct err_msg msg;
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.m = small_model(), .truth = study_costs()};
    f->m.batch = (struct batch){1, N_MB, N_MB, 32};
    // stages of nearly the same length, where ranks wait for each other most
    f->truth.unit[KIND_M] = f->truth.unit[KIND_T];
    f->truth.unit[KIND_L].fwd_s = 5e-4;
    f->truth.unit[KIND_L].bwd_s = 1e-3;
    f->truth.latency_s = 3e-4;
    arena_init(&f->arena);
    const struct order one = {N_RANKS, 1, N_MB, N_RANKS, false};
    cr_assert_eq(schedule_outline(&one, P2P_BLOCKING, &f->outline, &f->msg),
                 ERR_OK);
    f->ctx = (struct plan_context){.model = &f->m,
                                   .cost = &f->truth,
                                   .mode = P2P_BLOCKING,
                                   .n_mb = N_MB,
                                   .schedule = &f->outline};
}

/* Adds the timers of exchanges that hold `exchange_s` a rank, under two names:
 * the first rank has no forward-recv. */
static void add_timers(struct fixture *f, struct fit_run *run,
                       const double *exchange_s)
{
    struct runlog *log = arena_alloc(&f->arena, 1, sizeof *log);
    double recv[N_RANKS], send[N_RANKS];
    *log = *run->log;
    log->clock = NULL; // Megatron's
    for (int r = 0; r < N_RANKS; r++) {
        send[r] = exchange_s[r] * 1e3 * (r ? 0.25 : 1);
        recv[r] = r ? exchange_s[r] * 1e3 * 0.75 : (double)NAN;
    }
    synthetic_timer(&f->arena, log, "forward-recv", recv, N_RANKS);
    synthetic_timer(&f->arena, log, "forward-send-backward-recv", send,
                    N_RANKS);
    run->log = log;
}

/* Runs whose exchanges take what the simulator says under the truth. */
static void make_runs(struct fixture *f)
{
    for (int i = 0; i < N_RUNS; i++) {
        struct sim_result r;
        double in_exchange[N_RANKS];
        f->runs[i] = synthetic_run(&f->arena, &f->m, &f->truth, LAYOUTS[i], 0);
        cr_assert_eq(
            plan_simulate(&f->arena, &f->ctx, &f->runs[i].layout, &r, &f->msg),
            ERR_OK, "%s", f->msg.text);
        for (int k = 0; k < N_RANKS; k++)
            in_exchange[k] = r.finish_s[k] - r.busy_s[k];
        add_timers(f, &f->runs[i], in_exchange);
    }
}

/* Fits from costs that know the units and nothing of links but rates. */
static struct cost fitted(struct fixture *f)
{
    struct cost got = f->truth;
    struct plan_context ctx = f->ctx;
    got.latency_s = got.between.latency_s = 0;
    got.parted = false;
    ctx.cost = &got;
    struct transfers t = {&got, NULL};
    enum err e = transfers_fit(
        &f->arena, &ctx, &(struct overhead_runs){f->runs, N_RUNS}, &t, &f->msg);
    f->note = t.note;
    cr_assert_eq(e, ERR_OK, "%s", f->msg.text);
    return got;
}

Test(transfers, timers_of_exchanges_give_the_latency_back)
{
    struct fixture f;
    set_up(&f);
    make_runs(&f);
    const struct cost got = fitted(&f);
    cr_expect_float_eq(got.latency_s, 3e-4, 1e-7);
    cr_expect_not(got.parted);
    cr_assert(f.note && strstr(f.note, "300.0 us"), "%s", f.note);
    cr_expect(strstr(f.note, "of one size"), "%s", f.note);
    arena_clear(&f.arena);
}

/* Ranks 0 and 1 are on one node, 2 and 3 on the other. */
Test(transfers, inside_and_between_nodes_are_told_apart)
{
    struct fixture f;
    set_up(&f);
    f.ctx.gpus_per_node = 2;
    f.truth.parted = true;
    f.truth.between.latency_s = 9e-4;
    make_runs(&f);
    const struct cost got = fitted(&f);
    cr_expect(got.parted);
    cr_expect_float_eq(got.latency_s, 3e-4, 1e-7);
    cr_expect_float_eq(got.between.latency_s, 9e-4, 1e-7);
    cr_assert(f.note && strstr(f.note, "between nodes"), "%s", f.note);
    arena_clear(&f.arena);
}

Test(transfers, a_bandwidth_given_leaves_the_rest_to_the_latency)
{
    struct fixture f;
    set_up(&f);
    f.truth.bytes_per_s = 1e8;
    make_runs(&f);
    const struct cost got = fitted(&f);
    cr_expect_float_eq(got.latency_s, 3e-4, 1e-7);
    cr_expect_float_eq(got.bytes_per_s, 1e8, 0);
    cr_expect(strstr(f.note, "bandwidth given"), "%s", f.note);
    arena_clear(&f.arena);
}

/* Costs that know nothing of a link are left as they are, without a word. */
Test(transfers, logs_that_tell_nothing_change_nothing)
{
    struct fixture f;
    set_up(&f);
    for (int i = 0; i < N_RUNS; i++)
        f.runs[i] = synthetic_run(&f.arena, &f.m, &f.truth, LAYOUTS[i], 0);
    cr_expect_float_eq(fitted(&f).latency_s, 0, 0);
    cr_expect_null(f.note, "no timer of an exchange");
    make_runs(&f);
    struct runlog stated = *f.runs[1].log;
    stated.p2p_latency_s = 1e-6;
    f.runs[1].log = &stated;
    cr_expect_float_eq(fitted(&f).latency_s, 0, 0);
    cr_expect_null(f.note, "a log states its link");
    arena_clear(&f.arena);
}

enum { N_OPS = N_RANKS * N_MB, SAMPLES = 2000 };

/* One step's operations with log-normal factors of mean 1, forwards and
 * backwards apart; odd samples mirror the even ones before them. */
static void draw(const struct fixture *f, const struct layout *l, int sample,
                 double cv, double op[2][N_OPS])
{
    const double sigma = sqrt(log1p(cv * cv));
    for (int j = 0; j < 2 * N_OPS; j++) {
        uint64_t key = random_mix((uint64_t)(sample / 2 * 2 * N_OPS + j));
        double z = sqrt(-2 * log(random_uniform(random_mix(key)))) *
                   cos(6.283185307 * random_uniform(random_mix(~key)));
        double by = exp(sigma * (sample % 2 ? z : -z) - sigma * sigma / 2);
        struct cost_times t = cost_stage(&f->truth, &f->m, l, j % N_OPS / N_MB);
        op[j / N_OPS][j % N_OPS] = (j < N_OPS ? t.fwd_s : t.bwd_s) * by;
    }
}

/* Mean over steps whose operations jitter: waits grow, and a fit that did not
 * know would take them for transfers. */
static void make_jittered(struct fixture *f, double cv)
{
    for (int i = 0; i < N_RUNS; i++) {
        double op[2][N_OPS], in_exchange[N_RANKS] = {0};
        f->runs[i] = synthetic_run(&f->arena, &f->m, &f->truth, LAYOUTS[i], 0);
        const struct layout *l = &f->runs[i].layout;
        for (int k = 0; k < SAMPLES; k++) {
            struct sim_result r;
            const struct plan_ops ops = {l, op[0], op[1]};
            draw(f, l, i * SAMPLES + k, cv, op);
            cr_assert_eq(
                plan_simulate_ops(&f->arena, &f->ctx, &ops, &r, &f->msg),
                ERR_OK);
            for (int j = 0; j < N_RANKS; j++)
                in_exchange[j] += (r.finish_s[j] - r.busy_s[j]) / SAMPLES;
        }
        add_timers(f, &f->runs[i], in_exchange);
    }
}

Test(transfers, what_jitter_adds_to_waiting_is_not_taken_for_transfers)
{
    struct fixture f;
    set_up(&f);
    make_jittered(&f, 0.3);
    const double ignored = fitted(&f).latency_s;
    f.truth.jitter_cv = 0.3;
    const double known = fitted(&f).latency_s;
    cr_expect_gt(ignored, 3.5e-4);
    cr_expect_lt(fabs(known - 3e-4), 0.2 * (ignored - 3e-4), "%g %g", known,
                 ignored);
    arena_clear(&f.arena);
}
