/*
 * How it works: programs of a job system are run under supervise, with what
 * they print in a file of the run's folder; a job's script is the same for all
 * systems but for its head.
 */
#include "launcher.h"

#include "base/text.h"
#include "manifest/grammar.h"
#include "supervise.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// a whole log, as `hf jobs logs` prints it; Git's SHA-1
enum { LAUNCHER_MAX_OUTPUT_BYTES = 64 << 20, LAUNCHER_COMMIT_HEX = 40 };

#define CALL_LIMIT_S 300.0 // a submission may upload files

bool job_state_is_over(enum job_state s)
{
    static const bool over[] = {
#define JOB_STATE_OVER(id, is_over) is_over,
        JOB_STATE_TABLE(JOB_STATE_OVER)
#undef JOB_STATE_OVER
    };
    return over[s];
}

/* Signals stay the harness's own: a question must not be cut by Ctrl-C, or a
 * job would be lost. */
enum err launcher_capture(struct arena *a, const struct words *w,
                          const char *path, struct capture *out,
                          struct err_msg *msg)
{
    struct supervise_result r;
    struct text_span text;
    char **argv = launch_argv(a, w);
    if (!argv || !path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", w->word[0]);
    const struct supervise_job job = {.argv = argv,
                                      .log_path = path,
                                      .limit_s = CALL_LIMIT_S,
                                      .keep_signals = true};
    enum err e = supervise_run(&job, &r, msg);
    if (e == ERR_OK && r.end == SUPERVISE_TIMEOUT)
        e = err_set(msg, ERR_CHILD, "'%s' gave no answer in %.0f s", w->word[0],
                    CALL_LIMIT_S);
    if (e == ERR_OK)
        e = text_read_bytes(a, path, LAUNCHER_MAX_OUTPUT_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    *out = (struct capture){text.data, r.end == SUPERVISE_EXITED ? r.code : -1};
    return ERR_OK;
}

/* Tools print warnings first and the answer last. */
const char *launcher_last_line(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr("\n\r \t", text[n - 1]))
        n--;
    size_t from = n;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    const char *line = arena_strndup(a, text + from, n - from);
    return line ? line : "";
}

enum err launcher_call(struct arena *a, const struct words *w, const char *path,
                       const char **text, struct err_msg *msg)
{
    struct capture c;
    enum err e = launcher_capture(a, w, path, &c, msg);
    if (e != ERR_OK)
        return e;
    if (c.code != 0)
        return err_set(msg, ERR_CHILD, "'%s %s' failed with status %d: %s",
                       w->word[0], w->n > 1 ? w->word[1] : "", c.code,
                       launcher_last_line(a, c.text));
    if (text)
        *text = c.text;
    return ERR_OK;
}

const char *launcher_absolute(struct arena *a, const char *path)
{
    char cwd[PATH_MAX];
    if (path[0] == '/')
        return arena_strdup(a, path);
    return getcwd(cwd, sizeof cwd) ? arena_printf(a, "%s/%s", cwd, path) : NULL;
}

int64_t launcher_nodes(const struct manifest *mf)
{
    return mf->hardware.nodes > 0 ? mf->hardware.nodes : 1;
}

/* An absolute path names a trainer that is there already. */
bool launcher_checks_out(const struct manifest *mf)
{
    const struct manifest_trainer *t = &mf->trainer;
    return t->kind == TRAINER_MEGATRON && t->commit &&
           !(t->entry && t->entry[0] == '/');
}

static void print_word(FILE *f, const char *word)
{
    launch_print_words(f, &(struct words){&word, 1});
}

/* Lines for sbatch stand at the head of its script alone. */
static void print_lines(FILE *f, const struct words *lines)
{
    for (int i = 0; i < lines->n; i++)
        if (!text_starts(lines->word[i], "#SBATCH"))
            fprintf(f, "%s\n", lines->word[i]);
}

/* Megatron at its commit, beside the job, when no path to the trainer is
 * given. */
static void print_checkout(FILE *f, const struct manifest *mf)
{
    if (!launcher_checks_out(mf))
        return;
    fputs("git init -q " LAUNCHER_CHECKOUT " || exit 1\n"
          "git -C " LAUNCHER_CHECKOUT " fetch -q --depth 1 "
          "https://github.com/NVIDIA/Megatron-LM ",
          f);
    print_word(f, mf->trainer.commit);
    fputs(" || exit 1\n"
          "git -C " LAUNCHER_CHECKOUT " checkout -q FETCH_HEAD || exit 1\n"
          "echo \"" LAUNCHER_MARK "megatron commit: "
          "$(git -C " LAUNCHER_CHECKOUT " rev-parse HEAD)\"\n",
          f);
}

/* The GPUs of the job, into its log. */
static void print_gpu_query(FILE *f, const struct manifest *mf)
{
    if (mf->hardware.gpu)
        fputs("if command -v nvidia-smi >/dev/null; then\n"
              "    nvidia-smi " LAUNCHER_GPU_QUERY " --format=csv,noheader |\n"
              "        sed 's/^/" LAUNCHER_MARK "gpu: /'\n"
              "fi\n",
              f);
}

/* Modules first, then the environment, which may use what they set; the query
 * of GPUs comes before the trainer takes them. */
static void print_body(FILE *f, const struct launch_job *job)
{
    const struct manifest_launcher *l = &job->manifest->launcher;
    for (int i = 0; i < l->modules.n; i++) {
        fputs("module load ", f);
        print_word(f, l->modules.word[i]);
        fputs(" || exit 1\n", f);
    }
    for (int i = 0; i < job->env.n; i++) {
        fputs("export ", f);
        print_word(f, job->env.word[i]);
        putc('\n', f);
    }
    print_lines(f, &l->lines);
    print_gpu_query(f, job->manifest);
    print_checkout(f, job->manifest);
    launch_print_words(f, &job->argv);
    putc('\n', f);
}

/* ---- what may stand in a script ---- */

/* A word of a job, where it comes from, and what it must be. */
struct job_word {
    const char *key, *text;
    enum grammar grammar;
};

static enum err check_word(const struct launch_job *job,
                           const struct job_word *w, struct err_msg *msg)
{
    if (!w->text || grammar_fits(w->grammar, w->text))
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "%s: %s: got '%s', want %s",
                   job->manifest->path, w->key, w->text,
                   grammar_wanted(w->grammar));
}

