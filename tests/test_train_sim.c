/*
 * The trainer under SimGrid with declared work must take as long as the
 * planner's blocking simulation of its own recorded operations says. The
 * simulator knows neither of the two programs, so this ties the schedule, the
 * exchanges and the shape exchange of both together.
 */
#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"
#include "schedule/schedule.h"
#include "sim/sim.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PP = 4, N_MB = 8, TOKENS = 32, HIDDEN = 64, SHAPE_BYTES = 24 };

/* what the ends of barriers may differ by between ranks, over the step */
static const double tolerance = 1e-3;
static const double latency_s = 10e-6, bytes_per_s = 10e9;

static char fixed_words[][48] = {"-platform",
                                 "experiments/smpi/cluster.xml",
                                 "--cfg=smpi/host-speed:1Gf",
                                 "--cfg=smpi/simulate-computation:no",
                                 "--cfg=network/model:CM02",
                                 "--cfg=network/crosstraffic:no",
                                 "--cfg=network/latency-factor:1",
                                 "--cfg=network/bandwidth-factor:1",
                                 "--cfg=network/weight-S:0",
                                 "--cfg=network/TCP-gamma:0",
                                 "--cfg=smpi/lat-factor:1",
                                 "--cfg=smpi/bw-factor:1",
                                 "--cfg=smpi/send-is-detached-thresh:0",
                                 "--log=root.thres:warning"};

static char model_words[][48] = {"--clock",
                                 "flops",
                                 "--train-iters",
                                 "1",
                                 "--timing-log-level",
                                 "2",
                                 "--num-layers",
                                 "6",
                                 "--hidden-size",
                                 "64",
                                 "--num-attention-heads",
                                 "4",
                                 "--seq-length",
                                 "32",
                                 "--vocab-size",
                                 "256",
                                 "--normalization",
                                 "RMSNorm",
                                 "--swiglu",
                                 "--disable-bias-linear",
                                 "--position-embedding-type",
                                 "rope",
                                 "--num-experts",
                                 "4",
                                 "--moe-ffn-hidden-size",
                                 "64",
                                 "--ffn-hidden-size",
                                 "128",
                                 "--mtp-num-layers",
                                 "1",
                                 "--global-batch-size",
                                 "8",
                                 "--pipeline-model-parallel-size",
                                 "4"};

static struct arena arena;

static char *program_path(void)
{
    static char path[512];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/moe-train-smpi",
             build ? build : "build/release");
    return path;
}

