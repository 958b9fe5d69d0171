/*
 * How it works: wrappers (srun, nohup, env ...) are peeled off until a program
 * stands that is none. A shell with a script or -c is read as a script of its
 * own that sees exported variables only; everything else that may start a
 * training is a call.
 */
#include "follow.h"

#include "builtin.h"
#include "eval.h"
#include "expand.h"
#include "script/branch.h"
#include "script/parse.h"
#include "script/wrapper.h"
#include "tools.h"

#include <stdlib.h>
#include <string.h>

/* A command with its wrappers. */
struct command {
    struct bash_word *word;
    size_t n;
    size_t inner;       // first word behind the wrappers
    const char *name;   // of the program there
    bool batch, remote; // sbatch; ssh and its like are among the wrappers
};

/* ---- programs that start no training ---- */

/* Those that are taken to succeed, and print nothing; others' success is not
 * known. */
static const char *const follow_silent[] = {
    "mkdir",   "rm",     "cp",     "mv",     "ln",      "chmod",
    "chown",   "touch",  "module", "ml",     "sleep",   "sync",
    "clear",   "logger", "rmdir",  "renice", "stty",    "modprobe",
    "killall", "pkill",  "fuser",  "ulimit", "scancel",
};

/* Those that are taken to succeed and print what is not known. */
static const char *const follow_quiet[] = {
    "tee",          "pip",
    "pip3",         "conda",
    "mamba",        "spack",
    "tput",         "sysctl",
    "dmesg",        "sed",
    "column",       "ray",
    "tensorboard",  "huggingface-cli",
    "hf",           "wandb",
    "aws",          "gsutil",
    "gcloud",       "rclone",
    "rsync",        "scp",
    "git",          "make",
    "cmake",        "ninja",
    "apt",          "apt-get",
    "yum",          "tar",
    "unzip",        "gzip",
    "gunzip",       "zip",
    "ibdev2netdev", "nvidia-cuda-mps-control",
};

static const char *const follow_unknown[] = {
    "nvidia-smi",  "rocm-smi",    "hostname",   "uname",   "date",
    "whoami",      "id",          "nproc",      "grep",    "egrep",
    "fgrep",       "awk",         "gawk",       "find",    "ls",
    "stat",        "du",          "df",         "free",    "lscpu",
    "scontrol",    "squeue",      "sinfo",      "sacct",   "curl",
    "wget",        "ping",        "nc",         "netstat", "ss",
    "ip",          "ifconfig",    "lsof",       "ps",      "pgrep",
    "top",         "which",       "whereis",    "jq",      "yq",
    "xargs",       "uniq",        "sort",       "head",    "tail",
    "wc",          "tr",          "cut",        "cat",     "seq",
    "expr",        "bc",          "basename",   "dirname", "realpath",
    "readlink",    "rev",         "paste",      "fold",    "fmt",
    "mktemp",      "md5sum",      "sha256sum",  "shuf",    "openssl",
    "getent",      "getconf",     "printenv",   "env",     "locale",
    "tty",         "timedatectl", "numfmt",     "od",      "xxd",
    "diff",        "cmp",         "file",       "getopt",  "ibstat",
    "ibv_devinfo", "dig",         "nslookup",   "host",    "comm",
    "join",        "nl",          "tac",        "split",   "strings",
    "less",        "more",        "vi",         "vim",     "nano",
    "ssh",         "pdsh",        "ssh-keygen", "lspci",   "lsmod",
    "mount",       "umount",      "docker",     "podman",  "singularity",
    "apptainer",   "enroot",      "nvcc",       "gcc",     "g++",
    "cc",          "ld",          "ldconfig",   "dpkg",    "rpm",
    "uptime",      "arch",        "logname",    "users",   "who",
    "groups",      "crontab",     "screen",     "tmux",    "nohup",
    "time",        "timeout",     "srun",       "mpirun",  "mpiexec",
    "salloc",      "taskset",     "numactl",    "setsid",  "stdbuf",
    "nice",        "ionice",      "sudo",       "exec",    "command",
    "conda-env",   "nsys",        "ncu",        "xz",
};

