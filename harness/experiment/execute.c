/*
 * How it works: a run's folder is begun under a temporary name and gets all
 * that decides the run before it starts. The trainer then runs as a child
 * (supervise) or as a job of a job system, both seen through lines of its log,
 * which drive the progress line and the limit on silence. What became of it is
 * judged from the log first and the exit status second, and the folder is
 * finished, or discarded where the run was not its own end.
 */
#include "execute.h"

#include "base/clock.h"
#include "base/writer.h"
#include "judge.h"
#include "launch/job.h"
#include "launch/supervise.h"
#include "ledger.h"
#include "log/runlog.h"
#include "log_check.h"
#include "store/provenance.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXECUTE_TEXT_BYTES = 256 }; // of a line on the terminal; cut beyond

/* ---- progress ---- */

void progress_init(struct progress *p, const char *name, int n_runs,
                   int n_iterations, bool quiet)
{
    *p = (struct progress){.name = name,
                           .n_runs = n_runs,
                           .n_iterations = n_iterations,
                           .start_s = clock_now_s(),
                           .quiet = quiet,
                           .terminal = isatty(STDERR_FILENO) != 0};
}

void progress_say(struct progress *p, const char *text)
{
    if (p->quiet)
        return;
    fprintf(stderr, "%s[%d/%d] %s %s\n", p->terminal ? "\r\033[K" : "", p->run,
            p->n_runs, p->name, text);
}

/* Remaining time if iterations go on as fast as those so far. */
static double eta_s(const struct progress *p, int iteration, double now)
{
    int done = p->n_done + iteration;
    int left = (p->n_runs - p->run + 1) * p->n_iterations - iteration;
    return done > 0 ? (now - p->start_s) / done * left : (double)NAN;
}

/* Lines that are not rewritten would fill a log: one in ten seconds there. */
static void show_step(struct progress *p, int iteration, double step_ms)
{
    double now = clock_now_s(), eta = eta_s(p, iteration, now);
    if (p->quiet || now - p->last_s < (p->terminal ? 1 : 10))
        return;
    p->last_s = now;
    fprintf(stderr, "%s[%d/%d] %s: step %d/%d, %.0f ms/step, eta %02d:%02d%s",
            p->terminal ? "\r\033[K" : "", p->run, p->n_runs, p->name,
            iteration, p->n_iterations, step_ms, (int)fmin(eta, 359999) / 60,
            (int)fmin(eta, 359999) % 60, p->terminal ? "" : "\n");
    fflush(stderr);
}

/* Step times as this process sees them, whatever clock the trainer prints. */
static void note_pace(struct progress *p)
{
    double now = clock_now_s();
    if (p->line_s > 0 && now - p->line_s > p->longest_s)
        p->longest_s = now - p->line_s;
    p->line_s = now;
    if (p->longest_s > 0)
        p->silent_s = fmax(p->hang_steps * p->longest_s, p->hang_s);
}

/* One line of another batch is enough: it stands, whatever comes after. */
static void note_batch(struct progress *p, const char *line)
{
    int64_t batch = log_check_batch(line);
    if (batch != 0 && (p->batch == 0 || p->batch == p->wanted_batch))
        p->batch = batch;
}

/* Megatron's line of an iteration; others of the log say nothing of the pace.
 * The line is read loosely: what counts is parsed from the whole log later. */
static void on_line(void *data, const char *line)
{
    const char *it = strstr(line, " iteration ");
    const char *step = strstr(line, RUNLOG_F_STEP ":");
    if (!it || !step)
        return;
    long iteration = strtol(it + strlen(" iteration "), NULL, 10);
    double ms = strtod(step + strlen(RUNLOG_F_STEP ":"), NULL);
    note_pace(data);
    note_batch(data, line);
    if (iteration > 0 && iteration < 1000000000)
        show_step(data, (int)iteration, ms);
}

/* ---- one run ---- */

static cJSON *words_json(const struct words *w)
{
    struct writer_doc doc;
    struct writer list = writer_open_list(&doc);
    for (int i = 0; i < w->n; i++)
        writer_text(list, NULL, w->word[i]);
    return writer_close(&doc);
}

/* Only names on a list: an environment may hold tokens, and results are
 * published. */
static cJSON *environment_json(char *const *env)
{
    struct writer_doc doc;
    struct writer list = writer_open_list(&doc);
    for (; *env; env++)
        if (launch_env_is_recorded(*env))
            writer_text(list, NULL, *env);
    return writer_close(&doc);
}