static bool run_trainer(const char *layout, const char *log, const char *ops)
{
    char hosts[] = "/tmp/moe-train-hosts-XXXXXX";
    int host_fd = mkstemp(hosts);
    cr_assert_geq(host_fd, 0);
    for (int i = 0; i < PP; i++)
        dprintf(host_fd, "core-%d\n", i);
    close(host_fd);
    char *argv[80] = {NULL};
    size_t n = 0;
    argv[n++] = arena_strdup(&arena, "smpirun");
    argv[n++] = arena_strdup(&arena, "-np");
    argv[n++] = arena_strdup(&arena, "4");
    argv[n++] = arena_strdup(&arena, "-hostfile");
    argv[n++] = hosts;
    for (size_t i = 0; i < sizeof fixed_words / sizeof fixed_words[0]; i++)
        argv[n++] = fixed_words[i];
    argv[n++] = program_path();
    for (size_t i = 0; i < sizeof model_words / sizeof model_words[0]; i++)
        argv[n++] = model_words[i];
    argv[n++] = arena_printf(&arena, "--record-ops=%s", ops);
    argv[n++] =
        arena_printf(&arena, "--pipeline-model-parallel-layout=%s", layout);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_TRUNC, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid;
    int rc = posix_spawnp(&pid, "smpirun", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 1;
    if (rc == 0)
        waitpid(pid, &status, 0);
    unlink(hosts);
    return rc == 0 && status == 0;
}

/* Times of all operations; returns the end of the last one. */
static double read_ops(const char *path, double *fwd_s, double *bwd_s)
{
    double last_s = 0;
    struct csv t;
    struct err_msg msg = {""};
    cr_assert_eq(csv_read_file(&arena, path, &t, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(t.n_rows, (size_t)2 * PP * N_MB);
    for (size_t i = 0; i < t.n_rows; i++) {
        double stage, mb, start_s, end_s;
        cr_assert(csv_get_double(&t, i, "stage", &stage));
        cr_assert(csv_get_double(&t, i, "mb", &mb));
        cr_assert(csv_get_double(&t, i, "start_s", &start_s));
        cr_assert(csv_get_double(&t, i, "end_s", &end_s));
        bool forward = strcmp(csv_get(&t, i, "kind"), "forward") == 0;
        (forward ? fwd_s : bwd_s)[(int)stage * N_MB + (int)mb] =
            end_s - start_s;
        last_s = fmax(last_s, end_s);
    }
    return last_s;
}

struct expected {
    const char *layout;
    bool standalone;
    int states[PP - 1]; // hidden states in a message behind each rank
};

static double simulated_s(const struct expected *e, const double *fwd_s,
                          const double *bwd_s)
{
    struct schedule schedule;
    struct sim_result result;
    struct err_msg msg = {""};
    double x_s[PP] = {0};
    for (int r = 0; r < PP - 1; r++)
        x_s[r] = latency_s + e->states[r] * TOKENS * HIDDEN * 4.0 / bytes_per_s;
    cr_assert_eq(schedule_1f1b(&arena, PP, N_MB, &schedule, &msg), ERR_OK);
    struct sim_input in = {.schedule = &schedule,
                           .op_fwd_s = fwd_s,
                           .op_bwd_s = bwd_s,
                           .fwd_s = fwd_s,
                           .bwd_s = bwd_s,
                           .x_s = x_s,
                           .shape_exchange = e->standalone,
                           .shape_x_s = latency_s + SHAPE_BYTES / bytes_per_s,
                           .mode = P2P_BLOCKING};
    cr_assert_eq(sim_run(&arena, &in, &result, &msg), ERR_OK, "%s", msg.text);
    return result.step_s;
}

static void check_layout(const struct expected *e)
{
    char log[] = "/tmp/moe-train-log-XXXXXX", ops[] = "/tmp/moe-ops-XXXXXX";
    double fwd_s[PP * N_MB], bwd_s[PP * N_MB];
    int log_fd = mkstemp(log), ops_fd = mkstemp(ops);
    cr_assert(log_fd >= 0 && ops_fd >= 0);
    close(log_fd);
    close(ops_fd);
    arena_init(&arena);
    cr_assert(run_trainer(e->layout, log, ops), "%s: the run failed, see %s",
              e->layout, log);
    double meas_s = read_ops(ops, fwd_s, bwd_s);
    double pred_s = simulated_s(e, fwd_s, bwd_s);
    unlink(log);
    unlink(ops);
    arena_clear(&arena);
    cr_expect_lt(fabs(pred_s / meas_s - 1), tolerance,
                 "%s: executed %.9f s, simulated %.9f s (%+.4f%%)", e->layout,
                 meas_s, pred_s, 100 * (pred_s / meas_s - 1));
}

static void skip_without_simgrid(void)
{
    const char *path[] = {"/usr/bin/smpirun", "/usr/local/bin/smpirun"};
    if (access(path[0], X_OK) != 0 && access(path[1], X_OK) != 0)
        cr_skip_test("smpirun is not installed");
    if (access("experiments/smpi/cluster.xml", R_OK) != 0)
        cr_skip_test("not started in the repository's root");
    if (access(program_path(), X_OK) != 0)
        cr_skip_test("moe-train-smpi is not built in this mode");
}

Test(train_sim, executes_as_simulated_with_mtp_and_loss_together)
{
    skip_without_simgrid();
    const struct expected layouts[] = {
        {"Et*3|t|t|tmL", false, {1, 1, 1}},
        {"Et*2|t*2|t*2|mL", false, {1, 1, 1}},
        {"E|t*6||mL", false, {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_layout(&layouts[i]);
}

Test(train_sim, executes_as_simulated_with_mtp_standalone)
{
    skip_without_simgrid();
    const struct expected layouts[] = {
        {"Et*3|t*3|m|L", true, {1, 1, 2}},
        {"Et*3|t*3m||L", true, {1, 2, 2}},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_layout(&layouts[i]);
}
