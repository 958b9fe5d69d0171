/*
 * How it works: the launcher's own function writes the words before the
 * trainer; trainer_words() then writes the trainer and its flags.
 */
#include "launch.h"

#include "hf.h"
#include "local.h"
#include "manifest/grammar.h"
#include "manifest/secret.h"
#include "megatron/hybrid.h"
#include "slurm.h"
#include "torchrun.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// some milliseconds a step, enough for a median
enum { LAUNCH_REFERENCE_BURSTS = 8 }; // a rank and step

enum { LAUNCH_HOST_BYTES = 256 }; // of POSIX

#define OUR_PLATFORM "experiments/smpi/cluster.xml"
#define INSIDE "MOE_BENCH_INSIDE" // set in the one job of an experiment

extern char **environ;

static const struct launcher launch_auto = {
    .name = "auto",
    .help = "mpirun where every rank has a core of its own, else smpirun"};

static const struct launcher *const launchers[] = {
    &launch_auto,     &launch_mpirun, &launch_smpirun, &launch_command,
    &launch_torchrun, &launch_slurm,  &launch_hf};

enum { N_LAUNCHERS = sizeof launchers / sizeof launchers[0] };

void launch_print_help(FILE *out)
{
    for (int i = 0; i < N_LAUNCHERS; i++)
        fprintf(out, "  %-16s %s\n", launchers[i]->name, launchers[i]->help);
}

/* 'auto' asks the machine: ranks that share a core would measure the scheduler.
 */
