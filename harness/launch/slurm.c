/*
 * How it works: a run's script is written beside its log and handed to sbatch,
 * whose job is found again by name (squeue) and asked about with scontrol. The
 * log lies in a shared folder, so nothing is collected. Inside an allocation
 * the same words are a child of the harness, through srun.
 */
#include "slurm.h"

#include "base/text.h"
#include "torchrun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// torchrun's usual one: a node is ours alone (--exclusive)
#define PORT ":29500"
#define FIRST_NODE "{first_node}" // of an allocation that is not there yet

enum { SLURM_OLDEST_MAJOR = 20 }; // the oldest whose options are known here

/* Inside the job its shell has set the name; outside a place is kept for it. */
static const char *slurm_rendezvous(struct arena *a, const struct launch *l)
{
    const char *first = getenv("MOE_FIRST_NODE");
    return arena_printf(a, "%s" PORT, l->inside && first ? first : FIRST_NODE);
}

/* Mounts are one option with commas between. */
static const char *slurm_joined(struct arena *a, const struct words *w)
{
    const char *text = w->n > 0 ? w->word[0] : NULL;
    for (int i = 1; i < w->n && text; i++)
        text = arena_printf(a, "%s,%s", text, w->word[i]);
    return text;
}

/* One task a node for torchrun, which starts the ranks itself; one a rank for
 * MPI. */
static void slurm_prefix(struct build *b, const struct launch_request *req,
                         const struct launch *l)
{
    const struct manifest *mf = req->manifest;
    build_add(b, "srun");
    build_add(b, "--kill-on-bad-exit=1");
    build_add_equals(b, "--container-image", mf->trainer.container);
    build_add_equals(b, "--container-mounts",
                     slurm_joined(b->a, &mf->launcher.mounts));
    build_add(
        b, arena_printf(b->a, "--nodes=%lld", (long long)launcher_nodes(mf)));
    if (mf->trainer.kind == TRAINER_MOE_TRAIN) {
        build_add(b, arena_printf(b->a, "--ntasks=%d", l->n_ranks));
        build_add(b, "--mpi=pmix");
        return;
    }
    build_add(b, "--ntasks-per-node=1");
    launch_torchrun_words(b, req, l, slurm_rendezvous(b->a, l));
}

/* "slurm 22.05.8" */
static enum err slurm_check(struct arena *a, const struct manifest *mf,
                            struct err_msg *msg)
{
    static const char *const words[] = {"sbatch", "--version"};
    const char *text = NULL;
    char path[] = "/tmp/moe-bench-XXXXXX";
    (void)mf;
    int fd = mkstemp(path);
    enum err e =
        fd < 0 ? err_set(msg, ERR_IO, "%s: cannot create", path)
               : launcher_call(a, &(struct words){words, 2}, path, &text, msg);
    remove(path);
    if (e != ERR_OK)
        return e;
    const char *digits = text + strcspn(text, "0123456789");
    if (strtol(digits, NULL, 10) < SLURM_OLDEST_MAJOR)
        return err_set(msg, ERR_CHILD,
                       "launcher 'slurm': got version '%s', want %d.11 or "
                       "later",
                       launcher_last_line(a, text), SLURM_OLDEST_MAJOR);
    return ERR_OK;
}

/* ---- the script ---- */

/* In a path Slurm replaces %j and such; a path of ours means what it says. */
static const char *slurm_path(struct arena *a, const char *path)
{
    char *out = arena_alloc(a, 2 * strlen(path) + 1, 1), *p = out;
    for (; out && *path; path++) {
        if (*path == '%')
            *p++ = '%';
        *p++ = *path;
    }
    return out;
}

/* Slurm's own quoting of #SBATCH lines is that of a shell. */
static void slurm_directive(FILE *f, const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(f, "#SBATCH --%s=", option);
    launch_print_words(f, &(struct words){&value, 1});
    putc('\n', f);
}

