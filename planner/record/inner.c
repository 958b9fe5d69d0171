/*
 * How it works: options are read by two small tables each, of those that take
 * no value and of those that take two; all others take one, in the same word
 * behind '=' or as the next word. So an option that is not known is taken for
 * one with a value, as most are.
 */
#include "inner.h"

#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Slurm ---- */

// srun(1), sbatch(1) and pyxis: no value, or one behind '=' only
static const char *const slurm_switches[] = {"contiguous",
                                             "exclusive",
                                             "overcommit",
                                             "oversubscribe",
                                             "label",
                                             "unbuffered",
                                             "pty",
                                             "preserve-env",
                                             "no-kill",
                                             "quiet",
                                             "verbose",
                                             "overlap",
                                             "kill-on-bad-exit",
                                             "test-only",
                                             "multi-prog",
                                             "hold",
                                             "requeue",
                                             "no-requeue",
                                             "parsable",
                                             "immediate",
                                             "ignore-pbs",
                                             "get-user-env",
                                             "reboot",
                                             "spread-job",
                                             "use-min-nodes",
                                             "propagate",
                                             "nice",
                                             "help",
                                             "usage",
                                             "version",
                                             "x11",
                                             "disable-status",
                                             "external",
                                             "interactive",
                                             "exact",
                                             "whole",
                                             "no-allocate",
                                             "no-shell",
                                             "no-bell",
                                             "bell",
                                             "share",
                                             "container-mount-home",
                                             "container-writable",
                                             "no-container-mount-home",
                                             "container-readonly",
                                             "container-remap-root",
                                             "container-entrypoint",
                                             "no-container-remap-root",
                                             "no-container-entrypoint"};

// letters that take a value, attached or as the next word
static const char slurm_letters[] = "ABCDFGJLMNPRSTUacdegimnopqrtwx";

static bool inner_is_one_of(const char *name, size_t len,
                            const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return true;
    return false;
}

/* An option of a line: name (of a letter, the letter), value or NULL. */
struct inner_option {
    const char *name;
    size_t len;
    const char *value;
};

/* Of a long option those that take none are listed, since most take one; of
 * letters those that do. */
static bool inner_slurm_takes_value(const struct inner_option *o,
                                    const char *word, bool is_srun)
{
    if (word[1] == '-') // --wait is a switch of sbatch
        return !inner_is_one_of(o->name, o->len, slurm_switches,
                                sizeof slurm_switches /
                                    sizeof slurm_switches[0]) &&
               (is_srun || o->len != 4 || memcmp(o->name, "wait", 4) != 0);
    return strchr(slurm_letters, *o->name) || (is_srun && *o->name == 'W');
}

/* Reads the option at `at` and returns where the next word stands. */
static int inner_slurm_take(struct record_words words, int at,
                            struct inner_option *o)
{
    const char *word = words.word[at], *equals = strchr(word, '=');
    bool is_long = word[1] == '-';
    bool is_srun = program_kind(words.word[0]) == PROGRAM_SRUN;
    *o = (struct inner_option){word + 1 + is_long, 1, NULL};
    if (is_long)
        o->len = equals ? (size_t)(equals - o->name) : strlen(o->name);
    if (is_long && equals)
        o->value = equals + 1;
    else if (inner_slurm_takes_value(o, word, is_srun)) {
        if (!is_long && word[2])
            o->value = word + 2 + (word[2] == '=');
        else if (at + 1 < words.n)
            o->value = words.word[++at];
    }
    return at + 1;
}

static bool inner_is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Where the first word that is no option stands; "--" ends them. */
static int inner_slurm_find(struct record_words words)
{
    int at = 1;
    struct inner_option o;
    while (at < words.n && inner_is_option(words.word[at])) {
        if (strcmp(words.word[at], "--") == 0)
            return at + 1;
        at = inner_slurm_take(words, at, &o);
    }
    return at;
}

/* name, letter or 0, member, what an option of sbatch that says it begins with
 */
