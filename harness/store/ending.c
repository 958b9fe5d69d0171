/*
 * How it works: a handler notes the signal. Blocking it would not do: OpenBLAS
 * has threads of its own, whose masks are not ours, and a signal for the
 * process goes to any thread that takes it.
 */
#include "ending.h"

#include <stddef.h>

static const int signals[ENDING_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* The one that waits, or 0. */
static volatile sig_atomic_t *ending_waits(void)
{
    static volatile sig_atomic_t sig;
    return &sig;
}

static void ending_note(int sig)
{
    *ending_waits() = sig;
}

void ending_hold(struct ending *e)
{
    struct sigaction note = {.sa_handler = ending_note, .sa_flags = SA_RESTART};
    sigemptyset(&note.sa_mask);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        if (sigaction(signals[i], NULL, &e->before[i]) == 0 &&
            e->before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &note, NULL);
}

void ending_release(const struct ending *e)
{
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaction(signals[i], &e->before[i], NULL);
    const int sig = *ending_waits();
    *ending_waits() = 0;
    if (sig)
        raise(sig);
}
