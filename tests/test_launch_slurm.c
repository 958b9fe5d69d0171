#include "launch/slurm.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

struct view {
    char text[120];
    enum job_state state;
    int exit_code;
};

ParameterizedTestParameters(launch_slurm, reads_what_scontrol_says)
{
    static struct view cases[] = {
        {"JobId=1 JobName=x JobState=PENDING Reason=None ExitCode=0:0",
         JOB_WAITING, -1},
        {"JobId=1 JobState=RUNNING Reason=None ExitCode=0:0", JOB_RUNNING, -1},
        {"JobId=1 JobState=COMPLETING ExitCode=0:0", JOB_RUNNING, -1},
        {"JobId=1 JobState=COMPLETED ExitCode=0:0", JOB_ENDED, 0},
        {"JobId=1 JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0",
         JOB_FAILED, 3},
        {"JobId=1 JobState=FAILED ExitCode=0:9", JOB_FAILED, -1},
        {"JobId=1 JobState=TIMEOUT ExitCode=0:15", JOB_OVER_TIME, -1},
        {"JobId=1 JobState=CANCELLED ExitCode=0:15", JOB_CANCELLED, -1},
        {"JobId=1 JobState=NODE_FAIL ExitCode=0:0", JOB_LOST, 0},
        {"JobId=1 JobState=OUT_OF_MEMORY ExitCode=0:125", JOB_FAILED, -1},
        {"nothing of this kind", JOB_WAITING, -1},
    };
    return cr_make_param_array(struct view, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct view *c, launch_slurm, reads_what_scontrol_says)
{
    struct arena a;
    arena_init(&a);
    struct job_view v = launch_slurm_view(&a, c->text);
    cr_expect_eq(v.state, c->state, "%s", c->text);
    cr_expect_eq(v.exit_code, c->exit_code, "%s: got %d", c->text, v.exit_code);
    arena_clear(&a);
}

Test(launch_slurm, a_script_holds_all_that_the_manifest_passes_through)
{
    static const char *const modules[] = {"cuda/12", "it's"};
    static const char *const lines[] = {"#SBATCH --mem=0", "ulimit -n 100"};
    static const char *const env[] = {"A=b c"};
    static const char *const argv[] = {"srun", "torchrun", "--rdzv-endpoint",
                                       "{first_node}:29500", "x.py"};
    const struct manifest mf = {
        .path = "x.json",
        .hardware = {.gpu = "H100", .nodes = 2},
        .trainer = {.kind = TRAINER_MEGATRON, .entry = "/x.py"},
        .launcher = {.partition = "gpu",
                     .account = "me",
                     .modules = {modules, 2},
                     .lines = {lines, 2}}};
    const struct launch_job job = {.name = "moe-a",
                                   .folder = "/f",
                                   .log = "/f/log.txt",
                                   .limit_s = 600,
                                   .manifest = &mf,
                                   .argv = {argv, 5},
                                   .env = {env, 1},
                                   .n_ranks = 16};
    static const char *const parts[] = {"#SBATCH --partition=gpu\n",
                                        "#SBATCH --account=me\n",
                                        "#SBATCH --nodes=2\n",
                                        "#SBATCH --gpus-per-node=8\n",
                                        "#SBATCH --time=12\n",
                                        "#SBATCH --mem=0\n",
                                        "module load cuda/12 || exit 1\n",
                                        "module load 'it'\\''s' || exit 1\n",
                                        "export 'A=b c'\n",
                                        "ulimit -n 100\n",
                                        "srun torchrun --rdzv-endpoint "
                                        "\"$MOE_FIRST_NODE:29500\" x.py\n"};
    struct arena a;
    struct err_msg msg = {""};
    const char *text = NULL;
    struct words submit;
    arena_init(&a);
    cr_assert_eq(launch_slurm.prepare(&a, &job, &text, &submit, &msg), ERR_OK,
                 "%s", msg.text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_expect_not_null(strstr(text, parts[i]), "no '%s' in:\n%s", parts[i],
                           text);
    cr_expect_eq(submit.n, 3);
    cr_expect_str_eq(submit.word[2], "/f/job.sh");
    arena_clear(&a);
}

Test(launch_slurm, takes_the_number_that_sbatch_prints)
{
    struct arena a;
    struct err_msg msg = {""};
    const char *id = NULL;
    arena_init(&a);
    cr_assert_eq(
        launch_slurm.start(&a, "sbatch: note\n12;cluster\n", &id, &msg),
        ERR_OK);
    cr_expect_str_eq(id, "12");
    cr_expect_eq(launch_slurm.start(&a, "no number\n", &id, &msg), ERR_CHILD);
    cr_expect_not_null(strstr(msg.text, "got 'no number'"), "%s", msg.text);
    arena_clear(&a);
}