static const struct inner_job_row {
    const char *name;
    char letter;
    size_t offset;
    bool size; // written by inner_job_words()
} job_rows[] = {
    {"nodes", 'N', offsetof(struct inner_job, nodes), true},
    {"ntasks", 'n', offsetof(struct inner_job, tasks), true},
    {"ntasks-per-node", 0, offsetof(struct inner_job, tasks_per_node), true},
    {"tasks-per-node", 0, offsetof(struct inner_job, tasks_per_node), false},
    {"gpus", 'G', offsetof(struct inner_job, gpus), true},
    {"gpus-per-node", 0, offsetof(struct inner_job, gpus_per_node), true},
    {"gpus-per-task", 0, offsetof(struct inner_job, gpus_per_task), true},
    {"gres", 0, offsetof(struct inner_job, gres), true},
    {"cpus-per-task", 'c', offsetof(struct inner_job, cpus_per_task), true},
    {"export", 0, offsetof(struct inner_job, export_list), false},
    {"wrap", 0, offsetof(struct inner_job, wrap), false},
};
enum { INNER_N_JOB_ROWS = sizeof job_rows / sizeof job_rows[0] };

/* The rows have the place of each member, so that options, script and
 * environment are read by one table. */
static void inner_job_note(const struct inner_option *o, const char *word,
                           struct inner_job *job)
{
    for (int i = 0; i < INNER_N_JOB_ROWS && o->value; i++) {
        const struct inner_job_row *r = &job_rows[i];
        bool is = word[1] == '-' ? inner_is_one_of(o->name, o->len, &r->name, 1)
                                 : *o->name == r->letter;
        if (is)
            memcpy((char *)job + r->offset, &o->value, sizeof o->value);
    }
}

/* Up to the first word that is no option, which is the script or the program.
 */
void inner_job_read(struct record_words words, struct inner_job *job)
{
    int at = 1;
    while (at < words.n && inner_is_option(words.word[at]) &&
           strcmp(words.word[at], "--") != 0) {
        const char *word = words.word[at];
        struct inner_option o;
        at = inner_slurm_take(words, at, &o);
        inner_job_note(&o, word, job);
    }
}

/* Words of a #SBATCH line up to a comment; quotes hold blanks together. */
static bool inner_split(struct arena *a, const char *line, const char **word,
                        int *n)
{
    *n = 1; // behind the launcher
    while (*n < 64) {
        line += strspn(line, " \t\r");
        if (!*line || *line == '\n' || *line == '#')
            return true;
        char *out = arena_alloc(a, strcspn(line, "\n") + 1, 1);
        if (!out)
            return false;
        word[(*n)++] = out;
        for (char quote = 0; *line && *line != '\n'; line++) {
            if (!quote && strchr(" \t\r", *line))
                break;
            if (*line == quote)
                quote = 0;
            else if (!quote && (*line == '"' || *line == '\''))
                quote = *line;
            else
                *out++ = *line;
        }
    }
    return true;
}

bool inner_job_script(struct arena *a, const char *text, struct inner_job *job)
{
    // sbatch reads no further than the first command
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (text_starts(p, "#SBATCH")) {
            const char *word[64] = {"sbatch"};
            struct record_words words = {word, 0};
            if (!inner_split(a, p + strlen("#SBATCH"), word, &words.n))
                return false;
            inner_job_read(words, job);
        } else if (p[strspn(p, " \t\r")] != '#' &&
                   p[strspn(p, " \t\r")] != '\n') {
            break;
        }
    }
    return true;
}

static const char *inner_job_get(const struct inner_job *job, int row)
{
    const char *value;
    memcpy(&value, (const char *)job + job_rows[row].offset, sizeof value);
    return value;
}

/* Only what bears on the number of ranks; values with blanks could not be split
 * again. */
bool inner_job_words(struct arena *a, const struct inner_job *job,
                     struct record_words *out)
{
    const char **word = arena_alloc(a, INNER_N_JOB_ROWS, sizeof *word);
    *out = (struct record_words){word, 0};
    for (int i = 0; i < INNER_N_JOB_ROWS && word; i++) {
        const char *value = inner_job_get(job, i);
        if (!job_rows[i].size || !value || value[strcspn(value, " \t\r\n")])
            continue;
        word[out->n] = arena_printf(a, "--%s=%s", job_rows[i].name, value);
        if (!word[out->n++])
            return false;
    }
    return word != NULL;
}

/* ---- what Slurm sets ---- */

