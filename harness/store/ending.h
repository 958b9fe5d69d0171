/*
 * ending: signals that end a program wait while something stands on the disk
 * that only this program removes, so that Ctrl-C leaves nothing half done. For
 * work of seconds at most; a kill that cannot wait leaves it.
 */
#ifndef STORE_ENDING_H
#define STORE_ENDING_H

#include <signal.h>

enum { ENDING_SIGNALS = 3 };

struct ending {
    struct sigaction before[ENDING_SIGNALS];
};

/* SIGINT, SIGTERM and SIGHUP wait from here on, but for those that are ignored
 * (nohup). */
void ending_hold(struct ending *e);

/* As it was before the hold: one that waited ends the program here, or waits
 * for an outer hold. */
void ending_release(const struct ending *e);

#endif
