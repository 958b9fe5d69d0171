#include "launch/slurm.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
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

Test(launch_slurm, reads_how_long_a_job_ran)
{
    static const struct {
        const char *text;
        double ran_s;
    } cases[] = {
        {"JobState=RUNNING ExitCode=0:0 RunTime=00:01:05 TimeLimit=1", 65},
        {"JobState=COMPLETED RunTime=1-02:03:04 TimeLimit=1", 93784},
        {"JobState=PENDING RunTime=00:00:00 TimeLimit=1", 0},
        {"JobState=RUNNING RunTime=-00:59:00 TimeLimit=1", 0},
        {"JobState=RUNNING RunTime=INVALID", 0},
        {"JobState=RUNNING RunTime=", 0},
        {"JobState=RUNNING", 0}};
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_float_eq(launch_slurm_view(&a, cases[i].text).ran_s,
                           cases[i].ran_s, 1e-9, "%s", cases[i].text);
    arena_clear(&a);
}

/* A job of a manifest with one field set. */
static enum err prepare(struct manifest *mf, const char *log, char **text)
{
    static const char *const argv[] = {"srun", "x.py"};
    struct arena a;
    struct words submit;
    struct err_msg msg = {""};
    mf->path = "x.json";
    mf->trainer.kind = TRAINER_MEGATRON;
    const struct launch_job job = {.name = "moe-a",
                                   .folder = "/f",
                                   .log = log,
                                   .limit_s = 600,
                                   .manifest = mf,
                                   .argv = {argv, 2},
                                   .n_ranks = 8};
    arena_init(&a);
    const char *script = NULL;
    enum err e = launch_slurm.prepare(&a, &job, &script, &submit, &msg);
    if (e == ERR_OK)
        *text = strdup(script);
    else
        cr_expect_eq(strchr(msg.text, '\n'), NULL, "%s", msg.text);
    arena_clear(&a);
    return e;
}

Test(launch_slurm, no_word_leaves_its_line_of_a_script)
{
    static const char *const line[] = {"#SBATCH --mem=0\nrm -rf x"};
    static const char *const mount[] = {"/a:/a,/etc:/etc"};
    struct manifest bad[] = {{.trainer = {.commit = "abcdef0; touch x"}},
                             {.trainer = {.commit = "$(touch x)"}},
                             {.trainer = {.commit = "--upload-pack=x"}},
                             {.launcher = {.partition = "p\nrm -rf x"}},
                             {.launcher = {.account = "a\n#SBATCH --wrap=x"}},
                             {.launcher = {.lines = {line, 1}}},
                             {.launcher = {.mounts = {mount, 1}}},
                             {.trainer = {.container = "a\nb"}}};
    char *text = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(prepare(&bad[i], "/f/log.txt", &text), ERR_PARSE, "%zu",
                     i);
    struct manifest good = {.launcher = {.partition = "p"}};
    cr_expect_eq(prepare(&good, "/f\nrm/log.txt", &text), ERR_PARSE);
}

Test(launch_slurm, a_commit_is_fetched_by_all_of_its_digits)
{
    char *text = NULL;
    struct manifest mf = {.trainer = {.commit = "3bec9aa"}};
    cr_expect_eq(prepare(&mf, "/f/log.txt", &text), ERR_PARSE);
    mf.trainer.commit = "3bec9aa97dda898d16ff5a89bac0ed2b6682b172";
    cr_assert_eq(prepare(&mf, "/f/log.txt", &text), ERR_OK);
    cr_expect_not_null(strstr(text, "Megatron-LM 3bec9aa97dda898d16ff5a89bac0ed"
                                    "2b6682b172 || exit 1\n"));
    free(text);
    mf.trainer.entry = "../../x.py";
    cr_expect_eq(prepare(&mf, "/f/log.txt", &text), ERR_PARSE);
}

Test(launch_slurm, a_percent_sign_in_a_folder_is_itself)
{
    char *text = NULL;
    struct manifest mf = {.path = "x.json"};
    cr_assert_eq(prepare(&mf, "/f/%j/log.txt", &text), ERR_OK);
    cr_expect_not_null(strstr(text, "#SBATCH --output=/f/%%j/log.txt\n"), "%s",
                       text);
    free(text);
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
