/*
 * How it works: a sourced file is evaluated in place, in the same state. One
 * that is not there may have set anything: from then on names that are not set
 * are unknown, unless by its name it only sets up a login. In a job the
 * variables of Slurm are set from its #SBATCH lines.
 */
#include "follow.h"

#include "eval.h"
#include "script/branch.h"
#include "script/wrapper.h"

#include <string.h>

/* ---- source ---- */

/* Files that set up a login, a compiler or Python, as far as their names tell:
 * taken to set nothing that a launch uses, and noted. */
static bool is_environment(const char *path)
{
    static const char *const names[] = {
        "activate", "conda.sh",     ".bashrc",    ".bash_profile",
        ".profile", "profile",      "bashrc",     "setvars.sh",
        "init.sh",  "setup-env.sh", "lmod.sh",    "modules.sh",
        "bash",     "bash.bashrc",  "mpivars.sh", "nccl-init.sh",
        ".zshrc",   "mamba.sh",     "set_env.sh", "thisroot.sh",
    };
    return bash_in_table(names, sizeof names / sizeof names[0],
                         bash_base_name(path));
}

/* From here on a name that is not set may have been set there: it is
 * unknown, not empty. */
static void source_missing(struct bash *sh, const char *path)
{
    const char *shown = bash_readable(sh, bash_path_shown(sh, path));
    if (is_environment(path)) {
        bash_note(sh,
                  "%s is not read: taken to set nothing that the launch uses",
                  shown);
        return;
    }
    bash_missing(sh,
                 "%s: not found beside the script; what it sets is not "
                 "known",
                 shown);
    sh->st->unread = bash_keep_text(sh, shown);
}

/* eval "$(conda shell.bash hook)" and its like define functions of a login and
 * set paths, nothing that a launch uses. */
static bool is_hook(const char *command)
{
    static const char *const hooks[] = {"conda shell.", "mamba shell ",
                                        "pyenv init",   "pyenv virtualenv-init",
                                        "ssh-agent",    "direnv hook"};
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        if (strstr(command, hooks[i]))
            return true;
    return false;
}

/* A hook of a known tool is taken to set nothing; the output of any other
 * command could have set everything. */
bool bash_unread_text(struct bash *sh, const char *text)
{
    const char *from = text + strspn(text, " \t\n");
    if (!bash_mark_len(from) || bash_mark_cause(sh, from)->kind != BASH_UNKNOWN)
        return false;
    const char *shown = bash_readable(sh, from);
    bash_set_status(sh, 0);
    if (is_hook(bash_mark_cause(sh, from)->text)) {
        bash_note(sh, "%s is taken to set nothing that the launch uses", shown);
        return true;
    }
    bash_missing(sh, "%s: what it sets is not known", shown);
    sh->st->unread = bash_keep_text(sh, shown);
    return true;
}

/* Arguments behind the file are its positional parameters until it ends. */
void bash_source(struct bash *sh, const struct bash_words *w)
{
    size_t i = 1;
    while (i < w->n && w->item[i].ghost)
        i++;
    const char *path = i < w->n ? bash_plain(sh, w->item[i].text, true) : "";
    struct bash_script *s =
        bash_has_unknown(sh, path) ? NULL : bash_file_script(sh, path);
    struct bash_context at = sh->at;
    bash_set_status(sh, 0);
    if (!s || !*path) {
        source_missing(sh, path);
        return;
    }
    if (at.functions + at.sourced >= BASH_MAX_DEPTH)
        bash_fail(sh, ERR_RANGE, "%s: files source each other %d deep", path,
                  BASH_MAX_DEPTH);
    const struct bash_saved *mark = bash_saved_mark(sh);
    if (i + 1 < w->n) {
        struct bash_words args = {w->item + i + 1, w->n - i - 1, 0};
        bash_make_local(sh, BASH_POSITIONAL);
        bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &args));
    }
    sh->at.sourced++;
    sh->at.source = path;
    sh->at.turn = at.turn * 31 + (uint32_t)at.line;
    bash_eval_script(sh, s);
    if (i + 1 < w->n)
        bash_saved_undo(sh, mark);
    sh->at = at;
    if (sh->flow == BASH_RETURN)
        sh->flow = BASH_GO;
}

/* ---- Slurm's variables ---- */

/* What the user gave with --set stays. */
static void slurm_text(struct bash *sh, const char *name, const char *text)
{
    if (bash_peek(sh, name))
        return;
    if (!text)
        text = bash_unknown(sh, bash_printf(sh, "$%s", name),
                            "the job's own run sets it");
    bash_set(sh, name, text);
    bash_set_flags(sh, name, BASH_EXPORTED, 0);
}

/* A value that was said and is no number is as unknown as the job's id. */
static void slurm_number(struct bash *sh, const char *name, int64_t v)
{
    if (v < 0)
        slurm_text(sh, name, NULL);
    else if (v > 0 && !bash_peek(sh, name)) {
        bash_set(sh, name, bash_printf(sh, "%lld", (long long)v));
        bash_set_flags(sh, name, BASH_EXPORTED, 0);
    }
}

/* Names of sbatch(1), "OUTPUT ENVIRONMENT VARIABLES". */
void bash_slurm_variables(struct bash *sh, const struct bash_slurm *s)
{
    static const char *const others[] = {
        "SLURM_JOB_ID",
        "SLURM_JOBID",
        "SLURM_NODEID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_JOB_NODELIST",
        "SLURM_NODELIST",
        "SLURM_JOB_NAME",
        "SLURM_JOB_PARTITION",
        "SLURM_CPUS_ON_NODE",
        "SLURM_SUBMIT_HOST",
        "SLURM_CLUSTER_NAME",
        "SLURM_JOB_USER",
        "SLURMD_NODENAME",
        "SLURM_JOB_GPUS",
        "SLURM_JOB_CPUS_PER_NODE",
        "SLURM_LAUNCH_NODE_IPADDR",
    };
    int64_t nodes = s->nodes ? s->nodes : 1;
    if (!s->is_job)
        return;
    if (!s->nodes)
        bash_note(sh, "no #SBATCH line says how many nodes: taken as 1");
    slurm_number(sh, "SLURM_NNODES", nodes);
    slurm_number(sh, "SLURM_JOB_NUM_NODES", nodes);
    slurm_number(sh, "SLURM_NTASKS_PER_NODE", s->tasks_per_node);
    slurm_number(sh, "SLURM_NTASKS", s->tasks);
    slurm_number(sh, "SLURM_NPROCS", s->tasks);
    slurm_number(sh, "SLURM_GPUS_ON_NODE", s->gpus_per_node);
    slurm_number(sh, "SLURM_CPUS_PER_TASK", s->cpus_per_task);
    if (s->says_gpus_per_node)
        slurm_number(sh, "SLURM_GPUS_PER_NODE", s->gpus_per_node);
    if (s->tasks_per_node > 0 && nodes > 0)
        slurm_text(sh, "SLURM_TASKS_PER_NODE",
                   bash_printf(sh, "%lld(x%lld)", (long long)s->tasks_per_node,
                               (long long)nodes));
    slurm_text(sh, "SLURM_SUBMIT_DIR", bash_get_text(sh, BASH_FOLDER));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        slurm_text(sh, others[i], NULL);
}
