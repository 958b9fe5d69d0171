/*
 * How it works: everything goes through the program `hf`, whose answers (JSON,
 * or a table in some versions) are read by their words. A job is found again by
 * its label, its log is fetched whole at every poll, and the results of an
 * experiment's job are copied from the bucket that it writes to.
 */
#include "hf.h"

#include "base/reader.h"
#include "manifest/grammar.h"
#include "torchrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HF_MIN_ID_CHARS = 8 }; // ids are 24 hexadecimal digits today

#define BUCKET "MOE_BENCH_BUCKET"

static void launch_hf_prefix(struct build *b, const struct launch_request *req,
                             const struct launch *l)
{
    launch_torchrun_words(b, req, l, NULL);
}

/* What it prints is an answer, not a file of the run. */
static enum err call_quietly(struct arena *a, const struct words *w,
                             const char **text, struct err_msg *msg)
{
    char path[] = "/tmp/moe-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return err_set(msg, ERR_IO, "%s: cannot create: %s", path,
                       strerror(errno));
    enum err e = launcher_call(a, w, path, text, msg);
    remove(path);
    return e;
}

/* The bucket of results: the manifest's, else the user's own choice. */
static const char *launch_hf_bucket(const struct manifest *mf)
{
    const char *own = getenv(BUCKET);
    if (mf->launcher.results)
        return mf->launcher.results;
    return own && *own ? own : NULL;
}

