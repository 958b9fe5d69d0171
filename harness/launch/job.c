/*
 * How it works: take() finds or starts the job; watch() asks the system every
 * poll_s, reads what the log has gained, and cancels over a limit: only a job
 * that has just been said to run, and by a clock that nobody sets. The
 * system's word is mapped to what supervise would have said of a child, so
 * that judging a run is the same for both.
 */
#include "job.h"

#include "base/clock.h"
#include "base/reader.h"
#include "base/text.h"
#include "base/writer.h"
#include "lines.h"
#include "manifest/grammar.h"
#include "meter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FORMAT "moe-bench/job/1"

enum {
    JOB_READ_BYTES = 65536,    // a pipe's usual size
    JOB_MAX_SILENT_POLLS = 20, // questions without an answer before giving up
    JOB_CANCEL_POLLS = 60 // a cancelled job ends within minutes, or is reported
};

#define JOB_RECORD_S 60.0 // how long a watched job's record may be behind
#define JOB_NAP_S 0.2     // within which a signal is seen
#define JOB_CANCEL_S 5.0  // between questions to a job that is to end
#define JOB_GRACE_S 180.0 // after its limit a system has ended a job

struct watch {
    struct arena *a;
    const struct job_request *req;
    struct launch_job job;
    struct meter meter;
    double recorded_s;  // when the record was last written
    double log_since_s; // when the log last grew
    long offset;        // of the log, as far as it is read
    struct lines lines;
    struct job_view view;
    int n_unanswered;
};

static const char *record_path(struct arena *a, const char *folder)
{
    return arena_printf(a, "%s/job.json", folder);
}

bool job_is_recorded(struct arena *a, const char *folder)
{
    const char *path = record_path(a, folder);
    return path && access(path, R_OK) == 0;
}

/* Written before the job is handed over and again with its id: a harness that
 * dies between leaves the name to look for. */
