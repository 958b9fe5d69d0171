/* inner: which word a launcher would start, and what its options say. */
#include "record/inner.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(record_inner, .init = setup, .fini = teardown);

enum { MAX_WORDS = 40 };

/* Words given with blanks between them. */
static struct record_words split(const char *line)
{
    const char **word = arena_alloc(&arena, MAX_WORDS, sizeof *word);
    char *copy = arena_strdup(&arena, line), *save = NULL;
    struct record_words words = {word, 0};
    for (char *w = strtok_r(copy, " ", &save); w;
         w = strtok_r(NULL, " ", &save))
        word[words.n++] = w;
    return words;
}

Test(record_inner, finds_the_program_behind_the_options)
{
    static const struct {
        const char *line, *inner; // NULL: none
    } cases[] = {
        {"srun python x.py", "python"},
        {"srun -N2 -n 16 --ntasks-per-node 8 --label bash x.sh", "bash"},
        {"srun --container-image img --container-writable -l python3 x",
         "python3"},
        {"srun --exclusive --mem=0 -W 0 --kill-on-bad-exit=1 torchrun x",
         "torchrun"},
        {"srun --wait 60 --mpi=pmix --unknown value torchrun x", "torchrun"},
        {"srun -u -N 2 -- torchrun", "torchrun"},
        {"srun -N", NULL},
        {"srun", NULL},
        {"sbatch --wait -N 2 job.sh", "job.sh"},
        {"sbatch --wrap x", NULL},
        {"mpirun -np 8 --hostfile h -x A -x B=c --mca a b python x", "python"},
        {"mpirun --allow-run-as-root --bind-to none -map-by slot python x",
         "python"},
        {"mpiexec -n 4 -genv A b -l ./train", "./train"},
        {"mpirun --np=8 python", "python"},
        {"singularity exec --nv -B /a:/b img.sif bash -c x", "bash"},
        {"numactl -N 0 -m 0 python x.py", "python"},
        {"nsys profile -o out --trace cuda torchrun x", "torchrun"},
        {"numactl -N 0 ./run.sh --x", "./run.sh"},
        {"numactl --show", NULL},
        {"docker run --gpus all --rm img torchrun x", "torchrun"},
        {"docker ps", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct record_words w = split(cases[i].line);
        int at = inner_find(program_kind(w.word[0]), w);
        if (cases[i].inner)
            cr_assert_str_eq(at < w.n ? w.word[at] : "", cases[i].inner, "%s",
                             cases[i].line);
        else
            cr_assert_eq(at, w.n, "%s: %d", cases[i].line, at);
    }
}

/* The job's sizes as one text. */
static const char *sizes(const struct inner_job *job)
{
    struct record_words words;
    const char *out = "";
    cr_assert(inner_job_words(&arena, job, &words));
    for (int i = 0; i < words.n; i++)
        out = arena_printf(&arena, "%s%s%s", out, i ? " " : "", words.word[i]);
    return out;
}

Test(record_inner, options_size_the_job)
{
    struct inner_job job = {0};
    inner_job_read(split("sbatch -N2 --ntasks 16 --gpus-per-node=h100:8 -c 4 "
                         "--export=ALL,A=b job.sh -N 9"),
                   &job);
    cr_assert_str_eq(sizes(&job),
                     "--nodes=2 --ntasks=16 --gpus-per-node=h100:8 "
                     "--cpus-per-task=4");
    cr_assert_str_eq(job.export_list, "ALL,A=b");
    inner_job_read(split("sbatch --nodes 3"), &job);
    cr_assert_str_eq(job.nodes, "3", "the last one wins");
}

Test(record_inner, lines_above_the_first_command_size_the_job)
{
    struct inner_job job = {0};
    cr_assert(inner_job_script(&arena,
                               "#!/bin/bash\n"
                               "#SBATCH --nodes=2-4 --gres=gpu:a100:8 # two\n"
                               "# a comment\n\n"
                               "#SBATCH -J \"a -n 7\" -n 16\r\n"
                               "  ## SBATCH --nodes=9\n"
                               "echo x\n"
                               "#SBATCH --nodes=5\n",
                               &job));
    cr_assert_str_eq(sizes(&job), "--nodes=2-4 --ntasks=16 --gres=gpu:a100:8");
}

static const char *get(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

Test(record_inner, sets_what_slurm_sets)
{
    struct inner_job job = {0};
    setenv("SLURM_NNODES", "7", 1);
    cr_assert(inner_job_script(
        &arena, "#SBATCH --nodes=2-4 --ntasks-per-node=8 --gres=gpu:8\n",
        &job));
    inner_job_environment(&job, true);
    cr_assert_str_eq(get("SLURM_NNODES"), "7", "what is set stays");
    inner_job_environment(&job, false);
    cr_assert_str_eq(get("SLURM_NNODES"), "2");
    cr_assert_str_eq(get("SLURM_NTASKS"), "16");
    cr_assert_str_eq(get("SLURM_TASKS_PER_NODE"), "8(x2)");
    cr_assert_str_eq(get("SLURM_GPUS_ON_NODE"), "8");
    cr_assert_str_eq(get("SLURM_JOB_NODELIST"), "node[1-2]");
    cr_assert_str_eq(get("SLURM_PROCID"), "0");
}

Test(record_inner, hostile_sizes_set_nothing_or_a_number)
{
    struct inner_job job = {.nodes = "99999999999999999999",
                            .tasks_per_node = "-3",
                            .gres = "gpu:",
                            .gpus_per_node = ":"};
    inner_job_environment(&job, false);
    cr_assert_str_eq(get("SLURM_NNODES"), "1");
    cr_assert_str_eq(get("SLURM_NTASKS"), "");
    cr_assert_str_eq(get("SLURM_GPUS_ON_NODE"), "");
}

Test(record_inner, hands_on_what_mpirun_and_export_set)
{
    const struct inner_job job = {.export_list = "ALL,A=b,C=d=e,HOME"};
    inner_set_exports(&job);
    cr_assert_str_eq(get("A"), "b");
    cr_assert_str_eq(get("C"), "d=e");
    inner_mpirun_environment(
        split("mpirun -np 16 --mca x y -x F=g -genv H i python -x J=k"));
    cr_assert_str_eq(get("F"), "g");
    cr_assert_str_eq(get("H"), "i");
    cr_assert_str_eq(get("J"), "", "a word of the program");
    cr_assert_str_eq(get("OMPI_COMM_WORLD_SIZE"), "16");
}
