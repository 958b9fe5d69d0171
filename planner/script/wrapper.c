#include "wrapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A program that starts another. Lists have a blank around each option. */
struct wrapper {
    const char *name;
    const char *verb; // the word that must follow: "exec"; NULL: none
    const char *one;  // options whose value is the next word
    const char *two;  // with two of these
    int operands;     // words before the program that are no options
};

#define WRAPPER_SRUN                                                           \
    " -N -n -c -p -w -x -t -J -o -e -i -A -q -C -D -G -m -T -d -W -L -M -r "   \
    "--nodes --ntasks --ntasks-per-node --cpus-per-task --gpus "               \
    "--gpus-per-node --gpus-per-task --gpus-per-socket --gres --partition "    \
    "--account --time --job-name --output --error --input --nodelist "         \
    "--exclude --mem --mem-per-cpu --mem-per-gpu --cpu-bind --gpu-bind "       \
    "--container-image --container-mounts --container-workdir "                \
    "--container-name --container-save --mpi --distribution --export "         \
    "--constraint --qos --reservation --chdir --jobid --ntasks-per-gpu "       \
    "--ntasks-per-socket --ntasks-per-core --dependency --mail-type "          \
    "--mail-user --comment --array --signal --wait --relative --nice "         \
    "--network --switches --cluster-constraint --clusters --licenses "         \
    "--cores-per-socket --threads-per-core --cpu-freq --tres-per-task "        \
    "--hint --mem-bind --kill-on-bad-exit= "

#define WRAPPER_CONTAINER                                                      \
    " -e --env --env-file -v --volume --mount --name --gpus --ipc --shm-size " \
    "--ulimit -w --workdir -u --user --network --net --entrypoint -p "         \
    "--publish --device --cap-add --runtime -h --hostname --memory -m "        \
    "--security-opt --pid --label -l --cpus --restart --add-host "             \
    "--log-driver --platform --pull "

#define WRAPPER_SINGULARITY                                                    \
    " -B --bind -H --home --env --env-file --pwd -W --workdir --overlay "      \
    "-S --scratch --network --app --mount --cwd --dns --hostname "

static const struct wrapper wrappers[] = {
    {"env", NULL, " -u --unset -C --chdir -S ", "", 0},
    {"nohup", NULL, "", "", 0},
    {"exec", NULL, " -a ", "", 0},
    {"command", NULL, "", "", 0},
    {"time", NULL, " -f --format -o --output ", "", 0},
    {"timeout", NULL, " -k --kill-after -s --signal ", "", 1},
    {"nice", NULL, " -n --adjustment ", "", 0},
    {"ionice", NULL, " -c -n -p --class --classdata ", "", 0},
    {"numactl", NULL,
     " -i -p -m -N -C -l --interleave --preferred --membind --cpunodebind "
     "--physcpubind ",
     "", 0},
    {"taskset", NULL, " -c --cpu-list ", "", 0},
    {"stdbuf", NULL, " -i -o -e --input --output --error ", "", 0},
    {"setsid", NULL, "", "", 0},
    {"unbuffer", NULL, "", "", 0},
    {"sudo", NULL, " -u -g -h -p -C -r -t --user --group ", "", 0},
    {"srun", NULL, WRAPPER_SRUN, "", 0},
    {"salloc", NULL, WRAPPER_SRUN, "", 0},
    {"sbatch", NULL, WRAPPER_SRUN " --wrap ", "", 0},
    {"mpirun", NULL,
     " -np -n -c --np -N -npernode --npernode -ppn -perhost -H -host --host "
     "-hostfile --hostfile -machinefile --machinefile -x -f -hosts --map-by "
     "-map-by --bind-to -bind-to --rank-by --prefix -wdir --wdir -rf "
     "--report-bindings= -genvlist -iface --oversubscribe= ",
     " -mca --mca -gmca -genv -env ", 0},
    {"mpiexec", NULL,
     " -np -n -c --np -N -npernode --npernode -ppn -perhost -H -host --host "
     "-hostfile --hostfile -machinefile --machinefile -x -f -hosts --map-by "
     "-map-by --bind-to -bind-to --rank-by --prefix -wdir --wdir -genvlist ",
     " -mca --mca -gmca -genv -env ", 0},
    {"singularity", "exec", WRAPPER_SINGULARITY, "", 1},
    {"apptainer", "exec", WRAPPER_SINGULARITY, "", 1},
    {"docker", "run", WRAPPER_CONTAINER, "", 1},
    {"docker", "exec", WRAPPER_CONTAINER, "", 1},
    {"podman", "run", WRAPPER_CONTAINER, "", 1},
    {"podman", "exec", WRAPPER_CONTAINER, "", 1},
    {"enroot", "start", " -c --conf -e --env -m --mount --rc ", "", 1},
    {"ssh", NULL,
     " -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w ", "", 1},
    {"pdsh", NULL, " -w -x -g -l -t -u -f -R ", "", 0},
    {"clush", NULL, " -w -x -g -l -t -u -f -o ", "", 0},
    {"nsys", "profile",
     " -o -t -s -e -c -d -y -w -f -x -n --output --trace --sample "
     "--env-var --capture-range --duration --delay --force-overwrite "
     "--capture-range-end --stats --cuda-memory-usage --gpu-metrics-device "
     "--cudabacktrace --python-backtrace --kill --stop-on-exit ",
     "", 0},
    {"ncu", NULL,
     " -o -k -c -s --export --kernel-name --launch-count --launch-skip --set "
     "--section --metrics --target-processes --mode --devices --nvtx-include ",
     "", 0},
    {"rocprof", NULL, " -o -i -d ", "", 0},
    {"uv", "run", " --with --python -p --extra --group --project ", "", 0},
    {"conda", "run", " -n --name -p --prefix --cwd ", "", 0},
    {"mamba", "run", " -n --name -p --prefix --cwd ", "", 0},
    {"micromamba", "run", " -n --name -p --prefix --cwd ", "", 0},
    {"poetry", "run", "", "", 0},
    {"pipenv", "run", "", "", 0},
    {"pixi", "run", " -e --environment ", "", 0},
    {"ray", "job",
     " --address --runtime-env --runtime-env-json --working-dir "
     "--submission-id --entrypoint-num-cpus --entrypoint-num-gpus "
     "--entrypoint-resources --metadata-json ",
     "", 1},
    {"kubectl", "exec", " -c --container -n --namespace ", "", 1},
    {"rlaunch", NULL, " --cpu --gpu --memory ", "", 0},
};

