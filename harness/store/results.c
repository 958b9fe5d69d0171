/*
 * How it works: a run's folder has a name that begins with .tmp- until it is
 * whole. Its last file, status.json, is what makes it a run; then the folder is
 * flushed and renamed. Loading reads every status.json and the logs of those
 * with the wanted key. A lock file keeps two harnesses apart.
 */
#include "results.h"

#include "base/file.h"
#include "base/reader.h"
#include "base/writer.h"
#include "launch/kin.h"
#include "tidy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FORMAT "moe-bench/run/1"
#define RESULTS_NONE "none" // hash of a file that was not written

// a process number, a host's name and a time
enum { RESULTS_LOCK_BYTES = 256, RESULTS_HOST_BYTES = 64 };
#define RESULTS_HOLDER "process " // before the number, in a lock's text

// of 50 ms: a guard gives what it ends two seconds, then kills it
enum { RESULTS_LOCK_TICKS = 300 };

// "2026-01-31T12:34:56Z"
enum { RESULTS_UTC_BYTES = 32 };

static const char *const status_names[] = {
#define STATUS_NAME(id, name, again) name,
    RUN_STATUS_TABLE(STATUS_NAME)
#undef STATUS_NAME
};

static const bool status_again[] = {
#define STATUS_AGAIN(id, name, again) again,
    RUN_STATUS_TABLE(STATUS_AGAIN)
#undef STATUS_AGAIN
};

const char *run_status_name(enum run_status s)
{
    return status_names[s];
}

bool run_status_try_again(enum run_status s)
{
    return status_again[s];
}

static enum err results_no_memory(const char *where, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- folders and the lock ---- */

/* What the holder wrote when it took the lock; a lock without a text is held
 * all the same. */
static void read_holder(int fd, char text[RESULTS_LOCK_BYTES])
{
    ssize_t n = pread(fd, text, RESULTS_LOCK_BYTES - 1, 0);
    text[n > 0 ? n : 0] = '\0';
}

static const char *own_host(char host[RESULTS_HOST_BYTES])
{
    memset(host, 0, RESULTS_HOST_BYTES);
    if (gethostname(host, RESULTS_HOST_BYTES - 1) != 0)
        snprintf(host, RESULTS_HOST_BYTES, "this machine");
    return host;
}

/* The harness that took the lock has died on this machine: only its guard can
 * hold it still, until all that it guarded has ended. */
static bool holder_has_died(int fd)
{
    char text[RESULTS_LOCK_BYTES], host[RESULTS_HOST_BYTES];
    char *end = NULL;
    read_holder(fd, text);
    if (!text_starts(text, RESULTS_HOLDER))
        return false;
    long pid = strtol(text + strlen(RESULTS_HOLDER), &end, 10);
    own_host(host);
    return pid > 0 && text_starts(end, " on ") && text_starts(end + 4, host) &&
           end[4 + strlen(host)] == ' ' && !kin_is_alive((pid_t)pid);
}

/* Waits where the holder is as good as gone; false: it is in use. */
static bool take_lock(int fd)
{
    const struct timespec tick = {0, 50000000};
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i >= RESULTS_LOCK_TICKS || !holder_has_died(fd))
            return false;
        nanosleep(&tick, NULL);
    }
    return true;
}

/* A lock without a living holder: its guard or a trainer still has the file
 * open. */
static enum err say_holder(int fd, const char *dir, struct err_msg *msg)
{
    char text[RESULTS_LOCK_BYTES];
    if (holder_has_died(fd))
        return err_set(msg, ERR_CHILD,
                       "%s: the harness that used it has died, but processes "
                       "that it started still end; try again in a minute",
                       dir);
    read_holder(fd, text);
    return err_set(msg, ERR_CHILD,
                   "%s: in use by %s; wait for it or choose another --out", dir,
                   *text ? text : "another process");
}

/* Text of the time, and the time in seconds. */
static double utc_now(char text[RESULTS_UTC_BYTES])
{
    struct timespec now;
    struct tm t;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &t);
    strftime(text, RESULTS_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &t);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* flock() is let go when the process and its guard die, however: the text may
 * be stale, the lock never is. */
static enum err sign_lock(int fd, const char *path, struct err_msg *msg)
{
    char host[RESULTS_HOST_BYTES], now[RESULTS_UTC_BYTES],
        text[RESULTS_LOCK_BYTES];
    utc_now(now);
    int n = snprintf(text, sizeof text, RESULTS_HOLDER "%ld on %s since %s",
                     (long)getpid(), own_host(host), now);
    if (ftruncate(fd, 0) != 0 || write(fd, text, (size_t)n) != n)
        return err_set(msg, ERR_IO, "%s: cannot write: %s", path,
                       strerror(errno));
    return ERR_OK;
}