/* No requeue: a run that starts again would write to the same folder. */
static void slurm_print_head(FILE *f, const struct launch_job *job,
                             const char *log)
{
    const struct manifest *mf = job->manifest;
    int64_t nodes = launcher_nodes(mf);
    bool megatron = mf->trainer.kind == TRAINER_MEGATRON;
    fprintf(f, "#!/bin/bash\n");
    slurm_directive(f, "job-name", job->name);
    slurm_directive(f, "output", log);
    slurm_directive(f, "partition", mf->launcher.partition);
    slurm_directive(f, "account", mf->launcher.account);
    fprintf(f, "#SBATCH --nodes=%lld\n", (long long)nodes);
    if (megatron)
        fprintf(f, "#SBATCH --ntasks-per-node=1\n");
    else
        fprintf(f, "#SBATCH --ntasks=%d\n", job->n_ranks);
    if (mf->hardware.gpu)
        fprintf(f, "#SBATCH --gpus-per-node=%lld\n",
                (long long)(job->n_ranks / nodes));
    // a minute more: the harness' own limit is to end it first
    fprintf(f, "#SBATCH --exclusive\n#SBATCH --no-requeue\n");
    fprintf(f, "#SBATCH --time=%lld\n", (long long)(job->limit_s / 60) + 2);
    for (int i = 0; i < mf->launcher.lines.n; i++)
        if (text_starts(mf->launcher.lines.word[i], "#SBATCH"))
            fprintf(f, "%s\n", mf->launcher.lines.word[i]);
}

/* The one word that only the job can know is put in by its shell. */
static void print_with_first_node(FILE *f, const char *body)
{
    static const char mark[] = "'" FIRST_NODE PORT "'";
    const char *at;
    while ((at = strstr(body, mark))) {
        fprintf(f, "%.*s\"$MOE_FIRST_NODE" PORT "\"", (int)(at - body), body);
        body = at + strlen(mark);
    }
    fputs(body, f);
}

/* The first node's name is found in the job, by its shell. */
static const char *slurm_script(struct arena *a, const struct launch_job *job)
{
    char *text = NULL;
    size_t len = 0;
    const char *body = launcher_script_body(a, job);
    const char *log = slurm_path(a, job->log);
    FILE *f = body && log ? open_memstream(&text, &len) : NULL;
    if (!f)
        return NULL;
    slurm_print_head(f, job, log);
    if (launcher_nodes(job->manifest) > 1)
        fputs("MOE_FIRST_NODE=$(scontrol show hostnames "
              "\"$SLURM_JOB_NODELIST\" | head -n 1)\n"
              "export MOE_FIRST_NODE\n",
              f);
    print_with_first_node(f, body);
    const char *copy = fclose(f) == 0 ? arena_strdup(a, text) : NULL;
    free(text);
    return copy;
}

