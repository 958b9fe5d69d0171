/*
 * How it works: a static table of launchers, each with a function that writes
 * the words before the trainer; trainer_words() then writes the trainer and
 * its flags. struct build collects the words, NULL after a failed allocation.
 */
#include "launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ARGS = 1024, REFERENCE_BURSTS = 5 };

#define OUR_PLATFORM "experiments/smpi/cluster.xml"

extern char **environ;

struct build {
    struct arena *a;
    const char **word;
    int n;
};

struct launcher {
    const char *name, *help;
    void (*prefix)(struct build *b, const struct launch_request *req,
                   const struct launch *l);
    bool can_run;
    const char *clock; // its own
};

static void add(struct build *b, const char *word)
{
    if (!word || b->n == MAX_ARGS - 1)
        b->word = NULL;
    else if (b->word)
        b->word[b->n++] = word;
}

static void add_int(struct build *b, const char *flag, int64_t value)
{
    add(b, flag);
    add(b, arena_printf(b->a, "%lld", (long long)value));
}

static void add_words(struct build *b, const struct words *w)
{
    for (int i = 0; i < w->n; i++)
        add(b, w->word[i]);
}

static void prefix_mpirun(struct build *b, const struct launch_request *req,
                          const struct launch *l)
{
    static const char *const local[] = {"--mca", "btl", "self,vader",
                                        "--mca", "pml", "ob1"};
    (void)req;
    add(b, "mpirun");
    add(b, "--allow-run-as-root");
    add_int(b, "-np", l->n_ranks);
    add_words(b, &(struct words){local, 6});
}

/* Options that make virtual time equal CPU time, or declared work, and one
 * message take latency + bytes/bandwidth from when both ends have posted it:
 * no factors, no sharing, no protocol limits, always rendezvous. */
static const char *const smpi_words[] = {
    "--cfg=smpi/host-speed:1Gf",        "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:no",    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0",
    "--cfg=network/TCP-gamma:0",        "--cfg=smpi/lat-factor:1",
    "--cfg=smpi/bw-factor:1",           "--cfg=smpi/send-is-detached-thresh:0",
    "--log=root.thres:warning"};

static void prefix_smpirun(struct build *b, const struct launch_request *req,
                           const struct launch *l)
{
    (void)req;
    add(b, "smpirun");
    add_int(b, "-np", l->n_ranks);
    add(b, "-platform");
    add(b, l->platform);
    add_words(
        b, &(struct words){smpi_words, sizeof smpi_words / sizeof *smpi_words});
    if (strcmp(l->clock, "flops") == 0)
        add(b, "--cfg=smpi/simulate-computation:no");
}

static void prefix_torchrun(struct build *b, const struct launch_request *req,
                            const struct launch *l)
{
    const struct manifest_hardware *h = &req->manifest->hardware;
    int64_t nodes = h->nodes > 0 ? h->nodes : 1;
    add(b, "torchrun");
    if (nodes == 1) {
        add(b, "--standalone");
    } else {
        add_int(b, "--nnodes", nodes);
        add(b, "--rdzv-backend");
        add(b, "c10d");
    }
    add_int(b, "--nproc-per-node", l->n_ranks / nodes);
}

static void prefix_slurm(struct build *b, const struct launch_request *req,
                         const struct launch *l)
{
    const struct manifest_hardware *h = &req->manifest->hardware;
    int64_t nodes = h->nodes > 0 ? h->nodes : 1;
    int64_t minutes = (int64_t)(req->manifest->run_limit_s / 60) + 1;
    add(b, "srun");
    add(b, arena_printf(b->a, "--nodes=%lld", (long long)nodes));
    add(b, "--ntasks-per-node=1");
    add(b, arena_printf(b->a, "--gpus-per-node=%lld",
                        (long long)(l->n_ranks / nodes)));
    add(b, "--exclusive");
    add(b, arena_printf(b->a, "--time=%lld", (long long)minutes));
    if (req->manifest->trainer.container)
        add(b, arena_printf(b->a, "--container-image=%s",
                            req->manifest->trainer.container));
    prefix_torchrun(b, req, l);
}