/* One attempt at a run. */
struct attempt {
    struct arena *a;
    const struct execute_request *req;
    struct progress *progress;
    struct run_record *run;
    struct launch launch;
    struct job_result result;
};

/* What the run was made of, written before it starts: a run that is killed
 * leaves its inputs. */
static enum err put_inputs(const struct attempt *t, char *const *env,
                           struct err_msg *msg)
{
    struct arena *a = t->a;
    const struct execute_request *req = t->req;
    const struct run_record *run = t->run;
    enum err e = results_put(a, run, "manifest.json", req->manifest->text, msg);
    if (e == ERR_OK)
        e = results_put_json(a, run, "argv.json", words_json(&t->launch.argv),
                             msg);
    if (e == ERR_OK)
        e = results_put_json(a, run, "env.json", environment_json(env), msg);
    if (e == ERR_OK)
        e = results_put_json(a, run, "machine.json",
                             machine_to_json(req->machine), msg);
    return e;
}

/* The GPU as the manifest names it, which may be on another machine; without
 * one this machine's processor. */
static const char *hardware_name(struct arena *a,
                                 const struct execute_request *req)
{
    const struct manifest_hardware *h = &req->manifest->hardware;
    if (!h->gpu)
        return arena_printf(a, "%dx %s", req->machine->n_cores,
                            req->machine->cpu_model);
    return arena_printf(a, "%lldx %s", (long long)(h->count ? h->count : 1),
                        h->gpu);
}

/* A price that is not known is not 0: NAN becomes an empty field. */
static struct run_record new_record(struct arena *a,
                                    const struct execute_request *req)
{
    return (struct run_record){.experiment = req->manifest->name,
                               .round = req->round,
                               .role = req->role,
                               .layout = req->layout,
                               .hardware = hardware_name(a, req),
                               .commit = req->machine->commit,
                               .key = req->key,
                               .cost_usd = NAN,
                               .reason = ""};
}

static enum err execute_interrupted(const struct supervise_result *r,
                                    struct err_msg *msg)
{
    return err_set(msg, ERR_CHILD,
                   "interrupted by signal %d; finished runs are kept, the same "
                   "command continues",
                   r->code);
}

static void say_end(struct progress *p, const struct run_record *run)
{
    char text[EXECUTE_TEXT_BYTES];
    snprintf(text, sizeof text, "%s: %s%s%s (%.1f s)", run->run_id,
             run_status_name(run->status), *run->reason ? ", " : "",
             run->reason, run->wall_s);
    progress_say(p, text);
    p->n_done += p->n_iterations;
}

/* A batch that grows is meant to differ. */
static bool has_rampup(const struct manifest *mf)
{
    for (int i = 0; i < mf->trainer.args.n; i++)
        if (text_starts(mf->trainer.args.word[i], "--rampup-batch-size"))
            return true;
    return false;
}

/* What the log says of itself against what was asked for: NULL where both
 * agree. */
static enum err find_other(const struct attempt *t, const char **out,
                           struct err_msg *msg)
{
    struct err_msg why;
    const struct progress *p = t->progress;
    enum err e = log_check(t->a, &t->req->workload->model, t->run, &why);
    if (e == ERR_OK && p->batch != 0 && p->batch != p->wanted_batch &&
        !has_rampup(t->req->manifest))
        e = err_set(&why, ERR_PARSE,
                    "the log is of a global batch of %lld, want %lld",
                    (long long)p->batch, (long long)p->wanted_batch);
    if (e == ERR_OK)
        e = log_check_operations(t->a, &t->req->workload->model, t->run, &why);
    *out = e == ERR_OK ? NULL : arena_strdup(t->a, why.text);
    return e != ERR_OK && (e == ERR_NOMEM || !*out)
               ? err_set(msg, ERR_NOMEM, "%s: out of memory", t->run->run_id)
               : ERR_OK;
}

/* A log that cannot be parsed is like an empty one: the run is judged, and kept
 * with its reason, in any case. */
