/*
 * How it works: the job's command is this program with the same manifest, and
 * MOE_BENCH_INSIDE set, by which launch runs trainers as children. A remote
 * job finds everything under /moe, where launch_hf mounts DIR/job/carry.
 */
#include "campaign.h"

#include "base/file.h"
#include "base/text.h"
#include "launch/job.h"
#include "ledger.h"
#include "manifest/grammar.h"
#include "store/tidy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAMPAIGN_PATH_BYTES = 4096 }; // PATH_MAX of Linux

/* Below this a job could not make one useful run. */
#define CAMPAIGN_LEAST_S 60.0

bool campaign_is_wanted(const struct manifest *mf, const struct launch *l)
{
    return mf->launcher.per_experiment && launch_is_job(l);
}

/* The tightest of three: all runs at their own limits, the experiment's, and
 * what the money left pays for. */
double campaign_limit_s(const struct campaign *c, double spent_usd)
{
    const struct manifest *mf = c->manifest;
    double price = mf->hardware.price_usd_per_hour;
    double limit_s = c->n_runs * mf->run_limit_s;
    if (mf->experiment_limit_s > 0)
        limit_s = fmin(limit_s, mf->experiment_limit_s);
    if (c->max_usd > 0 && price > 0)
        limit_s = fmin(limit_s, 3600 * (c->max_usd - spent_usd) / price);
    return floor(fmax(limit_s, 0));
}

/* argv[0] may be relative, or found through PATH. */
static const char *own_program(struct arena *a)
{
    char path[CAMPAIGN_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n > 0 ? arena_strndup(a, path, (size_t)n) : NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of results is absolute: a job may start somewhere else. */
static struct words campaign_command(struct arena *a, const struct campaign *c)
{
    bool remote = c->launch->by->remote;
    const char *name = c->manifest->name;
    struct words w = {NULL, 0};
    struct err_msg ignored;
    struct build b = build_new(a);
    build_add(&b, remote ? "/moe/moe-bench" : own_program(a));
    build_add(&b, "run");
    build_add(&b, remote
                      ? arena_printf(a, "/moe/%s", base_name(c->manifest->path))
                      : c->manifest->path);
    build_add(&b, "--out");
    build_add(&b, remote ? arena_printf(a, "/moe-results/%s", name)
                         : launcher_absolute(a, c->dir));
    if (build_words(&b, name, &w, &ignored) != ERR_OK)
        return (struct words){NULL, 0};
    return w;
}

static struct words campaign_environment(struct arena *a,
                                         const struct campaign *c)
{
    const char **word = arena_alloc(a, 1, sizeof *word);
    if (!word)
        return (struct words){NULL, 0};
    word[0] = arena_printf(a, "MOE_BENCH_INSIDE=%s", c->launch->launcher);
    return (struct words){word, word[0] ? 1 : 0};
}

/* The model lies in the job as the manifest names it, so the name must not
 * lead out of the folder that is carried. */
static enum err check_carried(const struct campaign *c, struct err_msg *msg)
{
    const char *model = c->manifest->model_path;
    if (!c->launch->by->remote || !model || model[0] == '/' ||
        grammar_fits(GRAMMAR_BELOW, model))
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "%s: model: got '%s', want %s of the manifest: the job "
                   "carries it",
                   c->manifest->path, model, grammar_wanted(GRAMMAR_BELOW));
}

/* The name carries a hash of the folder: two experiments of one name, in two
 * folders, are two jobs. */
static enum err make_job(struct arena *a, const struct campaign *c,
                         double limit_s, struct launch_job *out,
                         struct err_msg *msg)
{
    char hex[TEXT_SHA256_HEX];
    const char *dir = launcher_absolute(a, c->dir);
    if (!dir)
        return err_set(msg, ERR_IO, "%s: cannot be resolved", c->dir);
    if (check_carried(c, msg) != ERR_OK)
        return ERR_PARSE;
    text_sha256(dir, strlen(dir), hex);
    *out = (struct launch_job){
        .name = arena_printf(a, "moe-%s-%.6s", c->manifest->name, hex),
        .folder = arena_printf(a, "%s/job", dir),
        .log = arena_printf(a, "%s/job/log.txt", dir),
        .limit_s = limit_s,
        .manifest = c->manifest,
        .argv = campaign_command(a, c),
        .env = campaign_environment(a, c),
        .n_ranks = c->launch->n_ranks};
    return out->name && out->log && out->argv.n > 0 && out->env.n > 0
               ? ERR_OK
               : err_set(msg, ERR_NOMEM, "%s: out of memory", c->dir);
}

enum err campaign_prepare(struct arena *a, const struct campaign *c,
                          const char **text, struct words *submit,
                          struct err_msg *msg)
{
    struct launch_job job;
    enum err e = make_job(a, c, campaign_limit_s(c, 0), &job, msg);
    if (e != ERR_OK)
        return e;
    // a dry run prints names as they were given, the same on every machine
    const char *words[] = {"moe-bench", "run", c->manifest->path, "--out",
                           c->dir};
    job.name = arena_printf(a, "moe-%s-<id>", c->manifest->name);
    job.folder = arena_printf(a, "%s/job", c->dir);
    job.log = arena_printf(a, "%s/job/log.txt", c->dir);
    if (!c->launch->by->remote)
        job.argv = (struct words){words, 5};
    return c->launch->by->prepare(a, &job, text, submit, msg);
}

/* ---- what a remote job carries ---- */

/* FROM to CARRY/NAME, whose folders are made. The folder was empty: what is
 * there already is another file that the job carries. */
static enum err campaign_carry(struct arena *a, const char *to,
                               const char *name, const char *from,
                               struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", to, name);
    enum err e = path ? file_make_parents(path, msg)
                      : err_set(msg, ERR_NOMEM, "%s: out of memory", from);
    if (e == ERR_OK && access(path, F_OK) == 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: the job carries another file as '%s', rename it", from,
                    name);
    if (e == ERR_OK)
        e = file_copy(from, path, msg);
    if (e == ERR_OK && access(from, X_OK) == 0)
        chmod(path, 0755);
    return e;
}

/* The static program of `make static`, unless this one is newer: a container
 * may lack the libraries of the other. */
static const char *program_to_carry(struct arena *a)
{
    struct stat own, other;
    const char *self = own_program(a);
    const char *slash = self ? strrchr(self, '/') : NULL;
    const char *fixed = slash ? arena_printf(a, "%.*s/../static/moe-bench",
                                             (int)(slash - self), self)
                              : NULL;
    if (fixed && stat(self, &own) == 0 && stat(fixed, &other) == 0 &&
        other.st_mtime >= own.st_mtime)
        return fixed;
    return self;
}

/* A remote job finds nothing of this machine: it gets the program, the
 * manifest, the model at the place that the manifest names, and costs. */
static enum err campaign_pack(struct arena *a, const struct campaign *c,
                              const char *folder, struct err_msg *msg)
{
    const char *to = arena_printf(a, "%s/carry", folder);
    const char *self = program_to_carry(a);
    const struct manifest *mf = c->manifest;
    if (to)
        file_remove_tree(to); // of an earlier job
    enum err e = to && self
                     ? file_make_folders(to, msg)
                     : err_set(msg, ERR_NOMEM, "%s: out of memory", folder);
    if (e == ERR_OK)
        e = campaign_carry(a, to, "moe-bench", self, msg);
    if (e == ERR_OK)
        e = campaign_carry(a, to, base_name(mf->path), mf->path, msg);
    if (e == ERR_OK && mf->model_path && mf->model_path[0] != '/')
        e = campaign_carry(a, to, mf->model_path, c->workload->model_path, msg);
    if (e == ERR_OK && c->costs)
        e = campaign_carry(
            a, to, arena_printf(a, "results/%s/costs.json", mf->costs_from),
            c->costs, msg);
    return e;
}

/* ---- money ---- */

static enum err check_money(const struct campaign *c, double spent,
                            struct err_msg *msg)
{
    if (campaign_limit_s(c, spent) >= CAMPAIGN_LEAST_S)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: budget of $%.2f: $%.2f spent, which leaves no minute; "
                   "raise limits.budget_usd or --max-usd",
                   c->manifest->path, c->max_usd, spent);
}

