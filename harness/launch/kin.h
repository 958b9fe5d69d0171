/*
 * kin: processes by their descent, read from /proc: which live, and which are
 * children of this one. A process may leave the group it was started in, but
 * not its parent; and orphans come to the nearest ancestor that asked for them
 * (PR_SET_CHILD_SUBREAPER).
 */
#ifndef LAUNCH_KIN_H
#define LAUNCH_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When the process was started, in ticks since the machine's start; 0 when it
 * is not there. */
uint64_t kin_started(pid_t pid);

/* True while the process runs or sleeps; false when it is gone, or dead and
 * not yet waited for. */
bool kin_is_alive(pid_t pid);

/* Sends the signal to all children of this process that were started at
 * `since` (as kin_started()) or later: 0 for all. Returns how many there are,
 * also those that are dead and not yet waited for. */
int kin_kill_children(int sig, uint64_t since);

#endif