/* The number that a value begins with ("2-4" is 2), or that a list of devices
 * ends with ("gpu:a100:8" is 8); 0: none. */
static int64_t inner_whole(const char *text, bool device)
{
    const char *colon = text && device ? strrchr(text, ':') : NULL;
    const char *digits = colon ? colon + 1 : text;
    return digits && isdigit((unsigned char)*digits) ? strtoll(digits, NULL, 10)
                                                     : 0;
}

static void inner_set(const char *name, const char *value, bool keep)
{
    if (value)
        setenv(name, value, !keep);
}

static void inner_set_whole(const char *name, int64_t value, bool keep)
{
    char text[24]; // of 64 bits
    snprintf(text, sizeof text, "%lld", (long long)value);
    if (value > 0)
        setenv(name, text, !keep);
}

/* gres counts a node's devices, and those of another kind do not count. */
static int64_t inner_gpus_on_node(const struct inner_job *job, int64_t nodes,
                                  int64_t per_node)
{
    int64_t n = inner_whole(job->gpus_per_node, true);
    if (n == 0 && job->gres && text_starts(job->gres, "gpu"))
        n = strchr(job->gres, ':') ? inner_whole(job->gres, true) : 1;
    if (n == 0)
        n = inner_whole(job->gpus, true) / nodes;
    return n ? n : inner_whole(job->gpus_per_task, true) * per_node;
}

/* What slurmctld would set, for a job that has all of its nodes. `keep`: what
 * the caller has set stays, so that a script can be tried as if within a job.
 */
void inner_job_environment(const struct inner_job *job, bool keep)
{
    int64_t nodes = inner_whole(job->nodes, false);
    int64_t tasks = inner_whole(job->tasks, false);
    int64_t per_node = inner_whole(job->tasks_per_node, false);
    nodes = nodes > 0 && nodes < 1 << 20 ? nodes : 1;
    if (tasks == 0 && per_node < 1 << 20)
        tasks = nodes * per_node;
    inner_set_whole("SLURM_NNODES", nodes, keep);
    inner_set_whole("SLURM_JOB_NUM_NODES", nodes, keep);
    inner_set_whole("SLURM_NTASKS", tasks, keep);
    inner_set_whole("SLURM_NPROCS", tasks, keep);
    inner_set_whole("SLURM_NTASKS_PER_NODE", per_node, keep);
    char text[64]; // two numbers and six characters
    snprintf(text, sizeof text, nodes > 1 ? "%lld(x%lld)" : "%lld",
             (long long)per_node, (long long)nodes);
    inner_set("SLURM_TASKS_PER_NODE", per_node ? text : NULL, keep);
    snprintf(text, sizeof text, nodes > 1 ? "node[1-%lld]" : "node1",
             (long long)nodes);
    inner_set("SLURM_JOB_NODELIST", text, keep);
    inner_set("SLURM_NODELIST", text, keep);
    inner_set("SLURM_GPUS", job->gpus, keep);
    inner_set("SLURM_GPUS_PER_NODE", job->gpus_per_node, keep);
    inner_set("SLURM_GPUS_PER_TASK", job->gpus_per_task, keep);
    inner_set("SLURM_CPUS_PER_TASK", job->cpus_per_task, keep);
    inner_set_whole("SLURM_GPUS_ON_NODE",
                    inner_gpus_on_node(job, nodes, per_node ? per_node : 1),
                    keep);
    inner_set("SLURM_JOB_ID", "1", true);
    inner_set("SLURM_JOBID", "1", true);
    inner_set("SLURM_PROCID", "0", true);
    inner_set("SLURM_NODEID", "0", true);
    inner_set("SLURM_LOCALID", "0", true);
}

/* One NAME=VALUE; a name alone hands on what is set. */
static void inner_set_pair(const char *pair, size_t len)
{
    char text[4096];
    const char *equals = memchr(pair, '=', len);
    if (!equals || equals == pair || len >= sizeof text)
        return;
    memcpy(text, pair, len);
    text[len] = '\0';
    text[equals - pair] = '\0';
    setenv(text, text + (equals - pair) + 1, 1);
}

void inner_set_exports(const struct inner_job *job)
{
    for (const char *p = job->export_list; p && *p;) {
        size_t len = strcspn(p, ",");
        inner_set_pair(p, len);
        p += len + (p[len] == ',');
    }
}

