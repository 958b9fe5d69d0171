/*
 * The figures and CSV of a made-up experiment whose numbers can be worked out
 * by hand: two layouts of one layer a stage, two rounds, bursts that tell that
 * one run was on a machine of half the speed.
 */
#include "base/csv.h"
#include "experiment/tables.h"
#include "figures/figures.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARMUP = 1, N_ITERATIONS = 4, N_RUNS = 5, N_MB = 2 };

/* relative, for sums of a few doubles in another order */
static const double tolerance = 1e-12;

static struct arena arena;
static struct model model;
static struct cost cost;
static struct schedule schedule;
static struct plan_context ctx;
static struct manifest manifest;
static struct run_record record[N_RUNS];
static struct run_list runs = {.run = record, .n = N_RUNS};
static struct target target[2];
static struct targets targets = {target, 2};
static const struct log_memory memory[2] = {{0, 1, 100}, {1, 1, 300}};
static char dir[] = "/tmp/moe-tables-XXXXXX";

/* Steps of step_ms (the first, a warm-up, twice that), bursts of burst_ms. */
static struct runlog make_log(double step_ms, double burst_ms)
{
    struct log_iteration *it = arena_alloc(&arena, N_ITERATIONS, sizeof *it);
    for (int i = 0; i < N_ITERATIONS; i++)
        it[i] = (struct log_iteration){.iteration = i + 1,
                                       .step_ms = i ? step_ms : 2 * step_ms,
                                       .loss = 5,
                                       .reference_ms = burst_ms,
                                       .usable = true};
    return (struct runlog){.iterations = it,
                           .n_iterations = N_ITERATIONS,
                           .memory = memory,
                           .n_memory = 2,
                           .failure_rank = -1};
}

static void make_run(int i, const char *role, const char *layout, double step,
                     double burst)
{
    record[i] = (struct run_record){.run_id = arena_printf(&arena, "run%d", i),
                                    .folder = dir,
                                    .experiment = "x",
                                    .round = 1 + i / 2,
                                    .role = role,
                                    .layout = layout,
                                    .hardware = "h",
                                    .launcher = "command",
                                    .clock = "wall",
                                    .source = "measured",
                                    .commit = "c",
                                    .started_utc = "t",
                                    .log_sha256 = "s",
                                    .reason = "",
                                    .status = RUN_VALID,
                                    .cost_usd = NAN,
                                    .log = make_log(step, burst)};
}