bool bash_in_table(const char *const *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i], name) == 0)
            return true;
    return false;
}

/* Does nothing to what is read; its output is not known. */
static bool pass_over(struct bash *sh, const char *name,
                      const struct bash_words *w)
{
    bool silent = bash_in_table(
        follow_silent, sizeof follow_silent / sizeof follow_silent[0], name);
    bool quiet =
        silent ||
        bash_in_table(follow_quiet,
                      sizeof follow_quiet / sizeof follow_quiet[0], name);
    bool python = strncmp(name, "python", 6) == 0 && w->n > 1 &&
                  (strcmp(w->item[1].text, "-c") == 0 ||
                   strcmp(w->item[1].text, "-") == 0 ||
                   strcmp(w->item[1].text, "--version") == 0);
    if (!quiet && !python &&
        !bash_in_table(follow_unknown,
                       sizeof follow_unknown / sizeof follow_unknown[0], name))
        return false;
    if (strcmp(name, "tee") == 0 && sh->at.in) {
        bash_emit(sh, sh->at.in->text + sh->at.in->pos);
        bash_set_status(sh, 0);
        return true;
    }
    if (!silent)
        bash_emit_unknown(sh, w->item[0].text);
    if (quiet)
        bash_set_status(sh, 0);
    else
        bash_doubt_command(sh, w);
    return true;
}

/* ---- calls ---- */

struct settings {
    struct bash_setting *to;
    size_t n;
};

static void count_exported(struct bash *sh, const char *name,
                           const struct bash_var *v, void *data)
{
    (void)sh;
    (void)name;
    (void)v;
    ++*(size_t *)data;
}

/* An exported variable; of a choice not made yet, a mark. */
static void add_exported(struct bash *sh, const char *name,
                         const struct bash_var *v, void *data)
{
    struct settings *s = data;
    if (!(v->flags & BASH_EXPORTED) || (!v->choice && !v->n) ||
        !bash_is_name(name, strlen(name)))
        return;
    const char *text = v->choice
                           ? bash_unknown(sh, bash_printf(sh, "$%s", name),
                                          bash_printf(sh, "it hangs on '%s'",
                                                      bash_choice_text(v)))
                           : v->item[0].text;
    s->to[s->n++] = (struct bash_setting){name, text};
}

/* Exported variables go along: some launchers and frameworks read their
 * sizes from them. */
static struct bash_call *make_call(struct bash *sh, const struct bash_word *w,
                                   size_t n)
{
    struct bash_call *c = bash_alloc(sh, 1, sizeof *c);
    size_t count = 0;
    bash_each(sh, count_exported, &count);
    struct bash_setting *env = bash_alloc(sh, count + 1, sizeof *env);
    struct settings s = {env, 0};
    bash_each(sh, add_exported, &s);
    c->file = sh->at.file;
    c->line = sh->at.line;
    c->word = w;
    c->n = n;
    c->env = env;
    c->n_env = s.n;
    c->outer = sh->at.outer;
    c->slurm = sh->at.slurm;
    c->captured = sh->at.subst != NULL;
    return c;
}

/* Variables that are not set and reach a call are noted. */
static void note_words(struct bash *sh, const struct bash_call *c)
{
    for (size_t i = 0; i < c->n; i++)
        bash_plain(sh, c->word[i].text, true);
}

/* A call cannot be merged: it leaves a probe. */
static void record(struct bash *sh, const struct command *cmd,
                   const struct bash_words *w)
{
    bash_matters(sh);
    if (sh->n_calls == BASH_MAX_CALLS)
        bash_fail(sh, ERR_RANGE, "more than %d commands that may be launches",
                  BASH_MAX_CALLS);
    if (sh->n_calls == sh->cap_calls) {
        size_t cap = 2 * sh->cap_calls + 16;
        struct bash_call *grown = bash_alloc(sh, cap, sizeof *grown);
        if (sh->n_calls)
            memcpy(grown, sh->call, sh->n_calls * sizeof *grown);
        sh->call = grown;
        sh->cap_calls = cap;
    }
    const struct bash_call *c = make_call(sh, cmd->word, cmd->n);
    sh->call[sh->n_calls++] = *c;
    note_words(sh, c);
    bash_emit_unknown(sh, cmd->word[0].text);
    bash_doubt_command(sh, w);
}