/* ---- mpirun ---- */

static const char *inner_mpi_name(const char *word)
{
    return word + strspn(word, "-");
}

/* How many words the option's values take: of mpirun(1) of Open MPI and MPICH.
 */
static int inner_mpi_values(const char *word)
{
    static const char *const none[] = {"allow-run-as-root",
                                       "oversubscribe",
                                       "nooversubscribe",
                                       "tag-output",
                                       "display-map",
                                       "display-allocation",
                                       "report-bindings",
                                       "bind-to-none",
                                       "bind-to-core",
                                       "bind-to-socket",
                                       "bynode",
                                       "byslot",
                                       "nolocal",
                                       "verbose",
                                       "v",
                                       "quiet",
                                       "q",
                                       "use-hwthread-cpus",
                                       "timestamp-output",
                                       "genvall",
                                       "genvnone",
                                       "l",
                                       "prepend-rank",
                                       "xml",
                                       "noprefix",
                                       "do-not-launch",
                                       "debug",
                                       "d",
                                       "V",
                                       "version",
                                       "h",
                                       "help",
                                       "enable-recovery",
                                       "do-not-resolve",
                                       "continuous",
                                       "leave-session-attached",
                                       "display-topo",
                                       "use-regexp",
                                       "index-argv-by-rank"};
    static const char *const two[] = {"mca",     "gmca", "prtemca", "pmixmca",
                                      "omcamca", "genv", "env"};
    const char *name = inner_mpi_name(word);
    size_t len = strlen(name);
    if (inner_is_one_of(name, len, two, sizeof two / sizeof two[0]))
        return 2;
    return !strchr(word, '=') &&
           !inner_is_one_of(name, len, none, sizeof none / sizeof none[0]);
}

static int inner_mpi_find(struct record_words words)
{
    int at = 1;
    while (at < words.n && inner_is_option(words.word[at]))
        at += 1 + inner_mpi_values(words.word[at]);
    return at < words.n ? at : words.n;
}

/* Variables of Open MPI and of MPICH's launchers; this is rank 0. */
static void inner_mpi_ranks(const char *n)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    static const char *const ranks[] = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        setenv(sizes[i], n, 1);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        setenv(ranks[i], "0", 1);
}

/* Of Open MPI (-x), of MPICH and Intel MPI (-genv), and the number of ranks. */
void inner_mpirun_environment(struct record_words words)
{
    int inner = inner_mpi_find(words);
    for (int at = 1; at + 1 < inner;
         at += 1 + inner_mpi_values(words.word[at])) {
        const char *name = inner_mpi_name(words.word[at]);
        const char *value = words.word[at + 1];
        if (strcmp(name, "x") == 0)
            inner_set_pair(value, strlen(value));
        else if (strcmp(name, "genv") == 0 && at + 2 < inner && *value &&
                 !strchr(value, '='))
            setenv(value, words.word[at + 2], 1);
        else if (strcmp(name, "np") == 0 || strcmp(name, "n") == 0 ||
                 strcmp(name, "c") == 0)
            inner_mpi_ranks(value);
    }
}

/* ---- all of them ---- */

/* Containers and profilers have options of many kinds: the first word that
 * names a launcher, a shell or a shell script begins what they start. */
static int inner_guess(struct record_words words)
{
    for (int i = 1; i < words.n; i++) {
        enum program_kind kind = program_kind(words.word[i]);
        if ((kind != PROGRAM_NONE && kind != PROGRAM_ELSEWHERE) ||
            program_is_shell(words.word[i]) ||
            (text_ends(words.word[i], ".sh") &&
             !inner_is_option(words.word[i])))
            return i;
    }
    return words.n;
}

/* Where the inner program begins; the number of words where there is none. */
int inner_find(enum program_kind kind, struct record_words words)
{
    int at = words.n;
    if (kind == PROGRAM_SRUN || kind == PROGRAM_SBATCH)
        at = inner_slurm_find(words);
    else if (kind == PROGRAM_MPIRUN)
        at = inner_mpi_find(words);
    else if (kind == PROGRAM_INSIDE || kind == PROGRAM_ELSEWHERE)
        at = inner_guess(words);
    return at < words.n ? at : words.n;
}