/* One harness at a time. What an earlier one left half-made goes only now, when
 * nobody can be at work on it. */
enum err results_lock(struct arena *a, const char *dir, struct results *out,
                      struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/.lock", dir);
    const char *runs = arena_printf(a, "%s/runs", dir);
    if (!path || !runs)
        return results_no_memory(dir, msg);
    enum err e = tidy_check_folder(runs, msg);
    if (e == ERR_OK)
        e = file_make_folders(runs, msg);
    if (e != ERR_OK)
        return e;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return err_set(msg, ERR_IO, "%s: cannot open: %s", path,
                       strerror(errno));
    e = take_lock(fd) ? sign_lock(fd, path, msg) : say_holder(fd, dir, msg);
    if (e != ERR_OK) {
        close(fd);
        return e;
    }
    tidy_results(a, dir);
    *out = (struct results){dir, fd};
    return ERR_OK;
}

void results_unlock(struct results *r)
{
    if (r->lock >= 0)
        close(r->lock);
    r->lock = -1;
}

/* ---- status.json ---- */

/* The text members of a record, for reading and writing. */
struct text_field {
    const char *key;
    const char **value;
};

enum { N_RESULTS_TEXTS = 14 };

/* One table for both ways, so that what is written is read back. */
static void text_fields(struct run_record *r,
                        struct text_field out[N_RESULTS_TEXTS])
{
    const struct text_field all[] = {{"run_id", &r->run_id},
                                     {"experiment", &r->experiment},
                                     {"role", &r->role},
                                     {"layout", &r->layout},
                                     {"hardware", &r->hardware},
                                     {"launcher", &r->launcher},
                                     {"clock", &r->clock},
                                     {"source", &r->source},
                                     {"commit", &r->commit},
                                     {"key", &r->key},
                                     {"started_utc", &r->started_utc},
                                     {"log_sha256", &r->log_sha256},
                                     {"ops_sha256", &r->ops_sha256},
                                     {"reason", &r->reason}};
    _Static_assert(sizeof all / sizeof all[0] == N_RESULTS_TEXTS, "one each");
    memcpy(out, all, sizeof all);
}

static cJSON *record_to_json(struct run_record *r)
{
    struct text_field texts[N_RESULTS_TEXTS];
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", FORMAT);
    writer_text(top, "status", run_status_name(r->status));
    text_fields(r, texts);
    for (int i = 0; i < N_RESULTS_TEXTS; i++)
        writer_text(top, texts[i].key, *texts[i].value ? *texts[i].value : "");
    writer_number(top, "round", r->round);
    writer_number(top, "n_ranks", r->n_ranks);
    writer_number(top, "timers", r->timers);
    writer_number(top, "exit_code", (double)r->exit_code);
    writer_number(top, "wall_s", r->wall_s);
    writer_number(top, "started_s", r->started_s);
    if (!isnan(r->cost_usd))
        writer_number(top, "cost_usd", r->cost_usd);
    return writer_close(&doc);
}

static void results_read_numbers(struct reader top, struct run_record *r)
{
    // -1: killed, or not known
    const struct json_range any = {-1, 1e9};
    r->cost_usd = NAN;
    reader_int(top, "round", any, &r->round);
    reader_int(top, "n_ranks", any, &r->n_ranks);
    reader_int(top, "timers", any, &r->timers);
    reader_int64(top, "exit_code", any, &r->exit_code);
    reader_double(top, "wall_s", any, &r->wall_s);
    reader_double(top, "started_s", (struct json_range){0, 1e11},
                  &r->started_s);
    reader_double(top, "cost_usd", any, &r->cost_usd);
}

/* Unknown keys pass: a later version of the harness may have more. */
static void results_read_record(struct reader top, struct run_record *r)
{
    struct text_field texts[N_RESULTS_TEXTS];
    int status = RUN_VALID;
    text_fields(r, texts);
    reader_require(top, "status", NULL);
    reader_choice(top, "status", status_names, N_RUN_STATUS, &status);
    r->status = (enum run_status)status;
    for (int i = 0; i < N_RESULTS_TEXTS; i++) {
        *texts[i].value = "";
        reader_text(top, texts[i].key, texts[i].value);
    }
    results_read_numbers(top, r);
}

