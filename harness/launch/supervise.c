/*
 * How it works: the harness forks the guard, with two pipes between them. The
 * guard becomes a child subreaper, starts the program in a process group of
 * its own and waits for either its end or the closing of the `alive` pipe. In
 * both cases it kills whatever descendants are left (SIGTERM to the group
 * first, so that mpirun can tidy up), reports the program's wait status through
 * the `ended` pipe and exits. The program's output comes through a third pipe
 * to the harness, which writes the log itself: so it notices a full disk.
 *
 * The guard itself may be killed or stopped. The harness is a subreaper, too: a
 * dead guard's orphans come to it and are ended by it; a stopped one is
 * continued, and one that does not do its work is killed.
 */
#include "supervise.h"

#include "base/clock.h"
#include "kin.h"
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// reads are bounded so that a flood of output cannot hide the time limit; the
// grace, in ticks of the poll, is what a job gets between SIGTERM and SIGKILL
enum { SUPERVISE_READ_BYTES = 65536, SUPERVISE_READS_A_TURN = 16 };
enum { SUPERVISE_POLL_MS = 50, SUPERVISE_GRACE_TICKS = 40 };

// how long a guard may take to end everything, and then the harness itself:
// what is left after that hangs in the kernel
#define SUPERVISE_GUARD_S 6.0
#define SUPERVISE_ORPHANS_S 6.0

extern char **environ;

/* What the guard says of the program. */
struct ending {
    int spawn_error; // errno, 0: it was started
    int status;      // of waitpid
};

struct watch { // the harness' side of a running job
    const struct supervise_job *job;
    int alive, ended, output, log, signals; // descriptors, -1: closed
    pid_t guard;                            // 0: has ended and was waited for
    uint64_t guard_started;
    int was_subreaper;
    double start_s, output_s; // when it began, and last printed something
    double stop_s, orphans_s; // when the guard was told to end everything, and
                              // when it was found dead; 0: not yet
    struct lines lines;
    long long n_bytes; // of output
    struct supervise_result result;
    struct ending ending;
    bool told;  // the ending has arrived
    bool alone; // the guard is dead, and so is all that it guarded
    bool left;  // something could not be ended
    enum err err;
};

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* What a user or a job system sends to end a program. */
static sigset_t held_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Blocked from the start, so that one between two runs is not lost. */
void supervise_hold_signals(void)
{
    sigset_t set = held_signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int supervise_pending_signal(void)
{
    sigset_t set = held_signals();
    struct timespec zero = {0, 0};
    int sig = sigtimedwait(&set, NULL, &zero);
    return sig > 0 ? sig : 0;
}

/* ---- the guard ---- */

/* Reaps what has ended; notes the program's own status. True while children
 * are left. */
static bool supervise_reap(pid_t program, struct ending *e, bool *program_ended)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == program) {
            e->status = status;
            *program_ended = true;
        }
    return pid == 0;
}

/* Orphans come to the guard, so killing children until none is left reaches
 * every descendant. */
static void kill_all(pid_t program, struct ending *e, bool *program_ended)
{
    if (!*program_ended)
        kill(-program, SIGTERM);
    for (int tick = 0; supervise_reap(program, e, program_ended); tick++) {
        if (tick >= SUPERVISE_GRACE_TICKS || *program_ended) {
            kill(-program, SIGKILL);
            kin_kill_children(SIGKILL, 0);
        }
        sleep_ms(tick == 0 ? 5 : SUPERVISE_POLL_MS);
    }
}

/* The program gets signals as a shell gives them, not as the harness has them.
 */
static pid_t spawn_program(const struct supervise_job *job, int output,
                           struct ending *e)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    sigset_t none, usual;
    pid_t pid = 0;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    sigaddset(&usual, SIGHUP);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                        POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    e->spawn_error = posix_spawnp(&pid, job->argv[0], &files, &attr, job->argv,
                                  job->envp ? job->envp : environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return pid;
}

/* `alive` is never written to: that it closes is the message, also when the
 * harness is killed. */
static _Noreturn void supervise_guard(const struct supervise_job *job,
                                      int alive, int ended, int output)
{
    struct ending e = {0, 0};
    bool program_ended = false;
    setpgid(0, 0); // a terminal's Ctrl-C is the harness' to handle
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // a guard that was stopped must work when the harness dies
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    pid_t program = spawn_program(job, output, &e);
    close(output);
    while (e.spawn_error == 0 && !program_ended) {
        struct pollfd p = {alive, POLLIN, 0};
        if (poll(&p, 1, SUPERVISE_POLL_MS) > 0)
            break;
        supervise_reap(program, &e, &program_ended);
    }
    if (e.spawn_error == 0)
        kill_all(program, &e, &program_ended);
    ssize_t n = write(ended, &e, sizeof e);
    _exit(n == (ssize_t)sizeof e ? 0 : 1);
}