/* ---- scripts ---- */

/* A script to be read as a program of its own. */
struct inner_script {
    struct bash_script *script;
    const char *zero; // its $0
    const struct bash_word *arg;
    size_t n_args;
    const struct bash_call *outer;
    struct bash_slurm slurm;
};

/* What vanished on the way in is no argument. */
static void set_args(struct bash *sh, const struct bash_word *arg, size_t n)
{
    struct bash_words args = {0};
    for (size_t i = 0; i < n; i++) {
        bool ghost =
            arg[i].unquoted_mark && !*bash_plain(sh, arg[i].text, false);
        bash_words_add(sh, &args, arg[i].text, ghost, arg[i].unquoted_mark);
        args.item[i].file = arg[i].file;
        args.item[i].line = arg[i].line;
    }
    bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &args));
}

/* A new program: it sees what is exported, and sets nothing here. */
static void run_inner(struct bash *sh, const struct inner_script *in)
{
    struct bash_context at = sh->at;
    if (at.functions + at.sourced >= BASH_MAX_DEPTH)
        bash_fail(sh, ERR_RANGE, "scripts start each other %d deep",
                  BASH_MAX_DEPTH);
    struct bash_state *outer = bash_subshell_begin(sh);
    bash_enter(sh);
    bash_state_only_exported(sh);
    set_args(sh, in->arg, in->n_args);
    sh->at.sourced++;
    sh->at.condition = 0;
    sh->at.loops = 0;
    sh->at.script = sh->at.source = in->zero;
    sh->at.function = NULL;
    sh->at.outer = in->outer;
    sh->at.slurm = in->slurm;
    bash_slurm_variables(sh, &in->slurm);
    bash_eval_script(sh, in->script);
    bash_subshell_end(sh, outer);
    sh->at = at;
}

/* Is the file a shell script? By its first line, else by its name. */
static bool is_shell_script(struct bash *sh, const char *path)
{
    const char *text = bash_file_text(sh, path);
    size_t n = strlen(path);
    bool named = n > 3 && strcmp(path + n - 3, ".sh") == 0;
    if (!text)
        return named;
    if (strncmp(text, "#!", 2) != 0)
        return named;
    const char *end = text + strcspn(text, "\n");
    const char *sh_at = strstr(text, "sh");
    return sh_at && sh_at < end;
}

/* Its words go along: what the script would have been given. */
static void missing_script(struct bash *sh, const struct command *cmd,
                           size_t file)
{
    struct bash_text t = {0};
    for (size_t i = file; i < cmd->n; i++) {
        bash_putc(sh, &t, ' ');
        bash_puts(sh, &t, cmd->word[i].text);
    }
    bash_missing(sh, "%s: not found beside the script; it is started as%s",
                 bash_readable(sh, cmd->word[file].text),
                 bash_readable(sh, bash_text_of(&t)));
}

/* The job's Slurm values: its own lines, then the options before it. */
static struct bash_slurm slurm_of(struct bash *sh, const struct command *cmd,
                                  size_t file, const char *text)
{
    struct bash_slurm s = sh->at.slurm;
    if (!cmd->batch)
        return s;
    s = (struct bash_slurm){.is_job = true};
    bash_slurm_read(text, &s);
    bash_slurm_options(cmd->word, file, &s);
    return s;
}

/* A script with the words behind `zero` as its parameters. */
static void follow_text(struct bash *sh, const struct command *cmd,
                        struct bash_script *script, size_t zero)
{
    size_t args = zero + 1 < cmd->n ? zero + 1 : cmd->n;
    struct inner_script in = {.script = script, .zero = "bash"};
    if (zero < cmd->n)
        in.zero = bash_plain(sh, cmd->word[zero].text, false);
    in.arg = cmd->word + args;
    in.n_args = cmd->n - args;
    in.outer = cmd->inner ? make_call(sh, cmd->word, cmd->n) : sh->at.outer;
    in.slurm =
        slurm_of(sh, cmd, zero < cmd->n ? zero : cmd->inner, script->text);
    run_inner(sh, &in);
}