const char *bash_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Lists are texts with blanks around: one literal a program reads better
 * than arrays. */
static bool list_has(const char *list, const char *word, size_t n)
{
    for (const char *p = strchr(list, *word); p; p = strchr(p + 1, *word))
        if (p > list && p[-1] == ' ' && strncmp(p, word, n) == 0 && p[n] == ' ')
            return true;
    return false;
}

/* docker, conda and others start a program with one of their verbs only. */
static const struct wrapper *wrapper_of(const struct bash_word *word, size_t n)
{
    const char *name = n ? bash_base_name(word[0].text) : "";
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        const struct wrapper *w = &wrappers[i];
        if (strcmp(w->name, name) == 0 &&
            (!w->verb || (n > 1 && strcmp(word[1].text, w->verb) == 0)))
            return w;
    }
    return NULL;
}

/* env A=1 prog, docker run -e A=1: no program has such a name. */
static bool wrapper_assigns(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n && text[n] == '=';
}

/* A number or range cannot be a program: it is a value of an option that is
 * not in the list. */
static bool wrapper_is_value(const char *text)
{
    return *text && text[strspn(text, "0123456789:.,-")] == '\0';
}

/* Options that are not in the list are taken to have no word behind them;
 * what then stands there is caught where it is a number. */
size_t bash_inner(const struct bash_word *word, size_t n)
{
    const struct wrapper *w = wrapper_of(word, n);
    if (!w)
        return n;
    int operands = w->operands;
    bool mask = strcmp(w->name, "taskset") == 0; // or its option -c
    for (size_t i = w->verb ? 2 : 1; i < n; i++) {
        const char *text = word[i].text;
        size_t len = strlen(text);
        if (strcmp(text, "--") == 0 && operands == 0)
            return i + 1;
        if (*text == '-' && text[1]) {
            i += list_has(w->two, text, len)   ? 2
                 : list_has(w->one, text, len) ? 1
                                               : 0;
            mask = mask && strcmp(text, "-c") != 0;
        } else if (operands > 0) {
            operands--;
        } else if (!wrapper_assigns(text) && !wrapper_is_value(text)) {
            return i;
        }
    }
    return n;
}

/* ---- Slurm ---- */

/* What an option of sbatch is about. */
enum slurm_option {
    SLURM_NODES,
    SLURM_TASKS,
    SLURM_TASKS_PER_NODE,
    SLURM_GPUS_PER_NODE,
    SLURM_GRES,
    SLURM_CPUS,
    SLURM_OTHER
};

static enum slurm_option slurm_option_of(const char *name, size_t n)
{
    static const struct {
        const char *name;
        enum slurm_option option;
    } table[] = {{"-N", SLURM_NODES},
                 {"--nodes", SLURM_NODES},
                 {"-n", SLURM_TASKS},
                 {"--ntasks", SLURM_TASKS},
                 {"--ntasks-per-node", SLURM_TASKS_PER_NODE},
                 {"--tasks-per-node", SLURM_TASKS_PER_NODE},
                 {"--gpus-per-node", SLURM_GPUS_PER_NODE},
                 {"--gres", SLURM_GRES},
                 {"-c", SLURM_CPUS},
                 {"--cpus-per-task", SLURM_CPUS}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strlen(table[i].name) == n && strncmp(name, table[i].name, n) == 0)
            return table[i].option;
    return SLURM_OTHER;
}