static void prefix_hf_jobs(struct build *b, const struct launch_request *req,
                           const struct launch *l)
{
    static const char *const job[] = {"hf", "jobs", "run", "--timeout"};
    const char *image = req->manifest->trainer.container;
    add_words(b, &(struct words){job, 4});
    add(b, arena_printf(b->a, "%.0fs", req->manifest->run_limit_s));
    add(b, image ? image : "<container>");
    add(b, "--");
    prefix_torchrun(b, req, l);
}

/* "{ranks}" in a word becomes the number of ranks. */
static void prefix_command(struct build *b, const struct launch_request *req,
                           const struct launch *l)
{
    const struct words *w = &req->manifest->launcher.command;
    for (int i = 0; i < w->n; i++) {
        const char *at = strstr(w->word[i], "{ranks}");
        if (at)
            add(b, arena_printf(b->a, "%.*s%d%s", (int)(at - w->word[i]),
                                w->word[i], l->n_ranks, at + 7));
        else
            add(b, w->word[i]);
    }
}

static const struct launcher launchers[] = {
    {"auto", "mpirun where every rank has a core of its own, else smpirun",
     NULL, true, NULL},
    {"mpirun", "Open MPI on this machine, wall clock", prefix_mpirun, true,
     "wall"},
    {"smpirun", "SimGrid SMPI: a core a rank in virtual time; clock cpu|flops",
     prefix_smpirun, true, "cpu"},
    {"command", "the words of launcher.command, then the trainer; {ranks}",
     prefix_command, true, "wall"},
    {"torchrun", "Megatron-LM on GPUs of one node (printed only, so far)",
     prefix_torchrun, false, "wall"},
    {"slurm", "a Slurm job (printed only, so far)", prefix_slurm, false,
     "wall"},
    {"hf-jobs", "a Hugging Face job (printed only, so far)", prefix_hf_jobs,
     false, "wall"},
};

enum { N_LAUNCHERS = sizeof launchers / sizeof launchers[0] };

void launch_print_help(FILE *out)
{
    for (int i = 0; i < N_LAUNCHERS; i++)
        fprintf(out, "  %-16s %s\n", launchers[i].name, launchers[i].help);
}

