/*
 * How it works: signals are blocked and waited for, together with the ends of
 * descendants, until none of them is left, the limit is reached or this process
 * is told to end. As the subreaper of its descendants it becomes the parent of
 * all that the script leaves in the background, so that it can wait for those
 * and kill them, whatever group they are in.
 */
#include "session.h"

#include "base/clock.h"
#include "inner.h"
#include "program.h"
#include "replay.h"
#include "scratch.h"
#include "stand_in.h"
#include "talk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SESSION_MAX_SCRIPT = 16 << 20,
    SESSION_MAX_SHELL_WORDS = 8,
    SESSION_KILL_ROUNDS = 500, // of 10 ms: a tree that forks all the time
    SESSION_NO_PROGRAM = 127
};

// what the script left in the background may take this long, s
static const double SESSION_GRACE_S = 5;

struct session {
    struct arena *a;
    const struct session_spec *spec;
    struct scratch scratch;
    char **argv;        // of the script's shell
    const char *folder; // that holds the script, absolute
    struct inner_job job;
    bool is_job;
    sigset_t held, before;
    struct sigaction on_pipe; // before the session
    int signals;              // where held ones are read
    struct talk talk;
    pid_t child;
    int status;
    bool ended; // the script itself
};

/* ---- the script ---- */

static enum err session_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "record: out of memory");
}

/* Words of the first line behind "#!": the shell with its options; bash where
 * there is none. ERR_PARSE for what is no shell. */
static enum err session_shell(struct session *s, const char *text, int *n,
                              struct err_msg *msg)
{
    char *line = arena_strndup(s->a, text, strcspn(text, "\r\n")), *save = NULL;
    if (!line)
        return session_no_memory(msg);
    *n = 0;
    s->argv[(*n)++] = arena_strdup(s->a, "bash");
    if (strncmp(line, "#!", 2) != 0)
        return ERR_OK;
    *n = 0;
    for (char *w = strtok_r(line + 2, " \t", &save);
         w && *n < SESSION_MAX_SHELL_WORDS; w = strtok_r(NULL, " \t", &save)) {
        bool env = *n == 0 && strcmp(program_base(w), "env") == 0;
        bool option_of_env = *n == 0 && *w == '-';
        if (!env && !option_of_env)
            s->argv[(*n)++] = w;
    }
    if (*n > 0 && program_is_shell(s->argv[0]))
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "%s: is a script of '%.40s', want one of a shell",
                   s->spec->script, *n ? s->argv[0] : "");
}

/* A shell that is not where the script says is looked up by name. */
static enum err session_command(struct session *s, const char *text,
                                struct err_msg *msg)
{
    int n = 0;
    size_t room = SESSION_MAX_SHELL_WORDS + 2 + (size_t)s->spec->n_args;
    s->argv = arena_alloc(s->a, room, sizeof *s->argv);
    if (!s->argv)
        return session_no_memory(msg);
    enum err e = session_shell(s, text, &n, msg);
    if (e != ERR_OK)
        return e;
    if (access(s->argv[0], X_OK) != 0)
        s->argv[0] = arena_strdup(s->a, program_base(s->argv[0]));
    const char *path = scratch_absolute(s->a, s->spec->script);
    if (!path || !s->argv[0])
        return session_no_memory(msg);
    s->argv[n++] = arena_strdup(s->a, path);
    for (int i = 0; i < s->spec->n_args; i++)
        s->argv[n++] = s->spec->args[i];
    s->folder = arena_strndup(
        s->a, path, (size_t)(program_base(path) - path)); // with its '/'
    return s->folder && s->argv[n - s->spec->n_args - 1]
               ? ERR_OK
               : session_no_memory(msg);
}