static void make_target(int i, enum role role, const char *layout)
{
    struct err_msg msg = {""};
    target[i] = (struct target){.role = role, .layout = layout, .runs_of = i};
    enum err e = layout_read_question(
        &arena,
        &(struct layout_question){layout, 2, model.n_layers, model.n_mtp},
        &target[i].parsed, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    struct targets one = {&target[i], 1};
    e = roles_predict(&arena, &ctx, &one, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

static void setup(void)
{
    static const uint8_t moe[4] = {0, 0, 0, 0};
    struct err_msg msg;
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
    model = (struct model){.n_layers = 4,
                           .hidden = 8,
                           .ffn = 16,
                           .n_heads = 1,
                           .n_kv_heads = 1,
                           .head_dim = 8,
                           .vocab = 16,
                           .padded_vocab = 16,
                           .layer_moe = moe,
                           .par = {1, 2, 1, 1, 1, 1, 2, 1},
                           .batch = {1, N_MB, N_MB, 4}};
    cost = (struct cost){.source = COST_EMULATED};
    cost.unit[KIND_E] = (struct unit_cost){true, 0, 0, 0, 0};
    cost.unit[KIND_T] = (struct unit_cost){true, 0.01, 0, 0.02, 0};
    cost.unit[KIND_L] = (struct unit_cost){true, 0.01, 0, 0.02, 0};
    cr_assert_eq(schedule_1f1b(&arena, 2, N_MB, &schedule, &msg), ERR_OK);
    ctx = (struct plan_context){.model = &model,
                                .cost = &cost,
                                .mode = P2P_BLOCKING,
                                .n_mb = N_MB,
                                .schedule = &schedule};
    manifest = (struct manifest){.name = "x", .warmup = WARMUP};
    make_target(0, ROLE_DEFAULT, "Et*2|t*2L");
    make_target(1, ROLE_PICK, "Et*3|tL");
    make_run(0, "default", "Et*2|t*2L", 200, 1);
    make_run(1, "pick", "Et*3|tL", 100, 1);
    make_run(2, "default", "Et*2|t*2L", 440, 2); // at half the speed: 220
    make_run(3, "pick", "Et*3|tL", 110, 1);
    make_run(4, "pick", "Et*3|tL", 1, 1);
    record[4].status = RUN_FAILED;
}

static void teardown(void)
{
    const char *const names[] = {
        "runs.csv", "iterations.csv", "layouts.csv",  "stages.csv",
        "ops.csv",  "units.csv",      "timeline.csv", "jitter.csv"};
    for (int i = 0; i < 8; i++)
        unlink(arena_printf(&arena, "%s/%s", dir, names[i]));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(tables, .init = setup, .fini = teardown);

static struct tables_input input(void)
{
    return (struct tables_input){.manifest = &manifest,
                                 .ctx = &ctx,
                                 .runs = &runs,
                                 .targets = &targets,
                                 .reference_ms =
                                     figures_reference(&arena, &runs, WARMUP),
                                 .keep = &arena};
}

static struct csv written(const char *name)
{
    struct tables_input in = input();
    struct err_msg msg = {""};
    struct csv t;
    enum err e = tables_write(&in, dir, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    e = csv_read_file(&arena, arena_printf(&arena, "%s/%s", dir, name), &t,
                      &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return t;
}

static double number(const struct csv *t, size_t row, const char *column)
{
    double x = NAN;
    cr_assert(csv_get_double(t, row, column, &x), "%s, row %zu: got '%s'",
              column, row, csv_get(t, row, column));
    return x;
}

static void expect_number(const struct csv *t, size_t row, const char *column,
                          double wanted)
{
    double x = number(t, row, column);
    cr_expect_float_eq(x, wanted, tolerance * fabs(wanted),
                       "%s: %.17g != %.17g", column, x, wanted);
}

Test(tables, reference_is_the_median_burst_of_valid_runs)
{
    cr_expect_float_eq(figures_reference(&arena, &runs, WARMUP), 1, 0);
}

Test(tables, runs_keep_raw_and_corrected_steps)
{
    struct csv t = written("runs.csv");
    cr_assert_eq(t.n_rows, N_RUNS);
    expect_number(&t, 2, "meas_step_ms", 440);
    expect_number(&t, 2, "meas_step_corr_ms", 220);
    expect_number(&t, 2, "reference_ms", 2);
    expect_number(&t, 2, "meas_mad_ms", 0);
    expect_number(&t, 0, "n_iterations", N_ITERATIONS - WARMUP);
    expect_number(&t, 0, "n_warmup", WARMUP);
    cr_expect_str_eq(csv_get(&t, 0, "cost_usd"), "", "no price, no cost");
    cr_expect_str_eq(csv_get(&t, 4, "status"), "failed");
    cr_expect_str_eq(csv_get(&t, 0, "format"), "moe-bench/runs/1");
}

Test(tables, an_earlier_run_in_the_log_of_a_run_is_not_counted)
{
    struct run_figures alone, behind;
    struct err_msg msg = {""};
    cr_assert_eq(figures_run(&arena, &record[0],
                             (struct figures_rule){WARMUP, 1}, &alone, &msg),
                 ERR_OK);
    record[0].log = *synthetic_restart(&arena, &record[0].log, 10);
    cr_assert_eq(figures_run(&arena, &record[0],
                             (struct figures_rule){WARMUP, 1}, &behind, &msg),
                 ERR_OK);
    cr_expect_eq(behind.n_used, alone.n_used);
    cr_expect_eq(behind.n_warmup, alone.n_warmup);
    cr_expect_float_eq(behind.step_ms, alone.step_ms, 0);
    cr_expect_float_eq(behind.corr_ms, alone.corr_ms, 0);
}

Test(tables, layouts_take_valid_rounds_only)
{
    struct csv t = written("layouts.csv");
    cr_assert_eq(t.n_rows, 2);
    expect_number(&t, 0, "n_rounds", 2);
    expect_number(&t, 0, "meas_step_ms", 210);
    expect_number(&t, 1, "n_rounds", 2);
    expect_number(&t, 1, "meas_step_ms", 105);
    expect_number(&t, 1, "meas_speedup", 2);
    expect_number(&t, 0, "meas_speedup", 1);
    cr_expect_geq(number(&t, 1, "meas_lo_ms"), 100);
    cr_expect_leq(number(&t, 1, "meas_hi_ms"), 110);
    expect_number(&t, 1, "worst_stage_meas_mem_bytes", 300);
    cr_expect_str_eq(csv_get(&t, 0, "source"), "measured");
    cr_expect_str_eq(csv_get(&t, 0, "replay_error_pct"), "",
                     "nothing recorded, nothing replayed");
}

/* Et*2|t*2L, 1F1B, M = 2, stage times (20, 40) and (30, 60) ms: F0 of rank 0
 * to 20, rank 1 works 4 operations to 200, rank 0 ends with one backward. */
Test(tables, step_error_is_predicted_against_measured)
{
    struct csv t = written("layouts.csv");
    double pred = number(&t, 0, "pred_step_ms");
    cr_expect_float_eq(pred, 20 + 2 * (30 + 60) + 40, 1e-6);
    expect_number(&t, 0, "step_error_pct", 100 * (pred - 210) / 210);
}

Test(tables, iterations_mark_the_warm_up)
{
    struct csv t = written("iterations.csv");
    cr_assert_eq(t.n_rows, N_RUNS * N_ITERATIONS);
    cr_expect_str_eq(csv_get(&t, 0, "usable"), "0");
    cr_expect_str_eq(csv_get(&t, 1, "usable"), "1");
    expect_number(&t, 0, "step_ms", 400);
}

/* Recorded operations that 1F1B takes 100 ms for: rank 0 10 ms forward, 20
 * backward; rank 1 10 and 25; the step's own times say 110. */
static void write_ops(void)
{
    FILE *f = fopen(arena_printf(&arena, "%s/ops.csv", dir), "w");
    cr_assert_not_null(f);
    fputs("format,iteration,rank,stage,mb,kind,start_s,end_s\n", f);
    for (int it = 1; it <= N_ITERATIONS; it++)
        for (int stage = 0; stage < 2; stage++)
            for (int mb = 0; mb < N_MB; mb++) {
                double fwd = 0.010, bwd = stage ? 0.025 : 0.020;
                double last = stage == 0 && mb == N_MB - 1 ? 0.110 - bwd : 0;
                fprintf(f, "moe-train/ops/1,%d,%d,%d,%d,forward,0,%.3f\n", it,
                        stage, stage, mb, fwd);
                fprintf(f, "moe-train/ops/1,%d,%d,%d,%d,backward,%.3f,%.3f\n",
                        it, stage, stage, mb, last, last + bwd);
            }
    fclose(f);
}

Test(tables, replay_compares_with_the_recorded_span)
{
    write_ops();
    struct csv t = written("layouts.csv");
    // rank 1: 10, then (10 + 25) twice, rank 0's last backward: 100 ms
    cr_expect_float_eq(number(&t, 0, "replay_error_pct"),
                       100 * (0.100 - 0.110) / 0.110, 1e-9);
}

/* Every table that needs them, and again after more runs. */
Test(tables, recorded_operations_are_read_once)
{
    struct err_msg msg = {""};
    write_ops();
    struct tables_input in = input();
    struct arena keep;
    arena_init(&keep);
    in.keep = &keep;
    cr_assert_eq(tables_write(&in, dir, &msg), ERR_OK, "%s", msg.text);
    unlink(arena_printf(&arena, "%s/ops.csv", dir));
    char *before = arena_alloc(&keep, 1, 1), *after;
    for (int i = 0; i < 50; i++)
        cr_assert_eq(tables_write(&in, dir, &msg), ERR_OK, "%s", msg.text);
    after = arena_alloc(&keep, 1, 1);
    cr_expect_eq((size_t)(after - before), sizeof(max_align_t),
                 "nothing more is kept");
    struct csv t = written("layouts.csv");
    cr_expect_float_eq(number(&t, 0, "replay_error_pct"),
                       100 * (0.100 - 0.110) / 0.110, 1e-9);
    t = written("timeline.csv");
    cr_expect_eq(t.n_rows, 2 * 2 * 2 * N_MB);
    arena_clear(&keep);
}

Test(tables, other_costs_are_replayed_anew)
{
    write_ops();
    struct csv t = written("layouts.csv");
    double first = number(&t, 0, "replay_error_pct");
    struct cost slow = cost;
    slow.latency_s = 0.010; // each way between the two stages
    ctx.cost = &slow;
    t = written("layouts.csv");
    cr_expect_gt(number(&t, 0, "replay_error_pct"), first);
}

Test(tables, stages_take_recorded_operations)
{
    write_ops();
    struct csv t = written("stages.csv");
    cr_assert_eq(t.n_rows, 4);
    cr_expect_str_eq(csv_get(&t, 0, "units"), "Ett");
    cr_expect_str_eq(csv_get(&t, 1, "units"), "ttL");
    cr_expect_float_eq(number(&t, 0, "pred_fwd_ms"), 20, 1e-9);
    // three iterations at speed 1 and three at half speed: 10 and 5 ms
    cr_expect_float_eq(number(&t, 0, "meas_fwd_ms"), 7.5, 1e-9);
    expect_number(&t, 1, "meas_mem_bytes", 300);
}

/* One of two roles' runs has half the speed; all steps are alike. */
Test(tables, timeline_holds_every_operation_of_one_step)
{
    write_ops();
    struct csv t = written("timeline.csv");
    cr_assert_eq(t.n_rows, 2 * 2 * 2 * N_MB); // roles, stages, passes
    cr_expect_str_eq(csv_get(&t, 0, "role"), "default");
    cr_expect_float_eq(number(&t, 0, "end_ms"), 10, 1e-9);
    // the last operation of the step: stage 0, backward of micro-batch 1
    cr_expect_str_eq(csv_get(&t, 3, "kind"), "backward");
    cr_expect_float_eq(number(&t, 3, "start_ms"), 90, 1e-9);
    cr_expect_float_eq(number(&t, 3, "end_ms"), 110, 1e-9);
    cr_expect_gt(number(&t, 0, "iteration"), WARMUP);
}

Test(tables, timeline_is_empty_without_recorded_operations)
{
    struct csv t = written("timeline.csv");
    cr_expect_eq(t.n_rows, 0);
}

Test(tables, jitter_adds_nothing_where_operations_do_not_vary)
{
    struct csv t = written("jitter.csv");
    cr_assert_eq(t.n_rows, 2);
    expect_number(&t, 0, "op_cv", 0);
    expect_number(&t, 0, "expected_step_ms", number(&t, 0, "mean_step_ms"));
}

Test(tables, jitter_lengthens_expected_steps)
{
    cost.jitter_cv = 0.2;
    make_target(0, ROLE_DEFAULT, "Et*2|t*2L");
    struct csv t = written("jitter.csv");
    expect_number(&t, 0, "op_cv", 0.2);
    cr_expect_gt(number(&t, 0, "expected_step_ms"),
                 number(&t, 0, "mean_step_ms"));
}

Test(tables, units_stand_beside_flops_in_the_scale_of_a_layer)
{
    struct csv t = written("units.csv");
    cr_assert_eq(t.n_rows, 3);
    cr_expect_str_eq(csv_get(&t, 1, "unit"), "t");
    expect_number(&t, 1, "fwd_ms", 10);
    cr_expect_float_eq(number(&t, 1, "flops_fwd_ms") +
                           number(&t, 1, "flops_bwd_ms"),
                       30, 1e-9);
    cr_expect_float_eq(number(&t, 2, "flops_bwd_ms"),
                       2 * number(&t, 2, "flops_fwd_ms"), 1e-9);
}

Test(tables, m_and_L_that_are_known_together_are_one_unit)
{
    cost.joint_ml = true;
    cost.unit[KIND_M] = (struct unit_cost){.known = true};
    struct csv t = written("units.csv");
    cr_assert_eq(t.n_rows, 3);
    cr_expect_str_eq(csv_get(&t, 2, "unit"), "mL");
}

Test(tables, without_costs_predictions_are_empty)
{
    ctx.cost = NULL;
    for (int i = 0; i < 2; i++)
        target[i].step_s = target[i].lo_s = target[i].hi_s = NAN;
    struct csv t = written("layouts.csv");
    cr_expect_str_eq(csv_get(&t, 0, "pred_step_ms"), "");
    cr_expect_str_eq(csv_get(&t, 0, "step_error_pct"), "");
    expect_number(&t, 0, "meas_step_ms", 210);
}

/* Every operation of a stage and pass takes the same time. */
Test(tables, equal_operations_have_no_jitter)
{
    struct err_msg msg = {""};
    double cv = NAN;
    write_ops();
    for (int i = 0; i < 2; i++)
        record[i].round = 0;
    const struct figures_source from = {&runs, &model, WARMUP};
    enum err e = figures_jitter(&arena, &from, &cv, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_float_eq(cv, 0, tolerance);
}