/* ---- the harness' side ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Close-on-exec: a descendant that kept an end would keep the pipe open. */
static bool make_pipe(int fd[2])
{
    if (pipe(fd) != 0) {
        fd[0] = fd[1] = -1;
        return false;
    }
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    return true;
}

/* The guard is forked and not spawned: it needs no program of its own. */
static enum err supervise_start(struct watch *w, struct err_msg *msg)
{
    int alive[2] = {-1, -1}, ended[2] = {-1, -1}, output[2] = {-1, -1};
    enum err e = ERR_OK;
    if (!make_pipe(alive) || !make_pipe(ended) || !make_pipe(output)) {
        e = err_set(msg, ERR_CHILD, "cannot make a pipe: %s", strerror(errno));
        goto done;
    }
    prctl(PR_GET_CHILD_SUBREAPER, &w->was_subreaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    w->guard = fork();
    if (w->guard == 0) {
        close(alive[1]);
        close(ended[0]);
        close(output[0]);
        close(w->log);
        supervise_guard(w->job, alive[0], ended[1], output[1]);
    }
    if (w->guard < 0) {
        e = err_set(msg, ERR_CHILD, "cannot fork: %s", strerror(errno));
        goto done;
    }
    w->guard_started = kin_started(w->guard);
    w->alive = alive[1];
    w->ended = ended[0];
    w->output = output[0];
    alive[1] = ended[0] = output[0] = -1;
    fcntl(w->output, F_SETFL, O_NONBLOCK);
done:
    for (int i = 0; i < 2; i++) {
        close_fd(&alive[i]);
        close_fd(&ended[i]);
        close_fd(&output[i]);
    }
    return e;
}

static bool supervise_write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, data, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        data += k;
        n -= (size_t)k;
    }
    return true;
}

/* The first reason counts; closing `alive` makes the guard end the program. */
static void supervise_stop(struct watch *w, enum supervise_end end, int code)
{
    if (w->alive < 0)
        return;
    w->result.end = end;
    w->result.code = code;
    w->stop_s = clock_now_s();
    close_fd(&w->alive);
}

/* Moves what the program has printed into the log; closes `output` at its
 * end. A log that cannot be written ends the job. */
