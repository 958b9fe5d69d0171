#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* open() takes the lowest free number; read-only, so that writing fails. */
static void process_open_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDONLY);
}

/* Without the three streams open the first file of the program would take the
 * place of one, and messages would be written into it. SIGXFSZ is ignored, so
 * that a limit on file sizes is an error of write() with a message. Parsers
 * recurse to a bounded depth, which a small stack does not hold. */
enum err process_prepare(struct err_msg *msg)
{
    struct rlimit stack;
    process_open_streams();
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_STACK, &stack) != 0 ||
        stack.rlim_cur == RLIM_INFINITY ||
        stack.rlim_cur / 1024 >= PROCESS_STACK_KIB)
        return ERR_OK;
    return err_set(msg, ERR_CHILD,
                   "stack limit: got %llu KiB, want at least %d KiB: 'ulimit "
                   "-s 8192'",
                   (unsigned long long)stack.rlim_cur / 1024,
                   PROCESS_STACK_KIB);
}

static bool process_is_limited(int resource)
{
    struct rlimit r;
    return getrlimit(resource, &r) == 0 && r.rlim_cur != RLIM_INFINITY;
}

/* "": the variable is not there. */
static void process_set(const char *name, const char *value)
{
    if (*value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

void process_one_thread(char *const *argv)
{
    static const char threads[] = "OPENBLAS_NUM_THREADS";
    static const char users[] = "MOE_OPENBLAS_NUM_THREADS"; // kept meanwhile
    const char *now = getenv(threads), *kept = getenv(users);
    if (kept) {
        process_set(threads, strcmp(kept, "-") == 0 ? "" : kept);
        unsetenv(users);
        return;
    }
    if ((!process_is_limited(RLIMIT_AS) && !process_is_limited(RLIMIT_DATA)) ||
        (now && strcmp(now, "1") == 0))
        return;
    char *before = now && *now ? strdup(now) : NULL;
    if (setenv(users, before ? before : "-", 1) == 0 &&
        setenv(threads, "1", 1) == 0)
        execv("/proc/self/exe", argv);
    process_set(threads, before ? before : "");
    unsetenv(users);
    free(before);
}

_Noreturn void process_end(int code)
{
    fflush(NULL);
#ifdef __SANITIZE_ADDRESS__
    exit(code); // leaks are looked for on the way out
#endif
    _Exit(code);
}