static enum err check_list(const struct launch_job *job, const char *key,
                           const struct words *w, enum grammar grammar,
                           struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < w->n && e == ERR_OK; i++)
        e = check_word(job, &(struct job_word){key, w->word[i], grammar}, msg);
    return e;
}

/* Megatron is fetched into a folder of its own: the script lies below it, and
 * its server knows a commit by all of its digits only. */
static enum err check_checkout(const struct launch_job *job,
                               struct err_msg *msg)
{
    const struct manifest_trainer *t = &job->manifest->trainer;
    const struct job_word entry = {"trainer: entry", t->entry, GRAMMAR_BELOW};
    if (!launcher_checks_out(job->manifest))
        return ERR_OK;
    if (strlen(t->commit) < LAUNCHER_COMMIT_HEX)
        return err_set(msg, ERR_PARSE,
                       "%s: trainer: commit: got '%s', want all %d digits: a "
                       "job fetches it",
                       job->manifest->path, t->commit, LAUNCHER_COMMIT_HEX);
    return check_word(job, &entry, msg);
}

/* A manifest's own words were checked when it was read: those of a path and of
 * a command line come from elsewhere, too, and a script is no place to trust
 * its caller. */
enum err launcher_check_words(const struct launch_job *job, struct err_msg *msg)
{
    const struct manifest_launcher *l = &job->manifest->launcher;
    const struct manifest_trainer *t = &job->manifest->trainer;
    const struct job_word words[] = {
        {"job", job->name, GRAMMAR_OPERAND},
        {"folder of the job", job->folder, GRAMMAR_LINE},
        {"log of the job", job->log, GRAMMAR_LINE},
        {"launcher: partition", l->partition, GRAMMAR_NAMES},
        {"launcher: account", l->account, GRAMMAR_NAME},
        {"launcher: flavor", l->flavor, GRAMMAR_NAME},
        {"launcher: namespace", l->namespace, GRAMMAR_NAME},
        {"launcher: results", l->results, GRAMMAR_BUCKET},
        {"trainer: commit", t->commit, GRAMMAR_COMMIT},
        {"trainer: container", t->container, GRAMMAR_IMAGE}};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && e == ERR_OK; i++)
        e = check_word(job, &words[i], msg);
    if (e == ERR_OK)
        e = check_list(job, "launcher: modules", &l->modules, GRAMMAR_OPERAND,
                       msg);
    if (e == ERR_OK)
        e = check_list(job, "launcher: lines", &l->lines, GRAMMAR_LINE, msg);
    if (e == ERR_OK)
        e = check_list(job, "launcher: mounts", &l->mounts, GRAMMAR_MOUNT, msg);
    if (e == ERR_OK)
        e = check_list(job, "environment of the job", &job->env,
                       GRAMMAR_ASSIGNMENT, msg);
    if (e == ERR_OK)
        e = check_list(job, "command", &job->argv, GRAMMAR_LINE, msg);
    return e == ERR_OK ? check_checkout(job, msg) : e;
}

const char *launcher_script_body(struct arena *a, const struct launch_job *job)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    print_body(f, job);
    const char *copy = fclose(f) == 0 ? arena_strdup(a, text) : NULL;
    free(text);
    return copy;
}