/* a100x4 */
static const char *launch_hf_flavor(struct arena *a, const struct manifest *mf,
                                    int n_ranks)
{
    const struct manifest_hardware *h = &mf->hardware;
    if (mf->launcher.flavor || !h->gpu)
        return mf->launcher.flavor ? mf->launcher.flavor : "cpu-basic";
    char *name = arena_printf(a, "%sx%d", h->gpu, n_ranks);
    for (char *p = name; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

/* What is not the manifest's own text: a flavor made from the GPU's name, a
 * bucket of the environment. */
static enum err launch_hf_check_names(struct arena *a,
                                      const struct manifest *mf,
                                      struct err_msg *msg)
{
    const char *flavor = launch_hf_flavor(a, mf, 1);
    const char *bucket = launch_hf_bucket(mf);
    if (flavor && !grammar_fits(GRAMMAR_NAME, flavor))
        return err_set(msg, ERR_PARSE,
                       "%s: hardware: gpu: '%s' gives no flavor, set "
                       "launcher.flavor",
                       mf->path, mf->hardware.gpu);
    if (bucket && !grammar_fits(GRAMMAR_BUCKET, bucket))
        return err_set(msg, ERR_PARSE, BUCKET ": got '%s', want %s", bucket,
                       grammar_wanted(GRAMMAR_BUCKET));
    return ERR_OK;
}

/* Program, version, login, and where results go. */
static enum err launch_hf_check(struct arena *a, const struct manifest *mf,
                                struct err_msg *msg)
{
    static const char *const version[] = {"hf", "version"};
    static const char *const whoami[] = {"hf", "auth", "whoami"};
    if (launcher_nodes(mf) > 1)
        return err_set(msg, ERR_PARSE,
                       "%s: hardware: nodes: got %lld, want 1: a Hugging Face "
                       "job is one machine",
                       mf->path, (long long)launcher_nodes(mf));
    if (!mf->trainer.container)
        return err_set(msg, ERR_PARSE,
                       "%s: trainer: container: missing, want the image of "
                       "the job",
                       mf->path);
    if (mf->launcher.per_experiment && !launch_hf_bucket(mf))
        return err_set(msg, ERR_PARSE,
                       "%s: launcher: results: missing, want the bucket that "
                       "brings results back, e.g. hf://buckets/NAME/BUCKET "
                       "('hf buckets create' makes one), or set " BUCKET,
                       mf->path);
    enum err e = launch_hf_check_names(a, mf, msg);
    if (e != ERR_OK)
        return e;
    e = call_quietly(a, &(struct words){version, 2}, NULL, msg);
    if (e == ERR_OK)
        e = call_quietly(a, &(struct words){whoami, 3}, NULL, msg);
    return e == ERR_OK
               ? e
               : err_prefix(msg, e, "launcher 'hf-jobs': run 'hf auth login'");
}

/* ---- the job ---- */

static void add_namespace(struct build *b, const struct launch_job *job)
{
    if (!job->manifest->launcher.namespace)
        return;
    build_add(b, "--namespace");
    build_add(b, job->manifest->launcher.namespace);
}

/* A job of the whole experiment carries the harness to the machine and its
 * results to the bucket; a job of a run brings back its log alone. */
static void add_volumes(struct build *b, const struct launch_job *job)
{
    const struct manifest_launcher *l = &job->manifest->launcher;
    for (int i = 0; i < l->mounts.n; i++) {
        build_add(b, "-v");
        build_add(b, l->mounts.word[i]);
    }
    if (!l->per_experiment)
        return;
    build_add(b, "-v");
    build_add(b, arena_printf(b->a, "%s/carry:/moe:ro", job->folder));
    build_add(b, "-v");
    build_add(b, arena_printf(b->a, "%s:/moe-results:rw",
                              launch_hf_bucket(job->manifest)
                                  ? launch_hf_bucket(job->manifest)
                                  : "<" BUCKET ">"));
}

/* `hf` parts a volume at its colons. */
static enum err launch_hf_check_folder(const struct launch_job *job,
                                       struct err_msg *msg)
{
    if (!job->manifest->launcher.per_experiment || !strchr(job->folder, ':'))
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "%s: results of a Hugging Face job cannot lie in a folder "
                   "with ':' in its name, choose another --out",
                   job->folder);
}

/* The script is an argument: a job has no other way in. */
static enum err launch_hf_prepare(struct arena *a, const struct launch_job *job,
                                  const char **text, struct words *submit,
                                  struct err_msg *msg)
{
    static const char *const head[] = {"hf", "jobs", "run", "--detach",
                                       "--flavor"};
    struct build b = build_new(a);
    enum err e = launcher_check_words(job, msg);
    if (e == ERR_OK)
        e = launch_hf_check_names(a, job->manifest, msg);
    if (e == ERR_OK)
        e = launch_hf_check_folder(job, msg);
    if (e != ERR_OK)
        return e;
    *text = launcher_script_body(a, job);
    build_add_words(&b, &(struct words){head, 5});
    build_add(&b, launch_hf_flavor(a, job->manifest, job->n_ranks));
    build_add(&b, "--timeout");
    build_add(&b, arena_printf(a, "%.0fs", job->limit_s));
    build_add(&b, "--label");
    build_add(&b, arena_printf(a, "moe-run=%s", job->name));
    add_namespace(&b, job);
    add_volumes(&b, job);
    build_add(&b, job->manifest->trainer.container);
    build_add(&b, "--");
    build_add(&b, "bash");
    build_add(&b, "-c");
    build_add(&b, *text);
    return build_words(&b, job->name, submit, msg);
}

/* ---- what hf prints ---- */

/* hf may print warnings before the document: it begins at the first line that
 * can. The first element where it is a list; absent where there is none. */
static struct reader hf_document(struct reader_doc *doc, struct arena *a,
                                 const char *printed, struct err_msg *msg)
{
    const char *p = printed;
    while (*p && *p != '{' && *p != '[') {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    struct reader top = reader_open_value(doc, a, p, "hf", msg);
    return cJSON_IsArray(top.item) ? reader_first(top) : top;
}

/* The id in a JSON answer, or NULL. */
static const char *hf_json_id(struct arena *a, const char *printed)
{
    struct reader_doc doc;
    struct err_msg ignored; // most versions answer in words
    const char *id = NULL;
    reader_text(hf_document(&doc, a, printed, &ignored), "id", &id);
    reader_close(&doc);
    return id;
}

/* Words that are no id ("id: none") are shorter. */
static const char *id_at(struct arena *a, const char *p)
{
    p += strspn(p, " \t:=");
    size_t n = 0;
    while (isalnum((unsigned char)p[n]))
        n++;
    return n >= HF_MIN_ID_CHARS ? arena_strndup(a, p, n) : NULL;
}

/* "id: X", "ID: X" or "id=X" in words. */
static const char *hf_worded_id(struct arena *a, const char *printed)
{
    for (const char *p = printed; *p; p++) {
        bool word = p == printed || !isalnum((unsigned char)p[-1]);
        if (!word || tolower((unsigned char)p[0]) != 'i' ||
            tolower((unsigned char)p[1]) != 'd' || !p[2] || !strchr(":=", p[2]))
            continue;
        const char *id = id_at(a, p + 2);
        if (id)
            return id;
    }
    return NULL;
}

/* Versions of `hf` answer in JSON, in words or with the bare id: tried in this
 * order, since the first two say what they are. */
const char *launch_hf_id(struct arena *a, const char *printed)
{
    const char *id = hf_json_id(a, printed);
    if (!id)
        id = hf_worded_id(a, printed);
    const char *last = launcher_last_line(a, printed);
    size_t n = strspn(last, "0123456789abcdef");
    if (!id && n >= HF_MIN_ID_CHARS && last[n] == '\0')
        return last;
    return id;
}

static enum err launch_hf_start(struct arena *a, const char *printed,
                                const char **id, struct err_msg *msg)
{
    *id = launch_hf_id(a, printed);
    if (*id)
        return ERR_OK;
    return err_set(msg, ERR_CHILD, "hf jobs run: got '%s', want a job's id",
                   launcher_last_line(a, printed));
}

struct stage_name {
    const char *name;
    enum job_state state;
    int exit_code;
};

// names of the Hub's API; an unknown one is asked about again
static const struct stage_name stages[] = {
    {"SCHEDULING", JOB_WAITING, -1}, {"RUNNING", JOB_RUNNING, -1},
    {"UPDATING", JOB_RUNNING, -1},   {"COMPLETED", JOB_ENDED, 0},
    {"CANCELED", JOB_CANCELLED, -1}, {"CANCELLED", JOB_CANCELLED, -1},
    {"ERROR", JOB_FAILED, 1},        {"DELETED", JOB_LOST, -1}};

/* The message beside an ERROR tells a time-out. */
static bool tells_time_out(const char *text)
{
    return strstr(text, "imeout") || strstr(text, "imed out");
}

struct job_view launch_hf_view(struct arena *a, const char *text)
{
    struct job_view v = {JOB_WAITING, -1, "unknown", 0};
    struct reader_doc doc;
    struct err_msg ignored; // an answer that tells nothing: ask again
    const char *stage = "", *message = "";
    struct reader top = hf_document(&doc, a, text, &ignored);
    struct reader status = reader_get(top, "status");
    if (!status.item)
        status = top;
    reader_text(status, "stage", &stage);
    reader_text(status, "message", &message);
    reader_close(&doc);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (strcmp(stage, stages[i].name) == 0)
            v = (struct job_view){stages[i].state, stages[i].exit_code,
                                  stages[i].name, 0};
    if (v.state == JOB_FAILED && tells_time_out(message))
        v.state = JOB_OVER_TIME;
    return v;
}

/* ---- a job's life ---- */

/* One call of `hf jobs`. */
struct hf_call {
    struct words verb; // with its operands; the namespace goes between them
    const char *to;    // file for the answer
    const char **text; // the answer, or NULL
};

/* The namespace stands behind the verb, before its operands, as `hf` wants it.
 */
static enum err launch_hf_call(struct arena *a, const struct launch_job *job,
                               const struct hf_call *c, struct err_msg *msg)
{
    struct words w;
    struct build b = build_new(a);
    build_add(&b, "hf");
    build_add(&b, "jobs");
    build_add(&b, c->verb.word[0]);
    add_namespace(&b, job);
    for (int i = 1; i < c->verb.n; i++)
        build_add(&b, c->verb.word[i]);
    enum err e = build_words(&b, job->name, &w, msg);
    return e == ERR_OK ? launcher_call(a, &w, c->to, c->text, msg) : e;
}

static const char *launch_hf_answer_path(struct arena *a,
                                         const struct launch_job *job)
{
    return arena_printf(a, "%s/answer.txt", job->folder);
}

/* All jobs (-a): the one looked for may have ended meanwhile. */
static enum err launch_hf_find(struct arena *a, const struct launch_job *job,
                               const char **id, struct err_msg *msg)
{
    const char *verb[] = {"ps", "-a", "--label",
                          arena_printf(a, "moe-run=%s", job->name)};
    const char *text = NULL;
    const struct hf_call call = {
        {verb, 4}, launch_hf_answer_path(a, job), &text};
    enum err e = launch_hf_call(a, job, &call, msg);
    *id = NULL;
    // a table with one row: the first word that can be an id
    for (const char *p = text; e == ERR_OK && p && *p && !*id;) {
        size_t n = strspn(p, "0123456789abcdef");
        if (n >= 2 * HF_MIN_ID_CHARS && (p[n] == ' ' || p[n] == '\n'))
            *id = arena_strndup(a, p, n);
        p += n + (p[n] != '\0');
    }
    return e;
}

static enum err launch_hf_poll_job(struct arena *a,
                                   const struct launch_job *job,
                                   struct job_view *out, struct err_msg *msg)
{
    const char *verb[] = {"inspect", job->id};
    const char *text = NULL;
    const struct hf_call call = {
        {verb, 2}, launch_hf_answer_path(a, job), &text};
    enum err e = launch_hf_call(a, job, &call, msg);
    if (e == ERR_OK)
        *out = launch_hf_view(a, text);
    return e;
}

static enum err launch_hf_cancel(struct arena *a, const struct launch_job *job,
                                 struct err_msg *msg)
{
    const char *verb[] = {"cancel", job->id};
    const struct hf_call call = {
        {verb, 2}, launch_hf_answer_path(a, job), NULL};
    return launch_hf_call(a, job, &call, msg);
}

/* hf/results of an experiment's job lie in a bucket. */
static enum err sync_results(struct arena *a, const struct launch_job *job,
                             struct err_msg *msg)
{
    const char *from = launch_hf_bucket(job->manifest);
    const char *words[] = {
        "hf", "buckets", "sync",
        arena_printf(a, "%s/%s", from ? from : "", job->manifest->name),
        arena_printf(a, "%s/..", job->folder)};
    if (!job->manifest->launcher.per_experiment || !from)
        return ERR_OK;
    return launcher_call(a, &(struct words){words, 5},
                         launch_hf_answer_path(a, job), NULL, msg);
}

/* Whole logs each time; the new one takes the place of the old when it is
 * here. */
static enum err launch_hf_collect(struct arena *a, const struct launch_job *job,
                                  struct err_msg *msg)
{
    const char *verb[] = {"logs", job->id};
    const char *part = arena_printf(a, "%s.part", job->log);
    const struct hf_call call = {{verb, 2}, part, NULL};
    enum err e = launch_hf_call(a, job, &call, msg);
    if (e == ERR_OK && rename(part, job->log) != 0)
        e = err_set(msg, ERR_IO, "%s: cannot rename: %s", part,
                    strerror(errno));
    return e == ERR_OK ? sync_results(a, job, msg) : e;
}

const struct launcher launch_hf = {
    .name = "hf-jobs",
    .help = "Hugging Face Jobs: a job a run, or one for all",
    .clock = "wall",
    .deps = "hf",
    .next = "install it with 'pip install huggingface_hub'",
    .remote = true,
    .prefix = launch_hf_prefix,
    .check = launch_hf_check,
    .prepare = launch_hf_prepare,
    .start = launch_hf_start,
    .find = launch_hf_find,
    .poll = launch_hf_poll_job,
    .cancel = launch_hf_cancel,
    .collect = launch_hf_collect};