/* A submitted job's variables stand in its #SBATCH lines. */
static enum err session_read_script(struct session *s, struct err_msg *msg)
{
    const char *name = s->spec->script;
    struct stat st;
    struct text_span text;
    if (stat(name, &st) != 0)
        return err_set(msg, ERR_PARSE, "%s: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(msg, ERR_PARSE, "%s: is %s, want a file with a script",
                       name,
                       S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
    enum err e = text_read_file(s->a, name, SESSION_MAX_SCRIPT, &text, msg);
    if (e != ERR_OK)
        return e;
    if (!inner_job_script(s->a, text.data, &s->job))
        return session_no_memory(msg);
    struct record_words words;
    if (!inner_job_words(s->a, &s->job, &words))
        return session_no_memory(msg);
    s->is_job = words.n > 0;
    return session_command(s, text.data, msg);
}

/* ---- its environment: of the child, which has its own ---- */

static bool session_export(const char *name, const char *value)
{
    return name && value && setenv(name, value, 1) == 0;
}

/* What every bash takes for the name of a function. */
static bool session_is_identifier(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Functions win over PATH, which scripts set anew more often than not: each
 * bash of the run knows the stand-ins by these, too. */
static bool session_functions(struct session *s)
{
    const char *bin = replay_quote(s->a, s->scratch.bin);
    for (int k = 0; bin && program_name(k); k++)
        if (session_is_identifier(program_name(k)) &&
            !session_export(
                arena_printf(s->a, "BASH_FUNC_%s%%%%", program_name(k)),
                arena_printf(s->a, "() {  %s/%s \"$@\"\n}", bin,
                             program_name(k))))
            return false;
    return bin != NULL;
}

/* The stand-ins are found first; the user's PATH stays behind them. */
static bool session_environment(struct session *s)
{
    const char *path = getenv("PATH");
    struct record_words words;
    if (s->is_job) {
        inner_job_environment(&s->job, true);
        if (!inner_job_words(s->a, &s->job, &words) ||
            !session_export(STAND_IN_JOB, record_words_text(s->a, words)))
            return false;
    }
    return session_export("PATH",
                          arena_printf(s->a, "%s:%s", s->scratch.bin,
                                       path ? path : "/usr/bin:/bin")) &&
           session_export(STAND_IN_RECORD, s->scratch.record) &&
           session_export(STAND_IN_FOLDER, s->folder) &&
           unsetenv(STAND_IN_OUTER) == 0 && session_functions(s);
}

/* ---- starting and ending it ---- */

static void session_release(struct session *s)
{
    if (s->signals >= 0)
        close(s->signals);
    s->signals = -1;
    sigaction(SIGPIPE, &s->on_pipe, NULL);
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* In the child: becomes the shell, or says why not. Nothing outlives us. */
static void session_child(struct session *s)
{
    const char *where = s->spec->folder ? s->spec->folder : s->scratch.here;
    int none = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    session_release(s);
    if (none >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
        dup2(s->talk.out, STDOUT_FILENO) >= 0 &&
        dup2(s->talk.out, STDERR_FILENO) >= 0 && chdir(where) == 0 &&
        session_environment(s))
        execvp(s->argv[0], s->argv);
    fprintf(stderr, "moe-layout: record: %s: %s\n", s->argv[0],
            strerror(errno));
    _exit(SESSION_NO_PROGRAM);
}

/* Signals are held and read from a descriptor, so that every way out passes by
 * the removal of the scratch folder. As a subreaper we get the processes that a
 * script leaves behind. */
static bool session_hold(struct session *s)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&s->held);
    sigaddset(&s->held, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        struct sigaction now; // nohup's stay ignored
        if (sigaction(ending[i], NULL, &now) != 0 || now.sa_handler != SIG_IGN)
            sigaddset(&s->held, ending[i]);
    }
    sigprocmask(SIG_BLOCK, &s->held, &s->before);
    // ignored, the ends of children could not be waited for
    signal(SIGCHLD, SIG_DFL);
    // nor does a reader of our talk that is gone leave the scratch folder over
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &s->on_pipe);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    s->signals = signalfd(-1, &s->held, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0 && talk_open(&s->talk);
}

static enum err session_start(struct session *s, struct err_msg *msg)
{
    s->child = fork();
    if (s->child < 0)
        return err_set(msg, ERR_CHILD, "record: cannot start a shell: %s",
                       strerror(errno));
    if (s->child == 0)
        session_child(s);
    setpgid(s->child, s->child); // whoever comes first
    close(s->talk.out);
    s->talk.out = -1;
    return ERR_OK;
}

/* Takes what has ended; false when no descendant is left. */
static bool session_reap(struct session *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->child) {
            s->status = status;
            s->ended = true;
        }
    }
    return pid == 0 || errno != ECHILD;
}

/* Parent of a process: the second number behind its name, which ends with the
 * last ')'. 0 when it is gone. */
static pid_t session_parent_of(const char *pid)
{
    char path[64], text[1024]; // names have at most 64 bytes, numbers 20
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end, ") %*c %ld", &parent) != 1)
        return 0;
    return (pid_t)parent;
}