static enum err job_record(struct watch *w, struct err_msg *msg)
{
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    const char *path = record_path(w->a, w->job.folder);
    writer_text(o, "format", FORMAT);
    writer_text(o, "launcher", w->req->by->name);
    writer_text(o, "name", w->job.name);
    if (w->job.id)
        writer_text(o, "id", w->job.id);
    w->recorded_s = clock_now_s();
    meter_write(&w->meter, w->recorded_s, w->a, o);
    const char *text = writer_print_tree(w->a, writer_close(&doc));
    if (!text || !path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", w->job.name);
    return text_write_own(path, text, strlen(text), msg);
}

/* Both become words of command lines, and a part of a path. */
static void job_check_record(struct reader top, const struct launch_job *job)
{
    const char *name = job->name, *id = job->id;
    if (name && (!grammar_fits(GRAMMAR_OPERAND, name) || strchr(name, '/')))
        reader_fail_at(top, "name", ERR_PARSE, "got '%s', want a job's name",
                       name);
    if (id && !grammar_fits(GRAMMAR_ID, id))
        reader_fail_at(top, "id", ERR_PARSE, "got '%s', want %s", id,
                       grammar_wanted(GRAMMAR_ID));
}

static enum err job_read_record(struct watch *w, struct err_msg *msg)
{
    struct reader_doc doc;
    const char *path = record_path(w->a, w->job.folder);
    if (!path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", w->job.folder);
    struct reader top = reader_open_file(&doc, w->a, path, FORMAT, msg);
    reader_text(top, "name", &w->job.name);
    reader_text(top, "id", &w->job.id);
    job_check_record(top, &w->job);
    meter_read(&w->meter, clock_now_s(), top);
    return reader_close(&doc);
}

static void job_say(const struct watch *w, const char *what)
{
    const char *text = arena_printf(w->a, "%s job %s %s", w->req->by->name,
                                    w->job.id ? w->job.id : w->job.name, what);
    if (w->req->say && text)
        w->req->say(w->req->data, text);
}

/* ---- starting ---- */

/* Record, hand over, record: in this order nothing is started twice. */
static enum err job_submit(struct watch *w, struct err_msg *msg)
{
    const struct launcher *by = w->req->by;
    const char *text = NULL, *printed = NULL;
    struct words words;
    const char *script = arena_printf(w->a, "%s/job.sh", w->job.folder);
    const char *answer = arena_printf(w->a, "%s/submit.txt", w->job.folder);
    enum err e = by->prepare(w->a, &w->job, &text, &words, msg);
    meter_start(&w->meter, clock_now_s());
    if (e == ERR_OK)
        e = script && text ? text_write_own(script, text, strlen(text), msg)
                           : err_set(msg, ERR_NOMEM, "job: out of memory");
    if (e == ERR_OK)
        e = job_record(w, msg);
    if (e == ERR_OK)
        e = launcher_call(w->a, &words, answer, &printed, msg);
    if (e == ERR_OK)
        e = by->start(w->a, printed, &w->job.id, msg);
    if (e == ERR_OK)
        e = job_record(w, msg);
    if (e == ERR_OK)
        job_say(w, "started");
    return e;
}

/* A recorded job without an id was being handed over when the harness died:
 * the system is asked for its name. */
static enum err job_take(struct watch *w, struct err_msg *msg)
{
    enum err e = ERR_OK;
    if (!job_is_recorded(w->a, w->job.folder))
        return job_submit(w, msg);
    e = job_read_record(w, msg);
    if (e == ERR_OK && !w->job.id)
        e = w->req->by->find(w->a, &w->job, &w->job.id, msg);
    if (e != ERR_OK)
        return e;
    if (!w->job.id)
        return job_submit(w, msg);
    job_say(w, "is taken over from an earlier call");
    return job_record(w, msg);
}

/* ---- watching ---- */

/* From where the last reading ended; a shared file system may be behind. */
static void job_read_log(struct watch *w)
{
    char data[JOB_READ_BYTES];
    size_t n = 0;
    FILE *f = fopen(w->job.log, "r");
    if (!f)
        return;
    if (fseek(f, w->offset, SEEK_SET) == 0)
        while (w->offset <= SUPERVISE_MAX_LOG_BYTES &&
               (n = fread(data, 1, sizeof data, f)) > 0) {
            lines_feed(&w->lines, data, n);
            w->offset += (long)n;
            w->log_since_s = clock_now_s();
        }
    fclose(f);
}

/* What the answer says of the time that the job has run. */
static enum err job_see(struct watch *w, struct err_msg *msg)
{
    double now_s = clock_now_s();
    bool begins = w->view.state == JOB_RUNNING && !w->meter.running;
    if (w->view.state == JOB_WAITING)
        meter_see_waiting(&w->meter, now_s);
    if (w->view.state == JOB_RUNNING)
        meter_see_running(&w->meter, now_s, w->view.ran_s);
    if (begins)
        w->log_since_s = now_s; // waiting in a queue is no silence
    return begins || now_s - w->recorded_s > JOB_RECORD_S ? job_record(w, msg)
                                                          : ERR_OK;
}

/* An answer may fail for a while (a busy controller, a lost connection): the
 * job goes on meanwhile, and only many failures in a row end the watch. */
static enum err job_ask(struct watch *w, struct err_msg *msg)
{
    enum err e = w->req->by->poll(w->a, &w->job, &w->view, msg);
    if (e == ERR_OK && w->view.state != JOB_WAITING)
        e = w->req->by->collect(w->a, &w->job, msg);
    w->n_unanswered = e == ERR_OK ? 0 : w->n_unanswered + 1;
    if (e == ERR_OK)
        return job_state_is_over(w->view.state) ? ERR_OK : job_see(w, msg);
    if (w->n_unanswered < JOB_MAX_SILENT_POLLS)
        return ERR_OK;
    return err_prefix(msg, ERR_CHILD,
                      "%s job %s: no answer %d times, the job may go on",
                      w->req->by->name, w->job.id, w->n_unanswered);
}

static void pause_s(double s)
{
    struct timespec t = {(time_t)s, (long)(1e9 * (s - (double)(time_t)s))};
    nanosleep(&t, NULL);
}

/* A limit that the job is over, as far as it was just said to run: an old
 * answer, or none, ends nothing. */
static bool over_limit(const struct watch *w, struct supervise_result *r)
{
    const double silent_s = w->req->silent_s ? *w->req->silent_s : 0;
    if (w->offset > SUPERVISE_MAX_LOG_BYTES) {
        *r = (struct supervise_result){.end = SUPERVISE_FLOOD};
        return true;
    }
    if (w->n_unanswered > 0 || w->view.state != JOB_RUNNING)
        return false;
    if (w->req->limit_s > 0 && w->meter.sure_s > w->req->limit_s)
        *r = (struct supervise_result){.end = SUPERVISE_TIMEOUT};
    else if (silent_s > 0 && clock_now_s() - w->log_since_s > silent_s)
        *r = (struct supervise_result){.end = SUPERVISE_SILENT};
    else
        return false;
    return true;
}

/* Up to the next question; a question is due early where a limit is: poll_s may
 * be an hour. True when a signal came. */
static bool job_wait(const struct watch *w, struct supervise_result *r)
{
    double now_s = clock_now_s(), until_s = now_s + w->req->poll_s;
    double left_s = w->req->limit_s - w->meter.sure_s;
    if (w->meter.running && w->n_unanswered == 0 && w->req->limit_s > 0 &&
        left_s > 0)
        until_s = fmin(until_s, w->meter.sight_s + left_s + JOB_NAP_S);
    do {
        int sig = supervise_pending_signal();
        if (sig != 0) {
            *r = (struct supervise_result){.end = SUPERVISE_INTERRUPTED,
                                           .code = sig};
            return true;
        }
        pause_s(fmin(fmax(until_s - now_s, 0), JOB_NAP_S));
        now_s = clock_now_s();
    } while (now_s < until_s);
    return false;
}

/* Tried until it is heard: a job that goes on costs money. What cannot be
 * cancelled may have ended. */
static enum err job_cancel(struct watch *w, struct err_msg *msg)
{
    struct err_msg ignored; // of a question: the refusal is to be told
    enum err e = w->req->by->cancel(w->a, &w->job, msg);
    for (int i = 0; i < JOB_MAX_SILENT_POLLS && e != ERR_OK; i++) {
        pause_s(fmin(w->req->poll_s, JOB_CANCEL_S));
        if (job_ask(w, &ignored) == ERR_OK && job_state_is_over(w->view.state))
            return ERR_OK;
        e = w->req->by->cancel(w->a, &w->job, msg);
    }
    return e == ERR_OK
               ? e
               : err_prefix(msg, ERR_CHILD, "%s job %s goes on, cancel it",
                            w->req->by->name, w->job.id);
}

/* Waits until the system says that it is over. */
static enum err end_job(struct watch *w, struct err_msg *msg)
{
    enum err e = job_cancel(w, msg);
    for (int i = 0; i < JOB_CANCEL_POLLS && e == ERR_OK &&
                    !job_state_is_over(w->view.state);
         i++) {
        pause_s(fmin(w->req->poll_s, JOB_CANCEL_S));
        e = job_ask(w, msg);
    }
    if (e == ERR_OK && !job_state_is_over(w->view.state))
        e = err_set(msg, ERR_CHILD,
                    "%s job %s was cancelled and is still %s, look after it",
                    w->req->by->name, w->job.id, w->view.word);
    return e;
}

/* What supervise would say of a child that ended so. */
static void job_judge(const struct watch *w, struct job_result *out)
{
    switch (w->view.state) {
    case JOB_ENDED:
    case JOB_FAILED:
        out->end.end =
            w->view.exit_code < 0 ? SUPERVISE_SIGNALED : SUPERVISE_EXITED;
        out->end.code = w->view.exit_code;
        // some systems call a job failed without a status
        if (w->view.state == JOB_FAILED && out->end.code == 0)
            out->end.code = 1;
        return;
    case JOB_OVER_TIME:
        out->end.end = SUPERVISE_TIMEOUT;
        return;
    case JOB_WAITING:
    case JOB_RUNNING:
    case JOB_CANCELLED:
    case JOB_LOST:
    default:
        out->end.end = SUPERVISE_SIGNALED;
        out->lost = true;
    }
}

/* The system is asked first and limits are checked then: a job that has ended
 * meanwhile is over no limit. One that ended by itself while it was cancelled
 * is judged by its own end. */
static enum err job_watch(struct watch *w, struct job_result *out,
                          struct err_msg *msg)
{
    bool by_us = false;
    enum err e = job_ask(w, msg);
    while (e == ERR_OK && !by_us && !job_state_is_over(w->view.state)) {
        by_us = job_wait(w, &out->end);
        if (!by_us)
            e = job_ask(w, msg);
        job_read_log(w); // which the answer may have brought
        if (!by_us && e == ERR_OK)
            by_us = over_limit(w, &out->end);
        if (by_us)
            e = end_job(w, msg);
    }
    job_read_log(w);
    lines_end(&w->lines);
    if (by_us && out->end.end != SUPERVISE_INTERRUPTED)
        by_us = w->view.state != JOB_ENDED;
    if (e == ERR_OK && !by_us)
        job_judge(w, out);
    return e;
}

/* The record stays with the run: provenance reads the job's id from it. */
enum err job_run(struct arena *a, const struct job_request *req,
                 struct job_result *out, struct err_msg *msg)
{
    struct watch w = {.a = a,
                      .req = req,
                      .job = req->job,
                      .lines = {.on_line = req->on_line, .data = req->data}};
    struct job_result r = {0};
    w.log_since_s = clock_now_s();
    meter_start(&w.meter, w.log_since_s);
    enum err e = job_take(&w, msg);
    if (e == ERR_OK)
        e = job_watch(&w, &r, msg);
    if (e != ERR_OK)
        return e;
    r.id = w.job.id;
    r.word = w.view.word;
    r.end.wall_s =
        meter_ran_s(&w.meter, clock_now_s(), w.view.ran_s,
                    req->job.limit_s > 0 ? req->job.limit_s + JOB_GRACE_S : 0);
    *out = r;
    return ERR_OK;
}
