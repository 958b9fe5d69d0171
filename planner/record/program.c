#include "program.h"

#include <stddef.h>
#include <string.h>

static const struct program_row {
    const char *name;
    enum program_kind kind;
} rows[] = {
    {"torchrun", PROGRAM_LAUNCH},
    {"deepspeed", PROGRAM_LAUNCH},
    {"accelerate", PROGRAM_LAUNCH},
    {"megatron", PROGRAM_LAUNCH},
    {"swift", PROGRAM_LAUNCH},
    {"flagscale", PROGRAM_LAUNCH},
    {"colossalai", PROGRAM_LAUNCH},
    {"horovodrun", PROGRAM_LAUNCH},
    {"llamafactory-cli", PROGRAM_LAUNCH},
    {"primus-cli", PROGRAM_LAUNCH},
    {"nemo", PROGRAM_LAUNCH},
    {"msrun", PROGRAM_LAUNCH},
    {"python", PROGRAM_PYTHON},
    {"python3", PROGRAM_PYTHON},
    {"python3.8", PROGRAM_PYTHON},
    {"python3.9", PROGRAM_PYTHON},
    {"python3.10", PROGRAM_PYTHON},
    {"python3.11", PROGRAM_PYTHON},
    {"python3.12", PROGRAM_PYTHON},
    {"python3.13", PROGRAM_PYTHON},
    {"python3.14", PROGRAM_PYTHON},
    {"srun", PROGRAM_SRUN},
    {"salloc", PROGRAM_SRUN},
    {"mpirun", PROGRAM_MPIRUN},
    {"mpiexec", PROGRAM_MPIRUN},
    {"mpiexec.hydra", PROGRAM_MPIRUN},
    {"orterun", PROGRAM_MPIRUN},
    {"prterun", PROGRAM_MPIRUN},
    {"sbatch", PROGRAM_SBATCH},
    {"scontrol", PROGRAM_SCONTROL},
    {"singularity", PROGRAM_INSIDE},
    {"apptainer", PROGRAM_INSIDE},
    {"nsys", PROGRAM_INSIDE},
    {"ncu", PROGRAM_INSIDE},
    {"rocprof", PROGRAM_INSIDE},
    {"numactl", PROGRAM_INSIDE},
    {"sudo", PROGRAM_INSIDE},
    {"conda", PROGRAM_INSIDE},
    {"mamba", PROGRAM_INSIDE},
    {"micromamba", PROGRAM_INSIDE},
    {"uv", PROGRAM_INSIDE},
    {"poetry", PROGRAM_INSIDE},
    {"pixi", PROGRAM_INSIDE},
    {"env", PROGRAM_PASS},
    {"nohup", PROGRAM_PASS},
    {"timeout", PROGRAM_PASS},
    {"setsid", PROGRAM_PASS},
    {"stdbuf", PROGRAM_PASS},
    {"nice", PROGRAM_PASS},
    {"xargs", PROGRAM_PASS},
    {"taskset", PROGRAM_PASS},
    {"ssh", PROGRAM_ELSEWHERE},
    {"pdsh", PROGRAM_ELSEWHERE},
    {"clush", PROGRAM_ELSEWHERE},
    {"docker", PROGRAM_ELSEWHERE},
    {"podman", PROGRAM_ELSEWHERE},
    {"enroot", PROGRAM_ELSEWHERE},
    {"kubectl", PROGRAM_ELSEWHERE},
    {"ray", PROGRAM_ELSEWHERE},
    {"qsub", PROGRAM_ELSEWHERE},
    {"bsub", PROGRAM_ELSEWHERE},
};
enum { PROGRAM_N = sizeof rows / sizeof rows[0] };

const char *program_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

enum program_kind program_kind(const char *path)
{
    const char *name = program_base(path);
    for (int i = 0; i < PROGRAM_N; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].kind;
    return PROGRAM_NONE;
}

const char *program_name(int k)
{
    return k >= 0 && k < PROGRAM_N ? rows[k].name : NULL;
}

bool program_is_shell(const char *path)
{
    static const char *const shells[] = {"bash", "sh",  "dash", "ksh",
                                         "zsh",  "ash", "mksh"};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(program_base(path), shells[i]) == 0)
            return true;
    return false;
}
