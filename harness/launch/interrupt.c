#include "interrupt.h"

#include "base/err.h"
#include "supervise.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_ENDING = sizeof ending / sizeof ending[0] };

static void interrupt_say(const char *text, size_t n)
{
    // nobody is left to hear of a failure
    if (write(STDERR_FILENO, text, n) < 0)
        return;
}

/* Only what is safe in a handler: stdio may be in the middle of a line. */
static void interrupt_end(int sig)
{
    static const char begin[] = "\nmoe-bench: interrupted by signal ";
    static const char end[] =
        "; finished runs are kept, the same command continues\n";
    const char digits[2] = {(char)('0' + sig / 10), (char)('0' + sig % 10)};
    const size_t skip = sig < 10;
    interrupt_say(begin, sizeof begin - 1);
    interrupt_say(digits + skip, sizeof digits - skip);
    interrupt_say(end, sizeof end - 1);
    _exit(EXIT_ENVIRONMENT);
}

/* Changes what is in place, unless the signal is ignored. */
static void interrupt_set(void (*handler)(int))
{
    struct sigaction to = {.sa_handler = handler}, now;
    sigemptyset(&to.sa_mask);
    for (int i = 0; i < N_ENDING; i++)
        if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(ending[i], &to, NULL);
}

void interrupt_release(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < N_ENDING; i++)
        sigaddset(&set, ending[i]);
    interrupt_set(interrupt_end);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void interrupt_hold(void)
{
    supervise_hold_signals();
    interrupt_set(SIG_DFL);
}