/* ---- the job ---- */

static void campaign_say(void *data, const char *text)
{
    progress_say(data, text);
}

/* What the harness inside says goes on to the terminal. */
static void pass_on(void *data, const char *line)
{
    const struct progress *p = data;
    if (!p->quiet && line[0] == '[')
        fprintf(stderr, "%s\n", line);
}

/* Its price is noted even when it was interrupted, and before its record goes:
 * job.json tells of a job that lasts, and is renamed so that the next command
 * starts another instead of watching this one. */
static enum err see_through(struct arena *a, const struct campaign *c,
                            struct job_request *r, struct progress *p,
                            struct err_msg *msg)
{
    struct job_result end;
    enum err e = job_run(a, r, &end, msg);
    if (e != ERR_OK)
        return e;
    e = ledger_add(
        a, r->job.folder, end.id,
        end.end.wall_s / 3600 * c->manifest->hardware.price_usd_per_hour, msg);
    if (e != ERR_OK)
        return e;
    const char *from = arena_printf(a, "%s/job.json", r->job.folder);
    const char *to = arena_printf(a, "%s/job-%s.json", r->job.folder, end.id);
    if (!from || !to || rename(from, to) != 0)
        return err_set(msg, ERR_IO, "%s: cannot rename", r->job.folder);
    campaign_say(p, arena_printf(a, "%s job %s ended: %s", c->launch->launcher,
                                 end.id, end.word));
    if (end.end.end != SUPERVISE_INTERRUPTED)
        return ERR_OK;
    return err_set(msg, ERR_CHILD,
                   "interrupted by signal %d; the job is cancelled, finished "
                   "runs are kept, the same command continues",
                   end.end.code);
}

/* A job that goes on already was paid for when it started: money is asked for
 * a new one only. The lock keeps two commands from starting one each. */
enum err campaign_run(struct arena *a, const struct campaign *c,
                      struct progress *p, struct err_msg *msg)
{
    struct results lock;
    struct job_request r = {.by = c->launch->by,
                            .poll_s = c->manifest->launcher.poll_s,
                            .on_line = pass_on,
                            .say = campaign_say,
                            .data = p};
    const char *folder = arena_printf(a, "%s/job", c->dir);
    enum err e = folder ? tidy_check_folder(folder, msg)
                        : err_set(msg, ERR_NOMEM, "%s: out of memory", c->dir);
    if (e == ERR_OK)
        e = results_lock(a, folder, &lock, msg);
    if (e != ERR_OK)
        return e;
    struct ledger spent = {0};
    e = ledger_read(a, folder, &spent, msg);
    if (e == ERR_OK && !job_is_recorded(a, folder))
        e = check_money(c, spent.usd, msg);
    if (e == ERR_OK)
        e = make_job(a, c, campaign_limit_s(c, spent.usd), &r.job, msg);
    if (e == ERR_OK && c->launch->by->remote)
        e = campaign_pack(a, c, r.job.folder, msg);
    r.limit_s = r.job.limit_s;
    if (e == ERR_OK)
        e = see_through(a, c, &r, p, msg);
    results_unlock(&lock);
    return e;
}