static enum err launch_choose(const struct launch_request *req,
                              const struct launcher **out, struct err_msg *msg)
{
    const char *kind = req->manifest->launcher.kind;
    const char *names[N_LAUNCHERS];
    if (strcmp(kind, "auto") == 0)
        kind = req->machine->n_cores >= req->workload->model.par.world
                   ? "mpirun"
                   : "smpirun";
    for (int i = 0; i < N_LAUNCHERS; i++) {
        names[i] = launchers[i]->name;
        if (strcmp(kind, names[i]) == 0) {
            *out = launchers[i];
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

/* This process is a step of the one job that holds the experiment. */
static bool is_inside(const struct launcher *by)
{
    const char *inside = getenv(INSIDE);
    if (!by->start)
        return false;
    return (inside && strcmp(inside, by->name) == 0) ||
           (by->in_job && getenv(by->in_job));
}

/* What the clock must be for the launcher. */
static enum err choose_clock(const struct launch_request *req,
                             const struct launcher *by, struct launch *l,
                             struct err_msg *msg)
{
    const char *given = req->manifest->launcher.clock;
    l->clock = given ? given : by->clock;
    bool wall = strcmp(l->clock, "wall") == 0;
    // a fixed clock in the manifest must not follow what `auto` comes to
    if (!by->any_clock && by->virtual_time == wall)
        return err_set(msg, ERR_PARSE,
                       "%s: launcher: clock: got '%s', want %s with %s",
                       req->manifest->path, l->clock,
                       by->virtual_time ? "cpu or flops" : "wall", by->name);
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

/* In the order: Megatron at a commit that the job checks out; a script of the
 * manifest's; Megatron's own; our trainer, beside this program. */
static const char *trainer_path(struct arena *a,
                                const struct launch_request *req,
                                const struct launch *l)
{
    const struct manifest *mf = req->manifest;
    const char *entry = mf->trainer.entry;
    const char *megatron = model_is_hybrid(&req->workload->model)
                               ? "pretrain_hybrid.py"
                               : "pretrain_gpt.py";
    if (launcher_checks_out(mf))
        return arena_printf(a, LAUNCHER_CHECKOUT "/%s",
                            entry ? entry : megatron);
    if (entry)
        return find_entry(a, mf);
    if (mf->trainer.kind == TRAINER_MEGATRON)
        return megatron;
    const char *folder = own_folder(a);
    return arena_printf(a, "%s%s", folder ? folder : "",
                        l->by->virtual_time ? "moe-train-smpi" : "moe-train");
}

/* With declared work there is no speed to correct, and so no burst. */
static void add_moe_train_flags(struct build *b,
                                const struct launch_request *req,
                                const struct launch *l)
{
    if (strcmp(l->clock, "flops") == 0) {
        build_add(b, "--clock");
        build_add(b, "flops");
    } else {
        build_add_int(b, "--reference-burst", LAUNCH_REFERENCE_BURSTS);
    }
    if (req->ops_path) {
        build_add(b, "--record-ops");
        build_add(b, req->ops_path);
    }
}

/* Two words, or one where argparse would take the second for a flag. */
static void build_add_layout(struct build *b, const char *flag,
                             const char *layout)
{
    if (layout[0] == '-') {
        build_add(b, arena_printf(b->a, "--%s=%s", flag, layout));
        return;
    }
    build_add(b, arena_printf(b->a, "--%s", flag));
    build_add(b, layout);
}

/* The manifest's own arguments last: of a flag given twice the last one counts.
 */
static void trainer_words(struct build *b, const struct launch_request *req,
                          const struct launch *l)
{
    const struct manifest *mf = req->manifest;
    build_add(b, l->binary);
    build_add_words(b, &req->workload->flags);
    // of a dry run, before there are costs
    build_add_layout(b, flag_name(hybrid_layout_flag(&req->workload->model)),
                     req->layout ? req->layout : "<pick after profile>");
    if (req->workload->model.overlap_moe_comm && !req->profile)
        build_add(b,
                  arena_printf(b->a, "--%s", flag_name(FLAG_OVERLAP_MOE_COMM)));
    build_add_int(b, "--train-iters", manifest_n_iterations(mf, req->profile));
    build_add_int(b, "--log-interval", 1);
    if (l->timers > 0) {
        build_add_int(b, "--timing-log-level", l->timers);
        build_add(b, "--timing-log-option");
        build_add(b, "all");
    }
    if (mf->trainer.kind == TRAINER_MOE_TRAIN)
        add_moe_train_flags(b, req, l);
    build_add_words(b, &mf->trainer.args);
}

/* One BLAS thread a rank, and a kernel set fit for the processor (an old
 * OpenBLAS may choose a slow one); what the user has set stays. */
static void make_env(struct build *b, const struct launch_request *req)
{
    const char *core = req->machine->blas_core;
    build_add_words(b, &req->manifest->launcher.env);
    if (req->manifest->trainer.kind == TRAINER_MEGATRON) {
        // Megatron wants it for the order of its kernels with TP; the second
        // keeps uneven layouts from fragmenting memory
        build_add(b, "CUDA_DEVICE_MAX_CONNECTIONS=1");
        build_add(b, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
        return;
    }
    if (!getenv("OPENBLAS_NUM_THREADS"))
        build_add(b, "OPENBLAS_NUM_THREADS=1");
    if (*core && !getenv("OPENBLAS_CORETYPE"))
        build_add(b, arena_printf(b->a, "OPENBLAS_CORETYPE=%s", core));
}

/* A dry run calls it, too, so that what is printed is what would be started. */
enum err launch_build(struct arena *a, const struct launch_request *req,
                      struct launch *out, struct err_msg *msg)
{
    const struct launcher *by = NULL;
    const char *platform = req->manifest->launcher.platform;
    struct launch l = {.n_ranks = req->workload->model.par.world,
                       .timers =
                           req->profile ? req->manifest->profile_timers : 0};
    enum err e = launch_choose(req, &by, msg);
    if (e == ERR_OK)
        e = choose_clock(req, by, &l, msg);
    if (e != ERR_OK)
        return e;
    l.launcher = by->name;
    l.by = by;
    l.inside = is_inside(by);
    if (by->virtual_time)
        l.platform = platform ? platform : OUR_PLATFORM;
    l.binary = trainer_path(a, req, &l);
    struct build argv = build_new(a), env = build_new(a);
    by->prefix(&argv, req, &l);
    trainer_words(&argv, req, &l);
    make_env(&env, req);
    if (!l.binary)
        return err_set(msg, ERR_NOMEM, "%s: out of memory",
                       req->manifest->path);
    e = build_words(&argv, req->manifest->path, &l.argv, msg);
    if (e == ERR_OK)
        e = build_words(&env, req->manifest->path, &l.env, msg);
    if (e == ERR_OK)
        *out = l;
    return e;
}

/* The system's programs; those of a command that runs here; the trainer. */
static enum err check_programs(struct arena *a, const struct launch *l,
                               struct err_msg *msg)
{
    const char *deps = l->by->deps && !(l->inside && l->by->remote)
                           ? l->by->deps
                           : l->argv.word[0];
    while (*deps) {
        size_t n = strcspn(deps, " ");
        const char *name = arena_strndup(a, deps, n);
        if (!name || !launch_find_program(a, name))
            return err_set(msg, ERR_CHILD,
                           "launcher '%s': program '%s' not found in PATH, %s",
                           l->launcher, name ? name : deps,
                           l->by->next ? l->by->next : "run 'make deps'");
        deps += n + (deps[n] == ' ');
    }
    return ERR_OK;
}

/* A trainer in a container or on another machine cannot be seen from here. */
static bool is_here(const struct manifest *mf, const struct launch *l)
{
    bool elsewhere =
        l->by->remote ||
        (l->by->start && (mf->trainer.container || mf->trainer.commit));
    return !elsewhere;
}

static enum err say_no_trainer(const struct manifest *mf,
                               const struct launch *l, struct err_msg *msg)
{
    if (launcher_checks_out(mf))
        return err_set(msg, ERR_CHILD,
                       "trainer '%s' not found, clone "
                       "https://github.com/NVIDIA/Megatron-LM to "
                       "'" LAUNCHER_CHECKOUT "' and check out %s",
                       l->binary, mf->trainer.commit);
    return err_set(msg, ERR_CHILD,
                   "trainer '%s' not found, run 'make' or set trainer.entry",
                   l->binary);
}

/* What is on this machine only: others are found missing by their job. */
static enum err check_files(const struct manifest *mf, const struct launch *l,
                            struct err_msg *msg)
{
    if (is_here(mf, l) && access(l->binary, R_OK) != 0)
        return say_no_trainer(mf, l, msg);
    if (l->platform && access(l->platform, R_OK) != 0)
        return err_set(msg, ERR_CHILD,
                       "platform file '%s' not found, run from the repository "
                       "root or set launcher.platform",
                       l->platform);
    return ERR_OK;
}

/* NAME=value; a secret would be written into the run's folder. */
static enum err check_env(const struct manifest *mf, struct err_msg *msg)
{
    const struct words *w = &mf->launcher.env;
    for (int i = 0; i < w->n; i++) {
        if (!grammar_fits(GRAMMAR_ASSIGNMENT, w->word[i]))
            return err_set(msg, ERR_PARSE,
                           "%s: launcher: env[%d]: got '%s', want %s", mf->path,
                           i, w->word[i], grammar_wanted(GRAMMAR_ASSIGNMENT));
        if (secret_is_entry(w->word[i]))
            return err_set(msg, ERR_PARSE,
                           "%s: launcher: env[%d]: '%.*s' looks like a "
                           "secret, which a manifest must not hold; set it in "
                           "the job's own environment",
                           mf->path, i, (int)strcspn(w->word[i], "="),
                           w->word[i]);
    }
    return ERR_OK;
}

enum err launch_check(struct arena *a, const struct manifest *mf,
                      const struct launch *l, struct err_msg *msg)
{
    enum err e = check_env(mf, msg);
    if (e == ERR_OK)
        e = check_programs(a, l, msg);
    if (e == ERR_OK && l->by->check && !l->inside)
        e = l->by->check(a, mf, msg);
    return e == ERR_OK ? check_files(mf, l, msg) : e;
}

bool launch_is_job(const struct launch *l)
{
    return l->by->start && !l->inside;
}

static bool is_set_in(const char *entry, const struct words *add_on)
{
    size_t name = strcspn(entry, "=") + 1;
    for (int i = 0; i < add_on->n; i++)
        if (strncmp(entry, add_on->word[i], name) == 0)
            return true;
    return false;
}

/* The caller's environment with ours in place of the same names. */
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

/* Of what may change results: the whole environment would hold secrets. */
static bool changes_results(const char *entry)
{
    static const char *const prefixes[] = {"OPENBLAS_", "OMP_",  "OMPI_MCA_",
                                           "CUDA_",     "NCCL_", "TORCH",
                                           "PYTORCH_",  "NVTE_"};
    // names of people and machines are among others of Slurm's
    static const char *const names[] = {
        "SLURM_JOB_ID=", "SLURM_JOB_NUM_NODES=", "SLURM_JOB_CPUS_PER_NODE=",
        "SLURM_JOB_GPUS=", "MOE_BENCH_INSIDE="};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (text_starts(entry, prefixes[i]))
            return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (text_starts(entry, names[i]))
            return true;
    return false;
}

/* Whether a name stands in a value as a word of its own. */
static bool holds_word(const char *value, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = value; n > 0 && (p = strstr(p, name)); p++)
        if ((p == value || !isalnum((unsigned char)p[-1])) &&
            !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

/* A path below a home, an address, the user or the machine itself; root is
 * nobody. */
static bool names_somebody(const char *value)
{
    static const char *const marks[] = {"@", "://", "/home/", "/Users/"};
    char host[LAUNCH_HOST_BYTES] = "";
    const char *user = getenv("USER"), *home = getenv("HOME");
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (strstr(value, marks[i]))
            return true;
    if (user && strcmp(user, "root") != 0 && holds_word(value, user))
        return true;
    return holds_word(value, host) ||
           (home && strlen(home) > 1 && strstr(value, home));
}

bool launch_env_is_recorded(const char *entry)
{
    const char *equals = strchr(entry, '=');
    return changes_results(entry) && !secret_is_entry(entry) &&
           !names_somebody(equals ? equals + 1 : "");
}
