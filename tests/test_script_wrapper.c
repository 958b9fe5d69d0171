#include "script/wrapper.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WRAPPER_MOST = 32 };

/* Words of a line, parted by single blanks. */
static size_t cut(char *line, struct bash_word *word)
{
    size_t n = 0;
    while (*line && n < WRAPPER_MOST) {
        word[n++] = (struct bash_word){.text = line};
        line += strcspn(line, " ");
        if (*line)
            *line++ = '\0';
    }
    return n;
}

static const struct {
    const char *line, *inner; // inner "": none
} lines[] = {
    {"torchrun a.py", ""},
    {"srun torchrun a.py", "torchrun"},
    {"srun -N 4 --ntasks-per-node=8 -l --export=ALL,A=1 python x", "python"},
    {"srun --nodes 4 --container-image a --mpi=pmix bash -c x", "bash"},
    {"/usr/bin/nohup python x", "python"},
    {"env -u A B=1 C= python x", "python"},
    {"env", ""},
    {"timeout -k 5 10m python x", "python"},
    {"taskset -c 0-3 python x", "python"},
    {"numactl --cpunodebind=0 --membind 0 python x", "python"},
    {"mpirun -np 8 -x A -mca btl self --hostfile h python x", "python"},
    {"mpirun -np 8 --allow-run-as-root -- python x", "python"},
    {"singularity exec --nv -B /a:/b img.sif python x", "python"},
    {"docker run --rm --gpus all -e A=1 image bash x", "bash"},
    {"docker ps", ""},
    {"ssh -p 22 host cd", "cd"},
    {"ssh host", ""},
    {"nsys profile -o out -t cuda python x", "python"},
    {"uv run --with a python x", "python"},
    {"sbatch -N 2 --gres=gpu:8 job.sh a", "job.sh"},
    {"nice -n 5 python x", "python"},
    {"sudo -u me A=1 python x", "python"},
    {"", ""},
};

Test(script_wrapper, finds_the_program_behind_the_options)
{
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[256];
        struct bash_word word[WRAPPER_MOST];
        cr_assert_lt(strlen(lines[i].line), sizeof text);
        memcpy(text, lines[i].line, strlen(lines[i].line) + 1);
        size_t n = cut(text, word), at = bash_inner(word, n);
        if (*lines[i].inner)
            cr_expect(at < n && strcmp(word[at].text, lines[i].inner) == 0,
                      "%s: %zu", lines[i].line, at);
        else
            cr_expect_eq(at, n, "%s: %zu", lines[i].line, at);
    }
}

Test(script_wrapper, reads_slurm_lines_above_the_first_command)
{
    struct bash_slurm s = {0};
    bash_slurm_read("#!/bin/bash\n#SBATCH -N 2-4 -n 6 # two\n\n"
                    "#SBATCH --gpus-per-node=h100:4\n"
                    "#SBATCH --cpus-per-task 3\nx\n#SBATCH --nodes=9\n",
                    &s);
    cr_expect(s.is_job);
    cr_expect_eq(s.nodes, 2);
    cr_expect_eq(s.tasks, 6);
    cr_expect_eq(s.gpus_per_node, 4);
    cr_expect(s.says_gpus_per_node);
    cr_expect_eq(s.cpus_per_task, 3);
    s = (struct bash_slurm){0};
    bash_slurm_read("#SBATCH --nodes=${N}\n#SBATCH --gres=gpu\n", &s);
    cr_expect_eq(s.nodes, -1); // said, and no number
    cr_expect_eq(s.gpus_per_node, 1);
    s = (struct bash_slurm){0};
    bash_slurm_read("echo x\n#SBATCH -N 2\n", &s);
    cr_expect_not(s.is_job);
}

Test(script_wrapper, options_of_sbatch_go_before_the_lines)
{
    char text[] = "sbatch -N4 --ntasks-per-node 2 job.sh";
    struct bash_word word[WRAPPER_MOST];
    struct bash_slurm s = {.is_job = true, .nodes = 1, .tasks = 1};
    bash_slurm_options(word, cut(text, word) - 1, &s);
    cr_expect_eq(s.nodes, 4);
    cr_expect_eq(s.tasks, 8);
}
