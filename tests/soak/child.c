/*
 * How it works: the program is forked with its limits, and watched until it
 * ends, is due to be killed, or is over its time. What it leaves behind becomes
 * a child of this process, and has some seconds to end by itself.
 */
#include "soak.h"

#include "base/clock.h"
#include "launch/kin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_MAX_WORDS = 64, CHILD_MAX_KB = 6 << 20, CHILD_MAX_BUSY = 10 };
#define CHILD_LIMIT_S 10.0
#define CHILD_LEFT_S 10.0 // a guard gives two seconds before it kills

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Waiting for a core is no hang. */
static double busy(void)
{
    double load[1] = {0}, n = (double)sysconf(_SC_NPROCESSORS_ONLN);
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%lf", load) != 1)
        load[0] = 0;
    if (f)
        fclose(f);
    double factor = load[0] > n ? 1 + load[0] / n : 1;
    return factor > CHILD_MAX_BUSY ? CHILD_MAX_BUSY : factor;
}

static void set_limit(int what, long kb)
{
    const struct rlimit r = {(rlim_t)kb * 1024, (rlim_t)kb * 1024};
    if (kb > 0)
        setrlimit(what, &r);
}

static void redirect(const char *path, int to, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(125);
}

static _Noreturn void start(char **argv, const struct soak_run *run)
{
    redirect("/dev/null", 0, O_RDONLY);
    redirect("out", 1, O_WRONLY | O_CREAT | O_TRUNC);
    redirect("err", 2, O_WRONLY | O_CREAT | O_TRUNC);
    set_limit(RLIMIT_STACK, run->stack_kb);
    set_limit(RLIMIT_FSIZE, run->file_kb);
    // what takes all of a machine's memory ends others, too
    if (!strstr(argv[0], "asan"))
        set_limit(RLIMIT_AS, CHILD_MAX_KB);
    execv(argv[0], argv);
    _exit(126);
}

static char **split(struct soak *s, const char *line)
{
    char **argv = arena_alloc(s->a, CHILD_MAX_WORDS + 1, sizeof *argv);
    int n = 0;
    for (const char *p = line; *p && n < CHILD_MAX_WORDS;) {
        size_t len = strcspn(p, " ");
        if (len > 0)
            argv[n++] = arena_strndup(s->a, p, len);
        p += len + (p[len] == ' ');
    }
    if (*argv[0] != '/')
        argv[0] = arena_printf(s->a, "%s/%s", s->programs, argv[0]);
    return argv;
}

/* The first child of the program: of moe-bench its guard. */
static pid_t child_of(pid_t parent)
{
    DIR *proc = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *d; proc && !found && (d = readdir(proc));) {
        char path[300], stat[512];
        snprintf(path, sizeof path, "/proc/%s/stat", d->d_name);
        FILE *f = d->d_name[0] >= '1' && d->d_name[0] <= '9' ? fopen(path, "r")
                                                             : NULL;
        size_t n = f ? fread(stat, 1, sizeof stat - 1, f) : 0;
        if (f)
            fclose(f);
        stat[n] = '\0';
        const char *at = strrchr(stat, ')');
        if (at && strlen(at) > 4 && strtol(at + 3, NULL, 10) == parent)
            found = (pid_t)strtol(d->d_name, NULL, 10);
    }
    if (proc)
        closedir(proc);
    return found;
}

static void attack(pid_t pid, const struct soak_run *run)
{
    pid_t target = run->guard ? child_of(pid) : pid;
    if (target > 0)
        kill(target, run->signal);
}

/* Until the program has ended; its wait status. */
static int watch(struct soak *s, pid_t pid, const struct soak_run *run,
                 struct rusage *use)
{
    double start_s = clock_now_s();
    double limit_s = (run->limit_s > 0 ? run->limit_s : CHILD_LIMIT_S) * busy();
    bool attacked = run->kill_after_s <= 0;
    int status = 0;
    while (wait4(pid, &status, WNOHANG, use) == 0) {
        double took_s = clock_now_s() - start_s;
        if (!attacked && took_s > run->kill_after_s) {
            attack(pid, run);
            attacked = true;
        }
        if (took_s > limit_s) {
            soak_fail(s, "'%s' hangs: %.0f s", run->line, took_s);
            kill(pid, SIGKILL);
        }
        pause_ms(5);
    }
    return status;
}

/* All that came to us must end by itself. */
static void check_left(struct soak *s, const struct soak_run *run)
{
    double end_s = clock_now_s() + CHILD_LEFT_S * busy();
    while (kin_kill_children(0, 0) > 0 && clock_now_s() < end_s) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        pause_ms(10);
    }
    if (kin_kill_children(SIGKILL, 0) > 0)
        soak_fail(s, "'%s' left a process behind", run->line);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

bool soak_is_slow(const struct soak *s)
{
    return strstr(s->programs, "asan") != NULL;
}

/* Sanitizers take several times as much of both. */
static void check_use(struct soak *s, const struct soak_run *run,
                      const struct rusage *use)
{
    double cpu_s = (double)use->ru_utime.tv_sec + (double)use->ru_stime.tv_sec +
                   1e-6 * (double)use->ru_utime.tv_usec +
                   1e-6 * (double)use->ru_stime.tv_usec;
    long max_kb = run->max_kb > 0 ? run->max_kb : SOAK_MAX_KB;
    if (soak_is_slow(s))
        return;
    if (use->ru_maxrss > max_kb)
        soak_fail(s, "'%s' took %ld MB", run->line, use->ru_maxrss / 1024);
    if (run->cpu_s > 0 && cpu_s > run->cpu_s)
        soak_fail(s, "'%s' took %.1f s of processor time", run->line, cpu_s);
}

int soak_command(struct soak *s, const struct soak_run *run)
{
    struct rusage use = {0};
    char **argv = split(s, run->line);
    unlink("out");
    unlink("err");
    pid_t pid = fork();
    if (pid == 0)
        start(argv, run);
    if (pid < 0) {
        soak_fail(s, "cannot fork: %s", strerror(errno));
        return 3;
    }
    int status = watch(s, pid, run, &use);
    if (!run->hurry)
        check_left(s, run);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    bool killed =
        run->kill_after_s > 0 && !run->guard && code == 128 + run->signal;
    if (code > 3 && !killed)
        soak_fail(s, "'%s' ended with %d: %.300s", run->line, code,
                  soak_text(s, "err"));
    check_use(s, run, &use);
    return code;
}