/* The script in word `file`; false where it is not there. */
static bool follow_file(struct bash *sh, const struct command *cmd, size_t file)
{
    const char *path = bash_plain(sh, cmd->word[file].text, false);
    struct bash_script *s =
        bash_has_unknown(sh, path) ? NULL : bash_file_script(sh, path);
    if (!s) {
        missing_script(sh, cmd, file);
        return false;
    }
    follow_text(sh, cmd, s, file);
    return true;
}

/* cat job.sh | bash, bash <<EOF, sbatch <<EOF. */
static bool follow_stdin(struct bash *sh, const struct command *cmd)
{
    struct bash_stdin *in = sh->at.in;
    if (!in)
        return false;
    const char *text = in->text + in->pos;
    in->pos += strlen(text);
    follow_text(sh, cmd,
                bash_text_script(sh, sh->at.file, text, sh->at.line + 1),
                cmd->n);
    return true;
}

static bool is_shell(const char *name)
{
    static const char *const shells[] = {"bash", "sh", "zsh", "dash", "ksh"};
    return bash_in_table(shells, sizeof shells / sizeof shells[0], name);
}

/* bash [options] FILE, bash -c TEXT, bash < TEXT. */
static bool follow_shell(struct bash *sh, const struct command *cmd)
{
    size_t i = cmd->inner + 1;
    bool text = false, from_stdin = false;
    for (; i < cmd->n && cmd->word[i].text[0] == '-'; i++) {
        const char *w = cmd->word[i].text;
        if (strcmp(w, "--") == 0) {
            i++;
            break;
        }
        if (w[1] == '-')
            continue;
        text = text || strchr(w, 'c');
        from_stdin = from_stdin || strchr(w, 's');
        if (strchr(w, 'o') || strchr(w, 'O'))
            i++;
    }
    if (text && i < cmd->n) {
        struct bash_script *s = bash_text_script(
            sh, sh->at.file, bash_plain(sh, cmd->word[i].text, true),
            cmd->word[i].line);
        follow_text(sh, cmd, s, i + 1);
        return true;
    }
    if (i >= cmd->n || from_stdin)
        return follow_stdin(sh, cmd);
    return follow_file(sh, cmd, i);
}

/* sbatch --wrap="text" */
static const char *wrap_text(const struct command *cmd)
{
    for (size_t i = 1; i < cmd->n; i++) {
        if (strncmp(cmd->word[i].text, "--wrap=", 7) == 0)
            return cmd->word[i].text + 7;
        if (strcmp(cmd->word[i].text, "--wrap") == 0 && i + 1 < cmd->n)
            return cmd->word[i + 1].text;
    }
    return NULL;
}

/* sbatch without a file reads standard input; --wrap is a script of one
 * line. */
static bool follow_batch(struct bash *sh, const struct command *cmd)
{
    const char *wrap = wrap_text(cmd);
    if (wrap) {
        struct command all = *cmd;
        all.inner = cmd->n; // there is an outer call
        follow_text(sh, &all,
                    bash_text_script(sh, sh->at.file, wrap, sh->at.line),
                    cmd->n);
        return true;
    }
    if (cmd->inner < cmd->n)
        return follow_file(sh, cmd, cmd->inner);
    return follow_stdin(sh, cmd);
}

/* ssh HOST words: one text for a shell over there. */
static bool follow_remote(struct bash *sh, const struct command *cmd)
{
    struct bash_text t = {0};
    for (size_t i = cmd->inner; i < cmd->n; i++) {
        bash_puts(sh, &t, cmd->word[i].text);
        bash_putc(sh, &t, ' ');
    }
    follow_text(
        sh, cmd,
        bash_text_script(sh, sh->at.file, bash_text_of(&t), sh->at.line),
        cmd->n);
    return true;
}

