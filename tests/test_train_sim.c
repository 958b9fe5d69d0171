/*
 * The trainer under SimGrid with declared work must take as long as the
 * planner's simulation of its own recorded operations says, for every way of
 * ordering work and of exchanging. The simulator knows neither of the two
 * programs, so this ties the order, the exchanges, the overlap of transfers and
 * the shape exchange of both together.
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

enum {
    PP = 4,
    MAX_VPP = 3,
    N_MB = 8,
    TOKENS = 32,
    HIDDEN = 64,
    SHAPE_BYTES = 24
};

/* what the ends of barriers may differ by between ranks, a few latencies, over
 * steps of a quarter of a second; wrong modes are off by more than that */
static const double tolerance = 2e-4;
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

/* One way to train: flags, and what the simulator is told. */
struct expected {
    const char *layout;
    const char *flags[3]; // beside the layout
    int vpp, group;       // group 0: PP
    bool ep_overlap;
    enum p2p_mode mode;
    bool standalone;
    int double_from; // messages behind this stage hold two hidden states
};

static bool run_trainer(const struct expected *e, const char *log,
                        const char *ops)
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
        arena_printf(&arena, "--pipeline-model-parallel-layout=%s", e->layout);
    for (int i = 0; i < 3 && e->flags[i]; i++)
        argv[n++] = arena_strdup(&arena, e->flags[i]);
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
static double read_ops(const char *path, int vpp, double *fwd_s, double *bwd_s)
{
    double last_s = 0;
    struct csv t;
    struct err_msg msg = {""};
    cr_assert_eq(csv_read_file(&arena, path, &t, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(t.n_rows, (size_t)2 * PP * (size_t)vpp * N_MB);
    for (size_t i = 0; i < t.n_rows; i++) {
        double stage, mb, start_s, end_s;
        cr_assert(csv_get_double(&t, i, "stage", &stage));
        cr_assert(csv_get_double(&t, i, "mb", &mb));
        cr_assert(csv_get_double(&t, i, "start_s", &start_s));
        cr_assert(csv_get_double(&t, i, "end_s", &end_s));
        cr_assert(stage >= 0 && stage < PP * vpp && mb >= 0 && mb < N_MB);
        bool forward = strcmp(csv_get(&t, i, "kind"), "forward") == 0;
        (forward ? fwd_s : bwd_s)[(int)stage * N_MB + (int)mb] =
            end_s - start_s;
        last_s = fmax(last_s, end_s);
    }
    return last_s;
}

static double simulated_s(const struct expected *e, const double *fwd_s,
                          const double *bwd_s)
{
    struct schedule schedule;
    struct sim_result result;
    struct err_msg msg = {""};
    double x_s[PP * MAX_VPP] = {0};
    const struct order order = {.pp = PP,
                                .vpp = e->vpp,
                                .n_mb = N_MB,
                                .group = e->group ? e->group : PP,
                                .ep_overlap = e->ep_overlap};
    for (int s = 0; s < PP * e->vpp - 1; s++) {
        int states = e->double_from > 0 && s >= e->double_from ? 2 : 1;
        x_s[s] = latency_s + states * TOKENS * HIDDEN * 4.0 / bytes_per_s;
    }
    cr_assert_eq(schedule_build(&arena, &order, e->mode, &schedule, &msg),
                 ERR_OK, "%s", msg.text);
    struct sim_input in = {.schedule = &schedule,
                           .op_fwd_s = fwd_s,
                           .op_bwd_s = bwd_s,
                           .fwd_s = fwd_s,
                           .bwd_s = bwd_s,
                           .x_s = x_s,
                           .shape_exchange = e->standalone,
                           .shape_x_s = latency_s + SHAPE_BYTES / bytes_per_s,
                           .mode = e->mode};
    cr_assert_eq(sim_run(&arena, &in, &result, &msg), ERR_OK, "%s", msg.text);
    return result.step_s;
}

static void check_layout(const struct expected *e)
{
    char log[] = "/tmp/moe-train-log-XXXXXX", ops[] = "/tmp/moe-ops-XXXXXX";
    double fwd_s[PP * MAX_VPP * N_MB], bwd_s[PP * MAX_VPP * N_MB];
    int log_fd = mkstemp(log), ops_fd = mkstemp(ops);
    cr_assert(log_fd >= 0 && ops_fd >= 0);
    close(log_fd);
    close(ops_fd);
    arena_init(&arena);
    cr_assert(run_trainer(e, log, ops), "%s: the run failed, see %s", e->layout,
              log);
    double meas_s = read_ops(ops, e->vpp, fwd_s, bwd_s);
    double pred_s = simulated_s(e, fwd_s, bwd_s);
    unlink(log);
    unlink(ops);
    arena_clear(&arena);
    cr_expect_lt(fabs(pred_s / meas_s - 1), tolerance,
                 "%s, %s: executed %.9f s, simulated %.9f s (%+.4f%%)",
                 e->layout, p2p_mode_name(e->mode), meas_s, pred_s,
                 100 * (pred_s / meas_s - 1));
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

#define WAITS "--no-overlap-p2p-communication"
#define FLUSH "--overlap-p2p-communication-warmup-flush"
#define EP "--overlap-moe-expert-parallel-comm"
#define GROUP_8 "--microbatch-group-size-per-virtual-pipeline-stage=8"
#define INTERLEAVED "Et*2|t||t||t|t|mL"
#define APART "Et*2|t||t|t|t|m|L"

static void check_all(const struct expected *e, size_t n)
{
    skip_without_simgrid();
    for (size_t i = 0; i < n; i++)
        check_layout(&e[i]);
}

Test(train_sim, executes_as_simulated_with_mtp_and_loss_together)
{
    const struct expected all[] = {
        {"Et*3|t|t|tmL", {0}, 1, 0, false, P2P_BLOCKING, false, 0},
        {"Et*2|t*2|t*2|mL", {0}, 1, 0, false, P2P_BLOCKING, false, 0},
        {"E|t*6||mL", {0}, 1, 0, false, P2P_BLOCKING, false, 0},
    };
    check_all(all, sizeof all / sizeof all[0]);
}

Test(train_sim, executes_as_simulated_with_mtp_standalone)
{
    const struct expected all[] = {
        {"Et*3|t*3|m|L", {0}, 1, 0, false, P2P_BLOCKING, true, 2},
        {"Et*3|t*3m||L", {0}, 1, 0, false, P2P_BLOCKING, true, 1},
    };
    check_all(all, sizeof all / sizeof all[0]);
}

Test(train_sim, executes_as_simulated_interleaved)
{
    const struct expected all[] = {
        {INTERLEAVED, {0}, 2, 0, false, P2P_OVERLAP, false, 0},
        {INTERLEAVED, {GROUP_8}, 2, 8, false, P2P_OVERLAP, false, 0},
        {INTERLEAVED, {WAITS}, 2, 0, false, P2P_BLOCKING, false, 0},
        {INTERLEAVED, {FLUSH}, 2, 0, false, P2P_OVERLAP_FLUSH, false, 0},
        {"Et|t|t|||t|t|t||||mL", {0}, 3, 0, false, P2P_OVERLAP, false, 0},
    };
    check_all(all, sizeof all / sizeof all[0]);
}

Test(train_sim, executes_as_simulated_interleaved_with_mtp_standalone)
{
    const struct expected all[] = {
        {APART, {0}, 2, 0, false, P2P_OVERLAP, true, 6},
        {APART, {WAITS}, 2, 0, false, P2P_BLOCKING, true, 6},
        {APART, {FLUSH}, 2, 0, false, P2P_OVERLAP_FLUSH, true, 6},
        {APART, {EP}, 2, 0, true, P2P_OVERLAP, true, 6},
    };
    check_all(all, sizeof all / sizeof all[0]);
}

Test(train_sim, executes_as_simulated_with_ep_overlap)
{
    const struct expected all[] = {
        {INTERLEAVED, {EP}, 2, 0, true, P2P_OVERLAP, false, 0},
        {INTERLEAVED, {EP, GROUP_8}, 2, 8, true, P2P_OVERLAP, false, 0},
        {INTERLEAVED, {EP, WAITS}, 2, 0, true, P2P_BLOCKING, false, 0},
        {INTERLEAVED, {EP, FLUSH}, 2, 0, true, P2P_OVERLAP_FLUSH, false, 0},
    };
    check_all(all, sizeof all / sizeof all[0]);
}