static enum err slurm_prepare(struct arena *a, const struct launch_job *job,
                              const char **text, struct words *submit,
                              struct err_msg *msg)
{
    struct build b = build_new(a);
    enum err e = launcher_check_words(job, msg);
    if (e != ERR_OK)
        return e;
    build_add(&b, "sbatch");
    build_add(&b, "--parsable");
    build_add(&b, arena_printf(a, "%s/job.sh", job->folder));
    *text = slurm_script(a, job);
    if (!*text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", job->name);
    return build_words(&b, job->name, submit, msg);
}

/* ---- a job's life ---- */

/* `sbatch --parsable` prints "ID" or "ID;cluster", after warnings if any. */
static enum err slurm_start(struct arena *a, const char *printed,
                            const char **id, struct err_msg *msg)
{
    const char *line = launcher_last_line(a, printed);
    size_t n = strspn(line, "0123456789");
    if (n == 0 || (line[n] != '\0' && line[n] != ';'))
        return err_set(msg, ERR_CHILD, "sbatch: got '%s', want a job's number",
                       line);
    *id = arena_strndup(a, line, n);
    return *id ? ERR_OK : err_set(msg, ERR_NOMEM, "sbatch: out of memory");
}

static const char *slurm_answer_path(struct arena *a,
                                     const struct launch_job *job)
{
    return arena_printf(a, "%s/answer.txt", job->folder);
}

/* By name, in any state: the id was not recorded when the harness died. */
static enum err slurm_find(struct arena *a, const struct launch_job *job,
                           const char **id, struct err_msg *msg)
{
    const char *words[] = {
        "squeue",       "--me",        "--noheader",
        "--states=all", "--format=%i", arena_printf(a, "--name=%s", job->name)};
    const char *text = NULL;
    enum err e = launcher_call(a, &(struct words){words, 6},
                               slurm_answer_path(a, job), &text, msg);
    if (e != ERR_OK)
        return e;
    const char *line = launcher_last_line(a, text);
    *id = *line ? line : NULL;
    return ERR_OK;
}

struct state_name {
    const char *name;
    enum job_state state;
};

// job states of squeue(1); an unknown one is asked about again
static const struct state_name states[] = {
    {"PENDING", JOB_WAITING},      {"CONFIGURING", JOB_WAITING},
    {"RUNNING", JOB_RUNNING},      {"COMPLETING", JOB_RUNNING},
    {"SUSPENDED", JOB_RUNNING},    {"STOPPED", JOB_RUNNING},
    {"COMPLETED", JOB_ENDED},      {"FAILED", JOB_FAILED},
    {"OUT_OF_MEMORY", JOB_FAILED}, {"CANCELLED", JOB_CANCELLED},
    {"TIMEOUT", JOB_OVER_TIME},    {"DEADLINE", JOB_OVER_TIME},
    {"NODE_FAIL", JOB_LOST},       {"BOOT_FAIL", JOB_LOST},
    {"PREEMPTED", JOB_LOST},       {"REVOKED", JOB_LOST}};

/* "[days-]hours:minutes:seconds"; 0 for anything else. */
static double slurm_seconds(const char *text)
{
    const double units[] = {3600, 60, 1};
    double total_s = 0;
    char *rest;
    if (text[strspn(text, "0123456789")] == '-') {
        total_s = 86400 * strtod(text, &rest);
        text = rest + 1;
    }
    for (int i = 0; i < 3; i++) {
        size_t n = strspn(text, "0123456789");
        if (n == 0 || (i < 2 && text[n] != ':'))
            return 0;
        total_s += units[i] * (double)strtol(text, NULL, 10);
        text += n + 1;
    }
    return total_s;
}

/* scontrol's "Key=value" words; a value may hold blanks, so keys are searched.
 */
struct job_view launch_slurm_view(struct arena *a, const char *text)
{
    struct job_view v = {JOB_WAITING, -1, "unknown", 0};
    const char *at = strstr(text, "JobState=");
    const char *code = strstr(text, " ExitCode=");
    const char *ran = strstr(text, " RunTime=");
    if (!at)
        return v;
    at += strlen("JobState=");
    size_t n = strcspn(at, " \n");
    v.word = arena_strndup(a, at, n);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strlen(states[i].name) == n && strncmp(states[i].name, at, n) == 0)
            v.state = states[i].state;
    if (ran)
        v.ran_s = slurm_seconds(ran + strlen(" RunTime="));
    if (code && job_state_is_over(v.state)) {
        // "status:signal"
        char *rest;
        long status = strtol(code + strlen(" ExitCode="), &rest, 10);
        long sig = *rest == ':' ? strtol(rest + 1, NULL, 10) : 0;
        v.exit_code = sig ? -1 : (int)status;
    }
    return v;
}

/* Slurm forgets a job some minutes after its end (MinJobAge); one that vanished
 * between two polls is lost, and its log is all there is. */
static enum err slurm_poll_job(struct arena *a, const struct launch_job *job,
                               struct job_view *out, struct err_msg *msg)
{
    const char *words[] = {"scontrol", "--oneliner", "show", "job", job->id};
    struct capture c;
    enum err e = launcher_capture(a, &(struct words){words, 5},
                                  slurm_answer_path(a, job), &c, msg);
    if (e != ERR_OK)
        return e;
    if (c.code == 0) {
        *out = launch_slurm_view(a, c.text);
        return ERR_OK;
    }
    if (!strstr(c.text, "Invalid job id"))
        return err_set(msg, ERR_CHILD, "scontrol: %s",
                       launcher_last_line(a, c.text));
    *out = (struct job_view){JOB_LOST, -1, "no longer known to Slurm", 0};
    return ERR_OK;
}

static enum err slurm_cancel(struct arena *a, const struct launch_job *job,
                             struct err_msg *msg)
{
    const char *words[] = {"scancel", job->id};
    return launcher_call(a, &(struct words){words, 2},
                         slurm_answer_path(a, job), NULL, msg);
}

/* Slurm writes the log where the harness reads it. */
static enum err slurm_collect(struct arena *a, const struct launch_job *job,
                              struct err_msg *msg)
{
    (void)a;
    (void)job;
    (void)msg;
    return ERR_OK;
}

const struct launcher launch_slurm = {
    .name = "slurm",
    .help = "Slurm: a batch job a run, or one for all; srun inside one",
    .clock = "wall",
    .in_job = "SLURM_JOB_ID",
    .deps = "sbatch srun scontrol squeue scancel",
    .next = "run on a login node of the cluster, or install slurm-client",
    .prefix = slurm_prefix,
    .check = slurm_check,
    .prepare = slurm_prepare,
    .start = slurm_start,
    .find = slurm_find,
    .poll = slurm_poll_job,
    .cancel = slurm_cancel,
    .collect = slurm_collect};
