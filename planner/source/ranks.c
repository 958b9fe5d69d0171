/*
 * How it works: a launcher is a row of data: the options that say how many
 * nodes and how many processes on each (or in all) it starts. The call's words
 * are walked from the outside in; the innermost launcher that starts processes
 * decides, because srun in front of torchrun starts one torchrun a node.
 */
#include "ranks.h"

#include "base/text.h"
#include "megatron/args.h"
#include "script/wrapper.h"

#include <stdio.h>
#include <string.h>

/* Names parted by spaces; a short one ("-N") may have its value glued on. */
struct launcher {
    const char *name;
    const char *nodes, *per_node, *total;
    int64_t default_nodes, default_per_node; // 0: from elsewhere
};

// torchrun(1): one process on one node; srun(1): tasks of the job; Open MPI's
// mpirun(1): slots of the host file; DeepSpeed and accelerate: all devices
static const struct launcher launchers[] = {
    {"torchrun", "--nnodes --nnode", "--nproc-per-node --nproc", "", 1, 1},
    {"srun", "-N --nodes", "--ntasks-per-node --tasks-per-node", "-n --ntasks",
     0, 0},
    {"mpirun", "", "-npernode --npernode -N -ppn --ppn", "-np --np -n -c --n",
     0, 0},
    {"deepspeed", "--num-nodes", "--num-gpus --num-accelerators", "", 1, 0},
    {"accelerate", "", "", "--num-processes", 0, 0},
    // MindSpore's
    {"msrun", "", "", "--worker-num", 0, 0},
};
enum { N_LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static const char *ranks_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is the word python, of any version? */
static bool ranks_is_python(const char *name)
{
    if (!text_starts(name, "python") && !text_starts(name, "pypy"))
        return false;
    return name[strcspn(name, " ")] == '\0';
}

size_t ranks_program(const struct bash_call *call)
{
    size_t at = 0;
    while (at < call->n) {
        size_t inner = bash_inner(call->word + at, call->n - at);
        if (inner == 0 || inner >= call->n - at)
            break;
        at += inner;
    }
    return at;
}

/* `python -m torch.distributed.run`: place of the module's name, or n. */
static size_t ranks_module(const struct bash_call *call, size_t program)
{
    static const char *const modules[] = {
        "torch.distributed.run", "torch.distributed.launch",
        "torch.distributed.elastic_launch", "deepspeed.launcher.runner",
        "accelerate.commands.launch"};
    if (program >= call->n ||
        !ranks_is_python(ranks_base(call->word[program].text)))
        return call->n;
    for (size_t i = program + 1; i + 1 < call->n; i++) {
        if (strcmp(call->word[i].text, "-m") == 0) {
            for (int k = 0; k < 5; k++)
                if (strcmp(call->word[i + 1].text, modules[k]) == 0)
                    return i + 1;
            return call->n;
        }
        if (call->word[i].text[0] != '-')
            return call->n;
    }
    return call->n;
}

static const struct launcher *ranks_launcher(const char *name)
{
    if (text_starts(name, "torch.distributed"))
        name = "torchrun";
    else if (text_starts(name, "deepspeed."))
        name = "deepspeed";
    else if (text_starts(name, "accelerate."))
        name = "accelerate";
    else if (strcmp(name, "mpiexec") == 0 || strcmp(name, "orterun") == 0 ||
             strcmp(name, "mpirun_rsh") == 0)
        name = "mpirun";
    for (int i = 0; i < N_LAUNCHERS; i++)
        if (strcmp(launchers[i].name, name) == 0)
            return &launchers[i];
    return NULL;
}

/* ---- options of a launcher ---- */

/* Words [from, to) of the call that are one launcher's. */
struct span {
    const struct bash_call *call;
    const struct bash_result *result;
    size_t from, to;
};

/* Does the word name one of the options? With `_` for `-`, as torchrun takes
 * it; *value: behind '=' or glued to a short name, else NULL. */
static bool ranks_names(const char *word, const char *names, const char **value)
{
    size_t len = strcspn(word, "=");
    *value = word[len] == '=' ? word + len + 1 : NULL;
    for (; *names; names += strspn(names, " ")) {
        size_t n = strcspn(names, " ");
        bool same = n == len;
        for (size_t i = 0; i < n && same; i++)
            same = names[i] == (word[i] == '_' ? '-' : word[i]);
        if (same)
            return true;
        // -N4
        if (n == 2 && names[1] != '-' && strncmp(word, names, 2) == 0 &&
            word[2] >= '0' && word[2] <= '9') {
            *value = word + 2;
            return true;
        }
        names += n;
    }
    return false;
}

/* Why a text that should be a number is none. */
static struct ranks ranks_unknown(struct arena *a, const struct span *s,
                                  const struct bash_word *word,
                                  const char *text)
{
    const struct bash_cause *cause = bash_first_cause(s->result, text);
    struct ranks r = {.where =
                          arena_printf(a, "%s:%d", word->file, word->line)};
    if (cause)
        r.why = bash_cause_text(a, cause);
    else
        r.why = arena_printf(a, "'%.60s' is no number", text);
    return r;
}

/* Value of the last of the options in the span; *given: there is one. */
static struct ranks ranks_option(struct arena *a, const struct span *s,
                                 const char *names, bool *given)
{
    struct ranks r = {0, NULL, NULL};
    *given = false;
    for (size_t i = s->from; i < s->to && *names; i++) {
        const struct bash_word *word = &s->call->word[i];
        const char *value = NULL;
        if (!ranks_names(word->text, names, &value))
            continue;
        if (!value && i + 1 < s->to)
            value = s->call->word[++i].text;
        *given = true;
        r = (struct ranks){0, NULL, NULL};
        // no cluster has more than 2^24
        if (!value || !text_to_int64(value, &r.n) || r.n < 1 || r.n > 1 << 24)
            r = ranks_unknown(a, s, word, value ? value : "");
    }
    return r;
}

static struct ranks ranks_product(struct ranks a, struct ranks b)
{
    if (!a.n || !b.n)
        return a.n ? b : a;
    a.n *= b.n;
    return a;
}

static struct ranks ranks_number(int64_t n, const char *why)
{
    if (n > 0)
        return (struct ranks){n, NULL, ""};
    return (struct ranks){0, n < 0 ? "an #SBATCH line gives no number" : why,
                          ""};
}

/* ---- launchers ---- */

/* Tasks of srun where its own options leave something out: the job's. */
static struct ranks ranks_of_srun(struct arena *a, const struct span *s,
                                  const struct launcher *l)
{
    const struct bash_slurm *job = &s->call->slurm;
    static const char why[] = "the job's nodes and tasks are not in the script";
    bool total, nodes, each;
    // "srun -n 8 a : -n 16 b" starts several programs as one job
    for (size_t i = s->from; i < s->call->n; i++)
        if (strcmp(s->call->word[i].text, ":") == 0)
            return ranks_number(0, "srun starts several programs as one job");
    struct ranks n = ranks_option(a, s, l->total, &total);
    struct ranks nn = ranks_option(a, s, l->nodes, &nodes);
    struct ranks per = ranks_option(a, s, l->per_node, &each);
    if (total)
        return n;
    if (!each && !nodes && job->tasks)
        return ranks_number(job->tasks, why);
    if (!nodes)
        nn = ranks_number(job->nodes ? job->nodes : job->is_job, why);
    if (!each)
        per = ranks_number(job->tasks_per_node ? job->tasks_per_node : 1, why);
    return ranks_product(nn, per);
}

/* A total, or a product of two; a launcher without either has its own defaults,
 * or takes what only the machine knows. */
static struct ranks ranks_of_launcher(struct arena *a, const struct span *s,
                                      const struct launcher *l)
{
    bool total, nodes, each;
    if (strcmp(l->name, "srun") == 0)
        return ranks_of_srun(a, s, l);
    struct ranks n = ranks_option(a, s, l->total, &total);
    struct ranks nn = ranks_option(a, s, l->nodes, &nodes);
    struct ranks per = ranks_option(a, s, l->per_node, &each);
    if (total)
        return n;
    if (!nodes)
        nn = ranks_number(l->default_nodes,
                          "the launcher's host file says how many nodes");
    if (!each)
        per = ranks_number(l->default_per_node,
                           "the launcher takes all devices of a node");
    return ranks_product(per, nn);
}

/* ms-swift's `megatron sft` starts torchrun with what these variables say. */
static struct ranks ranks_of_variables(const struct bash_call *call,
                                       const char *nodes, const char *each)
{
    int64_t n_nodes = 1, n_each = 0;
    for (size_t i = 0; i < call->n_env; i++) {
        const struct bash_setting *s = &call->env[i];
        if (strcmp(s->name, nodes) == 0 && !text_to_int64(s->value, &n_nodes))
            n_nodes = 0;
        if (strcmp(s->name, each) == 0 && !text_to_int64(s->value, &n_each))
            n_each = 0;
    }
    bool ok =
        n_nodes > 0 && n_each > 0 && n_nodes < 1 << 20 && n_each < 1 << 20;
    return ranks_number(ok ? n_nodes * n_each : 0,
                        "its environment says how many processes it starts");
}

/* The launchers that a call goes through, the innermost last: wrappers among
 * its words, its program, its module. */
static struct ranks ranks_of_words(struct arena *a, const struct span *whole,
                                   bool *found)
{
    const struct bash_call *call = whole->call;
    struct ranks r = {0, NULL, NULL};
    size_t program = ranks_program(call), at = 0;
    *found = false;
    while (at < call->n) {
        size_t inner = at < program
                           ? at + bash_inner(call->word + at, call->n - at)
                           : call->n;
        const struct launcher *l =
            ranks_launcher(ranks_base(call->word[at].text));
        size_t module = at == program ? ranks_module(call, program) : call->n;
        if (module < call->n) {
            l = ranks_launcher(call->word[module].text);
            at = module;
        }
        struct span s = {call, whole->result, at + 1, inner};
        if (at == program || module < call->n)
            s.to = ranks_first_argument(call);
        if (l) {
            *found = true;
            r = ranks_of_launcher(a, &s, l);
        }
        if (at >= program)
            break;
        at = inner;
    }
    return r;
}

struct ranks ranks_of_call(struct arena *a, const struct bash_result *r,
                           const struct bash_call *call)
{
    bool found = false;
    struct ranks n = {0, NULL, NULL};
    const struct span whole = {call, r, 0, call->n};
    n = ranks_of_words(a, &whole, &found);
    size_t program = ranks_program(call);
    const char *name =
        program < call->n ? ranks_base(call->word[program].text) : "";
    // srun, mpirun ... in front of the script that holds this call
    for (const struct bash_call *o = call->outer; o && !found; o = o->outer) {
        const struct span outer = {o, r, 0, o->n};
        n = ranks_of_words(a, &outer, &found);
    }
    if (!found && (strcmp(name, "megatron") == 0 || strcmp(name, "swift") == 0))
        n = ranks_of_variables(call, "NNODES", "NPROC_PER_NODE");
    else if (!found)
        n = ranks_number(0, "no launcher says how many processes start");
    if (!n.n && n.where && !*n.where)
        n.where = arena_printf(a, "%s:%d", call->file, call->line);
    return n;
}

/* ---- where the training program's words begin ---- */

/* Options of python and torchrun that stand before the program take a value in
 * most cases; the program is the first word that is a file or a module. */
size_t ranks_first_argument(const struct bash_call *call)
{
    size_t program = ranks_program(call), module = ranks_module(call, program);
    size_t from = module < call->n ? module + 1 : program + 1;
    for (size_t i = from; i < call->n; i++) {
        const char *word = call->word[i].text;
        if (text_ends(word, ".py") || text_ends(word, ".pyc"))
            return i + 1;
        if ((strcmp(word, "-m") == 0 || strcmp(word, "--module") == 0) &&
            i + 1 < call->n)
            return i + 2;
    }
    // a program whose name is not known: up to the first of Megatron's flags
    while (from < call->n &&
           megatron_args_flag_of(call->word[from].text) == FLAG_NONE)
        from++;
    return from < call->n ? from : call->n;
}