/* NULL when the file is as the run left it; else what is wrong with it. */
static const char *results_find_change(struct arena *a,
                                       const struct run_record *r,
                                       const char *name, const char *want)
{
    char hex[TEXT_SHA256_HEX];
    struct err_msg ignored;
    struct stat st;
    const char *path = arena_printf(a, "%s/%s", r->folder, name);
    const char *why = path ? NULL : "out of memory";
    bool none = strcmp(want, RESULTS_NONE) == 0;
    bool there = path && lstat(path, &st) == 0;
    if (!why && none && there)
        return arena_printf(a, "%s came after the run", name);
    if (!why && !there && !none)
        return arena_printf(a, "%s is missing", name);
    if (why || none)
        return why;
    if (!S_ISREG(st.st_mode) || text_sha256_file(path, hex, &ignored) != ERR_OK)
        return arena_printf(a, "%s cannot be read", name);
    if (strcmp(hex, want) == 0)
        return NULL;
    why = arena_printf(a,
                       "%s was changed after the run: SHA-256 %.12s, want "
                       "%.12s",
                       name, hex, want);
    return why ? why : "out of memory";
}

/* A log that was cut or edited tells of another run: none of it is used. */
static void results_check_files(struct arena *a, struct run_record *r)
{
    r->changed = results_find_change(a, r, "log.txt", r->log_sha256);
    // runs of earlier versions have no hash of their operations
    if (!r->changed && *r->ops_sha256)
        r->changed = results_find_change(a, r, "ops.csv", r->ops_sha256);
    if (!r->changed)
        return;
    r->status = RUN_INVALID;
    r->reason = r->changed;
}

static void results_read_log(struct arena *a, struct run_record *r)
{
    r->log = (struct runlog){.failure_rank = -1};
    if (r->changed)
        return;
    struct err_msg ignored; // an empty log is a fact about the run
    const char *path = arena_printf(a, "%s/log.txt", r->folder);
    if (path)
        logparse_read(a, path, &r->log, &ignored);
}

/* What is being loaded: runs of `key` (NULL: of any) below `runs`. */
struct loading {
    struct arena *a;
    const char *runs, *key;
    struct run_list list;
};

/* Adds the run of a folder, unless it is of another key. */
static enum err load_run(struct loading *l, const char *folder,
                         struct err_msg *msg)
{
    struct arena *a = l->a;
    const char *path = arena_printf(a, "%s/status.json", folder);
    struct run_record r = {.folder = folder};
    struct reader_doc doc;
    struct stat st;
    if (!path)
        return results_no_memory(folder, msg);
    // a folder gets its name with its status: what has none is not a run's
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        l->list.stray = l->list.stray ? l->list.stray : folder;
        return ERR_OK;
    }
    results_read_record(reader_open_file(&doc, a, path, FORMAT, msg), &r);
    enum err e = reader_close(&doc);
    if (e != ERR_OK)
        return err_prefix(msg, e, "a run's folder is damaged, remove it");
    if (l->key && strcmp(l->key, r.key) != 0)
        return ERR_OK;
    results_check_files(a, &r);
    results_read_log(a, &r);
    l->list.run[l->list.n++] = r;
    return ERR_OK;
}

/* By start within a round: the order in which a machine's state changed. */
static int by_round_and_start(const void *x, const void *y)
{
    const struct run_record *a = x, *b = y;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->started_s < b->started_s || a->started_s > b->started_s)
        return a->started_s < b->started_s ? -1 : 1;
    return strcmp(a->run_id, b->run_id);
}