static enum err read_ending(const struct attempt *t, struct err_msg *msg)
{
    struct arena *a = t->a;
    const struct execute_request *req = t->req;
    const struct job_result *job = &t->result;
    struct run_record *run = t->run;
    const struct manifest *mf = req->manifest;
    const struct supervise_result *r = &job->end;
    struct run_ending end = {
        .timed_out = r->end == SUPERVISE_TIMEOUT,
        .flooded = r->end == SUPERVISE_FLOOD,
        .limit_s = mf->run_limit_s,
        .silent_s = r->end == SUPERVISE_SILENT ? job->silent_s : 0,
        .lost = job->lost ? job->word : NULL,
        .exit_code = r->end == SUPERVISE_EXITED ? r->code : -1,
        .wanted_iterations = manifest_n_iterations(mf, req->round == 0),
        .warmup = mf->warmup};
    const char *log = arena_printf(a, "%s/log.txt", run->folder);
    struct err_msg ignored; // an empty log is judged below
    if (!log)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", run->run_id);
    if (logparse_read(a, log, &run->log, &ignored) != ERR_OK)
        run->log = (struct runlog){.failure_rank = -1};
    enum err e = find_other(t, &end.other, msg);
    if (e != ERR_OK)
        return e;
    judge_run(a, &end, run);
    // to the microsecond and micro-dollar: read back from JSON unchanged
    run->wall_s = round(1e6 * r->wall_s) / 1e6;
    if (mf->hardware.price_usd_per_hour > 0)
        run->cost_usd =
            round(1e6 / 3600 * r->wall_s * mf->hardware.price_usd_per_hour) /
            1e6;
    return ERR_OK;
}

/* Launched as the layout asks; what of it tells runs apart goes into the
 * record. */
static enum err execute_build(struct arena *a,
                              const struct execute_request *req,
                              struct run_record *run, struct launch *l,
                              struct err_msg *msg)
{
    struct launch_request lr = {.manifest = req->manifest,
                                .workload = req->workload,
                                .machine = req->machine,
                                .layout = req->layout,
                                .profile = req->round == 0,
                                .ops_path =
                                    arena_printf(a, "%s/ops.csv", run->folder)};
    enum err e = launch_build(a, &lr, l, msg);
    if (e == ERR_OK)
        e = launch_check(a, req->manifest, l, msg);
    if (e != ERR_OK)
        return e;
    run->launcher = l->launcher;
    run->clock = l->clock;
    run->source = l->source;
    run->n_ranks = l->n_ranks;
    run->timers = l->timers;
    return ERR_OK;
}

/* A child of this process, seen through as a job is. */
static enum err run_child(struct attempt *t, const char *log,
                          struct err_msg *msg)
{
    struct arena *a = t->a;
    const struct execute_request *req = t->req;
    const struct launch *l = &t->launch;
    struct progress *p = t->progress;
    char **argv = launch_argv(a, &l->argv);
    char **env = launch_environment(a, &l->env);
    if (!argv || !env)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", req->role);
    const struct supervise_job job = {.argv = argv,
                                      .envp = env,
                                      .log_path = log,
                                      .limit_s = req->manifest->run_limit_s,
                                      .silent_s = &p->silent_s,
                                      .on_line = on_line,
                                      .data = p};
    return supervise_run(&job, &t->result.end, msg);
}
static void say_job(void *data, const char *text)
{
    progress_say(data, text);
}

/* Unique to the run and to the results' folder. */
static const char *job_name(struct arena *a, const struct run_record *run,
                            const char *folder)
{
    char hex[TEXT_SHA256_HEX];
    text_sha256(folder, strlen(folder), hex);
    return arena_printf(a, "moe-%s-%.6s", run->run_id, hex);
}

static enum err run_job(struct attempt *t, struct job_request *job,
                        struct err_msg *msg)
{
    struct arena *a = t->a;
    const struct run_record *run = t->run;
    const struct manifest *mf = t->req->manifest;
    const char *kept = launcher_absolute(a, run->folder);
    if (!kept)
        return err_set(msg, ERR_IO, "%s: cannot be resolved", run->folder);
    job->job.folder = kept;
    job->job.name = job_name(a, run, kept);
    job->job.log = arena_printf(a, "%s/log.txt", kept);
    job->job.manifest = mf;
    job->job.limit_s = job->limit_s = mf->run_limit_s;
    job->poll_s = mf->launcher.poll_s;
    if (!job->job.name || !job->job.log)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", run->run_id);
    return job_run(a, job, &t->result, msg);
}

/* A job that vanished before it wrote a line still has a log, an empty one. */
static enum err execute_touch(const char *path, struct err_msg *msg)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd >= 0 && close(fd) == 0
               ? ERR_OK
               : err_set(msg, ERR_IO, "%s: cannot create", path);
}