/* Children of ours, whatever their group: what their deaths leave over comes to
 * us in the next round. */
static void session_kill_children(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            session_parent_of(entry->d_name) == getpid())
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    if (proc)
        closedir(proc);
}

/* Rounds, since a child may start another one before it dies. */
static void session_kill(struct session *s)
{
    const struct timespec pause = {0, 10000000}; // 10 ms
    // the group is the script's own as long as it or another holds it
    if (!s->ended)
        kill(-s->child, SIGKILL);
    for (int i = 0; i < SESSION_KILL_ROUNDS && session_reap(s); i++) {
        session_kill_children();
        nanosleep(&pause, NULL);
    }
}

/* Waits for a signal, an end of a child or something said, at most `left_s`;
 * the signal that ends us, or 0. */
static int session_wait_once(struct session *s, double left_s)
{
    struct pollfd on[] = {{s->signals, POLLIN, 0}, {s->talk.in, POLLIN, 0}};
    struct signalfd_siginfo info;
    if (poll(on, 2, left_s < 1 ? (int)(left_s * 1000) + 1 : 1000) < 0)
        return 0;
    if (on[1].revents)
        talk_pass(&s->talk);
    if (on[0].revents && read(s->signals, &info, sizeof info) == sizeof info &&
        info.ssi_signo != SIGCHLD)
        return (int)info.ssi_signo;
    return 0;
}

/* Waits until nothing of the script runs; false at the limit or on a signal,
 * which is noted. */
static bool session_wait(struct session *s, struct session_result *r)
{
    double end_s = clock_now_s() + s->spec->limit_s;
    bool was_ended = false;
    while (session_reap(s)) {
        double now_s = clock_now_s();
        if (s->ended && !was_ended && now_s + SESSION_GRACE_S < end_s)
            end_s = now_s + SESSION_GRACE_S;
        was_ended = s->ended;
        if (end_s <= now_s)
            return false;
        r->signal = session_wait_once(s, end_s - now_s);
        if (r->signal)
            return false;
    }
    return true;
}

/* ---- what came of it ---- */

static const char *session_ending(struct session *s)
{
    if (!s->ended)
        return "it was ended by the time limit";
    if (WIFSIGNALED(s->status))
        return arena_printf(s->a, "it was ended by signal %d",
                            WTERMSIG(s->status));
    return arena_printf(s->a, "it ended with status %d",
                        WEXITSTATUS(s->status));
}

static enum err session_collect(struct session *s, struct session_result *r,
                                struct err_msg *msg)
{
    struct text_span text;
    enum err e = scratch_read(s->a, &s->scratch, &text, &r->cut, msg);
    if (e == ERR_OK)
        e = record_lines_read(s->a, text, "record", &r->calls, msg);
    r->cut = r->cut || r->calls.cut;
    return e;
}

/* Whatever happens in between, processes are ended before the folder goes: a
 * stand-in that still runs would find nothing to write to. */
enum err session_run(struct arena *a, const struct session_spec *spec,
                     struct session_result *out, struct err_msg *msg)
{
    struct session s = {.a = a, .spec = spec, .signals = -1};
    s.talk.in = s.talk.out = -1;
    struct session_result r = {0};
    enum err e = session_read_script(&s, msg);
    if (e != ERR_OK)
        return e;
    // before there is something to remove
    e = session_hold(&s)
            ? scratch_make(a, &s.scratch, msg)
            : err_set(msg, ERR_CHILD, "record: %s", strerror(errno));
    if (e != ERR_OK)
        goto done;
    if (spec->before)
        spec->before(spec->script);
    e = session_start(&s, msg);
    if (e == ERR_OK && !session_wait(&s, &r)) {
        r.timed_out = !s.ended && !r.signal;
        r.left_running = s.ended && !r.signal;
    }
    while (talk_pass(&s.talk)) // also behind the last end
        if (r.signal || r.timed_out)
            break;
    r.ended = session_ending(&s);
    r.talk = s.talk;
    if (e == ERR_OK)
        session_kill(&s);
    if (e == ERR_OK && !r.signal)
        e = session_collect(&s, &r, msg);
    scratch_remove(&s.scratch);
done:
    talk_close(&s.talk);
    session_release(&s);
    if (e == ERR_OK)
        *out = r;
    return e;
}
