#include "kin.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kin_facts {
    char state; // 'Z': dead and not waited for
    pid_t parent;
    uint64_t started;
};

/* Of the stat line, fields 3, 4 and 22 (proc(5)); false when there is no such
 * process. */
static bool kin_read(pid_t pid, struct kin_facts *out)
{
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, stat, sizeof stat - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    stat[n] = '\0';
    // the name in brackets may hold blanks and brackets
    char *at = strrchr(stat, ')');
    if (!at || strlen(at) < 5)
        return false;
    out->state = at[2];
    at += 3;
    for (int field = 4; field <= 22; field++) {
        unsigned long long x = strtoull(at, &at, 10);
        if (field == 4)
            out->parent = (pid_t)x;
        out->started = x;
    }
    return true;
}

uint64_t kin_started(pid_t pid)
{
    struct kin_facts f;
    return kin_read(pid, &f) ? f.started : 0;
}

bool kin_is_alive(pid_t pid)
{
    struct kin_facts f;
    return kin_read(pid, &f) && f.state != 'Z' && f.state != 'X';
}

int kin_kill_children(int sig, uint64_t since)
{
    const pid_t self = getpid();
    int n = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *d; (d = readdir(proc));) {
        struct kin_facts f;
        if (d->d_name[0] < '1' || d->d_name[0] > '9')
            continue;
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        if (!kin_read(pid, &f) || f.parent != self || f.started < since)
            continue;
        kill(pid, sig);
        n++;
    }
    closedir(proc);
    return n;
}