static enum err choose(const struct launch_request *req,
                       const struct launcher **out, struct err_msg *msg)
{
    const char *kind = req->manifest->launcher.kind;
    const char *names[N_LAUNCHERS];
    if (strcmp(kind, "auto") == 0)
        kind = req->machine->n_cores >= req->workload->model.par.world
                   ? "mpirun"
                   : "smpirun";
    for (int i = 0; i < N_LAUNCHERS; i++) {
        names[i] = launchers[i].name;
        if (strcmp(kind, names[i]) == 0) {
            *out = &launchers[i];
            return ERR_OK;
        }
    }
    const char *near = text_nearest(kind, names, N_LAUNCHERS);
    return err_set(msg, ERR_PARSE,
                   "%s: launcher: kind: got '%s', want auto, mpirun, smpirun, "
                   "command, torchrun, slurm or hf-jobs%s%s%s",
                   req->manifest->path, kind, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

/* What the clock must be for the launcher. */
static enum err choose_clock(const struct launch_request *req,
                             const struct launcher *by, struct launch *l,
                             struct err_msg *msg)
{
    const char *given = req->manifest->launcher.clock;
    bool smpi = strcmp(by->name, "smpirun") == 0;
    l->clock = given ? given : by->clock;
    bool wall = strcmp(l->clock, "wall") == 0;
    // a fixed clock in the manifest must not follow what `auto` comes to
    if (strcmp(by->name, "command") != 0 && smpi == wall)
        return err_set(msg, ERR_PARSE,
                       "%s: launcher: clock: got '%s', want %s with %s",
                       req->manifest->path, l->clock,
                       smpi ? "cpu or flops" : "wall", by->name);
    l->source = wall ? "measured" : "emulated";
    return ERR_OK;
}

/* Folder of this program with the slash, relative to the working directory
 * where it lies below it; "" when unknown. */
static const char *own_folder(struct arena *a)
{
    char path[PATH_MAX], cwd[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return "";
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    size_t len = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
    if (len > 1 && strncmp(path, cwd, len) == 0 && path[len] == '/')
        return arena_strdup(a, path + len + 1);
    return arena_strdup(a, path);
}

/* A script beside the manifest wins over the same name elsewhere. */
static const char *find_entry(struct arena *a, const struct manifest *mf)
{
    const char *entry = mf->trainer.entry;
    const char *beside =
        entry[0] == '/' ? NULL : arena_printf(a, "%s/%s", mf->dir, entry);
    return beside && access(beside, R_OK) == 0 ? beside : entry;
}

static const char *trainer_path(struct arena *a, const struct manifest *mf,
                                const struct launch *l)
{
    if (mf->trainer.entry)
        return find_entry(a, mf);
    if (mf->trainer.kind == TRAINER_MEGATRON)
        return "pretrain_gpt.py";
    bool smpi = strcmp(l->launcher, "smpirun") == 0;
    const char *folder = own_folder(a);
    return arena_printf(a, "%s%s", folder ? folder : "",
                        smpi ? "moe-train-smpi" : "moe-train");
}

static void add_moe_train_flags(struct build *b,
                                const struct launch_request *req,
                                const struct launch *l)
{
    if (strcmp(l->clock, "flops") == 0) {
        add(b, "--clock");
        add(b, "flops");
    } else {
        add_int(b, "--reference-burst", REFERENCE_BURSTS);
    }
    if (req->ops_path) {
        add(b, "--record-ops");
        add(b, req->ops_path);
    }
}

static void trainer_words(struct build *b, const struct launch_request *req,
                          const struct launch *l)
{
    const struct manifest *mf = req->manifest;
    add(b, l->binary);
    add_words(b, &req->workload->flags);
    add(b, "--pipeline-model-parallel-layout");
    add(b, req->layout ? req->layout : "<pick after profile>");
    add_int(b, "--train-iters", manifest_n_iterations(mf, req->profile));
    add_int(b, "--log-interval", 1);
    if (l->timers > 0) {
        add_int(b, "--timing-log-level", l->timers);
        add(b, "--timing-log-option");
        add(b, "all");
    }
    if (mf->trainer.kind == TRAINER_MOE_TRAIN)
        add_moe_train_flags(b, req, l);
    add_words(b, &mf->trainer.args);
}

/* One BLAS thread a rank, and a kernel set fit for the processor (an old
 * OpenBLAS may choose a slow one); what the user has set stays. */
static void make_env(struct build *b, const struct launch_request *req)
{
    const char *core = req->machine->blas_core;
    if (req->manifest->trainer.kind == TRAINER_MEGATRON) {
        add(b, "CUDA_DEVICE_MAX_CONNECTIONS=1");
        add(b, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
        return;
    }
    if (!getenv("OPENBLAS_NUM_THREADS"))
        add(b, "OPENBLAS_NUM_THREADS=1");
    if (*core && !getenv("OPENBLAS_CORETYPE"))
        add(b, arena_printf(b->a, "OPENBLAS_CORETYPE=%s", core));
}

static struct build build_new(struct arena *a)
{
    return (struct build){a, arena_alloc(a, MAX_ARGS, sizeof(const char *)), 0};
}

enum err launch_build(struct arena *a, const struct launch_request *req,
                      struct launch *out, struct err_msg *msg)
{
    const struct launcher *by = NULL;
    const char *platform = req->manifest->launcher.platform;
    struct launch l = {.n_ranks = req->workload->model.par.world,
                       .timers =
                           req->profile ? req->manifest->profile_timers : 0};
    enum err e = choose(req, &by, msg);
    if (e == ERR_OK)
        e = choose_clock(req, by, &l, msg);
    if (e != ERR_OK)
        return e;
    l.launcher = by->name;
    l.can_run = by->can_run;
    if (strcmp(by->name, "smpirun") == 0)
        l.platform = platform ? platform : OUR_PLATFORM;
    l.binary = trainer_path(a, req->manifest, &l);
    struct build argv = build_new(a), env = build_new(a);
    by->prefix(&argv, req, &l);
    trainer_words(&argv, req, &l);
    make_env(&env, req);
    if (!argv.word || !env.word || !l.binary)
        return err_set(msg, ERR_NOMEM, "%s: more than %d words or no memory",
                       req->manifest->path, MAX_ARGS);
    l.argv = (struct words){argv.word, argv.n};
    l.env = (struct words){env.word, env.n};
    *out = l;
    return ERR_OK;
}

const char *launch_find_program(struct arena *a, const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; p;) {
        const char *colon = strchr(p, ':');
        int n = colon ? (int)(colon - p) : (int)strlen(p);
        const char *file = arena_printf(a, "%.*s/%s", n, p, name);
        if (file && access(file, X_OK) == 0)
            return file;
        p = colon ? colon + 1 : NULL;
    }
    return NULL;
}

enum err launch_check(struct arena *a, const struct launch *l,
                      struct err_msg *msg)
{
    if (!l->can_run)
        return err_set(msg, ERR_CHILD,
                       "launcher '%s' cannot start runs yet, only --dry-run "
                       "knows it; use mpirun, smpirun, auto or command",
                       l->launcher);
    if (!launch_find_program(a, l->argv.word[0]))
        return err_set(msg, ERR_CHILD,
                       "launcher '%s': program '%s' not found in PATH, run "
                       "'make deps'",
                       l->launcher, l->argv.word[0]);
    if (access(l->binary, R_OK) != 0)
        return err_set(msg, ERR_CHILD,
                       "trainer '%s' not found, run 'make' or set "
                       "trainer.entry",
                       l->binary);
    if (l->platform && access(l->platform, R_OK) != 0)
        return err_set(msg, ERR_CHILD,
                       "platform file '%s' not found, run from the repository "
                       "root or set launcher.platform",
                       l->platform);
    return ERR_OK;
}

static void print_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}

void launch_print_words(FILE *out, const struct words *w)
{
    for (int i = 0; i < w->n; i++) {
        if (i > 0)
            putc(' ', out);
        print_quoted(out, w->word[i]);
    }
}

static bool is_set_in(const char *entry, const struct words *add_on)
{
    size_t name = strcspn(entry, "=") + 1;
    for (int i = 0; i < add_on->n; i++)
        if (strncmp(entry, add_on->word[i], name) == 0)
            return true;
    return false;
}

char **launch_environment(struct arena *a, const struct words *add_on)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = arena_alloc(a, n + (size_t)add_on->n + 1, sizeof *env);
    size_t k = 0;
    for (size_t i = 0; i < n && env; i++)
        if (!is_set_in(environ[i], add_on))
            env[k++] = environ[i];
    for (int i = 0; i < add_on->n && env; i++) {
        env[k] = arena_strdup(a, add_on->word[i]);
        if (!env[k++])
            return NULL;
    }
    return env;
}

char **launch_argv(struct arena *a, const struct words *w)
{
    char **argv = arena_alloc(a, (size_t)w->n + 1, sizeof *argv);
    for (int i = 0; i < w->n && argv; i++)
        if (!(argv[i] = arena_strdup(a, w->word[i])))
            return NULL;
    return argv;
}

bool launch_env_is_recorded(const char *entry)
{
    static const char *const prefixes[] = {"OPENBLAS_", "OMP_",  "OMPI_MCA_",
                                           "CUDA_",     "NCCL_", "TORCH",
                                           "PYTORCH_",  "NVTE_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (text_starts(entry, prefixes[i]))
            return true;
    return false;
}