/* True where the command was read as a script. */
static bool follow(struct bash *sh, const struct command *cmd)
{
    if (cmd->batch)
        return follow_batch(sh, cmd);
    if (cmd->remote && cmd->inner < cmd->n)
        return follow_remote(sh, cmd);
    if (cmd->inner >= cmd->n)
        return false;
    if (is_shell(cmd->name))
        return follow_shell(sh, cmd);
    const char *path = bash_plain(sh, cmd->word[cmd->inner].text, false);
    if (!bash_has_unknown(sh, path) && strchr(path, '/') &&
        is_shell_script(sh, path))
        return follow_file(sh, cmd, cmd->inner);
    return false;
}

/* ---- commands ---- */

/* As env NAME=VALUE does for one program: a local variable, gone behind it. */
static void set_exported(struct bash *sh, const char *text)
{
    size_t n = strcspn(text, "=");
    const char *name = bash_strndup(sh, text, n);
    if (!text[n] || !bash_is_name(name, n))
        return;
    bash_make_local(sh, name);
    bash_set(sh, name, text + n + 1);
    bash_set_flags(sh, name, BASH_EXPORTED, 0);
}

/* --export=ALL,A=1,B=2 */
static void set_export_list(struct bash *sh, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        set_exported(sh, bash_strndup(sh, list, n));
        list += n + (list[n] == ',');
    }
}

/* Variables that the wrappers set: env A=1, docker -e A=1, srun --export=. */
static void wrapper_variables(struct bash *sh, const struct command *cmd)
{
    for (size_t i = 1; i < cmd->inner && i < cmd->n; i++) {
        const char *text = cmd->word[i].text;
        if (strncmp(text, "--export=", 9) == 0)
            set_export_list(sh, text + 9);
        else if (strncmp(text, "--env=", 6) == 0)
            set_exported(sh, text + 6);
        else if (*text != '-')
            set_exported(sh, text);
    }
}

/* srun bash -c, nohup env A=1 torchrun: wrappers nest in any order. */
static struct command command_of(struct bash *sh, const struct bash_words *w)
{
    struct command c = {.n = w->n};
    c.word = bash_alloc(sh, w->n + 1, sizeof *c.word);
    for (size_t i = 0; i < w->n; i++)
        c.word[i] = (struct bash_word){w->item[i].text, w->item[i].file,
                                       w->item[i].line,
                                       w->item[i].ghost || w->item[i].loose};
    while (c.inner < c.n) {
        const char *name = bash_base_name(c.word[c.inner].text);
        size_t left = c.n - c.inner;
        size_t step = bash_inner(c.word + c.inner, left);
        c.batch = c.batch || strcmp(name, "sbatch") == 0;
        c.remote = c.remote || (step < left && (strcmp(name, "ssh") == 0 ||
                                                strcmp(name, "pdsh") == 0 ||
                                                strcmp(name, "clush") == 0));
        if (step == left) {
            // a wrapper that starts nothing stands for itself, but for sbatch
            c.inner = strcmp(name, "sbatch") == 0 ? c.n : c.inner;
            break;
        }
        c.inner += step;
        if (c.batch || c.remote)
            break;
    }
    c.name = c.inner < c.n
                 ? bash_base_name(bash_plain(sh, c.word[c.inner].text, false))
                 : "sbatch";
    return c;
}

/* Order matters: a script is followed, output that can be computed is
 * computed, programs that train nothing are passed over; the rest may be a
 * launch. */
void bash_external(struct bash *sh, const struct bash_words *w)
{
    struct command cmd = command_of(sh, w);
    const struct bash_saved *mark = bash_saved_mark(sh);
    size_t inner = cmd.inner < w->n ? cmd.inner : 0;
    struct bash_words rest = {w->item + inner, w->n - inner, 0};
    bool known = !bash_has_unknown(sh, cmd.name);
    bash_enter(sh);
    wrapper_variables(sh, &cmd);
    if (!follow(sh, &cmd)) {
        bool tool = known && !cmd.batch && bash_tool(sh, cmd.name, &rest);
        if (!tool && (!known || cmd.batch || !pass_over(sh, cmd.name, &rest)))
            record(sh, &cmd, w);
    }
    bash_saved_undo(sh, mark);
    bash_leave(sh);
}
