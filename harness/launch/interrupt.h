/*
 * interrupt: lets a signal end the program at once while it computes. Between
 * and during runs signals are held (supervise), since a run must be ended and
 * judged; a search of layouts asks nobody for minutes, and has nothing to lose.
 */
#ifndef LAUNCH_INTERRUPT_H
#define LAUNCH_INTERRUPT_H

/* From here on SIGINT, SIGTERM and SIGHUP, one that waits already included, end
 * the program with a line on stderr and exit code 3; those that are ignored
 * (nohup) stay so. Nothing may be half written meanwhile. */
void interrupt_release(void);

/* Held again, as supervise_hold_signals() does. */
void interrupt_hold(void);

#endif