/* Runs it either way. run->folder is NULL after an error that leaves a job
 * behind. */
static enum err run_it(struct attempt *t, struct err_msg *msg)
{
    const struct launch *l = &t->launch;
    struct progress *p = t->progress;
    const char *log = arena_printf(t->a, "%s/log.txt", t->run->folder);
    struct job_request job = {
        .by = l->by,
        .job = {.argv = l->argv, .env = l->env, .n_ranks = l->n_ranks},
        .silent_s = &p->silent_s,
        .on_line = on_line,
        .data = p,
        .say = say_job};
    enum err e = ERR_OK;
    if (!log)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", t->run->run_id);
    if (!launch_is_job(l)) {
        e = run_child(t, log, msg);
    } else {
        e = run_job(t, &job, msg);
        if (e != ERR_OK)
            t->run->folder = NULL;
        else
            e = execute_touch(log, msg);
        // what a child prints is cut where it is written
        if (e == ERR_OK && t->result.end.end == SUPERVISE_FLOOD &&
            truncate(log, SUPERVISE_KEPT_LOG_BYTES) != 0)
            e = err_set(msg, ERR_IO, "%s: cannot cut", log);
    }
    t->result.silent_s = p->silent_s;
    return e;
}

/* However it ended, an interrupted run too, which leaves no folder. A job's id
 * tells it apart where its end is seen twice; a child's run may bear the name
 * of an interrupted one. */
static enum err note_cost(const struct attempt *t, struct err_msg *msg)
{
    const double price = t->req->manifest->hardware.price_usd_per_hour;
    const struct run_record *run = t->run;
    const char *id = t->result.id ? t->result.id
                                  : arena_printf(t->a, "%s@%s", run->run_id,
                                                 run->started_utc);
    if (!id)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", run->run_id);
    return ledger_add(t->a, t->req->results->dir, id,
                      t->result.end.wall_s / 3600 * price, msg);
}

/* Each run has a pace of its own: limits on silence follow from its steps. */
static void new_pace(struct progress *p, const struct execute_request *req)
{
    const struct manifest *mf = req->manifest;
    p->batch = 0;
    p->wanted_batch = req->workload->model.batch.global_batch;
    p->line_s = p->longest_s = p->silent_s = 0;
    p->hang_steps = mf->hang_steps;
    p->hang_s = mf->hang_s;
}

/* One launch from its words to its provenance, in the order of what a crash may
 * leave: inputs before the trainer, its cost before its ending is read, so that
 * money counts even where a log is damaged. */
static enum err execute_start(struct arena *a,
                              const struct execute_request *req,
                              struct progress *p, struct run_record *run,
                              struct err_msg *msg)
{
    struct attempt t = {.a = a, .req = req, .progress = p, .run = run};
    enum err e = execute_build(a, req, run, &t.launch, msg);
    if (e != ERR_OK)
        return e;
    char **env = launch_environment(a, &t.launch.env);
    if (!env)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", run->run_id);
    new_pace(p, req);
    e = put_inputs(&t, env, msg);
    if (e == ERR_OK)
        e = run_it(&t, msg);
    if (e == ERR_OK)
        e = note_cost(&t, msg);
    if (e == ERR_OK && t.result.end.end == SUPERVISE_INTERRUPTED)
        e = execute_interrupted(&t.result.end, msg);
    if (e == ERR_OK)
        e = read_ending(&t, msg);
    const struct provenance from = {req->manifest, &t.launch, run};
    if (e == ERR_OK)
        e = results_put_json(a, run, "provenance.json",
                             provenance_json(a, &from), msg);
    return e;
}

/* After an error the folder goes: it would pass for a finished run. Without
 * run.folder a job is left that writes into it. */
enum err execute_run(struct arena *a, const struct execute_request *req,
                     struct progress *p, struct run_record *out,
                     struct err_msg *msg)
{
    struct run_record run = new_record(a, req);
    enum err e = results_begin(a, req->results, &run, msg);
    if (e == ERR_OK)
        e = execute_start(a, req, p, &run, msg);
    if (e == ERR_OK)
        e = results_finish(a, req->results, &run, msg);
    if (e != ERR_OK) {
        if (run.folder)
            results_discard(&run);
        return e;
    }
    say_end(p, &run);
    *out = run;
    return ERR_OK;
}