/* Hidden names are the temporary ones. */
static int is_run_folder(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static enum err load_all(struct loading *l, struct dirent **entry, int n,
                         struct err_msg *msg)
{
    enum err e = ERR_OK;
    l->list.run = arena_alloc(l->a, (size_t)n + 1, sizeof *l->list.run);
    if (!l->list.run)
        return results_no_memory(l->runs, msg);
    for (int i = 0; i < n && e == ERR_OK; i++) {
        const char *folder =
            arena_printf(l->a, "%s/%s", l->runs, entry[i]->d_name);
        e = folder ? load_run(l, folder, msg) : results_no_memory(l->runs, msg);
    }
    return e;
}

enum err results_load(struct arena *a, const char *dir, const char *key,
                      struct run_list *out, struct err_msg *msg)
{
    struct dirent **entry = NULL;
    struct loading l = {
        a, arena_printf(a, "%s/runs", dir), key, {NULL, 0, NULL}};
    if (!l.runs)
        return results_no_memory(dir, msg);
    int n = scandir(l.runs, &entry, is_run_folder, alphasort);
    enum err e = load_all(&l, entry, n > 0 ? n : 0, msg);
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    if (e != ERR_OK)
        return e;
    if (l.list.n > 1)
        qsort(l.list.run, l.list.n, sizeof *l.list.run, by_round_and_start);
    *out = l.list;
    return ERR_OK;
}

/* ---- writing a run ---- */

/* r01-pick-<layout>-<key>, with -a2, -a3, ... when it was tried before. */
static const char *free_name(struct arena *a, const struct results *r,
                             const struct run_record *run)
{
    char layout[TEXT_SHA256_HEX];
    text_sha256(run->layout, strlen(run->layout), layout);
    for (int attempt = 1;; attempt++) {
        const char *again = attempt > 1 ? arena_printf(a, "-a%d", attempt) : "";
        const char *name =
            arena_printf(a, "r%02d-%s-%.6s-%.8s%s", run->round, run->role,
                         layout, run->key, again ? again : "");
        const char *path =
            name ? arena_printf(a, "%s/runs/%s", r->dir, name) : NULL;
        if (!path || access(path, F_OK) != 0)
            return path ? name : NULL;
    }
}

/* A folder of the same name that holds a job is taken over, not removed. */
enum err results_begin(struct arena *a, const struct results *r,
                       struct run_record *run, struct err_msg *msg)
{
    char now[RESULTS_UTC_BYTES];
    run->started_s = utc_now(now);
    run->started_utc = arena_strdup(a, now);
    run->run_id = free_name(a, r, run);
    run->folder = arena_printf(a, "%s/runs/" TIDY_TEMPORARY "%s", r->dir,
                               run->run_id ? run->run_id : "");
    if (!run->started_utc || !run->run_id || !run->folder)
        return results_no_memory(r->dir, msg);
    if (!tidy_holds_job(a, run->folder))
        file_remove_tree(run->folder);
    enum err e = tidy_check_folder(run->folder, msg);
    return e == ERR_OK ? file_make_folders(run->folder, msg) : e;
}

enum err results_put(struct arena *a, const struct run_record *run,
                     const char *name, struct text_span text,
                     struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", run->folder, name);
    if (!path)
        return results_no_memory(name, msg);
    return text_write_own(path, text.data, text.len, msg);
}

/* Indented: people read these files. */
enum err results_write_json(struct arena *a, const char *dir, const char *name,
                            cJSON *tree, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    const char *line = writer_print_tree(a, tree);
    if (!path || !line)
        return results_no_memory(name, msg);
    return text_write_own(path, line, strlen(line), msg);
}

enum err results_put_json(struct arena *a, const struct run_record *run,
                          const char *name, cJSON *tree, struct err_msg *msg)
{
    return results_write_json(a, run->folder, name, tree, msg);
}

/* A renamed folder may survive a crash that its entries do not, and the entry
 * of a file one that its bytes do not. */
static enum err results_sync(const char *path, struct err_msg *msg)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    // EINVAL: a file system that cannot flush
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    int why = errno;
    if (fd >= 0)
        close(fd);
    return ok ? ERR_OK
              : err_set(msg, ERR_IO, "%s: cannot flush: %s", path,
                        strerror(why));
}

/* The hash of what the trainer wrote, which is then on the disk; a file that
 * need not be there is RESULTS_NONE. */
static enum err results_seal(struct arena *a, const struct run_record *run,
                             const char *name, const char **out,
                             struct err_msg *msg)
{
    char hex[TEXT_SHA256_HEX] = RESULTS_NONE;
    struct stat st;
    const char *path = arena_printf(a, "%s/%s", run->folder, name);
    if (!path)
        return results_no_memory(run->folder, msg);
    bool there = lstat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return err_set(msg, ERR_IO, "%s: not a plain file", path);
    enum err e = there ? results_sync(path, msg) : ERR_OK;
    if (e == ERR_OK && there)
        e = text_sha256_file(path, hex, msg);
    *out = arena_strdup(a, hex);
    return e == ERR_OK && !*out ? results_no_memory(path, msg) : e;
}

/* Log and operations are on the disk before their hashes are written, and
 * status.json before the folder gets its name: a folder with a name is whole,
 * whenever the machine stops. */
enum err results_finish(struct arena *a, const struct results *r,
                        struct run_record *run, struct err_msg *msg)
{
    const char *runs = arena_printf(a, "%s/runs", r->dir);
    const char *whole = arena_printf(a, "%s/runs/%s", r->dir, run->run_id);
    if (!runs || !whole)
        return results_no_memory(r->dir, msg);
    enum err e = results_seal(a, run, "log.txt", &run->log_sha256, msg);
    if (e == ERR_OK)
        e = results_seal(a, run, "ops.csv", &run->ops_sha256, msg);
    if (e == ERR_OK)
        e = results_put_json(a, run, "status.json", record_to_json(run), msg);
    if (e == ERR_OK)
        e = results_sync(run->folder, msg);
    if (e == ERR_OK && rename(run->folder, whole) != 0)
        e = err_set(msg, ERR_IO, "%s: cannot rename: %s", whole,
                    strerror(errno));
    if (e == ERR_OK)
        run->folder = whole;
    return e == ERR_OK ? results_sync(runs, msg) : e;
}

void results_discard(const struct run_record *run)
{
    file_remove_tree(run->folder);
}