/* The whole number at `text` ("2-4": its first); 0 where there is none. */
static int64_t slurm_number(const char *text)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    bool whole =
        end > text && (!*end || *end == '-' || isspace((unsigned char)*end));
    return whole && v > 0 && v < 1 << 24 ? v : 0;
}

/* "gpu:a100:8", "gpu:8", "gpu" (one), "a100:8", "8" */
static int64_t slurm_gpus(const char *text)
{
    const char *colon = strrchr(text, ':');
    int64_t v = slurm_number(colon ? colon + 1 : text);
    return v == 0 && strncmp(text, "gpu", 3) == 0 && !colon ? 1 : v;
}

/* Said, but no number: not the default either. */
static int64_t slurm_said(int64_t v)
{
    return v ? v : -1;
}

/* GRES gives the GPUs of a node only where no option of its own does, as
 * sbatch(1) has it. */
static void slurm_set(struct bash_slurm *s, enum slurm_option option,
                      const char *value)
{
    s->is_job = true;
    switch (option) {
    case SLURM_NODES:
        s->nodes = slurm_said(slurm_number(value));
        break;
    case SLURM_TASKS:
        s->tasks = slurm_said(slurm_number(value));
        break;
    case SLURM_TASKS_PER_NODE:
        s->tasks_per_node = slurm_said(slurm_number(value));
        break;
    case SLURM_GPUS_PER_NODE:
        s->gpus_per_node = slurm_said(slurm_gpus(value));
        s->says_gpus_per_node = true;
        break;
    case SLURM_GRES:
        if (!s->says_gpus_per_node && strncmp(value, "gpu", 3) == 0)
            s->gpus_per_node = slurm_said(slurm_gpus(value));
        break;
    case SLURM_CPUS:
        s->cpus_per_task = slurm_said(slurm_number(value));
        break;
    case SLURM_OTHER:
        break;
    }
}

/* One option at `text` (and the word behind it); true where that was taken. */
static bool slurm_option(struct bash_slurm *s, const char *text,
                         const char *next)
{
    size_t n = strcspn(text, "=");
    if (text[0] == '-' && text[1] == '-' && text[n] == '=') {
        slurm_set(s, slurm_option_of(text, n), text + n + 1);
        return false;
    }
    if (text[0] == '-' && text[1] != '-' && strlen(text) > 2) { // -N4
        const char *value = text + 2 + (text[2] == '=');
        slurm_set(s, slurm_option_of(text, 2), value);
        return false;
    }
    slurm_set(s, slurm_option_of(text, strlen(text)), next);
    return slurm_option_of(text, strlen(text)) != SLURM_OTHER;
}

/* The words of one #SBATCH line, behind the sign. */
static void slurm_line(struct bash_slurm *s, const char *line, size_t n)
{
    char text[1024], *word[64];
    size_t n_words = 0;
    s->is_job = true;
    if (n >= sizeof text)
        return;
    memcpy(text, line, n);
    text[n] = '\0';
    for (char *p = text; *p && n_words < 64;) {
        p += strspn(p, " \t\r");
        if (!*p || *p == '#')
            break;
        word[n_words++] = p;
        p += strcspn(p, " \t\r");
        if (*p)
            *p++ = '\0';
    }
    for (size_t i = 0; i < n_words; i++)
        i += slurm_option(s, word[i], i + 1 < n_words ? word[i + 1] : "");
}

/* Tasks of all nodes, where those of one are said. */
static int64_t slurm_all_tasks(const struct bash_slurm *s)
{
    if (s->nodes < 0 || s->tasks_per_node < 0)
        return -1;
    return s->tasks_per_node * (s->nodes ? s->nodes : 1);
}

/* Lines behind the first command are comments to sbatch, which surprises
 * people, too. */
void bash_slurm_read(const char *text, struct bash_slurm *out)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n"), blanks = strspn(p, " \t");
        if (strncmp(p, "#SBATCH", 7) == 0)
            slurm_line(out, p + 7, n - 7);
        else if (blanks < n && p[blanks] != '#')
            break; // sbatch reads no further than the first command
        p += n + (p[n] == '\n');
    }
    if (out->is_job && !out->tasks)
        out->tasks = slurm_all_tasks(out);
}

/* The command line wins over the script's lines. */
void bash_slurm_options(const struct bash_word *word, size_t n,
                        struct bash_slurm *out)
{
    int64_t tasks = out->tasks;
    out->is_job = true;
    out->tasks = 0;
    for (size_t i = 1; i < n; i++)
        if (word[i].text[0] == '-')
            i += slurm_option(out, word[i].text,
                              i + 1 < n ? word[i + 1].text : "");
    if (!out->tasks)
        out->tasks = slurm_all_tasks(out);
    if (!out->tasks)
        out->tasks = tasks;
}
