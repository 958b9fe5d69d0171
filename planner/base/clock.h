/*
 * clock: seconds for limits and for what is waited on. The origin is arbitrary:
 * only differences mean something, and they do not move with the date. Asking
 * costs some ten nanoseconds.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds since some fixed moment of the machine, never going back. */
double clock_now_s(void);

#endif