static void supervise_drain(struct watch *w, struct err_msg *msg)
{
    char data[SUPERVISE_READ_BYTES];
    ssize_t n = 1;
    for (int i = 0; i < SUPERVISE_READS_A_TURN && n > 0; i++) {
        n = read(w->output, data, sizeof data);
        if (n <= 0)
            break;
        w->n_bytes += n;
        if (w->n_bytes > SUPERVISE_MAX_LOG_BYTES) {
            supervise_stop(w, SUPERVISE_FLOOD, 0);
            continue; // read on, so that the program can end
        }
        if (w->err == ERR_OK && !supervise_write_all(w->log, data, (size_t)n)) {
            w->err = err_set(msg, ERR_IO, "%s: cannot write: %s",
                             w->job->log_path, strerror(errno));
            supervise_stop(w, SUPERVISE_SIGNALED, SIGKILL);
        }
        w->output_s = clock_now_s();
        lines_feed(&w->lines, data, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close_fd(&w->output);
        lines_end(&w->lines);
    }
}

/* What is beyond tells nothing that the beginning does not. */
static void cut_flood(struct watch *w, struct err_msg *msg)
{
    if (w->n_bytes > SUPERVISE_MAX_LOG_BYTES && w->err == ERR_OK &&
        ftruncate(w->log, SUPERVISE_KEPT_LOG_BYTES) != 0)
        w->err = err_set(msg, ERR_IO, "%s: cannot cut: %s", w->job->log_path,
                         strerror(errno));
}

/* Anything but a whole report means that the guard was killed. */
static void take_ending(struct watch *w)
{
    w->told = read(w->ended, &w->ending, sizeof w->ending) ==
              (ssize_t)sizeof w->ending;
    close_fd(&w->ended);
}

static void check_signals(struct watch *w)
{
    struct signalfd_siginfo info;
    if (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info)
        supervise_stop(w, SUPERVISE_INTERRUPTED, (int)info.ssi_signo);
}

/* Limits are looked at every SUPERVISE_POLL_MS, between reads. */
static void check_limits(struct watch *w)
{
    double now = clock_now_s();
    const double *silent_s = w->job->silent_s;
    if (w->job->limit_s > 0 && now - w->start_s > w->job->limit_s)
        supervise_stop(w, SUPERVISE_TIMEOUT, 0);
    else if (silent_s && *silent_s > 0 && now - w->output_s > *silent_s)
        supervise_stop(w, SUPERVISE_SILENT, 0);
}

/* A guard that is dead and has told nothing leaves its children to us, which
 * are ended until there are none. */
static void end_orphans(struct watch *w)
{
    double now = clock_now_s();
    if (w->orphans_s <= 0)
        w->orphans_s = now;
    int n = kin_kill_children(SIGKILL, w->guard_started);
    // but for the program's own parent nobody waits for them
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    w->left = n > 0 && now - w->orphans_s > SUPERVISE_ORPHANS_S;
    if (n > 0 && !w->left)
        return;
    w->alone = true;
    if (w->output >= 0)
        lines_end(&w->lines);
    close_fd(&w->output);
}

/* The report will not come any more. */
static bool guard_is_lost(const struct watch *w)
{
    return w->ended < 0 && !w->told;
}

/* Continues a guard that was stopped, and kills one that does not end what it
 * was told to. */
static void check_guard(struct watch *w)
{
    int status;
    bool late = w->stop_s > 0 && clock_now_s() - w->stop_s > SUPERVISE_GUARD_S;
    if (w->guard > 0 &&
        waitpid(w->guard, &status, WNOHANG | WUNTRACED) == w->guard) {
        if (WIFSTOPPED(status))
            kill(w->guard, SIGCONT);
        else
            w->guard = 0;
    }
    if (w->guard > 0 && late)
        kill(w->guard, SIGKILL);
    if (w->guard == 0 && guard_is_lost(w) && !w->alone)
        end_orphans(w);
}

/* Until the guard has told the ending and the output is read to its end. */
static void watch_job(struct watch *w, struct err_msg *msg)
{
    while (w->ended >= 0 || w->output >= 0 || (guard_is_lost(w) && !w->alone)) {
        struct pollfd p[3] = {{w->output, POLLIN, 0},
                              {w->ended, POLLIN, 0},
                              {w->signals, POLLIN, 0}};
        if (poll(p, w->job->keep_signals ? 2 : 3, SUPERVISE_POLL_MS) > 0) {
            if (p[0].revents)
                supervise_drain(w, msg);
            if (p[1].revents)
                take_ending(w);
            if (p[2].revents)
                check_signals(w);
        }
        check_limits(w);
        check_guard(w);
    }
    w->result.wall_s = clock_now_s() - w->start_s;
}

/* In the order of what explains the others: a full disk, a dead guard, a
 * program that never started, a limit of ours, then its own end. */
static enum err supervise_judge(struct watch *w, struct err_msg *msg)
{
    bool stopped = w->alive < 0;
    if (w->err != ERR_OK)
        return w->err;
    if (w->left)
        return err_set(msg, ERR_CHILD,
                       "processes of '%s' cannot be ended, they hang in the "
                       "kernel",
                       w->job->argv[0]);
    if (!w->told && !stopped)
        return err_set(msg, ERR_CHILD,
                       "the guard process of '%s' was killed, and so is what "
                       "it guarded; the same command starts it again",
                       w->job->argv[0]);
    if (!w->told)
        return ERR_OK;
    if (w->ending.spawn_error)
        return err_set(msg, ERR_CHILD, "cannot start '%s': %s", w->job->argv[0],
                       strerror(w->ending.spawn_error));
    if (stopped)
        return ERR_OK;
    bool exited = WIFEXITED(w->ending.status);
    w->result.end = exited ? SUPERVISE_EXITED : SUPERVISE_SIGNALED;
    w->result.code =
        exited ? WEXITSTATUS(w->ending.status) : WTERMSIG(w->ending.status);
    return ERR_OK;
}

/* The report was read: the guard is at its end, unless it was stopped just
 * before. */
static void supervise_close(struct watch *w)
{
    close_fd(&w->alive);
    if (w->guard > 0) {
        kill(w->guard, SIGCONT);
        waitpid(w->guard, NULL, 0);
    }
    prctl(PR_SET_CHILD_SUBREAPER, w->was_subreaper);
}

enum err supervise_run(const struct supervise_job *job,
                       struct supervise_result *out, struct err_msg *msg)
{
    struct watch w = {.job = job,
                      .lines = {.on_line = job->on_line, .data = job->data},
                      .alive = -1,
                      .ended = -1,
                      .output = -1,
                      .start_s = clock_now_s()};
    w.output_s = w.start_s;
    sigset_t held = held_signals(), before;
    sigprocmask(SIG_BLOCK, &held, &before);
    w.signals = signalfd(-1, &held, SFD_NONBLOCK | SFD_CLOEXEC);
    w.log = open(job->log_path,
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    enum err e = ERR_OK;
    if (w.log < 0)
        e = err_set(msg, ERR_IO, "%s: cannot create: %s", job->log_path,
                    strerror(errno));
    if (e == ERR_OK)
        e = supervise_start(&w, msg);
    if (e == ERR_OK) {
        watch_job(&w, msg);
        cut_flood(&w, msg);
        e = supervise_judge(&w, msg);
        supervise_close(&w);
    }
    if (w.log >= 0 && close(w.log) != 0 && e == ERR_OK)
        e = err_set(msg, ERR_IO, "%s: cannot write: %s", job->log_path,
                    strerror(errno));
    close_fd(&w.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (e == ERR_OK)
        *out = w.result;
    return e;
}
