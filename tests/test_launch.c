#include "launch/launch.h"
#include "launch/words.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct manifest manifest;
static struct workload workload;
static struct machine machine;

#define MODEL                                                                  \
    "{\"num_layers\":16,\"hidden_size\":64,\"num_attention_heads\":4,"         \
    "\"moe_layer_freq\":[1,1,0,1,1,1,1,1,1,1,1,1,1,1,1,1],"                    \
    "\"num_experts\":4,\"swiglu\":true,\"qk_layernorm\":false,"                \
    "\"vocab_size\":256,\"seq_length\":999,\"mtp_num_layers\":1}"

static void setup(void)
{
    struct err_msg msg = {""};
    arena_init(&arena);
    manifest = (struct manifest){.path = "x.json",
                                 .dir = ".",
                                 .model_json = MODEL,
                                 .launcher = {.kind = "mpirun"},
                                 .trainer = {.kind = TRAINER_MOE_TRAIN},
                                 .overrides = {.size = {[OVERRIDE_PP] = 4,
                                                        [OVERRIDE_MBS] = 1,
                                                        [OVERRIDE_GBS] = 8,
                                                        [OVERRIDE_SEQ] = 32}},
                                 .warmup = 2,
                                 .count = 5,
                                 .profile_timers = 2,
                                 .run_limit_s = 90};
    machine = (struct machine){.n_cores = 8, .blas_core = "Haswell"};
    enum err e = workload_read(&arena, &manifest, &workload, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    unsetenv("OPENBLAS_NUM_THREADS");
    unsetenv("OPENBLAS_CORETYPE");
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(launch, .init = setup, .fini = teardown);

static struct launch_request request(const char *layout, bool profile)
{
    return (struct launch_request){.manifest = &manifest,
                                   .workload = &workload,
                                   .machine = &machine,
                                   .layout = layout,
                                   .profile = profile,
                                   .ops_path = "ops.csv"};
}

/* All words with blanks between, printed for a shell. */
static const char *command(const struct words *w)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    cr_assert_not_null(f);
    launch_print_words(f, w);
    fclose(f);
    const char *copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

static const char *build(const char *layout, bool profile, struct launch *l)
{
    struct launch_request req = request(layout, profile);
    struct err_msg msg = {""};
    enum err e = launch_build(&arena, &req, l, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return command(&l->argv);
}

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no '%s' in: %s", part, text);
}

static void expect_no_part(const char *text, const char *part)
{
    cr_expect_null(strstr(text, part), "'%s' in: %s", part, text);
}

Test(launch, model_keys_become_flags)
{
    struct launch l;
    const char *c = build("E|L", false, &l);
    expect_part(c, " --num-layers 16 ");
    expect_part(c, " --swiglu --vocab-size");
    expect_no_part(c, "--qk-layernorm");
    expect_part(c, " --moe-layer-freq '[1,1,0,1,1,1,1,1,1,1,1,1,1,1,1,1]' ");
}

Test(launch, manifest_wins_over_the_model)
{
    struct launch l;
    const char *c = build("E|L", false, &l);
    expect_part(c, "--seq-length 32 ");
    expect_no_part(c, "999");
    cr_expect_eq(workload.model.batch.seq_tokens, 32);
    cr_expect_eq(workload.model.batch.n_microbatches, 8);
    cr_expect_eq(workload.model.par.world, 4);
}

Test(launch, ep_overlap_is_for_measured_runs_only)
{
    struct launch l;
    struct err_msg msg = {""};
    manifest.overrides.size[OVERRIDE_VPP] = 2;
    manifest.overrides.size[OVERRIDE_GROUP] = 8;
    manifest.ep_overlap = true;
    cr_assert_eq(workload_read(&arena, &manifest, &workload, &msg), ERR_OK);
    cr_expect_eq(workload.model.par.vpp, 2);
    cr_expect_eq(workload.model.memory.mb_group, 8);
    cr_expect(workload.model.overlap_moe_comm);
    const char *c = build("E|L", false, &l);
    expect_part(c, "--overlap-moe-expert-parallel-comm");
    expect_part(c, "--microbatch-group-size-per-virtual-pipeline-stage 8 ");
    expect_no_part(c, "--num-virtual-stages"); // the layout says it
    expect_no_part(build("E|L", true, &l),
                   "--overlap-moe-expert-parallel-comm");
}

Test(launch, mpirun_stays_on_this_machine)
{
    struct launch l;
    const char *c = build("Et*4|t*4|t*4|t*4mL", false, &l);
    expect_part(c, "mpirun --allow-run-as-root -np 4 --mca btl self,vader "
                   "--mca pml ob1 ");
    expect_part(c, "moe-train --num-layers");
    expect_part(c, "--pipeline-model-parallel-layout 'Et*4|t*4|t*4|t*4mL' "
                   "--train-iters 7 --log-interval 1 --reference-burst");
    cr_expect_str_eq(l.source, "measured");
    cr_expect_str_eq(l.clock, "wall");
    cr_expect_eq(l.timers, 0);
    expect_no_part(c, "timing-log");
}

Test(launch, profile_runs_have_timers)
{
    struct launch l;
    const char *c = build("E|L", true, &l);
    expect_part(c, "--timing-log-level 2 --timing-log-option all");
    expect_part(c, "--record-ops ops.csv");
    cr_expect_eq(l.timers, 2);
}

Test(launch, auto_needs_a_core_a_rank)
{
    struct launch l;
    manifest.launcher.kind = "auto";
    machine.n_cores = 4;
    build("E|L", false, &l);
    cr_expect_str_eq(l.launcher, "mpirun");
    machine.n_cores = 3;
    expect_part(build("E|L", false, &l), "moe-train-smpi ");
    cr_expect_str_eq(l.launcher, "smpirun");
    cr_expect_str_eq(l.clock, "cpu");
    cr_expect_str_eq(l.source, "emulated");
}

Test(launch, declared_work_has_no_bursts)
{
    struct launch l;
    manifest.launcher =
        (struct manifest_launcher){.kind = "smpirun", .clock = "flops"};
    const char *c = build("E|L", false, &l);
    expect_part(c, "--cfg=smpi/simulate-computation:no");
    expect_part(c, "--clock flops");
    expect_no_part(c, "--reference-burst");
    cr_expect_str_eq(l.platform, "experiments/smpi/cluster.xml");
}

Test(launch, a_clock_that_the_launcher_lacks_is_an_error)
{
    struct launch l;
    struct err_msg msg = {""};
    manifest.launcher.clock = "cpu";
    struct launch_request req = request("E|L", false);
    cr_assert_eq(launch_build(&arena, &req, &l, &msg), ERR_PARSE);
    expect_part(msg.text, "clock: got 'cpu', want wall with mpirun");
}

Test(launch, command_puts_its_words_first)
{
    static const char *const words[] = {"srun", "-n{ranks}", "--"};
    struct launch l;
    manifest.launcher =
        (struct manifest_launcher){.kind = "command", .command = {words, 3}};
    manifest.trainer.entry = "./train.sh";
    const char *c = build("E|L", false, &l);
    cr_expect(text_starts(c, "srun -n4 -- ./train.sh --num-layers"), "%s", c);
}

Test(launch, an_unknown_launcher_names_the_nearest)
{
    struct launch l;
    struct err_msg msg = {""};
    manifest.launcher.kind = "mpirum";
    struct launch_request req = request("E|L", false);
    cr_assert_eq(launch_build(&arena, &req, &l, &msg), ERR_PARSE);
    expect_part(msg.text, "did you mean 'mpirun'");
}

Test(launch, torchrun_runs_megatron_on_one_node)
{
    struct launch l;
    struct err_msg msg = {""};
    manifest.launcher.kind = "torchrun";
    manifest.trainer.kind = TRAINER_MEGATRON;
    const char *c = build(NULL, false, &l);
    cr_expect(text_starts(c, "torchrun --standalone --nproc-per-node 4 "
                             "pretrain_gpt.py --num-layers 16"),
              "%s", c);
    expect_part(c, "'<pick after profile>'");
    expect_no_part(c, "--record-ops");
    setenv("PATH", "/nowhere", 1);
    cr_assert_eq(launch_check(&arena, &manifest, &l, &msg), ERR_CHILD);
    expect_part(msg.text, "launcher 'torchrun': program 'torchrun' not found");
}

Test(launch, words_are_quoted_for_a_shell)
{
    static const char *const words[] = {"plain-1.0", "two words", "it's",
                                        "$HOME|;*", ""};
    cr_expect_str_eq(command(&(struct words){words, 5}),
                     "plain-1.0 'two words' 'it'\\''s' '$HOME|;*' ''");
}

Test(launch, environment_keeps_what_the_user_set)
{
    struct launch l;
    build("E|L", false, &l);
    cr_assert_eq(l.env.n, 2);
    cr_expect_str_eq(l.env.word[0], "OPENBLAS_NUM_THREADS=1");
    cr_expect_str_eq(l.env.word[1], "OPENBLAS_CORETYPE=Haswell");
    setenv("OPENBLAS_NUM_THREADS", "2", 1);
    build("E|L", false, &l);
    cr_assert_eq(l.env.n, 1);
    cr_expect_str_eq(l.env.word[0], "OPENBLAS_CORETYPE=Haswell");
}

Test(launch, added_variables_replace_inherited_ones)
{
    static const char *const add[] = {"MOE_TEST_X=new"};
    int found = 0;
    setenv("MOE_TEST_X", "old", 1);
    char **env = launch_environment(&arena, &(struct words){add, 1});
    cr_assert_not_null(env);
    for (; *env; env++)
        if (text_starts(*env, "MOE_TEST_X=")) {
            cr_expect_str_eq(*env, "MOE_TEST_X=new");
            found++;
        }
    cr_expect_eq(found, 1);
}

Test(launch, secrets_are_not_recorded)
{
    cr_expect(launch_env_is_recorded("OPENBLAS_CORETYPE=x"));
    cr_expect(launch_env_is_recorded("NCCL_DEBUG=INFO"));
    cr_expect_not(launch_env_is_recorded("HF_TOKEN=secret"));
    cr_expect_not(launch_env_is_recorded("NCCL_HFTOKEN=secret"));
    cr_expect_not(
        launch_env_is_recorded("NCCL_X=ghp_Ab0Cd1Ef2Gh3Ij4KAb0Cd1Ef2Gh3Ij4K"));
    cr_expect_not(launch_env_is_recorded("NCCL_X=https://me:pw@example.org"));
    cr_expect_not(launch_env_is_recorded("PATH=/bin"));
}

Test(launch, people_and_machines_are_not_recorded)
{
    static const char *const out[] = {
        "SLURM_JOB_USER=somebody",
        "SLURM_JOB_ACCOUNT=somebody",
        "SLURM_JOB_UID=1000",
        "SLURM_JOB_NODELIST=node[1-2]",
        "SLURM_JOB_NAME=x",
        "SLURM_JOBID_X=1",
        "CUDA_HOME=/home/somebody/cuda",
        "TORCH_HOME=/Users/somebody/x",
        "OMPI_MCA_plm_rsh_agent=ssh somebody@host",
        "OMPI_MCA_orte_hnp_uri=1;tcp://10.0.0.1:5",
        "MOE_BENCH_BUCKET=hf://buckets/somebody/x",
        "NCCL_X=/scratch/a-user-of-ours/x"};
    setenv("USER", "a-user-of-ours", 1);
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        cr_expect_not(launch_env_is_recorded(out[i]), "%s", out[i]);
    cr_expect(launch_env_is_recorded("SLURM_JOB_NUM_NODES=2"));
    cr_expect(launch_env_is_recorded("SLURM_JOB_ID=17"));
    cr_expect(launch_env_is_recorded("NCCL_IB_HCA=mlx5_0:1,mlx5_1:1"));
    cr_expect(launch_env_is_recorded("NCCL_IB_PKEY=0x8001"));
}

Test(launch, printed_variables_are_assignments)
{
    static const char *const words[] = {"A=b c", "B=", "C=$(x)", "D='"};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    cr_assert_not_null(f);
    launch_print_assignments(f, &(struct words){words, 4});
    fclose(f);
    cr_expect_str_eq(text, "A='b c' B= C='$(x)' D=''\\'''");
    free(text);
}

Test(launch, finds_programs_along_path)
{
    cr_expect_not_null(launch_find_program(&arena, "sh"));
    cr_expect_null(launch_find_program(&arena, "moe-no-such-program"));
    cr_expect_null(launch_find_program(&arena, "/etc/passwd"));
}

Test(launch, words_are_as_many_as_there_are)
{
    struct build b = build_new(&arena);
    struct words w = {0};
    struct err_msg msg = {""};
    for (int i = 0; i < 5000; i++)
        build_add(&b, arena_printf(&arena, "%d", i));
    cr_assert_eq(build_words(&b, "test", &w, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(w.n, 5000);
    for (int i = 0; i < w.n; i++)
        cr_assert_eq(strtol(w.word[i], NULL, 10), i);
    build_add(&b, NULL);
    cr_assert_eq(build_words(&b, "test", &w, &msg), ERR_NOMEM);
}

static enum err read_back(const char *json, struct words *w,
                          struct err_msg *msg)
{
    char name[] = "/tmp/moe-test-words-XXXXXX";
    const int fd = mkstemp(name);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    const enum err e = words_read(&arena, name, w, msg);
    unlink(name);
    return e;
}

Test(launch, words_are_read_back_as_they_were_kept)
{
    struct words w = {0};
    struct err_msg msg = {""};
    cr_assert_eq(read_back("[\"\", \"x\", \"--a=b\"]", &w, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_eq(w.n, 3);
    cr_expect_str_eq(w.word[0], "");
    cr_expect_str_eq(w.word[1], "x");
    cr_expect_str_eq(w.word[2], "--a=b");
    static const char *const bad[] = {"{\"a\": 1}", "[1]", "[null]", "x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(read_back(bad[i], &w, &msg), ERR_PARSE, "%s", bad[i]);
    cr_expect_eq(w.n, 3, "written only on success");
}
